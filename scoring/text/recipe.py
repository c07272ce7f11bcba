"""TextRecipe: what happens to a text before its n-grams are counted, as a value with a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from scoring import hashing
from scoring.segments import TokenTrack
from scoring.text.tokens import TakesWords, Tokenizer, Tokens


class Step(Protocol):
    """One change of the text: a pure function of every text alone."""

    def signature(self) -> str:
        """The name of the step with its parameters and the hashes of the files it uses."""

    def apply(self, texts: pa.Array) -> pa.Array:
        """The changed texts, as many and in the same order."""


class TokenStep(Protocol):
    """One change of the tokens: a pure function of the tokens of every text alone.

    It works on the vocabulary, and never makes a token that is empty or holds a blank.
    """

    def signature(self) -> str:
        """The name of the step with its parameters and the hashes of the files it uses."""

    def words(self) -> Sequence[str]:
        """The tokens that it looks for."""

    def apply(self, tokens: Tokens) -> Tokens:
        """The changed tokens of as many texts in the same order."""


@dataclass(frozen=True)
class TextRecipe:
    """An ordered list of steps, a tokenizer, an ordered list of steps on its tokens.

    Without steps the text is taken raw. A recipe can be pickled: what its files hold is in it.
    """

    tokenizer: Tokenizer
    steps: tuple[Step, ...] = ()
    after: tuple[TokenStep, ...] = ()

    def signature(self) -> str:
        """Equal signatures mean equal tokens."""
        steps = "+".join(step.signature() for step in self.steps) or "raw"
        after = "+".join(step.signature() for step in self.after)
        return f"{steps}/{self.tokenizer.signature()}" + (f"/{after}" if after else "")

    def normalize(self, texts: pa.Array) -> pa.Array:
        """The texts after all steps, as the tokenizer sees them."""
        for step in self.steps:
            texts = step.apply(texts)
        return texts

    def cut(self, texts: pa.Array) -> Tokens:
        """The tokens of every text before the steps that work on them."""
        return self.tokenizer.tokenize(self.normalize(texts)).without_blanks()

    def tokenize(self, texts: pa.Array) -> Tokens:
        """The tokens of every text; none is empty or holds a blank."""
        tokens = self.cut(texts)
        for step in self.after:
            tokens = step.apply(tokens)
        return tokens

    def unmatched(self) -> list[tuple[str, str, str]]:
        """What the tokenizer and the steps after it look for but will hardly ever see.

        (signature, word, what this recipe makes of the word alone): a user's word that a step
        changes; a word of a step on tokens that is changed, or that the tokenizer cuts.
        """
        found = []
        if isinstance(self.tokenizer, TakesWords):
            users = list(dict(self.tokenizer.words.entries))
            seen: list[str] = self.normalize(pa.array(users, pa.string())).to_pylist()
            name = self.tokenizer.signature()
            found += [(name, word, made) for word, made in zip(users, seen) if word != made]
        for step in self.after:
            words = list(step.words())
            cut = self.cut(pa.array(words, pa.string())).to_lists()
            name = step.signature()
            found += [(name, w, " ".join(tokens)) for w, tokens in zip(words, cut) if [w] != tokens]
        return found


def token_track(texts: pa.Array, recipe: TextRecipe) -> TokenTrack:
    """The texts as numbers of a vocabulary that is sorted by hash. A distinct text is cut once."""
    return _track(texts.dictionary_encode(), recipe)


def token_tracks(texts: pa.Array, recipes: Mapping[str, TextRecipe]) -> dict[str, TokenTrack]:
    """The same by every recipe. What several do to a text before they cut it is done once."""
    encoded = texts.dictionary_encode()
    normalized: dict[tuple[str, ...], pa.DictionaryArray] = {}
    tracks = {}
    for name, recipe in recipes.items():
        steps = tuple(step.signature() for step in recipe.steps)
        if steps not in normalized:
            changed = recipe.normalize(encoded.dictionary)
            normalized[steps] = pa.DictionaryArray.from_arrays(encoded.indices, changed)
        tracks[name] = _track(normalized[steps], replace(recipe, steps=()))
    return tracks


def _track(encoded: pa.DictionaryArray, recipe: TextRecipe) -> TokenTrack:
    distinct = recipe.tokenize(encoded.dictionary)
    hashes = hashing.hash_strings(distinct.vocabulary)
    order = np.argsort(hashes, kind="stable")
    rank = np.empty(len(order), np.min_scalar_type(max(len(order) - 1, 0)))
    rank[order] = np.arange(len(order))
    ranked = Tokens(distinct.vocabulary, rank[distinct.ids], distinct.lengths)
    tokens = ranked.take(encoded.indices.to_numpy().astype(np.int64))
    return TokenTrack(hashes[order], tokens.ids, tokens.lengths)
