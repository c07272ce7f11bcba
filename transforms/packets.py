"""Packet: the one type of element that crosses a shuffle, and its coder.

A packet is a few named numpy arrays and Arrow tables that belong to one partition (or bucket,
or slice), with a little JSON beside them. It is framed as a JSON header and the raw bytes of every
part; tables travel as Arrow IPC with LZ4.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa

_HEADER = struct.Struct("<I")
_ALIGNMENT = 8
_IPC = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)


@dataclass(frozen=True)
class Packet:
    """kind: what it is, one of the words in transforms/; meta: numbers and names, as JSON."""

    kind: str
    meta: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)

    def encode(self) -> bytes:
        """The packet as bytes."""
        arrays = {name: np.ascontiguousarray(a) for name, a in self.arrays.items()}
        tables = {name: _to_ipc(table) for name, table in self.tables.items()}
        header = json.dumps(
            [
                self.kind,
                self.meta,
                [[name, a.dtype.str, a.shape] for name, a in arrays.items()],
                [[name, len(data)] for name, data in tables.items()],
            ],
            separators=(",", ":"),
        ).encode()
        parts: list[Any] = [_HEADER.pack(len(header)), header]
        size = _HEADER.size + len(header)
        for data in [*(a.data for a in arrays.values()), *tables.values()]:
            padding = -size % _ALIGNMENT
            parts += [bytes(padding), data]
            size += padding + data.nbytes if isinstance(data, memoryview) else padding + len(data)
        return b"".join(parts)

    @classmethod
    def decode(cls, data: bytes) -> Packet:
        """The packet of these bytes; its arrays and tables are views of them."""
        (length,) = _HEADER.unpack_from(data)
        start = _HEADER.size + length
        kind, meta, array_parts, table_parts = json.loads(data[_HEADER.size : start])
        arrays = {}
        for name, dtype, shape in array_parts:
            start += -start % _ALIGNMENT
            array = np.frombuffer(data, dtype, int(np.prod(shape, dtype=np.int64)), start)
            arrays[name] = array.reshape(shape)
            start += array.nbytes
        tables = {}
        for name, size in table_parts:
            start += -start % _ALIGNMENT
            tables[name] = pa.ipc.open_stream(pa.py_buffer(data)[start : start + size]).read_all()
            start += size
        return cls(kind, meta, arrays, tables)

    def nbytes(self) -> int:
        """About how large the packet is."""
        arrays: int = sum(a.nbytes for a in self.arrays.values())
        return arrays + sum(int(table.nbytes) for table in self.tables.values())


def _to_ipc(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_IPC) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue()


class PacketCoder(beam.coders.Coder):  # type: ignore[misc]
    """Writes packets in their own framing, never by pickle."""

    def encode(self, value: Packet) -> bytes:
        return value.encode()

    def decode(self, encoded: bytes) -> Packet:
        return Packet.decode(encoded)

    def estimate_size(self, value: Packet) -> int:
        # Without this Beam encodes a second time to count.
        return value.nbytes()

    def is_deterministic(self) -> bool:
        return False

    def to_type_hint(self) -> type:
        return Packet


beam.coders.registry.register_coder(Packet, PacketCoder)

Keyed = tuple[int, Packet]
"""An element of a PCollection between stages: a partition, bucket or slice, and its packet."""


def of_kind(packets: Iterable[Packet], kind: str) -> list[Packet]:
    """The packets of one kind."""
    return [packet for packet in packets if packet.kind == kind]
