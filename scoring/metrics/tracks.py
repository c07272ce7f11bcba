"""Metrics on tracks, and weighted sums of metrics.

A track is one way to cut texts, with a name: words, characters. ``bleu[char]`` is BLEU of the
track ``char``; on the track ``main`` a metric has its plain name. A combination, such as
``0.3 * bleu[char] + 0.7 * bleu[word]``, is a function of the same sums, so it has intervals, tests
and segment scores of its own, made inside every replicate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.metrics.base import SEGMENTS, Floats, Ints, Metric, Scorer
from scoring.segments import SegmentTokens

MAIN = "main"
"""The track whose metrics have plain names."""

SUM = "sum"
"""What the signature of a combination calls its metric."""

Tracks = Mapping[str, SegmentTokens]
"""The tokens of one batch on every track, by its name; all have one layout."""


def on_track_name(name: str, track: str) -> str:
    """``bleu`` on ``char``: ``bleu[char]``; on ``main``: ``bleu``."""
    return name if track == MAIN else f"{name}[{track}]"


@dataclass(frozen=True)
class OnTrack:
    """A metric of one track. Its statistics carry the name of the track, beside ``SEGMENTS``, which
    is the same on all."""

    metric: Metric
    track: str = MAIN

    @property
    def name(self) -> str:
        return on_track_name(self.metric.name, self.track)

    @property
    def label(self) -> str:
        return on_track_name(self.metric.label, self.track)

    @property
    def scale(self) -> str:
        return self.metric.scale

    @property
    def statistics(self) -> tuple[str, ...]:
        return tuple(
            name if name == SEGMENTS else on_track_name(name, self.track)
            for name in self.metric.statistics
        )

    def score(self, sums: npt.NDArray[Any]) -> Floats:
        return self.metric.score(sums)

    def segment_score(self, statistics: Ints) -> Floats:
        return self.metric.segment_score(statistics)

    def note(self, sums: npt.NDArray[Any]) -> str:
        return self.metric.note(sums)


@dataclass(frozen=True)
class Combination:
    """A weighted sum of metrics. It is undefined where one of them is.

    terms: (weight, metric). Raises ValueError for weights that are no finite numbers or 0, for
    none at all, or for a metric named twice.
    """

    name: str
    terms: tuple[tuple[float, Metric | OnTrack], ...]

    def __post_init__(self) -> None:
        if not self.terms:
            raise ValueError(f"{self.name} combines no metric")
        for weight, metric in self.terms:
            if not math.isfinite(weight) or weight == 0:
                raise ValueError(
                    f"the weight of {metric.name} in {self.name} must be a number other than 0, "
                    f"not {weight}"
                )
        names = [metric.name for _, metric in self.terms]
        if len(set(names)) < len(names):
            raise ValueError(f"{self.name} names a metric twice: {', '.join(names)}")

    @property
    def label(self) -> str:
        return self.name

    @property
    def scale(self) -> str:
        """From the least to the most that the weighted metrics can be; empty if one of them does
        not say."""
        ends = [scale_ends(metric.scale) for _, metric in self.terms]
        if None in ends:
            return ""
        weighted = [
            sorted((weight * end[0], weight * end[1]))
            for (weight, _), end in zip(self.terms, ends)
            if end is not None
        ]
        low, high = (math.fsum(pair[i] for pair in weighted) for i in (0, 1))
        return f"{low:.10g}-{high:.10g}" if low >= 0 else f"{low:.10g} to {high:.10g}"

    @cached_property
    def statistics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, m in self.terms for name in m.statistics))

    @cached_property
    def _columns(self) -> list[list[int]]:
        """The columns of every term among the statistics."""
        return [[self.statistics.index(n) for n in m.statistics] for _, m in self.terms]

    def score(self, sums: npt.NDArray[Any]) -> Floats:
        return self._add([m.score(sums[..., c]) for (_, m), c in zip(self.terms, self._columns)])

    def segment_score(self, statistics: Ints) -> Floats:
        parts = zip(self.terms, self._columns)
        return self._add([m.segment_score(statistics[..., c]) for (_, m), c in parts])

    def _add(self, values: Sequence[Floats]) -> Floats:
        total = np.zeros_like(values[0])
        for (weight, _), value in zip(self.terms, values):  # always in this order
            total = total + weight * value
        return total

    def note(self, sums: npt.NDArray[Any]) -> str:
        notes = []
        for (_, metric), columns in zip(self.terms, self._columns):
            own = metric.note(sums[columns])
            if own.startswith("undefined"):
                return f"undefined: {metric.name} is {own}"
            if own:
                notes.append(f"{metric.name}: {own}")
        return "; ".join(notes)


def scale_ends(scale: str) -> tuple[float, float] | None:
    """The ends of a scale such as ``0-1`` or ``-1 to 1``; None if it is none."""
    low, _, high = scale.partition(" to ") if " to " in scale else scale.partition("-")
    try:
        return float(low), float(high)
    except ValueError:
        return None


def sources(metrics: Sequence[Scorer]) -> tuple[OnTrack, ...]:
    """The metrics on tracks that are counted for these, each once, in order.

    Raises ValueError if two that differ have one name.
    """
    found: dict[str, OnTrack] = {}
    for metric in metrics:
        terms = [m for _, m in metric.terms] if isinstance(metric, Combination) else [metric]
        for term in terms:
            one = term if isinstance(term, OnTrack) else OnTrack(_counting(term))
            if found.setdefault(one.name, one) != one:
                raise ValueError(f"two metrics that differ are called {one.name}")
    return tuple(found.values())


def _counting(metric: Any) -> Metric:
    counting: Metric = metric
    return counting


def signature(
    metric: Scorer, recipes: Mapping[str, str], tables: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """What moves a score, (name, value) after (name, value), by which it differs from others.

    recipes, tables: of every track its recipe, and the table of document frequencies. The names
    of tracks and combinations move nothing and are not in it.
    """
    if isinstance(metric, Combination):
        terms = [
            f"{weight:+}*({join_signature(signature(term, recipes, tables))})"
            for weight, term in metric.terms
        ]
        return (("metric", SUM), ("of", "".join(terms)))
    (one,) = sources([metric])
    parts = {"metric": one.metric.name, **one.metric.signature(), "text": recipes[one.track]}
    if one.metric.document_order:
        parts["df"] = tables[one.track]
    return tuple(parts.items())


def join_signature(parts: Sequence[tuple[str, str]]) -> str:
    """As it is written: ``metric:bleu|n:4|...``"""
    return "|".join(f"{name}:{value}" for name, value in parts)
