"""What a run leaves: tables of the promised layout, a manifest that comes last or not at all."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import harness
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemas import tables
from transforms import files

SMALL_FLAGS = ("--tokenizer", "none", "--bootstrap", 12, "--slices", "topic")

BLEU_STATISTICS = [
    "bleu_hypothesis_length",
    "bleu_reference_length",
    *(f"bleu_matches_{n}" for n in range(1, 5)),
    *(f"bleu_ngrams_{n}" for n in range(1, 5)),
]


def small(folder: Path, first: str = "a b c d") -> harness.Inputs:
    """Two systems, three examples, one text missing."""
    hypotheses = [("e0", "s", 0, first), ("e1", "s", 0, "x y"), ("e2", "s", 0, None)]
    hypotheses += [("e0", "t", 0, "a b c d"), ("e0", "t", 1, "b"), ("e2", "t", 0, "")]
    references: list[tuple[str, list[str | None]]] = [("e0", ["a b c d", "a b"])]
    references += [("e1", ["x y z"]), ("e2", ["d e f", None])]
    return harness.write_inputs(
        folder,
        harness.hypotheses_table(hypotheses),
        harness.references_table(references, topic=["u", "u", "v"]),
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> harness.Ran:
    folder = tmp_path_factory.mktemp("small")
    return harness.run(small(folder / "in"), folder / "out", *SMALL_FLAGS, "--partitions", 2)


def fields(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in schema]


def test_the_folder_holds_the_tables_and_nothing_else(ran: harness.Ran) -> None:
    folder = ran.fine().folder
    found = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert found == [
        "_liangchi.json",
        "data.csv",
        "data.parquet",
        "manifest.json",
        "rejected/part-00000-of-00001.parquet",
        "replicates.parquet",
        "samples.csv",
        "samples.parquet",
        "samples_worst.csv",
        "samples_worst.parquet",
        "scores.csv",
        "scores.parquet",
        "segments/part-00000-of-00002.parquet",
        "segments/part-00001-of-00002.parquet",
    ]


def test_the_tables_have_the_promised_schemas(ran: harness.Ran) -> None:
    folder = ran.fine().folder
    segments = tables.segments_schema(
        ["topic"],
        ["bleu", "cider_d"],
        ["segments", *BLEU_STATISTICS, "cider_d_sum", "cider_d_undefined"],
    )
    expected = {
        "scores.parquet": tables.SCORES,
        "data.parquet": tables.DATA,
        "replicates.parquet": tables.REPLICATES,
        "rejected/part-00000-of-00001.parquet": tables.REJECTED,
        "segments/part-00000-of-00002.parquet": segments,
        "segments/part-00001-of-00002.parquet": segments,
    }
    for name, schema in expected.items():
        with pq.ParquetFile(folder / name) as parquet:
            found = parquet.schema_arrow
        assert fields(found) == fields(schema), name
        assert found.metadata[b"liangchi.table"].decode() == name.split("/")[0].split(".")[0]
        assert found.metadata[b"liangchi.version"] == str(tables.VERSION).encode()
        assert all(field.metadata[b"doc"] for field in found), name


def test_scores_are_one_row_for_each_system_slice_and_metric_the_whole_first(
    ran: harness.Ran,
) -> None:
    found = [
        (row["slice"], row["slice_value"], row["metric"], row["system"])
        for row in ran.fine().scores
    ]
    assert found == [
        (name, value, metric, system)
        for name, value in (("overall", ""), ("topic", "u"), ("topic", "v"))
        for metric in ("bleu", "cider_d")
        for system in ("s", "t")
    ]


def test_counts_of_a_score_tell_examples_samples_and_missing_ones(ran: harness.Ran) -> None:
    # s gave null for e2; t gave two samples for e0, nothing for e1, an empty text for e2.
    names = ("units", "examples", "segments", "missing", "scale", "ci_level", "ci_method")
    found = {s: [ran.fine().score(s, "bleu")[n] for n in names] for s in "st"}
    method = "percentile of Poisson bootstrap"
    assert found == {
        "s": [3, 3, 3, 1, "0-1", 0.95, method],
        "t": [3, 3, 4, 1, "0-1", 0.95, method],
    }
    assert ran.fine().score("s", "cider_d")["scale"] == "0-10"


def test_segments_are_every_hypothesis_with_what_it_takes_to_score_again(
    ran: harness.Ran,
) -> None:
    rows = ran.fine().segments.to_pylist()
    names = ["example_id", "system", "sample", "missing", "hypothesis_tokens", "references"]
    names += ["matched_reference", "slice_topic"]
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("e0", "s", 0, False, 4, 2, 0, "u"),
        ("e0", "t", 0, False, 4, 2, 0, "u"),
        ("e0", "t", 1, False, 1, 2, 1, "u"),
        ("e1", "s", 0, False, 2, 1, 0, "u"),
        ("e1", "t", 0, True, 0, 1, None, "u"),
        ("e2", "s", 0, True, 0, 1, None, "v"),
        ("e2", "t", 0, False, 0, 1, None, "v"),
    ]
    statistics = [[row[name] for name in BLEU_STATISTICS] for row in rows]
    assert statistics == [
        [4, 4, 4, 3, 2, 1, 4, 3, 2, 1],
        [4, 4, 4, 3, 2, 1, 4, 3, 2, 1],
        [1, 2, 1, 0, 0, 0, 1, 0, 0, 0],
        [2, 3, 2, 1, 0, 0, 2, 1, 0, 0],
        [0, 3, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 3, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 3, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    assert [row["bleu"] for row in rows[:2]] == [1.0, 1.0]


def test_segments_of_a_file_are_sorted(chat: harness.Ran) -> None:
    for path in sorted((chat.fine().folder / "segments").glob("*.parquet")):
        rows = harness.read_parquet(path).to_pylist()
        keys = [(row["example_id"], row["system"], row["sample"]) for row in rows]
        assert keys == sorted(keys)
        assert len(set(keys)) == len(keys) > 0


def test_replicates_are_numbered_and_their_quantiles_are_the_interval(chat: harness.Ran) -> None:
    output = chat.fine()
    rows = output.replicates.to_pylist()
    assert len(rows) == 300 * len(output.scores)
    for number, score in enumerate(output.scores):
        own = rows[300 * number : 300 * (number + 1)]
        key = ("system", "slice", "slice_value", "metric")
        assert all(row[k] == score[k] for row in own for k in key)
        assert [row["replicate"] for row in own] == list(range(300))
        values = sorted(row["value"] for row in own)
        # numpy's linear quantile of 300 values: between the 8th and the 9th from either end.
        low = values[7] + (values[8] - values[7]) * (0.025 * 299 - 7)
        high = values[-9] + (values[-8] - values[-9]) * (0.975 * 299 - 291)
        assert [score["ci_low"], score["ci_high"]] == pytest.approx([low, high], rel=1e-12)


def test_the_csv_has_the_same_numbers_as_the_parquet(chat: harness.Ran) -> None:
    output = chat.fine()
    text = (output.folder / "scores.csv").read_bytes().decode("utf-8")
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    expected = [
        {
            name: "" if value is None else repr(value) if isinstance(value, float) else str(value)
            for name, value in row.items()
        }
        for row in output.scores
    ]
    assert read == expected
    assert len(read) == 126


def test_the_manifest_lists_every_input_and_every_file_with_rows_and_bytes(
    ran: harness.Ran,
) -> None:
    output = ran.fine()
    manifest = output.manifest
    listed = {Path(entry["path"]): entry for entry in manifest["files"]}
    there = {p for p in output.folder.rglob("*") if p.is_file()}
    assert set(listed) == there - {output.folder / n for n in ("manifest.json", "_liangchi.json")}
    for path, entry in listed.items():
        assert entry["bytes"] == path.stat().st_size
        if path.suffix == ".parquet":
            assert entry["rows"] == len(harness.read_parquet(path))
    rows = {entry["table"]: entry["rows"] for entry in manifest["inputs"]}
    assert rows == {"hypotheses": 6, "references": 3}
    assert manifest["configuration"]["slices"] == ["topic"]
    assert manifest["configuration"]["bootstrap"]["replicates"] == 12
    assert manifest["partitions"] == 2
    assert manifest["systems"] == ["s", "t"]
    assert manifest["versions"]["hash"] == "liangchi-hash-1"
    assert set(manifest["signatures"]) == {"bleu", "cider_d"}


def test_the_printed_table_shows_the_scores_and_ends_with_the_folder(ran: harness.Ran) -> None:
    lines = ran.stdout.splitlines()
    row = ran.fine().score("t", "bleu")
    assert lines[1].startswith(f"t  BLEU-4 {row['value']:.4f}  CIDEr-D ")
    assert lines[1].endswith("segments 4  missing 1  refused 0")
    assert "topic=v" in ran.stdout
    assert f"signature {row['signature']}" in lines
    assert any(line.startswith("note (") for line in lines)
    assert lines[-1] == str(ran.output.folder)


@pytest.mark.parametrize("held", ["manifest.json", ".hidden", "old/"])
def test_a_folder_that_holds_anything_is_refused_and_left_alone(tmp_path: Path, held: str) -> None:
    output = tmp_path / "out"
    output.mkdir()
    if held.endswith("/"):
        (output / held).mkdir()
    else:
        (output / held).write_text("kept", encoding="utf-8")
    ran = harness.run(small(tmp_path / "in"), output, *SMALL_FLAGS)
    assert ran.code == 2
    assert f"--output {output}" in ran.stderr
    assert held.rstrip("/") in ran.stderr
    assert "Traceback" not in ran.stderr
    assert [p.name for p in output.iterdir()] == [held.rstrip("/")]
    if not held.endswith("/"):
        assert (output / held).read_text(encoding="utf-8") == "kept"


def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("kept", encoding="utf-8")
    message = harness.run(small(tmp_path / "in"), tmp_path / "out", *SMALL_FLAGS).refused()
    assert "--output" in message
    assert (tmp_path / "out").read_text(encoding="utf-8") == "kept"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert harness.run(small(tmp_path / "in"), tmp_path / "out", *SMALL_FLAGS).code == 0


# Stops where it is told to, says so, and waits to be killed.
STOPPING = """
import sys, time
from pathlib import Path
module, owner, name, marker = sys.argv[1:5]
target = getattr(__import__(module, fromlist=[owner]), owner)
def stop(*arguments):
    Path(marker).touch()
    time.sleep(600)
