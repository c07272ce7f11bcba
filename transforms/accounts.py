"""What becomes of every row: refused rows and counts, from the data, never from Beam's counters
(which a retry can count twice)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas import tables
from transforms.packets import Packet

ACCOUNT = "account"

FINGERPRINT = "fingerprint"
"""Counts whose name ends so are hashes of sets of rows: their sums are taken modulo 2**64."""


BAD_FILE = "bad_file"
"""The reason of a row of ``rejected`` that stands for a file. It counts as no row."""


def account(
    counts: Mapping[str, int],
    rejected: pa.Table | None = None,
    more: Mapping[str, pa.Table] | None = None,
) -> Packet:
    """An account of some rows: counts by name and the refused ones. more: what else is told."""
    found = Counter(dict(counts))
    told = dict(more or {})
    if rejected is not None and len(rejected):
        told["rejected"] = rejected
        for (table, reason, system), n in _tally(rejected, ("table", "reason", "system")):
            if reason == BAD_FILE:
                found[f"{table}.bad_files"] += n
                continue
            found[f"{table}.refused"] += n
            found[f"{table}.refused.{reason}"] += n
            if system is not None:
                found[f"system.refused.{system}"] += n
    return Packet(ACCOUNT, {"counts": dict(found)}, tables=told)


def _tally(rows: pa.Table, columns: Sequence[str]) -> list[tuple[tuple[str | None, ...], int]]:
    """How often every combination of values occurs."""
    codes = np.zeros(len(rows), np.int64)
    for name in columns:
        encoded = _encoded(rows, name)
        codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    found = rows.select(list(columns)).take(pa.array(first)).to_pylist()
    return [(tuple(row.values()), int(n)) for row, n in zip(found, counts)]


def _encoded(rows: pa.Table, name: str) -> pa.DictionaryArray:
    column = rows.column(name).combine_chunks()
    whole = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    return whole.dictionary_encode(null_encoding="encode")


def refused_file(table: str, path: str, detail: str) -> pa.Table:
    """The row of ``rejected`` for a file none of which can be used."""
    row = {"table": table, "file": path, "stage": "read", "reason": BAD_FILE, "detail": detail}
    return pa.Table.from_pylist([row], schema=tables.REJECTED)


_NAMES = {tables.FILE: "file", tables.ROW: "row"}


def refused_rows(
    table: str,
    stage: str,
    rows: pa.Table,
    refusals: Iterable[tuple[npt.NDArray[np.int64], str, str]],
) -> pa.Table:
    """The refused rows of a table with tables.FILE, tables.ROW, example_id and (hypotheses) system.

    refusals: (row numbers, reason, detail).
    """
    parts = []
    for numbers, reason, detail in refusals:
        chosen = rows.select(
            [c for c in (*_NAMES, "example_id", "system") if c in rows.column_names]
        ).take(pa.array(numbers))
        n = len(numbers)
        columns = {
            "table": pa.array([table] * n, pa.string()),
            "stage": pa.array([stage] * n, pa.string()),
            "reason": pa.array([reason] * n, pa.string()),
            "detail": pa.array([detail] * n, pa.string()),
            "system": pa.nulls(n, pa.string()),
            **{_NAMES.get(name, name): chosen.column(name) for name in chosen.column_names},
        }
        parts.append(
            pa.table([columns[name] for name in tables.REJECTED.names], schema=tables.REJECTED)
        )
    return pa.concat_tables(parts) if parts else tables.REJECTED.empty_table()


def merge(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sums by name, sorted by name."""
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return {
        name: value % 2**64 if name.endswith(FINGERPRINT) else value
        for name, value in sorted(total.items())
    }
