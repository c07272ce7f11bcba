"""Rows are accepted in fixed types or refused with a reason, each row once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import checks

LONG = 50


def hypotheses(**columns: Any) -> pa.Table:
    made = {
        "example_id": pa.array(["a", "b", "c"]),
        "system": pa.array(["s", "s", "s"]),
        "text": pa.array(["一", "", None]),
    }
    return pa.table({**made, **columns})


def reasons(checked: checks.Checked) -> dict[int, str]:
    """row -> why it was refused; a row that is refused twice is an error."""
    found = [(row, reason) for rows, reason, _ in checked.refused for row in rows.tolist()]
    assert len(dict(found)) == len(found)
    assert sorted([*dict(found), *checked.kept.tolist()]) == list(
        range(len(found) + len(checked.kept))
    )
    assert len(checked.rows) == len(checked.kept)
    return dict(found)


def test_null_and_empty_texts_are_accepted_as_they_are() -> None:
    checked = checks.check_hypotheses(hypotheses(), LONG)
    assert reasons(checked) == {}
    assert checked.rows.to_pydict() == {
        "example_id": ["a", "b", "c"],
        "system": ["s", "s", "s"],
        "sample": [0, 0, 0],
        "text": ["一", "", None],
    }


@pytest.mark.parametrize("column", ["example_id", "system"])
@pytest.mark.parametrize("value", [None, ""])
def test_ids_and_systems_that_are_null_or_empty_are_refused(column: str, value: str | None) -> None:
    table = hypotheses(**{column: pa.array(["a", value, "c"], pa.string())})
    reason = {"example_id": "no_id", "system": "no_system"}[column]
    checked = checks.check_hypotheses(table, LONG)
    assert reasons(checked) == {1: reason}
    assert checked.kept.tolist() == [0, 2]


def test_the_first_thing_that_is_wrong_with_a_row_is_the_reason() -> None:
    table = hypotheses(
        example_id=pa.array([None, "b", "c"]),
        system=pa.array([None, None, "s"]),
        text=pa.array(["x" * 51, "x" * 51, "x" * 50]),
        sample=pa.array([-1, -1, 2**31 - 1]),
    )
    checked = checks.check_hypotheses(table, LONG)
    assert reasons(checked) == {0: "no_id", 1: "no_system"}
    assert checked.rows.column("sample").to_pylist() == [2**31 - 1]


def test_length_is_counted_in_characters_not_in_bytes() -> None:
    table = hypotheses(text=pa.array(["一" * 50, "一" * 51, "𠀀" * 50]))
    assert reasons(checks.check_hypotheses(table, LONG)) == {1: "too_long"}


@pytest.mark.parametrize(
    "samples",
    [
        pa.array([0, 2**31, -1], pa.int64()),
        pa.array([0, 2**64 - 1, 2**63], pa.uint64()),
        pa.array([None, 2**31, 2**32 - 1], pa.uint32()),
    ],
)
def test_samples_outside_of_31_bits_are_refused_and_null_is_0(samples: pa.Array) -> None:
    checked = checks.check_hypotheses(hypotheses(sample=samples), LONG)
    assert reasons(checked) == {1: "bad_sample", 2: "bad_sample"}
    assert checked.rows.column("sample").to_pylist() == [0]
    assert checked.rows.schema.field("sample").type == pa.int32()


def broken(*values: bytes | None) -> pa.Array:
    """Bytes as a string array, valid or not."""
    return pa.array(values, pa.binary()).view(pa.string())


@pytest.mark.parametrize("column", ["example_id", "system", "text"])
def test_bytes_that_are_no_utf8_are_refused(column: str) -> None:
    table = hypotheses(**{column: broken(b"a", b"\xed\xa0\x80", "三".encode())})
    checked = checks.check_hypotheses(table, LONG)
    assert reasons(checked) == {1: "invalid_utf8"}
    assert checked.rows.column(column).to_pylist() == ["a", "三"]
    assert checks.readable(table.column(column)).to_pylist() == ["a", None, "三"]


@pytest.mark.parametrize(
    "type_",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
)
def test_strings_in_any_encoding_become_plain_strings(type_: pa.DataType) -> None:
    texts = pa.array(["一", "二", None], pa.string()).cast(type_)
    checked = checks.check_hypotheses(hypotheses(text=texts), LONG)
    assert checked.rows.column("text").type == pa.string()
    assert checked.rows.column("text").to_pylist() == ["一", "二", None]
    assert checks.is_text(type_)


def references(lists: pa.Array, **columns: Any) -> pa.Table:
    ids = pa.array([f"e{i}" for i in range(len(lists))])
    return pa.table({"example_id": ids, "references": lists, **columns})


LISTS = st.lists(
    st.none() | st.lists(st.none() | st.sampled_from(["", "一", "b c"]), max_size=4), max_size=8
)
LIST_TYPES = st.sampled_from([pa.list_(pa.string()), pa.large_list(pa.large_string())])


@given(LISTS, LIST_TYPES, st.integers(0, 3), st.integers(1, 4))
def test_null_references_are_dropped_and_rows_that_have_none_refused(
    lists: list[list[str | None] | None], type_: pa.DataType, start: int, chunk: int
) -> None:
    whole = pa.array(lists, type_)
    # In chunks, each a slice of a larger array.
    chunks = [whole.slice(i, chunk) for i in range(start, len(lists), chunk)]
    lists = lists[start:]
    column = pa.chunked_array(chunks, type_)
    checked = checks.check_references(references(column), [], LONG)
    kept = [[t for t in texts or [] if t is not None] for texts in lists]
    assert reasons(checked) == {i: "no_references" for i, texts in enumerate(kept) if not texts}
    assert checked.rows.column("references").to_pylist() == [texts for texts in kept if texts]
    checked.rows.validate(full=True)


def test_lists_of_fixed_size_are_read_too_nulls_among_them() -> None:
    lists = pa.array([["a", "b"], None, ["c", None], None, ["d", "e"]], pa.list_(pa.string(), 2))
    checked = checks.check_references(references(lists), [], LONG)
    assert reasons(checked) == {1: "no_references", 3: "no_references"}
    assert checked.rows.column("references").to_pylist() == [["a", "b"], ["c"], ["d", "e"]]


def test_a_reference_that_is_too_long_or_no_utf8_refuses_its_row_alone() -> None:
    values = broken(b"a", b"\xff", b"b", b"c" * 51, b"d")
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 3, 4, 5], pa.int32()), values)
    checked = checks.check_references(references(lists), [], LONG)
    assert reasons(checked) == {0: "invalid_utf8", 2: "too_long"}
    assert checked.rows.select(["example_id", "references"]).to_pydict() == {
        "example_id": ["e1", "e3"],
        "references": [["b"], ["d"]],
    }


def test_types_stand_by_their_references_or_the_row_is_refused() -> None:
    lists = [["a", None, "b"], ["a", "b"], ["a"], ["a"], ["a", "<PAD>"], [None, "a"], ["a", "b"]]
    types = [["A", "B", None], ["A"], ["A", "B"], None, ["A", "B"], ["A", "B"], []]
    table = references(pa.array(lists)).append_column("reference_types", pa.array(types))
    checked = checks.check_references(table, [], LONG, ["<PAD>"])
    assert reasons(checked) == {1: "too_few_types", 2: "too_many_types"}
    kept = checked.rows.column("reference_types").to_pylist()
    assert kept == [["A", None], None, ["A"], ["B"], None]
    whole = [len(texts) for texts in checked.rows.column("references").to_pylist()]
    assert [len(t) for t in kept if t] == [n for t, n in zip(kept, whole) if t]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([1, None, -3], pa.int16()), ["1", None, "-3"]),
        (pa.array([True, None, False]), ["true", None, "false"]),
        (pa.array([0.5, None, float("nan")]), ["0.5", None, None]),
        (pa.nulls(3), [None, None, None]),
        (pa.array(["x", None, "y"]).dictionary_encode(), ["x", None, "y"]),
    ],
)
def test_columns_to_slice_on_become_strings(values: pa.Array, expected: list[str | None]) -> None:
    table = references(pa.array([["a"]] * 3), topic=values)
    checked = checks.check_references(table, ["topic"], LONG)
    assert checked.rows.column("topic").to_pylist() == expected
    assert checked.rows.column("topic").type == pa.string()
    assert checks.is_slice(values.type)


def test_types_that_are_taken() -> None:
    assert checks.is_id(pa.uint64())
    assert not checks.is_id(pa.float64())
    assert not checks.is_id(pa.binary())
    assert checks.is_text_list(pa.list_(pa.null()))
    assert checks.is_text_list(pa.list_(pa.large_string(), 3))
    assert not checks.is_text_list(pa.string())
    assert not checks.is_text_list(pa.list_(pa.list_(pa.string())))
    assert not checks.is_slice(pa.list_(pa.string()))
    assert not checks.is_slice(pa.struct([("a", pa.string())]))


def test_entries_behind_a_null_list_belong_to_no_row() -> None:
    values = pa.array(["a", "hidden", "b", "x" * 51])
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3, 4], pa.int32()), values, mask=pa.array([False, True, False, False])
    )
    checked = checks.check_references(references(lists), [], LONG)
    assert reasons(checked) == {1: "no_references", 3: "too_long"}
    assert checked.rows.column("references").to_pylist() == [["a"], ["b"]]
