"""How far a run is: what workers append, what is made of it, and what is shown where."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import harness
import pytest

from pipelines import logs, progress
from transforms import progress as ticks
from transforms.progress import FREQUENCIES, JOIN, READ, RESAMPLE, SCORE, STAGES, WRITE

# What workers append


def test_without_a_file_that_is_named_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ticks.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    ticks.tick(READ, 3)
    # Nor does it make one: it is gone when the command is.
    monkeypatch.setenv(ticks.VARIABLE, str(tmp_path / "none"))
    ticks.tick(READ, 3)
    monkeypatch.setenv(ticks.VARIABLE, str(tmp_path))
    ticks.tick(READ, 3)
    assert list(tmp_path.iterdir()) == []


def test_records_of_many_processes_are_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ticks"
    path.touch()
    monkeypatch.setenv(ticks.VARIABLE, str(path))
    call = (
        "from transforms import progress\n"
        "for i in range(500):\n"
        "    progress.tick(progress.STAGES[i % 6], i, onward=2 * i)\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", call], env=harness.process_environment())
        for _ in range(4)
    ]
    assert [worker.wait() for worker in workers] == [0] * 4
    found = list(ticks.records(path.read_bytes()))
    assert sorted(found) == sorted((STAGES[i % 6], i, 2 * i) for i in range(500) for _ in range(4))


def test_half_a_record_waits_for_its_other_half(tmp_path: Path) -> None:
    path = tmp_path / "ticks"
    path.touch()
    os.environ[ticks.VARIABLE] = str(path)
    try:
        ticks.tick(READ, 1)
        ticks.tick(JOIN, 2, onward=3)
    finally:
        del os.environ[ticks.VARIABLE]
    data = path.read_bytes()
    shown: list[list[progress.Line]] = []
    display = Recorder(shown)
    path.write_bytes(data[:30])
    watch = progress.Watch(str(path), progress.Tally(1, 0, 1, time.monotonic()), display)
    watch.refresh()
    assert [line.done for line in shown[-1]] == [1, 0, 0, 0, 0]
    path.write_bytes(data)
    watch.close()
    assert [line.done for line in shown[-1]] == [1, 2, 0, 0, 0]
    assert display.closed == 1


class Recorder:
    def __init__(self, into: list[list[progress.Line]]) -> None:
        self._into, self.closed = into, 0

    def show(self, lines: list[progress.Line]) -> None:
        self._into.append(list(lines))

    def close(self) -> None:
        self.closed += 1


# What is made of it


def line(tally: progress.Tally, stage: str, now: float) -> progress.Line:
    (found,) = (one for one in tally.lines(now) if one.stage == stage)
    return found


def test_rows_share_and_time_left_by_the_rate_of_the_stage() -> None:
    tally = progress.Tally(rows=1000, buckets=4, passes=5, start=100.0)
    assert line(tally, READ, 100.0) == progress.Line(READ, "rows", 0, 1000, None)
    tally.add(READ, 250, 240, 110.0)
    found = line(tally, READ, 110.0)
    assert (found.done, found.total, found.share, found.seconds_left) == (250, 1000, 0.25, 30.0)
    # Time goes on between two ticks.
    assert line(tally, READ, 115.0).seconds_left == 25.0
    assert line(tally, READ, 500.0).seconds_left == 0.0
    # Nothing is known of later stages yet.
    assert line(tally, JOIN, 110.0).total is None
    tally.add(READ, 750, 700, 140.0)
    assert line(tally, READ, 140.0).seconds_left == 0.0
    # 940 rows were accepted; joining began when reading ended.
    tally.add(JOIN, 470, 600, 150.0)
    found = line(tally, JOIN, 150.0)
    assert (found.total, found.share, found.seconds_left) == (940, 0.5, 10.0)
    tally.add(JOIN, 470, 600, 160.0)
    assert line(tally, FREQUENCIES, 160.0) == progress.Line(FREQUENCIES, "parts", 0, 4, None)
    for second in range(4):
        tally.add(FREQUENCIES, 1, 0, 161.0 + second)
    # Scoring, resampling and writing take turns, from the end of the document frequencies on.
    tally.add(SCORE, 300, 0, 165.0)
    tally.add(RESAMPLE, 1500, 0, 166.0)
    tally.add(WRITE, 300, 0, 168.0)
    found = line(tally, SCORE, 168.0)
    assert (found.done, found.total, found.seconds_left) == (300, 1200, 0.0)
    found = line(tally, RESAMPLE, 168.0)
    assert (found.done, found.total, found.share, found.seconds_left) == (300, 1200, 0.25, 4.0)
    assert line(tally, WRITE, 168.0).seconds_left == 12.0


def test_estimated_rows_are_put_right_when_all_are_read() -> None:
    tally = progress.Tally(rows=1000, buckets=0, passes=1, start=0.0)
    tally.add(READ, 400, 400, 1.0)
    assert line(tally, READ, 1.0).share == 0.4
    tally.add(JOIN, 100, 100, 2.0)  # there were but 400
    assert (line(tally, READ, 2.0).total, line(tally, READ, 2.0).share) == (400, 1.0)
    assert line(tally, JOIN, 2.0).total == 400
    # More than there should be, as when a bundle is done twice, is no more than all.
    tally.add(JOIN, 700, 700, 3.0)
    assert line(tally, JOIN, 3.0).share == 1.0


def test_unknown_totals_have_rows_but_no_share_and_no_time() -> None:
    tally = progress.Tally(rows=None, buckets=0, passes=1, start=0.0)
    tally.add(READ, 400, 400, 1.0)
    found = line(tally, READ, 1.0)
    assert (found.done, found.total, found.share, found.seconds_left) == (400, None, None, None)
    assert [one.stage for one in tally.lines(1.0)] == [READ, JOIN, SCORE, RESAMPLE, WRITE]


def test_nothing_to_do_is_done() -> None:
    tally = progress.Tally(rows=0, buckets=0, passes=1, start=0.0)
    assert line(tally, READ, 1.0).share == 1.0
    assert (line(tally, READ, 1.0).seconds_left, line(tally, SCORE, 1.0).share) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.2, "1 s"), (59.4, "59 s"), (60, "1 min"), (3570, "1 h 0 min"), (5400, "1 h 30 min")],
)
def test_times_are_for_people(seconds: float, shown: str) -> None:
    assert progress.duration(seconds) == shown


def test_cells_of_the_display() -> None:
    found = progress.cells(progress.Line(READ, "rows", 12_345, 100_000, 90.0))
    assert found == {"rows": "12,345 of 100,000 rows", "share": "12%", "left": "about 2 min left"}
    found = progress.cells(progress.Line(READ, "rows", 7, None, None))
    assert found == {"rows": "7 rows", "share": "", "left": ""}
    found = progress.cells(progress.Line(JOIN, "rows", 9, 9, 0.0))
    assert found == {"rows": "9 of 9 rows", "share": "100%", "left": "done"}
    found = progress.cells(progress.Line(JOIN, "rows", 0, 9, None))
    assert found == {"rows": "", "share": "", "left": ""}


def test_events_come_when_the_stage_changes_and_every_few_seconds() -> None:
    stream, clock = io.StringIO(), [0.0]
    events = progress.Events(logs.Log(stream, as_json=True), clock=lambda: clock[0])
    tally = progress.Tally(rows=100, buckets=0, passes=1, start=0.0)
    events.show(tally.lines(0.0))  # nothing has begun
    for second in range(1, 13):
        clock[0] = float(second)
        tally.add(READ, 5, 5, float(second))
        events.show(tally.lines(float(second)))
    clock[0] = 12.5
    tally.add(READ, 40, 40, 12.5)
    tally.add(JOIN, 50, 50, 12.5)
    events.show(tally.lines(12.5))
    found = [json.loads(text) for text in stream.getvalue().splitlines()]
    assert [(e["stage"], e["done"]) for e in found] == [
        (READ, 5),
        (READ, 30),
        (READ, 55),
        (JOIN, 50),
    ]
    assert found[1]["share"] == 0.3
    assert found[1]["seconds_left"] == 14.0
    assert {e["event"] for e in found} == {"progress"}


# What is shown where


def test_all_rows_are_told_of_whatever_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ticks"
    for flags in (
        ["--direct_running_mode=in_memory", "--direct_num_workers=1"],
        ["--direct_running_mode=in_memory", "--direct_num_workers=2"],
        ["--direct_running_mode=multi_processing", "--direct_num_workers=2"],
    ):
        path.write_bytes(b"")
        monkeypatch.setenv(ticks.VARIABLE, str(path))
        more = ("--bootstrap", 300, "--partitions", 3, "--replicate_groups", 2, *flags)
        ran = harness.run(harness.CHAT_INPUTS, tmp_path / "".join(flags)[24:], *more).fine()
        monkeypatch.delenv(ticks.VARIABLE)
        tally = progress.Tally(rows=None, buckets=1, passes=ticks.PASSES, start=0.0)
        for stage, rows, onward in ticks.records(path.read_bytes()):
            tally.add(stage, rows, onward, 1.0)
        read = sum(entry["rows"] for entry in ran.manifest["inputs"])
        segments = len(ran.segments)
        assert [(one.stage, one.done, one.total) for one in tally.lines(2.0)] == [
            (READ, read, read),
            (JOIN, read, read),
            (FREQUENCIES, 1, 1),
            (SCORE, segments, segments),
            (RESAMPLE, segments, segments),
            (WRITE, segments, segments),
        ]


class OnTerminal:
    """A run whose stderr is a terminal."""

    def __init__(self, output: Path, *flags: str) -> None:
        ours, theirs = pty.openpty()
        shown: list[bytes] = []

        def read() -> None:
            try:
                while part := os.read(ours, 65536):
                    shown.append(part)
            except OSError:  # the other end is closed
                pass

        reader = threading.Thread(target=read)
        reader.start()
        given = [*harness.CHAT_INPUTS.flags(), "--output", str(output), *flags]
        done = subprocess.run(
            [sys.executable, "-m", "pipelines.evaluate", *given],
            env={**harness.process_environment(), "TERM": "xterm", "COLUMNS": "120"},
            stdout=subprocess.PIPE,
            stderr=theirs,
            timeout=harness.PATIENCE,
        )
        os.close(theirs)
        reader.join(timeout=harness.PATIENCE)
        os.close(ours)
        self.code, self.stdout = done.returncode, done.stdout.decode()
        self.stderr = b"".join(shown).decode()


def test_a_terminal_shows_stages_and_is_left_as_it_was(tmp_path: Path) -> None:
    ran = OnTerminal(tmp_path / "out", "--bootstrap", "3000")
    assert ran.code == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", ran.stderr)
    for stage in (READ, JOIN, FREQUENCIES, SCORE, RESAMPLE, WRITE):
        assert stage in text
    assert "1,440 of 1,440 rows" in text
    assert "100%" in text
    # The cursor is shown again, and what was drawn is wiped away.
    assert ran.stderr.rfind("\x1b[?25l") < ran.stderr.rfind("\x1b[?25h")
    assert "\x1b[2K" in ran.stderr
    assert "WARNING" not in text
    assert ran.stdout.splitlines()[-1] == str(tmp_path / "out")


def test_a_terminal_shows_nothing_if_it_shall_be_quiet(tmp_path: Path) -> None:
    ran = OnTerminal(tmp_path / "out", "--bootstrap", "20", "--quiet")
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == str(tmp_path / "out")


@pytest.mark.parametrize("workers", [0, 1])
def test_nothing_is_said_where_nobody_looks(tmp_path: Path, workers: int) -> None:
    more = ["--partitions", 4, "--direct_running_mode=multi_processing"]
    flags = [*more, f"--direct_num_workers={workers}"] if workers else []
    inputs, output = harness.CHAT_INPUTS, tmp_path / "out"
    clouds = harness.WITH_CLOUDS  # they may have something to say too
    ran = harness.run_process(inputs, output, "--bootstrap", 20, *flags, environment=clouds)
    assert ran.fine()
    # Beam, its workers and Python's warnings say a lot otherwise.
    assert ran.stderr == ""


def test_json_lines_tell_progress_warnings_and_errors(tmp_path: Path) -> None:
    flags = ("--bootstrap", 20, "--log_json")
    ran = harness.run_process(harness.CHAT_INPUTS, tmp_path / "out", *flags)
    ran.fine()
    events = [json.loads(text) for text in ran.stderr.splitlines()]
    assert all({"time", "level", "event"} <= set(event) for event in events)
    stages = [event["stage"] for event in events if event["event"] == "progress"]
    assert stages and stages == sorted(stages, key=STAGES.index)

    quiet = harness.run_process(harness.CHAT_INPUTS, tmp_path / "quiet", *flags, "--quiet")
    events = [json.loads(text) for text in quiet.stderr.splitlines()]
    # What Beam warns of depends on what is installed beside it.
    assert {event["event"] for event in events} <= {"log"}

    bad = harness.run_process(harness.CHAT_INPUTS, tmp_path / "out", "--log_json")
    (event,) = (json.loads(text) for text in bad.stderr.splitlines()[-1:])
    assert (bad.code, event["event"], event["level"]) == (2, "message", "error")
    assert "already holds" in event["message"]


def test_a_display_that_fails_fails_no_run(tmp_path: Path) -> None:
    class Failing:
        def show(self, lines: object) -> None:
            raise ValueError("on purpose")

        def close(self) -> None:
            raise ValueError("on purpose")

    before = dict(os.environ)
    with progress.shown(Failing(), progress.Tally(1, 0, 1, 0.0), []):
        path = os.environ[ticks.VARIABLE]
        assert oct(os.stat(path).st_mode & 0o777) == "0o600"
        ticks.tick(READ, 1)
        time.sleep(0.6)
    assert dict(os.environ) == before
    assert not Path(path).exists()
