"""README and docs/output.md say what is so: their commands run, their numbers come out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import harness
import pytest

from pipelines import command, options
from schemas import tables
from scoring import evaluate

ROOT = harness.ROOT
README, OUTPUT, MAKEFILE = (
    (ROOT / name).read_text("utf-8") for name in ("README.md", "docs/output.md", "Makefile")
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def calls() -> list[list[str]]:
    """The calls of liangchi, without its name."""
    text = "\n".join(blocks("sh")).replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("liangchi ")]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the README's run has been made."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "examples").symlink_to(harness.ROOT / "examples")
    (call,) = (c for c in calls() if c[0] == "evaluate")
    assert run(folder, call)[0] == 0
    return folder


def run(folder: Path, call: list[str]) -> tuple[int, str]:
    before = Path.cwd()
    out = io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out):
            return command.main(call), out.getvalue()
    finally:
        os.chdir(before)


def test_every_call_is_there_once() -> None:
    names = ["compare", "explain", "evaluate", "score", "show"]
    assert [call[0] for call in calls()] == names


def test_the_demo_prints_what_the_readme_shows(tmp_path: Path) -> None:
    shown = re.findall(r"<!-- demo -->\n```text\n(.*?)```", README, re.DOTALL)
    demo = re.findall(r"liangchi evaluate \\\n(.*?)--output", MAKEFILE, re.DOTALL)[0]
    given = [str(ROOT / w) if "/" in w else w for w in demo.replace("\\\n", " ").split()]
    ran = harness.run(given, tmp_path / "out")
    head, tail = ran.stdout.split("\n\n", 1)
    assert [f"{head}\n"] == shown, "put what the demo prints into README.md"
    assert "\nHigher is closer to the references" in tail
    assert tail.splitlines()[-1] == str(tmp_path / "out")
    # What is said of it below.
    value, interval = re.findall(r"BLEU-4 (\S+) (\[.*?\])", head)[0]
    assert f"| `BLEU-4 {value}` |" in README
    assert f"| `{interval}` |" in README
    assert f"{100 * ran.output.score('beam', 'bleu')['value']:.2f}; the tables" in README


def test_the_landmarks_are_so() -> None:
    rows = harness.read_folder(harness.CHAT_INPUTS.references).sort_by("example_id").to_pylist()
    found = [[r for r in row["references"] if r is not None] for row in rows]
    references = [texts for texts in found if texts]
    other = [texts[0] for texts in references[1:] + references[:1]]
    several = [texts for texts in references if len(texts) > 2]
    scored = evaluate(
        {"other": other, "same": [t[0] for t in references], "always": ["好的。"] * len(other)},
        references,
        bootstrap=0,
    )
    people = evaluate({"people": [t[0] for t in several]}, [t[1:] for t in several], bootstrap=0)
    table = re.search(r"\| replies \| BLEU-4.*?\n\n", README, re.DOTALL)
    assert table is not None
    lines = [line.split("|")[2:4] for line in table[0].splitlines()[2:] if line]
    shown = [[float(cell) for cell in line] for line in lines]
    computed = [
        [of[name, metric].value for metric in ("bleu", "cider_d")]
        for of, name in (
            (scored, "same"),
            (people, "people"),
            (scored, "other"),
            (scored, "always"),
        )
    ]
    for said, is_so in zip(shown, computed):
        # To the digits shown, and a little more: the example may grow.
        assert said == pytest.approx(is_so, rel=0.3, abs=0.002)


def test_characters_are_another_ruler(tmp_path: Path) -> None:
    flags = ("--tokenizer", "char", "--metrics", "bleu", "--bootstrap", 0)
    output = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    assert f"{output.score('beam', 'bleu')['value']:.2f} in characters" in README


def test_show_and_explain_run_as_written(first: Path) -> None:
    for call in calls():
        if call[0] in ("show", "explain"):
            code, out = run(first, call)
            assert code == 0, call
            assert len(out.splitlines()) > 8
            assert "CHANGED" not in out
    shown = run(first, next(c for c in calls() if c[0] == "show"))[1]
    assert shown.startswith("| system | BLEU-4 | CIDEr-D |")


def test_the_classic_call_runs_as_written(tmp_path: Path) -> None:
    for name, lines in (
        ("outputs", ["好的，给你橡皮。", "今天会下雨。"]),
        ("refs_A", ["好，给你橡皮。", "今天有雨。"]),
        ("refs_B", ["给你。", "会下雨，带伞。"]),
        ("refs_C", ["我也没带。", "今天会下雨吧。"]),
    ):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (call,) = (c for c in calls() if c[0] == "score")
    code, out = run(tmp_path, call)
    assert code == 0
    assert re.fullmatch(r"BLEU-4: 0\.\d{4}\n", out)


def test_the_json_lines_are_read(tmp_path: Path) -> None:
    references, hypotheses = "".join(blocks("json")).splitlines()
    assert "responses" in json.loads(references)
    (tmp_path / "r.jsonl").write_text(references + "\n", "utf-8")
    (tmp_path / "h.jsonl").write_text(hypotheses + "\n", "utf-8")
    given = ["--hypotheses", str(tmp_path / "h.jsonl"), "--references", str(tmp_path / "r.jsonl")]
    ran = harness.run(given, tmp_path / "out")
    assert ran.fine().score("mine", "bleu")["segments"] == 1
    assert ran.output.counts["hypotheses.scored"] == 1


def test_the_library_does_what_is_printed_below_it() -> None:
    (code,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=harness.process_environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=harness.PATIENCE,
    )
    after = README.split(code)[1]
    printed = re.search(r"```text\n(.*?)```", after, re.DOTALL)
    assert printed is not None
    assert printed[1] == done.stdout


def help_of(name: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        command.main([name, "--help"])
    return out.getvalue()


@pytest.mark.parametrize("text", [README, OUTPUT], ids=["README.md", "output.md"])
def test_every_flag_is_one(text: str) -> None:
    known = " ".join(
        help_of(n) for n in ("evaluate", "score", "show", "explain", "compare")
    ).split()
    for flag in sorted(set(re.findall(r"--[a-z_]+", text))):
        beam = flag in ("--direct_num_workers", "--runner")
        assert beam or flag in (word.strip("[],") for word in known), flag


def test_the_flags_of_the_table_can_be_called() -> None:
    given = ["--hypotheses", "h", "--references", "r", "--output", "o"]
    rows = re.findall(r"^\| `(--[^|]*)` \|", README, re.MULTILINE)
    assert len(rows) > 8
    for row in rows:
        parts = [part for flags in row.split("`, `") for part in shlex.split(flags)]
        if parts[0] != "--config":  # of a file that is not there
            options.parse([*given, *parts])


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 3
    assert [link for link in links if not (harness.ROOT / link).exists()] == []


def test_every_column_is_described() -> None:
    names = [
        n for schema in (tables.SCORES, tables.REPLICATES, tables.REJECTED) for n in schema.names
    ]
    names += [name for name, *_ in tables.SEGMENT_KEYS]
    assert [name for name in names if f"`{name}`" not in OUTPUT] == []


def test_exit_codes_are_described_in_both() -> None:
    for code in (0, 1, 2, 3, 130):
        assert re.search(rf"^\| {code} \|", OUTPUT, re.MULTILINE)
        assert re.search(rf"\b{code}\b", README.split("Exit codes:")[1][:300])
