"""Finished runs read back: their files of segments become statistics by partition again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa

from schemas.errors import InputError
from scoring import saved
from scoring.joining import Examples
from transforms import accounts, create, files, read
from transforms.packets import Keyed, Packet
from transforms.scores import STATISTICS, Measures
from transforms.tokens import example_table

SEGMENTS = "segments"
_ROWS = "rows"


@dataclass(frozen=True)
class SavedRun:
    """A run to read. files: its files of segments; places: (system, where its sums stand)."""

    path: str
    files: tuple[str, ...]
    places: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass
class ReadRuns(beam.PTransform):  # type: ignore[misc]
    """-> main: (partition, ``STATISTICS``); accounts.ACCOUNT: (partition, account).

    names: of what is scored, in the order of places.
    """

    runs: tuple[SavedRun, ...]
    measures: Measures
    slices: tuple[str, ...]
    names: tuple[str, ...]
    partitions: int

    def expand(self, root: Any) -> beam.pvalue.DoOutputsTuple:
        parts = [(i, path) for i, run in enumerate(self.runs) for path in run.files]
        return (
            root
            | "Files" >> create.Create(parts, tuple[int, str])
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.ParDo(_Read(self)).with_output_types(Keyed)
            | "ByPartition" >> beam.GroupByKey()
            | "Join"
            >> beam.ParDo(_Join(self))
            .with_output_types(Keyed, **{accounts.ACCOUNT: Keyed})
            .with_outputs(accounts.ACCOUNT, main=STATISTICS)
        )


class _Read(beam.DoFn):  # type: ignore[misc]
    def __init__(self, runs: ReadRuns) -> None:
        self._slices, self._partitions = runs.slices, runs.partitions
        self._measures = runs.measures

    def process(self, element: tuple[int, str]) -> Iterator[Keyed]:
        run, path = element
        columns = saved.columns(self._measures.layout(), self._slices)
        try:
            with files.open_parquet(path) as parquet:
                for group in range(parquet.num_row_groups):
                    rows = parquet.read_row_group(group, columns, use_threads=False)
                    for partition, part in read.cut(rows.select(columns), self._partitions):
                        yield partition, Packet(SEGMENTS, {"run": run}, tables={_ROWS: part})
        except (OSError, KeyError, pa.ArrowException) as error:
            raise InputError(
                f"{path}: cannot be read as segments of a run: {error}.\n"
                "The folder was changed after the run; run it again."
            ) from error


class _Join(beam.DoFn):  # type: ignore[misc]
    def __init__(self, runs: ReadRuns) -> None:
        self._runs = runs

    def process(self, element: tuple[int, Iterable[Packet]]) -> Iterable[object]:
        partition, packets = element
        of_run: dict[int, list[pa.Table]] = {i: [] for i in range(len(self._runs.runs))}
        for packet in packets:
            of_run[packet.meta["run"]].append(packet.tables[_ROWS])
        layout = self._runs.measures.layout()
        schema = next(tables[0].schema for tables in of_run.values() if tables)
        joined = saved.join_runs(
            layout,
            [
                saved.Segments(
                    pa.concat_tables(tables) if tables else schema.empty_table(),
                    dict(self._runs.runs[i].places),
                )
                for i, tables in of_run.items()
            ],
            self._runs.slices,
            len(self._runs.names),
        )
        yield beam.pvalue.TaggedOutput(
            accounts.ACCOUNT, (partition, accounts.account(joined.counts))
        )
        if len(joined.examples):
            names = self._runs.names
            yield partition, _statistics(joined.examples, joined.per_example, names)


def _statistics(examples: Examples, per_example: np.ndarray, names: Sequence[str]) -> Packet:
    arrays = {
        "per_example": per_example,
        "references": examples.layout.references,
        "hypotheses": examples.layout.hypotheses,
    }
    for name in ("units", "system", "sample", "filled", "absent"):
        arrays[name] = getattr(examples, name)
    meta = {"scored": list(names)}
    return Packet(STATISTICS, meta, arrays, {"examples": example_table(examples)})
