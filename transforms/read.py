"""Stage 1 to 3 of the graph: files are read, rows are checked and cut into partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa

from schemas import checks, tables
from schemas.checks import Checked
from scoring import hashing
from scoring.series import MARK
from transforms import accounts, importers, progress, slices, stopwatch
from transforms.importers.base import BadFile, Imported
from transforms.packets import Keyed, Packet, of_kind
from transforms.sources import HYPOTHESES, REFERENCES, Split
from transforms.stopwatch import Stopwatch

ROWS = "rows"
REFUSED = "refused"
REFUSED_REFERENCES = "refused references"
"""Kind of packet: the ids of rows of references that were refused."""

_TABLE_BYTES = 64_000_000
_TABLE_ROWS = 500_000


@dataclass(frozen=True)
class Rows:
    """How rows are checked and where they go.

    columns: of the references, beside the fixed; hypothesis_columns: of the hypotheses.
    binned: (table, column) of those whose numbers are sampled for bins.
    step: column of the hypotheses that names checkpoints.
    null_texts: references that stand for none. skip_bad_files: note a file that cannot be read.
    """

    partitions: int
    columns: tuple[str, ...]
    max_characters: int
    binned: tuple[tuple[str, str], ...] = ()
    null_texts: tuple[str, ...] = ()
    skip_bad_files: bool = False
    step: str | None = None
    hypothesis_columns: tuple[str, ...] = ()


@dataclass
class ReadRows(beam.PTransform):  # type: ignore[misc]
    """Splits -> ``ROWS``: (partition, rows of it); ``REFUSED``: (partition, account);
    slices.NUMBERS: (0, a sample of the numbers that are binned)."""

    rows: Rows

    def expand(self, splits: beam.PCollection[Split]) -> dict[str, beam.PCollection[Keyed]]:
        # Two outputs: some runners ship all of them once for each.
        read = (
            splits
            | "Spread" >> beam.Reshuffle()
            | "ReadAndCheck"
            >> beam.ParDo(_Read(self.rows))
            .with_output_types(Keyed, **{REFUSED: Keyed})
            .with_outputs(REFUSED, main=ROWS)
        )
        beside = read[REFUSED]
        return {
            ROWS: read[ROWS],
            REFUSED: beside
            | "Accounts" >> beam.Filter(is_of_kind, accounts.ACCOUNT).with_output_types(Keyed),
            slices.NUMBERS: beside
            | "Numbers" >> beam.Filter(is_of_kind, slices.NUMBERS).with_output_types(Keyed),
        }


def is_of_kind(element: Keyed, kind: str) -> bool:
    """Whether a packet is of a kind."""
    return bool(of_kind([element[1]], kind))


class _Read(beam.DoFn):  # type: ignore[misc]
    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def process(self, split: Split) -> Iterator[object]:
        bad: list[BadFile] = []
        watch = Stopwatch()
        for imported in gathered(self._imports(split, bad)):
            yield from self._checked(split.table, imported, watch)
            watch.lap()
        for error in bad:
            refused = accounts.refused_file(split.table, error.path, error.found)
            yield self._beside(error.path, accounts.account({}, refused))

    def _imports(self, split: Split, bad: list[BadFile]) -> Iterator[Imported]:
        for part in split.parts:
            try:
                yield from importers.read(split.table, part, self._rows.max_characters)
            except BadFile as error:
                if not self._rows.skip_bad_files:
                    raise
                bad.append(error)

    def _checked(self, name: str, imported: Imported, watch: Stopwatch) -> Iterator[object]:
        settings, table = self._rows, imported.rows
        if name == HYPOTHESES:
            checked = checks.check_hypotheses(
                table,
                settings.max_characters,
                imported.refused,
                None if settings.step is None else (settings.step, MARK),
                settings.hypothesis_columns,
            )
        else:
            checked = checks.check_references(
                table,
                settings.columns,
                settings.max_characters,
                settings.null_texts,
                imported.refused,
            )
        rows = _with_source(checked.rows, table, checked.kept)
        parts = list(cut(rows, settings.partitions))
        refused = _refused(name, table, checked)
        counts = {f"{name}.read": len(table), stopwatch.count(progress.READ): watch.lap()}
        account = accounts.account(counts, refused)
        yield self._beside(table.column(tables.FILE)[0].as_py() if len(table) else "", account)
        binned = [column for table_name, column in settings.binned if table_name == name]
        if binned:
            numbers = slices.sample_of(checked.rows, name, binned)
            yield beam.pvalue.TaggedOutput(REFUSED, (0, numbers))
        if name == REFERENCES:
            for partition, part in cut(_refused_ids(table, checked), settings.partitions):
                yield partition, Packet(REFUSED_REFERENCES, tables={ROWS: part})
        for partition, part in parts:
            yield partition, Packet(name, tables={ROWS: part})
        progress.tick(progress.READ, len(table), onward=len(rows))

    def _beside(self, path: str, packet: Packet) -> beam.pvalue.TaggedOutput:
        hashes = hashing.hash_strings(pa.array([path], pa.string()))
        partition = int(hashing.spread(hashes, self._rows.partitions)[0])
        return beam.pvalue.TaggedOutput(REFUSED, (partition, packet))


def accepted(split: Split, rows: Rows) -> Iterator[tuple[str, int, pa.Table]]:
    """(table, partition, accepted rows of it) of one split, without a pipeline."""
    for element in _Read(rows).process(split):
        if isinstance(element, tuple) and element[1].kind in (HYPOTHESES, REFERENCES):
            partition, packet = element
            yield packet.kind, partition, packet.tables[ROWS]


def gathered(imports: Iterable[Imported]) -> Iterator[Imported]:
    """Tables that are alike put together, so that few large ones are cut into partitions.

    Files may differ in optional columns and in the types that stand for strings.
    """
    held: dict[pa.Schema, list[Imported]] = {}
    rows = size = 0
    for imported in imports:
        more, bytes_more = len(imported.rows), imported.rows.nbytes
        if held and (rows + more > _TABLE_ROWS or size + bytes_more > _TABLE_BYTES):
            yield from map(_together, held.values())
            held, rows, size = {}, 0, 0
        held.setdefault(imported.rows.schema.remove_metadata(), []).append(imported)
        rows, size = rows + more, size + bytes_more
    yield from map(_together, held.values())


def _together(alike: list[Imported]) -> Imported:
    schema = alike[0].rows.schema.remove_metadata()
    refused = []
    start = 0
    for imported in alike:
        refused += [(rows + start, reason, detail) for rows, reason, detail in imported.refused]
        start += len(imported.rows)
    rows = pa.concat_tables([imported.rows.cast(schema) for imported in alike])
    return Imported(rows, tuple(refused))


def _refused(name: str, table: pa.Table, checked: Checked) -> pa.Table | None:
    """The refused rows as rows of ``rejected``."""
    if not checked.refused:
        return None
    rows = np.concatenate([numbers for numbers, _, _ in checked.refused])
    found = _source(table).take(pa.array(rows))
    start = 0
    renumbered = []
    for numbers, reason, detail in checked.refused:
        renumbered.append((np.arange(start, start + len(numbers)), reason, detail))
        start += len(numbers)
    return accounts.refused_rows(name, "check", found, renumbered)


def _refused_ids(table: pa.Table, checked: Checked) -> pa.Table:
    """The ids of the refused rows, as far as they have any."""
    rows = [numbers for numbers, _, _ in checked.refused]
    numbers = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    if not len(numbers):
        return pa.table({"example_id": pa.array([], pa.string())})
    ids = checks.readable(table.column("example_id")).take(pa.array(numbers))
    return pa.table({"example_id": ids.drop_null()})


def _with_source(rows: pa.Table, table: pa.Table, kept: np.ndarray) -> pa.Table:
    """The rows, and where they stand."""
    source = table.select([tables.FILE, tables.ROW])
    if len(kept) < len(table):
        source = source.take(pa.array(kept))
    for column in (tables.FILE, tables.ROW):
        rows = rows.append_column(column, source.column(column))
    return rows


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
    columns = {
        tables.FILE: table.column(tables.FILE).cast(pa.string()),
        tables.ROW: table.column(tables.ROW),
    }
    for name in ("example_id", "system"):
        if name in table.column_names:
            columns[name] = checks.readable(table.column(name))
    return pa.table(columns)
