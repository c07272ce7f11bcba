"""Whether all rooms come from one place, before anything of them is imported."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import harness
import pytest

from pipelines import rooms


def test_nothing_is_shadowed_here_and_the_look_is_cheap() -> None:
    start = time.thread_time()
    assert rooms.shadowed() is None
    assert time.thread_time() - start < 0.1


def call_with(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, found where it is, with another folder before it for everything else."""
    start = (
        "import sys\n"
        f"sys.path.insert(0, {str(harness.ROOT)!r})\n"
        "from pipelines.command import main\n"
        f"sys.path.insert(0, {str(path)!r})\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    return subprocess.run(
        [sys.executable, "-c", start, *arguments],
        cwd=path,
        env={**os.environ, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=harness.PATIENCE,
    )


@pytest.mark.parametrize("room", ["schemas", "transforms", "scoring", "runners"])
@pytest.mark.parametrize("kind", ["package", "module"])
def test_what_stands_in_the_way_of_a_room_is_named(tmp_path: Path, room: str, kind: str) -> None:
    code = "raise AssertionError('imported')\n"
    if kind == "package":
        other = tmp_path / room
        other.mkdir()
        (other / "__init__.py").write_text(code, encoding="utf-8")
    else:
        other = tmp_path / f"{room}.py"
        other.write_text(code, encoding="utf-8")
    done = call_with(tmp_path, "evaluate", "--help")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("liangchi: other code stands in the way of a part of liangchi:\n")
    assert f"  {room}: {other}, expected {harness.ROOT / room}\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert "environment of its own" in done.stderr
    # Only what is shadowed is named.
    assert done.stderr.count("expected") == 1


def test_a_folder_that_is_no_package_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    done = call_with(tmp_path, "--help")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_room_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "ROOMS", (*rooms.ROOMS, "liangchi_cellar"))
    said = rooms.shadowed()
    assert said is not None
    assert "liangchi_cellar: is not there, expected" in said
