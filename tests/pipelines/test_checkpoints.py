"""Checkpoints of a system in one run: --step_column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import harness
import pyarrow as pa
import pyarrow.compute as pc

FLAGS = ("--bootstrap", "100", "--trials", "1000", "--metrics", "bleu", "--tests", "bootstrap")
STEPS = {"beam": 900, "greedy": 1000, "sampling": 2000}


def steps(folder: Path, odd: list[Any] | None = None) -> harness.Inputs:
    """The three systems of the chat example as checkpoints of one."""
    table = harness.read_folder(harness.CHAT / "hypotheses")
    table = table.filter(pc.equal(table.column("sample"), 0))
    column = [STEPS[name] for name in table.column("system").to_pylist()]
    values = pa.array([str(v) for v in column]) if odd else pa.array(column, pa.int64())
    if odd:
        values = pa.array([*odd, *values.to_pylist()[len(odd) :]], pa.string())
    at = table.column_names.index("system")
    table = table.set_column(at, "system", pa.array(["model"] * len(table)))
    return harness.Inputs(
        harness.write_shards(folder, table.append_column("step", values)),
        harness.CHAT / "references",
    )


def test_a_series_of_checkpoints(tmp_path: Path) -> None:
    inputs = steps(tmp_path / "in")
    flags = (*FLAGS, "--step_column", "step", "--slices", "domain")
    ran = harness.run(inputs, tmp_path / "out", *flags)
    output = ran.fine()
    names = ["model@1000", "model@2000", "model@900"]
    assert [r["system"] for r in output.scores if r["slice"] == "overall"] == names
    rows: list[dict[str, Any]] = harness.read_parquet(output.folder / "series.parquet").to_pylist()
    assert len(rows) == 3 * 21
    overall = [row for row in rows if row["slice"] == "overall"]
    assert [row["step"] for row in overall] == ["900", "1000", "2000"]
    assert [row["is_best"] for row in overall] == [True, False, False]
    assert [row["falls"] for row in overall] == [0, 1, 2]
    assert [row["stop"] for row in overall] == [False, False, True]
    value = {name: output.score(name, "bleu")["value"] for name in names}
    last = overall[2]
    assert last["previous_difference"] == value["model@2000"] - value["model@1000"]
    assert last["best_difference"] == value["model@2000"] - value["model@900"]
    assert last["best_ci_low"] < last["best_difference"] < last["best_ci_high"]
    # As the same two systems are compared under any names.
    plain = harness.run(
        harness.CHAT_INPUTS, tmp_path / "plain", *FLAGS, "--baseline", "beam", "--systems", "beam",
        "greedy",
    ).fine()  # fmt: skip
    (other,) = harness.read_parquet(plain.folder / "comparisons.parquet").to_pylist()
    compared = ("difference", "ci_low", "ci_high", "p_value")
    assert [overall[1][f"best_{k}"] for k in compared] == [other[k] for k in compared]
    for row in rows:
        adjusted, alone = row["best_p_adjusted"], row["best_p_value"]
        assert (adjusted is None) == (alone is None)
        assert row["is_best"] or adjusted is None or adjusted >= alone
    assert f"p {last['best_p_adjusted']:.4f})" in ran.stdout
    assert "best 900: 0.4641" in ran.stdout and "falls in a row until 2000" in ran.stdout


def test_a_step_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    inputs = steps(tmp_path / "in", [None, "", "a@b"])
    ran = harness.run(inputs, tmp_path / "out", *FLAGS, "--step_column", "step")
    reasons = sorted(row["reason"] for row in ran.fine().rejected)
    assert reasons == ["bad_step", "no_step", "no_step"]


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    flags = (*FLAGS, "--step_column", "stap")
    message = harness.run(steps(tmp_path / "in"), tmp_path / "out", *flags).refused()
    assert "stap" in message
