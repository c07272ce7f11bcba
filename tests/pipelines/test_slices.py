"""Slices, saved tables of document frequencies, and units that are resampled together."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import harness
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

METRICS = ("bleu", "cider_d")
FLAGS = ("--slices", "domain", "turn", "--bootstrap", 300)


@dataclass(frozen=True)
class Saved:
    """A run that saved its document frequencies.

    Domains stand together when examples are sorted by id; turns do not.
    """

    inputs: harness.Inputs
    output: harness.Output
    table: Path


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """The example sliced by domain and by turn, in three partitions."""
    folder = tmp_path_factory.mktemp("saved")
    references = harness.read_folder(harness.CHAT_INPUTS.references)
    lengths = [len(query) for query in references.column("query").to_pylist()]
    turns = pa.array([("first", "second", "third")[n % 3] for n in lengths])
    inputs = harness.write_inputs(
        folder / "in",
        harness.read_folder(harness.CHAT_INPUTS.hypotheses),
        references.append_column("turn", turns),
    )
    flags = (*FLAGS, "--partitions", 3, "--save_document_frequencies", folder / "table")
    return Saved(inputs, harness.run(inputs, folder / "out", *flags).fine(), folder / "table")


def of_slice(saved: Saved, folder: Path, column: str, value: str) -> harness.Inputs:
    """The rows of one slice alone."""
    references = harness.read_folder(saved.inputs.references)
    chosen = references.filter(pc.equal(references.column(column), value))
    hypotheses = harness.read_folder(saved.inputs.hypotheses)
    ids = chosen.column("example_id").combine_chunks()
    kept = hypotheses.filter(pc.is_in(hypotheses.column("example_id"), value_set=ids))
    assert 0 < len(chosen) < len(references)
    return harness.write_inputs(folder, kept, chosen)


def without(row: dict[str, object], *names: str) -> str:
    return repr({name: value for name, value in row.items() if name not in names})


@pytest.mark.parametrize(("column", "value"), [("domain", "coffee"), ("turn", "second")])
def test_a_slice_equals_a_run_on_its_examples_alone(
    saved: Saved, tmp_path: Path, column: str, value: str
) -> None:
    alone = harness.run(
        of_slice(saved, tmp_path / "in", column, value),
        tmp_path / "out",
        *("--bootstrap", 300, "--document_frequencies", saved.table),
    ).fine()
    for system in ("beam", "greedy", "sampling"):
        for metric in METRICS:
            part = saved.output.score(system, metric, column, value)
            own = alone.score(system, metric)
            place = ("run_id", "slice", "slice_value")
            assert part["ci_low"] < part["value"] < part["ci_high"]
            assert without(part, *place) == without(own, *place)
    replicates = saved.output.replicates
    chosen = replicates.filter(pc.equal(replicates.column("slice_value"), value))
    for name in ("system", "metric", "replicate", "value"):
        assert chosen.column(name).to_pylist() == alone.replicates.column(name).to_pylist()


def test_without_the_saved_table_cider_d_of_a_part_is_another(saved: Saved, tmp_path: Path) -> None:
    # So that the test above shows that the table is used.
    inputs = of_slice(saved, tmp_path / "in", "domain", "coffee")
    alone = harness.run(inputs, tmp_path / "out", "--bootstrap", 0).fine()
    part = saved.output.score("beam", "cider_d", "domain", "coffee")
    own = alone.score("beam", "cider_d")
    assert abs(part["value"] - own["value"]) > 0.01
    assert part["signature"] != own["signature"]


def test_a_run_by_its_own_saved_table_gives_the_same_bytes(saved: Saved, tmp_path: Path) -> None:
    flags = (*FLAGS, "--document_frequencies", saved.table, "--partitions", 2)
    again = harness.run(saved.inputs, tmp_path / "out", *flags).fine()
    harness.check_same_bytes(saved.output, again)


@pytest.mark.parametrize("column", ["domain", "turn"])
def test_slices_of_one_column_add_up_to_the_whole(saved: Saved, column: str) -> None:
    rows = [row for row in saved.output.scores if row["metric"] == "bleu"]
    for name in ("examples", "segments"):
        whole = {row["system"]: row[name] for row in rows if row["slice"] == "overall"}
        parts = dict.fromkeys(whole, 0)
        for row in rows:
            if row["slice"] == column:
                parts[row["system"]] += row[name]
        assert parts == whole


@pytest.mark.parametrize(
    ("tokenizer", "change", "says"),
    [
        ("char", {}, ["text recipe", "raw/jieba-0.42", "raw/char"]),
        ("jieba", {"order": 3}, ["n-gram order", "is 3", "is 4"]),
        ("jieba", {"hash": "other-hash"}, ["hash", "other-hash", "liangchi-hash-1"]),
    ],
)
def test_a_table_made_in_another_way_is_refused_and_the_difference_said(
    saved: Saved,
    tmp_path: Path,
    tokenizer: str,
    change: dict[str, object],
    says: list[str],
) -> None:
    content = json.loads((saved.table / "table.json").read_text(encoding="utf-8"))
    table = tmp_path / "table"
    table.mkdir()
    (table / "table.json").write_text(json.dumps({**content, **change}), encoding="utf-8")
    flags = ("--document_frequencies", table, "--tokenizer", tokenizer)
    message = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).refused()
    assert str(table) in message
    assert all(part in message for part in says)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_table_is_refused(tmp_path: Path) -> None:
    flags = ("--document_frequencies", tmp_path / "nothing")
    message = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).refused()
    assert "--save_document_frequencies" in message


@pytest.mark.parametrize("damage", ["other rows", "no file"])
def test_a_saved_table_whose_parts_are_not_those_that_were_saved_is_not_used(
    saved: Saved, tmp_path: Path, damage: str
) -> None:
    # As a second save into the same folder leaves it, if it is killed before its end.
    table = tmp_path / "table"
    shutil.copytree(saved.table, table)
    part = next(table.glob("part-*.parquet"))
    rows = harness.read_parquet(part)
    part.unlink()
    if damage == "other rows":
        pq.write_table(rows.slice(1), part)
    flags = ("--bootstrap", 0, "--document_frequencies", table)
    with contextlib.suppress(RuntimeError, ValueError):
        assert harness.run(saved.inputs, tmp_path / "out", *flags).code != 0
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_saved_table_holds_the_documents_and_the_n_grams_of_two_or_more(
    saved: Saved,
) -> None:
    content = json.loads((saved.table / "table.json").read_text(encoding="utf-8"))
    assert (content["documents"], content["order"]) == (240, 4)
    rows = pa.concat_tables([harness.read_parquet(saved.table / name) for name in content["parts"]])
    frequencies = rows.column("frequency").to_numpy()
    assert frequencies.min() == 2
    assert frequencies.max() <= 240
    assert len(np.unique(rows.column("hash").to_numpy())) == len(rows) > 100


def test_units_are_the_distinct_values_and_may_span_partitions(tmp_path: Path) -> None:
    flags = ("--resample_by", "domain", "--bootstrap", 200)
    one, five = (
        harness.run(harness.CHAT_INPUTS, tmp_path / str(n), *flags, "--partitions", n).fine()
        for n in (1, 5)
    )
    harness.check_same_bytes(one, five)
    assert {row["units"] for row in five.scores} == {20}
    assert {row["examples"] for row in five.scores} == {240}
    assert "unit=domain" in five.scores[0]["signature"]
    assert len(set(five.segments.column("unit").to_pylist())) == 20
    # Resampled apart, the same examples give other intervals.
    apart = harness.run(harness.CHAT_INPUTS, tmp_path / "apart", "--bootstrap", 200).fine()
    for whole, alone in zip(one.scores, apart.scores, strict=True):
        assert whole["value"] == alone["value"]
        assert whole["ci_low"] != alone["ci_low"]


def test_rows_of_one_unit_move_together(tmp_path: Path) -> None:
    # Twelve units, each ten times the same example: its interval is that of the twelve alone.
    texts = [("a b c d e f g h"[: 2 * i + 1], "a b c d x f g h") for i in range(1, 8)]
    texts += [("a b c d e", "a b c e d"), ("b c d e f", "b c d e f"), ("x", "a"), ("", "a b c d")]
    texts += [("a b c d e f g", "a b c d e f g")]
    assert len(texts) == 12
    for copies in (1, 10):
        rows = [(f"{i}/{k}", i) for i in range(12) for k in range(copies)]
        inputs = harness.write_inputs(
            tmp_path / f"in{copies}",
            harness.hypotheses_table([(name, "s", 0, texts[i][0]) for name, i in rows]),
            harness.references_table(
                [(name, [texts[i][1]]) for name, i in rows], document=[f"d{i}" for _, i in rows]
            ),
        )
        flags = ("--tokenizer", "none", "--metrics", "bleu", "--bootstrap", 100, "--partitions", 3)
        harness.run(inputs, tmp_path / f"out{copies}", *flags, "--resample_by", "document").fine()
    once, often = (harness.Output(tmp_path / f"out{n}").score("s", "bleu") for n in (1, 10))
    assert (once["examples"], often["examples"]) == (12, 120)
    assert once["units"] == often["units"] == 12
    assert once["ci_low"] < once["value"] < once["ci_high"]
    for name in ("value", "ci_low", "ci_high"):
        assert often[name] == pytest.approx(once[name], rel=1e-12)


@pytest.mark.parametrize("units", [9, 10])
def test_fewer_than_ten_units_have_no_interval_and_the_reason_is_given(
    tmp_path: Path, units: int
) -> None:
    names = [f"e{i}" for i in range(40)]
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([(n, "s", 0, f"a b c d {i % 3}") for i, n in enumerate(names)]),
        harness.references_table(
            [(n, ["a b c d 1"]) for n in names], document=[i % units for i in range(40)]
        ),
    )
    flags = ("--resample_by", "document", "--tokenizer", "none", "--bootstrap", 40)
    row = harness.run(inputs, tmp_path / "out", *flags).fine().score("s", "bleu")
    assert (row["units"], row["examples"]) == (units, 40)
    assert row["value"] > 0
    if units < 10:
        assert row["ci_low"] is None
        assert row["ci_high"] is None
        assert "too few units (9 < 10)" in row["note"]
    else:
        assert row["ci_low"] < row["value"] < row["ci_high"]
        assert "few units (10)" in row["note"]


def test_values_of_a_slice_that_are_null_or_numbers_have_a_name(tmp_path: Path) -> None:
    names = ["e0", "e1", "e2", "e3"]
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([(n, "s", 0, "a b") for n in names]),
        harness.references_table(
            [(n, ["a b"]) for n in names],
            year=[2024, 2025, None, 2025],
            fine=[True, False, None, True],
        ),
    )
    flags = ("--slices", "year", "fine", "--metrics", "bleu", "--bootstrap", 0)
    output = harness.run(inputs, tmp_path / "out", *flags, "--tokenizer", "none").fine()
    found = {(row["slice"], row["slice_value"]): row["examples"] for row in output.scores}
    assert found == {
        ("overall", ""): 4,
        ("year", "2024"): 1,
        ("year", "2025"): 2,
        ("year", "unknown"): 1,
        ("fine", "true"): 2,
        ("fine", "false"): 1,
        ("fine", "unknown"): 1,
    }
    assert output.segments.column("slice_year").to_pylist() == ["2024", "2025", "unknown", "2025"]


@pytest.mark.parametrize(
    "column", ["file", "row", "system", "text", "sample", "unit", "slice x", "a|b"]
)
def test_a_column_of_any_name_can_be_sliced_on_and_resampled_by(
    tmp_path: Path, column: str
) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([("e0", "s", 0, "a b"), ("e1", "s", 0, "a b")]),
        harness.references_table([("e0", ["a b"]), ("e1", ["a b"])], **{column: ["u", "v"]}),
    )
    by = ("--slices", column, "--resample_by", column)
    flags = (*by, "--bootstrap", 4, "--tokenizer", "none", "--metrics", "bleu")
    output = harness.run(inputs, tmp_path / "out", *flags).fine()
    assert [row["slice_value"] for row in output.scores] == ["", "u", "v"]
    assert output.score("s", "bleu", column, "v")["units"] == 1
