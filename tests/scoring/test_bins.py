"""Bins of numbers and values that go together, against plain loops."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scoring import slicing
from scoring.joining import UNKNOWN

NUMBERS = st.one_of(st.integers(-3, 12), st.floats(-1e3, 1e3), st.just(-0.0))
EDGES = st.lists(NUMBERS.map(float), max_size=5).map(lambda edges: sorted(set(edges)))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("1", 1.0), ("-2.5", -2.5), (".5", 0.5), ("5.", 5.0), ("1e5", 1e5), (" 7 ", 7.0)),
        *(("1" + "0" * 308, 1e308), ("1e-999", 0.0)),
        *((text, None) for text in ("", "x", "nan", "inf", "1e999", "0x1", "1_0", "٣", "1 2")),
        *((text, None) for text in ("9" * 500, "1" + "0" * 309, UNKNOWN, "-", "1e")),
    ],
)
def test_numbers_are_those_of_any_column_of_numbers(text: str, number: float | None) -> None:
    (found,) = slicing.numbers(pa.array([text])).tolist()
    assert math.isnan(found) if number is None else found == number


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_floats_come_back_as_they_were(values: list[float]) -> None:
    spelled = pa.array(values, pa.float64()).cast(pa.string())
    found = slicing.numbers(spelled).tolist()
    assert found == values
    assert not any(math.copysign(1, x) < 0 for x in found if x == 0)


@given(st.lists(st.one_of(NUMBERS.map(str), st.sampled_from(["x", UNKNOWN, ""]))), EDGES)
@example(["0", "10", "20"], [10.0])
def test_every_number_is_in_the_bin_that_its_name_says(
    values: list[str], edges: list[float]
) -> None:
    column, strange = slicing.binned(pa.array(values, pa.string()), edges)
    names = slicing.bin_names(edges)
    assert names == sorted(names)
    assert len(names) == len(edges) + 1
    for value, name in zip(values, column.to_pylist(), strict=True):
        if value in ("x", UNKNOWN, ""):
            assert name == UNKNOWN
            continue
        number = float(value)
        place = sum(number >= edge for edge in edges)
        assert name == names[place]
        said = re.sub(r"^\d+: ", "", name)
        if between := re.fullmatch(r"\[(\S+), (\S+)\)", said):
            assert float(between[1]) <= number < float(between[2])
        elif said.startswith("<"):
            assert number < float(said[1:])
        elif edges:
            assert number >= float(said.removeprefix(">="))
    assert strange == sum(value in ("x", "") for value in values)


@given(st.lists(NUMBERS.map(float), max_size=60), st.integers(2, 9))
def test_bins_are_about_equally_full(values: list[float], bins: int) -> None:
    edges = slicing.quantile_edges(np.array([*values, math.nan]), bins)
    assert edges == sorted(set(edges))
    assert len(edges) < bins
    place = np.searchsorted(edges, values, side="right")
    counts = np.bincount(place, minlength=len(edges) + 1)
    if values:
        assert counts.all()
    if len(set(values)) == len(values) >= bins:
        assert len(edges) == bins - 1
        assert counts.max() - counts.min() <= 1


def test_numbers_that_are_all_equal_make_one_bin() -> None:
    assert slicing.quantile_edges(np.full(9, 7.0), 3) == []
    column, _ = slicing.binned(pa.array(["7", UNKNOWN]), [])
    assert column.to_pylist() == ["any number", UNKNOWN]


@given(st.lists(st.tuples(st.text("a*\\", max_size=4), st.text("a*\\", max_size=4)), max_size=40))
def test_different_values_that_go_together_have_different_names(
    rows: list[tuple[str, str]],
) -> None:
    columns = [pa.array(list(column), pa.string()) for column in zip(*rows)] or [
        pa.array([], pa.string())
    ] * 2
    names = slicing.crossed(columns).to_pylist()
    for (row, name), (other, other_name) in itertools.product(zip(rows, names), repeat=2):
        assert (row == other) == (name == other_name)


def test_values_that_go_together_are_read_at_a_glance() -> None:
    columns = [pa.array(["news", "a*b"]), pa.array(["fact", "c\\d"])]
    assert slicing.crossed(columns).to_pylist() == ["news*fact", r"a\*b*c\\d"]
