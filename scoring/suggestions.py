"""Candidates for a user's dictionaries, from tokens of the user's own texts.

They are for people to look through, not for scoring: thresholds are rules of thumb.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import exact, hashing, ragged
from scoring.segments import Layout
from scoring.text.tokens import Tokens

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

LONGEST = 4
"""Tokens of a domain word."""

_CHARACTERS = (2, 10)
_COHESION = 3.0
_FREEDOM = 1.0
_PARTICLE = 0.02
_WORD = r"^[\p{Han}a-zA-Z]+$"
_CHINESE = r"\p{Han}"
_START, _END = 0, 1
"""Numbers that stand for the ends of a text among its tokens."""


@dataclass(frozen=True)
class DomainWord:
    """Adjacent tokens that may be one word.

    cohesion: pointwise mutual information of its parts, in nats, of the split that has least.
    freedom: entropy of what stands before or after, in nats, whichever is less. text: one that has
    it.
    """

    word: str
    tokens: tuple[str, ...]
    count: int
    cohesion: float
    freedom: float
    text: int


@dataclass(frozen=True)
class CommonWord:
    """A token that tells texts apart least. weight: its mean TF-IDF where it stands."""

    word: str
    count: int
    texts: int
    weight: float
    text: int


@dataclass(frozen=True)
class Miss:
    """Two words that stand for each other between the same tokens.

    word: the one that references have more often. examples: in how many. hypothesis, reference:
    texts of one of them.
    """

    word: str
    other: str
    examples: int
    hypothesis: int
    reference: int


def _is_word(vocabulary: pa.Array) -> Bools:
    found: Bools = pc.match_substring_regex(vocabulary, _WORD).to_numpy(zero_copy_only=False)
    return found


# Domain words


def domain_words(tokens: Tokens, texts: pa.Array, most: int, least: int = 5) -> list[DomainWord]:
    """N-grams of 2 to ``LONGEST`` tokens that occur at least ``least`` times, hang together and
    stand between many different tokens; by count times cohesion. None begins or ends with a
    single character that is in 2% of the texts or more (的, 就, 你).

    texts: as they were cut, so that a word is one of them, without a blank inside.
    """
    ids, text = tokens.ids.astype(np.int64), ragged.list_index(tokens.lengths)
    if not len(ids):
        return []
    fine = _is_word(tokens.vocabulary)[ids]
    edge = ~_is_particle(tokens)[ids]
    hashes = hashing.hash_strings(tokens.vocabulary)[ids]
    grams, tables = [hashes], [_counts(hashes)]
    found: list[tuple[Floats, Floats, Floats, Ints, Ints]] = []
    for n in range(2, LONGEST + 1):
        ends = len(ids) - n + 1
        if ends <= 0:
            break
        gram = hashing.extend(grams[-1][:ends], hashes[n - 1 :])
        own = (text[:ends] == text[n - 1 :]) & np.all(
            [fine[k : k + ends] for k in range(n)], axis=0
        )
        grams.append(gram)
        tables.append(_counts(gram[own]))
        places = np.flatnonzero(own & edge[:ends] & edge[n - 1 :])
        distinct, first, index, count = np.unique(
            gram[places], return_index=True, return_inverse=True, return_counts=True
        )
        often = np.flatnonzero(count >= least)
        if not len(often):
            continue
        at = places[first[often]]
        cohesion = np.full(len(often), np.inf)
        for k in range(1, n):
            left = _looked_up(tables[k - 1], grams[k - 1][at])
            right = _looked_up(tables[n - k - 1], grams[n - k - 1][at + k])
            ratio = count[often] * len(ids) / (left * right)
            cohesion = np.minimum(cohesion, exact.log(ratio))
        hang = cohesion >= _COHESION
        often, at, cohesion = often[hang], at[hang], cohesion[hang]
        number = np.full(len(distinct), -1, np.int64)
        number[often] = np.arange(len(often))
        chosen = number[index] >= 0
        around = _freedom(number[index][chosen], places[chosen], n, ids, text, fine, len(often))
        found.append((cohesion, around, count[often].astype(np.float64), at, np.full(len(at), n)))
    if not found:
        return []
    cohesion, freedom, count, at, sizes = (np.concatenate(c) for c in zip(*found))
    order = np.lexsort((at, -(count * cohesion)))
    words = []
    vocabulary = tokens.vocabulary
    for i in order[freedom[order] >= _FREEDOM].tolist():
        start, size = int(at[i]), int(sizes[i])
        parts = vocabulary.take(pa.array(ids[start : start + size])).to_pylist()
        word = "".join(parts)
        where = int(text[start])
        is_long = _CHARACTERS[0] <= len(word) <= _CHARACTERS[1]
        if is_long and _is_chinese(word) and word in texts[where].as_py():
            words.append(
                DomainWord(
                    word, tuple(parts), int(count[i]), float(cohesion[i]), float(freedom[i]), where
                )
            )
        if len(words) == most:
            break
    return words


def _is_particle(tokens: Tokens) -> Bools:
    """Tokens of one character that very many texts have: [vocabulary]."""
    texts = len(tokens.lengths)
    pairs = np.unique(tokens.ids.astype(np.int64) * texts + ragged.list_index(tokens.lengths))
    counts = np.bincount(pairs // max(texts, 1), minlength=len(tokens.vocabulary))
    single = pc.equal(pc.utf8_length(tokens.vocabulary), 1).to_numpy(zero_copy_only=False)
    found: Bools = single & (counts >= max(_PARTICLE * texts, 5))
    return found


def _is_chinese(word: str) -> bool:
    return bool(pc.match_substring_regex(pa.scalar(word), _CHINESE).as_py())


def _counts(values: hashing.Hashes) -> tuple[hashing.Hashes, Ints]:
    found, counts = np.unique(values, return_counts=True)
    return found, counts.astype(np.int64)


def _looked_up(table: tuple[hashing.Hashes, Ints], values: hashing.Hashes) -> Ints:
    counts: Ints = table[1][np.searchsorted(table[0], values)]
    return counts


def _freedom(
    gram: Ints, places: Ints, n: int, ids: Ints, text: Ints, fine: Bools, grams: int
) -> Floats:
    """The entropy of the neighbours of every n-gram on the side where it is less: [grams].

    An end of the text, or what is no word, is another neighbour each time.
    """
    least = np.full(grams, np.inf)
    for offset in (-1, n):
        beside = np.clip(places + offset, 0, len(ids) - 1)
        inside = (text[beside] == text[places]) & fine[beside] & (beside == places + offset)
        neighbour = np.where(inside, ids[beside], int(ids.max()) + 1 + np.arange(len(places)))
        pair = gram * (int(neighbour.max(initial=0)) + 1) + neighbour
        pairs, counts = np.unique(pair, return_counts=True)
        of = pairs // (int(neighbour.max(initial=0)) + 1)
        total = np.bincount(of, counts, grams)
        terms = np.bincount(of, counts * exact.log(counts.astype(np.float64)), grams)
        least = np.minimum(least, exact.log(np.maximum(total, 1)) - terms / np.maximum(total, 1))
    return least


# Stop words


def common_words(
    tokens: Tokens, most: int, least: int = 5, share: float = 0.01
) -> list[CommonWord]:
    """The words with the lowest mean TF-IDF among those of at least ``share`` of the texts."""
    number = len(tokens.lengths)
    ids, text = tokens.ids.astype(np.int64), ragged.list_index(tokens.lengths)
    size = len(tokens.vocabulary)
    pairs, counts = np.unique(ids * number + text, return_counts=True)
    word, where = pairs // max(number, 1), pairs % max(number, 1)
    texts = np.bincount(word, minlength=size)
    often = _is_word(tokens.vocabulary) & (texts >= max(least, share * number))
    chosen = np.flatnonzero(often)
    if not len(chosen):
        return []
    shares = counts / tokens.lengths[where]
    mean = np.bincount(word, shares, size)[chosen] / texts[chosen]
    weight = mean * exact.log(number / texts[chosen])
    words = tokens.vocabulary.take(pa.array(chosen)).to_pylist()
    total = np.bincount(word, counts, size)[chosen]
    first = where[np.searchsorted(word, chosen)]
    order = sorted(range(len(chosen)), key=lambda i: (float(weight[i]), words[i]))[:most]
    return [
        CommonWord(words[i], int(total[i]), int(texts[chosen[i]]), float(weight[i]), int(first[i]))
        for i in order
    ]


# Synonyms


def misses(tokens: Tokens, layout: Layout, most: int, least: int = 3) -> list[Miss]:
    """Words of a hypothesis where a reference of its example has another one: the tokens before
    and after are equal, and neither text has the other word.

    tokens: of all texts of the layout. An end of a text is a token too, but not on both sides.
    """
    ids = tokens.ids.astype(np.int64)
    size = len(tokens.vocabulary) + 2
    text = ragged.list_index(tokens.lengths)
    if not len(ids):
        return []
    starts = np.ones(len(ids), np.bool_)
    starts[1:] = text[1:] != text[:-1]
    ends = np.append(starts[1:], True)
    before = np.where(starts, _START, np.roll(ids, 1) + 2)
    after = np.where(ends, _END, np.roll(ids, -1) + 2)
    usable = _is_word(tokens.vocabulary)[ids] & ~(starts & ends)
    example = layout.example_of_text[text]
    place = (example * size + before) * size + after
    own = np.flatnonzero(usable & layout.is_hypothesis[text])
    other = np.flatnonzero(usable & ~layout.is_hypothesis[text])
    other = other[np.argsort(place[other], kind="stable")]
    low = np.searchsorted(place[other], place[own], "left")
    repeats = np.searchsorted(place[other], place[own], "right") - low
    one = np.repeat(own, repeats)
    two = other[ragged.ranges(low, repeats)]
    has = np.unique(text * size + ids)
    apart = ids[one] != ids[two]
    apart &= ~_among(text[two] * size + ids[one], has)
    apart &= ~_among(text[one] * size + ids[two], has)
    one, two = one[apart], two[apart]
    lower, upper = np.minimum(ids[one], ids[two]), np.maximum(ids[one], ids[two])
    examples = len(layout.references)
    pair = lower * size + upper
    seen, first = np.unique(pair * examples + example[one], return_index=True)
    pairs, start, counts = np.unique(
        seen // max(examples, 1), return_index=True, return_counts=True
    )
    in_references = np.bincount(ids[~layout.is_hypothesis[text]], minlength=size)
    vocabulary: list[str] = tokens.vocabulary.to_pylist()
    found = []
    for number in np.flatnonzero(counts >= least).tolist():
        words = [int(pairs[number]) // size, int(pairs[number]) % size]
        words.sort(key=lambda w: (-int(in_references[w]), vocabulary[w]))
        at = int(first[start[number]])
        found.append(
            Miss(
                vocabulary[words[0]],
                vocabulary[words[1]],
                int(counts[number]),
                int(text[one[at]]),
                int(text[two[at]]),
            )
        )
    return sorted(found, key=lambda m: (-m.examples, m.word, m.other))[:most]


def _among(values: Ints, known: Ints) -> Bools:
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    found: Bools = known[place] == values
    return found


def groups(found: Iterable[Miss]) -> tuple[dict[str, list[str]], list[Miss]]:
    """Key -> variants, no word in two groups, no chain; and the pairs for which that leaves no
    room. The more frequent pairs come first."""
    made: dict[str, list[str]] = {}
    taken: set[str] = set()
    left: list[Miss] = []
    for miss in found:
        if miss.other in taken or (miss.word in taken and miss.word not in made):
            left.append(miss)
            continue
        made.setdefault(miss.word, []).append(miss.other)
        taken |= {miss.word, miss.other}
    return made, left
