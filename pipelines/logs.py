"""What others say while a job runs (Beam, its workers, warnings): kept off the terminal, kept for
the report of a failure, and written as JSON lines if that was asked for."""

from __future__ import annotations

import collections
import contextlib
import json
import logging
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from typing import IO, TextIO

_KEPT_RECORDS = 300
_KEPT_BYTES = 60_000
_CHARACTERS_OF_A_RECORD = 4_000


class Log(logging.Handler):
    """The last records of the run, and its own events.

    as_json: to write every one as a line of JSON on ``stream`` too.
    """

    def __init__(self, stream: TextIO | None, as_json: bool) -> None:
        super().__init__()
        self._stream, self.as_json = stream, as_json
        self._records: collections.deque[str] = collections.deque(maxlen=_KEPT_RECORDS)
        self._output: IO[bytes] | None = None
        self.secrets: Sequence[str] = ()
        """Values that are left out of every text."""
        self.errors: list[str] = []
        """First lines of the records of level ERROR and above."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            if record.exc_info:
                text += "\n" + logging.Formatter().formatException(record.exc_info)
        except Exception:  # a record that cannot be formatted
            text = repr(record.msg)
        text = self.hide(text)
        text = text[:_CHARACTERS_OF_A_RECORD]
        self._records.append(f"{record.levelname} {record.name}: {text}")
        if record.levelno >= logging.ERROR:
            self.errors.append(text.splitlines()[0] if text else record.name)
        self.event("log", record.levelname.lower(), logger=record.name, message=text)

    def hide(self, text: str) -> str:
        """The text without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "...")
        return text

    def event(self, event: str, level: str = "info", **fields: object) -> None:
        """Write one line of JSON, if lines of JSON are wanted."""
        if not self.as_json or self._stream is None:
            return
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z"
        line = {"time": stamp, "level": level, "event": event, **fields}
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(json.dumps(line) + "\n")
            self._stream.flush()

    def keep_output(self, output: IO[bytes]) -> None:
        """Where workers write what they say past the logging."""
        self._output = output

    def text(self) -> str:
        """All that is kept, for a report."""
        parts = list(self._records)
        if self._output is not None:
            with contextlib.suppress(OSError, ValueError):
                end = os.fstat(self._output.fileno()).st_size
                start = max(0, end - _KEPT_BYTES)
                tail = os.pread(self._output.fileno(), _KEPT_BYTES, start)
                parts += ["", "Output of workers:", tail.decode("utf-8", "replace")]
        return self.hide("\n".join(parts))


def _log_thread(failed: threading.ExceptHookArgs) -> None:
    """One of Beam's threads ended by an exception: Python would print it."""
    name = failed.thread.name if failed.thread else "?"
    error = failed.exc_value or failed.exc_type()
    logging.getLogger("threads").error("thread %s failed: %r", name, error, exc_info=error)


@contextlib.contextmanager
def kept(as_json: bool) -> Iterator[Log]:
    """While this is open, records of all loggers and all warnings go to the log only."""
    log = Log(sys.stderr, as_json)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = [log]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    of_threads = threading.excepthook
    threading.excepthook = _log_thread
    try:
        yield log
    finally:
        threading.excepthook = of_threads
        logging.captureWarnings(False)
        root.handlers[:] = handlers
        root.setLevel(level)


@contextlib.contextmanager
def own_stderr() -> Iterator[IO[bytes] | None]:
    """While this is open, only this module's ``sys.stderr`` reaches the terminal.

    File descriptor 2, to which worker processes and C libraries write, leads to a temporary file,
    which is yielded. For a process that is ours alone.
    """
    before = sys.stderr
    try:
        saved = os.dup(2)
    except OSError:  # closed by the caller
        yield None
        return
    with tempfile.TemporaryFile(prefix="liangchi-") as file:
        encoding = getattr(before, "encoding", None) or "utf-8"
        stream = os.fdopen(saved, "w", encoding=encoding, errors="backslashreplace", buffering=1)
        before.flush()
        os.dup2(file.fileno(), 2)
        sys.stderr = stream
        try:
            yield file
        finally:
            sys.stderr = before
            stream.flush()
            os.dup2(stream.fileno(), 2)
            stream.close()
