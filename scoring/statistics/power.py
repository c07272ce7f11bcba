"""What a set of examples could show: the smallest difference, or how many examples one needs.

By the normal approximation: a two-sided test at level alpha finds a difference of z(1 - alpha / 2)
+ z(power) standard errors with that power (Card et al., "With little power comes great
responsibility", EMNLP 2020, on how often that is too little).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from scoring.statistics.intervals import FEWEST_UNITS


@dataclass(frozen=True)
class Detectable:
    """The smallest difference that is found; None, and the note says why."""

    difference: float | None
    note: str = ""


@dataclass(frozen=True)
class UnitsNeeded:
    """How many units a difference needs; None, and the note says why."""

    units: int | None
    note: str = ""


def detectable_difference(sd_of_difference: float, alpha: float, power: float = 0.8) -> Detectable:
    """The smallest true difference that a test at level alpha would find with that power.

    sd_of_difference: the standard deviation of the difference of two scores over the replicates
    of a paired bootstrap, that is the standard error at this number of units.
    Raises ValueError for alpha or power outside of 0 to 1, or power not above alpha.
    """
    errors = _standard_errors(alpha, power)
    reason = _unusable(sd_of_difference)
    return Detectable(None, reason) if reason else Detectable(errors * sd_of_difference)


def units_needed(
    sd_of_difference: float, units: int, difference: float, alpha: float, power: float = 0.8
) -> UnitsNeeded:
    """How many units of the same kind it takes to find a true difference with that power.

    sd_of_difference: as observed with ``units`` units; it falls with the root of their number.
    Never fewer than there must be for a bootstrap.
    Raises ValueError for alpha or power outside of 0 to 1, or power not above alpha.
    """
    errors = _standard_errors(alpha, power)
    reason = _unusable(sd_of_difference)
    if not reason and units < FEWEST_UNITS:
        reason = f"too few units ({units} < {FEWEST_UNITS}) to know how the difference varies"
    if not reason and not math.isfinite(difference):
        reason = "the difference is undefined"
    if not reason and difference == 0:
        reason = "a difference of 0 is never found"
    if reason:
        return UnitsNeeded(None, reason)
    ratio = errors * sd_of_difference / abs(difference)
    if not math.isfinite(needed := units * ratio * ratio):
        return UnitsNeeded(None, "the difference is too small to be found by any number of units")
    return UnitsNeeded(max(FEWEST_UNITS, math.ceil(needed)))


def _standard_errors(alpha: float, power: float) -> float:
    for name, value in (("alpha", alpha), ("power", power)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be between 0 and 1, not {value}")
    if power <= alpha:
        raise ValueError(f"power must be above alpha ({alpha}), not {power}: chance has that much")
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)


def _unusable(sd_of_difference: float) -> str:
    if not math.isfinite(sd_of_difference):
        return "how the difference varies is undefined"
    if sd_of_difference <= 0:
        return "the difference did not vary"
    return ""
