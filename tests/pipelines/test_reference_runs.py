"""Runs that leave near-duplicate references out, and the table of reference types."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from pathlib import Path

import harness
import pyarrow as pa
import pytest

from pipelines import command

LISTS = [
    ["好的", "好的呢", "好的呢"],
    ["今天 下午 三点 开会 哦", "今天 下午 三点 开会 哦 呀", "明天"],
    ["走吧"],
    ["a b c d e f", "a b c d e f g", "a b c d e f g h"],
]
KEPT = [
    ["好的", "好的呢"],
    ["今天 下午 三点 开会 哦 呀", "明天"],
    ["走吧"],
    ["a b c d e f g h"],
]
TEXTS = {"s": ["好的呢", "今天 下午 开会", "走", "a b c d e f"], "t": ["好", "明天", "", "x"]}
TYPES = [["A", "A", "C"], ["A", "B", "C"], ["A"], ["A", "B", "A"]]
FLAGS = ("--tokenizer", "none", "--bootstrap", 20, "--metrics", "bleu", "cider_d")
NEAR = ("--near_duplicate_references", 0.8)


def inputs(folder: Path, lists: list[list[str]], types: object = None) -> harness.Inputs:
    rows = [(f"e{n}", list(texts)) for n, texts in enumerate(lists)]
    table = harness.references_table(rows)
    if types is not None:
        table = table.append_column("reference_types", pa.array(types, pa.list_(pa.string())))
    hypotheses = [
        (f"e{n}", system, 0, text)
        for system, texts in TEXTS.items()
        for n, text in enumerate(texts)
    ]
    return harness.write_inputs(folder, harness.hypotheses_table(hypotheses), table, shards=2)


def explained(run: Path, example: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert command.main(["explain", str(run), example]) == 0
    return out.getvalue()


def test_near_duplicates_count_nowhere_document_frequencies_included(tmp_path: Path) -> None:
    long, short = inputs(tmp_path / "a", LISTS), inputs(tmp_path / "b", KEPT)
    ran = harness.run(long, tmp_path / "long", *FLAGS, *NEAR, "--partitions", 3)
    reduced = ran.fine()
    plain = harness.run(short, tmp_path / "short", *FLAGS, "--partitions", 1).fine()
    for one, other in zip(reduced.scores, plain.scores):
        assert one.pop("signature").replace("|references:jaccard<=0.8[raw/none]", "") == other.pop(
            "signature"
        )
        assert {**one, "run_id": ""} == {**other, "run_id": ""}
    assert reduced.segments.to_pylist() == plain.segments.to_pylist()
    assert reduced.counts["references.near_duplicates"] == 4
    assert reduced.counts["references.near_duplicate_examples"] == 3
    assert "4 near-duplicate references of 3 examples are left out." in ran.stdout
    said = explained(reduced.folder, "e3")
    assert "2 near-duplicate references are left out" in said
    assert "CHANGED" not in said


def test_another_partitioning_and_a_named_track(tmp_path: Path) -> None:
    given = inputs(tmp_path / "in", LISTS, TYPES)
    # By characters 好的 and 好的呢 are alike from .66 on; by words they have nothing in common.
    flags = (*FLAGS, "--tracks", "char=char", "--near_duplicate_track", "char")
    flags = (*flags, "--near_duplicate_references", 0.66)
    one = harness.run(given, tmp_path / "one", *flags, "--partitions", 1).fine()
    more = harness.run(given, tmp_path / "more", *flags, "--partitions", 4).fine()
    harness.check_same_bytes(one, more)
    for name in ("reference_types.parquet", "reference_types.csv"):
        assert (one.folder / name).read_bytes() == (more.folder / name).read_bytes()
    references = dict(
        zip(
            one.segments.column("example_id").to_pylist(),
            one.segments.column("references").to_pylist(),
        )
    )
    assert references == {"e0": 1, "e1": 2, "e2": 1, "e3": 1}
    assert "references:jaccard<=0.66[raw/char]" in one.manifest["signatures"]["bleu"]


def test_how_often_each_type_matches_best(tmp_path: Path) -> None:
    given = inputs(tmp_path / "in", LISTS, TYPES)
    output = harness.run(given, tmp_path / "out", *FLAGS, "--partitions", 3).fine()
    rows = harness.read_parquet(output.folder / "reference_types.parquet").to_pylist()
    counts = {(r["system"], r["reference_type"]): r["segments"] for r in rows}
    by_hand: Counter[tuple[str, str | None]] = Counter()
    for row in output.segments.to_pylist():
        place = row["matched_reference"]
        name = None if place is None else TYPES[int(row["example_id"][1:])][place]
        by_hand[row["system"], name] += 1
    assert {key: n for key, n in counts.items() if n} == dict(by_hand)
    assert [r["reference_type"] for r in rows] == ["A", "B", "C", None] * 2
    assert [r["references"] for r in rows[:4]] == [6, 2, 2, None]
    assert rows[0]["share_of_references"] == 0.6
    for system in TEXTS:
        assert sum(r["share"] for r in rows if r["system"] == system) == pytest.approx(1)
    assert {r["run_id"] for r in rows} == {output.manifest["run_id"]}
    listed = [Path(entry["path"]).name for entry in output.manifest["files"]]
    assert {"reference_types.parquet", "reference_types.csv"} <= {*listed}
    assert (output.folder / "reference_types.csv").read_text(encoding="utf-8").count("\n") == 9


def test_without_types_there_is_no_such_table(tmp_path: Path) -> None:
    output = harness.run(inputs(tmp_path / "in", LISTS), tmp_path / "out", *FLAGS).fine()
    assert not (output.folder / "reference_types.parquet").exists()


def test_rows_that_differ_in_their_types_contradict_each_other(tmp_path: Path) -> None:
    lists = [*LISTS, LISTS[0]]
    given = inputs(tmp_path / "in", lists, [*TYPES, ["B", "A", "C"]])
    path = next(iter(sorted(given.references.glob("*.parquet"))))
    table = harness.read_folder(given.references)
    ids = pa.array(["e0", "e1", "e2", "e3", "e0"])
    order = sorted(range(5), key=lambda n: table.column("example_id")[n].as_py())
    table = table.take(pa.array(order)).set_column(0, "example_id", ids)
    for file in given.references.glob("*.parquet"):
        file.unlink()
    harness.pq.write_table(table, path)
    output = harness.run(given, tmp_path / "out", *FLAGS, "--max_rejected", 1).fine()
    reasons = Counter((r["table"], r["reason"]) for r in output.rejected)
    assert reasons["references", "contradicting_duplicates"] == 2


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--near_duplicate_references", "1.5"), ("near_duplicate_references", "between 0 and 1")),
        (("--near_duplicate_track", "main"), ("near_duplicate_track", "near_duplicate_references")),
        ((*NEAR, "--near_duplicate_track", "x"), ("near_duplicate_track", "one of main")),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, flags: tuple[object, ...], says: tuple[str, ...]
) -> None:
    message = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).refused()
    for part in says:
        assert part in message
