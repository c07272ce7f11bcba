"""Holm's adjustment: by hand, against the stepwise procedure that defines it, its properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.statistics.multiplicity import holm

probabilities = st.floats(0, 1)


def rejected(p: list[float], alpha: float) -> set[int]:
    """Holm's procedure itself: from the smallest on, until one is above alpha / (tests left)."""
    found: set[int] = set()
    for place in sorted(range(len(p)), key=lambda i: p[i]):
        if p[place] > alpha / (len(p) - len(found)):
            break
        found.add(place)
    return found


def test_by_hand() -> None:
    # 4 x .01, 3 x .02 -> .06, 2 x .03 -> .06, .04 -> not below .06
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06], rel=1e-12)
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_equals_statsmodels() -> None:
    """Golden: statsmodels 0.15.0, multipletests(p, method='holm')[1]."""
    p = [0.0001, 0.049, 0.012, 0.0125, 0.3, 0.012, 0.97, 0.0041]
    expected = [0.0008, 0.147, 0.072, 0.072, 0.6, 0.072, 0.97, 0.0287]
    assert holm(p) == pytest.approx(expected, rel=1e-12)


def test_none_is_no_test_and_stays_none() -> None:
    assert holm([None, 0.01, None, 0.04]) == [None, 0.02, None, 0.04]
    assert holm([None]) == [None]


@given(st.lists(probabilities, max_size=12), st.floats(0.001, 0.999))
def test_what_is_rejected_is_what_the_procedure_rejects(p: list[float], alpha: float) -> None:
    adjusted = holm(p)
    for place, value in enumerate(adjusted):
        assert value is not None
        if abs(value - alpha) > 1e-9:
            assert (value <= alpha) == (place in rejected(p, alpha))


@given(st.lists(st.one_of(st.none(), probabilities), max_size=12), st.randoms())
def test_it_is_monotone_never_smaller_and_knows_no_order(
    p: list[float | None], random: object
) -> None:
    adjusted = holm(p)
    for before, after in zip(p, adjusted, strict=True):
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            assert before <= after <= 1
    pairs = [(b, a) for b, a in zip(p, adjusted) if b is not None and a is not None]
    assert [a for _, a in sorted(pairs)] == sorted(a for _, a in pairs)
    order = list(range(len(p)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert holm([p[i] for i in order]) == [adjusted[i] for i in order]


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan")])
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="p-value 1 is"):
        holm([0.5, wrong])
