"""The doors: files of any format become the same tables, with file and row beside our columns."""

from __future__ import annotations

from collections.abc import Iterator

from transforms.importers import jsonl, parquet, text
from transforms.importers.base import JSONL, TEXT, Imported, Part


def read(table: str, part: Part, max_characters: int) -> Iterator[Imported]:
    """The rows of a part of a file, some at a time. Raises BadFile if it cannot be read."""
    if part.columns.format == JSONL:
        return jsonl.read(table, part, max_characters)
    if part.columns.format == TEXT:
        return text.read(table, part, max_characters)
    return parquet.read(part, max_characters)
