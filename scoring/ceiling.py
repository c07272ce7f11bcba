"""What scores can be had at all: people against people (ceiling), any text of the set (floor).

The ceiling scores every reference against the other ones of its example; a system is compared with
one reference more, which favours it. The floor scores, for every example, a reference of another
example.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scoring import hashing, ragged
from scoring.document_frequencies import DocumentFrequencies
from scoring.evaluation import EXAMPLES, StatisticsLayout
from scoring.metrics.tracks import Tracks
from scoring.segments import Layout, SegmentTokens, TokenTrack

Ints = npt.NDArray[np.int64]

CEILING, FLOOR = "reference ceiling", "reference floor"
"""The names that they are scored by, beside the systems; the ceiling comes last."""

NAMES = (FLOOR, CEILING)

NOTES = {
    CEILING: "every reference against the others of its example",
    FLOOR: "for every example a reference of another one",
}


@dataclass(frozen=True)
class LeftOut:
    """Every reference of the examples that have several, as the hypothesis of an example of its
    own. example: [left-out references], the example that it belongs to, ascending."""

    layout: Layout
    texts: Ints
    example: Ints


def leave_one_out(layout: Layout) -> LeftOut:
    """The references left out one after the other. texts: their places in the batch's texts."""
    several = np.flatnonzero(layout.references > 1)
    counts = layout.references[several]
    example = np.repeat(several, counts)
    out = ragged.ranges(np.zeros(len(several), np.int64), counts)
    sizes = layout.references[example]
    place = ragged.ranges(np.zeros(len(example), np.int64), sizes)
    texts = np.repeat(layout.first_text[example], sizes) + place
    own = ragged.list_index(sizes)
    # The one that is left out goes behind the others.
    order = np.lexsort((place + sizes[own] * (place == out[own]), own))
    made = Layout(references=sizes - 1, hypotheses=np.ones(len(example), np.int64))
    return LeftOut(made, texts[order], example)


def _taken(tokens: SegmentTokens, left: LeftOut, order: int) -> SegmentTokens:
    """The tokens of a track for the examples that were made."""
    track = tokens.track
    lengths = track.lengths[left.texts]
    ids = track.ids[ragged.ranges(track.offsets[left.texts], lengths)]
    made = SegmentTokens(TokenTrack(track.vocabulary_hashes, ids, lengths), left.layout)
    known = tokens.document_frequencies
    if known is None:
        return made
    by_order = []
    for own, all_of, frequency in zip(made.ngrams(order), tokens.ngrams(order), known.by_order):
        place = np.argsort(all_of.hashes)
        at = np.searchsorted(all_of.hashes, own.hashes, sorter=place)
        by_order.append(frequency[place[at]])
    return made.with_frequencies(DocumentFrequencies(known.documents, tuple(by_order)))


def ceiling(layout: StatisticsLayout, tracks: Tracks, examples: int) -> Ints:
    """The statistics of the ceiling: [examples, 1, k], 0 where there is one reference only."""
    result = np.zeros((examples, 1, len(layout.names)), np.int64)
    left = leave_one_out(next(iter(tracks.values())).layout)
    if not len(left.example):
        return result
    orders = layout.document_orders
    made = {name: _taken(tokens, left, orders.get(name, 0)) for name, tokens in tracks.items()}
    segments = layout.segment_statistics(made)
    np.add.at(result[:, 0], left.example, segments)
    result[left.example, 0, layout.column(EXAMPLES)] = 1
    return result


def with_ceiling(systems: Sequence[str]) -> list[str]:
    """The systems, and the ceiling behind them."""
    return [*systems, CEILING]


def shuffled(ids: pa.Array, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """For every id the text of the next one, in an order that has nothing to do with either.

    Returns ids (all but one that is alone) and texts, sorted by that order.
    """
    if len(ids) < 2:
        return ids.slice(0, 0), texts.slice(0, 0)
    salted = hashing.extend(hashing.hash_strings(ids), np.zeros(len(ids), np.uint64))
    order = np.lexsort((_ranks(ids), salted))
    return ids.take(pa.array(order)), texts.take(pa.array(np.roll(order, -1)))


def _ranks(ids: pa.Array) -> Ints:
    """The place of every id among them, for those whose hashes are equal."""
    ranks = np.empty(len(ids), np.int64)
    ranks[np.argsort(np.array(ids.to_pylist(), object), kind="stable")] = np.arange(len(ids))
    return ranks
