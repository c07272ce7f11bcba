"""Segments of finished runs, put together again by example: statistics, no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring.evaluation import EXAMPLES, MISSING, StatisticsLayout
from scoring.joining import Examples
from scoring.segments import Layout

Ints = npt.NDArray[np.int64]

SLICE = "slice_"
"""How the columns of slices are called in the table of segments."""


@dataclass(frozen=True)
class Segments:
    """Rows of one run. places: system -> where its sums are to stand."""

    rows: pa.Table
    places: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class JoinedRuns:
    """Examples that all runs have, their statistics [examples, places, k], and counts."""

    examples: Examples
    per_example: Ints
    counts: Mapping[str, int]


def columns(layout: StatisticsLayout, slices: Sequence[str]) -> list[str]:
    """What is read of the segments."""
    statistics = [name for name in layout.names if name not in layout.COUNTS]
    fixed = ["example_id", "system", "missing", "unit"]
    return [*fixed, *(SLICE + name for name in slices), *statistics]


def join_runs(
    layout: StatisticsLayout, runs: Sequence[Segments], slices: Sequence[str], places: int
) -> JoinedRuns:
    """Join the rows of runs by example.

    counts: ``examples.both``; ``examples.only.N`` of the run N alone; ``units.differ`` and
    ``slices.NAME.differ``: examples that the runs do not agree on, where the first run's is taken.
    """
    wanted = [
        run.rows.filter(pc.is_in(run.rows.column("system"), pa.array([*run.places], pa.string())))
        for run in runs
    ]
    own = [_strings(rows, "example_id").unique() for rows in wanted]
    common = own[0]
    for ids in own[1:]:
        common = common.filter(pc.is_in(common, ids))
    common = common.take(pc.sort_indices(common))
    n = len(common)
    counts = {"examples.both": n}
    statistics = np.zeros((n, places, len(layout.names)), np.int64)
    units = np.zeros(n, np.uint64)
    values: dict[str, pa.Array] = {}
    for number, (run, rows) in enumerate(zip(runs, wanted)):
        counts[f"examples.only.{number}"] = len(own[number]) - n
        example = pc.index_in(_strings(rows, "example_id"), common).fill_null(-1)
        place = example.to_numpy().astype(np.int64)
        rows, place = rows.filter(pa.array(place >= 0)), place[place >= 0]
        _add(statistics, layout, rows, place, run.places)
        first = np.zeros(n, np.int64)
        first[place[::-1]] = np.arange(len(place))[::-1]
        of_example = rows.take(pa.array(first))
        theirs = of_example.column("unit").to_numpy()
        of_slice = {name: _strings(of_example, SLICE + name) for name in slices}
        if number == 0:
            units, values = theirs, of_slice
            continue
        counts["units.differ"] = int(np.count_nonzero(units != theirs))
        for name in slices:
            same = pc.sum(pc.equal(values[name], of_slice[name])).as_py() or 0
            if same < n:
                counts[f"slices.{name}.differ"] = n - same
    none = np.zeros(0, np.int32)
    examples = Examples(
        example_id=common,
        slices=values,
        units=units.astype(np.uint64),
        layout=Layout(np.ones(n, np.int64), np.zeros(n, np.int64)),
        system=none,
        sample=none,
        filled=np.zeros(0, np.bool_),
        absent=statistics[:, :, layout.column(EXAMPLES)] == 0,
    )
    return JoinedRuns(examples, statistics, counts)


def _add(
    statistics: Ints,
    layout: StatisticsLayout,
    rows: pa.Table,
    example: Ints,
    places: Mapping[str, Sequence[int]],
) -> None:
    """Add the rows of every system at its places; samples of one example add up."""
    names = [name for name in layout.names if name not in layout.COUNTS]
    numbers = [layout.column(name) for name in names]
    if not len(rows):
        return
    values = np.stack([rows.column(name).to_numpy() for name in names], axis=1)
    missing = rows.column("missing").to_numpy()
    system = rows.column("system")
    for name, of_system in places.items():
        chosen = np.flatnonzero(pc.equal(system, name).to_numpy())
        for place in of_system:
            at = example[chosen]
            part = np.zeros((len(statistics), len(names)), np.int64)
            np.add.at(part, at, values[chosen])
            statistics[:, place, numbers] += part
            statistics[at, place, layout.column(EXAMPLES)] = 1
            statistics[at[missing[chosen]], place, layout.column(MISSING)] = 1


def _strings(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], pa.string())
