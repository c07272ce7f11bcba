"""The result of a tokenizer: a vocabulary and the texts as numbers of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scoring import ragged

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tokens:
    """Texts cut into tokens.

    vocabulary: [distinct tokens] strings, each once.
    ids: [tokens of all texts], indices into the vocabulary.
    lengths: [texts], tokens of every text.
    """

    vocabulary: pa.Array
    ids: npt.NDArray[Any]
    lengths: Ints

    @classmethod
    def from_flat(cls, tokens: Sequence[str], lengths: npt.NDArray[Any]) -> Tokens:
        """From the tokens of all texts, one text after the other, and the number of each."""
        encoded = pa.array(tokens, pa.string()).dictionary_encode()
        return cls(encoded.dictionary, encoded.indices.to_numpy(), lengths.astype(np.int64))

    def to_lists(self) -> list[list[str]]:
        """The tokens of every text as Python strings: for people and tests."""
        words = self.vocabulary.to_pylist()
        flat = [words[i] for i in self.ids.tolist()]
        ends = np.cumsum(self.lengths).tolist()
        return [flat[start:end] for start, end in zip([0, *ends], ends)]

    def take(self, texts: Ints) -> Tokens:
        """The given texts, in the given order, over the same vocabulary."""
        starts = ragged.offsets_of(self.lengths)[:-1]
        lengths = self.lengths[texts]
        return Tokens(self.vocabulary, self.ids[ragged.ranges(starts[texts], lengths)], lengths)

    def without_blanks(self) -> Tokens:
        """Every token cut at its blanks (``str.isspace``), which are dropped.

        So a token never holds a blank and is never empty, whatever the tokenizer does.
        """
        return self.split(str.split)

    def split(self, parts_of: Callable[[str], list[str]]) -> Tokens:
        """Every token replaced by its parts: none, itself or several. Asked once a distinct one."""
        words: list[str] = self.vocabulary.to_pylist()
        parts = [parts_of(word) for word in words]
        if all(len(p) == 1 and p[0] == word for p, word in zip(parts, words)):
            return self
        numbers: dict[str, int] = {}
        flat = [numbers.setdefault(part, len(numbers)) for p in parts for part in p]
        counts = np.array([len(p) for p in parts], np.int64)
        starts = ragged.offsets_of(counts)[:-1]
        repeats = counts[self.ids]
        ids = np.array(flat, np.int32)[ragged.ranges(starts[self.ids], repeats)]
        vocabulary = pa.array(list(numbers), pa.string())
        return Tokens(vocabulary, ids, ragged.segment_sum(repeats, self.lengths))


class Tokenizer(Protocol):
    """Cuts texts into tokens. One text's tokens never depend on the other texts of the call.

    Construction is cheap and picklable; what is large is loaded at the first call, so a worker
    builds its own.
    """

    @property
    def name(self) -> str:
        """The name by which it is chosen."""

    def signature(self) -> str:
        """The name with everything that moves a boundary."""

    def tokenize(self, texts: pa.Array) -> Tokens:
        """The tokens of every text of a string array without nulls.

        Blanks may be left in: ``Tokens.without_blanks`` is called on the result.
        """
