"""Nights: the script for cron and the DAG of Airflow, and runs that are started twice."""

from __future__ import annotations

import ast
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import harness
import pytest

from pipelines import options
from pipelines import output as folders
from pipelines.settings import BY_KEY
from schemas.errors import OutputError
from transforms import folder

NIGHTLY = harness.ROOT / "examples" / "nightly"

SLOW = """
import os
import time
from pathlib import Path

from scoring.text.tokenizers.blanks import BlankTokenizer


class Slow:
    name = "slow"

    def signature(self):
        return "slow-1"

    def tokenize(self, texts):
        Path(os.environ["MARKER"]).touch()
        while not Path(os.environ["GO"]).exists():
            time.sleep(0.05)
        return BlankTokenizer().tokenize(texts)
"""


def program(path: Path, text: str) -> Path:
    """A program that the script may call."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


class Night:
    """A place for nights: inputs, a configuration, a command liangchi that can be held up."""

    def __init__(self, place: Path) -> None:
        self.place, self.runs = place, place / "runs"
        self.marker, self.go = place / "marker", place / "go"
        inputs = harness.write_inputs(
            place / "dumps" / "2026-12-01",
            harness.hypotheses_table([(f"e{i}", "s", 0, f"a b c {i}") for i in range(4)]),
            harness.references_table([(f"e{i}", ["a b c d"]) for i in range(4)]),
        )
        self.config = place / "quick.toml"
        self.config.write_text(
            f'hypotheses = ["{inputs.hypotheses}"]\nreferences = ["{inputs.references}"]\n'.replace(
                "2026-12-01", "DATE"
            )
            + 'tokenizer = "slow"\nbootstrap = 0\nbeam = ["--direct_running_mode=in_memory"]\n',
            encoding="utf-8",
        )
        described = place / "installed" / "slow_plugin-1.0.dist-info"
        described.mkdir(parents=True)
        (place / "installed" / "slow_plugin.py").write_text(SLOW, encoding="utf-8")
        (described / "METADATA").write_text("Name: slow-plugin\nVersion: 1.0\n", encoding="utf-8")
        (described / "entry_points.txt").write_text(
            "[liangchi.tokenizers]\nslow = slow_plugin:Slow\n", encoding="utf-8"
        )
        command = program(
            place / "liangchi", f'#!/bin/sh\nexec {sys.executable} -m pipelines.command "$@"\n'
        )
        self.environment = {
            **harness.process_environment(),
            "PYTHONPATH": harness.python_path(described.parent),
            "LIANGCHI": str(command),
            "STATE": str(place),
            "PAUSE": "0",
            "MARKER": str(self.marker),
            "GO": str(self.go),
        }

    @property
    def output(self) -> Path:
        return self.runs / "2026-12-01" / "quick"

    def start(self) -> subprocess.Popen[str]:
        """The script, in a session of its own."""
        call = [str(NIGHTLY / "nightly.sh"), str(self.config), str(self.runs), "2026-12-01"]
        return self._popen(call)

    def evaluate(self, *flags: str) -> subprocess.Popen[str]:
        """The command, on the same folder."""
        settings = self.config.read_text(encoding="utf-8").replace("DATE", "2026-12-01")
        (self.place / "settings.toml").write_text(settings, encoding="utf-8")
        flags = ("--config", str(self.place / "settings.toml"), *flags)
        call = [sys.executable, "-m", "pipelines.evaluate", "--output", str(self.output), *flags]
        return self._popen(call)

    def _popen(self, call: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            call,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_until_busy(self, process: subprocess.Popen[str]) -> None:
        end = time.monotonic() + harness.PATIENCE
        while not self.marker.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.05)


def over(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """(exit code, stdout, stderr)."""
    out, err = process.communicate(timeout=harness.PATIENCE)
    return process.returncode, out, err


def test_the_script_for_cron_may_be_started_twice(tmp_path: Path) -> None:
    night = Night(tmp_path)
    first = night.start()
    night.wait_until_busy(first)
    assert over(night.start()) == (0, "", f"{night.output}: being done by another start\n")
    # Whoever calls the command itself is told too, with --overwrite or without.
    refused = over(night.evaluate("--overwrite"))
    assert refused[0] == 2
    assert "another run is writing into this folder" in refused[2]
    refused = over(night.evaluate())
    assert refused[0] == 2
    assert "already holds '_liangchi.json' (a run that is going on)" in refused[2]
    night.go.touch()
    code, out, err = over(first)
    assert (code, err) == (0, "")
    assert out.endswith(f"{night.output}\n")
    assert harness.Output(night.output).manifest["run_id"] == "quick-2026-12-01"
    before = (night.output / "manifest.json").stat()
    assert over(night.start()) == (0, f"{night.output}: done already\n", "")
    assert (night.output / "manifest.json").stat() == before


def test_a_night_whose_driver_was_killed_is_done_again(tmp_path: Path) -> None:
    night = Night(tmp_path)
    first = night.start()
    night.wait_until_busy(first)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert [path.name for path in night.output.iterdir()] == [folder.MARKER]
    # Without --overwrite it is refused, and said why.
    code, _, err = over(night.evaluate())
    assert code == 2
    assert "(a run that was stopped)" in err
    night.go.touch()
    assert over(night.start())[0] == 0
    assert harness.Output(night.output).counts["hypotheses.scored"] == 4


def test_the_script_tries_again_what_may_pass_and_nothing_else(tmp_path: Path) -> None:
    night = Night(tmp_path)
    tries = tmp_path / "tries"
    fake = program(
        tmp_path / "fake",
        f'#!/bin/sh\n[ "$1" = show ] && exit 2\necho "$@" >> {tries}\n'
        f'exit $(sed -n "$(wc -l < {tries})p" {tmp_path / "codes"})\n',
    )
    night.environment["LIANGCHI"] = str(fake)
    for codes, times, code in (
        ([4, 1, 0], 3, 0),
        ([4, 4, 4, 0], 3, 4),
        ([2, 0], 1, 2),
        ([3, 0], 1, 3),
        ([0], 1, 0),
    ):
        tries.unlink(missing_ok=True)
        (tmp_path / "codes").write_text("\n".join(map(str, codes)) + "\n", encoding="utf-8")
        assert over(night.start()) == (code, "", "")
        calls = tries.read_text(encoding="utf-8").splitlines()
        assert len(calls) == times
        assert f"--output {night.output} --run_id quick-2026-12-01 --overwrite" in calls[0]


def test_the_script_overwrites_nothing_that_it_cannot_look_at(tmp_path: Path) -> None:
    night = Night(tmp_path)
    # The store is down, and then the night turns out to be done.
    fake = program(
        tmp_path / "fake",
        f'#!/bin/sh\necho "$1" >> {tmp_path / "calls"}\n[ "$1" = show ] || exit 9\n'
        f"[ $(wc -l < {tmp_path / 'calls'}) -gt 1 ] || exit 4\n",
    )
    night.environment["LIANGCHI"] = str(fake)
    done = f"{night.output}: done already\n"
    assert over(night.start()) == (0, done, f"{night.output}: cannot be looked at (exit code 4)\n")
    assert (tmp_path / "calls").read_text(encoding="utf-8").split() == ["show", "show"]


FAKE = """#!/bin/sh
command=$1
while [ $# -gt 1 ]; do [ "$1" = --output ] && output=$2; shift; done
[ "$command" = show ] && { [ -e "$1/manifest.json" ] && exit 0 || exit 2; }
touch "$MARKER"
while [ ! -e "$GO" ]; do sleep 0.05; done
mkdir -p "$output" && echo "$output" > "$output/manifest.json"
"""
"""Stands for liangchi where only the script is tried."""


@pytest.fixture
def fake_night(tmp_path: Path) -> Night:
    night = Night(tmp_path)
    night.environment["LIANGCHI"] = str(program(tmp_path / "fake", FAKE))
    return night


def test_nights_of_one_name_in_two_folders_do_not_wait_for_each_other(fake_night: Night) -> None:
    night, outputs = fake_night, [fake_night.output]
    first = night.start()
    night.wait_until_busy(first)
    night.runs = night.place / "other"
    second = night.start()
    night.go.touch()
    assert over(first) == over(second) == (0, "", "")
    assert all((output / "manifest.json").exists() for output in [*outputs, night.output])


def test_a_run_that_outlives_its_script_is_left_alone(fake_night: Night) -> None:
    night = fake_night
    first = night.start()
    night.wait_until_busy(first)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert over(night.start()) == (0, "", f"{night.output}: being done by another start\n")
    night.go.touch()
    first.communicate(timeout=harness.PATIENCE)  # the run is over
    assert over(night.start()) == (0, f"{night.output}: done already\n", "")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ((), "usage"),
        (("one.toml",), "usage"),
        (("{config}", "runs", "1/12/2026"), "expected YYYY-MM-DD"),
        (("nowhere.toml", "runs"), "no such file"),
    ],
)
def test_a_wrong_call_of_the_script_is_said(
    tmp_path: Path, call: tuple[str, ...], said: str
) -> None:
    night = Night(tmp_path)
    arguments = [one.format(config=night.config) for one in call]
    code, _, err = over(night._popen([str(NIGHTLY / "nightly.sh"), *arguments]))
    assert code == 2
    assert said in err
    assert not list(tmp_path.glob("liangchi-*"))


def test_of_two_runs_that_start_together_one_is_done(tmp_path: Path) -> None:
    night = Night(tmp_path)
    night.go.touch()
    started = [night.evaluate(), night.evaluate()]
    ended = [over(process) for process in started]
    assert sorted(code for code, _, _ in ended) == [0, 2]
    (message,) = (err for code, _, err in ended if code == 2)
    assert "--output" in message
    assert harness.Output(night.output).counts["hypotheses.scored"] == 4


def test_a_folder_is_held_until_it_is_released(tmp_path: Path) -> None:
    output = str(tmp_path / "out")
    folders.claim(output, token="one")
    with pytest.raises(OutputError, match="another run is writing into this folder"):
        folders.claim(output, overwrite=True, token="two")
    marker = (tmp_path / "out" / folder.MARKER).read_text(encoding="utf-8")
    assert '"run": "one"' in marker
    folders.release(output)
    folders.release(output)
    folders.claim(output, overwrite=True, token="two")
    assert '"run": "two"' in (tmp_path / "out" / folder.MARKER).read_text(encoding="utf-8")
    folders.release(output)


# The examples are what the command takes


def test_the_configuration_of_the_example_is_one() -> None:
    found = options.load(str(NIGHTLY / "nightly.toml"))
    assert found["hypotheses"] == ("s3://evaluation/dumps/DATE/hypotheses/",)
    options.call({**{key: s.default for key, s in BY_KEY.items()}, **found, "output": "x"})


def test_the_dag_names_options_that_there_are() -> None:
    tree = ast.parse((NIGHTLY / "airflow_dag.py").read_text(encoding="utf-8"))
    compile(tree, "airflow_dag.py", "exec")
    (given,) = (
        keyword.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "pipeline_options"
    )
    assert isinstance(given, ast.Dict)
    keys = {key.value for key in given.keys if isinstance(key, ast.Constant)}
    assert {"hypotheses", "references", "output", "run_id"} <= keys
    assert keys - {"config"} <= set(BY_KEY)
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in modules if name and name.startswith("airflow")} == {
        "airflow",
        "airflow.providers.apache.beam.operators.beam",
        "airflow.providers.standard.operators.bash",  # Airflow 3 has it nowhere else
    }
    try:
        importlib.import_module("airflow")
    except ImportError:
        return
    exec(compile(tree, "airflow_dag.py", "exec"), {})  # where Airflow is installed it is loaded too
