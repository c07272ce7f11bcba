"""What the texts of a run are like: counts of every partition, added up, and the table of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apache_beam as beam
import pyarrow as pa

from schemas import tables
from scoring import data_report
from scoring.data_report import Tally, Track
from transforms.packets import Keyed, Packet, PacketCoder, of_kind

DATA = "data"

_ARRAYS = ("place", "value", "count")
_PENDING = 50_000
"""Rows that wait before they are added up."""


@dataclass(frozen=True)
class Look:
    """What is looked at. limit: of the hashes of examples, of 2**64; 0: nothing. tracks: what was
    chosen, in the order of the recipes."""

    limit: int
    tracks: tuple[Track, ...]


def limit_of(rows: int, wanted: int) -> int:
    """The limit by which about ``wanted`` of so many rows are looked at."""
    return 2**64 if rows <= wanted else wanted * 2**64 // rows


def to_packet(tally: Tally) -> Packet:
    """A tally as an element; also the accumulator of ``TallyFn``."""
    return Packet(DATA, arrays={name: getattr(tally, name) for name in _ARRAYS})


def from_packet(packet: Packet) -> Tally:
    """The inverse of ``to_packet``."""
    return Tally(*(packet.arrays[name] for name in _ARRAYS))


@dataclass
class AddUp(beam.PTransform):  # type: ignore[misc]
    """(partition, ``DATA``) -> (0, ``DATA``): the sum."""

    def expand(self, parts: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        return (
            parts
            | "Together" >> beam.Map(lambda element: (0, element[1])).with_output_types(Keyed)
            | "Add" >> beam.CombinePerKey(TallyFn()).with_output_types(Keyed)
        )


@beam.typehints.with_input_types(Packet)
@beam.typehints.with_output_types(Packet)
class TallyFn(beam.CombineFn):  # type: ignore[misc]
    """Adds tallies. What comes in is only held until it is as much as what was added before, so
    merging costs little however many there are."""

    def create_accumulator(self) -> list[Packet]:
        return []

    def add_input(self, accumulator: list[Packet], element: Packet) -> list[Packet]:
        return self.merge_accumulators([accumulator, [element]])

    def merge_accumulators(self, accumulators: Iterable[list[Packet]]) -> list[Packet]:
        parts = [packet for accumulator in accumulators for packet in accumulator]
        sizes = [len(packet.arrays["place"]) for packet in parts]
        if sum(sizes) > 2 * max(sizes, default=0) + _PENDING:
            return self.compact(parts)
        return parts

    def compact(self, accumulator: list[Packet]) -> list[Packet]:
        return [self.extract_output(accumulator)] if len(accumulator) > 1 else accumulator

    def extract_output(self, accumulator: list[Packet]) -> Packet:
        return to_packet(data_report.merge([from_packet(packet) for packet in accumulator]))

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return beam.coders.IterableCoder(PacketCoder())


def reported(
    look: Look, packets: Iterable[Packet], systems: Sequence[str]
) -> tuple[pa.Table, list[str]]:
    """The rows of ``data`` and the warnings."""
    if not look.limit:
        return tables.DATA.empty_table(), []
    total = data_report.merge([from_packet(packet) for packet in of_kind(packets, DATA)])
    figures = data_report.figures(total, len(systems), len(look.tracks))
    rows = [
        {
            "table": "references" if figure.source == data_report.REFERENCES else "hypotheses",
            "system": systems[figure.source - 1] if figure.source else None,
            "track": None if figure.track is None else look.tracks[figure.track].name,
            "measure": figure.measure,
            "count": figure.count,
            "of": figure.of,
            "value": figure.value,
        }
        for figure in figures
    ]
    table = pa.Table.from_pylist(rows, schema=tables.DATA)
    return table, data_report.warnings(figures, systems, look.tracks)
