"""How often one system is better than the other, example by example."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scoring.statistics.paired import ROUNDING

Floats = npt.NDArray[np.float64]


def outcomes(a: Floats, b: Floats) -> npt.NDArray[np.bool_]:
    """Of every example whether a is better, b is better, neither is: [n, 3], one of them true.

    a, b: [n] scores by example. Scores that differ by no more than rounding are a tie. So are two
    of which one or both are undefined (NaN): what cannot be compared is nobody's win.
    Raises ValueError if their lengths differ.
    """
    if a.shape != b.shape:
        raise ValueError(f"scores of {a.shape} and {b.shape} examples cannot be compared")
    difference = a - b
    wins, losses = difference > ROUNDING, difference < -ROUNDING
    return np.stack([wins, losses, ~(wins | losses)], axis=1)
