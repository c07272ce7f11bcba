"""Ctrl-C and SIGTERM: a run is over at once, leaves no manifest and no process, and says so."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import harness
import pytest

from pipelines import interrupts

BUSY = """
import contextlib
import os
import time
from pathlib import Path


class Busy:
    name = "busy"

    def signature(self):
        return "busy-1"

    def tokenize(self, texts):
        Path(os.environ["BUSY_MARKERS"], str(os.getpid())).touch()
        if os.environ["BUSY_HOW"] == "sleep":
            time.sleep(600)
        while True:
            pass
"""


def plugin(folder: Path) -> Path:
    """A tokenizer that says where it runs and never ends, as if it were installed there."""
    described = folder / "busy_plugin-1.0.dist-info"
    described.mkdir(parents=True)
    (folder / "busy_plugin.py").write_text(BUSY, encoding="utf-8")
    (described / "METADATA").write_text("Name: busy-plugin\nVersion: 1.0\n", encoding="utf-8")
    (described / "entry_points.txt").write_text(
        "[liangchi.tokenizers]\nbusy = busy_plugin:Busy\n", encoding="utf-8"
    )
    return folder


def living(token: str) -> list[str]:
    """The command lines of all processes that have the token in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and token.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def heed_ctrl_c() -> None:
    """A shell starts what runs in its background with SIGINT ignored, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Started:
    """A run in a session of its own whose workers are all busy."""

    def __init__(self, folder: Path, how: str, workers: int, terminal: int | None = None) -> None:
        self.token, self.output = uuid.uuid4().hex, folder / "out"
        self.temporary, self.markers = folder / "tmp", folder / "markers"
        for made in (self.temporary, self.markers):
            made.mkdir()
        environment = {
            **harness.process_environment(),
            "PYTHONPATH": harness.python_path(plugin(folder / "installed")),
            "TMPDIR": str(self.temporary),
            "BUSY_MARKERS": str(self.markers),
            "BUSY_HOW": how,
            "TOKEN": self.token,
        }
        flags = ["--output", str(self.output), "--tokenizer", "busy", "--partitions", "8"]
        if workers:
            flags += [
                "--direct_running_mode=multi_processing",
                f"--direct_num_workers={workers}",
            ]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pipelines.evaluate", *harness.CHAT_INPUTS.flags(), *flags],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if terminal is None else terminal,
            start_new_session=True,
            preexec_fn=heed_ctrl_c,
        )
        start = time.monotonic()
        while self.process.poll() is None and time.monotonic() < start + harness.PATIENCE:
            self.start_took = time.monotonic() - start
            if len(list(self.markers.iterdir())) >= max(workers, 1):
                return
            time.sleep(0.02)
        self.kill()
        raise AssertionError(f"the run did not get going: {self.process.communicate()}")

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self, number: int, group: bool) -> tuple[str, str]:
        """Send the signal; what was said.

        On a machine that has nothing else to do that takes two seconds at most, and the start took
        about three; here other tests run beside. The run itself would go on for minutes.
        """
        start = time.monotonic()
        if group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        try:
            out, err = self.process.communicate(timeout=harness.PATIENCE)
            assert time.monotonic() - start < max(5.0, self.start_took)
        finally:
            left = living(self.token)
            if left:
                self.kill()
        assert left == []
        return out.decode(), (err or b"").decode()

    def check(self, out: str) -> None:
        assert self.process.returncode == 130
        assert out == ""
        assert [p.name for p in self.output.iterdir()] == ["_liangchi.json"]
        assert list(self.temporary.glob("liangchi-*")) == []


@pytest.mark.parametrize(
    ("number", "group", "how", "workers"),
    [
        (signal.SIGINT, True, "loop", 0),
        (signal.SIGTERM, False, "sleep", 0),
        (signal.SIGINT, True, "sleep", 2),
        (signal.SIGTERM, False, "loop", 2),
    ],
)
def test_a_stopped_run_is_over_at_once_and_leaves_no_process(
    tmp_path: Path, number: int, group: bool, how: str, workers: int
) -> None:
    started = Started(tmp_path, how, workers)
    assert len(living(started.token)) > workers
    out, err = started.stop(number, group)
    started.check(out)
    assert err == (
        f"liangchi: stopped: the run is incomplete, {started.output} holds no manifest.\n"
        "Run it again with --overwrite, or delete the folder.\n"
    )


def test_a_stopped_run_gives_the_terminal_back(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    shown: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(ours, shown))
    reader.start()
    started = Started(tmp_path, "sleep", 0, terminal=theirs)
    os.close(theirs)
    end = time.monotonic() + harness.PATIENCE
    while b"joining" not in b"".join(shown) and time.monotonic() < end:
        time.sleep(0.05)
    out, _ = started.stop(signal.SIGINT, group=True)
    started.check(out)
    reader.join(timeout=harness.PATIENCE)
    os.close(ours)
    said = b"".join(shown)
    assert b"joining and cutting" in said
    # The cursor was hidden, and was shown again after that.
    assert 0 <= said.rfind(b"\x1b[?25l") < said.rfind(b"\x1b[?25h")
    assert b"stopped: the run is incomplete" in said


def read_all(terminal: int, into: list[bytes]) -> None:
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(terminal, 65536):
            into.append(part)


def test_a_terminal_that_takes_no_output_keeps_no_run(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    started = Started(tmp_path, "sleep", 0, terminal=theirs)
    os.close(theirs)
    time.sleep(2)  # nobody reads: the display fills the terminal's buffer and waits
    out, _ = started.stop(signal.SIGINT, group=True)
    started.check(out)
    os.close(ours)


def test_a_run_that_is_stopped_before_it_begins_says_so(tmp_path: Path) -> None:
    waiting = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from pipelines import command, options\n"
        "def parse(arguments):\n"
        "    Path(sys.argv[3]).touch()\n"
        "    time.sleep(600)\n"
        "options.parse = parse\n"
        "command.main()\n"
    )
    marker = tmp_path / "marker"
    process = subprocess.Popen(
        [sys.executable, "-c", waiting, "evaluate", "x", str(marker)],
        env=harness.process_environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )
    end = time.monotonic() + harness.PATIENCE
    while not marker.exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=harness.PATIENCE)
    assert err == "liangchi: stopped before anything was written.\n"
    assert process.returncode == 130


def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    # As nohup and the background jobs of a shell without job control do.
    call = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from pipelines import interrupts\n"
        "with interrupts.watched():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)\n"
        "    print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)\n"
        "print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", call],
        env=harness.process_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=harness.PATIENCE,
    )
    assert done.stdout.split() == ["True", "False", "True"]


@pytest.mark.parametrize("died", [False, True])
def test_only_a_worker_that_died_and_of_which_nothing_comes_is_lost(
    monkeypatch: pytest.MonkeyPatch, died: bool
) -> None:
    monkeypatch.setattr(interrupts, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(interrupts, "_LOST_SECONDS", 0.02)
    lost = threading.Event()
    with interrupts.workers_watched(lambda: died, lost.set):
        assert lost.wait(harness.PATIENCE if died else 0.2) == died
