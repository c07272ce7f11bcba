"""What all importers share: the wanted columns, a file as it was found, the rows that come out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from schemas import checks
from schemas.checks import Refusal
from schemas.errors import InputError

HYPOTHESES = "hypotheses"
REFERENCES = "references"

PARQUET, JSONL, TEXT = "parquet", "jsonl", "text"


@dataclass(frozen=True)
class Column:
    """A column that is wanted.

    name: ours. names: what it may be called in a file, the first that is there counts.
    kind: one of checks.KINDS. needed: a file without it cannot be used.
    """

    name: str
    names: tuple[str, ...]
    kind: str
    needed: bool = True

    @property
    def expected(self) -> str:
        """What the column holds, for a message."""
        return checks.KINDS[self.kind][1]


@dataclass(frozen=True)
class Columns:
    """How a file holds the rows of a table.

    read: columns that it has, under names of its own. constants: columns that it has not, since
    the name of a folder or an option gives the value. For lines of text: aligned, the files whose
    lines of equal number make a row; digits, of the line numbers that are the ids.
    """

    format: str
    read: tuple[Column, ...] = ()
    constants: tuple[tuple[str, str | None], ...] = ()
    aligned: tuple[str, ...] = ()
    digits: int = 0


@dataclass(frozen=True)
class InputFile:
    """A file that was found fit for reading.

    rows: as far as they can be counted without parsing: of JSON, lines. row_groups: (rows, bytes
    of the columns read, uncompressed) of each; files that cannot be cut have one.
    """

    table: str
    path: str
    rows: int
    columns: Columns
    row_groups: tuple[tuple[int, int], ...]

    @property
    def bytes(self) -> int:
        """Uncompressed bytes of the columns read."""
        return sum(size for _, size in self.row_groups)


@dataclass(frozen=True)
class Part:
    """Row groups of one file. first_row: number of the first row of the first of them.

    found: (rows, bytes) of each, as in ``InputFile``, when the run began.
    """

    path: str
    columns: Columns
    row_groups: tuple[int, ...]
    first_row: int
    found: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Imported:
    """Rows as they were found: our columns in any type that is taken, and file and row.

    refused: rows that are known to be bad; they stand in ``rows`` all the same.
    """

    rows: pa.Table
    refused: tuple[Refusal, ...] = ()


class BadFile(InputError):
    """A file that cannot be read as what it should be."""

    def __init__(self, path: str, found: str, expected: str = "") -> None:
        super().__init__(f"{path}: {found}" + (f"\n{expected}" if expected else ""))
        self.path, self.found = path, found

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.args[0], self.path, self.found)


def _again(message: str, path: str, found: str) -> BadFile:
    error = BadFile(path, found)
    error.args = (message,)
    return error


def changed(path: str) -> BadFile:
    """The error for a file that is another than the run found when it began."""
    return BadFile(
        path,
        "it has changed since the run began.",
        "Start the run again when whatever writes the file has ended.",
    )


def first_line(error: BaseException) -> str:
    """What an error says, on one line."""
    return (str(error).splitlines() or [type(error).__name__])[0].strip().rstrip(".")


def missing_column(path: str, table: str, column: Column, there: Sequence[str]) -> BadFile:
    """The error for a file that has no such column, or two of it."""
    wanted = column.names[0]
    twice = sum(there.count(name) for name in column.names) > 1
    close = [] if twice else nearest(column.names, there)
    hint = ""
    if close:
        hint = f"\nDid you mean {close[0]!r}? Then say --columns {column.name}={close[0]}"
    elif column.name == "system" and not twice:
        hint = "\nOr name it: --system NAME, or folders system=NAME/."
    shown = ", ".join(map(repr, list(there)[:30])) + (", ..." if len(there) > 30 else "")
    return BadFile(
        path,
        f"the {table} need one column {wanted!r} ({column.expected}), but the file has "
        f"{shown or 'none'}.{hint}",
    )


def wrong_type(path: str, table: str, column: str, found: str, expected: str) -> BadFile:
    """The error for a column that holds something else."""
    hint = "Write the column in that type, or leave the file out."
    if expected == checks.KINDS["texts"][1] and found in ("string", "large_string"):
        hint = "A list that was printed as text cannot be told from text: write it as a list."
    return BadFile(path, f"column {column!r} of the {table} is {found}, expected {expected}.", hint)


def nearest(names: Iterable[str], there: Iterable[str]) -> list[str]:
    """The name that is most like one of the wanted ones, if any is."""
    folded = {name.lower(): name for name in there}
    for name in names:
        close = difflib.get_close_matches(name.lower(), folded, 1)
        if close:
            return [folded[close[0]]]
    return []
