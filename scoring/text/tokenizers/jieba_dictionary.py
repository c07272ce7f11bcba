"""jieba's dictionary, with a user's words: the most likely way through a text.

Two engines give the same tokens: rjieba (Rust, about 15 times as fast) and the jieba package,
which is also asked where rjieba differs. A dictionary is built once a process for every list of
user words, is never one that others share, and leaves no file behind.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jieba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import hashing
from scoring.text.tokenizers.user_words import Guard, UserWords, can_be_found

if TYPE_CHECKING:
    import rjieba

Ints = npt.NDArray[np.int64]

NO_WORDS = UserWords.of(())

# One call for many texts halves the time of a call for each.
_BYTES_OF_A_CALL = 50_000

# Ideographs that jieba does not count as Chinese (it ends at U+9FD5) but rjieba does.
_OTHER_HAN = r"[\x{3400}-\x{4dbf}\x{9fd6}-\x{9fff}\x{f900}-\x{faff}\x{20000}-\x{3ffff}]"

# Where jieba looks for words.
_BLOCK = re.compile(r"([\u4e00-\u9fd5a-zA-Z0-9+#&._%\-]+)")

# jieba counts the frequency of a word that is given again twice; this stands for the surplus in
# rjieba. It is never found: it is cut out of every text.
_SURPLUS = "\0"


class Dictionary:
    """jieba's words and a user's, and the cuts that they make."""

    def __init__(self, words: UserWords) -> None:
        final = dict(words.entries)
        self.words = words
        self.guard = Guard(word for word, f in final.items() if f != 0 and can_be_found(word))
        self.deleted = frozenset(word for word, f in final.items() if f == 0)
        # rjieba joins single letters, so it cannot tell a word of letters that are words.
        letters = any(len(word) == 1 and word in self.guard.words for word in final)
        self._fast = None if letters else _fast(words)

    def has(self, word: str) -> bool:
        """Whether it is a word with a frequency."""
        known = self._fast.has_word(word) if self._fast else _package(self.words).FREQ.get(word)
        return bool(known)

    def walk(self, texts: pa.Array) -> tuple[pa.ChunkedArray, Ints | None]:
        """The tokens of every text, each text followed by a newline token, and the numbers of the
        texts in the order in which they come (None: their own).

        Characters that make no word are tokens of their own; letters and digits may be joined.
        """
        if self._fast is None:
            return pa.chunked_array([self._walk_slowly(texts)], pa.string()), None
        cut = self._fast.cut
        is_slow = self._unlike(texts)
        if not is_slow.any():
            chunks = [pa.array(cut(joined, False), pa.string()) for joined in _calls(texts)]
            return pa.chunked_array(chunks, pa.string()), None
        quick, slow = np.flatnonzero(~is_slow), np.flatnonzero(is_slow)
        calls = _calls(texts.take(pa.array(quick)))
        chunks = [pa.array(cut(joined, False), pa.string()) for joined in calls]
        chunks.append(self._walk_slowly(texts.take(pa.array(slow))))
        return pa.chunked_array(chunks, pa.string()), np.concatenate([quick, slow])

    def _walk_slowly(self, texts: pa.Array) -> pa.Array:
        package = _package(self.words)
        walked = [[*package.walk(text, self.guard), "\n"] for text in texts.to_pylist()]
        return pa.array([token for tokens in walked for token in tokens], pa.string())

    def _unlike(self, texts: pa.Array) -> npt.NDArray[np.bool_]:
        """The texts that rjieba would cut otherwise: [texts]."""
        unlike: npt.NDArray[np.bool_] = (
            pc.match_substring_regex(texts, _OTHER_HAN).to_numpy(zero_copy_only=False).copy()
        )
        unlike[self.guard.concerns(texts)] = True
        return unlike


@lru_cache(maxsize=4)
def dictionary(words: UserWords = NO_WORDS) -> Dictionary:
    """The dictionary with these words: loaded at the first call in a process (0.2 s, with user
    words 2 s), then kept."""
    return Dictionary(words)


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

    def walk(self, text: str, guard: Guard) -> list[str]:
        """The tokens on the most likely way; blanks all as ' '."""
        tokens: list[str] = []
        for number, part in enumerate(_BLOCK.split(text)):
            if number % 2 == 0:
                tokens += [" " if character.isspace() else character for character in part]
                continue
            ends = self.get_DAG(part)
            if guard.words:
                for start, found in ends.items():
                    kept = [end for end in found if not guard.forbids(part, start, end + 1)]
                    ends[start] = kept or [start]
            way: dict[int, Any] = {}
            self.calc(part, ends, way)
            start = 0
            while start < len(part):
                end = way[start][1] + 1
                tokens.append(part[start:end])
                start = end
        return tokens


@lru_cache(maxsize=4)
def _package(words: UserWords) -> _Package:
    return _Package(words)


def _fast(words: UserWords) -> rjieba.Jieba | None:
    """rjieba's dictionary with the words, or None where rjieba is not to be had."""
    try:
        import rjieba
    except ImportError:
        return None
    if not words.entries:
        return rjieba.Jieba()
    package = _Package(words)
    made: rjieba.Jieba = rjieba.Jieba.empty()  # type: ignore[no-untyped-call]
    for word, frequency in package.FREQ.items():
        if frequency:
            made.add_word(word, frequency, None)
    made.add_word(_SURPLUS, package.total - sum(package.FREQ.values()), None)
    return made


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
