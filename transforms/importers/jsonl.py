"""JSON, one object a line: hypotheses with text or responses (samples), references with responses.

Rows are parsed one by one and leave as Arrow tables. A line that is no object, or holds something
of another type, is a refused row; it never stops the file.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from schemas import tables
from transforms.importers import dialogue, lines
from transforms.importers.base import (
    HYPOTHESES,
    BadFile,
    Column,
    Columns,
    Imported,
    InputFile,
    Part,
    changed,
    missing_column,
)

_LOOK_BYTES = 1 << 20
_LOOK_LINES = 100

_EXPECTED = {
    "id": "a string or an integer",
    "text": "a string",
    "texts": "a list of strings",
    "number": "an integer",
    "value": "a string, a number or a boolean",
}


class _Refused(Exception):
    """A row that cannot be used: (reason, detail)."""


def inspect(
    path: str,
    table: str,
    wanted: Sequence[Column],
    constants: Sequence[tuple[str, str | None]],
    size: int,
) -> InputFile:
    """Count the lines, which shows that the file is complete, and look at the first rows.

    Raises BadFile for one that cannot be read, lacks a column, or has no usable row among the
    first.
    """
    columns = Columns("jsonl", tuple(wanted), tuple(constants))
    counted = lines.count(path)
    first = _first_lines(path, size)
    builder = _builder(table, columns, "")
    keys: dict[str, None] = {}
    objects = 0
    for number, line in first:
        record = builder.add(number, line)
        if record is not None:
            objects += 1
            keys.update(dict.fromkeys(record))
    if first and first[0][1].strip() in (b"[", b"{"):
        raise BadFile(
            path,
            "is one JSON document over many lines.",
            "Expected one JSON object a line: jq -c '.[]' makes that of a list.",
        )
    if first and not objects:
        raise BadFile(
            path,
            f"cannot be read as JSONL: line {first[0][0] + 1}: {builder.details[0]}.",
            "Expected one JSON object a line.",
        )
    given = dict(constants)
    several = any(n in keys for c in wanted if c.name == "responses" for n in c.names)
    for column in wanted if objects else ():
        there = any(name in keys for name in column.names) or (column.name == "text" and several)
        if there and column.name in given:
            raise BadFile(
                path,
                f"{column.name!r} is given twice: in its rows and by a folder or an option.",
                "Take one of them away.",
            )
        if column.needed and not there and column.name not in given:
            raise missing_column(path, table, column, list(keys))
    if first and len(builder.details) == len(first):
        raise BadFile(
            path,
            f"line {first[0][0] + 1}: {builder.details[0]}, and no row after it is better "
            f"({len(first)} were read).",
            "Write the rows in that type, or leave the file out.",
        )
    return InputFile(table, path, counted.lines, columns, ((counted.lines, counted.bytes),))


def names(path: str, size: int) -> set[str]:
    """The keys of the objects among the first lines."""
    found: set[str] = set()
    for _, line in _first_lines(path, size):
        with contextlib.suppress(_Refused):
            found.update(_parse(line))
    return found


def _first_lines(path: str, size: int) -> list[tuple[int, bytes]]:
    """The first lines that are not blank, with their numbers."""
    start = b""
    whole = True
    for chunk in lines.chunks(path, size):
        start += chunk[: _LOOK_BYTES + 1 - len(start)]
        if len(start) > _LOOK_BYTES:
            whole = False
            break
    found = start.split(b"\n")
    if not whole and len(found) > 1:
        found.pop()
    numbered = [(n, line) for n, line in enumerate(found) if line.strip()]
    return numbered[:_LOOK_LINES] if whole or len(found) > 1 else []


def read(table: str, part: Part, max_characters: int) -> Iterator[Imported]:
    """The rows of a file, a few MB of lines at a time."""
    number = 0
    for batch in lines.batches(part.path, lines.longest_line(max_characters)):
        builder = _builder(table, part.columns, part.path)
        for line in batch:
            builder.add(number, line)
            number += 1
        if builder.numbers:
            yield builder.done()
    if number != part.found[0][0]:
        raise changed(part.path)


def _builder(table: str, columns: Columns, path: str) -> _Builder:
    return (_Hypotheses if table == HYPOTHESES else _References)(columns, path)


class _Builder:
    """Collects rows; ``done`` makes a table of them."""

    def __init__(self, columns: Columns, path: str) -> None:
        self._path = path
        self._read = {column.name: column for column in columns.read}
        self._constants = dict(columns.constants)
        self.numbers: list[int] = []
        self._refused: dict[tuple[str, str], list[int]] = {}
        self.details: list[str] = []
        self._values: dict[str, list[Any]] = {}

    def add(self, number: int, line: bytes | None) -> dict[str, Any] | None:
        """Take the rows of a line; its object, if it is one."""
        record = None
        try:
            if line is None:
                raise _Refused("too_long", "the line is too long to be read")
            if not line.strip():
                return None
            record = _parse(line)
            rows = self._rows(record)
        except _Refused as refused:
            reason, detail = refused.args
            self._refused.setdefault((reason, detail), []).append(len(self.numbers))
            self.details.append(detail)
            rows = [self._known(record or {})]
        for row in rows:
            self.numbers.append(number)
            for name, values in self._values.items():
                values.append(row.get(name))
        return record

    def _rows(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        raise NotImplementedError

    def _known(self, record: dict[str, Any]) -> dict[str, Any]:
        """What a refused row is called, as far as it says."""
        known: dict[str, Any] = {}
        for name in ("example_id", "system"):
            if name in self._values:
                try:
                    known[name] = self._get(record, name)
                except _Refused:
                    continue
        return known

    def _get(self, record: dict[str, Any], name: str) -> Any:
        """The value of one of our columns, of the kind that it must be, or None."""
        column = self._read.get(name)
        there = [n for n in column.names if n in record] if column else []
        if name in self._constants:
            if there and record[there[0]] is not None:
                raise _Refused(
                    "given_twice", f"{name} stands in the row, and a folder or an option gives it"
                )
            return self._constants[name]
        if column is None or not there:
            return None
        value = record[there[0]]
        if value is None:
            return None
        taken = _of_kind(column.kind, value)
        if taken is _WRONG:
            raise _Refused(
                "wrong_type",
                f"{there[0]!r} is {_type_name(value)}, expected {_EXPECTED[column.kind]}",
            )
        return taken

    def done(self) -> Imported:
        columns = {}
        for name, values in self._values.items():
            kind = self._read[name].kind if name in self._read else "text"
            array, bad = _array(kind, values)
            columns[name] = array
            if bad:
                detail = f"{name} holds half of a surrogate pair, such as \\ud83d"
                self._refused.setdefault(("lone_surrogate", detail), []).extend(bad)
        n = len(self.numbers)
        source = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(n, np.int32)), pa.array([self._path])
        )
        refused = tuple(
            (np.array(rows, np.int64), reason, detail)
            for (reason, detail), rows in self._refused.items()
        )
        numbers = pa.array(self.numbers, pa.int64())
        return Imported(pa.table({**columns, tables.FILE: source, tables.ROW: numbers}), refused)


class _Hypotheses(_Builder):
    def __init__(self, columns: Columns, path: str) -> None:
        super().__init__(columns, path)
        fixed = ("example_id", "system", "sample", "text")
        given = dict.fromkeys([*self._read, *self._constants])
        self._more = [name for name in given if name not in (*fixed, "responses")]
        self._values = {name: [] for name in (*fixed, *self._more)}

    def _rows(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        names = {"example_id": self._get(record, "example_id")}
        for name in ("system", *self._more):
            names[name] = self._get(record, name)
        single, several = (
            any(name in record for name in self._read[column].names)
            if column in self._read
            else False
            for column in ("text", "responses")
        )
        if single and several:
            raise _Refused(
                "given_twice", "the row has a text and responses; name one with --columns"
            )
        if several:
            # No response at all is a system that gave nothing, as null is.
            texts = self._get(record, "responses") or [None]
            return [{**names, "sample": i, "text": text} for i, text in enumerate(texts)]
        if not single:
            raise _Refused("no_text", "the row has neither a text nor responses")
        sample = self._get(record, "sample")
        if sample is not None and not 0 <= sample < 2**31:
            raise _Refused("bad_sample", "sample is not in 0 to 2**31 - 1")
        return [{**names, "sample": sample, "text": self._get(record, "text")}]


class _References(_Builder):
    def __init__(self, columns: Columns, path: str) -> None:
        super().__init__(columns, path)
        given = [*self._read, *self._constants]
        self._values = {name: [] for name in dict.fromkeys(given) if name != "context"}
        if "context" in self._read:
            self._values.setdefault("query", [])

    def _rows(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        row = {name: self._get(record, name) for name in self._values}
        if "query" in row and row["query"] is None and "context" in self._read:
            row["query"] = self._query(record)
        return [row]

    def _query(self, record: dict[str, Any]) -> str | None:
        name = self._read["context"].names[0]
        context = record.get(name)
        if context is None:
            return None
        try:
            return dialogue.query([context] if isinstance(context, str) else list(context))
        except TypeError as error:
            raise _Refused("wrong_type", f"{name!r} is no list of turns") from error


def _parse(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise _Refused("invalid_utf8", "the line is not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise _Refused("bad_json", f"the line is not JSON: {error.msg}") from None
    except ValueError:
        raise _Refused("bad_json", "the line holds a number of too many digits") from None
    except RecursionError:
        raise _Refused("bad_json", "the line is nested too deeply") from None
    if not isinstance(record, dict):
        raise _Refused("bad_json", f"the line is {_type_name(record)}, expected an object")
    return record


_WRONG = object()


def _of_kind(kind: str, value: Any) -> Any:
    """The value as its column takes it; ``_WRONG`` if it does not."""
    if kind == "text":
        return value if isinstance(value, str) else _WRONG
    if kind == "texts":
        fine = isinstance(value, list) and all(t is None or isinstance(t, str) for t in value)
        return value if fine else _WRONG
    if isinstance(value, bool):
        return ("true" if value else "false") if kind == "value" else _WRONG
    if isinstance(value, int):
        return value if kind == "number" else str(value)
    if kind == "number":
        return _WRONG
    if isinstance(value, float) and kind == "value":
        # As a column of numbers in Parquet is spelled.
        return None if math.isnan(value) else pa.scalar(value).cast(pa.string()).as_py()
    return value if isinstance(value, str) else _WRONG


def _type_name(value: Any) -> str:
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    if isinstance(value, list):
        kinds = {_type_name(v).split()[-1] for v in value[:100]} - {"null"}
        return f"a list of {' and '.join(sorted(kinds))}s" if kinds else "a list"
    return "null" if value is None else names.get(type(value), "an object")


def _array(kind: str, values: list[Any]) -> tuple[pa.Array, list[int]]:
    """The values as Arrow, and the numbers of rows with half a surrogate pair: those are null."""
    if kind == "number":
        return pa.array(values, pa.int64()), []
    type_ = pa.list_(pa.string()) if kind == "texts" else pa.string()
    try:
        return pa.array(values, type_), []
    except UnicodeEncodeError:
        bad = [i for i, value in enumerate(values) if not _encodable(value)]
        values = list(values)
        for i in bad:
            values[i] = None
        return pa.array(values, type_), bad


def _encodable(value: str | Iterable[str | None] | None) -> bool:
    if value is None:
        return True
    if not isinstance(value, str):
        return all(map(_encodable, value))
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