setattr(target, name, stop)
from pipelines.command import main
main(["evaluate", *sys.argv[5:]])
"""


@pytest.mark.parametrize(
    "place",
    [
        ("scoring.text.tokenizers.blanks", "BlankTokenizer", "tokenize"),
        ("transforms.write", "_WriteResults", "_by_slice"),
    ],
)
def test_a_killed_run_leaves_no_manifest_and_its_folder_is_not_taken_again(
    tmp_path: Path, place: tuple[str, str, str]
) -> None:
    marker, output = tmp_path / "reached", tmp_path / "out"
    inputs = small(tmp_path / "in")
    arguments = [*inputs.flags(), "--output", str(output), *map(str, SMALL_FLAGS)]
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPING, *place, str(marker), *arguments],
        env=harness.process_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        end = time.monotonic() + harness.PATIENCE
        while not marker.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        reached = marker.exists()
    finally:
        process.kill()
        said = process.communicate()[1]
    assert reached, said
    assert process.returncode == -signal.SIGKILL
    assert not (output / "manifest.json").exists()
    assert (output / "_liangchi.json").exists()
    # What is there is whole: files appear under their names only when they are complete.
    for path in output.rglob("*.parquet"):
        harness.read_parquet(path)
    again = harness.run(inputs, output, *SMALL_FLAGS)
    assert again.code == 2
    assert "already holds" in again.stderr
    assert not (output / "manifest.json").exists()


PLUGIN = """
class Failing:
    name = "failing"

    def signature(self):
        return "failing-1"

    def tokenize(self, texts):
        raise RuntimeError("the tokenizer fails on purpose")
