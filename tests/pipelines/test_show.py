"""``liangchi show`` and the forms in which scores are printed."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import harness
import pytest

from pipelines import command, report
from pipelines.options import Printing


def show(*arguments: object) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of ``liangchi show``."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command.main(["show", *map(str, arguments)])
    return code, out.getvalue(), err.getvalue()


def test_a_run_is_shown_again_as_it_was(chat: harness.Ran) -> None:
    code, out, err = show(chat.fine().folder)
    assert (code, err) == (0, "")
    assert out == chat.stdout
    assert out.splitlines()[-1] == str(chat.output.folder)


def test_a_newcomer_is_told_how_to_read_the_table(chat: harness.Ran) -> None:
    assert (
        "Higher is closer to the references: BLEU-4 from 0 to 1, CIDEr-D from 0 to 10. "
        "[low, high] is the 95% interval of a score.\n"
    ) in chat.stdout
    assert re.search(
        r"^beam +BLEU-4 0\.4641 \[0\.\d{4}, 0\.\d{4}\]  CIDEr-D \d\.\d{4} \[\d\.\d{4}, \d\.\d{4}\]"
        r"  segments 240  missing 0  refused 0$",
        chat.stdout,
        re.MULTILINE,
    )


AFTER_SHOW = """
import json, sys
from pipelines.command import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
assert code == 0
print(json.dumps(sorted(sys.modules)))
"""


def modules_after(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", AFTER_SHOW, *arguments],
        env=harness.process_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_beam_is_not_imported_to_show_a_run(chat: harness.Ran) -> None:
    for kind in ("table", "json", "csv", "markdown"):
        loaded = modules_after("show", str(chat.fine().folder), "--print", kind)
        assert not loaded & {"apache_beam", "rich", "jieba", "grpc"}


@pytest.mark.parametrize("name", ["show", "explain"])
def test_help_is_quick(name: str) -> None:
    loaded = modules_after(name, "--help")
    assert not loaded & {"apache_beam", "numpy", "pyarrow", "scoring", "transforms", "rich"}


# Forms


def test_json_is_all_that_the_table_has(chat: harness.Ran) -> None:
    output = chat.fine()
    code, out, _ = show(output.folder, "--print", "json")
    assert code == 0
    said = json.loads(out)
    assert said["run_id"] == output.manifest["run_id"]
    assert said["output"] == str(output.folder)
    assert said["counts"] == output.counts
    expected = [{k: v for k, v in row.items() if k != "run_id"} for row in output.scores]
    assert [{k: v for k, v in row.items() if k != "label"} for row in said["scores"]] == expected
    assert {row["label"] for row in said["scores"]} == {"BLEU-4", "CIDEr-D"}


def test_csv_is_the_file_in_the_folder(chat: harness.Ran) -> None:
    folder = chat.fine().folder
    assert show(folder, "--print", "csv")[1] == (folder / "scores.csv").read_text("utf-8")


def test_markdown_is_a_table_for_all_and_one_for_each_slice(chat: harness.Ran) -> None:
    lines = show(chat.fine().folder, "--print", "markdown")[1].splitlines()
    assert lines[0] == "| system | BLEU-4 | CIDEr-D | segments | missing | refused |"
    assert lines[1] == "| --- | ---: | ---: | ---: | ---: | ---: |"
    row = chat.output.score("beam", "bleu")
    shown = f"{row['value']:.4f} [{row['ci_low']:.4f}, {row['ci_high']:.4f}]"
    assert lines[2].startswith(f"| beam | {shown} |")
    assert lines[5] == ""
    assert lines[6] == "| system | domain | BLEU-4 | CIDEr-D | segments | missing |"
    cells = {line.count(" | ") for line in lines[6:66] if line.startswith("| ")}
    assert cells == {5}


def test_what_is_evaluated_can_be_printed_in_any_form(tmp_path: Path) -> None:
    flags = ("--bootstrap", 20, "--print", "json", "--scale", 100)
    ran = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags)
    value = ran.fine().score("beam", "bleu")["value"]
    (row,) = (
        r
        for r in json.loads(ran.stdout)["scores"]
        if (r["system"], r["metric"]) == ("beam", "bleu")
    )
    assert (row["value"], row["scale"]) == (100 * value, "0-100")
    # The tables stay as they are.
    assert 0.4 < value < 0.5
    assert ran.output.score("beam", "bleu")["scale"] == "0-1"


def test_only_scores_of_0_to_1_are_scaled(chat: harness.Ran) -> None:
    folder = chat.fine().folder
    bleu, cider = (chat.output.score("beam", metric) for metric in ("bleu", "cider_d"))
    out = show(folder, "--scale", 100)[1]
    low, high = (f"{100 * bleu[end]:.2f}" for end in ("ci_low", "ci_high"))
    assert f"BLEU-4 {100 * bleu['value']:.2f} [{low}, {high}]  CIDEr-D {cider['value']:.4f}" in out
    assert "BLEU-4 from 0 to 100, CIDEr-D from 0 to 10." in out
    rows = list(csv.DictReader(io.StringIO(show(folder, "--scale", 100, "--print", "csv")[1])))
    assert float(rows[0]["value"]) == 100 * bleu["value"]
    assert (rows[0]["scale"], rows[0]["metric"]) == ("0-100", "bleu")
    assert f"{cider['value']:.4f} [" in show(folder, "--scale", 100, "--print", "markdown")[1]


@pytest.mark.parametrize(
    ("scale", "shown"), [(1, "0.1235"), (100, "12.35"), (1000, "123.5"), (10**6, "123457")]
)
def test_a_larger_scale_has_fewer_digits(scale: float, shown: str) -> None:
    row = {"metric": "bleu", "signature": "metric:bleu|n:4", "scale": "0-1"}
    row |= {"value": 0.1234567, "ci_low": None, "ci_high": None}
    assert report.score_text(row, scale) == ("BLEU-4", shown)


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf", "x"])
def test_a_scale_must_be_a_number_above_0(tmp_path: Path, scale: str) -> None:
    for call in (["show", str(tmp_path)], ["evaluate", *harness.CHAT_INPUTS.flags()]):
        given = [*call, "--scale", scale]
        given += ["--output", str(tmp_path / "out")] if call[0] == "evaluate" else []
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            assert command.main(given) == 2
        assert "scale" in err.getvalue()
    assert not (tmp_path / "out").exists()


# Text of unknown origin

NASTY = [
    "=1+1",
    "../x",
    "<script>alert(1)</script>",
    "a|b`c`*d*_e_[f](g)",
    "\x1b[2J\x07\x9b",
    "[bold red]x[/]",
    "a\nb\r\tc\u2028d",
    "\u202eabc",
    "@all #1 !x ~y~ &amp;",
    "\\",
]


def nasty_result() -> report.Result:
    rows: list[dict[str, Any]] = []
    for name in NASTY:
        for part, value in (("overall", ""), ("s|\x1b", name)):
            row: dict[str, Any] = {"run_id": "r", "system": name, "slice": part}
            row |= {"slice_value": value, "metric": "bleu", "value": 0.5, "ci_low": 0.4}
            row |= {"ci_high": 0.6, "ci_level": 0.95, "segments": 3, "missing": 0}
            row |= {"signature": "metric:bleu|n:4", "scale": "0-1", "note": f"n {name}"}
            rows.append(row)
    manifest = {"run_id": "r", "counts": {}, "signatures": {"bleu": f"text:{NASTY[4]}"}}
    return report.Result(rows, manifest)


@pytest.mark.parametrize("kind", ["table", "json", "csv", "markdown"])
def test_no_form_has_a_character_that_a_terminal_obeys(kind: str) -> None:
    text = report.render(nasty_result(), Printing(kind), "out")
    assert {c for c in text if not c.isprintable()} == {"\n"}


def test_json_says_names_as_they_are() -> None:
    said = json.loads(report.render(nasty_result(), Printing("json"), "out"))
    assert [row["system"] for row in said["scores"][::2]] == NASTY


def test_csv_is_guarded_and_one_row_stays_one_row() -> None:
    text = report.render(nasty_result(), Printing("csv"), "out")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(text.splitlines()) - 1 == 2 * len(NASTY)
    assert [row["system"] for row in rows[::2]][:3] == ["'=1+1", "../x", NASTY[2]]
    assert rows[-4]["system"] == "'@all #1 !x ~y~ &amp;"


def test_markdown_has_no_markup_of_the_data() -> None:
    text = report.render(nasty_result(), Printing("markdown"), "out")
    for line in text.splitlines():
        if line.startswith("|"):
            # Cells end only where ours do.
            assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) in (6, 7)
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", text)  # escaped punctuation is text
    for mark in ("<", ">", "`", "*", "&", "@", "~"):
        assert mark not in bare
    assert "](" not in bare


# Folders that are no runs


def test_a_folder_without_a_finished_run_is_said_to_be_none(
    chat: harness.Ran, tmp_path: Path
) -> None:
    for folder in (tmp_path, tmp_path / "nothing", harness.CHAT):
        code, out, err = show(folder)
        assert (code, out) == (2, "")
        assert f"{folder}: no finished run" in err
        assert "--output folder" in err
    broken = tmp_path / "broken"
    shutil.copytree(chat.fine().folder, broken)
    manifest = (broken / "manifest.json").read_text("utf-8")
    for content in ("", "{", "[]", "{}", '"x"', manifest[:500]):
        (broken / "manifest.json").write_text(content, "utf-8")
        code, out, err = show(broken)
        assert (code, out) == (2, "")
        assert f"{broken}/manifest.json: cannot be understood" in err
    (broken / "manifest.json").write_text(manifest, "utf-8")
    for content in (b"", b"PAR1", (broken / "scores.parquet").read_bytes()[:200]):
        (broken / "scores.parquet").write_bytes(content)
        code, out, err = show(broken)
        assert (code, out) == (2, "")
        assert f"{broken}/scores.parquet: cannot be read" in err


def test_a_run_that_was_moved_is_shown_all_the_same(chat: harness.Ran, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(chat.fine().folder, moved)
    assert show(moved)[1] == chat.stdout.replace(str(chat.output.folder), str(moved))


def test_a_call_without_a_folder_says_what_is_needed() -> None:
    code, out, err = show()
    assert (code, out) == (2, "")
    assert "RUN" in err
    assert "liangchi show --help" in err
