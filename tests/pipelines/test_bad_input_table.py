"""The table of bad input, row by row, through the command: what is said, with which code, and that
every row that came in is accounted for."""

from __future__ import annotations

import csv
import gzip
import io
import json
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transforms.importers import parquet

FLAGS = ("--tokenizer", "none", "--bootstrap", 0, "--metrics", "bleu")


def table(**columns: Any) -> pa.Table:
    """Two hypotheses of which nothing is wrong, but for the columns given."""
    made = {
        "example_id": pa.array(["e0", "e1"]),
        "system": pa.array(["s", "s"]),
        "text": pa.array(["a b c d", "b c d e"]),
    }
    return pa.table({k: v for k, v in {**made, **columns}.items() if v is not None})


def references(**columns: Any) -> pa.Table:
    made = {
        "example_id": pa.array(["e0", "e1"]),
        "references": pa.array([["a b c d"], ["b c d f"]]),
    }
    return pa.table({k: v for k, v in {**made, **columns}.items() if v is not None})


def jsonl(path: Path, rows: Iterable[object]) -> Path:
    """Objects as lines; strings and bytes as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = [
        row
        if isinstance(row, bytes)
        else row.encode()
        if isinstance(row, str)
        else json.dumps(row, ensure_ascii=False).encode()
        for row in rows
    ]
    path.write_bytes(b"".join(line + b"\n" for line in made))
    return path


@pytest.fixture
def inputs(tmp_path: Path) -> harness.Inputs:
    return harness.write_inputs(tmp_path / "in", table(), references())


def flags(hypotheses: Path, reference_files: Path) -> list[str]:
    return ["--hypotheses", str(hypotheses), "--references", str(reference_files)]


def reasons(output: harness.Output) -> list[tuple[str, int | None, str]]:
    """(table, row, reason) of all refused rows."""
    return [(r["table"], r["row"], r["reason"]) for r in output.rejected]


def test_the_example_with_warts_gives_the_same_as_parquet_and_as_json(tmp_path: Path) -> None:
    real = harness.ROOT / "examples" / "chat-real"
    by_rows = [real / "hypotheses", real / "references"]
    by_lines = [real / "jsonl" / "hypotheses.jsonl.gz", real / "jsonl" / "references.jsonl"]
    more = ("--slices", "domain", "--bootstrap", 20)
    outputs = [
        harness.run(flags(*paths), tmp_path / name, *more).fine()
        for name, paths in (("parquet", by_rows), ("json", by_lines))
    ]
    harness.check_same_bytes(*outputs)
    refused = Counter((row["table"], row["reason"]) for row in outputs[0].rejected)
    assert refused == {
        ("hypotheses", "contradicting_duplicates"): 2,
        ("hypotheses", "no_reference"): 10,
        ("hypotheses", "too_long"): 1,
        ("references", "contradicting_duplicates"): 2,
    }
    counts = outputs[0].counts
    assert (counts["hypotheses.collapsed"], counts["hypotheses.null"]) == (1, 1)
    missing = {s: outputs[0].score(s, "bleu")["missing"] for s in ("beam", "greedy", "sampling")}
    assert missing == {"beam": 1, "greedy": 4, "sampling": 1}
    assert outputs[0].score("beam", "bleu", "domain", "unknown")["examples"] == 1


# Files that stop the run before it starts, or are refused with --skip_bad_files


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "gone")


def of_text(path: Path) -> None:
    path.write_text("a b c d\n" * 9, encoding="utf-8")


def without_a_column(path: Path) -> None:
    pq.write_table(table().drop_columns(["text"]), path)


def of_another_type(path: Path) -> None:
    pq.write_table(table(text=pa.array([1, 2])), path)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (truncated, "cannot be read as Parquet"),
        (emptied, "cannot be read as Parquet"),
        (dangling, "cannot be read"),
        (of_text, "cannot be read as Parquet"),
        (without_a_column, "need one column 'text' (string)"),
        (of_another_type, "column 'text' of the hypotheses is int64, expected string"),
    ],
)
def test_a_bad_file_among_good_ones_stops_the_run_or_is_refused_and_counted(
    inputs: harness.Inputs, tmp_path: Path, damage: Callable[[Path], None], says: str
) -> None:
    bad = inputs.hypotheses / "part-00001-of-00001.parquet"
    bad.write_bytes((inputs.hypotheses / "part-00000-of-00001.parquet").read_bytes())
    damage(bad)
    message = harness.run(inputs, tmp_path / "out", *FLAGS).refused()
    assert str(bad) in message
    assert says in message
    assert "--skip_bad_files" in message
    assert not (tmp_path / "out").exists()

    output = harness.run(inputs, tmp_path / "skipped", *FLAGS, "--skip_bad_files").fine()
    (row,) = output.rejected
    assert (row["table"], row["file"], row["row"]) == ("hypotheses", str(bad), None)
    assert (row["stage"], row["reason"]) == ("read", "bad_file")
    assert says in row["detail"]
    assert output.counts["hypotheses.bad_files"] == 1
    assert output.counts["hypotheses.read"] == 2
    assert "hypotheses.refused" not in output.counts
    assert output.score("s", "bleu")["missing"] == 0


def test_if_no_good_file_is_left_skipping_does_not_help(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    emptied(inputs.references / "part-00000-of-00001.parquet")
    message = harness.run(inputs, tmp_path / "out", *FLAGS, "--skip_bad_files").refused()
    assert "cannot be read as Parquet" in message


def test_pages_that_are_damaged_are_found_while_reading(tmp_path: Path) -> None:
    folder = tmp_path / "hypotheses"
    folder.mkdir()
    pq.write_table(table(), folder / "a.parquet")
    bad = folder / "b.parquet"
    pq.write_table(table(), bad, compression="zstd")
    data = bytearray(bad.read_bytes())
    data[4:200] = b"\xff" * 196
    bad.write_bytes(data)
    pq.write_table(references(), tmp_path / "references.parquet")
    given = flags(folder, tmp_path / "references.parquet")
    ran = harness.run(given, tmp_path / "out", *FLAGS)
    assert f"{bad}: row group 0 cannot be read" in ran.refused()
    output = harness.run(given, tmp_path / "skipped", *FLAGS, "--skip_bad_files").fine()
    assert reasons(output) == [("hypotheses", None, "bad_file")]
    assert output.counts["hypotheses.bad_files"] == 1
    assert output.counts["hypotheses.read"] == 2


def test_references_that_were_printed_as_text_are_an_error(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in", table(), references(references=pa.array(["['a','b']", "['c']"]))
    )
    message = harness.run(inputs, tmp_path / "out", *FLAGS).refused()
    assert "column 'references' of the references is string, expected list<string>" in message
    assert "write it as a list" in message
    path = jsonl(
        tmp_path / "r.jsonl", [{"id": "e0", "responses": "['a','b']"}, {"id": "e1", "responses": 7}]
    )
    message = harness.run(flags(inputs.hypotheses, path), tmp_path / "out", *FLAGS).refused()
    assert f"{path}: line 1: 'responses' is a string, expected a list of strings" in message


def test_the_nearest_name_is_offered_with_the_flag_that_takes_it(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in", table(text=None, Texts=pa.array(["a", "b"])), references()
    )
    message = harness.run(inputs, tmp_path / "out", *FLAGS).refused()
    assert "--columns text=Texts" in message
    harness.run(inputs, tmp_path / "mapped", *FLAGS, "--columns", "text=Texts").fine()
    path = jsonl(tmp_path / "h.jsonl", [{"id": "e0", "sytem": "s", "text": "a"}])
    message = harness.run(flags(path, inputs.references), tmp_path / "out", *FLAGS).refused()
    assert "need one column 'system' (string)" in message
    assert "--columns system=sytem" in message


def test_a_system_as_column_and_as_folder_is_an_error(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    folder = tmp_path / "hive" / "system=s"
    folder.mkdir(parents=True)
    pq.write_table(table(), folder / "a.parquet")
    given = flags(folder.parent, inputs.references)
    message = harness.run(given, tmp_path / "out", *FLAGS).refused()
    assert "'system' is given twice: as column 'system' and by a folder" in message
    message = harness.run(inputs, tmp_path / "out", *FLAGS, "--system", "t").refused()
    assert "'system' is given twice" in message
    pq.write_table(table(system=None), folder / "a.parquet")
    message = harness.run(given, tmp_path / "out", *FLAGS, "--system", "t").refused()
    assert "by a folder and by --system t" in message
    path = jsonl(folder / "a.jsonl", [{"id": "e0", "text": "a", "system": "s"}])
    message = harness.run(flags(path, inputs.references), tmp_path / "out", *FLAGS).refused()
    assert "'system' is given twice" in message


# What is accepted where the meaning is clear


@pytest.mark.parametrize(
    "type_",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
)
def test_every_encoding_of_strings_gives_the_same_scores(
    inputs: harness.Inputs, tmp_path: Path, type_: pa.DataType
) -> None:
    lists = pa.list_(type_) if not pa.types.is_string_view(type_) else pa.list_(pa.string())
    columns = {name: table().column(name).cast(type_) for name in table().column_names}
    encoded = harness.Inputs(tmp_path / "h.parquet", tmp_path / "r.parquet")
    pq.write_table(pa.table(columns), encoded.hypotheses)
    as_lists = references().column("references").cast(lists)
    pq.write_table(references(references=as_lists), encoded.references)
    outputs = [
        harness.run(i, tmp_path / f"out{n}", *FLAGS).fine() for n, i in enumerate((inputs, encoded))
    ]
    harness.check_same_bytes(*outputs)


def test_columns_of_null_and_files_without_rows_are_read(tmp_path: Path) -> None:
    folders = {}
    for name, full, nothing in (
        ("hypotheses", table(), table(text=pa.nulls(2), sample=pa.nulls(2), system=["t", "t"])),
        ("references", references(), references(references=pa.nulls(2), example_id=["x", "y"])),
    ):
        folders[name] = tmp_path / name
        folders[name].mkdir()
        pq.write_table(full, folders[name] / "a.parquet")
        pq.write_table(nothing, folders[name] / "b.parquet")
        # As pandas writes an empty frame: every column of null.
        empty = pa.table({c: pa.nulls(0) for c in full.column_names})
        pq.write_table(empty, folders[name] / "c.parquet")
    inputs = harness.Inputs(folders["hypotheses"], folders["references"])
    output = harness.run(inputs, tmp_path / "out", *FLAGS).fine()
    assert output.counts["hypotheses.null"] == 2
    assert output.score("t", "bleu")["missing"] == 2
    assert output.score("s", "bleu")["missing"] == 0
    assert reasons(output) == [("references", n, "no_references") for n in (0, 1)]


def test_ids_that_are_integers_on_one_side_join(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        table(example_id=pa.array([7, -8], pa.int64())),
        references(example_id=pa.array(["7", "-8"])),
    )
    assert harness.run(inputs, tmp_path / "out", *FLAGS).fine().score("s", "bleu")["missing"] == 0
    path = jsonl(
        tmp_path / "r.jsonl", [{"id": 7, "responses": ["a"]}, {"id": "-8", "responses": ["b"]}]
    )
    given = flags(inputs.hypotheses, path)
    output = harness.run(given, tmp_path / "json", *FLAGS).fine()
    assert output.score("s", "bleu")["missing"] == 0


def test_ids_that_became_floats_are_an_error(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in", table(example_id=pa.array([1.0, 2.0])), references()
    )
    message = harness.run(inputs, tmp_path / "out", *FLAGS).refused()
    assert "column 'example_id' of the hypotheses is double, expected string or integer" in message


# Rows that are refused


def test_rows_of_json_that_cannot_be_used_are_refused_each_with_its_line(tmp_path: Path) -> None:
    good = [{"id": f"g{n}", "system": "s", "text": "a b"} for n in range(3)]
    bad: list[tuple[object, str]] = [
        ({"system": "s", "text": "a"}, "no_id"),
        ({"id": "", "system": "s", "text": "a"}, "no_id"),
        ({"id": "x", "text": "a"}, "no_system"),
        ({"id": "x", "system": "s"}, "no_text"),
        ({"id": 1.5, "system": "s", "text": "a"}, "wrong_type"),
        ({"id": True, "system": "s", "text": "a"}, "wrong_type"),
        ({"id": "x", "system": "s", "text": ["a"]}, "wrong_type"),
        ({"id": "x", "system": "s", "responses": "a"}, "wrong_type"),
        ({"id": "x", "system": "s", "responses": ["a"], "text": "b"}, "given_twice"),
        ({"id": "x", "system": "s", "text": "a", "sample": -1}, "bad_sample"),
        ({"id": "x", "system": "s", "text": "a", "sample": 2**31}, "bad_sample"),
        ({"id": "x", "system": "s", "text": "a", "sample": "1"}, "wrong_type"),
        ('{"id": "x", "system": "s", "text": "half \\ud83d"}', "lone_surrogate"),
        ('{"id": "\\ude00", "system": "s", "text": "a"}', "lone_surrogate"),
        (b'{"id": "x", "system": "s", "text": "\xff"}', "invalid_utf8"),
        (b'{"id": "x", "system": "s", "text": "\xed\xa0\xbd"}', "invalid_utf8"),
        ('["id", "x"]', "bad_json"),
        ("7", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ('{"id": ' + "9" * 5000 + "}", "bad_json"),
        ('{"id": "x", "system": "s", "text": "cut o', "bad_json"),
    ]
    hypotheses = jsonl(tmp_path / "h.jsonl", [*good, *(line for line, _ in bad)])
    lists = [{"id": row["id"], "responses": ["a b"]} for row in good]
    given = flags(hypotheses, jsonl(tmp_path / "r.jsonl", lists))
    ran = harness.run(given, tmp_path / "out", *FLAGS)
    output = ran.below()
    assert "21 of 24 rows of hypotheses were refused" in ran.stderr
    assert reasons(output) == [("hypotheses", 3 + n, reason) for n, (_, reason) in enumerate(bad)]
    assert {row["file"] for row in output.rejected} == {str(hypotheses)}
    assert output.score("s", "bleu")["segments"] == 3
    harness.run(given, tmp_path / "fine", *FLAGS, "--max_rejected", 1).fine()


def test_a_last_line_that_was_cut_off_is_refused_alone(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "h.jsonl", [{"id": f"e{n}", "system": "s", "text": "a"} for n in "012"])
    path.write_bytes(path.read_bytes()[:-7])
    lists = [{"id": f"e{n}", "responses": ["a"]} for n in "012"]
    given = flags(path, jsonl(tmp_path / "r.jsonl", lists))
    output = harness.run(given, tmp_path / "out", *FLAGS, "--max_rejected", 0.5).fine()
    assert reasons(output) == [("hypotheses", 2, "bad_json")]
    assert output.score("s", "bleu")["missing"] == 1


def test_references_that_cannot_be_used_are_refused_with_their_hypotheses(tmp_path: Path) -> None:
    broken = pa.array([b"ok", b"\xff"], pa.binary()).view(pa.string())
    lists: list[Any] = [["a"], [], None, [None], ["<PAD>"], ["a", "b"], ["x" * 101], ["<PAD>", ""]]
    lists.append(["a", "b"])
    types = [["A"], None, ["A"], None, ["A"], ["A", "B", "C"], ["A"], ["A", "B"]]
    types.append(["A"])
    folder = tmp_path / "references"
    folder.mkdir()
    ids = [f"e{n}" for n in range(len(lists))]
    pq.write_table(
        pa.table({"example_id": ids, "references": lists, "reference_types": types}),
        folder / "a.parquet",
    )
    bytes_of = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), broken)
    pq.write_table(pa.table({"example_id": ["u"], "references": bytes_of}), folder / "b.parquet")
    hypotheses = [*ids, "u", "outside"]
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([(name, "s", 0, "a") for name in hypotheses]),
        references(),
    )
    given = flags(inputs.hypotheses, folder)
    ran = harness.run(
        given, tmp_path / "out", *FLAGS, "--null_text", "<PAD>", "--max_characters", 100
    )
    output = ran.below()
    refused = Counter((r["table"], r["reason"]) for r in output.rejected)
    assert refused == {
        ("references", "no_references"): 4,
        ("references", "too_many_types"): 1,
        ("references", "too_few_types"): 1,
        ("references", "too_long"): 1,
        ("references", "invalid_utf8"): 1,
        ("hypotheses", "no_reference"): 9,
    }
    # The hypothesis of which nobody said anything does not count.
    assert output.counts["hypotheses.outside"] == 1
    assert "8 of 11 rows of hypotheses were refused" in ran.stderr
    assert output.score("s", "bleu")["examples"] == 2


def test_references_that_nobody_answered_and_hypotheses_outside_do_not_count(
    tmp_path: Path,
) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([(f"e{n}", "s", 0, "a") for n in range(10)]),
        harness.references_table([("e0", ["a"]), ("x", ["a"])]),
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS, "--max_rejected", 0).fine()
    assert len(output.rejected) == 9
    assert output.counts["hypotheses.outside"] == 9
    assert output.score("s", "bleu")["missing"] == 1


def test_ids_of_which_none_is_shared_fail_the_run(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in", table(example_id=["1", "2"]), references(example_id=["01", "02"])
    )
    ran = harness.run(inputs, tmp_path / "out", *FLAGS, "--max_rejected", 1)
    ran.below()
    assert "2 of 2 rows of hypotheses were refused: none has the example_id" in ran.stderr


def test_texts_are_as_long_as_max_characters_allows(tmp_path: Path) -> None:
    hypotheses = table(text=pa.array(["一" * 10, "一" * 11]))
    inputs = harness.write_inputs(tmp_path / "in", hypotheses, references())
    share = ("--max_rejected", 1)
    output = harness.run(inputs, tmp_path / "10", *FLAGS, *share, "--max_characters", 10).fine()
    assert reasons(output) == [("hypotheses", 1, "too_long")]
    assert "more than 10 characters" in output.rejected[0]["detail"]
    assert not harness.run(inputs, tmp_path / "11", *FLAGS, "--max_characters", 11).fine().rejected


# Missing outputs


def test_no_output_for_an_example_is_decided_by_missing_and_a_gap_in_samples_is_not_filled(
    tmp_path: Path,
) -> None:
    rows = [
        {"id": "e0", "system": "s", "responses": ["a b c d", None, "a b c d"]},
        {"id": "e1", "system": "s", "responses": []},
        {"id": "e2", "system": "s", "text": None},
        {"id": "e3", "system": "t", "text": "a b c d"},
    ]
    lists = [{"id": f"e{n}", "responses": ["a b c d"]} for n in range(5)]
    given = flags(jsonl(tmp_path / "h.jsonl", rows), jsonl(tmp_path / "r.jsonl", lists))
    output = harness.run(given, tmp_path / "out", *FLAGS, "--systems", "s", "ghost").fine()
    # One null sample, one empty list, one null text.
    assert output.counts["hypotheses.null"] == 3
    assert output.counts["hypotheses.not_selected"] == 1
    row = output.score("s", "bleu")
    assert (row["examples"], row["segments"], row["missing"]) == (5, 6, 4)
    of_e0 = [r["sample"] for r in output.segments.to_pylist() if r["example_id"] == "e0"]
    assert of_e0 == [0, 0, 2]  # of ghost one that is filled in, of s those that it gave
    assert output.score("ghost", "bleu")["missing"] == 5
    skipped = harness.run(given, tmp_path / "skip", *FLAGS, "--missing", "skip").fine()
    assert skipped.score("s", "bleu")["segments"] == 2
    ran = harness.run(given, tmp_path / "error", *FLAGS, "--missing", "error")
    ran.below()
    assert "s: no output for 4 examples" in ran.stderr


# Blank texts and slices


def test_blank_texts_are_scored_as_texts_without_tokens(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table(
            [("e0", "s", 0, ""), ("e1", "s", 0, " \u3000\n"), ("e2", "s", 0, "a")]
        ),
        harness.references_table([("e0", ["a b"]), ("e1", [""]), ("e2", [" ", "a"])]),
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS).fine()
    assert not output.rejected
    rows = output.segments.to_pylist()
    assert [row["hypothesis_tokens"] for row in rows] == [0, 0, 1]
    assert [row["missing"] for row in rows] == [False] * 3
    assert [row["bleu_matches_1"] for row in rows] == [0, 0, 1]


def test_null_and_nan_values_of_slices_are_unknown(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([(f"e{n}", "s", 0, "a") for n in range(4)]),
        harness.references_table(
            [(f"e{n}", ["a"]) for n in range(4)],
            number=pa.array([1.5, None, float("nan"), 1.5]),
            half=pa.array([1.5, None, float("nan"), 1.5], pa.float16()),
            word=["x", None, "unknown", ""],
            nothing=pa.nulls(4),
            truth=[True, None, False, True],
        ),
    )
    names = ("number", "half", "word", "nothing", "truth")
    output = harness.run(inputs, tmp_path / "out", *FLAGS, "--slices", *names).fine()
    found: dict[str, dict[str, int]] = {}
    for row in output.scores:
        found.setdefault(row["slice"], {})[row["slice_value"]] = row["examples"]
    assert found == {
        "overall": {"": 4},
        "number": {"1.5": 2, "unknown": 2},
        "half": {"1.5": 2, "unknown": 2},
        "word": {"": 1, "unknown": 2, "x": 1},
        "nothing": {"unknown": 4},
        "truth": {"false": 1, "true": 2, "unknown": 1},
    }


def test_of_a_slice_with_too_many_values_the_most_frequent_are_kept_whatever_the_partitions(
    tmp_path: Path,
) -> None:
    # Values v0, v1, ... occur 3, 2, 1, 1, ... times: of the ties those first by name are kept.
    values = ["v0"] * 3 + ["v1"] * 2 + [f"w{n:03d}" for n in range(60)]
    order = np.random.default_rng(4).permutation(len(values))
    values = [values[i] for i in order]
    n = len(values)
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([(f"e{i}", "s", 0, "a") for i in range(n)]),
        harness.references_table([(f"e{i}", ["a"]) for i in range(n)], topic=values),
        shards=3,
        row_group_size=7,
    )
    outputs = [
        harness.run(
            inputs, tmp_path / f"out{p}", *FLAGS, "--slices", "topic", "--partitions", p
        ).fine()
        for p in (1, 5)
    ]
    harness.check_same_bytes(*outputs)
    of_slice = {r["slice_value"]: r["examples"] for r in outputs[0].scores if r["slice"] == "topic"}
    kept = ["v0", "v1", *(f"w{i:03d}" for i in range(48))]
    assert of_slice == {**dict.fromkeys(kept, 1), "v0": 3, "v1": 2, "other": n - 3 - 2 - 48}
    assert outputs[0].counts["slices.topic.other"] == 12
    assert outputs[0].counts["slices.topic.other_values"] == 12
    assert "other" in outputs[0].segments.column("slice_topic").to_pylist()


def test_a_slice_with_a_value_for_every_row_is_bounded(tmp_path: Path) -> None:
    n = 30_000
    inputs = harness.write_inputs(
        tmp_path / "in",
        pa.table(
            {"example_id": [f"e{i}" for i in range(n)], "system": ["s"] * n, "text": ["a"] * n}
        ),
        harness.references_table([(f"e{i}", ["a"]) for i in range(n)], topic=np.arange(n)),
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS, "--slices", "topic").fine()
    assert len([r for r in output.scores if r["slice"] == "topic"]) == 51
    assert output.counts["slices.topic.other"] == n - 50


def test_a_slice_with_exactly_as_many_values_as_allowed_keeps_them_all(tmp_path: Path) -> None:
    n = 50
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([(f"e{i}", "s", 0, "a") for i in range(n)]),
        harness.references_table([(f"e{i}", ["a"]) for i in range(n)], topic=np.arange(n)),
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS, "--slices", "topic").fine()
    assert "other" not in [row["slice_value"] for row in output.scores]
    assert not [name for name in output.counts if "other" in name]


# Little data


def test_one_example_has_null_intervals_with_the_reason(tmp_path: Path) -> None:
    inputs = harness.write_inputs(tmp_path / "in", table().slice(0, 1), references().slice(0, 1))
    output = harness.run(inputs, tmp_path / "out", "--tokenizer", "none").fine()
    bleu, cider = output.score("s", "bleu"), output.score("s", "cider_d")
    assert (bleu["value"], bleu["ci_low"]) == (1.0, None)
    assert "too few units" in bleu["note"]
    assert cider["value"] is None
    assert "fewer than 2 examples" in cider["note"]


def test_nothing_to_score_ends_with_3_and_says_why(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "h.jsonl", [{"id": "x", "system": "s", "text": "a"}])
    given = flags(path, jsonl(tmp_path / "r.jsonl", [{"id": "y", "responses": [None]}]))
    ran = harness.run(given, tmp_path / "out", *FLAGS)
    assert ran.below().score("s", "bleu")["value"] is None
    assert "nothing was scored" in ran.stderr
    (tmp_path / "blank.jsonl").write_bytes(b"\n\n \n")
    given = flags(tmp_path / "blank.jsonl", tmp_path / "blank.jsonl")
    assert "nothing was scored" in harness.run(given, tmp_path / "none", *FLAGS).stderr


# Texts that are hostile to formats, terminals and spreadsheets

NASTY = [
    "line\nfeed", "carriage\rreturn", "both\r\nof them", "separator\u2028here",
    "next line\u0085here", "vertical\x0btab", "nul\x00here", "\x1b[31mred\x1b[0m", "[bold]rich[/]",
    "emoji 👩‍👩‍👧‍👦🏽", "astral 𠮷野家", "\ufeffmark", "tab\tand , \"quotes\" '", "😂" * 50,
]  # fmt: skip
SYSTEMS = ["=1+1", "../x", "<script>alert(1)</script>", "[red]s[/red]", "a\x1b[31mb", "行\n二"]


def test_one_row_stays_one_row_and_nothing_is_executed(tmp_path: Path) -> None:
    rows = [(f"e{n}", s, 0, text) for n, text in enumerate(NASTY) for s in SYSTEMS]
    lists = [(f"e{n}", [text, text[::-1]]) for n, text in enumerate(NASTY)]
    inputs = harness.write_inputs(
        tmp_path / "in", harness.hypotheses_table(rows), harness.references_table(lists, t=NASTY)
    )
    by_line = flags(
        jsonl(
            tmp_path / "h.jsonl",
            [{"id": i, "system": s, "text": text} for i, s, _, text in rows],
        ),
        jsonl(
            tmp_path / "r.jsonl",
            [{"id": i, "responses": r, "t": t} for (i, r), t in zip(lists, NASTY)],
        ),
    )
    ran = harness.run(inputs, tmp_path / "out", *FLAGS, "--slices", "t")
    output = ran.fine()
    harness.check_same_bytes(
        output, harness.run(by_line, tmp_path / "json", *FLAGS, "--slices", "t").fine()
    )
    assert not output.rejected
    assert len(output.segments) == len(rows)
    assert {row["bleu"] for row in output.segments.to_pylist()} == {1.0}
    assert {row["system"] for row in output.scores} == set(SYSTEMS)
    assert {row["slice_value"] for row in output.scores} == {"", *NASTY}
    # Nothing was written that is called by a text.
    names = [p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*")]
    assert all(
        name.replace("/", "").replace("-", "").replace(".", "").replace("_", "").isalnum()
        for name in names
    )
    for character in "\x1b\x00\x0b\u2028\u0085\r":
        assert character not in ran.stdout
    data = (output.folder / "scores.csv").read_bytes().decode("utf-8")
    cells = list(csv.DictReader(io.StringIO(data, newline="")))
    assert len(cells) == len(output.scores)
    assert {row["system"] for row in cells} == {"'=1+1", *SYSTEMS[1:]}


def test_lines_of_text_end_at_line_feeds_only(tmp_path: Path) -> None:
    texts = [text.replace("\n", " ").rstrip("\r") for text in NASTY]
    for name, end in (("unix", "\n"), ("dos", "\r\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "out.txt").write_bytes("".join(t + end for t in texts).encode())
        # No end after the last line.
        (folder / "refs_A.txt").write_bytes(end.join(texts).encode())
        given = flags(folder / "out.txt", folder / "refs_A.txt")
        output = harness.run(given, folder / "out", *FLAGS).fine()
        assert output.counts["hypotheses.read"] == len(texts)
        assert output.score("out", "bleu")["value"] == 1.0


# Large input


MEASURED = """
import os, resource, sys
from pipelines.command import main
code = main(["evaluate", *sys.argv[1:]])
if os.path.exists("/proc/self/status"):
    # Not ru_maxrss, which on Linux begins with what the parent held.
    (line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
    print(int(line.split()[1]) * 1024 / 1e6)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
sys.exit(code)
"""


def run_measured(given: list[str], output: Path, *more: object) -> tuple[harness.Ran, float]:
    """A run in a process of its own, and the most megabytes that it held."""
    call = [*given, "--output", str(output), *map(str, more)]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *call],
        env=harness.process_environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=harness.PATIENCE,
    )
    peak = float(done.stdout.splitlines()[-1])
    return harness.Ran(done.returncode, done.stdout, done.stderr, harness.Output(output)), peak


def test_an_id_with_100_000_samples_is_scored(tmp_path: Path) -> None:
    n = 100_000
    path = jsonl(tmp_path / "h.jsonl", [{"id": "e0", "system": "s", "responses": ["a b"] * n}])
    given = flags(path, jsonl(tmp_path / "r.jsonl", [{"id": "e0", "responses": ["a b c"]}]))
    ran, peak = run_measured(given, tmp_path / "out", *FLAGS)
    assert ran.fine().score("s", "bleu")["segments"] == n
    assert peak < 800


def test_a_text_of_10_megabytes_is_refused_in_every_format(tmp_path: Path) -> None:
    long = "a" * 10_000_000
    hypotheses = table(text=pa.array([long, "b c d e"]))
    inputs = harness.write_inputs(tmp_path / "in", hypotheses, references())
    path = jsonl(
        tmp_path / "h.jsonl",
        [{"id": f"e{n}", "system": "s", "text": t} for n, t in enumerate([long, "b c d e"])],
    )
    (tmp_path / "s.txt").write_text(f"{long}\nb c d e\n", encoding="utf-8")
    (tmp_path / "r.txt").write_text("a b c d\nb c d f\n", encoding="utf-8")
    for name, given in (
        ("parquet", flags(inputs.hypotheses, inputs.references)),
        ("json", flags(path, inputs.references)),
        ("text", flags(tmp_path / "s.txt", tmp_path / "r.txt")),
    ):
        output = harness.run(given, tmp_path / name, *FLAGS, "--max_rejected", 1).fine()
        assert reasons(output) == [("hypotheses", 0, "too_long")]
        row = output.score("s", "bleu")
        assert (row["examples"], row["missing"]) == (2, 1)


def packed(before: bytes, block: bytes, times: int, behind: bytes) -> bytes:
    """What gzip makes of ``before + times * block + behind``, the block packed once."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    # After a full flush nothing refers to what came before.
    parts = [packer.compress(before) + packer.flush(zlib.Z_FULL_FLUSH)]
    parts += [packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)] * times
    parts.append(packer.compress(behind) + packer.flush())
    check = zlib.crc32(before)
    for _ in range(times):
        check = zlib.crc32(block, check)
    size = len(before) + times * len(block) + len(behind)
    header = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    return b"".join([header, *parts, struct.pack("<II", zlib.crc32(behind, check), size % 2**32)])


