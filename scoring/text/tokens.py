"""The result of a tokenizer: a vocabulary and the texts as numbers of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import ragged

if TYPE_CHECKING:
    from scoring.text.tokenizers.user_words import UserWords

Ints = npt.NDArray[np.int64]

BLANKS = (
    r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
)
"""All characters of ``str.isspace``, for a class of RE2 (whose own \\s knows only ASCII)."""

_BLANK_OR_EMPTY = f"[{BLANKS}]|^$"


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
        blank = pc.match_substring_regex(self.vocabulary, _BLANK_OR_EMPTY)
        return self.split(blank, str.split)

    def split(self, which: pa.Array, parts_of: Callable[[str], list[str]]) -> Tokens:
        """Some tokens replaced by their parts: none, itself or several.

        which: [distinct tokens] booleans; only these are asked, each once.
        """
        chosen = np.flatnonzero(which.to_numpy(zero_copy_only=False))
        words: list[str] = self.vocabulary.take(pa.array(chosen)).to_pylist()
        parts = {i: p for i, w in zip(chosen.tolist(), words) if (p := parts_of(w)) != [w]}
        if not parts:
            return self
        # Parts get new numbers after the old ones, unless the token is in the vocabulary.
        new = list(dict.fromkeys(part for p in parts.values() for part in p))
        known = pc.index_in(pa.array(new, pa.string()), value_set=self.vocabulary).to_pylist()
        numbers: dict[str, int] = {}
        size = len(self.vocabulary)
        for part, number in zip(new, known):
            if number is None or number in parts:
                number, size = size, size + 1
            numbers[part] = number
        counts = np.ones(len(self.vocabulary), np.int64)
        counts[list(parts)] = [len(p) for p in parts.values()]
        starts = ragged.offsets_of(counts)[:-1]
        flat = np.empty(int(counts.sum()), np.int32)
        alone = np.ones(len(counts), np.bool_)
        alone[list(parts)] = False
        flat[starts[alone]] = np.flatnonzero(alone)
        for i, p in parts.items():
            flat[starts[i] : starts[i] + len(p)] = [numbers[part] for part in p]
        added = pa.array([part for part in new if numbers[part] >= len(counts)], pa.string())
        vocabulary = pa.concat_arrays([self.vocabulary, added])
        repeats = counts[self.ids]
        if repeats.max(initial=0) <= 1:
            kept = self.ids[repeats > 0]
            ids = flat[starts[kept]]
        else:
            ids = flat[ragged.ranges(starts[self.ids], repeats)]
        return Tokens(vocabulary, ids, ragged.segment_sum(repeats, self.lengths)).compact()

    def compact(self) -> Tokens:
        """The same texts over the tokens that they use: a vocabulary without the unused ones."""
        used = np.zeros(len(self.vocabulary), np.bool_)
        used[self.ids] = True
        kept = np.flatnonzero(used)
        if len(kept) == len(used):
            return self
        number = np.zeros(len(used), np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        return Tokens(self.vocabulary.take(pa.array(kept)), number[self.ids], self.lengths)


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


@runtime_checkable
class TakesWords(Protocol):
    """A tokenizer that can be given a user's words."""

    @property
    def words(self) -> UserWords:
        """Those that it has."""

    def with_words(self, words: UserWords) -> Tokenizer:
        """The same tokenizer with these words, and with their hash in its signature."""


@runtime_checkable
class HasDictionary(Protocol):
    """A tokenizer that has a dictionary."""

    def known(self, words: pa.Array) -> npt.NDArray[np.bool_]:
        """Which of the words are in it: [words]."""


def overlaps(tokenizer: Tokenizer) -> bool:
    """Whether a character may be in several of its tokens: n-gram counts then say less.

    A tokenizer of which this holds has an attribute ``overlaps`` that is true.
    """
    return bool(getattr(tokenizer, "overlaps", False))
