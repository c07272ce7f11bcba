"""Tokenizer ``jieba``: words as jieba 0.42 cuts them, with or without its hidden Markov model.

The words of the dictionary come from ``jieba_dictionary`` (rjieba where it can be had). What it
leaves in single characters is cut by jieba's own model (``jieba_hmm``), so the tokens are those of
jieba itself: tests/scoring/text/test_jieba_words.py and test_jieba_modes.py compare the two. One
thing is not as in jieba: a user's word never cuts a run of letters or of digits (``Guard``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import hashing, ragged
from scoring.text.tokenizers.jieba_dictionary import NO_WORDS, Dictionary, dictionary
from scoring.text.tokenizers.jieba_hmm import FIRST, LAST, WordModel
from scoring.text.tokenizers.user_words import UserWords
from scoring.text.tokens import Tokens

Ints = npt.NDArray[np.int64]

MODES = ("precise", "search")

# Tokens that jieba hands to its model together: single characters, and letters and digits that
# are no word of the dictionary.
_HAN = rf"^[\x{{{FIRST:x}}}-\x{{{LAST:x}}}]$"
_HAN_WORD = rf"^[\x{{{FIRST:x}}}-\x{{{LAST:x}}}]+$"
_LATIN = r"^([a-zA-Z0-9]+|[+#&._%\-])$"
_LETTER = r"^[a-zA-Z0-9]$"
_BYTES_OF_A_HAN = 3  # in UTF-8

# How jieba cuts a run before its model sees the Chinese parts.
_PARTS = re.compile(
    f"[{chr(FIRST)}-{chr(LAST)}]+"
    r"|[a-zA-Z0-9]+(?:\.\d+)?%?"
    f"|[^{chr(FIRST)}-{chr(LAST)}a-zA-Z0-9]+"
)


@cache
def _model() -> WordModel:
    return WordModel()


def make(mode: str = "precise", hmm: str = "true") -> JiebaTokenizer:
    """From the parameters of a spec. mode: precise or search. hmm: true or false."""
    if mode not in MODES:
        raise ValueError(f"jieba: mode={mode!r}; expected one of {', '.join(MODES)}")
    if hmm not in ("true", "false"):
        raise ValueError(f"jieba: hmm={hmm!r}; expected true or false")
    return JiebaTokenizer(mode, hmm == "true")


@dataclass(frozen=True)
class JiebaTokenizer:
    """jieba, in precise mode or that for search engines, which also gives the words inside words.

    hmm: whether characters that make no word of the dictionary are joined by jieba's model.
    """

    mode: str = "precise"
    hmm: bool = True
    words: UserWords = NO_WORDS

    name = "jieba"

    @property
    def overlaps(self) -> bool:
        """Whether a character may be in several tokens, so that n-grams are counted more often."""
        return self.mode == "search"

    def signature(self) -> str:
        parts = [f"mode={self.mode}"] if self.overlaps else []
        parts += [] if self.hmm else ["hmm=false"]
        parts += [f"words={self.words.content}"] if self.words.entries else []
        return "jieba-0.42" + (f":{','.join(parts)}" if parts else "")

    def with_words(self, words: UserWords) -> JiebaTokenizer:
        """The same with a user's words."""
        return replace(self, words=words)

    def known(self, words: pa.Array) -> npt.NDArray[np.bool_]:
        """Which of the words are in the dictionary: [words]."""
        has = dictionary(self.words).has
        return np.fromiter(map(has, words.to_pylist()), np.bool_, len(words))

    def tokenize(self, texts: pa.Array) -> Tokens:
        if not len(texts):
            return Tokens.from_flat([], np.zeros(0, np.int64))
        known = dictionary(self.words)
        walked, order = known.walk(texts)
        encoded = walked.dictionary_encode().combine_chunks()
        vocabulary, ids = self._with_new_words(
            known, encoded.dictionary, encoded.indices.to_numpy()
        )
        newline = vocabulary.index("\n").as_py()
        lengths = np.diff(np.flatnonzero(ids == newline), prepend=-1) - 1
        tokens = Tokens(vocabulary, ids[ids != newline], lengths)
        if order is not None:
            tokens = tokens.take(np.argsort(order))
        if known.deleted:
            chinese = pc.match_substring_regex(tokens.vocabulary, _HAN_WORD)
            gone = pc.is_in(tokens.vocabulary, pa.array(sorted(known.deleted), pa.string()))
            tokens = tokens.split(pc.and_(chinese, gone), list)
        if self.overlaps:
            long = pc.greater(pc.utf8_length(tokens.vocabulary), 2)
            tokens = tokens.split(long, lambda word: _with_words_inside(known, word))
        return tokens

    def _with_new_words(
        self, known: Dictionary, vocabulary: pa.Array, ids: npt.NDArray[Any]
    ) -> tuple[pa.Array, npt.NDArray[Any]]:
        """Runs of what is no word of the dictionary, cut anew by the model or joined."""
        is_loose = (_loose(known, vocabulary) if self.hmm else _matches(vocabulary, _LETTER))[ids]
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
        pieces, counts = distinct.dictionary, np.ones(len(distinct.dictionary), np.int64)
        if self.hmm:
            pieces, counts = _cut_runs(known, pieces)
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


