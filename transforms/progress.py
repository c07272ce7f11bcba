"""How far a local run is. Whoever has done some rows appends a record of 24 bytes to a file that
the command watches; a worker keeps nothing and starts no thread.

Off unless the environment names that file, which the command does for a local run that somebody
looks at: never on a cluster. What is counted here is shown and forgotten: the counts of a run
come from its data (transforms/accounts.py).
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator

VARIABLE = "LIANGCHI_PROGRESS"

READ = "reading"
JOIN = "joining and cutting"
FREQUENCIES = "document frequencies"
SCORE = "scoring"
RESAMPLE = "resampling"
WRITE = "writing"

STAGES = (READ, JOIN, FREQUENCIES, SCORE, RESAMPLE, WRITE)
"""In the order in which they begin."""

PASSES = 100
"""How often resampling counts a row: once for every hundredth of its draws."""

_RECORD = struct.Struct("<QQQ")
_NUMBERS = {stage: number for number, stage in enumerate(STAGES)}


def tick(stage: str, rows: int, onward: int = 0) -> None:
    """Say that ``rows`` more rows of a stage are done, of which came ``onward`` for the next."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    # A run must not fail because nobody can be told how far it is.
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(handle, _RECORD.pack(_NUMBERS[stage], rows, onward))
        finally:
            os.close(handle)


def records(data: bytes) -> Iterator[tuple[str, int, int]]:
    """(stage, rows, onward) of every whole record."""
    whole = len(data) - len(data) % _RECORD.size
    for number, rows, onward in _RECORD.iter_unpack(data[:whole]):
        if number < len(STAGES):
            yield STAGES[number], rows, onward


def whole(size: int) -> int:
    """How many of so many bytes are whole records."""
    return size - size % _RECORD.size
