"""Several replies to one query, added up over all partitions: see ``scoring.samples``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import apache_beam as beam
import numpy as np

from scoring import samples
from scoring.samples import Spread
from transforms.packets import Keyed, Packet
from transforms.scores import Measures, statistics_examples

SAMPLES = "samples"

_ARRAYS = ("totals", "indices", "by_index", "beyond")
_WORST = "worst"


@dataclass
class CountSamples(beam.PTransform):  # type: ignore[misc]
    """(partition, statistics) -> (0, ``SAMPLES`` of all). limit: of the range of a query."""

    measures: Measures
    limit: float

    def expand(self, statistics: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        return (
            statistics
            | "OfPartition"
            >> beam.ParDo(_Spread(self.measures, self.limit)).with_output_types(Keyed)
            | "Add" >> beam.CombinePerKey(SpreadFn()).with_output_types(Keyed)
        )


class _Spread(beam.DoFn):  # type: ignore[misc]
    def __init__(self, measures: Measures, limit: float) -> None:
        self._measures, self._limit = measures, limit

    def setup(self) -> None:
        self._layout = self._measures.layout()

    def process(self, element: Keyed) -> Iterator[Keyed]:
        packet = element[1]
        examples = statistics_examples(packet)
        found = samples.spread(self._layout, packet.arrays["segments"], examples, self._limit)
        yield 0, to_packet(found, packet.meta["systems"])


def to_packet(found: Spread, systems: Sequence[str]) -> Packet:
    """A spread as an element. systems: their names."""
    arrays: dict[str, np.ndarray] = {name: getattr(found, name) for name in _ARRAYS}
    return Packet(SAMPLES, {"systems": list(systems)}, arrays, {_WORST: found.worst})


def from_packet(packet: Packet) -> Spread:
    """The inverse of ``to_packet``."""
    arrays = {name: packet.arrays[name] for name in _ARRAYS}
    return Spread(**arrays, worst=packet.tables[_WORST])


@beam.typehints.with_input_types(Packet)
@beam.typehints.with_output_types(Packet)
class SpreadFn(beam.CombineFn):  # type: ignore[misc]
    """Adds spreads; of the worst queries as many are kept as are named."""

    def create_accumulator(self) -> Packet:
        return Packet(SAMPLES)

    def add_input(self, accumulator: Packet, element: Packet) -> Packet:
        return self.merge_accumulators([accumulator, element])

    def merge_accumulators(self, accumulators: Iterable[Packet]) -> Packet:
        packets = [packet for packet in accumulators if packet.arrays]
        if not packets:
            return Packet(SAMPLES)
        return to_packet(samples.merge(map(from_packet, packets)), packets[0].meta["systems"])

    def extract_output(self, accumulator: Packet) -> Packet:
        return accumulator

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return beam.coders.registry.get_coder(Packet)
