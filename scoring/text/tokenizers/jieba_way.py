"""The most likely way through a text by the words of a dictionary, for many texts at once.

jieba 0.42 (``jieba.Tokenizer.calc``) goes from the end of a block of Chinese characters, letters
and digits to its start, and takes at every character the word with which the rest is most likely;
of equal ones the longest. What to take depends on the words that overlap, so here only spans of
overlapping words are walked, side by side. Where two ways are so close that the rounding of jieba's
sum over the whole block might decide, the block is walked as jieba does, addition by addition; so
the words are the same to the last tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scoring import ragged

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# Weights are logarithms, seldom below -30: a sum over so many characters is exact to 1e-8.
_LONGEST = 1000
_CLOSE = 1e-6


@dataclass(frozen=True)
class Found:
    """Words of one length in a text: where they start (ascending), and their weights."""

    length: int
    start: Ints
    weight: Floats


def word_ends(alone: Floats, found: Sequence[Found], joins: Flags) -> Flags:
    """Whether a word of the way ends at each character.

    alone: [characters] the weight of each as a word, -inf if it cannot be one; found: words of two
    and more characters, by length; joins: [characters] whether a word may go on behind each.
    """
    held = np.zeros(len(joins), np.bool_)  # whether a word goes on behind a character
    for words in found:
        for place in range(words.length - 1):
            held[words.start + place] = True
    first = np.flatnonzero(held & ~_before(held))
    sizes = np.flatnonzero(held & ~_behind(held)) - first + 2
    ends = np.ones(len(joins), np.bool_)
    unsure = [_decide_pairs(alone, found, first[sizes == 2], ends)]
    longer = sizes > 2
    unsure.append(_decide_spans(alone, found, first[longer], sizes[longer], ends))
    _walk_blocks(alone, found, joins, np.concatenate(unsure), ends)
    return ends


def _before(flags: Flags) -> Flags:
    return np.concatenate([[False], flags[:-1]])


def _behind(flags: Flags) -> Flags:
    return np.concatenate([flags[1:], [False]])


def _decide_pairs(alone: Floats, found: Sequence[Found], first: Ints, ends: Flags) -> Ints:
    """Two characters that are a word that no other overlaps; those that are too close to tell."""
    if not len(first):
        return first
    pairs = found[0]
    weight = pairs.weight[np.searchsorted(pairs.start, first)]
    ahead = weight - (alone[first] + alone[first + 1])
    ends[first] = ahead < 0
    return first[np.abs(ahead) < _CLOSE]


def _decide_spans(
    alone: Floats, found: Sequence[Found], first: Ints, sizes: Ints, ends: Flags
) -> Ints:
    """Spans of words that overlap; the first characters of those that are too close to tell."""
    long = first[sizes > _LONGEST]
    first, sizes = first[sizes <= _LONGEST], sizes[sizes <= _LONGEST]
    if not len(first):
        return long
    order = np.argsort(-sizes, kind="stable")
    first, sizes = first[order], sizes[order]
    way = _Way.through(alone, first, sizes)
    close = way.walk(found)
    ends[ragged.ranges(first, sizes)] = False
    ends[way.last_characters()] = True
    return np.concatenate([long, first[close]])


@dataclass
class _Way:
    """The way through spans of words that overlap, from their ends to their starts.

    A span of n characters has the places n (its first character) to 1, and 0 behind it. Places of
    one number lie side by side in the arrays, the longest span first.

    stop: [spans] the character behind each. sizes: [spans], descending. base: [numbers + 1] where
    the places of each start. span: [characters] the span of each, -1 for none. alone, likely,
    length: [places] weight of the character as a word, of the best way from there, and how long the
    first word of it is.
    """

    stop: Ints
    sizes: Ints
    base: Ints
    span: npt.NDArray[np.int32]
    alone: Floats
    likely: Floats
    length: Ints

    @classmethod
    def through(cls, alone: Floats, first: Ints, sizes: Ints) -> _Way:
        alive = np.searchsorted(-sizes, -np.arange(1, int(sizes[0]) + 1), "right")
        base = ragged.offsets_of(np.concatenate([[len(sizes)], alive]))
        characters = ragged.ranges(first, sizes)
        number = ragged.list_index(sizes)
        span = np.full(len(alone), -1, np.int32)
        span[characters] = number
        of_places = np.zeros(int(base[-1]))
        stop = first + sizes
        of_places[base[stop[number] - characters] + number] = alone[characters]
        return cls(
            stop,
            sizes,
            base,
            span,
            of_places,
            np.zeros(len(of_places)),
            np.ones(len(of_places), int),
        )

    def walk(self, found: Sequence[Found]) -> Ints:
        """Find the most likely way through every span; return those with two that are as good."""
        likely, base = self.likely, self.base.tolist()
        groups = self._groups(found)
        close = np.zeros(len(likely), np.bool_)
        for number in range(1, len(base) - 1):
            begin, end = base[number], base[number + 1]
            rest = base[number - 1]
            np.add(self.alone[begin:end], likely[rest : rest + end - begin], out=likely[begin:end])
            for length, place, behind, weight in groups[number]:
                by_word = weight + likely[behind]
                ahead = by_word - likely[place]
                close[place[np.abs(ahead) < _CLOSE]] = True
                better = ahead >= 0
                place = place[better]
                likely[place] = by_word[better]
                self.length[place] = length
        places = np.flatnonzero(close)
        first = self.base[np.searchsorted(self.base, places, "right") - 1]
        return np.unique(places - first)

    def _groups(self, found: Sequence[Found]) -> list[list[tuple[int, Ints, Ints, Floats]]]:
        """The words by the number of the place where they start: their length, where each starts
        and what is behind it, its weight."""
        groups: list[list[tuple[int, Ints, Ints, Floats]]] = [[] for _ in self.base]
        for words in found:
            span = self.span[words.start]
            kept = np.flatnonzero(span >= 0)
            span = span[kept].astype(np.int64)
            number = self.stop[span] - words.start[kept]
            order = np.argsort(number.astype(np.uint16), kind="stable")  # a radix sort
            number, span = number[order], span[order]
            place, behind = self.base[number] + span, self.base[number - words.length] + span
            weight = words.weight[kept[order]]
            begins = np.flatnonzero(np.diff(number, prepend=0)).tolist()
            for begin, end in zip(begins, [*begins[1:], len(number)]):
                part = slice(begin, end)
                of_number = groups[int(number[begin])]
                of_number.append((words.length, place[part], behind[part], weight[part]))
        return groups

    def last_characters(self) -> Ints:
        """The last character of every word of the way."""
        span, number = np.arange(len(self.sizes)), self.sizes
        last = []
        while len(span):
            number = number - self.length[self.base[number] + span]
            last.append(self.stop[span] - number - 1)
            goes_on = number > 0
            span, number = span[goes_on], number[goes_on]
        return np.concatenate(last)


def _walk_blocks(
    alone: Floats, found: Sequence[Found], joins: Flags, within: Ints, ends: Flags
) -> None:
    """Walk the blocks that hold these characters as jieba does."""
    if not len(within):
        return
    last = np.flatnonzero(~joins)
    for block in np.unique(np.searchsorted(last, within)).tolist():
        begin = int(last[block - 1]) + 1 if block else 0
        end = int(last[block]) + 1
        words: list[list[tuple[int, float]]] = [[] for _ in range(begin, end)]
        for of_length in found:
            of_block = slice(*np.searchsorted(of_length.start, [begin, end]))
            starts = (of_length.start[of_block] - begin).tolist()
            for start, weight in zip(starts, of_length.weight[of_block].tolist()):
                words[start].append((of_length.length, weight))
        lengths = _walk(alone[begin:end].tolist(), words)
        ends[begin:end] = False
        place = begin
        while place < end:
            place += lengths[place - begin]
            ends[place - 1] = True


def _walk(alone: list[float], words: list[list[tuple[int, float]]]) -> list[int]:
    """The length of the first word of the best way from each character of a block to its end."""
    size = len(alone)
    likely, lengths = [0.0] * (size + 1), [1] * size
    for start in range(size - 1, -1, -1):
        likely[start] = alone[start] + likely[start + 1]
        for length, weight in words[start]:
            by_word = weight + likely[start + length]
            if by_word >= likely[start]:
                likely[start], lengths[start] = by_word, length
    return lengths