def test_what_is_packed_block_by_block_is_what_gzip_unpacks() -> None:
    assert gzip.decompress(packed(b"a\n", b"xy" * 999, 3, b"\nb")) == b"a\n" + b"xy" * 2997 + b"\nb"


def test_a_gz_bomb_is_an_error_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl.gz"
    path.write_bytes(packed(b"", bytes(1 << 20), 1100, b""))
    given = flags(path, jsonl(tmp_path / "r.jsonl", [{"id": "e0", "responses": ["a"]}]))
    ran, peak = run_measured(given, tmp_path / "out", *FLAGS)
    message = ran.refused()
    assert f"{path}: a file of {path.stat().st_size:,} bytes that unpacks to more than" in message
    assert peak < 400


def test_a_long_line_in_gz_is_refused_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl.gz"
    good = json.dumps({"id": "e0", "system": "s", "text": "a"}).encode() + b"\n"
    path.write_bytes(packed(good, b"x" * (1 << 20), 600, b"\n" + good))
    given = flags(path, jsonl(tmp_path / "r.jsonl", [{"id": "e0", "responses": ["a"]}]))
    ran, peak = run_measured(given, tmp_path / "out", *FLAGS, "--max_rejected", 1)
    output = ran.fine()
    assert reasons(output) == [("hypotheses", 1, "too_long")]
    assert output.counts["hypotheses.collapsed"] == 1
    assert peak < 450


