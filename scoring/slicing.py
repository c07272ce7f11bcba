"""Slices made of columns: bins of numbers, and values that go together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring.joining import UNKNOWN

Floats = npt.NDArray[np.float64]

CROSS = "*"

_NUMBER = r"^-?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?$"
_LONGEST = 400


def numbers(values: pa.Array) -> Floats:
    """The values as numbers, NaN for what is none: null, infinite, or any other text."""
    values = pc.utf8_trim_whitespace(values.cast(pa.string()))
    fine = pc.and_kleene(
        pc.match_substring_regex(values, _NUMBER), pc.less(pc.binary_length(values), _LONGEST)
    )
    found = pc.if_else(fine.fill_null(False), values, None).cast(pa.float64())
    result: Floats = found.to_numpy(zero_copy_only=False).astype(np.float64)
    # Adding 0 makes 0 of -0.
    return np.where(np.isfinite(result), result, np.nan) + 0.0


def quantile_edges(sample: Floats, bins: int) -> list[float]:
    """Where bins of about equally many numbers end; fewer if numbers are equal.

    sample: numbers in any order, NaN not counted.
    """
    ordered = np.sort(sample[~np.isnan(sample)])
    if not len(ordered):
        return []
    places = [-(-i * len(ordered) // bins) for i in range(1, bins)]
    edges = np.unique(ordered[np.minimum(places, len(ordered) - 1)])
    kept: list[float] = edges[edges > ordered[0]].tolist()
    return kept


def bin_names(edges: Sequence[float]) -> list[str]:
    """What the bins between edges are called; their names sort as they do."""
    if not edges:
        return ["any number"]
    ends = [_spelled(edge) for edge in edges]
    inner = [f"[{low}, {high})" for low, high in itertools.pairwise(ends)]
    names = [f"<{ends[0]}", *inner, f">={ends[-1]}"]
    digits = len(str(len(names)))
    return [f"{number:0{digits}}: {name}" for number, name in enumerate(names, start=1)]


def _spelled(number: float) -> str:
    # Adding 0 makes 0 of -0.
    return repr(number + 0.0).removesuffix(".0")


def binned(values: pa.Array, edges: Sequence[float]) -> tuple[pa.Array, int]:
    """The bin of every value, ``UNKNOWN`` for what is no number, and how many of those there are
    that are something else. An edge belongs to the bin that it begins."""
    found = numbers(values)
    nothing = np.isnan(found)
    place = np.searchsorted(np.array(edges), found, side="right")
    names = pa.array([*bin_names(edges), UNKNOWN])
    place[nothing] = len(names) - 1
    given = pc.not_equal(values, UNKNOWN).to_numpy(zero_copy_only=False)
    return names.take(pa.array(place)), int(np.count_nonzero(nothing & given))


def crossed(columns: Sequence[pa.Array]) -> pa.Array:
    r"""The values of each row together, with ``*`` between them; ``\*`` is one that a value has."""
    if len(columns) == 1:
        return columns[0]
    escaped = [
        pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), CROSS, f"\\{CROSS}")
        for column in columns
    ]
    return pc.binary_join_element_wise(*escaped, CROSS)
