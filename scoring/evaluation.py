"""From tokens to scores with intervals: the steps that the library and the job share.

A batch of examples -> ``partition_statistics`` -> [examples, systems, k] integers, additive.
``slice_sums`` adds them per slice, as they are and weighted for every replicate.
``finish`` turns the sums of one slice into scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scoring import document_frequencies, hashing
from scoring.joining import Examples
from scoring.metrics.base import SEGMENTS, Scorer
from scoring.metrics.tracks import OnTrack, Tracks, sources
from scoring.segments import SegmentTokens
from scoring.statistics.draws import Block, block_sums
from scoring.statistics.intervals import percentile_interval

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

EXAMPLES = "examples"
MISSING = "missing"

OVERALL = ("overall", "")
"""The slice (name, value) that holds every example."""


@dataclass(frozen=True)
class StatisticsLayout:
    """Which column of a statistics array belongs to which metric.

    The first columns are counts: examples and missing hypotheses; then the statistics of the
    metrics, each name once. Raises ValueError if two metrics have one name.

    metrics: those that are scored: of the main track, ``OnTrack`` or ``Combination``.
    """

    metrics: tuple[Scorer, ...]

    COUNTS = (EXAMPLES, MISSING)

    def __post_init__(self) -> None:
        names = [metric.name for metric in self.metrics]
        if len(set(names)) < len(names):
            raise ValueError(f"metrics must have different names, not {names}")
        sources(self.metrics)

    @cached_property
    def sources(self) -> tuple[OnTrack, ...]:
        """The metrics that are counted, those that only a combination names among them."""
        return sources(self.metrics)

    @cached_property
    def tracks(self) -> tuple[str, ...]:
        """The tracks that are counted."""
        return tuple(dict.fromkeys(source.track for source in self.sources))

    @cached_property
    def document_orders(self) -> dict[str, int]:
        """track -> the highest order of document frequencies that a metric of it needs; tracks
        that need none are not there."""
        orders: dict[str, int] = {}
        for source in self.sources:
            if source.metric.document_order:
                most = orders.get(source.track, 0)
                orders[source.track] = max(most, source.metric.document_order)
        return orders

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        named = dict.fromkeys([*self.COUNTS, SEGMENTS])
        for metric in self.metrics:
            named.update(dict.fromkeys(metric.statistics))
        return tuple(named)

    def columns(self, metric: Scorer) -> list[int]:
        """The columns of one metric, in its own order."""
        return [self.names.index(name) for name in metric.statistics]

    def column(self, name: str) -> int:
        """The column of that name."""
        return self.names.index(name)

    def segment_statistics(self, tracks: Tracks) -> Ints:
        """The statistics of every hypothesis: [hypotheses, k]; the counts are left 0."""
        layout = next(iter(tracks.values())).layout
        statistics = np.zeros((len(layout.text_of_hypothesis), len(self.names)), np.int64)
        statistics[:, self.column(SEGMENTS)] = 1
        for source in self.sources:
            counted = source.metric.segment_statistics(tracks[source.track])
            statistics[:, self.columns(source)] = counted
        return statistics

    def per_example(self, segments: Ints, examples: Examples) -> Ints:
        """Sums over the samples of a system: [examples, systems, k], the counts filled in."""
        shape = (*examples.absent.shape, len(self.names))
        result = np.zeros((shape[0] * shape[1], shape[2]), np.int64)
        cell = examples.layout.example_of_hypothesis * shape[1] + examples.system
        first = np.ones(len(cell), np.bool_)
        first[1:] = cell[1:] != cell[:-1]
        starts = np.flatnonzero(first)
        if len(starts):
            result[cell[starts]] = np.add.reduceat(segments, starts, axis=0)
            result[cell[starts], self.column(EXAMPLES)] = 1
        result = result.reshape(shape)
        result[..., self.column(MISSING)] = examples.absent
        return result


def document_buckets(
    tokens: SegmentTokens, order: int, buckets: int
) -> document_frequencies.Buckets:
    """The n-grams of a batch up to an order, cut into so many buckets."""
    hashes = [of_order.hashes for of_order in tokens.ngrams(order)]
    return document_frequencies.Buckets.of(hashes, buckets)


def document_requests(
    tokens: SegmentTokens, asked: document_frequencies.Buckets
) -> tuple[document_frequencies.Request, ...]:
    """Ask every bucket for the document frequencies of the n-grams of a batch."""
    counts = []
    for n, of_order in enumerate(tokens.ngrams(len(asked.hashes)), start=1):
        # References stand first in a group: one whose first text is a reference counts.
        first = tokens.groups(n).first
        held = first[~tokens.layout.is_hypothesis[of_order.text[first]]]
        grams = len(of_order.hashes)
        counts.append(np.bincount(of_order.gram[held], minlength=grams).astype(np.uint32))
    return asked.requests(counts)


@dataclass(frozen=True)
class SliceSums:
    """Sums over the examples of one slice. sums: [draws of the block, systems, k]."""

    name: str
    value: str
    sums: Ints


def slice_sums(examples: Examples, statistics: Ints, seed: int, block: Block) -> list[SliceSums]:
    """The sums of every slice that has an example here, the whole (``OVERALL``) first.

    statistics: [examples, systems, k], see ``StatisticsLayout.per_example``.
    """
    n, systems, k = statistics.shape
    if n == 0:
        return []
    flat = statistics.reshape(n, systems * k)
    result = []
    overall: Ints | None = None
    for name, column in examples.slices.items():
        values, order, lengths = _by_value(column)
        grouped = block_sums(block, examples.units[order], flat[order], lengths, seed)
        result += [
            SliceSums(name, value, sums.reshape(len(sums), systems, k))
            for value, sums in zip(values, grouped)
        ]
        overall = grouped.sum(axis=0) if overall is None else overall
    if overall is None:
        overall = block_sums(block, examples.units, flat, np.array([n]), seed)[0]
    return [SliceSums(*OVERALL, overall.reshape(len(overall), systems, k)), *result]


def _by_value(column: pa.Array) -> tuple[list[str], Ints, Ints]:
    """The distinct values, the rows grouped by them, and how many rows each has."""
    encoded = column.dictionary_encode()
    codes = encoded.indices.to_numpy()
    values: list[str] = encoded.dictionary.to_pylist()
    return values, np.argsort(codes, kind="stable"), np.bincount(codes, minlength=len(values))


def distinct_units(examples: Examples) -> dict[tuple[str, str], hashing.Hashes]:
    """The units that every slice has here, ascending: their number is taken over all batches."""
    result = {OVERALL: np.unique(examples.units)}
    for name, column in examples.slices.items():
        values, order, lengths = _by_value(column)
        cuts = np.cumsum(lengths)[:-1]
        for value, units in zip(values, np.split(examples.units[order], cuts)):
            result[name, value] = np.unique(units)
    return result


@dataclass(frozen=True)
class Score:
    """One number with its interval. ``value`` is None if it is undefined: ``note`` says why."""

    system: str
    slice: str
    slice_value: str
    metric: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    units: int
    examples: int
    segments: int
    missing: int
    scale: str
    note: str


@dataclass(frozen=True)
class SliceScores:
    """The scores of one slice, by system and metric. replicates: [systems, metrics, B]."""

    scores: tuple[Score, ...]
    replicates: Floats


def finish(
    layout: StatisticsLayout,
    systems: Sequence[str],
    name: str,
    value: str,
    sums: Ints,
    replicates: Ints,
    units: int | None,
    confidence: float,
) -> SliceScores:
    """Scores and intervals of one slice.

    sums: [systems, k]; replicates: [B, systems, k]; units: how many were resampled, None if
    they are the examples (of each system).
    """
    scores = []
    values = np.full((len(systems), len(layout.metrics), len(replicates)), np.nan)
    for j, metric in enumerate(layout.metrics):
        columns = layout.columns(metric)
        values[:, j, :] = metric.score(replicates[..., columns]).T
        points = metric.score(sums[..., columns])
        for i, system in enumerate(systems):
            point = float(points[i])
            count = {c: int(sums[i, layout.column(c)]) for c in (EXAMPLES, MISSING, SEGMENTS)}
            of_system = count[EXAMPLES] if units is None else units
            notes = [metric.note(sums[i, columns])]
            low = high = None
            if not math.isnan(point) and len(replicates):
                interval = percentile_interval(values[i, j], confidence, of_system)
                low, high = interval.low, interval.high
                notes.append(interval.note)
            scores.append(
                Score(
                    system=system,
                    slice=name,
                    slice_value=value,
                    metric=metric.name,
                    value=None if math.isnan(point) else point,
                    ci_low=low,
                    ci_high=high,
                    units=of_system,
                    examples=count[EXAMPLES],
                    segments=count[SEGMENTS],
                    missing=count[MISSING],
                    scale=metric.scale,
                    note="; ".join(note for note in notes if note),
                )
            )
    return SliceScores(tuple(scores), values)


def segment_scores(layout: StatisticsLayout, segments: npt.NDArray[Any]) -> dict[str, Floats]:
    """metric -> [hypotheses], NaN where undefined. segments: [hypotheses, k]."""
    return {
        metric.name: metric.segment_score(segments[:, layout.columns(metric)])
        for metric in layout.metrics
    }
