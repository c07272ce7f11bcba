"""Percentile intervals, and when there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.statistics.intervals import percentile_interval

VALUES = np.random.default_rng(1).normal(0.3, 0.02, 1000)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_ends_are_the_linear_quantiles(values: list[float], confidence: float) -> None:
    interval = percentile_interval(np.array(values), confidence, 100)
    assert interval.note == ""
    ordered = sorted(values)
    for end, share in ((interval.low, (1 - confidence) / 2), (interval.high, (1 + confidence) / 2)):
        place = share * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        expected = ordered[below] + (place - below) * (ordered[above] - ordered[below])
        assert end == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_ends_equal_numpys_quantiles_and_not_a_symmetrised_range() -> None:
    skewed = np.exp(VALUES * 50)
    interval = percentile_interval(skewed, 0.95, 100)
    tail = (1 - 0.95) / 2
    assert [interval.low, interval.high] == np.quantile(skewed, [tail, 1 - tail]).tolist()
    assert interval.high is not None and interval.low is not None
    middle = float(np.median(skewed))
    assert interval.high - middle > 1.5 * (middle - interval.low)


@pytest.mark.parametrize("units", [0, 1, 9])
def test_fewer_than_10_units_have_no_interval_and_the_note_says_so(units: int) -> None:
    interval = percentile_interval(VALUES, 0.95, units)
    assert (interval.low, interval.high) == (None, None)
    assert interval.note == f"no interval: too few units ({units} < 10)"


@pytest.mark.parametrize("units", [10, 99])
def test_10_to_99_units_have_an_interval_with_a_note(units: int) -> None:
    interval = percentile_interval(VALUES, 0.95, units)
    assert interval.low is not None
    assert interval.note == f"few units ({units}): the interval is rough"


def test_100_units_need_no_note() -> None:
    assert percentile_interval(VALUES, 0.95, 100).note == ""


def test_up_to_5_percent_of_undefined_replicates_are_left_out_and_counted() -> None:
    values = VALUES.copy()
    values[::20] = np.nan
    interval = percentile_interval(values, 0.95, 100)
    assert interval.low == pytest.approx(np.quantile(values[~np.isnan(values)], 0.025), rel=1e-12)
    assert interval.note == "undefined in 50 of 1000 replicates"


def test_more_than_5_percent_of_undefined_replicates_leave_no_interval() -> None:
    values = VALUES.copy()
    values[::20] = np.nan
    values[1] = np.nan
    interval = percentile_interval(values, 0.95, 100)
    assert (interval.low, interval.high) == (None, None)
    assert interval.note == "no interval: undefined in 51 of 1000 replicates"
    everything = percentile_interval(np.full(8, np.nan), 0.95, 100)
    assert everything.low is None


def test_both_notes_are_shown() -> None:
    values = VALUES.copy()
    values[3] = np.nan
    note = percentile_interval(values, 0.95, 50).note
    assert note == "undefined in 1 of 1000 replicates; few units (50): the interval is rough"


def test_no_replicates_have_no_interval() -> None:
    interval = percentile_interval(np.zeros(0), 0.95, 1000)
    assert (interval.low, interval.high) == (None, None)
    assert interval.note == "no interval: no bootstrap"
