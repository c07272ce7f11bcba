"""How steps rewrite the texts of an array: by character, by pattern, or a few one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import ragged
from scoring.text.characters import points_of

LIMIT = 0x30000
"""Beyond it Unicode has rare ideographs, tags and private characters only."""


class CharacterTable:
    """Replaces single characters below ``LIMIT``, each by a string."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._strings = list(table.values())
        self._index = np.zeros(LIMIT + 1, np.int32)  # 0: stays
        for i, character in enumerate(table, 1):
            self._index[ord(character)] = i
        points = [[ord(c) for c in string] for string in self._strings]
        self._points = np.array([p for string in points for p in string], np.uint32)
        self._lengths = np.array([1, *map(len, points)], np.int64)
        self._starts = np.concatenate([[0], ragged.offsets_of(self._lengths[1:])[:-1]])

    def apply(self, texts: pa.Array) -> pa.Array:
        """The texts with every character of the table replaced."""
        points, lengths = points_of(texts)
        which = self._index[np.minimum(points, LIMIT)]
        places = np.flatnonzero(which)
        if not len(places):
            return texts
        chosen = which[places]
        counts = self._lengths[chosen]
        new = self._points[ragged.ranges(self._starts[chosen], counts)]
        if (counts == 1).all():
            rewritten = points.copy()
            rewritten[places] = new
            ends = lengths.cumsum()
        else:
            repeats = np.ones(len(points), np.int64)
            repeats[places] = counts
            # The start of every replacement among the new characters, then what stays between.
            starts = ragged.offsets_of(repeats)
            rewritten = np.empty(int(starts[-1]), np.uint32)
            stays = which == 0
            rewritten[starts[:-1][stays]] = points[stays]
            rewritten[ragged.ranges(starts[places], counts)] = new
            ends = starts[lengths.cumsum()]
        return _from_points(rewritten, np.concatenate([[0], ends]), texts.type)


def _from_points(
    points: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64], type_: pa.DataType
) -> pa.Array:
    """Texts from the code points of all and where each begins, in code points."""
    sizes = np.ones(len(points) + 1, np.int64)
    sizes[0] = 0
    for limit in (0x80, 0x800, 0x10000):
        sizes[1:] += points >= limit
    data = points.tobytes().decode("utf-32-le").encode("utf-8")
    large = pa.types.is_large_string(type_)
    ends = np.cumsum(sizes)[offsets].astype(np.int64 if large else np.int32)
    of = pa.LargeStringArray if large else pa.StringArray
    return of.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(data))


def replace(texts: pa.Array, pattern: str, replacement: str) -> pa.Array:
    """Every match of a pattern (RE2) replaced."""
    return pc.replace_substring_regex(texts, pattern, replacement)


def change_some(texts: pa.Array, pattern: str, change: Callable[[str], str]) -> pa.Array:
    """``change`` of the texts in which the pattern (RE2) is found; each distinct one once."""
    places = np.flatnonzero(pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False))
    if not len(places):
        return texts
    encoded = texts.take(pa.array(places)).dictionary_encode()
    changed = pa.array([change(text) for text in encoded.dictionary.to_pylist()], texts.type)
    source = np.arange(len(texts))
    source[places] = len(texts) + encoded.indices.to_numpy()
    return pa.concat_arrays([texts, changed]).take(pa.array(source))
