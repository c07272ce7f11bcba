"""BLEU against its slow version, over corpora whose n-grams repeat."""

from __future__ import annotations

import builders
import numpy as np
import pytest
import slow_scores
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import Bleu

SMOOTHINGS: list[tuple[str, float | None]] = [
    *[("exp", None), ("none", None), ("floor", None), ("floor", 0.3), ("floor", 0.0)],
    *[("add-k", None), ("add-k", 0.5), ("add-k", 0.0)],
]


def weights() -> st.SearchStrategy[tuple[float, ...]]:
    """Equal and unequal weights of 1 to 6 orders, some of them 0."""
    equal = st.integers(1, 6).map(lambda n: (1 / n,) * n)
    parts = st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(lambda p: sum(p) > 0)
    return equal | parts.map(lambda p: tuple(part / sum(p) for part in p))


def slow_segments(corpus: list[builders.Example], order: int) -> list[slow_scores.BleuCounts]:
    result = []
    for example in corpus:
        references, hypotheses = example.cut()
        result += [slow_scores.bleu_counts(h, references, order) for h in hypotheses]
    return result


def slow_bleu(counts: slow_scores.BleuCounts, metric: Bleu, effective_order: bool) -> float:
    value = metric.smoothing_value
    if value is None:
        value = {"floor": 0.1, "add-k": 1.0}.get(metric.smoothing, 0.0)
    return slow_scores.bleu(counts, metric.weights, metric.smoothing, value, effective_order)


@given(builders.examples(), st.integers(1, 6))
def test_segment_statistics_equal_the_slow_version(
    corpus: list[builders.Example], order: int
) -> None:
    statistics = Bleu((1 / order,) * order).segment_statistics(builders.tokens_of(corpus))
    expected = [[1, *counts.row()] for counts in slow_segments(corpus, order)]
    assert statistics.dtype == np.int64
    assert statistics.tolist() == expected


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@settings(max_examples=50)
@given(corpus=builders.examples(), order_weights=weights(), effective_order=st.booleans())
def test_corpus_and_segment_scores_equal_the_slow_version(
    smoothing: tuple[str, float | None],
    corpus: list[builders.Example],
    order_weights: tuple[float, ...],
    effective_order: bool,
) -> None:
    metric = Bleu(order_weights, smoothing[0], smoothing[1], effective_order)
    segments = slow_segments(corpus, metric.order)
    statistics = metric.segment_statistics(builders.tokens_of(corpus))
    assert metric.segment_score(statistics) == pytest.approx(
        [slow_bleu(counts, metric, effective_order=True) for counts in segments], rel=1e-9, abs=0
    )
    score = float(metric.score(statistics.sum(axis=0)))
    if segments:
        expected = slow_bleu(slow_scores.summed(segments), metric, effective_order)
        assert score == pytest.approx(expected, rel=1e-9, abs=0)
    else:
        assert np.isnan(score)


