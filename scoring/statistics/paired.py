"""p-values of a difference between two systems on the same examples, both two-sided.

Both compare the difference with how it varies by chance: from the replicates of a paired
bootstrap, centred on their mean (Efron and Tibshirani, "An introduction to the bootstrap", 1993,
chapter 16; Koehn, EMNLP 2004), or from the trials of approximate randomisation, which swaps the
outputs of some examples (Noreen, 1989; Riezler and Maxwell, 2005). The 1 that is added above and
below counts the difference itself, so a p is never 0 (Phipson and Smyth, 2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from scoring.statistics.intervals import FEW_UNITS, FEWEST_UNITS, LARGEST_UNDEFINED_SHARE

Floats = npt.NDArray[np.float64]

ROUNDING = 1e-13
"""What rounding can do to the difference of two scores of the size 1 to 100."""

_DRAWS_OF_A_REJECTION = 20
"""A p just small enough after correction then rests on about as many draws beyond it."""


@dataclass(frozen=True)
class PValue:
    """p is None if there is none; the note says why, or what to mind."""

    p: float | None
    note: str = ""


def bootstrap_p(differences: Floats, difference: float, units: int) -> PValue:
    """(1 + how many replicates are as far from their mean as the difference is from 0) / (B + 1).

    differences: [B] of the replicates, NaN where undefined; difference: of all examples;
    units: how many things were resampled.
    """
    if not len(differences):
        return PValue(None, "no p: no bootstrap")
    if units < FEWEST_UNITS:
        return PValue(None, f"no p: too few units ({units} < {FEWEST_UNITS})")
    few = f"few units ({units}): the p is rough" if units < FEW_UNITS else ""
    return _p(differences, difference, "replicates", few, centred=True)


def randomisation_p(differences: Floats, difference: float) -> PValue:
    """(1 + how many trials differ as much as the systems do) / (T + 1).

    differences: [T] of the trials, NaN where undefined; difference: of all examples.
    """
    if not len(differences):
        return PValue(None, "no p: no trials")
    return _p(differences, difference, "trials", "", centred=False)


def best_p(replicates: Floats, differences: Sequence[float], units: int) -> list[float | None]:
    """p of every system's difference to the best one, which was chosen among all of them.

    (1 + how many replicates part some two systems, each centred on its mean, as far) / (B + 1):
    the range of all systems stands for the pair (Tukey's range; the single-step maximum of
    Westfall and Young, "Resampling-based multiple testing", 1993), so that neither the choice of
    the best nor the number of systems makes a difference of it. Of two it is ``bootstrap_p``.

    replicates: [B, systems], NaN where undefined; differences: [systems], NaN: no p; units: how
    many were resampled.
    """
    defined = replicates[~np.isnan(replicates).any(axis=1)]
    undefined = len(replicates) - len(defined)
    few = units < FEWEST_UNITS or undefined > LARGEST_UNDEFINED_SHARE * len(replicates)
    if few or not len(defined):
        return [None] * len(differences)
    centres = [math.fsum(column) / len(defined) for column in defined.T.tolist()]
    centred = defined - np.array(centres)
    spread = centred.max(axis=1) - centred.min(axis=1)
    beyond = [int((spread >= abs(d) * (1 - ROUNDING) - ROUNDING).sum()) for d in differences]
    return [
        None if math.isnan(d) else (1 + n) / (1 + len(defined)) for d, n in zip(differences, beyond)
    ]


def _p(differences: Floats, difference: float, draws: str, note: str, centred: bool) -> PValue:
    if math.isnan(difference):
        return PValue(None, "no p: the difference is undefined")
    defined = differences[~np.isnan(differences)]
    undefined = len(differences) - len(defined)
    counted = f"undefined in {undefined} of {len(differences)} {draws}" if undefined else ""
    if undefined > LARGEST_UNDEFINED_SHARE * len(differences):
        return PValue(None, f"no p: {counted}")
    # fsum is rounded once: neither the order nor the processor moves it, nor do A and B swapped.
    centre = math.fsum(defined.tolist()) / len(defined) if centred else 0.0
    # Differences that are equal by arithmetic count, though rounding parts them by some ulp of
    # the scores, which are far larger than the difference: hence both margins.
    least = abs(difference) * (1 - ROUNDING) - ROUNDING
    beyond = int(np.count_nonzero(np.abs(defined - centre) >= least))
    notes = "; ".join(text for text in (counted, note) if text)
    return PValue((1 + beyond) / (1 + len(defined)), notes)


def draws_needed(comparisons: int, alpha: float) -> int:
    """Replicates or trials that so many comparisons need at level alpha: 20 comparisons / alpha.

    The smallest p that B draws can give is 1 / (B + 1); Holm multiplies it by the comparisons.
    """
    if comparisons < 1:
        raise ValueError(f"comparisons must be 1 or more, not {comparisons}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, not {alpha}")
    # The fraction that is written down: 0.05 as 1/20.
    return math.ceil(_DRAWS_OF_A_REJECTION * comparisons / Fraction(repr(float(alpha))))


def resolvable(draws: int, comparisons: int, alpha: float) -> bool:
    """Whether so many draws can tell differences apart at level alpha, all comparisons counted."""
    return draws >= draws_needed(comparisons, alpha)
