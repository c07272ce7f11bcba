"""What the texts of a run are like, as counts that add up.

A ``Tally`` counts values of measures by source. Those of parts of the data are added; everything
that is reported (shares, quantiles, repeated texts) comes from the sum, so it does not depend on
how the data were cut. Every text of the examples looked at is counted; see ``looked_at``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import hashing, ragged
from scoring.joining import Examples
from scoring.sampling import sample_hashes
from scoring.text import characters
from scoring.text.recipe import TextRecipe
from scoring.text.tokens import HasDictionary

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

REFERENCES = 0
"""The source of references; that of system i is i + 1."""

# Measures. The values of a text's counts: its class or its length; of REPEATED: the hash of a text.
(
    TEXTS,  # value 0: all texts of the run, 1: those looked at
    DAMAGED,  # value 0: texts of the run that hold U+FFFD
    CHARACTERS,  # value: class of a character
    TEXTS_WITH,  # value: class of a character that the text has
    LENGTH,  # value: characters of the text
    MOJIBAKE,  # value 0: texts that look like read in the wrong encoding
    REPEATED,  # value: hash of the text; count: examples that have it
    TRACKS,  # the first measure of the first track
) = range(8)

# Measures of a track, after TRACKS + PER_TRACK * track.
(
    TOKENS,  # value: tokens of the text
    TOKEN_CHARACTERS,  # value 0: characters of all tokens
    WORDS,  # value 0: Chinese tokens looked up in the dictionary, 1: those that are not in it
) = range(3)
PER_TRACK = 3

_MEASURES = 2**20
_EXACT_BITS = 10

_CHINESE = r"^[\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{20000}-\x{3ffff}]+$"


@dataclass(frozen=True)
class Tally:
    """Counts by place and value, sorted by both, each pair once.

    place: [n] source * 2**20 + measure; value: [n] uint64; count: [n], above 0.
    """

    place: Ints
    value: hashing.Hashes
    count: Ints


Part = tuple[int | Ints, int, Any, int | Ints]
"""(source, measure, value, count): numbers or arrays of one length."""


def tally(parts: Sequence[Part]) -> Tally:
    """Add up counts; those of 0 are left out."""
    columns = [
        np.broadcast_arrays(
            np.asarray(source, np.int64) * _MEASURES + measure,
            np.asarray(value).astype(np.uint64),
            np.asarray(count, np.int64),
        )
        for source, measure, value, count in parts
    ]
    if not columns:
        return Tally(np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int64))
    place, value, count = (np.concatenate([np.ravel(c[i]) for c in columns]) for i in range(3))
    return _added(place, value, count)


def merge(tallies: Sequence[Tally]) -> Tally:
    """The sum."""
    if not tallies:
        return tally([])
    return _added(
        np.concatenate([t.place for t in tallies]),
        np.concatenate([t.value for t in tallies]),
        np.concatenate([t.count for t in tallies]),
    )


def _added(place: Ints, value: hashing.Hashes, count: Ints) -> Tally:
    order = np.lexsort((value, place))
    place, value, count = place[order], value[order], count[order]
    starts = np.ones(len(place), np.bool_)
    starts[1:] = (place[1:] != place[:-1]) | (value[1:] != value[:-1])
    first = np.flatnonzero(starts)
    sums = ragged.segment_sum(count, ragged.sizes_of(first, len(place)))
    kept = sums != 0
    return Tally(place[first][kept], value[first][kept], sums[kept])


# Counting


def looked_at(examples: Examples, limit: int) -> Ints:
    """The examples whose texts are looked at: those with a hash (``scoring.sampling``) below
    ``limit``, of 2**64. So it is the same ones, however the data are cut."""
    if limit >= 2**64:
        return np.arange(len(examples), dtype=np.int64)
    return np.flatnonzero(sample_hashes(examples.example_id) < np.uint64(limit))


def count_texts(
    examples: Examples, texts: pa.Array, recipes: Sequence[TextRecipe], limit: int
) -> Tally:
    """Count the texts of some examples. Texts that stand for missing ones are left out.

    texts: as ``examples.layout`` has them. recipes: of the tracks.
    """
    layout = examples.layout
    source = np.zeros(len(texts), np.int64)
    source[layout.text_of_hypothesis] = examples.system + 1
    real = np.ones(len(texts), np.bool_)
    real[layout.text_of_hypothesis] = ~examples.filled
    parts: list[Part] = []
    _count(parts, source[real], TEXTS, 0)
    damaged = pc.match_substring(texts, "\ufffd").to_numpy(zero_copy_only=False) & real
    _count(parts, source[damaged], DAMAGED, 0)
    chosen = np.zeros(len(examples), np.bool_)
    chosen[looked_at(examples, limit)] = True
    rows = np.flatnonzero(chosen[layout.example_of_text] & real)
    if len(rows):
        _count_chosen(
            parts, source[rows], layout.example_of_text[rows], texts.take(pa.array(rows)), recipes
        )
    return tally(parts)


def _count_chosen(
    parts: list[Part],
    source: Ints,
    example: Ints,
    texts: pa.Array,
    recipes: Sequence[TextRecipe],
) -> None:
    encoded = texts.dictionary_encode()
    distinct, code = encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)
    _count(parts, source, TEXTS, 1)
    of_class = characters.count_classes(distinct)
    suspect = characters.mojibake(distinct, of_class)[code]
    _count(parts, source[suspect], MOJIBAKE, 0)
    lengths = of_class.sum(axis=1)
    _count(parts, source, LENGTH, _rounded(lengths)[code])
    sources = int(source.max()) + 1
    for number in np.flatnonzero(of_class.sum(axis=0)).tolist():
        own = of_class[:, number][code]
        sums = np.bincount(source, own, sources).astype(np.int64)
        parts.append((np.arange(sources), CHARACTERS, number, sums))
        _count(parts, source[own > 0], TEXTS_WITH, number)
    # A text counts once an example, however many samples or references repeat it.
    key = (source * len(distinct) + code) * (int(example.max()) + 1) + example
    pair = np.unique(key) // (int(example.max()) + 1)
    pair, count = np.unique(pair, return_counts=True)
    hashes = hashing.hash_strings(distinct)[pair % len(distinct)]
    parts.append((pair // len(distinct), REPEATED, hashes, count))
    for track, recipe in enumerate(recipes):
        base = TRACKS + PER_TRACK * track
        cut = recipe.tokenize(distinct.cast(pa.string()))
        _count(parts, source, base + TOKENS, _rounded(cut.lengths)[code])
        sizes = pc.utf8_length(cut.vocabulary).to_numpy(zero_copy_only=False).astype(np.int64)
        columns = [(TOKEN_CHARACTERS, 0, sizes)]
        if isinstance(recipe.tokenizer, HasDictionary):
            chinese = pc.match_substring_regex(cut.vocabulary, _CHINESE)
            is_chinese = chinese.to_numpy(zero_copy_only=False)
            unknown = is_chinese.copy()
            unknown[is_chinese] = ~recipe.tokenizer.known(cut.vocabulary.filter(chinese))
            columns += [(WORDS, 0, is_chinese), (WORDS, 1, unknown)]
        for measure, value, of_word in columns:
            of_text = ragged.segment_sum(of_word.astype(np.int64)[cut.ids], cut.lengths)[code]
            sums = np.bincount(source, of_text, sources).astype(np.int64)
            parts.append((np.arange(sources), base + measure, value, sums))


def _count(parts: list[Part], source: Ints, measure: int, value: Any) -> None:
    """How often every source has every value."""
    if not len(source):
        return
    values = np.broadcast_to(np.asarray(value, np.int64), source.shape)
    size = int(values.max()) + 1
    cells = (int(source.max()) + 1) * size
    cell = source * size + values
    if cells <= 4 * len(source) + 4096:
        counts = np.bincount(cell, minlength=cells)
        found = np.flatnonzero(counts)
        count = counts[found]
    else:
        found, count = np.unique(cell, return_counts=True)
    parts.append((found // size, measure, found % size, count.astype(np.int64)))


def _rounded(lengths: Ints) -> Ints:
    """Lengths of 1,024 and more rounded down to ten binary digits, less than 0.2% off."""
    shift = np.zeros(len(lengths), np.int64)
    long = lengths >= 2**_EXACT_BITS
    shift[long] = np.frexp(lengths[long].astype(np.float64))[1] - _EXACT_BITS
    rounded: Ints = (lengths >> shift) << shift
    return rounded


# Reporting


@dataclass(frozen=True)
class Figure:
    """One number. count: of what; of: out of how many; value: the share, mean or quantile, None if
    ``of`` is 0. source: see ``REFERENCES``. track: its number, None if it is of the whole text."""

    source: int
    track: int | None
    measure: str
    count: int | None
    of: int
    value: float | None


QUANTILES = (0, 5, 25, 50, 75, 95, 100)

_CLASSES: Mapping[str, tuple[int, ...]] = {
    "cjk": (
        characters.HAN,
        characters.HAN_SIMPLIFIED,
        characters.HAN_TRADITIONAL,
        characters.HAN_SUSPECT,
    ),
    "kana": (characters.KANA,),
    "hangul": (characters.HANGUL,),
    "latin": (characters.LATIN, characters.LATIN_1_LETTER, characters.WIDE_LETTER),
    "digits": (characters.DIGIT, characters.WIDE_DIGIT),
    "wide": (characters.WIDE_LETTER, characters.WIDE_DIGIT),
    "emoji": (characters.EMOJI,),
    "invisible": (characters.INVISIBLE,),
    "blanks": (characters.BLANK,),
}

_TEXTS_WITH = {
    "texts_with_latin": characters.LATIN,
    "texts_with_digits": characters.DIGIT,
    "texts_with_emoji": characters.EMOJI,
    "texts_with_invisible": characters.INVISIBLE,
}


class _Counts:
    """The counts of one source."""

    def __init__(self, tally: Tally, source: int) -> None:
        start, stop = np.searchsorted(tally.place, [source * _MEASURES, (source + 1) * _MEASURES])
        self._place = tally.place[start:stop] - source * _MEASURES
        self._value, self._count = tally.value[start:stop], tally.count[start:stop]

    def of(self, measure: int) -> tuple[hashing.Hashes, Ints]:
        """The values of a measure, ascending, and their counts."""
        start, stop = np.searchsorted(self._place, [measure, measure + 1])
        return self._value[start:stop], self._count[start:stop]

    def at(self, measure: int, *values: int) -> int:
        """The count of some values together."""
        found, count = self.of(measure)
        return int(count[np.isin(found, np.array(values, np.uint64))].sum())


def figures(total: Tally, systems: int, tracks: int) -> list[Figure]:
    """Every number that is reported, source by source."""
    return [
        figure
        for source in range(systems + 1)
        for figure in _figures(_Counts(total, source), source, tracks)
    ]


def _figures(counts: _Counts, source: int, tracks: int) -> list[Figure]:
    found: list[Figure] = []

    def tell(measure: str, count: int, of: int, track: int | None = None) -> None:
        found.append(Figure(source, track, measure, count, of, count / of if of else None))

    in_all, texts = counts.at(TEXTS, 0), counts.at(TEXTS, 1)
    tell("texts", texts, in_all)
    lengths, of_length = counts.of(LENGTH)
    tell("empty_texts", counts.at(LENGTH, 0), texts)
    total = int(counts.of(CHARACTERS)[1].sum())
    tell("characters", total, texts)
    found += _quantiles(source, None, "characters", lengths, of_length)
    for name, classes in _CLASSES.items():
        tell(name, counts.at(CHARACTERS, *classes), total)
    simplified = counts.at(CHARACTERS, characters.HAN_SIMPLIFIED)
    traditional = counts.at(CHARACTERS, characters.HAN_TRADITIONAL)
    tell("traditional", traditional, simplified + traditional)
    for name, one_class in _TEXTS_WITH.items():
        tell(name, counts.at(TEXTS_WITH, one_class), texts)
    tell("texts_with_replacement", counts.at(DAMAGED, 0), in_all)
    tell("mojibake_suspects", counts.at(MOJIBAKE, 0), texts)
    examples = counts.of(REPEATED)[1]
    answers = int(examples.sum())
    tell("distinct_texts", len(examples), answers)
    tell("repeated_texts", int(examples[examples > 1].sum()), answers)
    tell("most_repeated", int(examples.max(initial=0)), answers)
    for track in range(tracks):
        base = TRACKS + PER_TRACK * track
        sizes, of_size = counts.of(base + TOKENS)
        tokens = int((sizes.astype(np.int64) * of_size).sum())
        tell("tokens", tokens, texts, track)
        found += _quantiles(source, track, "tokens", sizes, of_size)
        tell("no_token", counts.at(base + TOKENS, 0), texts, track)
        tell("one_token", counts.at(base + TOKENS, 1), texts, track)
        tell("characters_a_token", counts.at(base + TOKEN_CHARACTERS, 0), tokens, track)
        words = counts.at(base + WORDS, 0)
        if words:
            tell("unknown_words", counts.at(base + WORDS, 1), words, track)
    return found


def _quantiles(
    source: int, track: int | None, name: str, values: hashing.Hashes, counts: Ints
) -> list[Figure]:
    """The smallest value that q percent of the texts do not exceed."""
    total = int(counts.sum())
    up_to = np.cumsum(counts)
    found = []
    for percent in QUANTILES:
        value = None
        if total:
            rank = max(-(-percent * total // 100), 1)
            value = float(values[int(np.searchsorted(up_to, rank))])
        found.append(Figure(source, track, f"{name}_p{percent}", None, total, value))
    return found


# What is wrong

ENOUGH = 10
"""Texts, or characters that tell scripts apart, below which nothing is warned of."""

_UNCUT = 2.5
"""Characters a token above which Chinese is hardly cut: words have 1.5."""

_ONE_SCRIPT = 0.9
_CHINESE_TEXT = 0.5
_ONE_TOKEN = 0.1
_SAME_TEXT = 0.2


@dataclass(frozen=True)
class Track:
    """What was chosen for a track. steps: signatures of those before cutting; overlaps: whether
    tokens do; bleu: whether BLEU is counted on it."""

    name: str
    tokenizer: str
    steps: tuple[str, ...]
    overlaps: bool
    bleu: bool


def warnings(
    reported: Sequence[Figure], systems: Sequence[str], tracks: Sequence[Track]
) -> list[str]:
    """Where a choice does not suit the data, and what to do."""
    of = {(f.source, f.track, f.measure): f for f in reported}
    found: list[str] = []
    for number, track in enumerate(tracks):
        found += _of_track(of, number, track)
    sources = ["the references", *(f"system {name}" for name in systems)]
    if not all(any(s.startswith("t2s") for s in track.steps) for track in tracks):
        found += _scripts(of, sources)
    for source, name in enumerate(sources):
        damaged = of[source, None, "texts_with_replacement"]
        if damaged.count:
            found.append(
                f"{name}: {damaged.count:,} of {damaged.of:,} texts hold U+FFFD, which stands for "
                "bytes that could not be read. Write them again from their source, as UTF-8."
            )
        suspect = of[source, None, "mojibake_suspects"]
        if suspect.count:
            found.append(
                f"{name}: {suspect.count:,} of {suspect.of:,} texts look like UTF-8 that was read "
                "as GBK or Latin-1. Read them again from their source, as UTF-8."
            )
        same = of[source, None, "most_repeated"]
        if source != REFERENCES and same.of >= ENOUGH and (same.value or 0) >= _SAME_TEXT:
            found.append(
                f"{name}: gives one and the same text for {same.count:,} of {same.of:,} examples. "
                "Look at its output before you trust its scores."
            )
    return found


def _of_track(
    of: Mapping[tuple[int, int | None, str], Figure], number: int, track: Track
) -> list[str]:
    found = []
    flag = "--tokenizer" if number == 0 else f"the track {track.name}:"
    size = of[REFERENCES, number, "characters_a_token"].value or 0
    texts = of[REFERENCES, number, "tokens"].of
    cjk = of[REFERENCES, None, "cjk"].value or 0
    if texts >= ENOUGH and cjk >= _CHINESE_TEXT and size >= _UNCUT:
        found.append(
            f"{flag} {track.tokenizer} leaves Chinese uncut: {size:.1f} characters a token in the "
            "references, so n-grams hardly ever match. Choose jieba, zh or char."
        )
    if track.overlaps and track.bleu:
        found.append(
            f"{flag} {track.tokenizer} makes tokens that overlap, so BLEU counts characters "
            "several times. Choose a mode without overlaps for BLEU."
        )
    single = of[REFERENCES, number, "one_token"]
    if texts >= ENOUGH and (single.value or 0) >= _ONE_TOKEN and track.bleu and size < _UNCUT:
        found.append(
            f"{single.count:,} of {single.of:,} references are one token ({track.tokenizer}): they "
            "have no n-gram of two or more. Look at CIDEr-D beside BLEU, give BLEU weights for "
            "shorter n-grams, or count characters (--tokenizer char)."
        )
    return found


def _scripts(of: Mapping[tuple[int, int | None, str], Figure], sources: Sequence[str]) -> list[str]:
    """Sides that are written in two scripts."""
    found = []
    scripts = [script(of[source, None, "traditional"]) for source in range(len(sources))]
    for name, own in zip(sources[1:], scripts[1:]):
        if own and scripts[0] and own != scripts[0]:
            found.append(
                f"{name} writes {own} characters, the references {scripts[0]} ones: they do not "
                "match. Put both into one script by the step t2s (--steps t2s)."
            )
    return found


def script(traditional: Figure) -> str:
    """The script by the share of traditional ones among the characters that tell; empty if they
    are few or mixed."""
    if traditional.of < ENOUGH or traditional.value is None:
        return ""
    if traditional.value >= _ONE_SCRIPT:
        return "traditional"
    return "simplified" if traditional.value <= 1 - _ONE_SCRIPT else ""
