"""How long the stages take, told beside what they make and added up for the manifest."""

from __future__ import annotations

import time
from collections.abc import Mapping

TOOK = "took"
"""Kind of packet, and key in a packet's meta: counts of ``stage`` for the account."""

_PREFIX = "microseconds."


class Stopwatch:
    """Counts from when it is made."""

    def __init__(self) -> None:
        self._start = time.monotonic_ns()

    def lap(self) -> int:
        """Microseconds since the last lap. What others do while a generator waits is left out by a
        lap after every yield."""
        now = time.monotonic_ns()
        took, self._start = now - self._start, now
        return took // 1000


def count(stage: str) -> str:
    """The name of a stage's microseconds among the counts."""
    return _PREFIX + stage


def apart(counts: Mapping[str, int]) -> tuple[dict[str, int], dict[str, float]]:
    """The counts that are the same in every run, and the seconds of each stage, which are not."""
    same = {name: n for name, n in counts.items() if not name.startswith(_PREFIX)}
    took = {name.removeprefix(_PREFIX): n / 1e6 for name, n in counts.items() if name not in same}
    return same, took
