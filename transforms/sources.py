"""What there is to read, known before the job starts: footers, first lines, numbers of lines."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from urllib.parse import unquote

import pyarrow as pa

from schemas import slicing
from schemas.configuration import Evaluation
from schemas.errors import ConfigurationError, InputError
from schemas.slicing import Slice
from transforms import files
from transforms.importers import jsonl, lines, parquet
from transforms.importers.base import (
    HYPOTHESES,
    JSONL,
    PARQUET,
    REFERENCES,
    TEXT,
    BadFile,
    Column,
    Columns,
    InputFile,
    Part,
    first_line,
    nearest,
)

__all__ = [
    "HYPOTHESES",
    "REFERENCES",
    "BadInput",
    "InputFile",
    "Inputs",
    "Part",
    "Split",
    "inspect",
]

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
class BadInput:
    """A file that is refused (``--skip_bad_files``)."""

    table: str
    path: str
    detail: str


@dataclass(frozen=True)
class Split:
    """What one task reads: parts of files of one table, about equally large in all."""

    table: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Inputs:
    """All files, and how the work is cut: by their size only, never by the cluster.

    slices: with the tables of their columns.
    """

    files: tuple[InputFile, ...]
    partitions: int
    buckets: int
    refused: tuple[BadInput, ...] = ()
    slices: tuple[Slice, ...] = ()

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
            for split in _splits(table, [f for f in self.files if f.table == table and _leads(f)])
        ]


def inspect(config: Evaluation) -> Inputs:
    """Find the files and look into them; find the table that has the column of a slice.

    Raises InputError if a pattern matches nothing, or a file cannot be read as what it should be
    or lacks a column or has it in another type; with ``skip_bad_files`` such files are only noted.
    Raises ConfigurationError for a mapping of columns that nothing asks for.
    """
    named = tuple(map(slicing.parse, config.slices))
    _check_mapping(config, {t: _wanted(config, t, named) for t in (HYPOTHESES, REFERENCES)})
    found = [
        _Found(table, path, config.format or format_of(path) or PARQUET)
        for table, patterns in ((HYPOTHESES, config.hypotheses), (REFERENCES, config.references))
        for path in files.find(patterns, table)
    ]
    slices = _with_tables(config, found, named)
    wanted = {table: _wanted(config, table, slices) for table in (HYPOTHESES, REFERENCES)}
    aligned = _check_formats(config, found)
    if not aligned:
        found.sort(key=lambda f: (f.table, f.path))
    with ThreadPoolExecutor(_PARALLEL_FOOTERS) as pool:
        looked = list(pool.map(lambda f: _look(config, f, wanted[f.table]), found))
    inputs = [file for file in looked if isinstance(file, InputFile)]
    bad = [(f.table, file) for f, file in zip(found, looked) if isinstance(file, BadFile)]
    _check_bad(config, inputs, bad)
    if aligned:
        inputs = _align(inputs)
    partitions = config.partitions or _partitions(inputs)
    refused = tuple(BadInput(table, error.path, error.found) for table, error in bad)
    return Inputs(tuple(inputs), partitions, _buckets(inputs, partitions), refused, slices)


@dataclass(frozen=True)
class _Found:
    table: str
    path: str
    format: str


# A name that says nothing, such as part-00000, is one of a Parquet file.
_EXTENSIONS = (
    (re.compile(r"\.(parquet|parq|pq)$", re.IGNORECASE), PARQUET),
    (re.compile(r"\.(jsonl|ndjson|json)(\.gz)?$", re.IGNORECASE), JSONL),
    (re.compile(r"\.(txt|text)(\.gz)?$", re.IGNORECASE), TEXT),
)


def format_of(path: str) -> str | None:
    """The format that a file's name says, if it says any."""
    return next((name for pattern, name in _EXTENSIONS if pattern.search(path)), None)


def _with_tables(
    config: Evaluation, found: Sequence[_Found], slices: Sequence[Slice]
) -> tuple[Slice, ...]:
    """The slices with the tables of all columns. A column of which no table is said is one of the
    references, unless their first file lacks it and the first of the hypotheses has it."""
    named = {part.column for s in slices for part in s.parts if part.table is None}
    lacking = named & _lacking(config, found, REFERENCES, named)
    candidates = lacking - slicing.RESERVED[HYPOTHESES]
    theirs = candidates - _lacking(config, found, HYPOTHESES, candidates)
    return tuple(s.with_tables(theirs) for s in slices)


def _lacking(config: Evaluation, found: Sequence[_Found], table: str, names: set[str]) -> set[str]:
    """Those of the columns that the first file of a table has not. One that cannot be read has
    all: it is looked at again, and then refused."""
    first = min((f for f in found if f.table == table), key=lambda f: f.path)
    if not names or first.format == TEXT:
        return set()
    mapped = _mapping(config, table)
    columns: Sequence[Column] = [Column(n, (mapped.get(n, n),), "value") for n in sorted(names)]
    try:
        if first.format == JSONL:
            columns = _json_columns(config, table, columns)
            there = jsonl.names(first.path, files.size(first.path))
        else:
            there = parquet.names(first.path)
        there |= {name for name, _ in _constants(config, first, columns)}
    except (OSError, ValueError, OverflowError, pa.ArrowException, InputError):
        return set()
    return {c.name for c in columns if c.needed and not there & {c.name, *c.names}}


