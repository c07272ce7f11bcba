"""A sample of examples that is the same every time: those with the smallest hashes of their ids."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from scoring import hashing

_SALT = np.uint64(0x5DEECE66D1A4B587)
"""So that the sample is not the examples of the first partitions."""


def sample_hashes(ids: pa.Array) -> hashing.Hashes:
    """By what examples are chosen: [ids]."""
    return hashing.mix(hashing.hash_strings(ids) ^ _SALT)


@dataclass
class Smallest:
    """Takes rows, table by table, and keeps those of the examples with the smallest hashes.

    examples: how many. Holds no more than the rows of these and of one table.
    """

    examples: int
    rows: pa.Table | None = None
    _limit: np.uint64 = field(default=np.uint64(2**64 - 1))

    def add(self, rows: pa.Table) -> None:
        """rows: a table with the column example_id."""
        own = rows.filter(chosen(rows, self._limit))
        if not len(own):
            return
        self.rows = own if self.rows is None else pa.concat_tables([self.rows, own])
        distinct = np.unique(_hashes(self.rows))
        if len(distinct) > self.examples:
            self._limit = distinct[self.examples - 1]
            self.rows = self.rows.filter(chosen(self.rows, self._limit))

    @property
    def limit(self) -> np.uint64:
        """The largest hash of an example that is kept."""
        return self._limit


def chosen(rows: pa.Table, limit: np.uint64) -> pa.Array:
    """Which rows are those of an example whose hash is not above the limit."""
    return pa.array(_hashes(rows) <= limit)


def _hashes(rows: pa.Table) -> hashing.Hashes:
    column = rows.column("example_id")
    parts = [sample_hashes(chunk) for chunk in column.chunks]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)
