"""Several tracks and combinations in one run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pyarrow as pa
import pytest

CIDER = ("--metrics", "bleu", "cider_d", "--bootstrap", 40, "--slices", "domain")
TRACKS = ("--tracks", "char=char")
METRICS = ("--metrics", "bleu", "cider_d", "bleu[char]", "cider_d[char]")
COMBINED = "dual=0.3*bleu[char]+0.7*bleu"
MIXED = "mixed=bleu - 0.05 * cider_d[char] + 2*bleu[char]"
BOTH = (
    *(*METRICS, *TRACKS, "--bootstrap", 40, "--slices", "domain"),
    *("--combinations", COMBINED, MIXED),
)

SHARED = ("example_id", "system", "sample", "missing", "references", "matched_reference")
SHARED += ("unit", "slice_domain", "segments")


@dataclass(frozen=True)
class Runs:
    inputs: harness.Inputs
    both: harness.Output
    words: harness.Output
    characters: harness.Output
    tables: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Forty examples of the chat data, with two tracks at once and with each alone."""
    folder = tmp_path_factory.mktemp("tracks")
    references = harness.read_folder(harness.CHAT_INPUTS.references).slice(0, 40)
    ids = set(references.column("example_id").to_pylist())
    hypotheses = harness.read_folder(harness.CHAT_INPUTS.hypotheses)
    kept = [i in ids for i in hypotheses.column("example_id").to_pylist()]
    inputs = harness.write_inputs(folder / "in", hypotheses.filter(pa.array(kept)), references)
    tables = folder / "tables"
    save = ("--save_document_frequencies", tables, "--partitions", 3)
    return Runs(
        inputs,
        harness.run(inputs, folder / "both", *BOTH, *save).fine(),
        harness.run(inputs, folder / "words", *CIDER, "--partitions", 1).fine(),
        harness.run(inputs, folder / "char", *CIDER, "--tokenizer", "char").fine(),
        tables,
    )


def rows_of(output: harness.Output, metrics: dict[str, str]) -> list[dict[str, Any]]:
    """The rows of scores of some metrics, renamed, without the run's id."""
    return [
        {**row, "metric": metrics[row["metric"]], "run_id": ""}
        for row in output.scores
        if row["metric"] in metrics
    ]


def test_a_run_of_two_tracks_is_two_runs_number_for_number(runs: Runs) -> None:
    plain = {"bleu": "bleu", "cider_d": "cider_d"}
    on_char = {f"{name}[char]": name for name in plain}
    # Values, intervals, counts, notes and signatures: document frequencies are not mixed either.
    assert rows_of(runs.both, plain) == rows_of(runs.words, plain)
    assert rows_of(runs.both, on_char) == rows_of(runs.characters, plain)
    together = runs.both.segments
    for output, suffix in ((runs.words, ""), (runs.characters, "[char]")):
        alone = output.segments
        for name in alone.column_names:
            if name == "matched_reference" and suffix:
                continue  # by the first track
            column = name if name in SHARED else name + suffix
            assert together.column(column).equals(alone.column(name)), column


def test_a_combination_is_made_inside_every_replicate(runs: Runs) -> None:
    table = runs.both.replicates.to_pylist()
    values: dict[str, dict[tuple[object, ...], float]] = {}
    for row in table:
        key = (row["system"], row["slice"], row["slice_value"], row["replicate"])
        values.setdefault(row["metric"], {})[key] = row["value"]
    for key, found in values["dual"].items():
        parts = values["bleu[char]"][key], values["bleu"][key]
        if None in parts:  # all weights of a small slice are 0
            assert found is None
        else:
            assert found == pytest.approx(0.3 * parts[0] + 0.7 * parts[1], rel=1e-14)
    for row in runs.both.scores:
        if row["metric"] != "dual":
            continue
        name = (row["system"], row["slice"], row["slice_value"])
        drawn = [v for key, v in values["dual"].items() if key[:3] == name]
        assert len(drawn) == 40
        if row["ci_low"] is None:
            assert "too few units" in row["note"]
            continue
        low, high = np.quantile(drawn, [0.025, 0.975])
        assert None not in drawn
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), rel=1e-12)
        assert row["scale"] == "0-1"


def test_a_combination_of_points_and_of_segments(runs: Runs) -> None:
    rows = [r for r in runs.both.scores if (r["system"], r["slice"]) == ("beam", "overall")]
    score = {row["metric"]: row for row in rows}
    value = {name: row["value"] for name, row in score.items()}
    assert value["dual"] == pytest.approx(0.3 * value["bleu[char]"] + 0.7 * value["bleu"])
    mixed = value["bleu"] - 0.05 * value["cider_d[char]"] + 2 * value["bleu[char]"]
    assert value["mixed"] == pytest.approx(mixed)
    assert score["mixed"]["scale"] == "-0.5 to 3"
    for row in runs.both.segments.to_pylist():
        assert row["dual"] == pytest.approx(0.3 * row["bleu[char]"] + 0.7 * row["bleu"])


