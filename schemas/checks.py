"""Rows as they come become rows as they must be, or are refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Bools = npt.NDArray[np.bool_]

_SAMPLE_RANGE = (0, 2**31 - 1)


@dataclass(frozen=True)
class Checked:
    """rows: the accepted ones, in columns of fixed types. refused: [(row numbers, reason,
    detail)] of the others, every row once, by the first thing wrong with it."""

    rows: pa.Table
    kept: npt.NDArray[np.int64]
    refused: tuple[Refusal, ...]


def is_text(type_: pa.DataType) -> bool:
    """Whether a column of this type holds strings, in whatever encoding, or nothing but null."""
    if pa.types.is_dictionary(type_):
        return is_text(type_.value_type)
    return pa.types.is_null(type_) or any(
        test(type_)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def is_text_list(type_: pa.DataType) -> bool:
    """Whether a column of this type holds lists of strings, or nothing but null."""
    listed = (
        pa.types.is_list(type_)
        or pa.types.is_large_list(type_)
        or pa.types.is_fixed_size_list(type_)
    )
    return pa.types.is_null(type_) or (bool(listed) and is_text(type_.value_type))


def is_whole_number(type_: pa.DataType) -> bool:
    """Whether a column of this type holds integers, or nothing but null."""
    return bool(pa.types.is_integer(type_) or pa.types.is_null(type_))


def is_id(type_: pa.DataType) -> bool:
    """Whether a column of this type can name examples: strings, or integers as decimals."""
    return is_text(type_) or pa.types.is_integer(type_)


def is_slice(type_: pa.DataType) -> bool:
    """Whether a column of this type can be sliced on or resampled by."""
    return is_id(type_) or pa.types.is_boolean(type_) or pa.types.is_floating(type_)


KINDS: dict[str, tuple[Callable[[pa.DataType], bool], str]] = {
    "id": (is_id, "string or integer"),
    "text": (is_text, "string"),
    "texts": (is_text_list, "list<string>"),
    "number": (is_whole_number, "integer"),
    "value": (is_slice, "string, number or boolean"),
}
"""Kinds of columns: the types that are taken, and what messages call them."""

Refusal = tuple[npt.NDArray[np.int64], str, str]
"""(row numbers, reason, detail)"""


def check_hypotheses(
    table: pa.Table,
    max_characters: int,
    refused: Sequence[Refusal] = (),
    step: tuple[str, str] | None = None,
    columns: Sequence[str] = (),
) -> Checked:
    """Columns example_id, system, text, if there, sample (0 where it is null), and the named ones
    (slices; as strings).

    step: a column that says more of the system, and what stands between in its name then.
    refused: rows that were found bad before; what stands in them does not matter.
    """
    check = _Check(len(table), max_characters, refused)
    ids = check.text(table.column("example_id"), "example_id")
    check.refuse(_null_or_empty(ids), "no_id", "example_id is null or empty")
    systems = check.text(table.column("system"), "system")
    check.refuse(_null_or_empty(systems), "no_system", "system is null or empty")
    if step is not None:
        column, mark = step
        steps = check.text(table.column(column), column)
        check.refuse(_null_or_empty(steps), "no_step", f"{column} is null or empty")
        marked = pc.match_substring(steps, mark).fill_null(False)
        detail = f"{column} holds {mark!r}, which stands between a system and its step"
        check.refuse(marked.to_numpy(zero_copy_only=False), "bad_step", detail)
        systems = pc.binary_join_element_wise(systems, steps, pa.scalar(mark, systems.type))
    texts = check.text(table.column("text"), "text")
    if "sample" in table.column_names:
        samples = _whole(table.column("sample")).cast(pa.int64(), safe=False).fill_null(0)
        numbers = samples.to_numpy(zero_copy_only=False)
        outside = (numbers < _SAMPLE_RANGE[0]) | (numbers > _SAMPLE_RANGE[1])
        check.refuse(outside, "bad_sample", "sample is not in 0 to 2**31 - 1")
        sample = pa.array(np.where(outside, 0, numbers), pa.int32())
    else:
        sample = pa.array(np.zeros(len(table), np.int32))
    extra = {name: check.text(table.column(name), name) for name in columns}
    return check.done(
        {"example_id": ids, "system": systems, "sample": sample, "text": texts, **extra}
    )


def check_references(
    table: pa.Table,
    columns: Sequence[str],
    max_characters: int,
    null_texts: Sequence[str] = (),
    refused: Sequence[Refusal] = (),
) -> Checked:
    """Columns example_id, references, reference_types (of every reference one, or null) and the
    named ones (slices, units; as strings).

    Entries of the lists that are null or one of ``null_texts`` are dropped; a row that has none
    left is refused. refused: rows that were found bad before.
    """
    check = _Check(len(table), max_characters, refused)
    ids = check.text(table.column("example_id"), "example_id")
    check.refuse(_null_or_empty(ids), "no_id", "example_id is null or empty")
    lists = _lists(table.column("references"))
    # A null list may have entries behind it: flatten leaves them out, list_parent_indices does not.
    owners = np.repeat(np.arange(len(table)), _list_sizes(lists))
    flat, invalid = _valid_text(lists.flatten())
    check.refuse(
        _rows(owners[invalid], len(table)), "invalid_utf8", "a reference is not valid UTF-8"
    )
    check.too_long(_rows(owners[_longer(flat, max_characters)], len(table)), "a reference")
    there = _bools(pc.is_valid(flat))
    if null_texts:
        there &= ~_bools(pc.is_in(flat, value_set=pa.array(null_texts, pa.string())))
    counts = np.bincount(owners[there], minlength=len(table))
    check.refuse(counts == 0, "no_references", "no reference that is not null")
    types = pa.nulls(len(table), pa.list_(pa.string()))
    if "reference_types" in table.column_names:
        types = _lists(table.column("reference_types"))
        named, sizes = _list_sizes(types), _list_sizes(lists)
        check.refuse(named > sizes, "too_many_types", "more reference_types than references")
        fewer = (named < sizes) & (named > 0)
        check.refuse(fewer, "too_few_types", "fewer reference_types than references")
        types = _types(types, named == sizes, owners, there)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    kept = flat.filter(pa.array(there)) if not there.all() else flat
    references = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), kept)
    extra = {name: check.text(table.column(name), name) for name in columns}
    columns_of = {"example_id": ids, "references": references, "reference_types": types, **extra}
    return check.done(columns_of)


def _types(
    types: pa.Array, complete: Bools, owners: npt.NDArray[np.int64], there: Bools
) -> pa.Array:
    """The types of the references that are there, null for rows that do not name them all.

    owners, there: of every entry of the references its row, and whether it is kept.
    """
    named = complete & (_list_sizes(types) > 0)
    flat = _valid_text(types.filter(pa.array(named)).flatten())[0]
    kept = flat.filter(pa.array(there[named[owners]]))
    sizes = np.bincount(owners[there & named[owners]], minlength=len(types))
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, kept, mask=pa.array(~named))


class _Check:
    """Collects refusals; the first reason of a row counts."""

    def __init__(self, rows: int, longest: int, refused: Sequence[Refusal]) -> None:
        self._longest = longest
        self._fine = np.ones(rows, np.bool_)
        self._refused: list[Refusal] = []
        for numbers, reason, detail in refused:
            self.refuse(_rows(numbers, rows), reason, detail)

    def refuse(self, bad: Bools, reason: str, detail: str) -> None:
        rows = np.flatnonzero(bad & self._fine)
        if len(rows):
            self._refused.append((rows, reason, detail))
            self._fine[rows] = False

    def text(self, column: pa.ChunkedArray, name: str) -> pa.Array:
        """The column as strings; rows of invalid UTF-8 and of too many characters are refused."""
        strings, invalid = _valid_text(_whole(column))
        self.refuse(invalid, "invalid_utf8", f"{name} is not valid UTF-8")
        self.too_long(_longer(strings, self._longest), name)
        return strings

    def too_long(self, long: Bools, name: str) -> None:
        self.refuse(long, "too_long", f"{name} of more than {self._longest:,} characters")

    def done(self, columns: dict[str, pa.Array]) -> Checked:
        table = pa.table(columns)
        kept = np.flatnonzero(self._fine)
        rows = table if len(kept) == len(table) else table.take(pa.array(kept))
        return Checked(rows, kept, tuple(self._refused))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        array = column.chunk(0)
    else:
        array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _lists(column: pa.ChunkedArray) -> pa.Array:
    lists = _whole(column)
    return lists.cast(pa.list_(pa.string())) if pa.types.is_null(lists.type) else lists


def _list_sizes(lists: pa.Array) -> npt.NDArray[np.int64]:
    return _numbers(pc.list_value_length(lists).fill_null(0))


def _valid_text(array: pa.Array) -> tuple[pa.Array, Bools]:
    """As strings, and which were not valid UTF-8 (they become null)."""
    invalid = np.zeros(len(array), np.bool_)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), None, array)
    if not is_text(array.type):
        return array.cast(pa.string()), invalid
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        # Rare, so row by row.
        texts = array.cast(pa.large_binary()).to_pylist()
        for i, text in enumerate(texts):
            try:
                texts[i] = None if text is None else text.decode("utf-8")
            except UnicodeDecodeError:
                texts[i], invalid[i] = None, True
        return pa.array(texts, pa.string()), invalid
    return array.cast(pa.string()), invalid


def _null_or_empty(column: pa.Array) -> Bools:
    return ~_bools(pc.greater(pc.binary_length(column), 0).fill_null(False))


def _longer(column: pa.Array, characters: int) -> Bools:
    # A character has at least one byte, so most columns are done without counting.
    if (pc.max(pc.binary_length(column)).as_py() or 0) <= characters:
        return np.zeros(len(column), np.bool_)
    return _bools(pc.greater(pc.utf8_length(column), characters).fill_null(False))


def _rows(numbers: npt.NDArray[np.int64], rows: int) -> Bools:
    return np.bincount(numbers, minlength=rows) > 0


def _bools(column: pa.Array) -> Bools:
    values: Bools = column.to_numpy(zero_copy_only=False)
    return values


def _numbers(column: pa.Array) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = column.to_numpy(zero_copy_only=False).astype(np.int64)
    return values


def readable(column: pa.ChunkedArray) -> pa.Array:
    """The column as strings, null where it is not valid UTF-8."""
    return _valid_text(_whole(column))[0]
