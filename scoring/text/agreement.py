"""How differently two tokenizers cut the same texts.

Boundaries are counted in characters without blanks: a boundary is a place inside a text, between
two of its characters, where a token ends. The end of a text is none: nobody decides it. A blank
between two characters is a boundary for every tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import ragged
from scoring.text.tokens import Tokens

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

CUT = "|"
"""What stands between the tokens of a disagreement."""


@dataclass(frozen=True)
class Boundaries:
    """Texts as one tokenizer cuts them."""

    tokens: Tokens

    @cached_property
    def words(self) -> pa.Array:
        """The tokens of all texts, as strings: [tokens]."""
        return self.tokens.vocabulary.cast(pa.large_string()).take(pa.array(self.tokens.ids))

    @cached_property
    def texts(self) -> pa.Array:
        """What the tokens of every text give when they are put together: [texts]."""
        return pc.binary_join(_lists(self.words, self.tokens.lengths), pa.scalar("", _STRING))

    @cached_property
    def sizes(self) -> Ints:
        """The characters of every token: [tokens]."""
        of_word = pc.utf8_length(self.tokens.vocabulary).to_numpy(zero_copy_only=False)
        sizes: Ints = of_word.astype(np.int64)[self.tokens.ids]
        return sizes

    @cached_property
    def characters(self) -> Ints:
        """The characters of every text: [texts]."""
        sums: Ints = ragged.segment_sum(self.sizes, self.tokens.lengths)
        return sums

    @cached_property
    def ends(self) -> Bools:
        """Whether a token ends behind a character: [characters of all texts]."""
        ends = np.zeros(int(self.characters.sum()), np.bool_)
        ends[np.cumsum(self.sizes) - 1] = True
        return ends

    def take(self, texts: Ints) -> Boundaries:
        """Some of the texts."""
        return Boundaries(self.tokens.take(texts))


_STRING = pa.large_string()


def _lists(words: pa.Array, lengths: Ints) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(ragged.offsets_of(lengths)), words)


@dataclass(frozen=True)
class Agreement:
    """How two tokenizers cut the same texts.

    texts: all; comparable: those of which both keep the same characters, in the same order (others
    cannot be compared: a tokenizer that rewrites characters or lets tokens overlap); alike: those
    that both cut at the same places. both, one, other: boundaries of both, and of each alone.
    """

    texts: int
    comparable: int
    alike: int
    both: int
    one: int
    other: int

    @property
    def f1(self) -> float | None:
        """F1 of the boundaries of the one, taken for right, and the other; None without any."""
        total = 2 * self.both + self.one + self.other
        return 2 * self.both / total if total else None


@dataclass(frozen=True)
class Disagreement:
    """A stretch of text that two tokenizers cut differently, between two places where both cut.

    one, other: the stretch with ``CUT`` between tokens; count: how often; text: one of the texts
    that has it (its number).
    """

    one: str
    other: str
    count: int
    text: int


def comparable(one: Boundaries, other: Boundaries) -> Ints:
    """The texts of which both keep the same characters."""
    same = pc.equal(one.texts, other.texts).to_numpy(zero_copy_only=False)
    return np.flatnonzero(same)


def compare(one: Boundaries, other: Boundaries) -> Agreement:
    """Count the boundaries of the same texts."""
    texts = comparable(one, other)
    left, right = one.take(texts), other.take(texts)
    both = left.ends & right.ends
    lengths = left.characters
    differ = ragged.segment_sum((left.ends != right.ends).astype(np.int64), lengths)
    # The end of a text that is not empty is an end of both.
    filled = int(np.count_nonzero(lengths))
    shared = int(np.count_nonzero(both))
    return Agreement(
        texts=len(one.tokens.lengths),
        comparable=len(texts),
        alike=int(np.count_nonzero(differ == 0)),
        both=shared - filled,
        one=int(np.count_nonzero(left.ends)) - shared,
        other=int(np.count_nonzero(right.ends)) - shared,
    )


def disagreements(one: Boundaries, other: Boundaries, most: int) -> list[Disagreement]:
    """The most frequent stretches that are cut differently; of equally frequent ones by the text
    (code points)."""
    texts = comparable(one, other)
    left, right = one.take(texts), other.take(texts)
    both = np.flatnonzero(left.ends & right.ends)
    if not len(both):
        return []
    # A stretch goes from behind one common end to the next.
    sizes = np.diff(both, prepend=-1)
    cuts = [ragged.segment_sum(side.ends.astype(np.int64), sizes) for side in (left, right)]
    unlike = ragged.segment_sum((left.ends != right.ends).astype(np.int64), sizes) > 0
    chosen = np.flatnonzero(unlike)
    if not len(chosen):
        return []
    shown = [_shown(side, count, chosen) for side, count in zip((left, right), cuts)]
    encoded = [strings.dictionary_encode() for strings in shown]
    codes = [column.indices.to_numpy().astype(np.int64) for column in encoded]
    pair = codes[0] * len(encoded[1].dictionary) + codes[1]
    _, first, counts = np.unique(pair, return_index=True, return_counts=True)
    text = np.searchsorted(np.cumsum(left.characters), both[chosen[first]], "right")
    rows = pa.table(
        {
            "one": shown[0].take(pa.array(first)),
            "other": shown[1].take(pa.array(first)),
            "count": counts,
            "text": texts[text],
        }
    )
    keys = [("count", "descending"), ("one", "ascending"), ("other", "ascending")]
    top = rows.take(pc.sort_indices(rows, sort_keys=keys)[:most])
    return [Disagreement(**row) for row in top.to_pylist()]


def _shown(side: Boundaries, counts: Ints, chosen: Ints) -> pa.Array:
    """The chosen stretches as one side cuts them."""
    starts = ragged.offsets_of(counts)[:-1][chosen]
    words = side.words.take(pa.array(ragged.ranges(starts, counts[chosen])))
    return pc.binary_join(_lists(words, counts[chosen]), pa.scalar(CUT, _STRING))