@st.composite
def any_counts(draw: st.DrawFn, order: int) -> slow_scores.BleuCounts:
    """Counts as a corpus may have them: fewer n-grams by order, any of them matched or none."""
    totals = sorted(draw(st.lists(st.integers(0, 300), min_size=order, max_size=order)))[::-1]
    matches = [draw(st.sampled_from([0, 1, t // 2, t])) if t else 0 for t in totals]
    length = totals[0]
    reference = draw(st.integers(0, 400))
    return slow_scores.BleuCounts(length, reference, tuple(matches), tuple(totals))


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@given(data=st.data(), order_weights=weights(), effective_order=st.booleans())
def test_scores_of_any_counts_equal_the_slow_version(
    smoothing: tuple[str, float | None],
    data: st.DataObject,
    order_weights: tuple[float, ...],
    effective_order: bool,
) -> None:
    metric = Bleu(order_weights, smoothing[0], smoothing[1], effective_order)
    counts = data.draw(any_counts(metric.order))
    sums = np.array([1, *counts.row()])
    expected = slow_bleu(counts, metric, effective_order)
    assert float(metric.score(sums)) == pytest.approx(expected, rel=1e-9, abs=0)


@given(builders.examples(), st.integers(1, 5))
def test_a_segments_statistics_do_not_depend_on_its_batch(
    corpus: list[builders.Example], order: int
) -> None:
    metric = Bleu((1 / order,) * order)
    together = metric.segment_statistics(builders.tokens_of(corpus))
    apart = [metric.segment_statistics(builders.tokens_of([example])) for example in corpus]
    assert together.tolist() == np.concatenate(apart).tolist()


@given(builders.examples(), st.permutations(range(6)))
def test_the_order_of_references_does_not_matter(
    corpus: list[builders.Example], order: list[int]
) -> None:
    turned = [
        builders.Example(
            tuple(e.references[i] for i in order if i < len(e.references)), e.hypotheses
        )
        for e in corpus
    ]
    metric = Bleu()
    expected = metric.segment_statistics(builders.tokens_of(corpus)).tolist()
    assert metric.segment_statistics(builders.tokens_of(turned)).tolist() == expected


def test_one_call_scores_any_leading_axes() -> None:
    rng = np.random.default_rng(7)
    matches = rng.integers(0, 5, (3, 4, 4))
    totals = matches + rng.integers(0, 5, (3, 4, 4))
    lengths = rng.integers(0, 9, (3, 4, 2))
    sums = np.concatenate([np.ones((3, 4, 1), np.int64), lengths, matches, totals], axis=-1)
    metric = Bleu()
    together = metric.score(sums)
    assert together.shape == (3, 4)
    for i in range(3):
        for j in range(4):
            assert together[i, j] == float(metric.score(sums[i, j]))


def test_no_segments_have_no_score_and_the_note_says_so() -> None:
    sums = np.zeros(11, np.int64)
    assert np.isnan(float(Bleu().score(sums)))
    assert Bleu().note(sums) == "undefined: no segments"


def test_a_perfect_score_is_never_above_1() -> None:
    for length in range(4, 40):
        grams = [length - n for n in range(4)]
        sums = np.array([1, length, length, *grams, *grams])
        assert float(Bleu().score(sums)) == 1.0
    # A floor above 1 would lift a precision above 1.
    above = Bleu((1.0 / 3,) * 3, "floor", 5.0)
    assert float(above.score(np.array([1, 3, 3, 3, 2, 0, 3, 2, 1]))) == 1.0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"weights": ()}, "at least one weight"),
        ({"weights": (0.5, -0.5, 1.0)}, "numbers >= 0"),
        ({"weights": (float("nan"), 1.0)}, "numbers >= 0"),
        ({"weights": (0.5, 0.4)}, "sum 1"),
        ({"smoothing": "laplace"}, "exp, none, floor, add-k"),
        ({"smoothing": "exp", "smoothing_value": 1.0}, "takes no value"),
        ({"smoothing": "floor", "smoothing_value": -0.1}, "must be >= 0"),
    ],
)
def test_wrong_parameters_are_refused_with_a_reason(
    arguments: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Bleu(**arguments)  # type: ignore[arg-type]


def test_weights_may_miss_the_sum_1_by_a_rounding_but_not_by_more() -> None:
    assert Bleu((0.1,) * 10).order == 10
    with pytest.raises(ValueError, match="sum 1"):
        Bleu((0.5, 0.5 + 2e-9))


def test_the_signature_holds_everything_that_moves_the_score() -> None:
    base = Bleu().signature()
    assert base == {"n": "4", "w": "equal", "eff": "no", "smooth": "exp"}
    assert Bleu((0.5, 0.5)).signature()["n"] == "2"
    assert Bleu((0.75, 0.25)).signature()["w"] == "0.75,0.25"
    assert Bleu(effective_order=True).signature()["eff"] == "yes"
    assert Bleu(smoothing="floor").signature()["smooth"] == "floor[0.1]"
    assert Bleu(smoothing="add-k", smoothing_value=2.5).signature()["smooth"] == "add-k[2.5]"


def test_the_note_names_only_orders_that_make_the_score_0() -> None:
    sums = np.array([1, 2, 2, 2, 1, 0, 0, 2, 1, 0, 0])  # two tokens, both right
    assert Bleu().note(sums) == "0: no hypothesis has an n-gram of order 3"
    for metric in (
        Bleu((0.5, 0.5, 0.0, 0.0)),
        Bleu(smoothing="add-k"),
        Bleu(effective_order=True),
    ):
        assert float(metric.score(sums)) == 1.0
        assert metric.note(sums) == ""
    without = Bleu(smoothing="add-k", smoothing_value=0.0)
    assert float(without.score(sums)) == 0.0
    assert without.note(sums) == "0: no hypothesis has an n-gram of order 3"
