"""Ctrl-C and SIGTERM: the process and all its workers are gone within two seconds, whatever they
are doing, and the user is told what is left.

Python runs a signal handler only between two steps of the main thread, and Beam's local runner
takes its time to stop. So a thread waits for the signal instead, and ends the process itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

STOPPED = 130
"""The exit code of a run that was stopped."""

_PATIENCE_SECONDS = 1.5
_FAREWELL_SECONDS = 0.3

_LOST_SECONDS = 8.0
"""How long a job may take to fail once a worker has died."""

_LOOK_SECONDS = 0.5


class Interrupts:
    """What to do when the process is told to stop.

    message: says what is left behind, and say tells it; cleanups: quick, called before that.
    """

    def __init__(self) -> None:
        self.message: Callable[[], str] = lambda: "stopped."
        self.say: Callable[[str], None] = lambda text: None
        self.cleanups: list[Callable[[], None]] = []
        self._stopping = threading.Event()

    def hold(self) -> None:
        """Wait for the end if the process is being stopped: what fails now fails because of it."""
        if self._stopping.is_set():
            time.sleep(2 * _PATIENCE_SECONDS)

    def stop(self) -> None:
        """End this process and all that it started."""
        self._stopping.set()
        # Not even a terminal that takes no more output keeps the process.
        patience = threading.Timer(_PATIENCE_SECONDS, _end)
        patience.daemon = True
        patience.start()
        for cleanup in self.cleanups:
            with contextlib.suppress(Exception):
                cleanup()
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            self.say(self.message())
        _end()


def _end() -> None:
    end_children()
    os._exit(STOPPED)


@contextlib.contextmanager
def watched() -> Iterator[Interrupts]:
    """While this is open, SIGINT and SIGTERM stop the process. For the main thread of a process
    that is ours alone."""
    interrupts = Interrupts()
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signals = (signal.SIGINT, signal.SIGTERM)
    # One that was ignored by whoever started us (nohup, a shell's background job) stays ignored.
    signals_taken = [s for s in signals if signal.getsignal(s) is not signal.SIG_IGN]
    before = {s: signal.signal(s, _do_nothing) for s in signals_taken}
    wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def wait() -> None:
        while data := os.read(reader, 1):
            if data[0] in signals_taken:
                interrupts.stop()

    threading.Thread(target=wait, name="interrupts", daemon=True).start()
    try:
        yield interrupts
    finally:
        interrupts.hold()
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writer)  # ends the thread; it leaves the other end open, which is no matter


@contextlib.contextmanager
def workers_watched(died: Callable[[], bool], lost: Callable[[], None]) -> Iterator[None]:
    """While this is open: if a worker process has died and nothing has come of it some seconds
    later, ``lost`` is called. Beam's local runner waits for ever for a worker that dies in the last
    stage of a job. Workers that end well are none of that, however slowly a busy machine goes on.
    """
    over = threading.Event()

    def look() -> None:
        missed: float | None = None
        while not over.wait(_LOOK_SECONDS):
            if missed is None and died():
                missed = time.monotonic()
            if missed is not None and time.monotonic() - missed > _LOST_SECONDS:
                lost()
                return

    threading.Thread(target=look, name="workers", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """The thread that waits does it all."""


def end_children() -> None:
    """Kill all processes below this one, and wait for their end for a moment."""
    deadline = time.monotonic() + _FAREWELL_SECONDS
    while (below := _descendants()) and time.monotonic() < deadline:
        for process in below:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _descendants() -> list[int]:
    """The living processes below this one, the nearest first."""
    children: dict[int, list[int]] = {}
    for process, parent in _processes():
        children.setdefault(parent, []).append(process)
    found: list[int] = []
    level = [os.getpid()]
    while level:
        level = [child for parent in level for child in children.get(parent, [])]
        found += level
    return found


def _processes() -> Iterator[tuple[int, int]]:
    """(process, its parent) of all that live."""
    proc = Path("/proc")
    if not (proc / "self" / "stat").exists():
        yield from _processes_by_ps()
        return
    for entry in proc.iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            # The name in parentheses may hold anything.
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                yield int(entry.name), int(parent)


def _processes_by_ps() -> Iterator[tuple[int, int]]:
    # S603 warns of calls that a user has a say in: this one is fixed.
    call = ["/bin/ps", "-A", "-o", "pid=,ppid=,stat="]
    with (
        contextlib.suppress(OSError, ValueError),
        subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as ps,  # noqa: S603
    ):
        for line in ps.communicate()[0].splitlines():
            process, parent, state = line.split()[:3]
            if not state.startswith("Z") and int(process) != ps.pid:
                yield int(process), int(parent)
