"""Stage 1 to 3 of the graph: row groups are read, rows are checked and cut into partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa

from schemas import checks
from scoring import hashing
from transforms import accounts, files
from transforms.packets import Keyed, Packet
from transforms.sources import HYPOTHESES, Split

ROWS = "rows"
REFUSED = "refused"


@dataclass(frozen=True)
class Rows:
    """How rows are checked and where they go. columns: of the references, beside the fixed."""

    partitions: int
    columns: tuple[str, ...]
    max_characters: int


@dataclass
class ReadRows(beam.PTransform):  # type: ignore[misc]
    """Splits -> main: (partition, rows of it); ``REFUSED``: (partition, account)."""

    rows: Rows

    def expand(self, splits: beam.PCollection[Split]) -> beam.pvalue.DoOutputsTuple:
        return (
            splits
            | "Spread" >> beam.Reshuffle()
            | "RowGroups" >> beam.ParDo(_Read()).with_output_types(tuple[str, pa.Table])
            | "CheckAndCut"
            >> beam.ParDo(_CheckAndCut(self.rows))
            .with_output_types(Keyed, **{REFUSED: Keyed})
            .with_outputs(REFUSED, main=ROWS)
        )


class _Read(beam.DoFn):  # type: ignore[misc]
    def process(self, split: Split) -> Iterator[tuple[str, pa.Table]]:
        read = [
            _read_part(part.path, part.row_groups, part.columns, part.first_row)
            for part in split.parts
        ]
        # Parts of one split may differ in optional columns and in the encoding of strings.
        alike: dict[pa.Schema, list[pa.Table]] = {}
        for table in read:
            alike.setdefault(table.schema.remove_metadata(), []).append(table)
        for schema, same in alike.items():
            yield split.table, pa.concat_tables([t.cast(schema) for t in same])


def _read_part(
    path: str, row_groups: tuple[int, ...], columns: tuple[str, ...], first_row: int
) -> pa.Table:
    try:
        with files.open_parquet(path) as parquet:
            table = parquet.read_row_groups(list(row_groups), list(columns), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise RuntimeError(
            f"{path}: row groups {list(row_groups)} cannot be read: {error}"
        ) from error
    n = len(table)
    source = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([path]))
    return table.append_column("file", source).append_column(
        "row", pa.array(np.arange(first_row, first_row + n))
    )


class _CheckAndCut(beam.DoFn):  # type: ignore[misc]
    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def process(self, element: tuple[str, pa.Table]) -> Iterable[object]:
        name, table = element
        if name == HYPOTHESES:
            checked = checks.check_hypotheses(table, self._rows.max_characters)
        else:
            checked = checks.check_references(table, self._rows.columns, self._rows.max_characters)
        counts = {f"{name}.read": len(table)}
        refused = accounts.refused_rows(name, "check", _source(table), checked.refused)
        yield beam.pvalue.TaggedOutput(REFUSED, (0, accounts.account(counts, refused)))
        sources = table.select(["file", "row"]).take(pa.array(checked.kept))
        rows = checked.rows
        for column in ("file", "row"):
            rows = rows.append_column(column, sources.column(column))
        for partition, part in cut(rows, self._rows.partitions):
            yield partition, Packet(name, tables={ROWS: part})


def cut(rows: pa.Table, partitions: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows by the partition of their example_id, in order; empty partitions are left out."""
    ids = rows.column("example_id").combine_chunks()
    partition = hashing.spread(hashing.hash_strings(ids), partitions)
    narrow = partition.astype(np.uint16) if partitions <= 2**16 else partition
    order = np.argsort(narrow, kind="stable")
    ordered = rows.take(pa.array(order))
    counts = np.bincount(partition, minlength=partitions)
    start = 0
    for number in np.flatnonzero(counts).tolist():
        yield number, ordered.slice(start, int(counts[number]))
        start += int(counts[number])


def _source(table: pa.Table) -> pa.Table:
    """Where rows stand and what they are called, as strings, for the table of refused rows."""
    columns = {"file": table.column("file").cast(pa.string()), "row": table.column("row")}
    for name in ("example_id", "system"):
        if name in table.column_names:
            columns[name] = checks.readable(table.column(name))
    return pa.table(columns)
