"""Tokenizer ``jieba``: words as jieba 0.42 cuts them, with or without its hidden Markov model.

All texts are cut side by side in arrays: the most likely way through the dictionary
(``jieba_way``), then jieba's own model for what that leaves in single characters (``jieba_hmm``).
Every addition is made as jieba makes it, so the tokens are those of jieba itself:
tests/scoring/text/test_jieba_words.py and test_jieba_modes.py compare the two. One thing is not as
in jieba: a user's word never cuts a run of letters or of digits (``user_words.can_cut_a_run``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import hashing, ragged
from scoring.text.characters import points_of
from scoring.text.tokenizers.jieba_dictionary import (
    NO_WORDS,
    Codes,
    Dictionary,
    Flags,
    Ints,
    Words,
    codes_of,
    dictionary,
)
from scoring.text.tokenizers.jieba_hmm import FIRST, LAST, WordModel
from scoring.text.tokenizers.jieba_way import Found, word_ends
from scoring.text.tokenizers.user_words import UserWords, cuts_a_run
from scoring.text.tokens import Tokens

MODES = ("precise", "search")

_HAN_WORD = rf"^[\x{{{FIRST:x}}}-\x{{{LAST:x}}}]+$"

# Classes of characters, by code; OTHER is cut out before jieba looks for words.
_OTHER, _HAN, _LETTER, _DIGIT, _SIGN = range(5)

# How jieba cuts what is not Chinese in a run of single characters.
_PARTS = re.compile(r"[a-zA-Z0-9]+(?:\.\d+)?%?|[^a-zA-Z0-9]+")


@cache
def _model() -> WordModel:
    return WordModel()


@cache
def _classes() -> npt.NDArray[np.uint8]:
    """The class of every code of a character."""
    classes = np.full(1 << 16, _OTHER, np.uint8)
    classes[FIRST : LAST + 1] = _HAN
    for kind, characters in (
        (_LETTER, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        (_DIGIT, "0123456789"),
        (_SIGN, "+#&._%-"),
    ):
        classes[[ord(character) for character in characters]] = kind
    return classes


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

    def known(self, words: pa.Array) -> Flags:
        """Which of the words are in the dictionary: [words]."""
        return dictionary(self.words).has(words)

    def tokenize(self, texts: pa.Array) -> Tokens:
        known = dictionary(self.words)
        points, lengths = points_of(texts)
        if not len(points):
            return Tokens.from_flat([], np.zeros(len(texts), np.int64))
        cut = _Cut.of(known, codes_of(points), lengths)
        if self.hmm:
            cut.cut_new_words(_model())
        else:
            cut.join_letters_and_digits()
        tokens = _tokens(texts, cut.ends, lengths)
        if known.deleted:
            chinese = pc.match_substring_regex(tokens.vocabulary, _HAN_WORD)
            gone = pc.is_in(tokens.vocabulary, pa.array(sorted(known.deleted), pa.string()))
            tokens = tokens.split(pc.and_(chinese, gone), list)
        return _with_words_inside(known, tokens) if self.overlaps else tokens


@dataclass
class _Cut:
    """Texts, and where they are cut.

    codes, classes: [characters] of all texts. joins: [characters] whether a word may go on behind
    each. words: of the dictionary. ends: [characters] whether a token ends there.
    """

    codes: Codes
    classes: npt.NDArray[np.uint8]
    joins: Flags
    words: Sequence[Words]
    ends: Flags

    @classmethod
    def of(cls, known: Dictionary, codes: Codes, lengths: Ints) -> _Cut:
        """Cut on the most likely way through the dictionary. lengths: of the texts."""
        classes = _classes()[codes]
        in_block = classes != _OTHER
        joins = np.zeros(len(codes), np.bool_)
        np.logical_and(in_block[:-1], in_block[1:], out=joins[:-1])
        joins[np.cumsum(lengths[lengths > 0]) - 1] = False
        words = known.words_in(codes, joins)
        alone, found = _weights(known, codes, words, _inside_a_run(classes, joins))
        return cls(codes, classes, joins, words, word_ends(alone, found, joins))

    def join_letters_and_digits(self) -> None:
        """What jieba does without its model: single letters and digits side by side are one."""
        single = self._single()
        single &= (self.classes == _LETTER) | (self.classes == _DIGIT)
        self.ends[:-1] &= ~(single[:-1] & single[1:] & self.joins[:-1])

    def cut_new_words(self, model: WordModel) -> None:
        """Cut runs of single characters anew, unless the whole run is a word."""
        single = self._single()
        goes_on = single[:-1] & single[1:] & self.joins[:-1]
        begins, stops = single.copy(), single
        begins[1:] &= ~goes_on
        stops[:-1] &= ~goes_on
        starts = np.flatnonzero(begins)
        sizes = np.flatnonzero(stops) - starts + 1
        is_cut = (sizes > 1) & ~self._are_words(starts, sizes)
        starts, sizes = starts[is_cut], sizes[is_cut]
        # Chinese characters and others are cut apart first.
        places = ragged.ranges(starts, sizes)
        chinese = self.classes[places] == _HAN
        differs = np.ones(len(places), np.bool_)
        np.not_equal(chinese[1:], chinese[:-1], out=differs[1:])
        differs[ragged.offsets_of(sizes)[:-1]] = True
        first = np.flatnonzero(differs)
        sizes = ragged.sizes_of(first, len(places))
        starts, chinese = places[first], chinese[first]
        of_model = ragged.ranges(starts[chinese], sizes[chinese])
        self.ends[of_model] = model.word_ends(self.codes[of_model], sizes[chinese])
        self._cut_others(starts[~chinese], sizes[~chinese])

    def _single(self) -> Flags:
        """Which characters are tokens of their own inside a block."""
        single: Flags = self.ends & (self.classes != _OTHER)
        single[1:] &= self.ends[:-1]
        return single

    def _are_words(self, starts: Ints, sizes: Ints) -> Flags:
        """Which runs the dictionary knows as a whole."""
        are = np.zeros(len(starts), np.bool_)
        begins = np.zeros(len(self.ends), np.bool_)
        for words in self.words:
            begins[words.start] = True
            chosen = np.flatnonzero(sizes == words.length)
            are[chosen] = begins[starts[chosen]]
            begins[words.start] = False
        return are

    def _cut_others(self, starts: Ints, sizes: Ints) -> None:
        """Cut runs of letters, digits and signs."""
        if not len(starts):
            return
        text = self.codes[ragged.ranges(starts, sizes)].astype(np.uint8).tobytes().decode("ascii")
        stops = np.cumsum(sizes).tolist()
        ends: list[int] = []
        for start, begin, stop in zip(starts.tolist(), [0, *stops], stops):
            ends += [start + part.end() - begin for part in _PARTS.finditer(text, begin, stop)]
        self.ends[ragged.ranges(starts, sizes)] = False
        self.ends[np.array(ends) - 1] = True


def _inside_a_run(classes: npt.NDArray[np.uint8], joins: Flags) -> Flags:
    """Whether a run of letters or of digits goes on from each character to the next."""
    inside: Flags = joins & ((classes == _LETTER) | (classes == _DIGIT))
    inside[:-1] &= classes[:-1] == classes[1:]
    return inside


def _weights(
    known: Dictionary, codes: Codes, words: Sequence[Words], inside: Flags
) -> tuple[npt.NDArray[np.float64], list[Found]]:
    """The weight of every character as a word, and those of longer words.

    A user's word that would cut a run of letters or digits is left out.
    """
    alone = known.alone[codes]
    found = [Found(w.length, w.start, known.weight[w.node]) for w in words]
    never = known.single[codes] == 0
    if known.guarded:
        inside_before = np.concatenate([[False], inside[:-1]])
        never |= known.cuts[known.single[codes]] & (inside | inside_before)
        for number, of_length in enumerate(words):
            start, stop = of_length.start, of_length.start + (of_length.length - 1)
            kept = ~(known.cuts[of_length.node] & (inside_before[start] | inside[stop]))
            weight = found[number].weight[kept]
            found[number] = Found(of_length.length, start[kept], weight)
    for kept_words in found:
        alone[kept_words.start[never[kept_words.start]]] = -np.inf
    return alone, [kept_words for kept_words in found if len(kept_words.start)]


def _tokens(texts: pa.Array, ends: Flags, lengths: Ints) -> Tokens:
    """The pieces between the ends, as slices of the texts' own bytes."""
    data, _ = hashing.utf8_of(texts)
    last = np.flatnonzero(ends)
    # Of every character the first byte: one that does not go on with a character (10......).
    begins = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
    cuts = np.concatenate([[0], begins[last + 1]])
    pieces = pa.LargeStringArray.from_buffers(len(cuts) - 1, pa.py_buffer(cuts), pa.py_buffer(data))
    encoded = pieces.dictionary_encode()
    offsets = np.searchsorted(last, ragged.offsets_of(lengths))
    vocabulary = encoded.dictionary.cast(pa.string())
    return Tokens(vocabulary, encoded.indices.to_numpy(), np.diff(offsets).astype(np.int64))


def _with_words_inside(known: Dictionary, tokens: Tokens) -> Tokens:
    """Before every token the words of two and of three characters inside it."""
    long = pc.greater(pc.utf8_length(tokens.vocabulary), 2)
    words: list[str] = tokens.vocabulary.filter(long).to_pylist()
    inside = sorted({part for word in words for part, _ in _parts(word)})
    found = {part for part, has in zip(inside, known.has(pa.array(inside, pa.string()))) if has}

    def with_parts(word: str) -> list[str]:
        parts = [
            part
            for part, start in _parts(word)
            if part in found
            and not (part in known.guarded and cuts_a_run(word, start, start + len(part)))
        ]
        return [*parts, word]

    return tokens.split(long, with_parts)


def _parts(word: str) -> list[tuple[str, int]]:
    """What is two and what is three characters long inside a longer word, and where."""
    return [
        (word[start : start + size], start)
        for size in (2, 3)
        if len(word) > size
        for start in range(len(word) - size + 1)
    ]