def test_other_partitions_give_the_same_bytes(runs: Runs, tmp_path: Path) -> None:
    again = harness.run(runs.inputs, tmp_path / "out", *BOTH, "--partitions", 1).fine()
    harness.check_same_bytes(runs.both, again)


def test_the_tables_of_two_tracks_are_saved_apart_and_used_apart(
    runs: Runs, tmp_path: Path
) -> None:
    assert sorted(path.name for path in runs.tables.iterdir()) == ["char", "main"]
    use = ("--document_frequencies", runs.tables, "--partitions", 2)
    frozen = harness.run(runs.inputs, tmp_path / "both", *BOTH, *use).fine()
    assert frozen.scores == runs.both.scores
    # The table of one track serves a run of that track alone, by its own folder or by the whole.
    only = ("--metrics", "cider_d[char]", *TRACKS, "--bootstrap", 0)
    for number, path in enumerate((runs.tables, runs.tables / "char")):
        flags = (*only, "--document_frequencies", path)
        output = harness.run(runs.inputs, tmp_path / f"one{number}", *flags).fine()
        expected = runs.both.score("beam", "cider_d[char]")["value"]
        assert output.score("beam", "cider_d[char]")["value"] == expected
    # A folder with one table only is no table of two tracks.
    one = shutil.copytree(runs.tables / "char", tmp_path / "table")
    flags = (*BOTH, "--document_frequencies", one)
    message = harness.run(runs.inputs, tmp_path / "no", *flags).refused()
    assert str(one / "main") in message


def test_the_report_and_the_manifest_name_the_tracks(runs: Runs) -> None:
    manifest = runs.both.manifest
    assert [t["name"] for t in manifest["configuration"]["tracks"]] == ["char"]
    assert manifest["configuration"]["combinations"][0] == COMBINED.split("=", 1)
    assert "text:raw/char" in manifest["signatures"]["bleu[char]"]
    assert "text:raw/jieba" in manifest["signatures"]["bleu"]
    for recipe in ("text:raw/char", "text:raw/jieba"):
        assert recipe in manifest["signatures"]["dual"]


def test_a_file_says_the_same_as_flags(runs: Runs, tmp_path: Path) -> None:
    file = tmp_path / "tracks.toml"
    file.write_text(
        'metrics = ["bleu[word]", "bleu[char]"]\nbootstrap = 0\n'
        '[tracks.word]\ntokenizer = "jieba"\n[tracks]\nchar = "char"\n'
        '[combinations]\nbleu_dual = "0.3 * bleu[char] + 0.7 * bleu[word]"\n',
        encoding="utf-8",
    )
    output = harness.run(runs.inputs, tmp_path / "out", "--config", file).fine()
    found = {m: output.score("beam", m)["value"] for m in ("bleu[word]", "bleu[char]", "bleu_dual")}
    assert found["bleu[word]"] == runs.both.score("beam", "bleu")["value"]
    assert found["bleu[char]"] == runs.both.score("beam", "bleu[char]")["value"]
    assert found["bleu_dual"] == runs.both.score("beam", "dual")["value"]
    # Words come first: the columns without a name are theirs.
    names = output.segments.column_names
    assert [n for n in names if n.startswith("hypothesis_tokens")] == [
        "hypothesis_tokens",
        "hypothesis_tokens[char]",
    ]
    assert output.segments.column("hypothesis_tokens").equals(
        runs.words.segments.column("hypothesis_tokens")
    )


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--metrics", "bleu[char]"), ("bleu[char]", "--tracks char=TOKENIZER")),
        (("--metrics", "bleu[char"), ("bleu[char", "METRIC[TRACK]")),
        (("--metrics", "bleu", "bleu[main]"), ("different names",)),
        (("--tracks", "char=char"), ("char", "bleu[char] in metrics")),
        (("--tracks", "main=char"), ("main", "tokenizer is for")),
        (("--tracks", "a-b=char"), ("a-b", "letters, digits and _")),
        (("--tracks", "char"), ("TRACK=TOKENIZER",)),
        (("--tracks", "a=nope", "--metrics", "bleu[a]"), ("tracks.a.tokenizer", "nope", "jieba")),
        (("--combinations", "d=0.3*blue"), ("combinations.d", "blue", "bleu")),
        (("--combinations", "d=0.3*bleu[x]"), ("combinations.d", "bleu[x]", "x=TOKENIZER")),
        (("--combinations", "d=0.3 bleu"), ("combinations.d", "a * and a metric after 0.3")),
        (("--combinations", "bleu=1*bleu"), ("combinations", "bleu")),
        (("--combinations", "d=bleu+bleu"), ("d names a metric twice",)),
        (("--combinations", "d=0*bleu"), ("other than 0",)),
        (("--combinations", "d"), ("NAME=SUM",)),
    ],
)
def test_what_is_wrong_is_said_before_the_job(
    tmp_path: Path, flags: tuple[str, ...], says: tuple[str, ...]
) -> None:
    message = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).refused()
    for part in says:
        assert part in message
    assert not (tmp_path / "out").exists()
