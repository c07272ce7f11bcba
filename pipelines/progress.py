"""What a local run shows of itself on a terminal, or says as JSON lines: stage, rows, share, time
left. transforms/progress.py is the other end."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pipelines.logs import Log
from transforms.progress import (
    FREQUENCIES,
    JOIN,
    READ,
    RESAMPLE,
    STAGES,
    VARIABLE,
    records,
    whole,
)

_REFRESH_SECONDS = 0.25
_EVENT_SECONDS = 5.0


@dataclass(frozen=True)
class Line:
    """How far one stage is. unit: what is counted; total, seconds_left: None if not known."""

    stage: str
    unit: str
    done: int
    total: int | None
    seconds_left: float | None

    @property
    def share(self) -> float | None:
        """From 0 to 1."""
        if self.total is None:
            return None
        return min(1.0, self.done / self.total) if self.total else 1.0


class Tally:
    """Adds up ticks. Times are given, so that it can be tested without a clock.

    rows: of the input, None if not known before it is read; buckets: of document frequencies, 0 if
    no metric asks for them; passes: how often the resampling goes over every row.
    """

    def __init__(self, rows: int | None, buckets: int, passes: int, start: float) -> None:
        self._rows, self._buckets, self._passes = rows, buckets, passes
        self._start = start
        self._done = dict.fromkeys(STAGES, 0)
        self._onward = dict.fromkeys(STAGES, 0)
        self._began: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def add(self, stage: str, rows: int, onward: int, now: float) -> None:
        """Count one tick."""
        if stage not in self._began:
            # A stage began when the last one before it ended, as far as any has.
            ended = [self._last[s] for s in _before(stage) if s in self._last and self._complete(s)]
            self._began[stage] = max([self._start, *ended])
        self._done[stage] += rows
        self._onward[stage] += onward
        self._last[stage] = now

    def _total(self, stage: str) -> int | None:
        if stage == READ:
            # Rows of some formats are only estimated before; no row is joined before all are read.
            return self._done[READ] if self._later_than(READ) else self._rows
        if stage == JOIN:
            if self._later_than(JOIN):
                return self._done[JOIN]
            return self._onward[READ] if self._complete(READ) else None
        if stage == FREQUENCIES:
            return self._buckets
        rows = self._onward[JOIN] if self._complete(JOIN) else None
        return rows * self._passes if rows is not None and stage == RESAMPLE else rows

    def _later_than(self, stage: str) -> bool:
        """Whether a later stage has begun."""
        return any(s in self._began for s in STAGES[STAGES.index(stage) + 1 :])

    def _complete(self, stage: str) -> bool:
        total = self._total(stage)
        return total is not None and self._done[stage] >= total

    def lines(self, now: float) -> list[Line]:
        """All stages, in order; those that this run has not are left out."""
        return [self._line(stage, now) for stage in STAGES if stage != FREQUENCIES or self._buckets]

    def _line(self, stage: str, now: float) -> Line:
        done, total = self._done[stage], self._total(stage)
        left: float | None = None
        if total is not None and done >= total and (stage in self._last or total == 0):
            left = 0.0
        elif total is not None and done:
            elapsed = self._last[stage] - self._began[stage]
            left = max(0.0, elapsed * (total - done) / done - (now - self._last[stage]))
        unit = "parts" if stage == FREQUENCIES else "rows"
        if stage == RESAMPLE:
            done //= self._passes
            total = None if total is None else total // self._passes
        return Line(stage, unit, done, total, left)


def _before(stage: str) -> Sequence[str]:
    return STAGES[: STAGES.index(stage)]


class Display(Protocol):
    """Shows lines whenever it is told to."""

    def show(self, lines: Sequence[Line]) -> None:
        """Show how far the run is."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Terminal:
    """Bars on a terminal that disappear when the run is over."""

    def __init__(self) -> None:
        # Late: only a terminal needs it.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[rows]}", markup=False, justify="right"),
            TextColumn("{task.fields[share]}", markup=False, justify="right"),
            TextColumn("{task.fields[left]}", markup=False),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._tasks: dict[str, Any] = {}
        self._progress.start()

    def show(self, lines: Sequence[Line]) -> None:
        for line in lines:
            if line.stage not in self._tasks:
                self._tasks[line.stage] = self._progress.add_task(
                    line.stage, total=None, start=False, rows="", share="", left=""
                )
            shown = cells(line)
            self._progress.update(
                self._tasks[line.stage],
                total=line.total or 1,
                completed=(line.share or 0.0) * (line.total or 1),
                rows=shown["rows"],
                share=shown["share"],
                left=shown["left"],
            )
        self._progress.refresh()

    def close(self) -> None:
        self._progress.stop()


