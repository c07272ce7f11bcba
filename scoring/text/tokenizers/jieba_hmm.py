"""jieba's hidden Markov model for words that are not in its dictionary, for many runs at once.

jieba 0.42 (``jieba.finalseg``) labels every character of a run as Beginning, Middle or End of a
word or as a Single one, by Viterbi's algorithm with its own tables. Here the same additions are
made in the same order and ties are broken the same way, for all runs side by side, so the labels
are the same to the last tie.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import ragged

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FIRST, LAST = 0x4E00, 0x9FD5
"""The characters that jieba takes for Chinese."""

_STATES = "BMES"
_IMPOSSIBLE = -3.14e100
# The two states that may stand before each; of equal ones jieba takes the later letter.
_BEFORE = {"B": "ES", "M": "BM", "E": "BM", "S": "ES"}
_ENDS = ("E", "S")


class WordModel:
    """The model, with tables loaded from the jieba package at first use."""

    def word_ends(self, characters: npt.NDArray[Any], lengths: Ints) -> npt.NDArray[np.bool_]:
        """Whether a word ends at each character.

        characters: [characters of all runs] code points from FIRST to LAST; lengths: [runs], at
        least 1 each.
        """
        order = np.argsort(-lengths, kind="stable")
        starts = ragged.offsets_of(lengths)[:-1][order]
        sizes = lengths[order]
        longest = int(sizes[0]) if len(sizes) else 0
        # Runs of at least t + 1 characters come first in the order of sizes.
        alive = np.searchsorted(-sizes, -np.arange(1, longest + 1), "right")
        came_from = np.zeros((len(characters), len(_STATES)), np.uint8)
        final = np.zeros((len(sizes), len(_STATES)))
        score = np.zeros((0, len(_STATES)))
        for t in range(longest):
            n = int(alive[t])
            here = starts[:n] + t
            emitted = self._emission[characters[here] - FIRST]
            if t == 0:
                score = self._start + emitted
            else:
                before = score[:n]
                score = np.empty((n, len(_STATES)))
                for state, letter in enumerate(_STATES):
                    first, second = (_STATES.index(x) for x in _BEFORE[letter])
                    one = before[:, first] + self._transition[first, state] + emitted[:, state]
                    other = before[:, second] + self._transition[second, state] + emitted[:, state]
                    later = other >= one
                    score[:, state] = np.where(later, other, one)
                    came_from[here, state] = np.where(later, second, first)
            ended = slice(int(alive[t + 1]) if t + 1 < longest else 0, n)
            final[ended] = score[ended]
        end, single = (_STATES.index(x) for x in _ENDS)
        label = np.where(final[:, single] >= final[:, end], single, end)
        ends = np.zeros(len(characters), np.bool_)
        for t in range(longest - 1, -1, -1):
            n = int(alive[t])
            here = starts[:n] + t
            ends[here] = (label[:n] == end) | (label[:n] == single)
            label[:n] = came_from[here, label[:n]]
        ends[starts + sizes - 1] = True  # what is left over is a word
        return ends

    @cached_property
    def _emission(self) -> Floats:
        from jieba import finalseg

        table = np.full((LAST - FIRST + 1, len(_STATES)), _IMPOSSIBLE)
        for state, letter in enumerate(_STATES):
            for character, value in finalseg.emit_P[letter].items():
                if FIRST <= ord(character) <= LAST:
                    table[ord(character) - FIRST, state] = value
        return table

    @cached_property
    def _start(self) -> Floats:
        from jieba import finalseg

        return np.array([finalseg.start_P[letter] for letter in _STATES])

    @cached_property
    def _transition(self) -> Floats:
        from jieba import finalseg

        rows = [[finalseg.trans_P[a].get(b, _IMPOSSIBLE) for b in _STATES] for a in _STATES]
        return np.array(rows)
