"""TextRecipe: what happens to a text before its n-grams are counted, as a value with a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from scoring import hashing
from scoring.segments import TokenTrack
from scoring.text.tokens import Tokenizer, Tokens


class Step(Protocol):
    """One change of the text: a pure function of every text alone."""

    def signature(self) -> str:
        """The name of the step with its parameters and the hashes of the files it uses."""

    def apply(self, texts: pa.Array) -> pa.Array:
        """The changed texts, as many and in the same order."""


@dataclass(frozen=True)
class TextRecipe:
    """An ordered list of steps, then a tokenizer. Without steps the text is taken raw."""

    tokenizer: Tokenizer
    steps: tuple[Step, ...] = ()

    def signature(self) -> str:
        """Equal signatures mean equal tokens."""
        steps = "+".join(step.signature() for step in self.steps) or "raw"
        return f"{steps}/{self.tokenizer.signature()}"

    def tokenize(self, texts: pa.Array) -> Tokens:
        """The tokens of every text; none is empty or holds a blank."""
        for step in self.steps:
            texts = step.apply(texts)
        return self.tokenizer.tokenize(texts).without_blanks()


def token_track(texts: pa.Array, recipe: TextRecipe) -> TokenTrack:
    """The texts as numbers of a vocabulary that is sorted by hash. A distinct text is cut once."""
    encoded = texts.dictionary_encode()
    distinct = recipe.tokenize(encoded.dictionary)
    hashes = hashing.hash_strings(distinct.vocabulary)
    order = np.argsort(hashes, kind="stable")
    rank = np.empty(len(order), np.min_scalar_type(max(len(order) - 1, 0)))
    rank[order] = np.arange(len(order))
    ranked = Tokens(distinct.vocabulary, rank[distinct.ids], distinct.lengths)
    tokens = ranked.take(encoded.indices.to_numpy().astype(np.int64))
    return TokenTrack(hashes[order], tokens.ids, tokens.lengths)
