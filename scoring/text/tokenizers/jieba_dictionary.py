"""jieba's dictionary, with a user's words, as a tree of characters that is asked with arrays.

A dictionary is built once a process for every list of user words, is never one that others share,
and leaves no file behind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jieba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from scoring import ragged
from scoring.text.characters import points_of
from scoring.text.tokenizers.user_words import UserWords, can_cut_a_run

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.uint16]
Nodes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

NO_WORDS = UserWords.of(())

BEYOND = 0xFFFF
"""The code of every character above U+FFFF, which is in no word."""

_NONE = 0  # no node of the tree; the root is never asked for by number
_EMPTY = 0  # no code of a character: U+0000 is in no word
_CODES = 1 << 16
_PROBES = 3


def codes_of(points: npt.NDArray[Any]) -> Codes:
    """Characters as 16-bit numbers: code points, those above U+FFFF all ``BEYOND``."""
    codes: Codes = np.minimum(points, BEYOND).astype(np.uint16)
    return codes


@dataclass(frozen=True)
class Words:
    """Words of the dictionary in a text: of one length, where they start, their nodes."""

    length: int
    start: Ints
    node: Nodes


class Dictionary:
    """jieba's words and a user's.

    is_word: [nodes of the tree] whether a word ends at each; weight: [nodes] the logarithm of its
    share of all. single: [codes] the node of a character that is a word, else 0; alone: [codes] the
    weight of a character, be it a word or not. guarded: a user's words that might cut a run of
    letters or digits; cuts: [nodes] whether such a word ends there. deleted: words that the user
    takes out.
    """

    def __init__(self, words: UserWords) -> None:
        final = dict(words.entries)
        self.deleted = frozenset(word for word, f in final.items() if f == 0)
        self.guarded = frozenset(
            word for word, f in final.items() if f != 0 and can_cut_a_run(word)
        )
        strings, frequencies, total = _with_users(words) if words.entries else _of_jieba()
        points, lengths = points_of(strings)
        self._first, self._tree, node = _tree(codes_of(points), lengths)
        nodes = int(node.max(initial=0)) + 1
        distinct, which = np.unique(frequencies, return_inverse=True)
        # math.log as in jieba: numpy's may differ in the last bit.
        logs = np.array([math.log(f) for f in distinct.tolist()]) - math.log(total)
        self.is_word = np.zeros(nodes, np.bool_)
        self.is_word[node] = True
        self.weight = np.zeros(nodes)
        self.weight[node] = logs[which]
        self.single = self._first * self.is_word[self._first]
        self.alone = np.where(self.single, self.weight[self.single], -math.log(total))
        self.cuts = np.zeros(nodes, np.bool_)
        self.cuts[self._nodes(pa.array(sorted(self.guarded), pa.string()))] = True

    def words_in(self, codes: Codes, joins: Flags) -> list[Words]:
        """All words of two and more characters in a text, by length, then by start.

        codes: [characters]; joins: [characters] whether a word may go on behind each.
        """
        node = self._first[codes]
        start = np.flatnonzero(joins & (node != _NONE))
        node = node[start]
        found = []
        length = 1
        while len(start):
            which, node = self._tree.children(node, codes[start + length])
            start = start[which]
            length += 1
            is_word = self.is_word[node]
            if is_word.any():
                found.append(Words(length, start[is_word], node[is_word]))
            goes_on = np.flatnonzero(self._tree.has_children(node))
            goes_on = goes_on[joins[start[goes_on] + (length - 1)]]
            start, node = start[goes_on], node[goes_on]
        return found

    def has(self, words: pa.Array) -> Flags:
        """Which of the strings are words with a frequency: [words]."""
        has: Flags = self.is_word[self._nodes(words)]
        return has

    def _nodes(self, words: pa.Array) -> Nodes:
        """The node at which every string ends: [words]."""
        points, lengths = points_of(words)
        codes, starts = codes_of(points), ragged.offsets_of(lengths)[:-1]
        nodes = np.zeros(len(lengths), np.int32)
        alive = np.flatnonzero(lengths)
        nodes[alive] = self._first[codes[starts[alive]]]
        for depth in range(1, int(lengths.max(initial=0))):
            alive = alive[lengths[alive] > depth]
            which, children = self._tree.children(nodes[alive], codes[starts[alive] + depth])
            nodes[alive] = _NONE
            alive = alive[which]
            nodes[alive] = children
        return nodes


class _Tree:
    """Node and character -> node. Every node has a small hash table of its own, so that those of
    frequent characters stay in the cache: two bytes a place. A character is at most ``_PROBES``
    places behind its first one."""

    def __init__(self, parents: Ints, codes: Codes, children: Ints, nodes: int) -> None:
        """parents (ascending), codes, children: [edges]; nodes: how many there are."""
        self._base = np.zeros(nodes, np.int32)
        self._mask = np.zeros(nodes, np.int32)
        # Nodes without children share the first place, which stays empty.
        self._codes, self._nodes = np.full(1, _EMPTY, np.uint16), np.zeros(1, np.int32)
        counts = np.bincount(parents, minlength=nodes)
        sizes = 2 << np.ceil(np.log2(np.maximum(counts, 1))).astype(np.int64)
        while len(parents):
            self._insert(parents, codes, children, sizes)
            near, _ = self.children(parents, codes)
            far = np.zeros(nodes, np.bool_)
            far[np.delete(parents, near)] = True
            sizes *= 2
            left = far[parents]
            parents, codes, children = parents[left], codes[left], children[left]

    def _insert(self, parents: Ints, codes: Codes, children: Ints, sizes: Ints) -> None:
        """Give the parents tables of these sizes [nodes], behind those that there are."""
        owners = np.flatnonzero(np.bincount(parents))
        offsets = len(self._codes) + ragged.offsets_of(sizes[owners])
        self._base[owners] = offsets[:-1]
        self._mask[owners] = sizes[owners] - 1
        added = int(offsets[-1]) - len(self._codes)
        self._codes = np.concatenate([self._codes, np.full(added, _EMPTY, np.uint16)])
        self._nodes = np.concatenate([self._nodes, np.zeros(added, np.int32)])
        waiting = np.arange(len(parents))
        base, mask, place = self._places(parents, codes)
        while len(waiting):
            free = self._codes[base + place] == _EMPTY
            at = (base + place)[free]
            self._codes[at] = codes[waiting[free]]  # of several one stays
            self._nodes[at] = children[waiting[free]]
            waits = self._nodes[base + place] != children[waiting]
            waiting, base, mask = waiting[waits], base[waits], mask[waits]
            place = (place[waits] + 1) & mask

    def has_children(self, nodes: Nodes) -> Flags:
        """Whether words go on behind each node."""
        return self._base[nodes] > 0

    def children(self, nodes: npt.NDArray[Any], codes: Codes) -> tuple[Ints, Nodes]:
        """Which nodes have a child by their character, and those children."""
        base, mask, place = self._places(nodes, codes)
        at = base + place
        found = self._codes[at]
        is_hit = found == codes
        waiting = np.flatnonzero(~is_hit & (found != _EMPTY))
        base, mask, place, codes = base[waiting], mask[waiting], place[waiting], codes[waiting]
        for probe in range(1, _PROBES + 1):
            probed = base + ((place + probe) & mask)
            here = self._codes[probed] == codes
            at[waiting[here]] = probed[here]
            is_hit[waiting[here]] = True
        which = np.flatnonzero(is_hit)
        return which, self._nodes[at[which]]

    def _places(self, nodes: npt.NDArray[Any], codes: Codes) -> tuple[Nodes, Nodes, Nodes]:
        """Where the table of every node starts, its mask, and where in it to look first."""
        mask = self._mask[nodes]
        spread = (codes.astype(np.uint32) * np.uint32(0x9E3779B1)) >> np.uint32(12)
        return self._base[nodes], mask, spread.astype(np.int32) & mask


def _tree(codes: Codes, lengths: Ints) -> tuple[Nodes, _Tree, Ints]:
    """The node of every first character [codes], the tree below, the node of every word."""
    starts = ragged.offsets_of(lengths)[:-1]
    node = np.zeros(len(lengths), np.int64)
    first = np.zeros(_CODES, np.int32)
    edges = []
    made = 1
    for depth in range(int(lengths.max(initial=0))):
        alive = np.flatnonzero(lengths > depth)
        key = node[alive] * _CODES + codes[starts[alive] + depth]
        distinct, which = np.unique(key, return_inverse=True)
        numbers = np.arange(made, made + len(distinct))
        made += len(distinct)
        node[alive] = numbers[which]
        if depth == 0:
            first[distinct] = numbers
        else:
            edges.append((distinct, numbers))
    keys, children = (np.concatenate(column) for column in zip(*edges))
    return first, _Tree(keys // _CODES, (keys % _CODES).astype(np.uint16), children, made), node


@lru_cache(maxsize=4)
def dictionary(words: UserWords = NO_WORDS) -> Dictionary:
    """The dictionary with these words: loaded at the first call in a process (0.3 s, with user
    words 1 s), then kept."""
    return Dictionary(words)


def _of_jieba() -> tuple[pa.Array, Ints, int]:
    """jieba's words, their frequencies, and what its frequencies are shares of."""
    table = csv.read_csv(
        Path(jieba.__file__).parent / "dict.txt",
        csv.ReadOptions(use_threads=False, column_names=["word", "frequency", "tag"]),
        csv.ParseOptions(delimiter=" ", quote_char=False),
        csv.ConvertOptions(
            column_types={"word": pa.string(), "frequency": pa.int64()},
            include_columns=["word", "frequency"],
            null_values=[],
        ),
    ).combine_chunks()
    frequencies = table.column("frequency").to_numpy()
    return table.column("word").combine_chunks(), frequencies, int(frequencies.sum())


def _with_users(words: UserWords) -> tuple[pa.Array, Ints, int]:
    """The same with a user's words, as jieba itself takes them in."""
    package = _Package(words)
    kept = {word: frequency for word, frequency in package.FREQ.items() if frequency}
    strings = pa.array(list(kept), pa.string())
    return strings, np.array(list(kept.values()), np.int64), package.total


class _Package(jieba.Tokenizer):  # type: ignore[misc]
    """The jieba package's dictionary, without its cache in a folder that all users share."""

    def __init__(self, words: UserWords) -> None:
        super().__init__()
        self.FREQ, self.total = self.gen_pfdict(self.get_dict_file())
        self.initialized = True
        for word, frequency in words.entries:
            # Not add_word: for a frequency of 0 it changes what all tokenizers of a process do.
            self.FREQ[word] = self.suggest_freq(word) if frequency is None else frequency
            self.total += self.FREQ[word]
            for end in range(1, len(word)):
                self.FREQ.setdefault(word[:end], 0)
