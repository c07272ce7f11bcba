"""What becomes of every row: refused rows and counts, from the data, never from Beam's counters
(which a retry can count twice)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas import tables
from transforms.packets import Packet

ACCOUNT = "account"

FINGERPRINT = "fingerprint"
"""Counts whose name ends so are hashes of sets of rows: their sums are taken modulo 2**64."""


def account(counts: Mapping[str, int], rejected: pa.Table | None = None) -> Packet:
    """An account of some rows: counts by name and the refused ones."""
    refused = Counter(dict(counts))
    if rejected is None or not len(rejected):
        return Packet(ACCOUNT, {"counts": dict(refused)})
    for table, reason, system in zip(
        *(rejected.column(c).to_pylist() for c in ("table", "reason", "system"))
    ):
        refused[f"{table}.refused"] += 1
        refused[f"{table}.refused.{reason}"] += 1
        if system is not None:
            refused[f"system.refused.{system}"] += 1
    return Packet(ACCOUNT, {"counts": dict(refused)}, tables={"rejected": rejected})


def refused_rows(
    table: str,
    stage: str,
    rows: pa.Table,
    refusals: Iterable[tuple[npt.NDArray[np.int64], str, str]],
) -> pa.Table:
    """The refused rows of a table with columns file, row, example_id and (hypotheses) system.

    refusals: (row numbers, reason, detail).
    """
    parts = []
    for numbers, reason, detail in refusals:
        chosen = rows.select(
            [c for c in ("file", "row", "example_id", "system") if c in rows.column_names]
        ).take(pa.array(numbers))
        n = len(numbers)
        columns = {
            "table": pa.array([table] * n, pa.string()),
            "stage": pa.array([stage] * n, pa.string()),
            "reason": pa.array([reason] * n, pa.string()),
            "detail": pa.array([detail] * n, pa.string()),
            "system": pa.nulls(n, pa.string()),
            **{name: chosen.column(name) for name in chosen.column_names},
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
