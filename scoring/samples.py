"""Several replies to one query: the score of each sample index alone, and how far the replies of a
query lie apart.

Variances and ranges are rounded to 2^-32 before they are added, so that sums are the same in every
order; sums hold for some 10^8 queries of metrics up to 10.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scoring import ragged
from scoring.evaluation import StatisticsLayout
from scoring.joining import Examples
from scoring.metrics.base import SEGMENTS

Ints = npt.NDArray[np.int64]

MOST_INDICES = 100
"""Sample indices from here on have no score of their own."""

MOST_WORST = 20
"""Queries that are named, of every system and metric."""

_ONE = 1 << 32

QUERIES, VARIANCE, RANGE, ABOVE = range(4)
"""What ``Spread.totals`` holds of every system and metric."""

WORST = pa.schema(
    {
        "system": pa.int32(),
        "metric": pa.int32(),
        "range": pa.int64(),
        "example_id": pa.string(),
        "samples": pa.int32(),
        "variance": pa.int64(),
        "lowest": pa.float64(),
        "highest": pa.float64(),
    }
)


@dataclass(frozen=True)
class Spread:
    """What several replies to one query tell; of parts of the examples it adds up.

    totals: [systems, metrics, 4]: queries with two defined scores or more, the sums of their
        variances and ranges (in 2^-32), how many ranges lie above the limit.
    indices: [m] ascending; by_index: [m, systems, k], statistics of the samples of that index.
    beyond: [systems], samples whose index is too large.
    worst: rows of ``WORST``, by system, metric, falling range, id.
    """

    totals: Ints
    indices: Ints
    by_index: Ints
    beyond: Ints
    worst: pa.Table


def spread(layout: StatisticsLayout, segments: Ints, examples: Examples, limit: float) -> Spread:
    """The spread in a batch. segments: [hypotheses, k]; limit: of the range of a query."""
    systems = examples.absent.shape[1]
    cell = examples.layout.example_of_hypothesis * systems + examples.system
    totals = np.zeros((systems, len(layout.metrics), 4), np.int64)
    worst = [WORST.empty_table()]
    rows = _of_several(cell)
    for number, metric in enumerate(layout.metrics if len(rows) else ()):
        values = metric.segment_score(segments[rows][:, layout.columns(metric)])
        defined = rows[~np.isnan(values)]
        values = values[~np.isnan(values)]
        kept = _of_several(cell[defined])
        found = _queries(cell[defined[kept]], values[kept], number, systems, examples.example_id)
        range_ = found.column("range").to_numpy()
        above = range_ > round(limit * _ONE)
        variance = found.column("variance").to_numpy()
        of_query = np.stack([np.ones_like(range_), variance, range_, above], axis=1)
        np.add.at(totals[:, number], found.column("system").to_numpy(), of_query)
        worst.append(found)
    counted = examples.sample < MOST_INDICES
    indices, place = np.unique(examples.sample[counted], return_inverse=True)
    by_index = np.zeros((len(indices), systems, segments.shape[1]), np.int64)
    np.add.at(by_index, (place, examples.system[counted]), segments[counted])
    beyond = np.bincount(examples.system[~counted], minlength=systems).astype(np.int64)
    return Spread(totals, indices.astype(np.int64), by_index, beyond, _worst(worst))


def _of_several(cell: Ints) -> Ints:
    """The rows whose cell has another row too; equal cells stand together."""
    if not len(cell):
        return np.zeros(0, np.int64)
    alike = cell[1:] == cell[:-1]
    return np.flatnonzero(np.append(alike, False) | np.append(False, alike))


def _queries(
    cell: Ints, values: npt.NDArray[np.float64], metric: int, systems: int, ids: pa.Array
) -> pa.Table:
    """A row of ``WORST`` for every cell. Every cell has two values or more."""
    if not len(cell):
        return WORST.empty_table()
    starts = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    sizes = ragged.sizes_of(starts, len(cell))
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    mean = np.add.reduceat(values, starts) / sizes
    apart = values - np.repeat(mean, sizes)
    variance = np.add.reduceat(apart * apart, starts) / (sizes - 1)
    first = cell[starts]
    return pa.table(
        {
            "system": first % systems,
            "metric": np.full(len(starts), metric),
            "range": _fixed(high - low),
            "example_id": ids.take(pa.array(first // systems)),
            "samples": sizes,
            "variance": _fixed(variance),
            "lowest": low,
            "highest": high,
        }
    ).cast(WORST)


def _fixed(values: npt.NDArray[np.float64]) -> Ints:
    return np.rint(values * _ONE).astype(np.int64)


def _worst(parts: Sequence[pa.Table]) -> pa.Table:
    """The queries whose replies lie farthest apart, of every system and metric."""
    table = pa.concat_tables(parts).combine_chunks()
    keys = [("system", "ascending"), ("metric", "ascending")]
    ordered = table.sort_by([*keys, ("range", "descending"), ("example_id", "ascending")])
    place = np.arange(len(ordered))
    system, metric = (ordered.column(name).to_numpy() for name, _ in keys)
    new = np.ones(len(ordered), np.bool_)
    new[1:] = (system[1:] != system[:-1]) | (metric[1:] != metric[:-1])
    rank = place - np.maximum.accumulate(np.where(new, place, 0))
    named = (rank < MOST_WORST) & (ordered.column("range").to_numpy() > 0)
    return ordered.filter(pa.array(named)).combine_chunks()


def merge(parts: Iterable[Spread]) -> Spread:
    """The spread of all parts, of which there is one at least."""
    found = list(parts)
    indices = np.unique(np.concatenate([part.indices for part in found]))
    by_index = np.zeros((len(indices), *found[0].by_index.shape[1:]), np.int64)
    for part in found:
        by_index[np.searchsorted(indices, part.indices)] += part.by_index
    return Spread(
        np.sum([part.totals for part in found], axis=0),
        indices,
        by_index,
        np.sum([part.beyond for part in found], axis=0),
        _worst([part.worst for part in found]),
    )


def rows(
    found: Spread, layout: StatisticsLayout, systems: Sequence[str], limit: float
) -> list[dict[str, Any]]:
    """A row for every metric of the systems that have several samples of some query."""
    result = []
    for i, system in enumerate(systems):
        if not found.totals[i, :, QUERIES].any():
            continue
        own = found.by_index[found.by_index[:, i, layout.column(SEGMENTS)] > 0, i]
        for j, metric in enumerate(layout.metrics):
            beyond = int(found.beyond[i])
            of_index = metric.score(own[:, layout.columns(metric)])
            scores = [] if beyond else of_index[~np.isnan(of_index)].tolist()
            queries, variance, range_, above = found.totals[i, j].tolist()
            notes = [
                f"{beyond:,} samples have an index of {MOST_INDICES} or more" if beyond else "",
                "" if queries else "no query has two samples of which it is defined",
            ]
            result.append(
                {
                    "system": system,
                    "metric": metric.name,
                    "queries": queries,
                    "samples": len(own),
                    "mean_over_samples": math.fsum(scores) / len(scores) if scores else None,
                    "lowest_sample": min(scores, default=None),
                    "highest_sample": max(scores, default=None),
                    "variance": variance / (queries * _ONE) if queries else None,
                    "range": range_ / (queries * _ONE) if queries else None,
                    "limit": limit,
                    "above": above / queries if queries else None,
                    "scale": metric.scale,
                    "note": "; ".join(note for note in notes if note),
                }
            )
    return result


def worst_rows(
    found: Spread, layout: StatisticsLayout, systems: Sequence[str]
) -> list[dict[str, Any]]:
    """The queries that are named, with their ranks from 1."""
    result = []
    rank: dict[tuple[int, int], int] = {}
    for row in found.worst.to_pylist():
        key = row["system"], row["metric"]
        rank[key] = rank.get(key, 0) + 1
        result.append(
            {
                **row,
                "system": systems[row["system"]],
                "metric": layout.metrics[row["metric"]].name,
                "rank": rank[key],
                "range": row["range"] / _ONE,
                "variance": row["variance"] / _ONE,
            }
        )
    return result
