"""``liangchi tokenizers``: what is printed and written, and that the sample is stated."""

from __future__ import annotations

import contextlib
import csv
import io
from pathlib import Path

import harness
import pytest

from pipelines import command
from pipelines.tokenizers import excerpt

REFERENCES: list[tuple[str, list[str | None]]] = [
    ("e0", ["微信支付 很好用", "a b"]),
    ("e1", ["好用"]),
    ("e2", ["a b c"]),
]
HYPOTHESES: list[tuple[str | None, str | None, int | None, str | None]] = [
    ("e0", "s", 0, "微信支付 好用"),
    ("e1", "s", 0, "好用"),
    ("e2", "s", 0, "a b"),
    ("e0", "t", 0, "微信 支付"),
    ("e1", "t", 0, "不好用"),
    ("e2", "t", 0, "a b c"),
]


def inputs(folder: Path) -> harness.Inputs:
    return harness.write_inputs(
        folder, harness.hypotheses_table(HYPOTHESES), harness.references_table(REFERENCES)
    )


def called(*arguments: object) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of ``liangchi tokenizers``."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command.main(["tokenizers", *map(str, arguments)])
    return code, out.getvalue(), err.getvalue()


def test_counts_by_hand(tmp_path: Path) -> None:
    given, output = inputs(tmp_path / "in"), tmp_path / "out"
    flags = (*given.flags(), "--tokenizers", "none", "char", "--output", output)
    code, out, err = called(*flags)
    assert (code, err) == (0, "")
    assert out.startswith("all 3 examples; 7 distinct texts of ")
    # 微信支付 很好用 / a b / 好用 / a b c / 微信支付 好用 / 微信 支付 / 不好用
    table = harness.read_parquet(output / "pairs.parquet").to_pylist()
    assert table == [
        {
            "tokenizer": "none",
            "other": "char",
            "texts": 7,
            "comparable": 7,
            "alike": 2,
            "boundaries_both": 6,
            "boundaries_only": 0,
            "boundaries_other": 14,
            "f1": 12 / 26,
        }
    ]
    assert "0.4615  28.6%" in out
    rows = harness.read_parquet(output / "disagreements.parquet").to_pylist()
    assert [(r["cut"], r["other_cut"], r["count"]) for r in rows[:2]] == [
        ("好用", "好|用", 2),
        ("微信支付", "微|信|支|付", 2),
    ]
    for name in ("tokenizers", "pairs", "disagreements", "scores"):
        whole = harness.read_parquet(output / f"{name}.parquet")
        with open(output / f"{name}.csv", encoding="utf-8", newline="") as file:
            assert len(list(csv.reader(file))) == len(whole) + 1
    assert out.endswith(f"{output}\n")


def test_scores_are_those_of_a_run(tmp_path: Path) -> None:
    given = inputs(tmp_path / "in")
    called(*given.flags(), "--tokenizers", "none", "char", "--output", tmp_path / "out")
    found = harness.read_parquet(tmp_path / "out" / "scores.parquet").to_pylist()
    for name in ("none", "char"):
        flags = ("--tokenizer", name, "--metrics", "bleu", "--bootstrap", 0)
        run = harness.run(given, tmp_path / name, *flags).fine()
        expected = {row["system"]: row["value"] for row in run.scores}
        assert {r["system"]: r["value"] for r in found if r["tokenizer"] == name} == expected


def test_a_sample_is_stated_and_the_same_however_files_are_cut(tmp_path: Path) -> None:
    said = []
    for shards in (1, 3):
        references = [(f"e{i}", [f"好 {i}", f"a{i}"]) for i in range(60)]
        rows = [(f"e{i}", s, 0, f"{s} 好{i % 7}") for i in range(60) for s in ("s", "t")]
        given = harness.write_inputs(
            tmp_path / f"in{shards}",
            harness.hypotheses_table(rows),
            harness.references_table(references),
            shards=shards,
            shuffle=shards,
        )
        flags = ("--examples", 20, "--tokenizers", "none", "char")
        code, out, _ = called(*given.flags(), *flags)
        assert code == 0
        assert out.startswith("20 of 60 examples, chosen by hash of example_id; ")
        lines = out.splitlines()
        said.append([line for line in lines if "characters/s" not in line and "/s" not in line])
    without_speed = [
        [line for line in lines if not line.startswith(("none  ", "char  "))] for lines in said
    ]
    assert without_speed[0] == without_speed[1]


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    given = inputs(tmp_path / "in")
    code, _, err = called(*given.flags(), "--tokenizers", "char", "char")
    assert (code, "at least two" in err) == (2, True)
    code, _, err = called(*given.flags(), "--tokenizers", "char", "nothing")
    assert (code, "no tokenizer is called 'nothing'" in err) == (2, True)
    code, _, err = called("--tokenizers", "char", "zh")
    assert (code, "--hypotheses and --references: needed" in err) == (2, True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    code, _, err = called(*given.flags(), "--output", tmp_path / "full")
    assert (code, "already holds 'x'" in err) == (2, True)


def test_text_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    nasty = "\x1b[31m红\u202e"
    given = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([("e", f"s{nasty}", 0, nasty)]),
        harness.references_table([("e", [nasty])]),
    )
    code, out, _ = called(*given.flags(), "--tokenizers", "none", "char")
    assert code == 0
    assert {c for c in out if not c.isprintable()} == {"\n"}


@pytest.mark.parametrize("at", [0, 30, 50, 90, 195])
def test_an_excerpt_holds_what_it_is_for(at: int) -> None:
    text = "x" * at + "好用" + "y" * (200 - at)
    found = excerpt(text, "好用")
    assert "好用" in found
    assert len(found) <= 66
