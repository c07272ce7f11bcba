"""Tokenizer ``jieba``: words as jieba 0.42 cuts them in precise mode, with its hidden Markov model.

The engine is rjieba (Rust, about 15 times as fast) with two repairs, so that the tokens are those
of jieba itself: tests/scoring/text/test_jieba_words.py compares the two.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scoring import hashing
from scoring.text.tokens import Tokens

if TYPE_CHECKING:
    import jieba
    import rjieba

# One call for many texts halves the time of a call for each.
_BYTES_OF_A_CALL = 50_000

# jieba takes such a run for one word only where its dictionary says so; rjieba always.
_CONNECTED = r"^[a-zA-Z0-9+#&._%\-]*[-_.&#+%][a-zA-Z0-9+#&._%\-]*$"
_JIEBA_PARTS = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)", re.ASCII)

# Ideographs that jieba does not count as Chinese (it ends at U+9FD5) but rjieba does.
_OTHER_HAN = r"[\x{3400}-\x{4dbf}\x{9fd6}-\x{9fff}\x{f900}-\x{faff}\x{20000}-\x{3ffff}]"


class JiebaTokenizer:
    """jieba, precise mode. Holds its own dictionary, never the one jieba shares in a process."""

    name = "jieba"

    def signature(self) -> str:
        return "jieba-0.42"

    def __getstate__(self) -> dict[str, Any]:
        return {}  # the engines cannot be pickled and are built where they are used

    def tokenize(self, texts: pa.Array) -> Tokens:
        other = pc.match_substring_regex(texts, _OTHER_HAN).to_numpy(zero_copy_only=False)
        if not other.any():
            return self._fast(texts)
        rare = np.flatnonzero(other).tolist()
        lists = self._fast(pc.if_else(pa.array(other), "", texts)).to_lists()
        for i, text in zip(rare, texts.take(pa.array(rare)).to_pylist()):
            lists[i] = list(self._jieba.cut(text))
        lengths = np.array([len(tokens) for tokens in lists], np.int64)
        return Tokens.from_flat([token for tokens in lists for token in tokens], lengths)

    @cached_property
    def _rjieba(self) -> rjieba.Jieba:
        import rjieba

        return rjieba.Jieba()

    @cached_property
    def _jieba(self) -> jieba.Tokenizer:
        import jieba

        tokenizer = jieba.Tokenizer()
        # Not initialize(): that keeps a cache in the temporary folder that all users share.
        tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
        tokenizer.initialized = True
        return tokenizer

    def _fast(self, texts: pa.Array) -> Tokens:
        cut = self._rjieba.cut
        encoded = pa.chunked_array(
            [pa.array(cut(joined, True), pa.string()) for joined in _calls(texts)], pa.string()
        )
        encoded = encoded.dictionary_encode().combine_chunks()
        ids = encoded.indices.to_numpy()
        words = encoded.dictionary
        newline = words.index("\n").as_py()
        ends = np.flatnonzero(ids == newline)
        lengths = np.diff(ends, prepend=-1) - 1
        tokens = Tokens(words, ids[ids != newline], lengths)
        return tokens.split(pc.match_substring_regex(words, _CONNECTED), self._repair)

    def _repair(self, token: str) -> list[str]:
        if len(token) == 1 or self._rjieba.has_word(token):
            return [token]
        return [part for part in _JIEBA_PARTS.split(token) if part]


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
