"""Packet: the one type of element that crosses a shuffle, and its coder.

A packet is a few named numpy arrays and Arrow tables that belong to one partition (or bucket,
or slice), with a little JSON beside them. It is framed as a JSON header and the raw bytes of every
part; tables travel as Arrow IPC with LZ4.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable
from typing import Any

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transforms import spill

_HEADER = struct.Struct("<I")
_ALIGNMENT = 8
_IPC = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)


class Packet:
    """kind: what it is, one of the words in transforms/; meta: numbers and names, as JSON.

    Immutable. One that was decoded keeps its bytes, reads them when it is asked for something and
    hands them out again when it is encoded: a runner that only passes packets on, as every
    GroupByKey of the local runner does, neither parses nor compresses anything.
    """

    __slots__ = ("_arrays", "_data", "_kind", "_meta", "_tables")

    def __init__(
        self,
        kind: str,
        meta: dict[str, Any] | None = None,
        arrays: dict[str, npt.NDArray[Any]] | None = None,
        tables: dict[str, pa.Table] | None = None,
    ) -> None:
        self._kind: str | None = kind
        self._meta = meta or {}
        self._arrays = arrays or {}
        self._tables = tables or {}
        self._data: bytes | None = None

    @property
    def kind(self) -> str:
        return self._read()

    @property
    def meta(self) -> dict[str, Any]:
        self._read()
        return self._meta

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        self._read()
        return self._arrays

    @property
    def tables(self) -> dict[str, pa.Table]:
        self._read()
        return self._tables

    def __repr__(self) -> str:
        shapes = {name: (a.dtype.str, a.shape) for name, a in self.arrays.items()}
        return f"Packet({self.kind!r}, {self.meta!r}, {shapes}, {list(self.tables)})"

    def encode(self) -> bytes:
        """The packet as bytes."""
        if self._data is not None:
            return self._data
        arrays = {name: np.ascontiguousarray(a) for name, a in self._arrays.items()}
        tables = {name: _to_ipc(table) for name, table in self._tables.items()}
        header = json.dumps(
            [
                self._kind,
                self._meta,
                [[name, a.dtype.str, a.shape] for name, a in arrays.items()],
                [[name, data.size] for name, data in tables.items()],
            ],
            separators=(",", ":"),
        ).encode()
        parts: list[Any] = [_HEADER.pack(len(header)), header]
        size = _HEADER.size + len(header)
        blobs = [*((a.data, a.nbytes) for a in arrays.values())]
        blobs += [(data, data.size) for data in tables.values()]
        for data, length in blobs:
            padding = -size % _ALIGNMENT
            parts += [bytes(padding), data]
            size += padding + length
        return spill.put(b"".join(parts))

    @classmethod
    def decode(cls, data: bytes) -> Packet:
        """The packet of these bytes; its arrays and tables are views of them."""
        packet = cls("")
        packet._kind, packet._data = None, data
        return packet

    def _read(self) -> str:
        if self._kind is not None:
            return self._kind
        assert self._data is not None
        data = spill.get(self._data)
        (length,) = _HEADER.unpack_from(data)
        start = _HEADER.size + length
        kind, self._meta, array_parts, table_parts = json.loads(data[_HEADER.size : start])
        for name, dtype, shape in array_parts:
            start += -start % _ALIGNMENT
            array = np.frombuffer(data, dtype, math.prod(shape), start)
            self._arrays[name] = array.reshape(shape)
            start += array.nbytes
        for name, size in table_parts:
            start += -start % _ALIGNMENT
            part = pa.py_buffer(data)[start : start + size]
            self._tables[name] = pa.ipc.open_stream(part).read_all()
            start += size
        self._kind = kind
        return str(kind)

    def nbytes(self) -> int:
        """About how large the packet is."""
        if self._data is not None:
            return spill.size(self._data)
        arrays: int = sum(a.nbytes for a in self._arrays.values())
        return arrays + sum(int(table.nbytes) for table in self._tables.values())


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
