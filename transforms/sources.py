"""What there is to read, known from the files' footers before the job starts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from schemas import checks
from schemas.configuration import Evaluation
from schemas.errors import InputError
from transforms import files

HYPOTHESES = "hypotheses"
REFERENCES = "references"

_PARALLEL_FOOTERS = 16

# Sizes found by trial (design.md): a partition's arrays stay near the cache.
_PARTITION_BYTES = 1_750_000
_PARTITION_EXAMPLES = 6_000
_SPLIT_BYTES = 64_000_000
_SPLIT_ROWS = 500_000
# About three times the bytes of the text travel as n-gram hashes and counts.
_FREQUENCY_BYTES_OF_A_BYTE = 3
_BUCKET_BYTES = 6_000_000
# Elements cost about 60 us each, and there are partitions x buckets of them, twice.
_MOST_EXCHANGES = 300_000


@dataclass(frozen=True)
class InputFile:
    """A Parquet file. row_groups: (rows, uncompressed bytes of the columns read) of each."""

    table: str
    path: str
    rows: int
    columns: tuple[str, ...]
    row_groups: tuple[tuple[int, int], ...]

    @property
    def bytes(self) -> int:
        """Uncompressed bytes of the columns read."""
        return sum(size for _, size in self.row_groups)


@dataclass(frozen=True)
class Part:
    """Row groups of one file. first_row: number of the first row of the first of them."""

    path: str
    columns: tuple[str, ...]
    row_groups: tuple[int, ...]
    first_row: int


@dataclass(frozen=True)
class Split:
    """What one task reads: parts of files of one table, about equally large in all."""

    table: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Inputs:
    """All files, and how the work is cut: by their size only, never by the cluster."""

    files: tuple[InputFile, ...]
    partitions: int
    buckets: int

    def rows(self, table: str) -> int:
        """Rows of all files of a table."""
        return sum(file.rows for file in self.files if file.table == table)

    @property
    def bytes(self) -> int:
        """Uncompressed bytes of all columns read."""
        return sum(file.bytes for file in self.files)

    def splits(self) -> list[Split]:
        """The tasks of reading."""
        return [
            split
            for table in (HYPOTHESES, REFERENCES)
            for split in _splits(table, [f for f in self.files if f.table == table])
        ]


def inspect(config: Evaluation) -> Inputs:
    """Find the files and read their footers.

    Raises InputError if a pattern matches nothing, or a file is no Parquet file or lacks a column
    or has it in another type.
    """
    reference_columns = {*config.slices}
    if config.bootstrap.resample_by:
        reference_columns.add(config.bootstrap.resample_by)
    wanted: dict[str, dict[str, tuple[Callable[[pa.DataType], bool], str]]] = {
        HYPOTHESES: {
            "example_id": (checks.is_id, "string or integer"),
            "system": (checks.is_text, "string"),
            "text": (checks.is_text, "string"),
        },
        REFERENCES: {
            "example_id": (checks.is_id, "string or integer"),
            "references": (checks.is_text_list, "list<string>"),
            **dict.fromkeys(
                sorted(reference_columns), (checks.is_slice, "string, number or boolean")
            ),
        },
    }
    found = [
        (table, path)
        for table, patterns in ((HYPOTHESES, config.hypotheses), (REFERENCES, config.references))
        for path in files.find(patterns, table)
    ]
    with ThreadPoolExecutor(_PARALLEL_FOOTERS) as pool:
        inputs = list(pool.map(lambda f: _footer(f[0], f[1], wanted[f[0]]), found))
    partitions = config.partitions or _partitions(inputs)
    return Inputs(tuple(inputs), partitions, _buckets(inputs, partitions))


def _partitions(inputs: Sequence[InputFile]) -> int:
    by_bytes = sum(file.bytes for file in inputs) / _PARTITION_BYTES
    by_rows = sum(f.rows for f in inputs if f.table == REFERENCES) / _PARTITION_EXAMPLES
    return max(1, -int(-max(by_bytes, by_rows) // 1))


def _buckets(inputs: Sequence[InputFile], partitions: int) -> int:
    size = sum(file.bytes for file in inputs) * _FREQUENCY_BYTES_OF_A_BYTE
    return max(1, min(-(-size // _BUCKET_BYTES), _MOST_EXCHANGES // partitions))


def _footer(
    table: str, path: str, wanted: dict[str, tuple[Callable[[pa.DataType], bool], str]]
) -> InputFile:
    try:
        parquet = files.open_parquet(path)
        schema = parquet.schema_arrow
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{path}: cannot be read as Parquet: {_first_line(error)}.\n"
            "Expected a complete Parquet file; write it again or leave it out."
        ) from error
    for name, (fits, expected) in wanted.items():
        _check_column(table, path, schema, name, fits, expected)
    columns = [*wanted]
    if table == HYPOTHESES and "sample" in schema.names:
        _check_column(table, path, schema, "sample", pa.types.is_integer, "integer")
        columns.append("sample")
    metadata = parquet.metadata
    read = set(columns)
    groups = []
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        chunks = (group.column(j) for j in range(group.num_columns))
        size = sum(
            c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in read
        )
        groups.append((group.num_rows, size))
    return InputFile(table, path, metadata.num_rows, tuple(columns), tuple(groups))


def _check_column(
    table: str,
    path: str,
    schema: pa.Schema,
    name: str,
    fits: Callable[[pa.DataType], bool],
    expected: str,
) -> None:
    if schema.names.count(name) != 1:
        close = difflib.get_close_matches(name, schema.names, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InputError(
            f"{path}: the {table} need one column {name!r} ({expected}), "
            f"but the file has {', '.join(map(repr, schema.names))}.{hint}"
        )
    type_ = schema.field(name).type
    if not fits(type_) and not (pa.types.is_null(type_) and name != "references"):
        raise InputError(
            f"{path}: column {name!r} of the {table} is {type_}, expected {expected}.\n"
            "Write the column in that type, or leave the file out."
        )


def _first_line(error: Any) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _splits(table: str, inputs: Sequence[InputFile]) -> list[Split]:
    splits: list[Split] = []
    parts: list[Part] = []
    rows = size = 0
    for file in inputs:
        groups: list[int] = []
        start = row = 0
        for i, (group_rows, group_bytes) in enumerate(file.row_groups):
            full = rows + group_rows > _SPLIT_ROWS or size + group_bytes > _SPLIT_BYTES
            if full and (groups or parts):
                if groups:
                    parts.append(Part(file.path, file.columns, tuple(groups), start))
                splits.append(Split(table, tuple(parts)))
                parts, groups = [], []
                rows = size = 0
                start = row
            groups.append(i)
            rows, size, row = rows + group_rows, size + group_bytes, row + group_rows
        if groups:
            parts.append(Part(file.path, file.columns, tuple(groups), start))
    if parts:
        splits.append(Split(table, tuple(parts)))
    return splits
