"""Parquet: footers before the job starts, row groups while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas import checks, tables
from schemas.checks import Refusal
from transforms import files
from transforms.importers import footers
from transforms.importers.base import (
    BadFile,
    Column,
    Columns,
    Imported,
    InputFile,
    Part,
    changed,
    first_line,
    missing_column,
    wrong_type,
)

MOST_GROUP_BYTES = 2_000_000_000
MOST_GROUP_ROWS = 1 << 26
"""A row group is read as a whole, so it must fit into a worker."""

TABLE_BYTES = 64_000_000
"""Decoded bytes of a table that is handed on."""

# Where not even the largest value in every row makes more than this, nothing need be measured.
_HARMLESS_BYTES = 1 << 28


def inspect(
    path: str, table: str, wanted: Sequence[Column], constants: Sequence[tuple[str, str | None]]
) -> InputFile:
    """Read the footer. Raises BadFile if it is none, or a column is missing, of another type,
    given twice, or too large."""
    try:
        return _inspect(path, table, wanted, constants)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise BadFile(
            path,
            f"cannot be read as Parquet: {first_line(error)}.",
            "Expected a complete Parquet file; write it again or leave it out. Files of another "
            "kind are known by .jsonl or .txt (also .gz), or named by --format.",
        ) from error


def names(path: str) -> set[str]:
    """The columns of a file. Raises what pyarrow raises if it is none."""
    with files.open_parquet(path) as parquet:
        return set(parquet.schema_arrow.names)


def _inspect(
    path: str, table: str, wanted: Sequence[Column], constants: Sequence[tuple[str, str | None]]
) -> InputFile:
    with pq.ParquetFile(pa.BufferReader(_end(path))) as parquet:
        schema, metadata = parquet.schema_arrow, parquet.metadata
    given = dict(constants)
    columns = []
    for column in wanted:
        there = [name for name in column.names if name in schema.names]
        if there and column.name in given:
            raise BadFile(
                path,
                f"{column.name!r} is given twice: as column {there[0]!r} and by a folder or an "
                "option.",
                "Take one of them away.",
            )
        if not there and (not column.needed or column.name in given):
            continue
        if not there or schema.names.count(there[0]) != 1:
            raise missing_column(path, table, column, schema.names)
        fits, expected = checks.KINDS[column.kind]
        type_ = schema.field(there[0]).type
        if not fits(type_):
            raise wrong_type(path, table, there[0], str(type_), expected)
        columns.append(Column(column.name, (there[0],), column.kind, column.needed))
    groups = []
    for i in range(metadata.num_row_groups):
        rows, size = _size(metadata, i, columns)
        if size < 0 or rows < 0:
            raise ValueError("its footer has numbers below 0")
        if size > MOST_GROUP_BYTES or rows > MOST_GROUP_ROWS:
            raise BadFile(
                path,
                f"row group {i} has {rows:,} rows and {size:,} bytes in the columns that are read.",
                f"Expected at most {MOST_GROUP_ROWS:,} and {MOST_GROUP_BYTES:,}: write the file "
                "with smaller row groups.",
            )
        groups.append((rows, size))
    found = Columns("parquet", tuple(columns), tuple(constants))
    return InputFile(table, path, metadata.num_rows, found, tuple(groups))


# Most footers are shorter, and a store answers no slower for it.
_TAIL_BYTES = 1 << 16


def _end(path: str) -> bytes:
    """The end of a file with its whole footer, which was looked at. Raises OSError, ValueError."""
    with files.open_bytes(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        end: bytes = file.read()
        if end[-4:] != footers.MAGIC or len(end) < footers.TAIL_BYTES:
            return end  # pyarrow says what is wrong
        length = int.from_bytes(end[-8:-4], "little")
        whole = length + footers.TAIL_BYTES
        if whole > size:
            raise ValueError("its footer is longer than the file")
        if whole > len(end):
            file.seek(size - whole)
            end = file.read()
    footers.check(end[-whole : -footers.TAIL_BYTES])
    return end


def _chunks(
    metadata: pq.FileMetaData, group: int, columns: Sequence[Column]
) -> list[pq.ColumnChunkMetaData]:
    names = {column.names[0] for column in columns}
    of_group = metadata.row_group(group)
    chunks = (of_group.column(j) for j in range(of_group.num_columns))
    # A column of lists is a.list.element; a plain one may have a dot in its name.
    return [
        c for c in chunks if c.path_in_schema in names or c.path_in_schema.split(".")[0] in names
    ]


def _size(metadata: pq.FileMetaData, group: int, columns: Sequence[Column]) -> tuple[int, int]:
    """Rows of a row group, and uncompressed bytes of the columns."""
    chunks = _chunks(metadata, group, columns)
    size = sum(chunk.total_uncompressed_size for chunk in chunks)
    return metadata.row_group(group).num_rows, size


def read(part: Part, max_characters: int) -> Iterator[Imported]:
    """The rows of some row groups; of each at least one table. Raises BadFile."""
    first = part.first_row
    for group, found in zip(part.row_groups, part.found):
        try:
            table = _read_group(part, group, found)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise BadFile(
                part.path,
                f"row group {group} cannot be read: {first_line(error)}.",
                "Write the file again or leave it out.",
            ) from error
        yield from _decoded(table, part, first, max_characters)
        first += len(table)


def _read_group(part: Part, group: int, found: tuple[int, int]) -> pa.Table:
    columns = part.columns.read
    with files.open_parquet(part.path) as parquet:
        there = group < parquet.metadata.num_row_groups
        if not there or _size(parquet.metadata, group, columns) != found:
            raise changed(part.path)
        encoded = [
            chunk.path_in_schema
            for chunk in _chunks(parquet.metadata, group, columns)
            if chunk.physical_type == "BYTE_ARRAY"
            and chunk.num_values * chunk.total_uncompressed_size > _HARMLESS_BYTES
        ]
        if not encoded:
            table = _read_columns(parquet, group, columns)
    if encoded:
        # A value that is stored once and used in every row may not fit into memory.
        with files.open_parquet(part.path, encoded) as parquet:
            table = _read_columns(parquet, group, columns)
    return table


def _read_columns(parquet: pq.ParquetFile, group: int, columns: Sequence[Column]) -> pa.Table:
    names = sorted({column.names[0] for column in columns})
    table = parquet.read_row_group(group, names, use_threads=False)
    table.validate()
    return pa.table({column.name: table.column(column.names[0]) for column in columns})


def _decoded(table: pa.Table, part: Part, first: int, max_characters: int) -> Iterator[Imported]:
    """The table without dictionaries, in slices that fit into memory; texts that are too long to
    be used and stored once are not copied but refused."""
    n = len(table)
    for name, value in part.columns.constants:
        table = table.append_column(name, pa.repeat(pa.scalar(value, pa.string()), n))
    source = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([part.path]))
    table = table.append_column(tables.FILE, source).append_column(
        tables.ROW, pa.array(np.arange(first, first + n))
    )
    encoded = [
        name
        for name in table.column_names
        if name != tables.FILE and _values_type(table.schema.field(name).type) is not None
    ]
    if not encoded:
        yield Imported(table)
        return
    # Slices in which every column is one chunk, so that it has one dictionary.
    for batch in table.to_batches():
        yield from _slices(batch, encoded, max_characters)


def _values_type(type_: pa.DataType) -> pa.DataType | None:
    """The type of a dictionary's strings, in a column or in lists; None if there is none."""
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _values_type(type_.value_type)
    return None


