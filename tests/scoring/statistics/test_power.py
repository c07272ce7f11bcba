"""What a set of examples could show."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.statistics.power import detectable_difference, units_needed


def test_the_smallest_difference_by_hand() -> None:
    # 1.959964 + 0.841621 standard errors.
    assert detectable_difference(0.01, 0.05).difference == pytest.approx(0.02801585, rel=1e-6)
    assert detectable_difference(1.0, 0.01, 0.9).difference == pytest.approx(
        2.575829 + 1.281552, rel=1e-6
    )


def test_the_number_of_units_by_hand() -> None:
    # Half of the difference that is found needs four times the units.
    found = detectable_difference(0.01, 0.05).difference
    assert found is not None
    assert units_needed(0.01, 500, found * 0.999999, 0.05).units == 501
    assert units_needed(0.01, 500, found / 2 * 1.000001, 0.05).units == 2000
    assert units_needed(0.01, 500, -found / 2 * 1.000001, 0.05).units == 2000
    assert units_needed(0.01, 500, 100.0, 0.05).units == 10


@given(st.floats(1e-6, 1), st.integers(10, 10**6), st.floats(1e-3, 0.2), st.floats(0.3, 0.99))
def test_one_is_the_inverse_of_the_other(sd: float, units: int, alpha: float, power: float) -> None:
    difference = detectable_difference(sd, alpha, power).difference
    assert difference is not None
    needed = units_needed(sd, units, difference, alpha, power).units
    assert needed in (units, units + 1)


def test_a_test_finds_that_difference_so_often() -> None:
    """1,000,000 normal differences of the size said, tested at .05."""
    difference = detectable_difference(0.02, 0.05, 0.8).difference
    assert difference is not None
    drawn = np.random.default_rng(4).normal(difference, 0.02, 1_000_000)
    found = float((np.abs(drawn) / 0.02 > NormalDist().inv_cdf(0.975)).mean())
    assert found == pytest.approx(0.8, abs=0.002)


@pytest.mark.parametrize("sd", [0.0, math.nan, math.inf])
def test_without_variation_nothing_can_be_said(sd: float) -> None:
    smallest = detectable_difference(sd, 0.05)
    needed = units_needed(sd, 100, 0.1, 0.05)
    assert smallest.difference is None
    assert needed.units is None
    assert smallest.note == needed.note != ""


def test_reasons_why_no_number_of_units_can_be_said() -> None:
    assert units_needed(0.1, 100, 0.0, 0.05).note == "a difference of 0 is never found"
    assert units_needed(0.1, 100, math.nan, 0.05).note == "the difference is undefined"
    assert "too few units (9 < 10)" in units_needed(0.1, 9, 0.1, 0.05).note
    assert "too small" in units_needed(0.1, 100, 1e-300, 0.05).note


@pytest.mark.parametrize(
    ("alpha", "power"), [(0, 0.8), (1, 0.8), (0.05, 0), (0.05, 1), (0.05, 0.05), (math.nan, 0.8)]
)
def test_alpha_and_power_out_of_range_are_refused(alpha: float, power: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        detectable_difference(0.1, alpha, power)
    with pytest.raises(ValueError, match="must be"):
        units_needed(0.1, 100, 0.1, alpha, power)
