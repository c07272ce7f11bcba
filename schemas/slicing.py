"""How slices are written: ``domain``, ``hypotheses.length:5``, ``domain*type``."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

HYPOTHESES = "hypotheses"
REFERENCES = "references"

RESERVED = {
    REFERENCES: {"example_id", "references", "reference_types"},
    HYPOTHESES: {"example_id", "system", "sample", "text", "responses"},
}
"""Columns that cannot be sliced on."""

OVERALL = "overall"
"""What the slice of all examples is called, so no other."""

MOST_BINS = 100

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BINS = re.compile(rf"(.+):(\d+|{_NUMBER}(?:,{_NUMBER})*,?)", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A column, and how its numbers are binned, if at all.

    table: which one has it; None: not said. bins: so many, about equally full. edges: where a bin
    ends and the next begins, ascending.
    """

    column: str
    table: str | None = None
    bins: int | None = None
    edges: tuple[float, ...] = ()

    @property
    def key(self) -> str:
        """The column as it is called beside those of the other table."""
        return f"{HYPOTHESES}.{self.column}" if self.table == HYPOTHESES else self.column

    @property
    def binned(self) -> bool:
        """Whether the values are taken as numbers."""
        return self.bins is not None or bool(self.edges)


@dataclass(frozen=True)
class Slice:
    """A column of values, or what several make together. name: as it was written."""

    name: str
    parts: tuple[Part, ...]

    def with_tables(self, of_hypotheses: Collection[str]) -> Slice:
        """The slice with the tables of all columns said; these are columns of the hypotheses."""
        parts = tuple(
            replace(p, table=p.table or (HYPOTHESES if p.column in of_hypotheses else REFERENCES))
            for p in self.parts
        )
        return Slice(self.name, parts)


def parse(text: str) -> Slice:
    """The slice that a text names. Raises ValueError with what would be right."""
    parts = tuple(_part(part) for part in text.split("*"))
    named = [(part.table, part.column) for part in parts]
    if len(set(named)) < len(named):
        raise ValueError("different columns on the sides of *")
    return Slice(text, parts)


def _part(text: str) -> Part:
    found = _BINS.fullmatch(text)
    name = found[1] if found else text
    prefix = f"{HYPOTHESES}."
    table = HYPOTHESES if name.startswith(prefix) else None
    column = name.removeprefix(prefix)
    if not column:
        raise ValueError("a column, or COLUMN*COLUMN")
    if not found:
        return Part(column, table)
    if found[2].isdecimal():
        bins = int(found[2])
        if not 2 <= bins <= MOST_BINS:
            raise ValueError(f"2 to {MOST_BINS} bins after the :")
        return Part(column, table, bins)
    edges = tuple(float(edge) for edge in found[2].rstrip(",").split(","))
    if not all(map(math.isfinite, edges)) or sorted(set(edges)) != list(edges):
        raise ValueError("edges after the : that ascend, such as length:0,10,20")
    if len(edges) >= MOST_BINS:
        raise ValueError(f"fewer than {MOST_BINS} edges after the :")
    return Part(column, table, None, edges)
