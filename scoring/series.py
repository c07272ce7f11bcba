"""Checkpoints of one system in the order of their steps: does it still get better?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MARK = "@"
"""Stands between a system and its step in the name that it is scored by."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """A system at a step, and the name that it is scored by."""

    system: str
    step: str

    @property
    def name(self) -> str:
        return f"{self.system}{MARK}{self.step}"


def checkpoint(name: str) -> Checkpoint:
    """The inverse of ``Checkpoint.name``: a step never holds the mark."""
    system, _, step = name.rpartition(MARK)
    return Checkpoint(system, step)


def _order(step: str) -> tuple[float, str]:
    """Steps that are numbers by size, before all others."""
    try:
        value = float(step)
    except ValueError:
        value = math.inf
    return (value if math.isfinite(value) else math.inf, step)


def ordered(names: Iterable[str]) -> dict[str, list[str]]:
    """system -> the names of its checkpoints in the order of their steps."""
    found: dict[str, list[str]] = {}
    places = sorted((c.system, _order(c.step), name) for name in names for c in [checkpoint(name)])
    for system, _, name in places:
        found.setdefault(system, []).append(name)
    return found


def successive(names: Iterable[str]) -> list[tuple[str, str]]:
    """(checkpoint, the one before it) of all systems."""
    return [pair for of_system in ordered(names).values() for pair in zip(of_system[1:], of_system)]


def best(scores: Sequence[Row]) -> dict[tuple[str, str, str, str], str]:
    """(system, slice, slice_value, metric) -> the name of its best checkpoint, of equals the
    first. scores: as ``evaluation.Score`` has them."""
    names = ordered({row["system"] for row in scores})
    place = {name: i for of_system in names.values() for i, name in enumerate(of_system)}
    found: dict[tuple[str, str, str, str], Row] = {}
    for row in sorted(scores, key=lambda row: place[row["system"]]):
        system = checkpoint(row["system"]).system
        key = (system, row["slice"], row["slice_value"], row["metric"])
        if row["value"] is None:
            continue
        if key not in found or row["value"] > found[key]["value"]:
            found[key] = row
    return {key: row["system"] for key, row in found.items()}


def to_best(scores: Sequence[Row]) -> list[tuple[str, str, str]]:
    """(metric, checkpoint, the best of its system) of one slice, the best ones left out."""
    return [
        (row["metric"], row["system"], top)
        for (system, _, _, metric), top in best(scores).items()
        for row in scores
        if row["metric"] == metric
        and checkpoint(row["system"]).system == system
        and row["system"] != top
    ]


def series(
    scores: Sequence[Row],
    previous: Sequence[Row],
    beside: Sequence[Row],
    adjusted: Mapping[tuple[str, str], float | None],
    falls: int,
) -> list[dict[str, Any]]:
    """A row for every checkpoint, slice and metric, in the order of steps.

    scores: as ``evaluation.Score`` has them; previous, beside: differences to the checkpoint
    before and to the best one, as ``comparisons.Difference`` has them, by one test. adjusted:
    (metric, checkpoint) -> p to the best one that knows that it was chosen.
    falls: after how many falls in a row (of the score; whether a fall counts as significant is in
    its p) a row is marked: ``stop`` is true in the first such row of a series.
    """
    before = {_key(row): row for row in previous}
    best_beside = {_key(row): row for row in beside}
    of_series: dict[tuple[str, str, str, str], dict[str, Row]] = {}
    for row in scores:
        key = (row["slice"], row["slice_value"], row["metric"], checkpoint(row["system"]).system)
        of_series.setdefault(key, {})[row["system"]] = row
    best_of = best(scores)
    result = []
    for (name, value, metric, system), rows in of_series.items():
        fallen, stopped = 0, False
        for number in ordered(rows)[system]:
            row = rows[number]
            key = (name, value, metric, number)
            last, top = before.get(key), best_beside.get(key)
            falls_here = last is not None and (last["difference"] or 0.0) < 0
            fallen = fallen + 1 if falls_here else 0
            stop = fallen >= falls and not stopped
            stopped |= stop
            result.append(
                {
                    "system": system,
                    "step": checkpoint(number).step,
                    "slice": name,
                    "slice_value": value,
                    "metric": metric,
                    "value": row["value"],
                    "ci_low": row["ci_low"],
                    "ci_high": row["ci_high"],
                    **_prefixed("previous", last),
                    **_prefixed("best", top),
                    "best_p_adjusted": adjusted.get((metric, number)),
                    "is_best": best_of.get((system, name, value, metric)) == number,
                    "falls": fallen,
                    "stop": stop,
                }
            )
    return result


def _key(row: Row) -> tuple[str, str, str, str]:
    return (row["slice"], row["slice_value"], row["metric"], row["system"])


def _prefixed(prefix: str, row: Row | None) -> dict[str, Any]:
    names = ("difference", "ci_low", "ci_high", "p_value")
    return {f"{prefix}_{name}": None if row is None else row[name] for name in names}