def _wanted(config: Evaluation, table: str, slices: Sequence[Slice]) -> tuple[Column, ...]:
    """The columns of a table, under the names that they have in files that are not JSON; those of
    slices of which no table is said are taken for its own."""
    more = {p.column for s in slices for p in s.parts if (p.table or table) == table}
    if table == HYPOTHESES:
        columns = [
            Column("example_id", ("example_id",), "id"),
            Column("system", ("system",), "text"),
            Column("text", ("text",), "text"),
            Column("sample", ("sample",), "number", needed=False),
        ]
        if config.step_column is not None:
            more.add(config.step_column)
    else:
        if config.bootstrap.resample_by:
            more.add(config.bootstrap.resample_by)
        columns = [
            Column("example_id", ("example_id",), "id"),
            Column("references", ("references",), "texts"),
            Column("reference_types", ("reference_types",), "texts", needed=False),
        ]
    columns += [Column(name, (name,), "value") for name in sorted(more)]
    mapped = _mapping(config, table)
    return tuple(
        replace(c, names=(mapped[c.name],), needed=True) if c.name in mapped else c for c in columns
    )


# What the columns are called in JSON, beside their own names.
_JSON_NAMES = {"example_id": "id", "references": "responses"}


def _json_columns(config: Evaluation, table: str, wanted: Sequence[Column]) -> list[Column]:
    """The columns of a table as objects of JSON may have them."""
    mapped = _mapping(config, table)
    columns = [
        c
        if c.name in mapped or c.name not in _JSON_NAMES
        else replace(c, names=(*c.names, _JSON_NAMES[c.name]))
        for c in wanted
    ]
    if table == HYPOTHESES:
        # Either a text or a list of samples; a name for one of them rules the other out.
        responses = Column("responses", (mapped.get("responses", "responses"),), "texts", False)
        if "responses" in mapped:
            columns = [c for c in columns if c.name != "text"]
            responses = replace(responses, needed=True)
        if "text" not in mapped:
            columns.append(responses)
    elif any(c.name == "query" for c in wanted) and "query" not in mapped:
        # The query need not be there: it follows from the dialogue.
        columns = [replace(c, needed=False) if c.name == "query" else c for c in columns]
        columns.append(Column("context", (mapped.get("context", "context"),), "value", False))
    return columns


def _mapping(config: Evaluation, table: str) -> dict[str, str]:
    """Our column -> its name in the files of a table. ``table.column`` is for one table only."""
    mapped = {ours: theirs for ours, theirs in config.columns if "." not in ours}
    prefix = f"{table}."
    mapped |= {
        ours.removeprefix(prefix): theirs
        for ours, theirs in config.columns
        if ours.startswith(prefix)
    }
    return mapped


def _check_mapping(config: Evaluation, wanted: dict[str, tuple[Column, ...]]) -> None:
    known = {
        HYPOTHESES: [*(c.name for c in wanted[HYPOTHESES]), "responses"],
        REFERENCES: [*(c.name for c in wanted[REFERENCES]), "context"],
    }
    names = {n for columns in known.values() for n in columns}
    names |= {f"{table}.{n}" for table, columns in known.items() for n in columns}
    for ours, theirs in config.columns:
        if ours not in names:
            close = nearest([ours], sorted(names))
            hint = f"; did you mean {close[0]}={theirs}?" if close else ""
            raise ConfigurationError(
                "columns",
                f"{ours}={theirs}",
                f"OUR_NAME=NAME_IN_THE_FILE with one of {', '.join(sorted(names))}{hint}",
            )


def _check_formats(config: Evaluation, found: Sequence[_Found]) -> bool:
    """Whether all files are lines of text. Raises InputError if only some are."""
    of_text = [f for f in found if f.format == TEXT]
    if not of_text:
        return False
    if len(of_text) != len(found):
        other = next(f for f in found if f.format != TEXT)
        raise InputError(
            f"{of_text[0].path}: lines of text have no ids, but {other.path} is {other.format}.\n"
            "Expected text on both sides, line by line; or name the format by --format."
        )
    if config.columns:
        raise ConfigurationError(
            "columns", "=".join(config.columns[0]), "none: lines of text have no columns"
        )
    named = [*config.slices, *filter(None, [config.bootstrap.resample_by])]
    if named:
        key = "slices" if config.slices else "resample_by"
        raise ConfigurationError(key, named[0], "none: lines of text have no columns")
    stems = Counter(_stem(f.path) for f in of_text if f.table == HYPOTHESES)
    (stem, most), *_ = stems.most_common(1)
    if config.system is not None and stems.total() > 1:
        raise ConfigurationError(
            "system", config.system, f"one file of hypotheses, but there are {stems.total()}"
        )
    if most > 1 and config.system is None:
        raise InputError(
            f"{most} files of hypotheses are called {stem!r}, which would be one system.\n"
            "Expected one file a system, called as the system is."
        )
    return True


