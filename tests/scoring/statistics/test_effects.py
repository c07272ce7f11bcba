"""Wins, losses and ties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.statistics.effects import outcomes

scores = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0, math.nan]), st.floats(0, 1))


def totals(a: np.ndarray, b: np.ndarray) -> tuple[int, int, int]:
    wins, losses, ties = outcomes(a, b).sum(axis=0).tolist()
    return wins, losses, ties


def test_by_hand() -> None:
    a = np.array([0.1, 0.5, 0.9, 0.3, 0.2])
    b = np.array([0.1, 0.4, 0.8, 0.4, 0.2])
    assert totals(a, b) == (2, 1, 2)
    assert totals(b, a) == (1, 2, 2)
    assert totals(np.zeros(0), np.zeros(0)) == (0, 0, 0)


def test_what_is_undefined_is_nobodys_win() -> None:
    a = np.array([math.nan, math.nan, 0.9])
    b = np.array([math.nan, 0.5, math.nan])
    assert totals(a, b) == (0, 0, 3)


def test_rounding_is_no_win() -> None:
    assert 0.1 + 0.2 > 0.3
    assert totals(np.array([0.1 + 0.2]), np.array([0.3])) == (0, 0, 1)
    assert totals(np.array([0.3 + 1e-9]), np.array([0.3])) == (1, 0, 0)


@given(st.lists(st.tuples(scores, scores), max_size=40))
def test_they_are_all_examples_and_change_places(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array([pair[i] for pair in pairs]) for i in (0, 1))
    wins, losses, ties = totals(a, b)
    assert wins + losses + ties == len(pairs)
    assert totals(b, a) == (losses, wins, ties)
    assert wins == sum(x > y and x - y > 1e-13 for x, y in pairs)


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        totals(np.zeros(3), np.zeros(2))