"""


def test_a_run_that_fails_leaves_no_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A user's tokenizer, installed under the entry point group.
    installed = tmp_path / "installed"
    described = installed / "failing_plugin-1.0.dist-info"
    described.mkdir(parents=True)
    (installed / "failing_plugin.py").write_text(PLUGIN, encoding="utf-8")
    (described / "METADATA").write_text("Name: failing-plugin\nVersion: 1.0\n", encoding="utf-8")
    (described / "entry_points.txt").write_text(
        "[liangchi.tokenizers]\nfailing = failing_plugin:Failing\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(installed)
    ran = harness.run(small(tmp_path / "in"), tmp_path / "out", "--tokenizer", "failing")
    assert ran.code == 1
    assert "the tokenizer fails on purpose" in ran.stderr
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["_liangchi.json"]


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "folder" / "file"
    assert files.write_bytes(str(path), b"old") == 3

    def fail(source: str, target: str) -> None:
        assert (Path(source).read_bytes(), Path(target).read_bytes()) == (b"new content", b"old")
        raise OSError("the disk fails on purpose")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="on purpose"):
        files.write_bytes(str(path), b"new content")
    assert [p.name for p in path.parent.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    rows: list[tuple[str | None, str | None, int | None, str | None]] = [
        ("e0", "s", 0, "a"),  # scored
        ("e0", "s", 1, "b"),  # scored
        ("e0", "s", 1, "b"),  # collapsed
        ("e1", "s", 0, "a"),  # refused: contradicts the next
        ("e1", "s", 0, "b"),  # refused
        ("e2", "s", 0, None),  # null
        ("e9", "s", 0, "a"),  # refused: no reference
        (None, "s", 0, "a"),  # refused: no id
        ("e0", None, 0, "a"),  # refused: no system
        ("e0", "s", -1, "a"),  # refused: bad sample
        ("e0", "other", 0, "a"),  # not selected
    ]
    references: list[tuple[str | None, list[str | None] | None]] = [
        ("e0", ["a"]),
        ("e0", ["a"]),  # collapsed
        ("e1", ["a"]),
        ("e2", ["a"]),
        ("e3", []),  # refused
        ("e4", ["a"]),  # refused: contradicts the next
        ("e4", ["b"]),
        (None, ["a"]),  # refused
    ]
    inputs = harness.write_inputs(
        tmp_path / "in", harness.hypotheses_table(rows), harness.references_table(references)
    )
    flags = ("--tokenizer", "none", "--systems", "s", "--max_rejected", 1, "--partitions", 2)
    output = harness.run(inputs, tmp_path / "out", *flags, "--bootstrap", 0).fine()
    counts = output.counts
    assert {k: v for k, v in counts.items() if not k.endswith("fingerprint")} == {
        "hypotheses.collapsed": 1,
        "hypotheses.not_selected": 1,
        "hypotheses.null": 1,
        "hypotheses.outside": 1,
        "hypotheses.read": 11,
        "hypotheses.refused": 6,
        "hypotheses.refused.bad_sample": 1,
        "hypotheses.refused.contradicting_duplicates": 2,
        "hypotheses.refused.no_id": 1,
        "hypotheses.refused.no_reference": 1,
        "hypotheses.refused.no_system": 1,
        "hypotheses.scored": 2,
        "references.accepted": 3,
        "references.collapsed": 1,
        "references.read": 8,
        "references.refused": 4,
        "references.refused.contradicting_duplicates": 2,
        "references.refused.no_id": 1,
        "references.refused.no_references": 1,
        "system.missing.s": 2,
        "system.refused.s": 5,
        "tokens.main": 5,  # of two hypotheses and three references
    }
    found = [
        (row["table"], row["row"], row["example_id"], row["system"], row["stage"], row["reason"])
        for row in output.rejected
    ]
    assert found == [
        ("hypotheses", 3, "e1", "s", "join", "contradicting_duplicates"),
        ("hypotheses", 4, "e1", "s", "join", "contradicting_duplicates"),
        ("hypotheses", 6, "e9", "s", "join", "no_reference"),
        ("hypotheses", 7, None, "s", "check", "no_id"),
        ("hypotheses", 8, "e0", None, "check", "no_system"),
        ("hypotheses", 9, "e0", "s", "check", "bad_sample"),
        ("references", 4, "e3", None, "check", "no_references"),
        ("references", 5, "e4", None, "join", "contradicting_duplicates"),
        ("references", 6, "e4", None, "join", "contradicting_duplicates"),
        ("references", 7, None, None, "check", "no_id"),
    ]
    folders = {"hypotheses": inputs.hypotheses, "references": inputs.references}
    for row in output.rejected:
        assert Path(row["file"]).parent == folders[row["table"]]
        assert row["detail"]


def test_a_refused_row_is_named_by_its_number_in_its_file_whatever_the_row_groups(
    tmp_path: Path,
) -> None:
    rows = [(f"e{i}", "s", 0, "a") for i in range(20)]
    folder = harness.write_shards(
        tmp_path / "hypotheses", harness.hypotheses_table(rows), shards=3, row_group_size=2
    )
    references = harness.references_table([(f"e{i}", ["a"]) for i in range(20) if i != 16])
    harness.write_shards(tmp_path / "references", references)
    inputs = harness.Inputs(folder, tmp_path / "references")
    flags = ("--tokenizer", "none", "--max_rejected", 1, "--bootstrap", 0, "--partitions", 3)
    (row,) = harness.run(inputs, tmp_path / "out", *flags).fine().rejected
    # e16 is the sixth row of the second of three shards.
    assert (row["example_id"], row["row"]) == ("e16", 5)
    assert row["file"] == str(folder / "part-00001-of-00003.parquet")


def run_id(output: harness.Output) -> str:
    (found,) = {row["run_id"] for row in output.scores}
    assert output.manifest["run_id"] == found
    return str(found)


def test_the_run_id_is_that_of_settings_and_rows(ran: harness.Ran, tmp_path: Path) -> None:
    first = run_id(ran.fine())
    again = harness.run(small(tmp_path / "in"), tmp_path / "again", *SMALL_FLAGS).fine()
    changed = harness.run(small(tmp_path / "in2", "a b c e"), tmp_path / "changed", *SMALL_FLAGS)
    seeded = harness.run(small(tmp_path / "in3"), tmp_path / "seeded", *SMALL_FLAGS, "--seed", 5)
    named = harness.run(small(tmp_path / "in4"), tmp_path / "n", *SMALL_FLAGS, "--run_id", "夜7")
    assert run_id(again) == first
    assert len({first, run_id(changed.fine()), run_id(seeded.fine()), "夜7"}) == 4
    assert run_id(named.fine()) == "夜7"


def test_the_manifest_is_json_that_names_the_run_first(ran: harness.Ran) -> None:
    text = (ran.fine().folder / "manifest.json").read_text(encoding="utf-8")
    assert next(iter(json.loads(text))) == "run_id"