def _slices(batch: pa.RecordBatch, encoded: Sequence[str], longest: int) -> Iterator[Imported]:
    n = batch.num_rows
    bytes_of_row = np.zeros(n, np.int64)
    too_long = np.zeros(n, np.bool_)
    columns = {name: batch.column(name) for name in batch.schema.names}
    for name in encoded:
        array = columns[name]
        flat, owners = array, None
        if not pa.types.is_dictionary(array.type):
            sizes = _numbers(pc.list_value_length(array).fill_null(0))
            flat, owners = array.flatten(), np.repeat(np.arange(n), sizes)
        values = flat.dictionary
        sizes = _numbers(pc.binary_length(values).fill_null(0))
        # Bytes bound characters: whoever has fewer bytes is not too long.
        long = np.flatnonzero(sizes > longest)
        if len(long):
            characters = _numbers(pc.utf8_length(_valid(values.take(pa.array(long)))))
            long = long[characters > longest]
        index = _numbers(flat.indices.fill_null(-1))
        of_text = np.append(sizes, 0)
        is_long = np.zeros(len(sizes) + 1, np.bool_)
        if len(long):
            is_long[long] = True
            of_text[long] = 0
            shortened = pc.if_else(pa.array(is_long[:-1]), pa.scalar("", values.type), values)
            flat = pa.DictionaryArray.from_arrays(flat.indices, shortened)
            columns[name] = flat if owners is None else _relisted(array, flat)
        if owners is None:
            bytes_of_row += of_text[index]
            too_long |= is_long[index]
        else:
            np.add.at(bytes_of_row, owners, of_text[index])
            too_long[owners[is_long[index]]] = True
    whole = pa.table(columns)
    target = pa.schema([(f.name, _plain(f)) for f in whole.schema])
    ends = np.cumsum(bytes_of_row)
    start = 0
    while start < n:
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + TABLE_BYTES, "right")))
        part = whole.slice(start, stop - start)
        rows = np.flatnonzero(too_long[start:stop])
        detail = f"a text of more than {longest:,} characters"
        refused: list[Refusal] = [(rows, "too_long", detail)] if len(rows) else []
        yield Imported(part.cast(target), tuple(refused))
        start = stop


def _relisted(lists: pa.Array, flat: pa.Array) -> pa.Array:
    """Lists like these of other values. Nulls are lists of nothing, as everywhere."""
    sizes = _numbers(pc.list_value_length(lists).fill_null(0))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return pa.LargeListArray.from_arrays(pa.array(offsets), flat)


def _plain(field: pa.Field) -> pa.DataType:
    if field.name == tables.FILE:
        return field.type
    type_ = field.type
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if _values_type(type_) is not None:
        return pa.list_(_values_type(type_))
    return type_


def _valid(values: pa.Array) -> pa.Array:
    """The values; those that are no UTF-8 as empty ones, since they cannot be counted."""
    plain = checks.readable(pa.chunked_array([values]))
    return plain.fill_null("")


def _numbers(column: pa.Array) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = column.to_numpy(zero_copy_only=False).astype(np.int64)
    return values
