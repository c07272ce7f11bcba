"""Differences of systems: against plain numpy over the replicates, and what must always hold."""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from scoring.comparisons import (
    Comparisons,
    Difference,
    Draws,
    Pair,
    adjusted,
    best_p_values,
    compare,
    outcomes,
    ranks,
    with_common,
)
from scoring.evaluation import StatisticsLayout
from scoring.library import Evaluation, evaluate
from scoring.metrics.bleu import Bleu
from scoring.statistics import paired

ALL = Comparisons(every_pair=True, trials=200)
WORDS = list("今天气很好我们去公园吧明下雨不出门")


def texts(seed: int, count: int, noise: float) -> tuple[list[str], list[list[str]]]:
    """Hypotheses that copy a reference, words of it changed with that probability."""
    draw = random.Random(seed)
    references = [
        [" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(2)]
        for _ in range(count)
    ]
    noisy = random.Random(f"{seed} {noise}")
    hypotheses = [
        " ".join(w if noisy.random() > noise else noisy.choice(WORDS) for w in r[0].split())
        for r in references
    ]
    return hypotheses, references


def run(
    names: str = "ab",
    count: int = 40,
    comparisons: Comparisons = ALL,
    **more: object,
) -> Evaluation:
    noises = {"a": 0.5, "b": 0.35, "c": 0.2}
    systems = {n: texts(1, count, noises[n])[0] for n in names}
    return evaluate(
        systems,
        texts(1, count, 0.5)[1],
        tokenizer="none",
        bootstrap=100,
        comparisons=comparisons,
        **more,  # type: ignore[arg-type]
    )


def row(
    result: Evaluation, metric: str, test: str, system: str = "b", baseline: str = "a", **more: str
) -> Difference:
    wanted = {"slice": "overall", "slice_value": "", **more}
    (found,) = (
        d
        for d in result.differences
        if (d.metric, d.test, d.system, d.baseline) == (metric, test, system, baseline)
        and all(getattr(d, k) == v for k, v in wanted.items())
    )
    return found


def test_a_difference_is_that_of_the_scores_and_its_interval_that_of_paired_replicates() -> None:
    result = run()
    for metric in ("bleu", "cider_d"):
        found = row(result, metric, "bootstrap")
        value = {s: result[s, metric].value for s in "ab"}
        assert value["a"] is not None and value["b"] is not None
        assert found.difference == value["b"] - value["a"]
        assert found.ci_low is not None and found.ci_high is not None
        assert found.ci_low < found.difference < found.ci_high
        assert found.draws == 400  # 20 x 1 pair / 0.05: more than the 200 asked for
        assert 0 < found.p_value < 0.1  # type: ignore[operator]


class Mean:
    """The simplest metric: a mean."""

    name, label, scale, document_order = "mean", "mean", "0-100", 0
    statistics = ("segments", "total")

    def signature(self) -> dict[str, str]:
        return {}

    def segment_statistics(self, tokens: object) -> np.ndarray:
        raise NotImplementedError

    def score(self, sums: np.ndarray) -> np.ndarray:
        return np.where(sums[..., 0] == 0, np.nan, sums[..., 1] / np.maximum(sums[..., 0], 1))

    segment_score = score

    def note(self, sums: np.ndarray) -> str:
        return "undefined: no segments" if sums[0] == 0 else ""


LAYOUT = StatisticsLayout((Mean(),))


def statistics(n: int, systems: int, seed: int = 5) -> np.ndarray:
    """[n, systems, (examples, missing, segments, total)]"""
    made = np.ones((n, systems, 4), np.int64)
    made[..., 1] = 0
    made[..., 3] = np.random.default_rng(seed).integers(0, 100, (n, systems))
    return made


def drawn(per_example: np.ndarray, pairs: tuple[Pair, ...], systems: int, draws: int) -> Draws:
    """The sums of all draws, by plain products."""
    extended = with_common(per_example, pairs, systems)
    random = np.random.default_rng(11)
    weights = random.poisson(1, (draws, len(extended)))
    bits = random.integers(0, 2, (draws, len(extended)))
    return Draws(
        extended.sum(axis=0),
        np.einsum("tn,nsk->tsk", weights, extended),
        np.einsum("tn,nsk->tsk", bits, extended),
        outcomes(LAYOUT, extended, pairs).sum(axis=0),
    )


def compared(per_example: np.ndarray, asked: Comparisons, draws: int = 999) -> list[Difference]:
    names = "abc"[: per_example.shape[1]]
    pairs = asked.pairs(names)
    sums = drawn(per_example, pairs, len(names), draws)
    whole = ("overall", "")
    return compare(LAYOUT, asked, names, whole, sums, 500, draws, None, 0.9)


def test_p_values_are_those_of_plain_numpy() -> None:
    per_example = statistics(60, 2)
    per_example[:, 1, 3] += 6
    bootstrap, randomisation = compared(per_example, Comparisons(every_pair=True))
    values = per_example[..., 3].astype(float)
    random = np.random.default_rng(11)
    weights = random.poisson(1, (999, 60))
    bits = random.integers(0, 2, (999, 60)).astype(bool)
    difference = values[:, 1].mean() - values[:, 0].mean()
    moved = (weights @ (values[:, 1] - values[:, 0])) / weights.sum(axis=1)
    p = (1 + np.sum(np.abs(moved - moved.mean()) >= abs(difference))) / 1000
    assert bootstrap.p_value == pytest.approx(p, abs=1e-12)
    assert bootstrap.difference == pytest.approx(difference, rel=1e-12)
    low, high = np.quantile(moved[:500], [0.05, 0.95])
    assert (bootstrap.ci_low, bootstrap.ci_high) == (pytest.approx(low), pytest.approx(high))
    one = np.where(bits, values[:, 0], values[:, 1])
    other = np.where(bits, values[:, 1], values[:, 0])
    swapped = one.mean(axis=1) - other.mean(axis=1)
    p = (1 + np.sum(np.abs(swapped) >= abs(difference) - 1e-12)) / 1000
    assert randomisation.p_value == pytest.approx(p, abs=1e-12)
    assert (bootstrap.wins, bootstrap.losses) == (
        np.sum(values[:, 1] > values[:, 0]),
        np.sum(values[:, 1] < values[:, 0]),
    )
    assert bootstrap.wins + bootstrap.losses + bootstrap.ties == 60
    spread = np.std(moved[:500], ddof=1)
    z = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
    assert bootstrap.detectable_difference == pytest.approx(z * spread)


def test_systems_that_are_equal_have_no_difference_and_p_1() -> None:
    per_example = statistics(60, 1).repeat(2, axis=1)
    for row in compared(per_example, Comparisons(every_pair=True)):
        assert (row.difference, row.p_value, row.ci_low, row.ci_high) == (0, 1, 0, 0)
        assert (row.wins, row.losses, row.ties) == (0, 0, 60)


def test_swapping_two_systems_changes_signs_only() -> None:
    per_example = statistics(60, 2)
    asked = Comparisons(baseline="a")
    for one, other in zip(
        compared(per_example, asked), compared(per_example[:, ::-1].copy(), asked)
    ):
        assert one.difference == -other.difference  # type: ignore[operator]
        assert one.p_value == other.p_value
        assert (one.wins, one.losses, one.ties) == (other.losses, other.wins, other.ties)
        assert (one.ci_low, one.ci_high) == pytest.approx((-other.ci_high, -other.ci_low))  # type: ignore[operator]


@pytest.mark.parametrize("units", [1, 2, 5, 9])
def test_few_units_have_a_randomisation_p_only(units: int) -> None:
    for row in compared(statistics(units, 2), Comparisons(every_pair=True)):
        assert row.ci_low is None and "too few units" in row.note
        assert (row.p_value is None) == (row.test == "bootstrap")


def test_a_pair_without_all_examples_is_compared_on_those_that_both_have() -> None:
    per_example = statistics(60, 3)
    per_example[:20, 0] = per_example[50:, 1] = 0
    common = replace(Comparisons(every_pair=True), common=True)
    rows = compared(per_example, common)
    of_pair = [row for row in rows if (row.system, row.baseline) == ("b", "a")]
    alone = compared(per_example[20:50, :2], common)
    for row, other in zip(of_pair, alone):
        assert row.examples == other.examples == row.units == 30
        assert row.wins + row.losses + row.ties == 30
        assert row.difference == other.difference
        assert "30 examples that both have" in row.note
    whole = next(r for r in rows if (r.system, r.baseline) == ("c", "b"))
    assert whole.examples == 50


@pytest.mark.parametrize(("counted", "kept"), [(2, False), (4, True)])
def test_a_metric_undefined_in_some_replicates_is_counted_and_null_above_5_percent(
    counted: int, kept: bool
) -> None:
    # Of a system only so many examples count: none of them is drawn in exp(-counted) of all.
    per_example = statistics(120, 2)
    per_example[counted:, 0, 2:] = 0
    bootstrap, randomisation = compared(per_example, Comparisons(every_pair=True))
    weights = np.random.default_rng(11).poisson(1, (999, 120))[:, :counted]
    undefined = [int((weights[:n].sum(axis=1) == 0).sum()) for n in (500, 999)]
    assert (undefined[0] <= 25) == (undefined[1] <= 49) == kept
    assert f"undefined in {undefined[0]} of 500 replicates" in bootstrap.note
    assert f"undefined in {undefined[1]} of 999 replicates" in bootstrap.note
    assert ("no interval: " in bootstrap.note, "no p: " in bootstrap.note) == (not kept, not kept)
    for value in (bootstrap.ci_low, bootstrap.ci_high, bootstrap.p_value):
        assert (value is not None) == kept
    assert (bootstrap.detectable_difference is not None) == kept
    # A swap leaves both systems what counts of the other one.
    assert randomisation.p_value is not None
    assert bootstrap.difference == randomisation.difference is not None


def test_a_replicate_that_draws_nothing_is_left_out_and_counted() -> None:
    per_example = statistics(30, 2)
    names, pairs = "ab", Comparisons(every_pair=True).pairs("ab")
    sums = drawn(per_example, pairs, 2, 499)
    asked = (LAYOUT, Comparisons(every_pair=True), names, ("overall", ""))
    whole = compare(*asked, sums, 499, 499, None, 0.9)
    nothing = np.zeros_like(sums.bootstrap[:1])
    more = replace(sums, bootstrap=np.concatenate([nothing, sums.bootstrap]))
    found = compare(*asked, more, 500, 500, None, 0.9)
    for one, other in zip(whole[:1], found[:1]):
        assert "undefined in 1 of 500 replicates" in other.note
        assert (one.ci_low, one.ci_high) == (other.ci_low, other.ci_high)
        assert one.p_value == other.p_value


def test_the_p_to_the_best_knows_all_that_have_a_score() -> None:
    per_example = statistics(60, 4)
    per_example[:, 3, 2:] = 0
    sums = drawn(per_example, (), 4, 399)
    best = {"mean": {"a": "b", "c": "b", "d": "b"}}
    found = best_p_values(LAYOUT, "abcd", best, sums, 300, None)
    scores = LAYOUT.metrics[0].score(sums.bootstrap[:300, :3, 2:])
    points = LAYOUT.metrics[0].score(sums.plain[:3, 2:])
    differences = [float(points[i] - points[1]) for i in (0, 2)]
    p = paired.best_p(scores, differences, 60)
    assert found == {("mean", "a"): p[0], ("mean", "c"): p[1]}
    assert None not in found.values()
    few = best_p_values(LAYOUT, "abcd", best, sums, 300, 9)
    assert set(few.values()) == {None}


def test_nothing_to_compare_is_null_with_the_reason() -> None:
    per_example = statistics(20, 2)
    per_example[:, 0] = 0
    for row in compared(per_example, replace(Comparisons(every_pair=True), common=True)):
        assert row.difference is row.p_value is row.ci_low is row.detectable_difference is None
        assert "undefined: no segments" in row.note


def test_the_baseline_comes_first_and_no_pair_twice() -> None:
    asked = Comparisons(baseline="b", every_pair=True)
    assert [(p.system, p.baseline) for p in asked.pairs("abc")] == [(0, 1), (2, 1), (2, 0)]
    assert [(p.system, p.baseline) for p in Comparisons(baseline="b").pairs("abc")] == [
        (0, 1),
        (2, 1),
    ]
    assert Comparisons().pairs("abc") == ()
    with pytest.raises(ValueError, match="no system is called 'x'"):
        Comparisons(baseline="x").pairs("abc")


def test_more_draws_are_taken_for_more_pairs() -> None:
    names = [f"s{i}" for i in range(13)]
    assert Comparisons(every_pair=True).draws(names, 2, ()) == 20 * 78 * 20
    assert Comparisons(every_pair=True).draws(names, 2, ("metric",)) == 2 * 20 * 78 * 20
    assert Comparisons(baseline="s1").draws(names, 2, ()) == 10_000
    assert Comparisons().draws(names, 2, ()) == 0


def test_adding_a_system_or_a_slice_changes_no_number_of_the_others() -> None:
    plain = run("ab")
    topics = ["x" if i % 3 else "y" for i in range(40)]
    more = run("abc", comparisons=replace(ALL, trials=1200), slices={"topic": topics})
    two = run("ab", comparisons=replace(ALL, trials=1200))
    assert [d for d in more.differences if d.system != "c" and d.slice == "overall"] == [
        *two.differences
    ]
    assert plain.differences != two.differences


def test_a_slice_is_a_run_on_it_alone() -> None:
    count = 45
    topics = ["x" if i % 3 else "y" for i in range(count)]
    chosen = [i for i in range(count) if topics[i] == "x"]
    references = texts(1, count, 0.5)[1]
    systems = {n: texts(1, count, noise)[0] for n, noise in (("a", 0.5), ("b", 0.3))}
    settings = {"metrics": (Bleu(),), "tokenizer": "none", "bootstrap": 100, "comparisons": ALL}
    whole = evaluate(systems, references, slices={"topic": topics}, **settings)  # type: ignore[arg-type]
    alone = evaluate(
        {n: [t[i] for i in chosen] for n, t in systems.items()},
        [references[i] for i in chosen],
        ids=[str(i) for i in chosen],
        **settings,  # type: ignore[arg-type]
    )
    of_slice = [d for d in whole.differences if d.slice_value == "x"]
    assert [replace(d, slice="overall", slice_value="") for d in of_slice] == [*alone.differences]


def test_p_is_adjusted_within_a_family_and_says_what_it_cannot_resolve() -> None:
    rows = [
        {
            "metric": metric,
            "slice": "overall",
            "slice_value": "",
            "test": "bootstrap",
            "p_value": p,
            "draws": 1000,
            "note": "",
        }
        for metric, p in (("m", 0.01), ("m", 0.04), ("m", None), ("n", 0.03))
    ]
    found = adjusted(rows, (), 0.05)
    assert [row["p_adjusted"] for row in found] == [0.02, 0.04, None, 0.03]
    assert [row["comparisons"] for row in found] == [2, 2, 2, 1]
    assert not any(row["note"] for row in found)
    found = adjusted(rows, ("metric",), 0.05)
    assert [row["p_adjusted"] for row in found] == [0.03, 0.06, None, 0.06]
    assert found[0]["note"] == "not resolvable with 1000 draws: 3 comparisons need 1200"


def test_a_cluster_begins_where_all_of_the_one_above_win() -> None:
    names = ["a", "b", "c"]
    scores = [
        {"slice": "overall", "slice_value": "", "metric": "m", "system": n, "value": v}
        for n, v in zip(names, (0.1, 0.5, 0.4))
    ]
    rows = [
        {
            "slice": "overall",
            "slice_value": "",
            "metric": "m",
            "test": "bootstrap",
            "system": one,
            "baseline": other,
            "difference": d,
            "p_adjusted": p,
        }
        for one, other, d, p in (
            ("b", "a", 0.4, 0.001),
            ("c", "a", 0.3, 0.001),
            ("c", "b", -0.1, 0.2),
        )
    ]
    found = ranks(scores, rows, names, 0.05)
    shown = [(r["rank"], r["cluster"], r["system"], r["beats"]) for r in found]
    assert shown == [(1, 1, "b", 1), (2, 1, "c", 1), (3, 2, "a", 0)]
