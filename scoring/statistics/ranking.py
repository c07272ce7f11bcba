"""Systems in order of score, in clusters that the tests tell apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def clusters(scores: Sequence[float | None], beats: npt.NDArray[np.bool_]) -> list[int]:
    """The cluster of every system, 1 the best.

    Going down by score, a new cluster starts at a system that every system of the cluster above
    beats. Systems of one score come together: a cluster starts with them if all are beaten. None
    is no score: such systems are the last cluster, whatever beats them.
    scores: [systems]; beats: [systems, systems], whether the first is significantly better.
    Raises ValueError if their sizes differ.
    """
    if beats.shape != (len(scores), len(scores)):
        raise ValueError(f"beats has the shape {beats.shape}, but there are {len(scores)} scores")
    scored = [(score, system) for system, score in enumerate(scores) if score is not None]
    result = [0] * len(scores)
    number = 0
    above: list[int] = []
    by_score = sorted(scored, key=lambda pair: -pair[0])
    for _, tied in itertools.groupby(by_score, key=lambda pair: pair[0]):
        systems = [system for _, system in tied]
        if not above or beats[np.ix_(above, systems)].all():
            number += 1
            above = []
        above += systems
        for system in systems:
            result[system] = number
    return [cluster or number + 1 for cluster in result]
