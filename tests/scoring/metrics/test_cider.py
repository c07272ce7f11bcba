"""CIDEr-D and CIDEr against their slow version, and what is undefined."""

from __future__ import annotations

import math

import builders
import numpy as np
import pytest
import slow_scores
from hypothesis import given
from hypothesis import strategies as st

from scoring import Cider
from scoring.library import with_own_frequencies
from scoring.metrics.base import FIXED_POINT
from scoring.metrics.cider import inverse_frequencies

PARAMETERS = st.tuples(
    st.sampled_from([1, 2, 3, 4, 5]), st.sampled_from([6.0, 1.0, 0.5, 25.0]), st.booleans()
)


def scores(corpus: list[builders.Example], metric: Cider) -> np.ndarray:
    tokens = with_own_frequencies(builders.tokens_of(corpus), [metric])
    return metric.segment_score(metric.segment_statistics(tokens))


@given(builders.examples(), PARAMETERS)
def test_segment_scores_equal_the_slow_version(
    corpus: list[builders.Example], parameters: tuple[int, float, bool]
) -> None:
    order, sigma, clip = parameters
    if len(corpus) == 1:
        corpus = [*corpus, builders.Example(("x",), ("x y",))]
    frequencies = slow_scores.document_frequencies([e.cut()[0] for e in corpus], order)
    expected = []
    for example in corpus:
        references, hypotheses = example.cut()
        expected += [
            slow_scores.cider(
                h, references, frequencies, len(corpus), order, sigma if clip else None
            )
            for h in hypotheses
        ]
    fast = scores(corpus, Cider(order, sigma, clip))
    assert fast.tolist() == pytest.approx(expected, rel=0, abs=1e-6)


@given(builders.examples())
def test_the_corpus_score_is_the_mean_of_the_segments(corpus: list[builders.Example]) -> None:
    corpus = [*corpus, builders.Example(("a b", "c"), ("a",))]
    metric = Cider()
    tokens = with_own_frequencies(builders.tokens_of(corpus), [metric])
    statistics = metric.segment_statistics(tokens)
    mean = float(np.mean(metric.segment_score(statistics)))
    assert float(metric.score(statistics.sum(axis=0))) == pytest.approx(mean, rel=1e-12, abs=1e-12)


@given(builders.examples(), st.randoms(use_true_random=False))
def test_the_bytes_do_not_depend_on_the_order_of_examples(
    corpus: list[builders.Example], random: object
) -> None:
    corpus = [*corpus, builders.Example(("a b c", "b c"), ("a b", "c b a"))]
    order = list(range(len(corpus)))
    random.shuffle(order)  # type: ignore[attr-defined]
    metric = Cider()

    def by_example(those: list[builders.Example]) -> list[list[list[int]]]:
        tokens = with_own_frequencies(builders.tokens_of(those), [metric])
        rows = metric.segment_statistics(tokens)
        ends = np.cumsum([len(e.hypotheses) for e in those])[:-1]
        return [part.tolist() for part in np.split(rows, ends)]

    expected = by_example(corpus)
    assert by_example([corpus[i] for i in order]) == [expected[i] for i in order]


def test_statistics_are_fixed_point_numbers_with_a_count_of_undefined_segments() -> None:
    corpus = [
        builders.Example(("a b c d",), ("a b c d", "x")),
        builders.Example(("e f g h",), ("e",)),
    ]
    metric = Cider()
    tokens = with_own_frequencies(builders.tokens_of(corpus), [metric])
    rows = metric.segment_statistics(tokens).tolist()
    assert rows[0] == [1, 10 * FIXED_POINT, 0]
    assert rows[1] == [1, 0, 0]
    assert rows[2][0] == 1
    assert 0 < rows[2][1] < 10 * FIXED_POINT


def test_cider_does_not_clip_and_ignores_the_length() -> None:
    corpus = [
        builders.Example(("a",), ("a a a a a a a a a a",)),
        builders.Example(("b",), ("b",)),
    ]
    plain = scores(corpus, Cider(order=1, clip_and_penalise=False))
    clipped = scores(corpus, Cider(order=1))
    assert plain[0] == pytest.approx(10.0, abs=1e-9)
    # 1 of 10 counts and 9 bigrams too many.
    assert clipped[0] == pytest.approx(np.exp(-81 / 72), abs=1e-9)


def test_metrics_without_document_frequencies_are_refused() -> None:
    tokens = builders.tokens_of([builders.Example(("a",), ("a",))])
    with pytest.raises(ValueError, match="needs document frequencies"):
        Cider().segment_statistics(tokens)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"order": 0}, "order of at least 1"),
        ({"sigma": 0.0}, "sigma above 0"),
        ({"sigma": float("inf")}, "sigma above 0"),
        ({"sigma": float("nan")}, "sigma above 0"),
    ],
)
def test_wrong_parameters_are_refused_with_a_reason(
    arguments: dict[str, float], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Cider(**arguments)  # type: ignore[arg-type]


def test_names_and_signatures_tell_cider_from_cider_d() -> None:
    assert (Cider().name, Cider().label) == ("cider_d", "CIDEr-D")
    assert Cider().signature() == {"n": "4", "sigma": "6"}
    plain = Cider(order=3, clip_and_penalise=False)
    assert (plain.name, plain.label) == ("cider", "CIDEr")
    assert plain.signature() == {"n": "3"}


def test_no_segments_have_no_score() -> None:
    sums = np.zeros(3, np.int64)
    assert np.isnan(float(Cider().score(sums)))
    assert Cider().note(sums) == "undefined: no segments"


def test_weights_of_rare_and_very_frequent_ngrams_are_logarithms() -> None:
    documents = 10**6
    for most in (0, 1, 7, 4094, 4095, 4096, 4097, 10**6):
        frequencies = np.array([0, 1, min(2, most), most // 2, most], np.uint32)
        expected = [math.log(documents) - math.log(max(1, f)) for f in frequencies.tolist()]
        found = inverse_frequencies(frequencies, documents)
        assert np.abs(found - expected).max() <= 2.0**-40
        assert (found * 2.0**40 == np.rint(found * 2.0**40)).all()


def test_the_weight_of_an_ngram_does_not_depend_on_the_others() -> None:
    frequencies = np.array([5000, 4096, 3, 0, 4095], np.uint32)
    together = inverse_frequencies(frequencies, 10_000).tolist()
    alone = [float(inverse_frequencies(f[None], 10_000)[0]) for f in frequencies]
    assert together == alone
