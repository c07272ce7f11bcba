"""n-gram counts by sorting against a Counter."""

from __future__ import annotations

import itertools
from collections import Counter
from unittest import mock

import numpy as np
import slow_scores
from hypothesis import given
from hypothesis import strategies as st

from scoring import hashing, ngrams

VOCABULARY = np.sort(hashing.mix(np.arange(1, 10, dtype=np.uint64)))

# Of vocabularies of 1 to 9 tokens: those of 1, 2, 3, 5 and 9 need one bit more than the one before.
BATCHES = st.integers(0, len(VOCABULARY) - 1).flatmap(
    lambda last: st.lists(st.lists(st.integers(0, last), max_size=9), max_size=6)
)


def count(texts: list[list[int]], order: int) -> list[ngrams.NgramCounts]:
    ids = np.array([i for text in texts for i in text], np.uint8)
    lengths = np.array([len(text) for text in texts], np.int64)
    size = int(ids.max(initial=0)) + 1  # as in a real batch, the last token occurs
    return ngrams.count_ngrams(ids, lengths, VOCABULARY[:size], order)


def hash_of(gram: tuple[int, ...]) -> int:
    value = np.zeros(1, np.uint64)
    for token in gram:
        value = hashing.extend(value, VOCABULARY[token : token + 1])
    return int(value[0])


@given(BATCHES, st.integers(1, 6))
def test_counts_equal_a_counters(texts: list[list[int]], order: int) -> None:
    result = count(texts, order)
    assert len(result) == order
    for n, fast in enumerate(result, start=1):
        slow: Counter[tuple[int, tuple[int, ...]]] = Counter()
        for number, text in enumerate(texts):
            for gram, times in slow_scores.ngrams_of(text, n).items():  # type: ignore[arg-type]
                slow[number, gram] = times  # type: ignore[index]
        # Distinct n-grams are numbered by their tokens, first token first.
        grams = sorted({gram for _, gram in slow})
        entries = sorted((grams.index(gram), text, times) for (text, gram), times in slow.items())
        assert list(zip(fast.gram.tolist(), fast.text.tolist(), fast.count.tolist())) == entries
        assert fast.hashes.tolist() == [hash_of(gram) for gram in grams]


@given(BATCHES, st.integers(1, 6))
def test_batches_too_large_for_one_key_give_the_same(texts: list[list[int]], order: int) -> None:
    expected = count(texts, order)
    with mock.patch.object(ngrams, "_KEY_BITS", 0):
        fallback = count(texts, order)
    for one, other in zip(expected, fallback):
        for field in ("gram", "text", "count", "hashes"):
            assert getattr(one, field).tolist() == getattr(other, field).tolist()


def test_the_key_holds_exactly_what_fits_in_it() -> None:
    texts = [[0, 1, 2, 3, 4, 5, 0, 1], [0, 1]]
    expected = count(texts, 4)
    for bits in range(64):
        with mock.patch.object(ngrams, "_KEY_BITS", bits):
            for one, other in zip(expected, count(texts, 4)):
                assert one.gram.tolist() == other.gram.tolist()
                assert one.hashes.tolist() == other.hashes.tolist()


def test_keys_that_would_pass_63_bits_are_sorted_otherwise() -> None:
    rng = np.random.default_rng(4)
    prefix = np.sort(rng.integers(0, 2**28, 500))
    prefix[100:400] = prefix[100]  # many n-grams with one beginning
    last = rng.integers(0, 3, 500) * 2**29
    positions = rng.permutation(500)
    positions[np.argmax(positions)] = 2**20
    ordered, starts = ngrams._sort(prefix, last, positions, 2**31 - 1)
    grams = sorted(zip(prefix.tolist(), last.tolist(), positions.tolist()))
    assert ordered.tolist() == [position for _, _, position in grams]
    changes = [a[:2] != b[:2] for a, b in itertools.pairwise(grams)]
    assert starts.tolist() == [True, *changes]


def test_the_hash_of_an_ngram_does_not_depend_on_the_batch() -> None:
    alone = count([[3, 1, 4]], 3)[2].hashes.tolist()
    among = count([[3, 1, 4, 1, 5], [2, 3, 1, 4], []], 3)[2].hashes.tolist()
    assert alone[0] in among
    assert alone[0] != count([[4, 1, 3]], 3)[2].hashes.tolist()[0]


def test_no_text_has_no_ngram() -> None:
    for texts in ([], [[]], [[], []]):
        for counts in count(texts, 3):
            assert len(counts.gram) == len(counts.text) == len(counts.hashes) == 0
