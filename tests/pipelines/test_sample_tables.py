"""The tables of several replies to one query; a unit is drawn with all its samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import harness
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scoring.samples import MOST_WORST


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> harness.Output:
    """The example: sampling has three replies to a query, the others one."""
    folder = tmp_path_factory.mktemp("out")
    flags = ("--bootstrap", 0, "--partitions", 3, "--spread_limit", 0.1)
    return harness.run(harness.CHAT_INPUTS, folder / "out", *flags).fine()


def rows(output: harness.Output, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = harness.read_parquet(output.folder / name).to_pylist()
    return found


def test_the_mean_over_samples_is_that_of_runs_on_each_sample_alone(
    output: harness.Output, tmp_path: Path
) -> None:
    hypotheses = harness.read_folder(harness.CHAT_INPUTS.hypotheses)
    references = harness.read_folder(harness.CHAT_INPUTS.references)
    alone = []
    for sample in range(3):
        own = hypotheses.filter(
            pc.and_(
                pc.equal(hypotheses.column("sample"), sample),
                pc.equal(hypotheses.column("system"), "sampling"),
            )
        )
        inputs = harness.write_inputs(tmp_path / f"in{sample}", own, references)
        run = harness.run(inputs, tmp_path / f"out{sample}", "--bootstrap", 0).fine()
        alone.append({m: run.score("sampling", m)["value"] for m in ("bleu", "cider_d")})
    found = rows(output, "samples.parquet")
    assert [(row["system"], row["metric"]) for row in found] == [
        ("sampling", "bleu"),
        ("sampling", "cider_d"),
    ]
    for row in found:
        values = [run[str(row["metric"])] for run in alone]
        assert row["mean_over_samples"] == pytest.approx(sum(values) / 3, rel=1e-14)
        assert (row["lowest_sample"], row["highest_sample"]) == (min(values), max(values))
        assert (row["samples"], row["queries"], row["limit"]) == (3, 240, 0.1)


def test_spread_is_that_of_the_segments(output: harness.Output) -> None:
    segments = output.segments
    own = segments.filter(pc.equal(segments.column("system"), "sampling")).to_pylist()
    worst = rows(output, "samples_worst.parquet")
    for row in rows(output, "samples.parquet"):
        metric = str(row["metric"])
        of_query: dict[str, list[float]] = {}
        for segment in own:
            of_query.setdefault(segment["example_id"], []).append(segment[metric])
        ranges = {name: max(v) - min(v) for name, v in of_query.items()}
        assert row["range"] == pytest.approx(sum(ranges.values()) / 240)
        assert row["above"] == sum(r > 0.1 for r in ranges.values()) / 240
        named = [str(r["example_id"]) for r in worst if r["metric"] == metric]
        order = sorted(ranges, key=lambda n: (-round(ranges[n] * 2**32), n))
        assert named == order[:MOST_WORST]


def test_every_form_of_show_says_how_far_replies_lie_apart(output: harness.Output) -> None:
    bleu, cider = rows(output, "samples.parquet")
    show = ("show", str(output.folder), "--scale", "100", "--print")
    said = json.loads(harness.command_output(*show, "json"))["samples"]
    assert [row["metric"] for row in said] == ["bleu", "cider_d"]
    for name in ("mean_over_samples", "lowest_sample", "highest_sample", "range", "limit"):
        assert said[0][name] == 100 * float(bleu[name])
        assert said[1][name] == cider[name]
    assert said[0]["variance"] == 100**2 * float(bleu["variance"])
    assert (said[0]["above"], said[0]["scale"]) == (bleu["above"], "0-100")
    mean, apart = (f"{100 * float(bleu[k]):.2f}" for k in ("mean_over_samples", "range"))
    for kind in ("table", "markdown"):
        shown = harness.command_output(*show, kind)
        assert f"mean over 3 samples {mean}" in shown
        assert f"range of a query {apart}, above 10.00 in " in shown
    assert "\nseveral replies to one query" in harness.command_output(*show, "table")


def test_tables_of_samples_are_the_same_bytes_however_the_work_is_cut(
    output: harness.Output, tmp_path: Path
) -> None:
    flags = ("--bootstrap", 0, "--partitions", 7, "--spread_limit", 0.1)
    again = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    for name in ("samples", "samples_worst"):
        for kind in ("parquet", "csv"):
            one, other = (o.folder / f"{name}.{kind}" for o in (output, again))
            assert one.read_bytes() == other.read_bytes()


def test_without_a_query_of_two_samples_there_is_no_table(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([("e0", "s", 0, "a"), ("e1", "s", 1, "a")]),
        harness.references_table([("e0", ["a"]), ("e1", ["a"])]),
    )
    output = harness.run(inputs, tmp_path / "out", "--bootstrap", 0).fine()
    assert not list(output.folder.glob("samples*"))


def test_a_unit_is_drawn_with_all_its_samples(tmp_path: Path) -> None:
    # Every reply three times, as samples: BLEU is a ratio of sums, so that all stays as it was if
    # the samples of a query move together, and intervals are narrower if they do not.
    hypotheses = harness.read_folder(harness.CHAT_INPUTS.hypotheses)
    first = hypotheses.filter(pc.equal(hypotheses.column("sample"), 0))
    place = first.column_names.index("sample")
    copies = [
        first.set_column(place, "sample", pa.array([n] * len(first), pa.int32())) for n in range(3)
    ]
    references = harness.read_folder(harness.CHAT_INPUTS.references)
    flags = ("--bootstrap", 200, "--metrics", "bleu", "--baseline", "greedy", "--trials", 500)
    once, often = (
        harness.run(
            harness.write_inputs(tmp_path / f"in{len(t)}", t, references),
            tmp_path / f"out{len(t)}",
            *flags,
        ).fine()
        for t in (first, pa.concat_tables(copies))
    )
    assert {row["segments"] for row in once.scores} == {240}
    assert {row["segments"] for row in often.scores} == {720}
    for one, three in zip(once.scores, often.scores, strict=True):
        for name in ("value", "ci_low", "ci_high"):
            assert three[name] == pytest.approx(one[name], rel=1e-12)
    compared = [rows(o, "comparisons.parquet") for o in (once, often)]
    assert len(compared[0]) == 4
    for one, three in zip(*compared, strict=True):
        assert three["p_value"] == one["p_value"]
        for name in ("difference", "ci_low", "ci_high"):
            assert three[name] == pytest.approx(one[name], rel=1e-12)
