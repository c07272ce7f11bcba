"""How often references of each type match best, counted over all partitions."""

from __future__ import annotations

from collections.abc import Iterable

import apache_beam as beam
import numpy as np
import pyarrow as pa

from scoring.joining import Examples
from scoring.references import TypeCounts, count_types
from transforms.packets import Keyed, Packet
from transforms.tokens import TYPES


def count(packet: Packet, examples: Examples, matched: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The counts of a partition, as a ``STATISTICS`` packet carries them. packet: its tokens."""
    systems = len(packet.meta["systems"])
    types = packet.tables[TYPES].column(TYPES)
    flat = pa.concat_arrays(types.chunks) if types.num_chunks else pa.array([], pa.string())
    counts = packet_of(count_types(examples, flat, matched, systems))
    return counts.meta[TYPES], counts.arrays[TYPES]


class CountTypes(beam.PTransform):  # type: ignore[misc]
    """(partition, statistics) -> (0, the counts of all partitions); nothing without any type."""

    def expand(self, statistics: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        return (
            statistics
            | "OfPartition" >> beam.FlatMap(_of_partition).with_output_types(Keyed)
            | "Sum" >> beam.CombinePerKey(TypesFn()).with_output_types(Keyed)
        )


def _of_partition(element: Keyed) -> Iterable[Keyed]:
    packet = element[1]
    if TYPES in packet.arrays:
        yield 0, Packet(TYPES, {TYPES: packet.meta[TYPES]}, {TYPES: packet.arrays[TYPES]})


@beam.typehints.with_input_types(Packet)
@beam.typehints.with_output_types(Packet)
class TypesFn(beam.CombineFn):  # type: ignore[misc]
    """Adds the counts of all partitions."""

    def create_accumulator(self) -> Packet:
        return Packet(TYPES)

    def add_input(self, accumulator: Packet, element: Packet) -> Packet:
        return self.merge_accumulators([accumulator, element])

    def merge_accumulators(self, accumulators: Iterable[Packet]) -> Packet:
        total: TypeCounts | None = None
        for packet in accumulators:
            if packet.arrays:
                counts = counts_of(packet)
                total = counts if total is None else total + counts
        return Packet(TYPES) if total is None else packet_of(total)

    def extract_output(self, accumulator: Packet) -> Packet:
        return accumulator

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return beam.coders.registry.get_coder(Packet)


def packet_of(counts: TypeCounts) -> Packet:
    """The inverse of ``counts_of``."""
    rows = np.concatenate([np.append(counts.references, 0)[None], counts.matched])
    return Packet(TYPES, {TYPES: list(counts.types)}, {TYPES: rows})


def counts_of(packet: Packet) -> TypeCounts:
    """The counts that a packet holds: its first row is the references."""
    rows = packet.arrays[TYPES]
    return TypeCounts(tuple(packet.meta[TYPES]), rows[1:], rows[0, :-1])