def _stem(path: str) -> str:
    """The name of a file without folders, .gz and its last ending."""
    name = path.rpartition("/")[2]
    return os.path.splitext(re.sub(r"\.gz$", "", name, flags=re.IGNORECASE))[0] or name


def _look(config: Evaluation, file: _Found, wanted: tuple[Column, ...]) -> InputFile | BadFile:
    try:
        constants = _constants(config, file, wanted)
        if file.format == TEXT:
            counted = lines.count(file.path)
            columns = Columns(TEXT, (), constants, (file.path,))
            groups = ((counted.lines, counted.bytes),)
            return InputFile(file.table, file.path, counted.lines, columns, groups)
        if file.format == JSONL:
            columns_read = _json_columns(config, file.table, wanted)
            size = files.size(file.path)
            return jsonl.inspect(file.path, file.table, columns_read, constants, size)
        return parquet.inspect(file.path, file.table, wanted, constants)
    except BadFile as error:
        return error
    except OSError as error:
        return BadFile(file.path, f"cannot be read: {first_line(error)}.")


def _constants(
    config: Evaluation, file: _Found, wanted: Sequence[Column]
) -> tuple[tuple[str, str | None], ...]:
    """Columns that folders (``system=NAME/``) or options give."""
    folders = [part.partition("=") for part in file.path.split("/")[:-1] if "=" in part]
    named = {key: unquote(value) for key, _, value in folders}
    constants: dict[str, str | None] = {
        c.name: None if named[n] == "__HIVE_DEFAULT_PARTITION__" else named[n]
        for c in wanted
        for n in c.names
        if n in named and (c.name == "system" or c.kind == "value")
    }
    if file.table == HYPOTHESES and config.system is not None:
        if "system" in constants:
            raise BadFile(
                file.path,
                f"'system' is given twice: by a folder and by --system {config.system}.",
                "Take one of them away.",
            )
        constants["system"] = config.system
    if file.format == TEXT and file.table == HYPOTHESES:
        constants.setdefault("system", _stem(file.path))
    return tuple(constants.items())


def _check_bad(
    config: Evaluation, inputs: Sequence[InputFile], bad: Sequence[tuple[str, BadFile]]
) -> None:
    """Raise for bad files, or if nothing but them is left."""
    for table in (HYPOTHESES, REFERENCES):
        errors = [error for of_table, error in bad if of_table == table]
        left = any(file.table == table for file in inputs)
        if errors and not (config.skip_bad_files and left):
            more = ""
            if len(errors) > 1:
                more = f"\n{len(errors) - 1:,} more files of the {table} cannot be used either."
            if left:
                more += "\n--skip_bad_files refuses such files and goes on with the others."
            raise InputError(f"{errors[0]}{more}")


def _align(inputs: Sequence[InputFile]) -> list[InputFile]:
    """Files of lines that belong together; all must have as many lines. Raises InputError."""
    if len({file.rows for file in inputs}) > 1:
        listed = "\n".join(f"  {file.rows:,} lines: {file.path}" for file in inputs[:12])
        raise InputError(
            f"files of lines must have as many lines as each other, but there are\n{listed}\n"
            "Line n of every file belongs to example n. Lines end at \\n or \\r\\n."
        )
    digits = len(str(inputs[0].rows))
    references = tuple(file.path for file in inputs if file.table == REFERENCES)
    return [
        replace(
            file,
            columns=replace(
                file.columns,
                digits=digits,
                aligned=references if file.table == REFERENCES else (file.path,),
            ),
        )
        for file in inputs
    ]


def _partitions(inputs: Sequence[InputFile]) -> int:
    by_bytes = sum(file.bytes for file in inputs) / _PARTITION_BYTES
    by_rows = sum(f.rows for f in inputs if f.table == REFERENCES) / _PARTITION_EXAMPLES
    return max(1, -int(-max(by_bytes, by_rows) // 1))


def _buckets(inputs: Sequence[InputFile], partitions: int) -> int:
    size = sum(file.bytes for file in inputs) * _FREQUENCY_BYTES_OF_A_BYTE
    return max(1, min(-(-size // _BUCKET_BYTES), _MOST_EXCHANGES // partitions))


def _leads(file: InputFile) -> bool:
    """Whether a file is read on its own; of files whose lines make rows together the first is."""
    return file.columns.aligned[:1] in ((), (file.path,))


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
                    parts.append(_part(file, groups, start))
                splits.append(Split(table, tuple(parts)))
                parts, groups = [], []
                rows = size = 0
                start = row
            groups.append(i)
            rows, size, row = rows + group_rows, size + group_bytes, row + group_rows
        if groups:
            parts.append(_part(file, groups, start))
    if parts:
        splits.append(Split(table, tuple(parts)))
    return splits


def _part(file: InputFile, groups: Sequence[int], first_row: int) -> Part:
    found = tuple(file.row_groups[group] for group in groups)
    return Part(file.path, file.columns, tuple(groups), first_row, found)
