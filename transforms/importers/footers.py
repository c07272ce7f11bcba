"""A look at the footer of a Parquet file for what would end the process.

pyarrow (25, and those before it that know size statistics) checks the footer's entry of a column
only when Python asks for it, by an exception in C++ that nothing catches: ``terminate called after
throwing an instance of 'parquet::ParquetException'``. So what is checked there is checked here
first. The footer is a struct in Thrift's compact protocol (parquet.thrift in
apache/parquet-format); only a few fields of it are looked at, the others are stepped over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAGIC = b"PAR1"
TAIL_BYTES = 8
"""The length of the footer, four bytes, and the magic."""

_BOOLS, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    (1, 2), 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
_BYTE_ARRAY = 6
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2

Readers = dict[tuple[int, int], Callable[[], Any]]
"""What reads the field of a number and a kind. One of another kind is stepped over."""


def check(footer: bytes) -> None:
    """Raise ValueError for a footer that must not be given to pyarrow."""
    try:
        _check(_Reader(footer))
    except (IndexError, RecursionError, OverflowError) as error:
        raise ValueError("its footer is damaged") from error


@dataclass
class _Leaf:
    """A column: whether its values are byte arrays, its highest levels."""

    is_text: bool
    definition: int
    repetition: int


@dataclass
class _Chunk:
    """What the footer says of a column in a row group."""

    encrypted: bool = False
    has_text_size: bool = False
    repetition: int = 0
    definition: int = 0


@dataclass
class _Element:
    type: int | None = None
    repetition: int = _REQUIRED
    children: int = 0


@dataclass
class _Footer:
    schema: list[_Element] = field(default_factory=list)
    groups: list[list[_Chunk]] = field(default_factory=list)


def _check(reader: _Reader) -> None:
    footer = reader.footer()
    leaves = _leaves(footer.schema)
    for chunks in footer.groups:
        if len(chunks) != len(leaves):
            raise ValueError("a row group has not as many columns as the schema")
        for chunk, leaf in zip(chunks, leaves):
            if chunk.encrypted:
                raise ValueError("a column is encrypted")
            if chunk.has_text_size and not leaf.is_text:
                raise ValueError("the size statistics of a column are damaged")
            if chunk.repetition not in (0, leaf.repetition + 1) or (
                chunk.definition not in (0, leaf.definition + 1)
            ):
                raise ValueError("the size statistics of a column are damaged")


def _leaves(schema: list[_Element]) -> list[_Leaf]:
    """The columns, from the tree that the schema lists depth first."""
    leaves: list[_Leaf] = []
    # (children to come, definition, repetition) of the groups that are open
    open_groups = [(schema[0].children if schema else 0, 0, 0)]
    for element in schema[1:]:
        while open_groups and open_groups[-1][0] == 0:
            open_groups.pop()
        if not open_groups:
            break
        left, definition, repetition = open_groups.pop()
        open_groups.append((left - 1, definition, repetition))
        if element.repetition not in (_REQUIRED, _OPTIONAL, _REPEATED):
            raise ValueError("the schema in its footer is damaged")
        definition += element.repetition != _REQUIRED
        repetition += element.repetition == _REPEATED
        if element.type is None:
            open_groups.append((element.children, definition, repetition))
        else:
            leaves.append(_Leaf(element.type == _BYTE_ARRAY, definition, repetition))
    return leaves


class _Reader:
    """Steps through a struct of Thrift's compact protocol. Raises IndexError at its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def footer(self) -> _Footer:
        found = _Footer()
        self._struct(
            {
                (2, _LIST): lambda: found.schema.extend(self._list(self._element)),
                (4, _LIST): lambda: found.groups.extend(self._list(self._group)),
            }
        )
        return found

    def _element(self) -> _Element:
        found = _Element()

        def set_(name: str) -> Callable[[], None]:
            return lambda: setattr(found, name, self._integer())

        self._struct(
            {(1, _I32): set_("type"), (3, _I32): set_("repetition"), (5, _I32): set_("children")}
        )
        return found

    def _group(self) -> list[_Chunk]:
        found: list[_Chunk] = []
        self._struct({(1, _LIST): lambda: found.extend(self._list(self._chunk))})
        return found

    def _chunk(self) -> _Chunk:
        found = _Chunk()

        def encrypted() -> None:
            found.encrypted = True
            self._skip(_STRUCT)

        def text_size() -> None:
            found.has_text_size = True
            self._skip(_I64)

        def histogram(name: str) -> Callable[[], None]:
            return lambda: setattr(found, name, len(self._list(self._integer)))

        sizes: Readers = {
            (1, _I64): text_size,
            (2, _LIST): histogram("repetition"),
            (3, _LIST): histogram("definition"),
        }
        column: Readers = {(16, _STRUCT): lambda: self._struct(sizes)}
        self._struct({(3, _STRUCT): lambda: self._struct(column), (8, _STRUCT): encrypted})
        return found

    def _struct(self, readers: Readers) -> None:
        """Fields one by one: those that have a reader by it, the others are stepped over."""
        number = 0
        while header := self._byte():
            kind = header & 15
            number = number + (header >> 4) if header >> 4 else self._integer()
            reader = readers.get((number, kind))
            if reader is None:
                self._skip(kind)
            else:
                reader()

    def _list(self, read: Callable[[], Any]) -> list[Any]:
        header = self._byte()
        size = header >> 4 if header >> 4 < 15 else self._varint()
        if size > len(self._data):
            raise ValueError("its footer is damaged")
        return [read() for _ in range(size)]

    def _skip(self, kind: int) -> None:
        if kind in _BOOLS:
            return
        if kind in (_I16, _I32, _I64):
            self._varint()
        elif kind == _BYTE:
            self._at += 1
        elif kind == _DOUBLE:
            self._at += 8
        elif kind == _BINARY:
            size = self._varint()  # moves the place itself
            self._at += size
        elif kind in (_LIST, _SET):
            header = self._byte()
            size = header >> 4 if header >> 4 < 15 else self._varint()
            self._skip_many([header & 15], size)
        elif kind == _MAP:
            if size := self._varint():
                kinds = self._byte()
                self._skip_many([kinds >> 4, kinds & 15], size)
        elif kind == _STRUCT:
            self._struct({})
        else:
            raise ValueError("its footer is damaged")

    def _skip_many(self, kinds: list[int], size: int) -> None:
        if size > len(self._data):
            raise ValueError("its footer is damaged")
        for _ in range(size):
            for kind in kinds:
                if kind in _BOOLS:  # in a list they have a byte each
                    self._at += 1
                else:
                    self._skip(kind)

    def _byte(self) -> int:
        byte = self._data[self._at]
        self._at += 1
        return byte

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