def test_a_parquet_bomb_of_one_value_in_every_row_is_refused_row_by_row(tmp_path: Path) -> None:
    n = 1000
    long = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(n, dtype=np.int32) % 2), pa.array(["a b", "x" * 20_000_000])
    )
    ids = [f"e{i}" for i in range(n)]
    hypotheses = pa.table({"example_id": ids, "system": ["s"] * n, "text": long})
    lists = pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32)), long)
    inputs = harness.write_inputs(
        tmp_path / "in", hypotheses, pa.table({"example_id": ids, "references": lists})
    )
    ran, peak = run_measured(inputs.flags(), tmp_path / "out", *FLAGS, "--max_rejected", 1)
    output = ran.fine()
    # 10 GB each, were they unpacked.
    assert peak < 700
    assert Counter((r["table"], r["reason"]) for r in output.rejected) == {
        ("hypotheses", "too_long"): 500,
        ("references", "too_long"): 500,
    }
    assert output.score("s", "bleu")["examples"] == 500


def test_a_row_group_that_is_too_large_is_an_error(
    inputs: harness.Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MOST_GROUP_BYTES", 100)
    message = harness.run(inputs, tmp_path / "out", *FLAGS).refused()
    assert "row group 0 has 2 rows and" in message
    assert "smaller row groups" in message


def test_a_gz_that_was_cut_off_is_a_bad_file(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl.gz"
    rows = [json.dumps({"id": f"e{n}", "system": "s", "text": "a"}) for n in range(99)]
    path.write_bytes(gzip.compress("\n".join(rows).encode())[:-30])
    given = flags(path, jsonl(tmp_path / "r.jsonl", [{"id": "e0", "responses": ["a"]}]))
    message = harness.run(given, tmp_path / "out", *FLAGS).refused()
    assert f"{path}: cannot be read: Compressed file ended before" in message
