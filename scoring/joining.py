"""Hypotheses and references of one partition become examples: sorted, complete, without doubles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import hashing, ragged
from scoring.segments import Layout

Ints = npt.NDArray[np.int64]

UNKNOWN = "unknown"
"""The slice value of an example that has none."""

HYPOTHESES = "hypotheses."
"""Before the names of columns of the hypotheses, among those of the references."""


@dataclass(frozen=True)
class Examples:
    """Examples in the order of their ids (by code point), hypotheses by system and sample.

    example_id: [examples] strings.
    slices: name -> [examples] strings, no nulls. Of columns that several rows of an example
        have, the value that all agree on, ``UNKNOWN`` if they do not.
    units: [examples] hashes of what is resampled together.
    layout: how references and hypotheses stand in ``texts``.
    system: [hypotheses], index into the systems; sample: [hypotheses].
    filled: [hypotheses], an empty hypothesis that stands for a missing one.
    absent: [examples, systems], no hypothesis at all (filled or skipped).
    """

    example_id: pa.Array
    slices: Mapping[str, pa.Array]
    units: hashing.Hashes
    layout: Layout
    system: npt.NDArray[np.int32]
    sample: npt.NDArray[np.int32]
    filled: npt.NDArray[np.bool_]
    absent: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.example_id)


@dataclass(frozen=True)
class Refusal:
    """Rows that cannot be used. table: hypotheses or references; rows: their numbers in it."""

    table: str
    rows: Ints
    reason: str
    detail: str


@dataclass(frozen=True)
class Joined:
    """Examples, all their texts (see Layout), and an account of every row that came in.

    reference_types: of every reference, in the order of the layout; None if no row has any.
    """

    examples: Examples
    texts: pa.Array
    refusals: tuple[Refusal, ...]
    counts: Mapping[str, int]
    reference_types: pa.Array | None = None


def join(
    hypotheses: pa.Table,
    references: pa.Table,
    systems: Sequence[str],
    missing: str = "empty",
    resample_by: str | None = None,
    slices: Sequence[str] = (),
    refused: pa.ChunkedArray | None = None,
    hypothesis_slices: Sequence[str] = (),
) -> Joined:
    """Join the hypotheses of a partition to its references.

    hypotheses: example_id, system, sample, text (null: the system gave no output) and the columns
        named by ``hypothesis_slices``.
    references: example_id, references (lists of strings, none null, none empty) and the columns
        named by ``slices`` and ``resample_by``; if there, reference_types (of every reference
        one, or a null list). They move no score and are not in the fingerprint.
    systems: all there are, in the order of their numbers. Rows of others are left out, counted.
    missing: what happens if a system gave nothing for an example: ``empty`` and ``error`` fill in
        one empty hypothesis, ``skip`` leaves it out.
    refused: ids of rows of the references that were refused before. A hypothesis for one of them
        is refused because of it; one for an id that no row has lies outside (counted).
    slices, hypothesis_slices: columns whose values the examples get, those of hypotheses under
        the name ``hypotheses.COLUMN``. They take no part in what rows are equal.
    Rows that are equal collapse into one; rows that contradict each other under one key are all
    refused; a hypothesis without (accepted) references is refused.
    """
    references = references.combine_chunks()
    hypotheses = hypotheses.combine_chunks()
    refusals: list[Refusal] = []
    counts: dict[str, int] = {}
    content = hashing.combine(
        [
            hashing.hash_lists(_column(references, "references")),
            *([_hash_nullable(_column(references, resample_by))] if resample_by else []),
        ]
    )
    types = _types(references)
    compared = content
    if types is not None:
        compared = hashing.combine([content, hashing.hash_lists(types)])
    ids = _column(references, "example_id")
    by_id = pc.sort_indices(ids).to_numpy().astype(np.int64)
    kept, contradicting, collapsed = _distinct(
        by_id, _string_starts(ids.take(pa.array(by_id))), compared
    )
    unusable = ids.take(pa.array(contradicting))
    counts["references.collapsed"] = collapsed
    if len(contradicting):
        refusals.append(
            Refusal(
                "references",
                contradicting,
                "contradicting_duplicates",
                "several rows have this example_id and differ",
            )
        )
    kept_references = kept
    chosen = references.take(pa.array(kept))
    counts["references.accepted"] = len(kept)
    example_id = _column(chosen, "example_id")
    counts["references.fingerprint"] = fingerprint(example_id, content[kept])
    row_example = _index_in(ids, example_id)
    agreed = {
        name: _agreed(_column(references, name), row_example, len(example_id)) for name in slices
    }

    example = _index_in(_column(hypotheses, "example_id"), example_id)
    system = _index_in(_column(hypotheses, "system"), pa.array(systems, pa.string()))
    sample = _column(hypotheses, "sample").to_numpy().astype(np.int64)
    text = _column(hypotheses, "text")
    counts["hypotheses.not_selected"] = int(np.count_nonzero(system < 0))
    orphan = np.flatnonzero((example < 0) & (system >= 0))
    if len(orphan):
        refusals.append(
            Refusal(
                "hypotheses",
                orphan,
                "no_reference",
                "no accepted row of the references has this example_id",
            )
        )
        of_refused = pa.concat_arrays([unusable, *(refused.chunks if refused is not None else [])])
        orphans = _column(hypotheses, "example_id").take(pa.array(orphan))
        counts["hypotheses.outside"] = int(np.count_nonzero(_index_in(orphans, of_refused) < 0))
    usable = np.flatnonzero((example >= 0) & (system >= 0))
    order = usable[np.lexsort((sample[usable], system[usable], example[usable]))]
    content = _hash_nullable(text)
    keys = (example[order] * max(len(systems), 1) + system[order], sample[order])
    kept, contradicting, collapsed = _distinct(order, _changes(*keys), content)
    counts["hypotheses.collapsed"] = collapsed
    if len(contradicting):
        refusals.append(
            Refusal(
                "hypotheses",
                contradicting,
                "contradicting_duplicates",
                "several rows have this example_id, system and sample and differ",
            )
        )
    answers = np.where(system < 0, -1, example)
    answers[contradicting] = -1
    for name in hypothesis_slices:
        values = _agreed(_column(hypotheses, name), answers, len(example_id))
        agreed[f"{HYPOTHESES}{name}"] = values
    for name, (_, contradictions) in agreed.items():
        if contradictions:
            counts[f"slices.{name}.contradicting"] = contradictions
    given = pc.is_valid(text).to_numpy(zero_copy_only=False)[kept]
    counts["hypotheses.null"] = int(np.count_nonzero(~given))
    kept = kept[given]
    counts["hypotheses.scored"] = len(kept)
    name_hash = hashing.hash_strings(pa.array(systems, pa.string()))
    counts["hypotheses.fingerprint"] = fingerprint(
        example_id.take(pa.array(example[kept])),
        hashing.combine([name_hash[system[kept]], sample[kept].astype(np.uint64), content[kept]]),
    )

    absent = np.ones((len(example_id), len(systems)), np.bool_)
    absent[example[kept], system[kept]] = False
    example, system, sample = example[kept], system[kept], sample[kept]
    row = kept
    if missing != "skip":
        fill_example, fill_system = np.nonzero(absent)
        row = np.concatenate([row, np.full(len(fill_example), -1)])
        example = np.concatenate([example, fill_example])
        system = np.concatenate([system, fill_system])
        sample = np.concatenate([sample, np.zeros(len(fill_example), np.int64)])
        order = np.lexsort((sample, system, example))
        row, example, system, sample = row[order], example[order], system[order], sample[order]

    lists = _column(chosen, "references")
    layout = Layout(
        references=_lengths(lists),
        hypotheses=np.bincount(example, minlength=len(example_id)).astype(np.int64),
    )
    units = hashing.hash_strings(
        example_id if resample_by is None else _strings(_column(chosen, resample_by))
    )
    return Joined(
        Examples(
            example_id=example_id,
            slices={name: values for name, (values, _) in agreed.items()},
            units=units,
            layout=layout,
            system=system.astype(np.int32),
            sample=sample.astype(np.int32),
            filled=row < 0,
            absent=absent,
        ),
        _interleave(layout, lists.flatten(), text, row),
        tuple(refusals),
        counts,
        None if types is None else _flat_types(types.take(pa.array(kept_references)), layout),
    )


def _agreed(column: pa.Array, example: Ints, examples: int) -> tuple[pa.Array, int]:
    """The one value of every example, and how many examples have several.

    column: a value of every row, nulls count as none; example: that of every row, -1 for none.
    """
    encoded = column.cast(pa.string()).dictionary_encode()
    codes = _numbers(encoded.indices.fill_null(-1))
    rows = np.flatnonzero((codes >= 0) & (example >= 0))
    codes, example = codes[rows], example[rows]
    value = np.full(examples, -1)
    value[example] = codes
    differs = np.zeros(examples, np.bool_)
    differs[example[codes != value[example]]] = True
    value[differs] = -1
    values = encoded.dictionary.take(pa.array(value, mask=value < 0)).fill_null(UNKNOWN)
    return values, int(np.count_nonzero(differs))


def fingerprint(ids: pa.Array, content: hashing.Hashes) -> int:
    """A number below 2**64 of a set of rows; those of parts add up (modulo 2**64)."""
    rows = hashing.combine([hashing.hash_strings(ids), content])
    return int(np.add.reduce(rows, dtype=np.uint64))


def _interleave(layout: Layout, references: pa.Array, hypotheses: pa.Array, rows: Ints) -> pa.Array:
    """All texts in the order of the layout; row -1 is an empty hypothesis."""
    references = references.cast(pa.large_string())
    hypotheses = hypotheses.cast(pa.large_string())
    empty = len(references) + len(hypotheses)
    source = np.empty(len(references) + len(rows), np.int64)
    source[layout.text_of_hypothesis] = np.where(rows < 0, empty, len(references) + rows)
    is_reference = np.ones(len(source), np.bool_)
    is_reference[layout.text_of_hypothesis] = False
    source[is_reference] = np.arange(len(references))
    pool = pa.concat_arrays([references, hypotheses, pa.array([""], pa.large_string())])
    return pool.take(pa.array(source))


def _distinct(order: Ints, starts: npt.NDArray[np.bool_], content: Any) -> tuple[Ints, Ints, int]:
    """Rows kept, rows that contradict each other, and how many equal rows collapsed.

    order: rows sorted by key; starts: where a new key starts in it; content: a hash of every row.
    """
    first = np.flatnonzero(starts)
    sizes = ragged.sizes_of(first, len(order))
    if len(first) == len(order):
        return order, np.zeros(0, np.int64), 0
    differs = content[order] != np.repeat(content[order[first]], sizes)
    contradicting = ragged.segment_sum(differs.astype(np.int64), sizes) > 0
    refused = order[np.repeat(contradicting, sizes)]
    kept = order[first[~contradicting]]
    return kept, refused, len(order) - len(kept) - len(refused)


def _changes(*keys: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    starts = np.ones(len(keys[0]), np.bool_)
    starts[1:] = False
    for key in keys:
        starts[1:] |= key[1:] != key[:-1]
    return starts


def _string_starts(ids: pa.Array) -> npt.NDArray[np.bool_]:
    """Where a new string starts in sorted strings."""
    if len(ids) == 0:
        return np.zeros(0, np.bool_)
    changed = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([np.ones(1, np.bool_), changed])


def _hash_nullable(column: pa.Array) -> hashing.Hashes:
    """Hashes in which null differs from the empty string."""
    hashes = hashing.hash_strings(column)
    if column.null_count:
        hashes[pc.is_null(column).to_numpy(zero_copy_only=False)] = np.uint64(0)
    return hashes


def _types(references: pa.Table) -> pa.Array | None:
    if "reference_types" not in references.column_names:
        return None
    types = _column(references, "reference_types")
    return None if types.null_count == len(types) else types


def _flat_types(types: pa.Array, layout: Layout) -> pa.Array:
    """[references], null where the row names none."""
    named = types.is_valid().to_numpy(zero_copy_only=False)
    sizes = np.repeat(named, layout.references)
    source = np.where(sizes, np.cumsum(sizes) - 1, 0)
    return types.flatten().take(pa.array(source, mask=~sizes))


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _index_in(values: pa.Array, known: pa.Array) -> Ints:
    """The place of every value among the known ones, -1 if it is not there."""
    index = pc.index_in(values, value_set=known)
    return _numbers(index.fill_null(-1))


def _lengths(lists: pa.Array) -> Ints:
    return _numbers(pc.list_value_length(lists))


def _numbers(column: pa.Array) -> Ints:
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values.astype(np.int64)


def _strings(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()).fill_null(UNKNOWN)
