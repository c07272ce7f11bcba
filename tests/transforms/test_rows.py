"""Rows are cut into partitions without loss, and refused rows and counts add up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import tables
from transforms import accounts
from transforms.folder import table_csv
from transforms.importers.base import Columns
from transforms.read import cut
from transforms.sources import InputFile, Inputs
from transforms.write import check_balance

IDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=30)


@given(IDS, st.sampled_from([1, 2, 3, 7, 1000, 70_000]))
def test_every_row_falls_in_exactly_one_partition_and_equal_ids_in_the_same(
    ids: list[str], partitions: int
) -> None:
    rows = pa.table({"example_id": pa.array(ids, pa.string()), "row": range(len(ids))})
    parts = list(cut(rows, partitions))
    numbers = [number for number, _ in parts]
    assert numbers == sorted(set(numbers))
    assert all(0 <= number < partitions for number in numbers)
    assert all(len(part) for _, part in parts)
    found = [row for _, part in parts for row in part.to_pylist()]
    assert sorted(row["row"] for row in found) == list(range(len(ids)))
    assert all(row["example_id"] == ids[row["row"]] for row in found)
    where = [{*part.column("example_id").to_pylist()} for _, part in parts]
    assert sum(map(len, where)) == len(set(ids))
    for _, part in parts:
        assert part.column("row").to_pylist() == sorted(part.column("row").to_pylist())


def test_a_partition_depends_on_the_id_alone() -> None:
    ids = [f"duck_{i:06d}" for i in range(500)]
    alone = {name: next(cut(pa.table({"example_id": [name]}), 13))[0] for name in ids}
    together = {
        name: number
        for number, part in cut(pa.table({"example_id": ids[::-1]}), 13)
        for name in part.column("example_id").to_pylist()
    }
    assert together == alone
    sizes = np.bincount(list(alone.values()), minlength=13)
    assert sizes.min() > 20  # of 38 on average


def test_counts_are_added_by_name_and_fingerprints_modulo_2_to_the_64() -> None:
    found = accounts.merge(
        [
            {"b": 2**63, "a.fingerprint": 2**63 + 5, "c": 1},
            {"a.fingerprint": 2**63 + 6, "b": 2**63},
            {},
        ]
    )
    assert found == {"a.fingerprint": 11, "b": 2**64, "c": 1}
    assert list(found) == sorted(found)
    assert accounts.merge([]) == {}


def test_an_account_counts_its_refused_rows_by_table_reason_and_system() -> None:
    rows = pa.table(
        {
            tables.FILE: ["f"] * 4,
            tables.ROW: [3, 4, 5, 6],
            "example_id": ["a", None, "c", "d"],
            "system": ["s", "t", None, "s"],
        }
    )
    refused = accounts.refused_rows(
        "hypotheses",
        "check",
        rows,
        [
            (np.array([1]), "no_id", "example_id is null or empty"),
            (np.array([3, 2]), "no_system", "system is null or empty"),
        ],
    )
    assert refused.schema == tables.REJECTED
    found = [(r["row"], r["example_id"], r["system"], r["reason"]) for r in refused.to_pylist()]
    assert found == [
        (4, None, "t", "no_id"),
        (6, "d", "s", "no_system"),
        (5, "c", None, "no_system"),
    ]
    packet = accounts.account({"hypotheses.read": 4}, refused)
    assert packet.meta["counts"] == {
        "hypotheses.read": 4,
        "hypotheses.refused": 3,
        "hypotheses.refused.no_id": 1,
        "hypotheses.refused.no_system": 2,
        "system.refused.t": 1,
        "system.refused.s": 1,
    }
    assert packet.tables["rejected"].equals(refused)
    assert (
        accounts.account({"x": 1}, accounts.refused_rows("references", "join", rows, [])).tables
        == {}
    )


def test_an_account_that_does_not_balance_is_our_fault_and_stops_the_run() -> None:
    fine = {"hypotheses.read": 6, "hypotheses.scored": 1, "hypotheses.collapsed": 1}
    fine |= {"hypotheses.null": 1, "hypotheses.not_selected": 1, "hypotheses.refused": 2}
    fine |= {"references.read": 3, "references.accepted": 2, "references.refused": 1}
    check_balance(fine)
    check_balance({})
    for name in fine:
        with pytest.raises(ValueError, match=name.split(".")[0]):
            check_balance({**fine, name: fine[name] + 1})


def score_row(**changed: object) -> dict[str, object]:
    row: dict[str, object] = dict.fromkeys(tables.SCORES.names)
    return {**row, **changed}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_cells_of_the_csv_that_a_spreadsheet_would_run_are_guarded(start: str) -> None:
    text = f"{start}1+1"
    table = pa.Table.from_pylist(
        [score_row(system=text, slice_value=f'{start}cmd|"x"!A1', note=f"a{text}")], tables.SCORES
    )
    line = table_csv(table).decode().split("\n", 1)[1]
    assert f"'{text}" in line
    assert f"'{start}cmd" in line
    assert f"'a{start}" not in line


def test_numbers_of_the_csv_are_full_and_never_guarded() -> None:
    row = score_row(system="s", value=-0.1 - 0.2, ci_low=1e-300, ci_high=None, units=-3)
    text = table_csv(pa.Table.from_pylist([row], tables.SCORES)).decode("utf-8")
    header, line, end = text.split("\n")
    assert end == ""
    cells = dict(zip(header.split(","), line.split(",")))
    assert list(cells) == tables.SCORES.names
    assert cells["value"] == "-0.30000000000000004"
    assert (cells["ci_low"], cells["ci_high"], cells["units"]) == ("1e-300", "", "-3")


FILES = st.lists(
    st.tuples(
        st.sampled_from(["hypotheses", "references"]),
        st.lists(st.tuples(st.integers(1, 400_000), st.integers(1, 50_000_000)), max_size=5),
    ),
    max_size=6,
)


@given(FILES)
def test_splits_hold_every_row_group_once_with_the_number_of_its_first_row(
    drawn: list[tuple[str, list[tuple[int, int]]]],
) -> None:
    files = tuple(
        InputFile(table, f"f{i}", sum(r for r, _ in groups), Columns("parquet"), tuple(groups))
        for i, (table, groups) in enumerate(drawn)
    )
    inputs = Inputs(files, 1, 1)
    found = []
    for split in inputs.splits():
        size = groups_there = 0
        for part in split.parts:
            (file,) = (f for f in files if f.path == part.path)
            assert split.table == file.table
            rows = [r for r, _ in file.row_groups]
            assert part.first_row == sum(rows[: part.row_groups[0]])
            # The rows of a part are numbered from its first on, so it may leave out none.
            first, last = part.row_groups[0], part.row_groups[-1]
            assert part.row_groups == tuple(range(first, last + 1))
            found += [(part.path, number) for number in part.row_groups]
            size += sum(file.row_groups[n][1] for n in part.row_groups)
            groups_there += len(part.row_groups)
        assert groups_there
        assert size <= 64_000_000 or groups_there == 1
    expected = [(f.path, n) for f in files for n in range(len(f.row_groups))]
    assert sorted(found) == sorted(expected)
