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

from scoring import hashing, ragged
from scoring.text.tokens import Tokens

if TYPE_CHECKING:
    import jieba
    import rjieba

# One call for many texts halves the time of a call for each.
_CHARACTERS_OF_A_CALL = 50_000

# jieba takes these for parts of a word only where its dictionary says so; rjieba always.
_CONNECTED = re.compile(r"[a-zA-Z0-9+#&._%\-]*[-_.&#+%][a-zA-Z0-9+#&._%\-]*", re.ASCII)
_JIEBA_PARTS = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)", re.ASCII)

# Ideographs that jieba does not count as Chinese (it ends at U+9FD5) but rjieba does.
_OTHER_HAN = re.compile("[\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


class JiebaTokenizer:
    """jieba, precise mode. Holds its own dictionary, never the one jieba shares in a process."""

    name = "jieba"

    def signature(self) -> str:
        return "jieba-0.42"

    def __getstate__(self) -> dict[str, Any]:
        return {}  # the engines cannot be pickled and are built where they are used

    def tokenize(self, texts: pa.Array) -> Tokens:
        strings: list[str] = texts.to_pylist()
        rare = [i for i, text in enumerate(strings) if _OTHER_HAN.search(text)]
        if not rare:
            return self._fast(texts)
        slow = [list(self._jieba.cut(strings[i])) for i in rare]
        for i in rare:
            strings[i] = ""
        tokens = self._fast(pa.array(strings, pa.string())).to_lists()
        for i, cut in zip(rare, slow):
            tokens[i] = cut
        lengths = np.array([len(t) for t in tokens], np.int64)
        return Tokens.from_flat([t for cut in tokens for t in cut], lengths)

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
        flat: list[str] = []
        for joined in _calls(texts):
            flat += self._rjieba.cut(joined, True)
            flat.append("\n")
        encoded = pa.array(flat, pa.string()).dictionary_encode()
        ids = encoded.indices.to_numpy()
        newline = encoded.dictionary.index("\n").as_py()
        ends = np.flatnonzero(ids == newline)
        lengths = np.diff(ends, prepend=-1) - 1
        words = encoded.dictionary
        return Tokens(words, ids[ids != newline], lengths).split(self._repair)

    def _repair(self, token: str) -> list[str]:
        if len(token) > 1 and _CONNECTED.fullmatch(token) and not self._rjieba.has_word(token):
            return [part for part in _JIEBA_PARTS.split(token) if part]
        return [token]


def _calls(texts: pa.Array) -> list[str]:
    """The texts joined by newlines, in strings of bounded length; inner newlines become blanks."""
    data, offsets = hashing.utf8_of(texts)
    joined = []
    start = 0
    while start < len(texts):
        stop = int(np.searchsorted(offsets, offsets[start] + _CHARACTERS_OF_A_CALL, "left"))
        stop = min(max(stop, start + 1), len(texts))
        joined.append(_joined(data, offsets[start : stop + 1]))
        start = stop
    return joined


def _joined(data: Any, offsets: Any) -> str:
    lengths = np.diff(offsets)
    part = data[offsets[0] : offsets[-1]]
    result = np.full(len(part) + len(lengths) - 1, ord("\n"), np.uint8)
    breaks = (part == ord("\n")) | (part == ord("\r"))
    if breaks.any():
        part = np.where(breaks, np.uint8(ord(" ")), part)
    result[ragged.ranges(ragged.offsets_of(lengths + 1)[:-1], lengths)] = part
    return result.tobytes().decode("utf-8")
