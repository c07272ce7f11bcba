"""Tokenizer ``jieba``: words as jieba 0.42 cuts them in precise mode, with its hidden Markov model.

The words of the dictionary come from rjieba (Rust, about 15 times as fast), which agrees with
jieba there. What it leaves in single characters is cut by jieba's own model (``jieba_hmm``), so
the tokens are those of jieba itself: tests/scoring/text/test_jieba_words.py compares the two.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import hashing, ragged
from scoring.text.tokenizers.jieba_hmm import FIRST, LAST, WordModel
from scoring.text.tokens import Tokens

if TYPE_CHECKING:
    import jieba
    import rjieba

Ints = npt.NDArray[np.int64]

# One call for many texts halves the time of a call for each.
_BYTES_OF_A_CALL = 50_000

# Ideographs that jieba does not count as Chinese (it ends at U+9FD5) but rjieba does.
_OTHER_HAN = r"[\x{3400}-\x{4dbf}\x{9fd6}-\x{9fff}\x{f900}-\x{faff}\x{20000}-\x{3ffff}]"

# Tokens that jieba hands to its model together: single characters, and letters and digits that
# are no word of the dictionary.
_HAN = rf"^[\x{{{FIRST:x}}}-\x{{{LAST:x}}}]$"
_LATIN = r"^([a-zA-Z0-9]+|[+#&._%\-])$"
_BYTES_OF_A_HAN = 3  # in UTF-8

# How jieba cuts a run before its model sees the Chinese parts.
_PARTS = re.compile(
    f"[{chr(FIRST)}-{chr(LAST)}]+"
    r"|[a-zA-Z0-9]+(?:\.\d+)?%?"
    f"|[^{chr(FIRST)}-{chr(LAST)}a-zA-Z0-9]+"
)


@cache
def _dictionary() -> rjieba.Jieba:
    """jieba's own dictionary, loaded once a process (0.2 s) and never added to: not the one that
    the module rjieba shares with everybody."""
    import rjieba

    return rjieba.Jieba()


@cache
def _slow_jieba() -> jieba.Tokenizer:
    import jieba

    tokenizer = jieba.Tokenizer()
    # Not initialize(): that keeps a cache in the temporary folder that all users share.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


@cache
def _model() -> WordModel:
    return WordModel()


class JiebaTokenizer:
    """jieba, precise mode."""

    name = "jieba"

    def signature(self) -> str:
        return "jieba-0.42"

    def tokenize(self, texts: pa.Array) -> Tokens:
        other = pc.match_substring_regex(texts, _OTHER_HAN).to_numpy(zero_copy_only=False)
        if not other.any():
            return self._fast(texts)
        rare = np.flatnonzero(other).tolist()
        lists = self._fast(pc.if_else(pa.array(other), "", texts)).to_lists()
        for i, text in zip(rare, texts.take(pa.array(rare)).to_pylist()):
            lists[i] = list(_slow_jieba().cut(text))
        lengths = np.array([len(tokens) for tokens in lists], np.int64)
        return Tokens.from_flat([token for tokens in lists for token in tokens], lengths)

    def _fast(self, texts: pa.Array) -> Tokens:
        cut = _dictionary().cut
        encoded = pa.chunked_array(
            [pa.array(cut(joined, False), pa.string()) for joined in _calls(texts)], pa.string()
        )
        encoded = encoded.dictionary_encode().combine_chunks()
        vocabulary, ids = self._with_new_words(encoded.dictionary, encoded.indices.to_numpy())
        newline = vocabulary.index("\n").as_py()
        ends = np.flatnonzero(ids == newline)
        lengths = np.diff(ends, prepend=-1) - 1
        return Tokens(vocabulary, ids[ids != newline], lengths)

    def _with_new_words(
        self, vocabulary: pa.Array, ids: npt.NDArray[Any]
    ) -> tuple[pa.Array, npt.NDArray[Any]]:
        """Runs of what is no word of the dictionary, cut anew by the model."""
        is_loose = self._loose(vocabulary)[ids]
        joined = is_loose[1:] & is_loose[:-1]
        goes_on = np.concatenate([[False], joined])
        first = np.flatnonzero(is_loose & ~goes_on)
        sizes = np.flatnonzero(is_loose & ~np.concatenate([joined, [False]])) - first + 1
        first, sizes = first[sizes > 1], sizes[sizes > 1]
        if not len(first):
            return vocabulary, ids
        words = vocabulary.take(pa.array(ids[ragged.ranges(first, sizes)]))
        runs = pa.ListArray.from_arrays(pa.array(ragged.offsets_of(sizes), pa.int32()), words)
        distinct = pc.binary_join(runs, "").dictionary_encode()
        pieces, counts = self._cut_runs(distinct.dictionary)
        pool = pa.concat_arrays([vocabulary, pieces]).dictionary_encode()
        codes = pool.indices.to_numpy()
        # A run is replaced by its pieces, every other token stands for itself.
        starts = ids.astype(np.int64)
        lengths = np.ones(len(ids), np.int64)
        run = distinct.indices.to_numpy()
        starts[first] = (len(vocabulary) + ragged.offsets_of(counts)[:-1])[run]
        lengths[first] = counts[run]
        lengths[ragged.ranges(first + 1, sizes - 1)] = 0
        return pool.dictionary, codes[ragged.ranges(starts, lengths)]

    def _loose(self, vocabulary: pa.Array) -> npt.NDArray[np.bool_]:
        """Which tokens jieba hands to its model: [vocabulary]."""
        loose: npt.NDArray[np.bool_] = _matches(vocabulary, _HAN).copy()
        latin = np.flatnonzero(_matches(vocabulary, _LATIN))
        for i, token in zip(latin.tolist(), vocabulary.take(pa.array(latin)).to_pylist()):
            loose[i] = len(token) == 1 or not _dictionary().has_word(token)
        return loose

    def _cut_runs(self, runs: pa.Array) -> tuple[pa.Array, Ints]:
        """The words of every run, one run after the other, and how many each has."""
        strings: list[str] = runs.to_pylist()
        # What the dictionary knows as a whole but was not cut so stays in single characters.
        known = np.fromiter(map(_dictionary().has_word, strings), np.bool_, len(strings))
        is_pure = _is_chinese(runs)
        if is_pure.all():
            return self._cut_chinese(runs, known)
        pure, mixed = np.flatnonzero(is_pure), np.flatnonzero(~is_pure)
        parts = [
            list(strings[i]) if known[i] else _PARTS.findall(strings[i]) for i in mixed.tolist()
        ]
        return _merged(
            (pure, *self._cut_chinese(runs.take(pa.array(pure)), known[pure])),
            (mixed, *self._cut_parts(parts)),
        )

    def _cut_parts(self, parts: list[list[str]]) -> tuple[pa.Array, Ints]:
        """As ``_cut_runs``, of runs that were cut between Chinese and other characters."""
        flat = pa.array([part for run in parts for part in run], pa.string())
        is_chinese = _is_chinese(flat)
        chinese, other = np.flatnonzero(is_chinese), np.flatnonzero(~is_chinese)
        unknown = np.zeros(len(chinese), np.bool_)
        pieces, counts = _merged(
            (chinese, *self._cut_chinese(flat.take(pa.array(chinese)), unknown)),
            (other, flat.take(pa.array(other)), np.ones(len(other), np.int64)),
        )
        sizes = np.array([len(run) for run in parts], np.int64)
        return pieces, ragged.segment_sum(counts, sizes)

    def _cut_chinese(self, runs: pa.Array, known: npt.NDArray[np.bool_]) -> tuple[pa.Array, Ints]:
        """As ``_cut_runs``, of runs of Chinese characters only."""
        data, offsets = hashing.utf8_of(runs)
        lengths = np.diff(offsets) // _BYTES_OF_A_HAN
        text = data.tobytes()
        characters = np.frombuffer(text.decode("utf-8").encode("utf-32-le"), "<u4")
        ends = _model().word_ends(characters.astype(np.int64), lengths)
        ends |= np.repeat(known, lengths)
        cuts = np.concatenate([[0], (np.flatnonzero(ends) + 1) * _BYTES_OF_A_HAN])
        pieces = pa.StringArray.from_buffers(
            len(cuts) - 1, pa.py_buffer(cuts.astype(np.int32)), pa.py_buffer(text)
        )
        return pieces, ragged.segment_sum(ends.astype(np.int64), lengths)


def _merged(
    one: tuple[Ints, pa.Array, Ints], other: tuple[Ints, pa.Array, Ints]
) -> tuple[pa.Array, Ints]:
    """Two sets of runs in one order. Each: their places in it, their pieces, how many each has."""
    counts = np.zeros(len(one[0]) + len(other[0]), np.int64)
    starts = np.zeros(len(counts), np.int64)
    for (places, _, sizes), base in ((one, 0), (other, len(one[1]))):
        counts[places] = sizes
        starts[places] = base + ragged.offsets_of(sizes)[:-1]
    pool = pa.concat_arrays([one[1], other[1]])
    return pool.take(pa.array(ragged.ranges(starts, counts))), counts


def _is_chinese(runs: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether a run has Chinese characters only; the others of a run are all ASCII."""
    characters: Ints = pc.utf8_length(runs).to_numpy(zero_copy_only=False).astype(np.int64)
    _, offsets = hashing.utf8_of(runs)
    chinese: npt.NDArray[np.bool_] = np.diff(offsets) == characters * _BYTES_OF_A_HAN
    return chinese


def _matches(strings: pa.Array, pattern: str) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.match_substring_regex(strings, pattern).to_numpy(
        zero_copy_only=False
    )
    return found


def _calls(texts: pa.Array) -> list[str]:
    """Every text and a newline, in strings of bounded length; inner newlines become blanks."""
    for line_end in "\n\r":
        if pc.any(pc.match_substring(texts, line_end)).as_py():
            texts = pc.replace_substring(texts, line_end, " ")
    _, offsets = hashing.utf8_of(texts)
    joined = []
    start = 0
    while start < len(texts):
        stop = int(np.searchsorted(offsets, offsets[start] + _BYTES_OF_A_CALL, "left"))
        stop = min(max(stop, start + 1), len(texts))
        part = texts.slice(start, stop - start)
        as_list = pa.ListArray.from_arrays(pa.array([0, len(part)], pa.int32()), part)
        joined.append(pc.binary_join(as_list, pa.scalar("\n", part.type))[0].as_py() + "\n")
        start = stop
    return joined
