"""Percentile intervals of bootstrap replicates, and when there is none to be had."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FEWEST_UNITS = 10
"""Below, a bootstrap interval covers far less than it says, and there is none."""

FEW_UNITS = 100
"""Below, the interval has a note."""

LARGEST_UNDEFINED_SHARE = 0.05
"""Of replicates: with more undefined ones there is no interval."""


@dataclass(frozen=True)
class Interval:
    """low and high are None if there is no interval; the note says why, or what to mind."""

    low: float | None
    high: float | None
    note: str = ""


def percentile_interval(replicates: npt.NDArray[Any], confidence: float, units: int) -> Interval:
    """The central ``confidence`` of the replicates, by numpy's linear quantile.

    replicates: [B] values of a score, NaN where a replicate leaves it undefined. units: how many
    things were resampled.
    """
    if not len(replicates):
        return Interval(None, None, "no interval: no bootstrap")
    if units < FEWEST_UNITS:
        return Interval(None, None, f"no interval: too few units ({units} < {FEWEST_UNITS})")
    defined = replicates[~np.isnan(replicates)]
    undefined = len(replicates) - len(defined)
    notes = []
    if undefined:
        notes.append(f"undefined in {undefined} of {len(replicates)} replicates")
    if undefined > LARGEST_UNDEFINED_SHARE * len(replicates):
        return Interval(None, None, f"no interval: {notes[0]}")
    if units < FEW_UNITS:
        notes.append(f"few units ({units}): the interval is rough")
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail], method="linear").tolist()
    assert math.isfinite(low) and math.isfinite(high)
    return Interval(low, high, "; ".join(notes))
