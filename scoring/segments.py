"""The tokens of a batch of examples, laid out for counting: references and hypotheses together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import hashing, ragged
from scoring.document_frequencies import DocumentFrequencies
from scoring.ngrams import NgramCounts, count_ngrams

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TokenTrack:
    """Every text of a batch as numbers of tokens.

    vocabulary_hashes: [tokens of the vocabulary], ascending.
    ids: [tokens of all texts], indices into the vocabulary.
    lengths: [texts], tokens of every text.
    """

    vocabulary_hashes: hashing.Hashes
    ids: npt.NDArray[Any]
    lengths: Ints

    @cached_property
    def offsets(self) -> Ints:
        """Where every text starts in ``ids``: [texts + 1]."""
        return ragged.offsets_of(self.lengths)


@dataclass(frozen=True)
class Layout:
    """Which text is what. Texts stand example by example: its references, then its hypotheses.

    references: [examples], number of references, at least 1.
    hypotheses: [examples], number of hypotheses (of all systems and samples).
    """

    references: Ints
    hypotheses: Ints

    @cached_property
    def first_text(self) -> Ints:
        """The first text (a reference) of every example: [examples]."""
        return ragged.offsets_of(self.references + self.hypotheses)[:-1]

    @cached_property
    def example_of_hypothesis(self) -> Ints:
        """[hypotheses]"""
        return ragged.list_index(self.hypotheses)

    @cached_property
    def example_of_text(self) -> Ints:
        """[texts]"""
        return ragged.list_index(self.references + self.hypotheses)

    @cached_property
    def text_of_hypothesis(self) -> Ints:
        """[hypotheses]"""
        return ragged.ranges(self.first_text + self.references, self.hypotheses)

    @cached_property
    def references_of_hypothesis(self) -> Ints:
        """How many references every hypothesis is compared with: [hypotheses]."""
        return self.references[self.example_of_hypothesis]

    @cached_property
    def reference_pairs(self) -> Ints:
        """The reference's text of every (hypothesis, reference) pair: [pairs].

        The pairs of a hypothesis stand together, in the order of its references.
        """
        first = self.first_text[self.example_of_hypothesis]
        return ragged.ranges(first, self.references_of_hypothesis)

    @cached_property
    def hypothesis_of_text(self) -> Ints:
        """The number of the hypothesis of every text, -1 for a reference: [texts]."""
        numbers = np.full(len(self.example_of_text), -1, np.int64)
        numbers[self.text_of_hypothesis] = np.arange(len(self.text_of_hypothesis))
        return numbers

    @cached_property
    def is_hypothesis(self) -> npt.NDArray[np.bool_]:
        """[texts]"""
        return self.hypothesis_of_text >= 0

    @cached_property
    def hypothesis_of_pair(self) -> Ints:
        """[pairs]"""
        return ragged.list_index(self.references_of_hypothesis)

    @cached_property
    def pair_base(self) -> Ints:
        """For every hypothesis: (pair number) - (text of the reference): [hypotheses]."""
        offsets = ragged.offsets_of(self.references_of_hypothesis)[:-1]
        return offsets - self.first_text[self.example_of_hypothesis]


@dataclass(frozen=True)
class NgramPairs:
    """Every n-gram that a hypothesis shares with a reference, sorted by (gram, pair).

    pair: [matches], see ``Layout.reference_pairs``. first: [n-grams of hypotheses], where the
    pairs of one n-gram in one hypothesis start.
    """

    gram: Ints
    pair: Ints
    hypothesis_count: Ints
    reference_count: Ints
    first: Ints


@dataclass(frozen=True)
class NgramGroups:
    """The entries of ``NgramCounts`` that are one n-gram in one example.

    first: [groups], the first entry of each; sizes: [groups], how many entries it has.
    """

    first: Ints
    sizes: Ints


@dataclass(frozen=True)
class SegmentTokens:
    """What a metric sees: one track of a batch, its layout, and n-gram counts made once for all.

    document_frequencies: for metrics that weigh n-grams; None if no metric asked for them.
    """

    track: TokenTrack
    layout: Layout
    document_frequencies: DocumentFrequencies | None = None
    _counts: dict[int, list[NgramCounts]] = field(default_factory=dict, repr=False)
    _groups: dict[int, NgramGroups] = field(default_factory=dict, repr=False)
    _pairs: dict[int, NgramPairs] = field(default_factory=dict, repr=False)

    def with_frequencies(self, frequencies: DocumentFrequencies) -> SegmentTokens:
        """The same with document frequencies; what has been counted is kept."""
        return replace(self, document_frequencies=frequencies)

    def ngrams(self, order: int) -> list[NgramCounts]:
        """The counts of the orders 1 to ``order``."""
        most = max(self._counts, default=0)
        if order > most:
            self._counts.clear()
            self._counts[order] = count_ngrams(
                self.track.ids, self.track.lengths, self.track.vocabulary_hashes, order
            )
            most = order
        return self._counts[most][:order]

    def hypothesis_lengths(self) -> Ints:
        """Tokens of every hypothesis: [hypotheses]."""
        return self.track.lengths[self.layout.text_of_hypothesis]

    def clipped_matches(self, order: int) -> Ints:
        """n-grams of every hypothesis that a reference holds, each at most as often as the
        reference that holds it most often: [hypotheses]."""
        pairs = self.pairs(order)
        hypotheses = len(self.layout.text_of_hypothesis)
        if not len(pairs.first):
            return np.zeros(hypotheses, np.int64)
        most = np.maximum.reduceat(pairs.reference_count, pairs.first)
        clipped = np.minimum(pairs.hypothesis_count[pairs.first], most)
        own = self.layout.hypothesis_of_pair[pairs.pair[pairs.first]]
        # Sums of integers far below 2**53 are exact in the float64 that bincount adds in.
        return np.bincount(own, clipped, hypotheses).astype(np.int64)

    def groups(self, order: int) -> NgramGroups:
        """The entries of one n-gram in one example, references first."""
        if order not in self._groups:
            counts = self.ngrams(order)[order - 1]
            example = self.layout.example_of_text[counts.text]
            starts = np.ones(len(example), np.bool_)
            np.not_equal(example[1:], example[:-1], out=starts[1:])
            starts[1:] |= counts.gram[1:] != counts.gram[:-1]
            first = np.flatnonzero(starts)
            self._groups[order] = NgramGroups(first, ragged.sizes_of(first, len(example)))
        return self._groups[order]

    def matched_references(self) -> Ints:
        """For every hypothesis the reference that shares most with it: [hypotheses].

        By the Dice coefficient of 1- and 2-grams together, clipped; of equals the first. -1 if
        none shares anything.
        """
        repeats = self.layout.references_of_hypothesis
        reference = self.layout.reference_pairs
        shared = np.zeros(len(reference), np.int64)
        for order in (1, 2):
            pairs = self.pairs(order)
            least = np.minimum(pairs.hypothesis_count, pairs.reference_count)
            shared += np.bincount(pairs.pair, least, len(reference)).astype(np.int64)
        # 1- and 2-grams of a text of L tokens: 2L - 1.
        grams = np.maximum(2 * self.track.lengths - 1, 0)
        total = np.repeat(grams[self.layout.text_of_hypothesis], repeats) + grams[reference]
        dice = shared / np.maximum(total, 1)
        starts = ragged.offsets_of(repeats)[:-1]
        best = np.maximum.reduceat(dice, starts) if len(starts) else np.zeros(0)
        is_best = dice == np.repeat(best, repeats)
        place = ragged.ranges(np.zeros(len(repeats), np.int64), repeats)
        first = ragged.segment_min(np.where(is_best, place, len(place)), repeats)
        return np.where(best > 0, first, -1)

    def pairs(self, order: int) -> NgramPairs:
        """The n-grams of one order that hypotheses share with references."""
        if order not in self._pairs:
            self._pairs[order] = self._match(order)
        return self._pairs[order]

    def _match(self, order: int) -> NgramPairs:
        counts, groups = self.ngrams(order)[order - 1], self.groups(order)
        is_hypothesis = self.layout.is_hypothesis
        # References stand first in a group: it has both kinds if its ends are of both kinds.
        last = groups.first + groups.sizes - 1
        both = ~is_hypothesis[counts.text[groups.first]]
        both &= is_hypothesis[counts.text[last]]
        sizes = groups.sizes[both]
        entries = ragged.ranges(groups.first[both], sizes)
        own = is_hypothesis[counts.text[entries]]
        references = sizes - ragged.segment_sum(own.astype(np.int64), sizes)
        group = ragged.list_index(sizes)[own]
        repeats = references[group]
        other = ragged.ranges(groups.first[both][group], repeats)
        entries = entries[own]
        hypothesis = self.layout.hypothesis_of_text[counts.text[entries]]
        pair = np.repeat(self.layout.pair_base[hypothesis], repeats) + counts.text[other]
        return NgramPairs(
            gram=np.repeat(counts.gram[entries], repeats),
            pair=pair,
            hypothesis_count=np.repeat(counts.count[entries], repeats),
            reference_count=counts.count[other],
            first=ragged.offsets_of(repeats)[:-1],
        )
