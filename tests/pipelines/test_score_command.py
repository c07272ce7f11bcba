"""``liangchi score``: the classic call, its lines, and what it leaves behind."""

from __future__ import annotations

import json
import re
import stat
import tempfile
from pathlib import Path

import harness
import pytest

from pipelines import command, score


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """The chat example as lines of text."""
    sources = sorted((harness.CHAT / "source").glob("*.jsonl"))
    rows = [json.loads(line) for path in sources for line in path.open(encoding="utf-8")]
    for system in ("greedy", "beam"):
        lines = "\n".join(row[system] for row in rows)
        (tmp_path / f"{system}.txt").write_text(lines, encoding="utf-8")
    for kind in "ABC":
        lines = "".join(row["references"][kind] + "\r\n" for row in rows)
        (tmp_path / f"refs_{kind}.txt").write_bytes(lines.encode("utf-8"))
    return tmp_path


def references(folder: Path, ending: str = ".txt") -> list[str]:
    return ["--references", *(str(folder / f"refs_{kind}{ending}") for kind in "ABC")]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_classic_call_prints_a_line_that_is_the_score_of_evaluate(
    texts: Path, temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--tokenizer", "jieba", "--weights", "0.1", "0.2", "0.3", "0.4", "--bootstrap", "1000"]
    given = ["--hypothesis", str(texts / "greedy.txt"), *references(texts), *more]
    assert command.main(["score", *given]) == 0
    said = capsys.readouterr()
    assert re.fullmatch(r"BLEU-4: 0\.\d{4} \[0\.\d{4}, 0\.\d{4}\]\n", said.out)
    assert said.err == ""
    assert list(temporary.iterdir()) == []

    output = harness.run(harness.CHAT_INPUTS, texts / "out", *more).fine()
    row = output.score("greedy", "bleu")
    assert said.out.startswith(f"BLEU-4: {row['value']:.4f} [")
    # The ids differ, and with them the resampling; the texts and their order are the same.
    kept = texts / "kept"
    assert command.main(["score", *given, "--output", str(kept)]) == 0
    segments = harness.Output(kept).segments
    assert len(segments) == 240
    assert harness.Output(kept).score("greedy", "bleu")["value"] == pytest.approx(
        row["value"], rel=1e-12
    )
    assert segments.column("example_id")[0].as_py() == "001"


def test_metrics_scale_and_kinds_of_output_are_those_of_evaluate(
    texts: Path, temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--hypothesis", str(texts / "greedy.txt"), *references(texts), "--bootstrap", "0"]
    metrics = ["--metrics", "bleu", "cider_d"]
    assert command.main(["score", *given, *metrics, "--scale", "100"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"BLEU-4: \d\d\.\d\d", first)
    assert re.fullmatch(r"CIDEr-D: \d\.\d{4}", second)
    assert command.main(["score", *given, "--print", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["scores"]
    assert row["system"] == "greedy"


def test_several_systems_and_files_without_endings(
    texts: Path, temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in "ABC":
        (texts / f"refs_{kind}.txt").rename(texts / f"refs_{kind}.gold")
    given = ["--hypothesis", str(texts / "greedy.txt"), str(texts / "beam.txt")]
    more = ["--bootstrap", "0", "--tokenizer", "char"]
    assert command.main(["score", *given, *references(texts, ".gold"), *more]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["beam", "greedy"]


def test_what_is_to_be_minded_goes_to_stderr(
    tmp_path: Path, temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "o.txt").write_text("a b\n")
    given = ["--hypothesis", str(tmp_path / "o.txt"), "--references", str(tmp_path / "o.txt")]
    assert command.main(["score", *given, "--tokenizer", "none"]) == 0
    said = capsys.readouterr()
    assert said.out == "BLEU-4: 0.0000\n"
    assert "too few units" in said.err
    # Of a text that is not there nothing can be said.
    (tmp_path / "r.txt").write_text("<PAD>\n")
    given[-1] = str(tmp_path / "r.txt")
    assert command.main(["score", *given, "--null_text", "<PAD>"]) == 3
    said = capsys.readouterr()
    assert said.out == "BLEU-4: undefined\n"
    assert "nothing was scored" in said.err
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--references", "nowhere.txt"], "nowhere.txt: matches no file"),
        (["--references", "SHORT"], "as many lines as each other"),
        (["--weights", "0.5"], "sum 1"),
        (["--hypothesis"], "expected at least one argument"),
        (["--output", "INPUT"], "--output"),
    ],
)
def test_wrong_calls_leave_nothing_behind(
    texts: Path,
    temporary: Path,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    says: str,
) -> None:
    (texts / "short.txt").write_text("x\n")
    names = {"SHORT": str(texts / "short.txt"), "INPUT": str(texts)}
    given = ["--hypothesis", str(texts / "greedy.txt"), *references(texts)]
    assert command.main(["score", *given, *(names.get(m, m) for m in more)]) == 2
    assert says in capsys.readouterr().err
    assert list(temporary.iterdir()) == []


def test_the_folder_is_for_nobody_else(texts: Path, temporary: Path) -> None:
    given = ["--hypothesis", str(texts / "greedy.txt"), *references(texts)]
    cleanups: list[object] = []
    with score.called(given, cleanups) as call:  # type: ignore[arg-type]
        (folder,) = temporary.iterdir()
        assert call.config.output == str(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "file").write_text("x")
    assert list(temporary.iterdir()) == []
    # What a signal would call.
    with score.called(given, cleanups) as call:  # type: ignore[arg-type]
        cleanups[-1]()  # type: ignore[operator]
        assert list(temporary.iterdir()) == []
