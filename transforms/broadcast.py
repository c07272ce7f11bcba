"""Small values that every partition needs: sent to each of them through the shuffle of its rows.

A side input would do the same with less writing, but portable runners end a stage before every step
that has one, and Flink sends it beside the data, to every task, before any of it may start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from transforms.packets import Keyed, Packet, of_kind

_VALUE = "value"


@dataclass
class ToAll(beam.PTransform):  # type: ignore[misc]
    """One value -> (partition, a packet of this kind with it) for every partition.

    What is not keyed by a partition but all together is partition 0 of 1. Values are JSON.
    """

    kind: str
    partitions: int

    def expand(self, values: beam.PCollection) -> beam.PCollection[Keyed]:
        each = beam.FlatMap(_to_all, self.kind, self.partitions)
        return values | "Each" >> each.with_output_types(Keyed)


def _to_all(value: Any, kind: str, partitions: int) -> Iterator[Keyed]:
    packet = to_packet(kind, value)
    for partition in range(partitions):
        yield partition, packet


def to_packet(kind: str, value: Any) -> Packet:
    """A packet that holds a value."""
    return Packet(kind, {_VALUE: value})


def from_packets(packets: Iterable[Packet], kind: str) -> Any:
    """The value of this kind among the packets of a partition. Raises ValueError unless there is
    exactly one."""
    (packet,) = of_kind(packets, kind)
    return packet.meta[_VALUE]


def has_more(packets: Sequence[Packet], *kinds: str) -> bool:
    """Whether there is anything but values of these kinds: most partitions of few rows are
    empty."""
    return any(packet.kind not in kinds for packet in packets)
