"""A packet comes back from its bytes as it was, whatever is in it."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from apache_beam.typehints.native_type_compatibility import convert_to_beam_type
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from transforms.packets import Keyed, Packet, PacketCoder, of_kind

CODER = PacketCoder()

DTYPES = st.sampled_from(
    [np.dtype(t) for t in ("u1", "i2", "<i4", "<i8", "<u8", "<f4", "<f8", "?", ">i4")]
)
ARRAYS = DTYPES.flatmap(
    lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=1, min_side=0, max_side=4))
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
META = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | TEXTS
        | st.floats(allow_nan=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Some without rows, some slices of larger ones, some of several chunks."""
    rows = draw(st.integers(0, 6))
    texts = draw(st.lists(TEXTS | st.none(), min_size=rows, max_size=rows))
    lists = draw(
        st.lists(st.none() | st.lists(TEXTS | st.none(), max_size=3), min_size=rows, max_size=rows)
    )
    table = pa.table(
        {
            "text": pa.array(texts, pa.string()),
            "lists": pa.array(lists, pa.list_(pa.string())),
            "code": pa.array(texts, pa.string()).dictionary_encode(),
            "数": pa.array(range(rows), pa.int64()),
        }
    )
    if draw(st.booleans()):
        table = pa.concat_tables([table, table.slice(1)]).unify_dictionaries()
    start = draw(st.integers(0, len(table)))
    return table.slice(start, draw(st.integers(0, len(table))))


PACKETS = st.builds(
    Packet,
    TEXTS,
    META,
    st.dictionaries(TEXTS, ARRAYS, max_size=4),
    st.dictionaries(TEXTS, tables(), max_size=2),
)


def check_equal(found: Packet, expected: Packet) -> None:
    assert found.kind == expected.kind
    assert repr(found.meta) == repr(expected.meta)
    assert list(found.arrays) == list(expected.arrays)
    for name, array in expected.arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].shape == array.shape
        assert found.arrays[name].tobytes() == array.tobytes()
    assert list(found.tables) == list(expected.tables)
    for name, table in expected.tables.items():
        assert found.tables[name].schema == table.schema
        assert found.tables[name].to_pylist() == table.to_pylist()


@given(PACKETS)
def test_a_packet_comes_back_as_it_was(packet: Packet) -> None:
    data = packet.encode()
    found = CODER.decode(CODER.encode(packet))
    check_equal(found, packet)
    assert found.encode() == data  # and nothing was changed by it


@given(PACKETS)
def test_arrays_of_a_packet_stand_where_their_words_are_aligned(packet: Packet) -> None:
    data = packet.encode()
    start = np.frombuffer(data, np.uint8).ctypes.data
    for array in Packet.decode(data).arrays.values():
        if array.size:
            assert (array.ctypes.data - start) % 8 == 0


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3), np.int64),
        np.zeros((3, 0, 2), np.float64),
        np.arange(24, dtype=np.int32).reshape(2, 3, 4),
        np.arange(24).reshape(4, 6)[::2, ::3],
        np.asfortranarray(np.arange(6).reshape(2, 3)),
    ],
    ids=["no rows", "no columns", "three axes", "strided", "Fortran's order"],
)
def test_arrays_of_any_shape_and_order_come_back(array: npt.NDArray[Any]) -> None:
    packet = Packet("kind", {}, {"first": np.ones(1, np.uint8), "array": array})
    check_equal(Packet.decode(packet.encode()), packet)


def test_a_slice_of_a_large_table_travels_as_the_slice_alone() -> None:
    large = pa.table({"text": ["一二三四五六七八九十" * 5] * 20_000})
    packet = Packet("kind", tables={"rows": large.slice(10_000, 10)})
    assert len(packet.encode()) < 5_000


@given(PACKETS)
def test_the_estimated_size_is_that_of_the_data(packet: Packet) -> None:
    expected = sum(a.nbytes for a in packet.arrays.values())
    expected += sum(t.nbytes for t in packet.tables.values())
    assert CODER.estimate_size(packet) == packet.nbytes() == expected


def test_the_estimated_size_does_not_encode(monkeypatch: pytest.MonkeyPatch) -> None:
    packet = Packet("kind", {}, {"a": np.zeros(1000, np.int64)})

    def fail(self: Packet) -> bytes:
        raise AssertionError("encoded to be counted")

    monkeypatch.setattr(Packet, "encode", fail)
    assert CODER.estimate_size(packet) == 8000


def test_beam_uses_the_coder_for_packets_alone_and_keyed() -> None:
    registry = beam.coders.registry
    assert isinstance(registry.get_coder(Packet), PacketCoder)
    keyed = registry.get_coder(convert_to_beam_type(Keyed))
    packet = Packet("kind", {"数": [1]}, {"a": np.arange(3)}, {"t": pa.table({"x": ["一"]})})
    encoded = keyed.encode((7, packet))
    assert packet.encode() in encoded
    key, found = keyed.decode(encoded)
    assert key == 7
    check_equal(found, packet)


def test_packets_are_told_apart_by_their_kind() -> None:
    packets = [Packet("a", {"n": 1}), Packet("b"), Packet("a", {"n": 2})]
    assert [packet.meta["n"] for packet in of_kind(packets, "a")] == [1, 2]
    assert of_kind(packets, "c") == []
