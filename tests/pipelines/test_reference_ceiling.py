"""Ceiling and floor: references scored as if a system had given them."""

from __future__ import annotations

from pathlib import Path

import harness
import pytest

from scoring.ceiling import CEILING, FLOOR

FLAGS = ("--bootstrap", "100", "--tokenizer", "char", "--slices", "domain")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> harness.Output:
    folder = tmp_path_factory.mktemp("ceiling")
    table = ("--save_document_frequencies", folder / "df")
    flags = (*FLAGS, "--reference_ceiling", "--pairs", "all", *table, "--trials", 400)
    return harness.run(harness.CHAT_INPUTS, folder / "out", *flags).fine()


def test_the_ceiling_is_a_run_with_every_reference_left_out(
    ran: harness.Output, tmp_path: Path
) -> None:
    rows = harness.read_folder(harness.CHAT / "references").to_pylist()
    parts = [
        (row, i)
        for row in rows
        if len(row["references"]) > 1
        for i in range(len(row["references"]))
    ]
    assert parts
    names = [f"{row['example_id']}/{i}" for row, i in parts]
    references = harness.references_table(
        (
            (name, [r for j, r in enumerate(row["references"]) if j != i])
            for name, (row, i) in zip(names, parts)
        ),
        domain=[row["domain"] for row, _ in parts],
        # The example's own hash is its unit.
        whole=[row["example_id"] for row, _ in parts],
    )
    hypotheses = harness.hypotheses_table(
        (name, "people", 0, row["references"][i]) for name, (row, i) in zip(names, parts)
    )
    inputs = harness.write_inputs(tmp_path / "in", hypotheses, references)
    table = ("--document_frequencies", ran.folder.parent / "df")
    flags = (*FLAGS, *table, "--resample_by", "whole")
    alone = harness.run(inputs, tmp_path / "out", *flags).fine()
    compared = ("value", "ci_low", "ci_high", "segments")
    found = [row for row in ran.scores if row["system"] == CEILING]
    assert len(found) == 2 * 21
    for row in found:
        other = alone.score("people", row["metric"], row["slice"], row["slice_value"])
        assert [row[k] for k in compared] == [other[k] for k in compared]
        assert "every reference against the others" in row["note"]


def test_the_floor_is_a_reference_of_another_example(ran: harness.Output) -> None:
    segments = ran.segments.to_pylist()
    floor = [row for row in segments if row["system"] == FLOOR]
    assert len(floor) == 240
    assert ran.counts["hypotheses.scored"] == len(segments) - 240
    value = {s: ran.score(s, "bleu")["value"] for s in ("sampling", CEILING, FLOOR)}
    assert 0 < value[FLOOR] < value["sampling"]
    assert not any(row["system"] == CEILING for row in segments)


def test_systems_and_comparisons_are_as_without(ran: harness.Output, tmp_path: Path) -> None:
    flags = (*FLAGS, "--pairs", "all", "--trials", 400)
    plain = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    own = [row for row in ran.scores if row["system"] not in (CEILING, FLOOR)]
    for row, other in zip(own, plain.scores, strict=True):
        assert {**row, "run_id": ""} == {**other, "run_id": ""}
    found, expected = (
        harness.read_parquet(o.folder / "comparisons.parquet").drop(["run_id"])
        for o in (ran, plain)
    )
    assert found.equals(expected)


def test_the_same_bytes_however_it_is_cut(ran: harness.Output, tmp_path: Path) -> None:
    flags = (*FLAGS, "--reference_ceiling", "--pairs", "all", "--trials", 400, "--partitions", 5)
    other = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    harness.check_same_bytes(ran, other)


def test_examples_of_one_reference_and_rows_that_differ(tmp_path: Path) -> None:
    references = harness.references_table(
        [
            ("a", ["今天 天气 很 好"]),
            ("b", ["你 好 吗", "你 好"]),
            ("c", ["再见"]),
            ("c", ["不 一样"]),
            ("d", ["走 吧"]),
            ("d", ["走 吧"]),
        ]
    )
    hypotheses = harness.hypotheses_table((name, "s", 0, "你 好") for name in "abcd")
    inputs = harness.write_inputs(tmp_path / "in", hypotheses, references)
    flags = ("--tokenizer", "none", "--reference_ceiling", "--metrics", "bleu")
    output = harness.run(inputs, tmp_path / "out", *flags, "--max_rejected", 1).fine()
    assert output.score(CEILING, "bleu")["examples"] == 1
    assert output.score(CEILING, "bleu")["segments"] == 2
    assert output.score(FLOOR, "bleu")["segments"] == 3
    refused = [(row["table"], row["reason"]) for row in output.rejected]
    assert sorted(refused) == [
        ("hypotheses", "no_reference"),
        ("references", "contradicting_duplicates"),
        ("references", "contradicting_duplicates"),
    ]
    assert output.counts["hypotheses.scored"] == 3


def test_a_system_of_that_name_is_refused(tmp_path: Path) -> None:
    references = harness.references_table([("a", ["好"])])
    inputs = harness.write_inputs(
        tmp_path / "in", harness.hypotheses_table([("a", CEILING, 0, "好")]), references
    )
    message = harness.run(inputs, tmp_path / "out", "--reference_ceiling").refused()
    assert f"a system is called {CEILING!r}" in message


def test_pairs_without_all_examples_are_as_without_the_ceiling(tmp_path: Path) -> None:
    table = harness.read_folder(harness.CHAT / "hypotheses").to_pylist()
    kept = [row for i, row in enumerate(table) if i % 5 or row["system"] == "beam"]
    rows = [(r["example_id"], r["system"], r["sample"], r["text"]) for r in kept]
    references = harness.read_folder(harness.CHAT / "references")
    inputs = harness.write_inputs(tmp_path / "in", harness.hypotheses_table(rows), references)
    flags = ("--missing", "skip", "--pairs", "all", "--metrics", "bleu", "--trials", 1200)
    compared = [
        harness.read_parquet(
            harness.run(inputs, tmp_path / name, *flags, "--bootstrap", 100, *more).fine().folder
            / "comparisons.parquet"
        ).drop(["run_id"])
        for name, more in (("with", ("--reference_ceiling",)), ("without", ()))
    ]
    assert compared[0].equals(compared[1])
    assert min(compared[0].column("examples").to_pylist()) < 240
