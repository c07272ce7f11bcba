"""Slices of columns of hypotheses, of bins, and of values that go together: each equals a run on
its examples alone, and changes nothing beside it."""

from __future__ import annotations

import json
from pathlib import Path

import harness
import pyarrow as pa
import pyarrow.compute as pc
import pytest

SLICES = ("half*kind", "score:3", "score:0.25,0.5", "kind", "turn:2*half", "domain")
FLAGS = ("--bootstrap", 60, "--slice_values", 6, "--slices", *SLICES)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> harness.Inputs:
    """The example with columns on both sides: half, score on references; kind, turn on
    hypotheses, where the kind of ten examples contradicts itself."""
    references = harness.read_folder(harness.CHAT_INPUTS.references)
    ids = references.column("example_id").to_pylist()
    number = {name: n for n, name in enumerate(sorted(ids))}
    score = [None if number[i] % 40 == 7 else (number[i] * 37 % 240) / 240 for i in ids]
    references = references.append_column(
        "half", pa.array(["a*" if number[i] % 2 else "b" for i in ids])
    ).append_column("score", pa.array(score))
    hypotheses = harness.read_folder(harness.CHAT_INPUTS.hypotheses)
    rows = list(
        zip(hypotheses.column("example_id").to_pylist(), hypotheses.column("system").to_pylist())
    )
    kind = [
        None
        if system == "beam"
        else "long"
        if number[i] % 24 == 5 and system == "greedy"
        else "short"
        for i, system in rows
    ]
    hypotheses = hypotheses.append_column("kind", pa.array(kind)).append_column(
        "turn", pa.array([f"{number[i] % 5}" if number[i] % 30 else "none" for i, _ in rows])
    )
    # One system gave nothing for some: the examples have their values all the same.
    missing = [system == "sampling" and number[i] % 9 == 0 for i, system in rows]
    hypotheses = hypotheses.filter(pc.invert(pa.array(missing)))
    return harness.write_inputs(tmp_path_factory.mktemp("in"), hypotheses, references, shards=2)


@pytest.fixture(scope="module")
def sliced(
    inputs: harness.Inputs, tmp_path_factory: pytest.TempPathFactory
) -> tuple[harness.Output, Path]:
    folder = tmp_path_factory.mktemp("out")
    flags = (*FLAGS, "--partitions", 3, "--save_document_frequencies", folder / "table")
    return harness.run(inputs, folder / "out", *flags).fine(), folder / "table"


def values(output: harness.Output, name: str) -> dict[str, int]:
    rows = [r for r in output.scores if (r["slice"], r["system"]) == (name, "beam")]
    return {row["slice_value"]: row["examples"] for row in rows if row["metric"] == "bleu"}


def test_values_are_what_the_columns_say(sliced: tuple[harness.Output, Path]) -> None:
    output, _ = sliced
    assert values(output, "kind") == {"short": 230, "unknown": 10}
    assert values(output, "half*kind") == {
        r"a\**short": 110,
        r"a\**unknown": 10,
        "b*short": 120,
    }
    quarters = {"1: <0.25": 58, "2: [0.25, 0.5)": 59, "3: >=0.5": 117, "unknown": 6}
    assert values(output, "score:0.25,0.5") == quarters
    thirds = values(output, "score:3")
    assert [thirds[name] for name in sorted(thirds) if name != "unknown"] == [78, 78, 78]
    assert thirds["unknown"] == 6
    turns = values(output, "turn:2*half")
    assert sum(turns.values()) == 240
    assert {name.split("*")[0] for name in turns} == {"1: <2", "2: >=2", "unknown"}
    assert len(values(output, "domain")) == 7
    assert output.counts["slices.domain.other_values"] == 14
    assert output.counts["slices.domain.other"] == values(output, "domain")["other"]
    assert output.counts["slices.hypotheses.kind.contradicting"] == 10
    assert output.counts["slices.hypotheses.turn.not_numbers"] == 8


@pytest.mark.parametrize("name", SLICES)
def test_a_slice_of_any_kind_equals_a_run_on_its_examples_alone(
    inputs: harness.Inputs, sliced: tuple[harness.Output, Path], tmp_path: Path, name: str
) -> None:
    output, table = sliced
    value = sorted(values(output, name))[1]
    segments = output.segments
    own = segments.filter(pc.equal(segments.column(f"slice_{name}"), value))
    ids = own.column("example_id").combine_chunks().unique()
    assert 0 < len(ids) < 240
    parts = [harness.read_folder(f) for f in (inputs.hypotheses, inputs.references)]
    parts = [p.filter(pc.is_in(p.column("example_id"), value_set=ids)) for p in parts]
    flags = ("--bootstrap", 60, "--document_frequencies", table)
    alone = harness.run(harness.write_inputs(tmp_path / "in", *parts), tmp_path / "out", *flags)
    part = [r for r in output.scores if (r["slice"], r["slice_value"]) == (name, value)]
    place = ("run_id", "slice", "slice_value")
    whole = alone.fine().scores
    assert len(part) == len(whole) == 6
    for one, other in zip(part, whole, strict=True):
        assert {k: v for k, v in one.items() if k not in place} == {
            k: v for k, v in other.items() if k not in place
        }


def test_a_slice_changes_no_number_beside_it_and_any_partitioning_gives_the_same_bytes(
    inputs: harness.Inputs, sliced: tuple[harness.Output, Path], tmp_path: Path
) -> None:
    output, _ = sliced
    again = harness.run(inputs, tmp_path / "again", *FLAGS, "--partitions", 7).fine()
    harness.check_same_bytes(output, again)
    plain = harness.run(inputs, tmp_path / "plain", "--bootstrap", 60, "--partitions", 2).fine()
    assert plain.scores == [row for row in output.scores if row["slice"] == "overall"]


def test_columns_of_hypotheses_in_lines_of_json_and_of_folders(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    hypotheses = harness.read_folder(inputs.hypotheses)
    references = harness.read_folder(inputs.references)
    named = hypotheses.rename_columns(
        ["art" if name == "kind" else name for name in hypotheses.column_names]
    )
    folder = tmp_path / "json"
    folder.mkdir()
    for name, table in (("h.jsonl", named), ("r.jsonl", references)):
        lines = [json.dumps(row) + "\n" for row in table.to_pylist()]
        (folder / name).write_text("".join(lines), encoding="utf-8")
    flags = ("--bootstrap", 0, "--slices", "hypotheses.kind", "kind*half", "--metrics", "bleu")
    by_line = harness.run(
        ("--hypotheses", str(folder / "h.jsonl"), "--references", str(folder / "r.jsonl")),
        tmp_path / "by_line",
        *(*flags, "--columns", "hypotheses.kind=art"),
    ).fine()
    harness.check_same_bytes(by_line, harness.run(inputs, tmp_path / "plain", *flags).fine())
    assert values(by_line, "hypotheses.kind") == {"short": 230, "unknown": 10}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nothing", "nothing"),
        ("hypotheses.half", "half"),
        ("hypotheses.text", "a column of another name"),
        ("text", "'text'"),
        ("half*", "a column"),
        ("score:1", "2 to 100 bins"),
    ],
)
def test_a_slice_that_cannot_be_made_stops_the_run(
    inputs: harness.Inputs, tmp_path: Path, name: str, says: str
) -> None:
    message = harness.run(inputs, tmp_path / "out", "--slices", name).refused()
    assert says in message
