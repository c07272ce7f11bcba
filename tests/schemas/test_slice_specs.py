"""How slices are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.slicing import HYPOTHESES, REFERENCES, Part, Slice, parse


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("domain", [Part("domain")]),
        ("hypotheses.length", [Part("length", HYPOTHESES)]),
        ("length:5", [Part("length", None, 5)]),
        ("length:0,10,2e1", [Part("length", None, None, (0.0, 10.0, 20.0))]),
        ("length:10,", [Part("length", None, None, (10.0,))]),
        ("length:-.5", [Part("length", None, None, (-0.5,))]),
        ("a:b", [Part("a:b")]),
        ("a:b:2", [Part("a:b", None, 2)]),
        ("a.b", [Part("a.b")]),
        ("domain*hypotheses.n:3*类", [Part("domain"), Part("n", HYPOTHESES, 3), Part("类")]),
    ],
)
def test_what_is_written_is_read(text: str, parts: list[Part]) -> None:
    assert parse(text) == Slice(text, tuple(parts))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a column"),
        ("a*", "a column"),
        ("hypotheses.", "a column"),
        ("a*a", "different columns"),
        ("a:2*a:3", "different columns"),
        ("a:1", "2 to 100 bins"),
        ("a:0101", "2 to 100 bins"),
        ("a:3,2", "ascend"),
        ("a:3,3", "ascend"),
        ("a:1e999,", "ascend"),
        ("a:" + ",".join(map(str, range(100))), "fewer than 100 edges"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text)


@given(st.text(max_size=20))
def test_any_text_is_a_slice_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except ValueError as error:
        assert str(error)
    else:
        assert found.name == text
        assert all(part.column for part in found.parts)


def test_columns_get_the_tables_they_are_found_in() -> None:
    found = parse("a*b*hypotheses.c").with_tables({"b"})
    assert [part.table for part in found.parts] == [REFERENCES, HYPOTHESES, HYPOTHESES]
    assert [part.key for part in found.parts] == ["a", "hypotheses.b", "hypotheses.c"]
    assert found.name == "a*b*hypotheses.c"
