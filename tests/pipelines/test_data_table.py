"""The data report of a run: what is counted, whatever the cut, and what is warned of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import harness
import pytest

from pipelines import data_section

FLAGS = ("--bootstrap", 0, "--metrics", "bleu")
PLAIN = [f"这是第{i}个问题的回答，我们来看看。" for i in range(12)]
TRADITIONAL = [f"那我們就說說第{i}個問題吧。" for i in range(12)]


def inputs(folder: Path, references: list[str], **systems: list[str | None]) -> harness.Inputs:
    rows = [(f"e{i}", s, 0, text) for s, texts in systems.items() for i, text in enumerate(texts)]
    return harness.write_inputs(
        folder,
        harness.hypotheses_table(rows),
        harness.references_table([(f"e{i}", [text]) for i, text in enumerate(references)]),
        shards=2,
        shuffle=1,
    )


def figures(output: harness.Output) -> dict[tuple[str | None, str | None, str], dict[str, Any]]:
    rows = harness.read_parquet(output.folder / "data.parquet").to_pylist()
    assert [row["table"] for row in rows] == [
        "references" if row["system"] is None else "hypotheses" for row in rows
    ]
    return {(row["system"], row["track"], row["measure"]): row for row in rows}


def test_what_is_counted(tmp_path: Path) -> None:
    given = inputs(tmp_path / "in", ["好的7", "a😂", "你好"], s=["好的", "好的", None])
    flags = (*FLAGS, "--tokenizer", "char")
    found = figures(harness.run(given, tmp_path / "out", *flags).fine())
    of = {key: (row["count"], row["of"]) for key, row in found.items()}
    assert of[None, None, "texts"] == (3, 3)
    assert of["s", None, "texts"] == (2, 2)
    assert of[None, None, "cjk"] == (4, 7)
    assert of[None, None, "emoji"] == (1, 7)
    assert of["s", None, "repeated_texts"] == (2, 2)
    assert of["s", None, "distinct_texts"] == (1, 2)
    assert of[None, "main", "tokens"] == (7, 3)
    assert found[None, "main", "tokens_p50"]["value"] == 2
    assert found["s", None, "repeated_texts"]["value"] == 1.0


def test_the_table_is_listed_and_its_section_printed(chat: harness.Ran) -> None:
    output = chat.fine()
    named = [entry["path"].rpartition("/")[2] for entry in output.manifest["files"]]
    assert {"data.parquet", "data.csv"} <= set(named)
    assert output.manifest["warnings"] == []
    lines = chat.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("texts of "))
    assert [line.split()[0] for line in lines[at + 1 : at + 5]] == [
        "references",
        *output.manifest["systems"],
    ]
    assert "720 of 720  simplified  86%" in lines[at + 1]


@pytest.mark.parametrize("more", [(), ("--data_report", 40)])
def test_the_same_bytes_from_every_cut(tmp_path: Path, more: tuple[object, ...]) -> None:
    texts: list[str | None] = [f"我们 {i % 7} 说😂" for i in range(60)]
    given = inputs(tmp_path / "in", [f"这{i}" for i in range(60)], s=texts, t=texts[::-1])
    outputs = [
        harness.run(given, tmp_path / str(n), *FLAGS, "--partitions", n, *more).fine()
        for n in (1, 7)
    ]
    harness.check_same_bytes(*outputs)
    looked_at = figures(outputs[0])[None, None, "texts"]
    assert looked_at["of"] == 60
    assert looked_at["count"] == 60 if not more else 4 <= looked_at["count"] <= 30


def test_none_if_none_is_wanted(tmp_path: Path) -> None:
    ran = harness.run(
        inputs(tmp_path / "in", PLAIN, s=[*TRADITIONAL]),
        tmp_path / "out",
        *FLAGS,
        "--data_report",
        0,
    )
    output = ran.fine()
    assert len(harness.read_parquet(output.folder / "data.parquet")) == 0
    assert output.manifest["warnings"] == []
    assert "texts of" not in ran.stdout


def test_warnings_are_printed_and_kept(tmp_path: Path) -> None:
    given = inputs(tmp_path / "in", PLAIN, **{"s\x1b[2J": [*TRADITIONAL]})
    ran = harness.run(given, tmp_path / "out", *FLAGS, "--tokenizer", "13a")
    uncut, scripts = ran.fine().manifest["warnings"]
    assert uncut.startswith("--tokenizer 13a leaves Chinese uncut")
    assert scripts.startswith("system s\x1b[2J writes traditional characters")
    lines = [line for line in ran.stdout.splitlines() if line.startswith("warning ")]
    assert len(lines) == 2
    assert "\x1b" not in ran.stdout
    ran = harness.run(given, tmp_path / "json", *FLAGS, "--tokenizer", "13a", "--print", "json")
    assert json.loads(ran.stdout)["warnings"] == [uncut, scripts]
    ran = harness.run(given, tmp_path / "md", *FLAGS, "--tokenizer", "13a", "--print", "markdown")
    assert ran.stdout.count("- warning: ") == 2


def test_a_section_without_texts_is_left_out() -> None:
    assert data_section.table([]) == []
