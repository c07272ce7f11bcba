"""The layout of a batch, and the n-grams that hypotheses share with references."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import builders
import numpy as np
import slow_scores
from hypothesis import given
from hypothesis import strategies as st

from scoring.document_frequencies import DocumentFrequencies


@given(builders.examples())
def test_the_layout_names_every_text_and_pair(corpus: list[builders.Example]) -> None:
    layout = builders.tokens_of(corpus).layout
    example_of_text, hypothesis_of_text, text_of_hypothesis = [], [], []
    example_of_hypothesis, reference_pairs = [], []
    text = 0
    for number, example in enumerate(corpus):
        references = list(range(text, text + len(example.references)))
        for _ in references:
            example_of_text.append(number)
            hypothesis_of_text.append(-1)
        text += len(references)
        for _ in example.hypotheses:
            example_of_text.append(number)
            hypothesis_of_text.append(len(text_of_hypothesis))
            text_of_hypothesis.append(text)
            example_of_hypothesis.append(number)
            reference_pairs += references
            text += 1
    assert layout.example_of_text.tolist() == example_of_text
    assert layout.hypothesis_of_text.tolist() == hypothesis_of_text
    assert layout.text_of_hypothesis.tolist() == text_of_hypothesis
    assert layout.example_of_hypothesis.tolist() == example_of_hypothesis
    assert layout.reference_pairs.tolist() == reference_pairs


@given(builders.examples(), st.integers(1, 4))
def test_pairs_hold_every_shared_ngram_with_both_counts(
    corpus: list[builders.Example], order: int
) -> None:
    tokens = builders.tokens_of(corpus)
    expected = []
    pair = 0
    for example in corpus:
        references, hypotheses = example.cut()
        for hypothesis in hypotheses:
            own = slow_scores.ngrams_of(hypothesis, order)
            for reference in references:
                other = slow_scores.ngrams_of(reference, order)
                expected += [
                    (builders.gram_hash(gram), pair, own[gram], other[gram])
                    for gram in own
                    if gram in other
                ]
                pair += 1
    shared = tokens.pairs(order)
    hashes = tokens.ngrams(order)[order - 1].hashes[shared.gram]
    found = zip(
        hashes.tolist(),
        shared.pair.tolist(),
        shared.hypothesis_count.tolist(),
        shared.reference_count.tolist(),
    )
    assert sorted(found) == sorted(expected)
    keys = list(zip(shared.gram.tolist(), shared.pair.tolist()))
    assert keys == sorted(keys)


@given(builders.examples())
def test_counting_a_higher_order_later_changes_nothing(corpus: list[builders.Example]) -> None:
    at_once, in_steps = builders.tokens_of(corpus), builders.tokens_of(corpus)
    in_steps.ngrams(1)
    expected = at_once.ngrams(4)
    for one, other in zip(expected, in_steps.ngrams(4)):
        assert one.hashes.tolist() == other.hashes.tolist()
        assert one.count.tolist() == other.count.tolist()
    assert len(in_steps.ngrams(2)) == 2
    assert in_steps.ngrams(2)[1].hashes.tolist() == expected[1].hashes.tolist()


def slow_matched(hypothesis: list[str], references: list[list[str]]) -> int:
    def grams(text: list[str]) -> Counter[tuple[str, ...]]:
        return slow_scores.ngrams_of(text, 1) + slow_scores.ngrams_of(text, 2)

    best, chosen = Fraction(0), -1
    for number, reference in enumerate(references):
        shared = (grams(hypothesis) & grams(reference)).total()
        total = grams(hypothesis).total() + grams(reference).total()
        dice = Fraction(2 * shared, max(total, 1))
        if dice > best:
            best, chosen = dice, number
    return chosen


@given(builders.examples())
def test_the_matched_reference_is_the_first_of_those_that_share_most(
    corpus: list[builders.Example],
) -> None:
    expected = []
    for example in corpus:
        references, hypotheses = example.cut()
        expected += [slow_matched(h, references) for h in hypotheses]
    assert builders.tokens_of(corpus).matched_references().tolist() == expected


def test_new_frequencies_keep_what_has_been_counted() -> None:
    tokens = builders.tokens_of([builders.Example(("a b",), ("a",))])
    counted = tokens.ngrams(2)
    frequencies = DocumentFrequencies(7, tuple(np.zeros(2, np.uint32) for _ in counted))
    weighed = tokens.with_frequencies(frequencies)
    assert weighed.document_frequencies is frequencies
    assert tokens.document_frequencies is None
    assert weighed.ngrams(2)[1] is counted[1]
