"""The exchange of document frequencies between partitions against one dictionary."""

from __future__ import annotations

from collections import Counter

import builders
import numpy as np
import pytest
import slow_scores
from hypothesis import given
from hypothesis import strategies as st

from scoring import document_frequencies, hashing
from scoring.evaluation import document_buckets, document_requests
from scoring.segments import SegmentTokens

ORDER = 4


def cut_into(corpus: list[builders.Example], parts: int) -> list[list[builders.Example]]:
    return [part for part in (corpus[i::parts] for i in range(parts)) if part]


def exchange(
    partitions: list[SegmentTokens], documents: int, buckets: int
) -> tuple[list[document_frequencies.DocumentFrequencies], list[document_frequencies.Table]]:
    asked = [document_buckets(tokens, ORDER, buckets) for tokens in partitions]
    requests = [document_requests(tokens, of) for tokens, of in zip(partitions, asked)]
    answered = [document_frequencies.answer([r[b] for r in requests]) for b in range(buckets)]
    found = [
        a.frequencies(documents, [answers[i] for answers, _ in answered])
        for i, a in enumerate(asked)
    ]
    return found, [table for _, table in answered]


@pytest.mark.parametrize("buckets", [1, 3, 17])
@given(corpus=builders.examples(), parts=st.integers(1, 4))
def test_partitions_and_buckets_give_what_one_dictionary_gives(
    buckets: int, corpus: list[builders.Example], parts: int
) -> None:
    slow = slow_scores.document_frequencies([e.cut()[0] for e in corpus], ORDER)
    by_hash = {builders.gram_hash(gram): times for gram, times in slow.items()}
    partitions = [builders.tokens_of(part) for part in cut_into(corpus, parts)]
    found, tables = exchange(partitions, len(corpus), buckets)
    for tokens, frequencies in zip(partitions, found):
        assert frequencies.documents == len(corpus)
        assert len(frequencies.by_order) == ORDER
        for counts, of_order in zip(tokens.ngrams(ORDER), frequencies.by_order):
            expected = [by_hash.get(h, 0) for h in counts.hashes.tolist()]
            # A frequency of 1 weighs as much as 0, so only those from 2 on are sent.
            assert of_order.tolist() == [f if f >= 2 else 0 for f in expected]
    held = [pair for t in tables for pair in zip(t.hashes.tolist(), t.counts.tolist())]
    assert sorted(held) == sorted((h, f) for h, f in by_hash.items() if f >= 2)
    for number, table in enumerate(tables):
        assert set(hashing.spread(table.hashes, buckets).tolist()) <= {number}


@given(builders.examples(), st.integers(1, 4), st.sampled_from([2, 3, 17]))
def test_the_fingerprint_of_a_table_adds_over_buckets(
    corpus: list[builders.Example], parts: int, buckets: int
) -> None:
    partitions = [builders.tokens_of(part) for part in cut_into(corpus, parts)]
    _, tables = exchange(partitions, len(corpus), buckets)
    _, (whole,) = exchange([builders.tokens_of(corpus)], len(corpus), 1)
    assert sum(table.fingerprint() for table in tables) % 2**64 == whole.fingerprint()


def test_the_fingerprint_changes_with_a_frequency_but_not_with_a_rare_ngram() -> None:
    def fingerprint(*texts: str) -> int:
        corpus = [builders.Example((text,), ()) for text in texts]
        _, (table,) = exchange([builders.tokens_of(corpus)], len(corpus), 1)
        return table.fingerprint()

    base = fingerprint("a", "a", "b")
    assert fingerprint("a", "a", "b", "c") == base
    assert fingerprint("a", "a", "a") != base
    assert fingerprint("a", "a", "b", "b") != base
    assert fingerprint("b", "b") != fingerprint("a", "a")


def test_hypotheses_never_count() -> None:
    corpus = [builders.Example(("a",), ("b", "b")), builders.Example(("a", "a"), ("b",))]
    tokens = builders.tokens_of(corpus)
    (found,), (table,) = exchange([tokens], 2, 1)
    first = dict(zip(tokens.ngrams(1)[0].hashes.tolist(), found.by_order[0].tolist()))
    assert first == {builders.gram_hash("a"): 2, builders.gram_hash("b"): 0}
    assert table.hashes.tolist() == [builders.gram_hash("a")]
    assert table.counts.tolist() == [2]


def test_an_answer_names_only_frequencies_of_2_and_more() -> None:
    hashes = np.array([5, 2**63, 7], np.uint64)
    one = document_frequencies.Request(hashes, np.array([1, 1, 0], np.uint32))
    other = document_frequencies.Request(hashes[:1], np.array([3], np.uint32))
    answers, table = document_frequencies.answer([one, other])
    assert answers[0].index.tolist() == [0]
    assert answers[0].frequency.tolist() == [4]
    assert answers[1].index.tolist() == [0]
    assert answers[1].frequency.tolist() == [4]
    assert table.hashes.tolist() == [5]
    assert table.counts.tolist() == [4]


@given(
    st.lists(
        st.lists(
            st.tuples(
                # Many that differ only in the highest bits, which a sort may leave out.
                st.integers(0, 3).flatmap(
                    lambda low: st.sampled_from([low + i * 2**61 for i in range(8)])
                ),
                st.integers(0, 3),
            ),
            max_size=8,
            unique_by=lambda pair: pair[0],
        ),
        min_size=1,
        max_size=5,
    )
)
def test_hashes_that_differ_only_in_their_high_bits_are_kept_apart(
    asked: list[list[tuple[int, int]]],
) -> None:
    requests = [
        document_frequencies.Request(
            np.array([h for h, _ in pairs], np.uint64), np.array([c for _, c in pairs], np.uint32)
        )
        for pairs in asked
    ]
    sums: Counter[int] = Counter()
    for pairs in asked:
        for value, times in pairs:
            sums[value] += times
    answers, table = document_frequencies.answer(requests)
    for pairs, answer in zip(asked, answers, strict=True):
        expected = [(i, sums[h]) for i, (h, _) in enumerate(pairs) if sums[h] >= 2]
        assert list(zip(answer.index.tolist(), answer.frequency.tolist())) == expected
    held = dict(zip(table.hashes.tolist(), table.counts.tolist()))
    assert held == {h: f for h, f in sums.items() if f >= 2}


def test_a_bucket_that_nobody_asks_is_empty() -> None:
    nothing = document_frequencies.Request(np.zeros(0, np.uint64), np.zeros(0, np.uint32))
    answers, table = document_frequencies.answer([nothing, nothing])
    assert [len(a.index) for a in answers] == [0, 0]
    assert len(table.hashes) == 0
    assert table.fingerprint() == 0
