"""Lines of text: line n of every file belongs to example n. One file a system; of references one
file a column."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing

import numpy as np
import pyarrow as pa

from schemas import tables
from transforms.importers import lines
from transforms.importers.base import HYPOTHESES, Imported, Part, changed


def read(table: str, part: Part, max_characters: int) -> Iterator[Imported]:
    """The rows of a file of hypotheses, or of all files of references together."""
    paths = part.columns.aligned
    first = 0
    for rows in _aligned(paths, lines.longest_line(max_characters)):
        columns = [pa.array(column, pa.binary()).view(pa.string()) for column in rows]
        n = len(columns[0])
        numbers = np.arange(first, first + n)
        first += n
        long = np.flatnonzero(
            np.array([[line is None for line in column] for column in rows]).any(0)
        )
        made = {"example_id": ids(numbers, part.columns.digits)}
        if table == HYPOTHESES:
            made["text"] = columns[0]
        else:
            made["references"] = _lists(columns)
        made |= {
            name: pa.repeat(pa.scalar(v, pa.string()), n) for name, v in part.columns.constants
        }
        # A line of references stands in several files.
        source = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(n, np.int32)), pa.array([", ".join(paths)])
        )
        refused = [(long, "too_long", "the line is too long to be read")] if len(long) else []
        yield Imported(
            pa.table({**made, tables.FILE: source, tables.ROW: pa.array(numbers)}), tuple(refused)
        )
    if first != part.found[0][0]:
        raise changed(part.path)


def ids(numbers: np.ndarray, digits: int) -> pa.Array:
    """Line numbers from 1, with zeros in front, so that they sort as lines do."""
    return pa.array([f"{number:0{digits}d}" for number in (numbers + 1).tolist()], pa.string())


def _lists(columns: Sequence[pa.Array]) -> pa.Array:
    """Columns of n texts -> n lists, each one text from every column."""
    n, k = len(columns[0]), len(columns)
    by_row = np.arange(n * k).reshape(k, n).T.ravel()
    values = pa.concat_arrays(columns).take(pa.array(by_row))
    return pa.ListArray.from_arrays(pa.array(np.arange(0, n * k + 1, k), pa.int32()), values)


def _aligned(paths: Sequence[str], longest: int) -> Iterator[list[list[bytes | None]]]:
    """For every file some lines, as many from each. Files of equal length: that was checked."""
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(lines.batches(path, longest))) for path in paths]
        waiting: list[deque[bytes | None]] = [deque() for _ in paths]
        while True:
            for stream, held in zip(streams, waiting):
                if not held:
                    held.extend(next(stream, []))
            n = min(map(len, waiting))
            if not n:
                if any(waiting):
                    raise changed(paths[0])
                return
            yield [[held.popleft() for _ in range(n)] for held in waiting]
