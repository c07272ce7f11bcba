"""The references of examples: those that say nearly the same, and what types match best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scoring import ragged
from scoring.joining import UNKNOWN, Examples, Joined
from scoring.segments import Layout, SegmentTokens, TokenTrack

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def jaccard_pairs(tokens: SegmentTokens) -> tuple[Ints, Ints, npt.NDArray[np.float64]]:
    """Every two references of one example, as numbers of texts, and how alike they are.

    By the Jaccard coefficient of their sets of tokens: what both have, of what either has. Order
    and repetition do not count. Two without any token are alike.
    """
    layout = tokens.layout
    sizes = layout.references
    # Pairs (i, j), i < j, of an example stand together, by i and then by j.
    place = ragged.ranges(np.zeros(len(sizes), np.int64), sizes)
    after = np.repeat(sizes, sizes) - 1 - place
    own = ragged.ranges(layout.first_text, sizes)
    first, second = np.repeat(own, after), ragged.ranges(own + 1, after)
    pair_of_first = np.zeros(len(layout.example_of_text), np.int64)
    pair_of_first[own] = ragged.offsets_of(after)[:-1]

    counts, groups = tokens.ngrams(1)[0], tokens.groups(1)
    is_reference = ~layout.is_hypothesis[counts.text]
    distinct = np.bincount(counts.text, minlength=len(layout.example_of_text))
    # Of every group, a token in an example, the references that hold it stand first.
    group = ragged.list_index(groups.sizes)
    members = np.bincount(group[is_reference], minlength=len(groups.first))
    held = ragged.ranges(groups.first, members)
    rank = ragged.ranges(np.zeros(len(members), np.int64), members)
    following = np.repeat(members, members) - 1 - rank
    one = np.repeat(counts.text[held], following)
    other = counts.text[ragged.ranges(held + 1, following)]
    pair = pair_of_first[one] + (other - one - 1)
    both = np.bincount(pair, minlength=len(first))
    either = distinct[first] + distinct[second] - both
    return first, second, np.where(either > 0, both / np.maximum(either, 1), 1.0)


def near_duplicates(tokens: SegmentTokens, threshold: float) -> Bools:
    """The references that are left out: [texts].

    References of one example that are alike above the threshold belong together, and so do those
    that are through others; of each such group the longest in tokens stays, of equals the first.
    """
    first, second, alike = jaccard_pairs(tokens)
    near = alike > threshold
    first, second = first[near], second[near]
    texts = len(tokens.track.lengths)
    group = np.arange(texts)
    while True:  # as often as the longest way through a group: references of an example are few
        least = np.minimum(group[first], group[second])
        before = group.copy()
        np.minimum.at(group, first, least)
        np.minimum.at(group, second, least)
        if np.array_equal(before, group):
            break
    order = np.lexsort((np.arange(texts), -tokens.track.lengths, group))
    stays = np.ones(texts, np.bool_)
    stays[1:] = group[order][1:] != group[order][:-1]
    left_out = np.ones(texts, np.bool_)
    left_out[order[stays]] = False
    return left_out


@dataclass(frozen=True)
class Reduced:
    """Examples without the references that are left out. dropped: how many those are;
    examples_reduced: of how many examples."""

    examples: Examples
    texts: pa.Array
    tracks: dict[str, TokenTrack]
    reference_types: pa.Array | None
    dropped: int
    examples_reduced: int


def without_near_duplicates(
    joined: Joined, tracks: dict[str, TokenTrack], track: str, threshold: float
) -> Reduced:
    """Leave near-duplicates out on all tracks. track: by which they are found."""
    layout = joined.examples.layout
    left_out = near_duplicates(SegmentTokens(tracks[track], layout), threshold)
    stays = ~left_out
    dropped = np.bincount(layout.example_of_text[left_out], minlength=len(layout.references))
    types = joined.reference_types
    if types is not None:
        types = types.filter(pa.array(stays[~layout.is_hypothesis]))
    return Reduced(
        replace(joined.examples, layout=Layout(layout.references - dropped, layout.hypotheses)),
        joined.texts.filter(pa.array(stays)),
        {name: _only(one, stays) for name, one in tracks.items()},
        types,
        int(dropped.sum()),
        int(np.count_nonzero(dropped)),
    )


def _only(track: TokenTrack, stays: Bools) -> TokenTrack:
    kept = np.repeat(stays, track.lengths)
    return TokenTrack(track.vocabulary_hashes, track.ids[kept], track.lengths[stays])


@dataclass(frozen=True)
class TypeCounts:
    """How often references of a type match best.

    types: sorted by code point. matched: [systems, types + 1], the last: nothing matches;
    references: [types], how many references there are of each.
    """

    types: tuple[str, ...]
    matched: Ints
    references: Ints

    def __add__(self, other: TypeCounts) -> TypeCounts:
        types = tuple(sorted({*self.types, *other.types}))
        place = {name: i for i, name in enumerate(types)}
        matched = np.zeros((len(self.matched), len(types) + 1), np.int64)
        references = np.zeros(len(types), np.int64)
        for part in (self, other):
            columns = [*(place[name] for name in part.types), len(types)]
            matched[:, columns] += part.matched
            references[columns[:-1]] += part.references
        return TypeCounts(types, matched, references)


def count_types(examples: Examples, types: pa.Array, matched: Ints, systems: int) -> TypeCounts:
    """The types of the best matching references. An example none of whose references has a type
    does not count; a reference without one among others is of the type ``UNKNOWN``.

    types: [references], in the order of the layout; matched: [hypotheses], as
    ``SegmentTokens.matched_references`` gives them.
    """
    layout = examples.layout
    owner = ragged.list_index(layout.references)
    given = types.is_valid().to_numpy(zero_copy_only=False)
    typed = np.bincount(owner[given], minlength=len(layout.references)) > 0
    encoded = types.filter(pa.array(typed[owner])).fill_null(UNKNOWN).dictionary_encode()
    names: list[str] = encoded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    number = np.zeros(len(names) + 1, np.int64)
    number[order] = np.arange(len(names))
    number[-1] = len(names)
    codes = np.full(len(owner), -1, np.int64)
    codes[typed[owner]] = encoded.indices.to_numpy()
    counts = typed[layout.example_of_hypothesis]
    first = ragged.offsets_of(layout.references)[layout.example_of_hypothesis]
    best = np.where(matched >= 0, codes[first + np.maximum(matched, 0)], -1)[counts]
    cell = examples.system[counts].astype(np.int64) * (len(names) + 1) + number[best]
    found = np.bincount(cell, minlength=systems * (len(names) + 1))
    return TypeCounts(
        tuple(names[i] for i in order),
        found.reshape(systems, -1),
        np.bincount(number[codes[codes >= 0]], minlength=len(names)),
    )


def type_rows(counts: TypeCounts, systems: Sequence[str]) -> list[dict[str, object]]:
    """The rows of the table ``reference_types``."""
    total = int(counts.references.sum())
    rows: list[dict[str, object]] = []
    for system, matched in zip(systems, counts.matched.tolist()):
        segments = sum(matched)
        for name, count, references in zip(
            (*counts.types, None), matched, (*counts.references.tolist(), None)
        ):
            rows.append(
                {
                    "system": system,
                    "reference_type": name,
                    "segments": count,
                    "share": count / segments if segments else None,
                    "references": references,
                    "share_of_references": None if references is None else references / total,
                }
            )
    return rows
