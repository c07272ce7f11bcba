"""Ragged arrays: a flat array of values and the offsets at which each list of it starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def offsets_of(lengths: npt.NDArray[Any]) -> Ints:
    """Offsets ``[n + 1]`` of lists of the given lengths ``[n]``, the first at 0."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ranges(starts: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> Ints:
    """The integers ``start, start + 1, ...`` of every range, one range after the other."""
    offsets = offsets_of(lengths)
    return np.arange(offsets[-1], dtype=np.int64) + np.repeat(starts - offsets[:-1], lengths)


def sizes_of(starts: npt.NDArray[Any], total: int) -> Ints:
    """How long every run is, from where the runs of ``total`` values start."""
    sizes = np.empty(len(starts), np.int64)
    if len(starts):
        np.subtract(starts[1:], starts[:-1], out=sizes[:-1])
        sizes[-1] = total - starts[-1]
    return sizes


def list_index(lengths: npt.NDArray[Any]) -> Ints:
    """For every value of a ragged array the number of the list that holds it."""
    return np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)


def segment_sum(values: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Sum of every list in the type of its values; 0 for an empty list."""
    return _reduce(np.add, values, lengths)


def segment_min(values: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Smallest value of every list; 0 for an empty list."""
    return _reduce(np.minimum, values, lengths)


def _reduce(
    function: np.ufunc, values: npt.NDArray[Any], lengths: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    result = np.zeros(len(lengths), values.dtype)
    filled = np.flatnonzero(lengths)
    if len(filled):
        # reduceat takes an empty list for one of length 1, so only filled lists are named.
        starts = offsets_of(lengths)[filled]
        result[filled] = function.reduceat(values, starts)
    return result
