"""Logarithms and exponentials that do not depend on the processor's vector width.

numpy's own give other last bits with AVX-512 than with AVX2 or SSE, so everything on the way to
an output goes through the C library's scalar functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_FRACTION_BITS = 40


def _each(function: Callable[[float], float], values: npt.NDArray[Any]) -> Floats:
    flat = values.ravel().tolist()
    return np.fromiter(map(function, flat), np.float64, len(flat)).reshape(values.shape)


def log(values: npt.NDArray[Any]) -> Floats:
    """Natural logarithm of every value; all must be positive."""
    return _each(math.log, values)


def exp(values: npt.NDArray[Any]) -> Floats:
    """The exponential of every value."""
    return _each(math.exp, values)


def rounded(values: Floats) -> Floats:
    """Every value rounded to a multiple of 2**-40, which hides a last bit that may differ."""
    return np.ldexp(np.rint(np.ldexp(values, _FRACTION_BITS)), -_FRACTION_BITS)
