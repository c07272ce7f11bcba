"""``liangchi compare``: two finished runs, by their segments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

TAILS = [(1 - 0.95) / 2, 1 - (1 - 0.95) / 2]
FLAGS = ("--slices", "domain", "--bootstrap", "200", "--partitions", "3")
TRIALS = ("--trials", "1000")


def part(folder: Path, keep: str) -> harness.Inputs:
    """The chat examples with one system."""
    table = harness.read_folder(harness.CHAT / "hypotheses")
    rows = table.filter(pc.equal(table.column("system"), keep))
    renamed = rows.set_column(
        rows.column_names.index("system"), "system", pa.array(["model"] * len(rows))
    )
    return harness.Inputs(harness.write_shards(folder, renamed), harness.CHAT / "references")


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of one system, and one of both systems together."""
    folder = tmp_path_factory.mktemp("nights")
    for name in ("greedy", "beam"):
        harness.run(part(folder / f"in-{name}", name), folder / name, *FLAGS).fine()
    flags = (*FLAGS, *TRIALS, "--systems", "greedy", "beam", "--baseline", "greedy")
    harness.run(harness.CHAT_INPUTS, folder / "both", *flags).fine()
    return [folder / "greedy", folder / "beam", folder / "both"]


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = harness.read_parquet(folder / "comparisons.parquet").to_pylist()
    return found


COMPARED = ("slice", "slice_value", "metric", "test", "difference", "ci_low", "ci_high")
COUNTED = ("p_value", "p_adjusted", "wins", "losses", "ties", "units", "examples")


def test_two_nights_are_compared_as_in_one_run(nights: list[Path], tmp_path: Path) -> None:
    code, stdout, stderr = harness.command_run(
        "compare", *TRIALS, str(nights[0]), str(nights[1]), "--output", str(tmp_path / "out")
    )
    assert code == 0, stderr
    found, expected = rows(tmp_path / "out"), rows(nights[2])
    keys = (*COMPARED, *COUNTED)
    assert [[r[k] for k in keys] for r in found] == [[r[k] for k in keys] for r in expected]
    assert {r["system"] for r in found} == {"model@beam"}
    assert {r["baseline"] for r in found} == {"model@greedy"}
    assert "model@beam - model@greedy" in stdout
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["counts"]["examples.both"] == 240
    assert manifest["different"] == []
    shown = harness.command_output("show", str(tmp_path / "out"))
    assert shown == stdout


def test_the_saved_replicates_give_the_same_interval(nights: list[Path], tmp_path: Path) -> None:
    harness.command_output(
        "compare", *TRIALS, str(nights[0]), str(nights[1]), "--output", str(tmp_path / "out")
    )
    one, other = (
        np.array(harness.read_parquet(night / "replicates.parquet").column("value"), float)
        for night in nights[:2]
    )
    table = harness.read_parquet(nights[0] / "replicates.parquet").to_pylist()
    place: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(table):
        key = (row["slice"], row["slice_value"], row["metric"])
        place.setdefault(key, []).append(i)
    for row in rows(tmp_path / "out"):
        chosen = place[row["slice"], row["slice_value"], row["metric"]]
        moved = (other - one)[chosen]
        moved = moved[~np.isnan(moved)]
        assert (row["ci_low"], row["ci_high"]) == tuple(np.quantile(moved, TAILS))