def _loose(known: Dictionary, vocabulary: pa.Array) -> npt.NDArray[np.bool_]:
    """Which tokens jieba hands to its model: [vocabulary]."""
    loose: npt.NDArray[np.bool_] = _matches(vocabulary, _HAN).copy()
    latin = np.flatnonzero(_matches(vocabulary, _LATIN))
    for i, token in zip(latin.tolist(), vocabulary.take(pa.array(latin)).to_pylist()):
        loose[i] = len(token) == 1 or not known.has(token)
    return loose


def _cut_runs(known: Dictionary, runs: pa.Array) -> tuple[pa.Array, Ints]:
    """The words of every run, one run after the other, and how many each has."""
    strings: list[str] = runs.to_pylist()
    # What the dictionary knows as a whole but was not cut so stays in single characters.
    whole = np.fromiter(map(known.has, strings), np.bool_, len(strings))
    is_pure = _is_chinese(runs)
    if is_pure.all():
        return _cut_chinese(runs, whole)
    pure, mixed = np.flatnonzero(is_pure), np.flatnonzero(~is_pure)
    parts = [list(strings[i]) if whole[i] else _PARTS.findall(strings[i]) for i in mixed.tolist()]
    return _merged(
        (pure, *_cut_chinese(runs.take(pa.array(pure)), whole[pure])),
        (mixed, *_cut_parts(parts)),
    )


def _cut_parts(parts: list[list[str]]) -> tuple[pa.Array, Ints]:
    """As ``_cut_runs``, of runs that were cut between Chinese and other characters."""
    flat = pa.array([part for run in parts for part in run], pa.string())
    is_chinese = _is_chinese(flat)
    chinese, other = np.flatnonzero(is_chinese), np.flatnonzero(~is_chinese)
    unknown = np.zeros(len(chinese), np.bool_)
    pieces, counts = _merged(
        (chinese, *_cut_chinese(flat.take(pa.array(chinese)), unknown)),
        (other, flat.take(pa.array(other)), np.ones(len(other), np.int64)),
    )
    sizes = np.array([len(run) for run in parts], np.int64)
    return pieces, ragged.segment_sum(counts, sizes)


def _cut_chinese(runs: pa.Array, known: npt.NDArray[np.bool_]) -> tuple[pa.Array, Ints]:
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


def _with_words_inside(known: Dictionary, word: str) -> list[str]:
    """The words of two and of three characters inside a longer one, then itself."""
    return [
        *(
            word[start : start + size]
            for size in (2, 3)
            if len(word) > size
            for start in range(len(word) - size + 1)
            if known.has(word[start : start + size])
            and not known.guard.forbids(word, start, start + size)
        ),
        word,
    ]