def cells(line: Line) -> dict[str, str]:
    """A line as texts: rows, share and time left."""
    rows = f"{line.done:,} of {line.total:,}" if line.total is not None else f"{line.done:,}"
    begun = line.done > 0 or line.seconds_left == 0.0
    share = f"{int(100 * line.share)}%" if begun and line.share is not None else ""
    left = ""
    if line.seconds_left == 0.0 and line.share == 1.0:
        left = "done"
    elif line.seconds_left is not None:
        left = f"about {duration(line.seconds_left)} left"
    return {"rows": f"{rows} {line.unit}" if begun else "", "share": share, "left": left}


def duration(seconds: float) -> str:
    """A time for people."""
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{max(1, whole_seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Events:
    """JSON lines: one when the stage changes, then one every few seconds."""

    def __init__(self, log: Log, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._stage, self._next = "", 0.0

    def show(self, lines: Sequence[Line]) -> None:
        begun = [line for line in lines if line.done]
        if not begun:
            return
        # Stages of one row overlap: the last that has begun and is not done says most.
        running = [line for line in begun if line.seconds_left != 0.0]
        line = (running or begun)[-1]
        now = self._clock()
        if line.stage == self._stage and now < self._next:
            return
        self._stage, self._next = line.stage, now + _EVENT_SECONDS
        share = None if line.share is None else round(line.share, 4)
        left = None if line.seconds_left is None else round(line.seconds_left, 1)
        self._log.event(
            "progress",
            stage=line.stage,
            unit=line.unit,
            done=line.done,
            total=line.total,
            share=share,
            seconds_left=left,
        )

    def close(self) -> None:
        return


class Watch:
    """A thread that reads what the workers append and tells the display."""

    def __init__(self, path: str, tally: Tally, display: Display) -> None:
        self._path, self._tally, self._display = path, tally, display
        self._read = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(_REFRESH_SECONDS):
            # Whatever happens to the display, the run goes on.
            with contextlib.suppress(Exception):
                self.refresh()

    def refresh(self) -> None:
        """Read what is new and show it."""
        with self._lock:
            if self._closed.is_set():
                return
            now = time.monotonic()
            with open(self._path, "rb") as file:
                file.seek(self._read)
                data = file.read()
            self._read += whole(len(data))
            for stage, rows, onward in records(data):
                self._tally.add(stage, rows, onward, now)
            self._display.show(self._tally.lines(now))

    def close(self) -> None:
        """Show the last state and leave the terminal as it was."""
        with contextlib.suppress(Exception):
            self.refresh()
        self._closed.set()
        with self._lock, contextlib.suppress(Exception):
            self._display.close()


@contextlib.contextmanager
def shown(
    display: Display | None, tally: Tally, cleanups: list[Callable[[], None]]
) -> Iterator[None]:
    """While this is open, workers of this machine say how far they are, and the display shows it.

    cleanups: what must be done if the process is stopped meanwhile is added here.
    """
    if display is None:
        yield
        return
    handle, path = tempfile.mkstemp(prefix="liangchi-progress-")
    os.close(handle)

    def remove() -> None:
        with contextlib.suppress(OSError):
            os.unlink(path)

    watch = Watch(path, tally, display)
    cleanups += [remove, watch.close]
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = path
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
        watch.close()
        remove()