def test_the_same_bytes_with_other_partitions(nights: list[Path], tmp_path: Path) -> None:
    folder = nights[0].parent
    harness.run(
        part(tmp_path / "in", "beam"), tmp_path / "beam", *FLAGS[:4], "--partitions", 5
    ).fine()
    for name, second in (("one", folder / "beam"), ("two", tmp_path / "beam")):
        harness.command_output(
            "compare", *TRIALS, str(nights[0]), str(second), "--output", str(tmp_path / name)
        )
    for name in ("comparisons.csv", "scores.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_tracks_and_combinations_are_compared_as_in_one_run(tmp_path: Path) -> None:
    flags = (
        *("--bootstrap", 50, "--trials", 500, "--slices", "domain", "--tracks", "char=char"),
        *("--metrics", "bleu", "bleu[char]", "cider_d"),
        *("--combinations", "dual=0.3*bleu[char]+0.7*bleu", "mixed=0.5*bleu[char]+0.05*cider_d"),
    )
    for name in ("greedy", "beam"):
        harness.run(part(tmp_path / f"in-{name}", name), tmp_path / name, *flags).fine()
    both = ("--systems", "greedy", "beam", "--baseline", "greedy")
    harness.run(harness.CHAT_INPUTS, tmp_path / "both", *flags, *both).fine()
    harness.command_output(
        "compare", str(tmp_path / "greedy"), str(tmp_path / "beam"),
        "--output", str(tmp_path / "out"), "--trials", "500",
    )  # fmt: skip
    found, expected = rows(tmp_path / "out"), rows(tmp_path / "both")
    keys = (*COMPARED, *COUNTED)
    assert [[r[k] for k in keys] for r in found] == [[r[k] for k in keys] for r in expected]
    overall = {r["metric"]: r for r in found if r["slice"] == "overall"}
    assert list(overall) == ["bleu", "bleu[char]", "cider_d", "dual", "mixed"]
    parts = 0.3 * overall["bleu[char]"]["difference"] + 0.7 * overall["bleu"]["difference"]
    assert overall["dual"]["difference"] == pytest.approx(parts, rel=1e-9)
    assert overall["dual"]["ci_low"] < parts < overall["dual"]["ci_high"]


def refused(*arguments: str) -> str:
    code, _, stderr = harness.command_run("compare", *TRIALS, *arguments)
    assert code == 2, stderr
    assert "Traceback" not in stderr
    return stderr


def test_runs_that_were_measured_otherwise_are_refused(nights: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    harness.run(
        part(tmp_path / "in", "beam"), other, *FLAGS, "--tokenizer", "char", "--seed", 3
    ).fine()
    message = refused(str(nights[0]), str(other), "--output", str(tmp_path / "out"))
    assert "bleu: text is raw/jieba" in message and "--allow_different" in message
    assert "seed=3" in message
    output = harness.command_output(
        "compare", *TRIALS, str(nights[0]), str(other), "--output", str(tmp_path / "out"),
        "--allow_different",
    )  # fmt: skip
    assert "model@other - model@greedy" in output
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert any("text is raw/jieba" in line for line in manifest["different"])


def test_examples_of_one_run_only_are_counted(nights: list[Path], tmp_path: Path) -> None:
    inputs = part(tmp_path / "in", "beam")
    table = harness.read_folder(harness.CHAT / "references").slice(0, 200)
    fewer = harness.Inputs(inputs.hypotheses, harness.write_shards(tmp_path / "refs", table))
    harness.run(fewer, tmp_path / "fewer", *FLAGS, "--max_rejected", 1)
    message = refused(str(nights[0]), str(tmp_path / "fewer"), "--output", str(tmp_path / "out"))
    assert "references: their fingerprint is" in message
    harness.command_output(
        "compare", *TRIALS, str(nights[0]), str(tmp_path / "fewer"),
        "--output", str(tmp_path / "out"), "--allow_different", "--tests", "randomisation",
    )  # fmt: skip
    counts = json.loads((tmp_path / "out" / "manifest.json").read_text())["counts"]
    assert (counts["examples.both"], counts["examples.only.0"]) == (200, 40)
    assert {r["examples"] for r in rows(tmp_path / "out") if r["slice"] == "overall"} == {200}


def test_pairs_are_named(nights: list[Path], tmp_path: Path) -> None:
    out = ("--output", str(tmp_path / "out"))
    harness.command_output(
        "compare", *TRIALS, str(nights[2]), str(nights[2]), *out, "--pair", "greedy:beam"
    )
    found = [r for r in rows(tmp_path / "out") if r["slice"] == "overall"]
    expected = [r for r in rows(nights[2]) if r["slice"] == "overall"]
    assert [[r[k] for k in COMPARED] for r in found] == [[r[k] for k in COMPARED] for r in expected]
    assert (found[0]["system"], found[0]["baseline"]) == ("beam@B", "greedy@A")
    message = refused(str(nights[2]), str(nights[1]), "--output", str(tmp_path / "x"))
    assert "no system of one name is in both" in message
    message = refused(
        str(nights[2]), str(nights[1]), "--output", str(tmp_path / "x"), "--pair", "greedy:nobody"
    )
    assert "A:B, A one of" in message


def test_a_run_with_itself_has_no_difference(nights: list[Path], tmp_path: Path) -> None:
    harness.command_output(
        "compare", *TRIALS, str(nights[0]), str(nights[0]), "--output", str(tmp_path / "out")
    )
    for row in rows(tmp_path / "out"):
        assert (row["difference"], row["ci_low"], row["ci_high"]) == (0, 0, 0)
        assert row["p_value"] == 1


def test_what_is_no_run_is_refused(nights: list[Path], tmp_path: Path) -> None:
    out = ("--output", str(tmp_path / "out"))
    assert "no finished run" in refused(str(nights[0]), str(tmp_path), *out)
    assert "--output" in refused(str(nights[0]), str(nights[1]))
    message = refused(str(nights[0]), str(nights[1]), "--output", str(nights[0] / "segments"))
    assert "Expected a folder apart from all inputs" in message
    assert "unknown argument" in refused(str(nights[0]), str(nights[1]), *out, "--tails")
