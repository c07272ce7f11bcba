"""p-values of paired differences: definitions, ties, few units, undefined replicates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.statistics.paired import (
    PValue,
    best_p,
    bootstrap_p,
    draws_needed,
    randomisation_p,
    resolvable,
)

DRAWS = np.random.default_rng(1).normal(0.01, 0.01, 999)

finite = st.floats(-1, 1, allow_subnormal=False)


def test_bootstrap_p_by_hand() -> None:
    # Mean .25; from it -.25 -.15 .05 .35: two are .2 or farther away.
    assert bootstrap_p(np.array([0.0, 0.1, 0.3, 0.6]), 0.2, 100) == PValue(3 / 5)
    # The mean of the replicates is not the difference: nothing is compared with d_b itself.
    assert bootstrap_p(np.full(9, 0.7), 0.2, 100) == PValue(1 / 10)


def test_randomisation_p_by_hand() -> None:
    assert randomisation_p(np.array([-0.3, -0.1, 0.05, 0.2]), 0.2) == PValue(3 / 5)
    assert randomisation_p(np.array([0.1, 0.1, 0.1, 0.1]), 0.2) == PValue(1 / 5)


@given(st.lists(finite, min_size=1, max_size=50), finite)
def test_both_are_the_counts_of_the_definition(draws: list[float], difference: float) -> None:
    values = np.array(draws)
    mean = math.fsum(draws) / len(draws)
    for p, centre in (
        (bootstrap_p(values, difference, 100).p, mean),
        (randomisation_p(values, difference).p, 0.0),
    ):
        # What lies within rounding of the difference may count or not.
        sure = sum(abs(d - centre) >= abs(difference) for d in draws)
        most = sum(abs(d - centre) >= abs(difference) - 1e-12 for d in draws)
        assert p is not None
        assert (1 + sure) / (1 + len(draws)) <= p <= (1 + most) / (1 + len(draws))


@given(st.lists(finite, min_size=1, max_size=200), finite)
def test_p_is_the_same_to_the_bit_when_the_systems_change_places(
    draws: list[float], difference: float
) -> None:
    values = np.array(draws)
    assert bootstrap_p(values, difference, 50) == bootstrap_p(-values, -difference, 50)
    assert randomisation_p(values, difference) == randomisation_p(-values, -difference)


@given(st.permutations(range(99)))
def test_the_order_of_the_replicates_does_not_matter(order: list[int]) -> None:
    values = DRAWS[:99]
    assert bootstrap_p(values[order], 0.01, 50) == bootstrap_p(values, 0.01, 50)


def test_equal_systems_have_a_p_of_1() -> None:
    assert bootstrap_p(np.zeros(1000), 0.0, 100) == PValue(1.0)
    assert randomisation_p(np.zeros(10_000), 0.0) == PValue(1.0)
    # Equal scores of systems that differ, too: no difference is no evidence.
    assert bootstrap_p(DRAWS, 0.0, 100).p == 1
    assert randomisation_p(DRAWS, 0.0).p == 1


def test_a_p_is_never_0() -> None:
    assert bootstrap_p(np.zeros(999), 0.5, 100).p == pytest.approx(0.001)
    assert randomisation_p(np.zeros(9999), 0.5).p == pytest.approx(0.0001)


def test_differences_that_only_rounding_parts_are_ties() -> None:
    # Two more successes of 11, ten times: the same difference, not the same bits.
    trials = np.array([a / 11 - (a - 2) / 11 for a in range(2, 12)])
    assert len(set(trials.tolist())) == 4
    for difference in trials.tolist():
        assert randomisation_p(trials, difference).p == 1
        assert randomisation_p(-trials, difference).p == 1


def test_every_swap_of_three_units_gives_the_p_of_counting() -> None:
    a, b = np.array([3, 1, 2]), np.array([1, 1, 1])
    trials = []
    for signs in itertools.product([1, -1], repeat=3):
        swapped = np.where(np.array(signs) > 0, a, b), np.where(np.array(signs) > 0, b, a)
        trials.append(swapped[0].sum() / 11 - swapped[1].sum() / 11)
    # |3| in 4 of 8 patterns (the second unit moves nothing), else |1|.
    assert randomisation_p(np.array(trials), 6 / 11 - 3 / 11).p == 5 / 9


def test_a_difference_below_rounding_is_none() -> None:
    assert 0.1 + 0.2 - 0.3 > 0
    assert bootstrap_p(np.zeros(9), 0.1 + 0.2 - 0.3, 100).p == 1


@pytest.mark.parametrize("units", [0, 1, 9])
def test_fewer_than_10_units_have_no_bootstrap_p(units: int) -> None:
    assert bootstrap_p(DRAWS, 0.01, units) == PValue(None, f"no p: too few units ({units} < 10)")


def test_10_to_99_units_have_a_note() -> None:
    for units in (10, 99):
        found = bootstrap_p(DRAWS, 0.01, units)
        assert found.p is not None
        assert found.note == f"few units ({units}): the p is rough"
    assert bootstrap_p(DRAWS, 0.01, 100).note == ""


def test_up_to_5_percent_of_undefined_draws_are_left_out_and_counted() -> None:
    values = np.resize(DRAWS, 1000)
    values[::20] = np.nan
    defined = values[~np.isnan(values)]
    found = bootstrap_p(values, 0.01, 50)
    assert found.p == bootstrap_p(defined, 0.01, 50).p
    assert found.note == ("undefined in 50 of 1000 replicates; few units (50): the p is rough")
    found = randomisation_p(values, 0.01)
    assert found == PValue(randomisation_p(defined, 0.01).p, "undefined in 50 of 1000 trials")


def test_more_than_5_percent_of_undefined_draws_leave_no_p() -> None:
    values = np.resize(DRAWS, 1000)
    values[::20] = np.nan
    values[1] = np.nan
    assert bootstrap_p(values, 0.01, 100) == PValue(
        None, "no p: undefined in 51 of 1000 replicates"
    )
    assert randomisation_p(values, 0.01).p is None
    assert randomisation_p(np.full(8, np.nan), 0.01).p is None


def test_p_to_the_best_by_hand() -> None:
    # Centred: (-1, 0, 1), (1, 0, -1), (0, 0, 0): ranges of 2, 2 and 0.
    replicates = np.array([[0.0, 3.0, 2.0], [2.0, 3.0, 0.0], [1.0, 3.0, 1.0]])
    assert best_p(replicates, [0.0, -2.0, -2.5], 50) == [1.0, 3 / 4, 1 / 4]
    assert best_p(replicates, [math.nan, 2.0], 50) == [None, 3 / 4]
    assert best_p(replicates, [0.0], 9) == [None]
    assert best_p(np.zeros((0, 3)), [0.0], 50) == [None]
    nothing = np.full((1, 3), np.nan)
    assert best_p(np.concatenate([replicates, nothing]), [0.0], 50) == [None]
    many = np.concatenate([np.repeat(replicates, 10, axis=0), nothing])
    assert best_p(many, [-2.0], 50) == [21 / 31]


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=50), finite)
def test_p_to_the_best_of_two_is_that_of_the_pair(
    draws: list[tuple[float, float]], difference: float
) -> None:
    values = np.array(draws)
    moved = values[:, 0] - values[:, 1]
    (p,) = best_p(values, [difference], 100)
    # What lies within rounding of the difference may count or not.
    least = bootstrap_p(moved, abs(difference) + 1e-11, 100).p
    most = bootstrap_p(moved, max(abs(difference) - 1e-11, 0.0), 100).p
    assert p is not None and least is not None and most is not None
    assert least <= p <= most


def test_the_best_of_equal_steps_is_rarely_found_better() -> None:
    """20 equal steps: the worst is below the best by an unadjusted p nearly always."""
    rng = np.random.default_rng(8)
    found = np.zeros(2)
    for _ in range(200):
        steps = rng.normal(size=20)
        replicates = steps + rng.normal(size=(400, 20))
        worst = float(steps.min() - steps.max())
        alone = bootstrap_p(
            replicates[:, steps.argmin()] - replicates[:, steps.argmax()], worst, 100
        ).p
        (adjusted,) = best_p(replicates, [worst], 100)
        assert alone is not None and adjusted is not None
        found += alone <= 0.05, adjusted <= 0.05
    assert found[0] > 150
    assert found[1] <= 20


def test_an_undefined_difference_has_no_p() -> None:
    expected = PValue(None, "no p: the difference is undefined")
    assert bootstrap_p(DRAWS, math.nan, 100) == expected
    assert randomisation_p(DRAWS, math.nan) == expected


def test_without_draws_there_is_no_p() -> None:
    assert bootstrap_p(np.zeros(0), 0.1, 100) == PValue(None, "no p: no bootstrap")
    assert randomisation_p(np.zeros(0), 0.1) == PValue(None, "no p: no trials")


def test_draws_that_a_number_of_comparisons_needs() -> None:
    assert draws_needed(1, 0.05) == 400
    assert draws_needed(7, 0.05) == 2800  # 20 * 7 / 0.05 is 2800.0000000000005
    assert draws_needed(78, 0.05) == 31_200
    assert draws_needed(1, 0.03) == 667
    assert draws_needed(1, 1e-5) == 2_000_000


def test_13_systems_cannot_be_told_apart_by_1000_replicates() -> None:
    assert not resolvable(1000, 78, 0.05)
    assert resolvable(31_200, 78, 0.05)
    assert not resolvable(31_199, 78, 0.05)
    assert 78 / 1001 > 0.05  # the smallest p there can be, corrected


@pytest.mark.parametrize(("comparisons", "alpha"), [(0, 0.05), (1, 0.0), (1, 1.0), (1, math.nan)])
def test_comparisons_and_alpha_out_of_range_are_refused(comparisons: int, alpha: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        draws_needed(comparisons, alpha)
