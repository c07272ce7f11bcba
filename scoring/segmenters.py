"""What another way to cut texts does to the scores of systems and to their order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scoring.joining import Examples
from scoring.metrics.base import Metric
from scoring.segments import SegmentTokens, TokenTrack

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def system_scores(track: TokenTrack, examples: Examples, systems: int, metric: Metric) -> Floats:
    """The corpus score of every system: [systems]; nan if undefined."""
    statistics = metric.segment_statistics(SegmentTokens(track, examples.layout))
    sums = np.zeros((systems, statistics.shape[1]), np.int64)
    np.add.at(sums, examples.system, statistics)
    return metric.score(sums)


def ranks(scores: Floats) -> Ints:
    """The place of every score, the best first, from 1: [scores]. Equal ones share a place; what is
    undefined comes last."""
    values = np.where(np.isnan(scores), -np.inf, scores)
    return 1 + np.array([np.count_nonzero(values > value) for value in values], np.int64)


def reversed_pairs(one: Floats, other: Floats) -> int:
    """Pairs of systems of which one score puts the first before the second, the other after it."""
    return int(np.count_nonzero((_signs(one) * _signs(other)) < 0)) // 2


def _signs(scores: Floats) -> Floats:
    values = np.where(np.isnan(scores), -1.0, scores)
    signs: Floats = np.sign(values[:, None] - values[None, :])
    return signs
