"""The scores in plain Python, one segment after the other: slow, and easy to check by eye.

Tests compare the fast versions in scoring/ with these. Nothing of scoring/ is used here. A text is
a list of tokens; an n-gram is a tuple; a count is an entry of a dictionary.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Text = Sequence[str]
Gram = tuple[str, ...]


def ngrams_of(text: Text, order: int) -> Counter[Gram]:
    """How often every n-gram of one order occurs in a text."""
    counts: Counter[Gram] = Counter()
    for start in range(len(text) - order + 1):
        counts[tuple(text[start : start + order])] += 1
    return counts


# BLEU


@dataclass(frozen=True)
class BleuCounts:
    """The statistics of BLEU, of a segment or summed; the lists are by order, from 1."""

    hypothesis_length: int
    reference_length: int
    matches: tuple[int, ...]
    totals: tuple[int, ...]

    def row(self) -> list[int]:
        """In the order in which sacrebleu lists them."""
        return [self.hypothesis_length, self.reference_length, *self.matches, *self.totals]


def bleu_counts(hypothesis: Text, references: Sequence[Text], order: int) -> BleuCounts:
    """The statistics of one segment."""
    closest = len(references[0])
    for reference in references:
        length = len(reference)
        nearer = abs(length - len(hypothesis)) < abs(closest - len(hypothesis))
        as_near = abs(length - len(hypothesis)) == abs(closest - len(hypothesis))
        if nearer or (as_near and length < closest):
            closest = length
    matches = []
    totals = []
    for n in range(1, order + 1):
        matched = 0
        total = 0
        for gram, count in ngrams_of(hypothesis, n).items():
            most = max(ngrams_of(reference, n)[gram] for reference in references)
            matched += min(count, most)
            total += count
        matches.append(matched)
        totals.append(total)
    return BleuCounts(len(hypothesis), closest, tuple(matches), tuple(totals))


def summed(segments: Sequence[BleuCounts]) -> BleuCounts:
    """The statistics of a corpus."""
    return BleuCounts(
        sum(s.hypothesis_length for s in segments),
        sum(s.reference_length for s in segments),
        tuple(sum(column) for column in zip(*(s.matches for s in segments))),
        tuple(sum(column) for column in zip(*(s.totals for s in segments))),
    )


def bleu(
    counts: BleuCounts,
    weights: Sequence[float],
    smoothing: str = "exp",
    value: float = 0.0,
    effective_order: bool = False,
) -> float:
    """BLEU on a scale of 0 to 1. value: of the smoothings floor and add-k."""
    if counts.hypothesis_length == 0 or sum(counts.matches) == 0:
        return 0.0
    precisions = []
    halvings = 0
    for n, (match, total) in enumerate(zip(counts.matches, counts.totals), start=1):
        numerator, denominator = float(match), float(total)
        if smoothing == "add-k" and n > 1:
            numerator += value
            denominator += value
        if denominator == 0:
            break
        if numerator == 0 and smoothing == "exp":
            halvings += 1
            numerator = 1 / 2**halvings
        elif numerator == 0 and smoothing == "floor":
            numerator = value
        precisions.append(numerator / denominator)
    if not effective_order:
        precisions += [0.0] * (len(weights) - len(precisions))
    logarithm = 0.0
    weight_used = 0.0
    for precision, weight in zip(precisions, weights):
        if weight == 0:
            continue
        if precision == 0:
            return 0.0
        logarithm += weight * math.log(precision)
        weight_used += weight
    if weight_used == 0:
        return 0.0
    mean = logarithm / weight_used if effective_order else logarithm
    ratio = counts.reference_length / counts.hypothesis_length
    brevity = math.exp(1 - ratio) if ratio > 1 else 1.0
    return brevity * math.exp(mean)


# CIDEr and CIDEr-D


def document_frequencies(reference_sets: Sequence[Sequence[Text]], order: int) -> Counter[Gram]:
    """In how many examples at least one reference holds the n-gram, orders 1 to ``order``."""
    frequencies: Counter[Gram] = Counter()
    for references in reference_sets:
        held: set[Gram] = set()
        for reference in references:
            for n in range(1, order + 1):
                held |= set(ngrams_of(reference, n))
        frequencies.update(held)
    return frequencies


def cider(
    hypothesis: Text,
    references: Sequence[Text],
    frequencies: Mapping[Gram, int],
    documents: int,
    order: int = 4,
    sigma: float | None = 6.0,
) -> float:
    """CIDEr-D of one segment; sigma None: CIDEr, neither clipped nor punished for its length."""

    def vector(text: Text, n: int) -> dict[Gram, float]:
        return {
            gram: count * (math.log(documents) - math.log(max(1, frequencies.get(gram, 0))))
            for gram, count in ngrams_of(text, n).items()
        }

    def norm(values: Mapping[Gram, float]) -> float:
        return math.sqrt(sum(v * v for v in values.values()))

    def bigrams(text: Text) -> int:
        return max(0, len(text) - 1)

    over_references = 0.0
    for reference in references:
        over_orders = 0.0
        for n in range(1, order + 1):
            own, other = vector(hypothesis, n), vector(reference, n)
            if norm(own) == 0 or norm(other) == 0:
                continue
            product = 0.0
            for gram, weight in own.items():
                in_reference = other.get(gram, 0.0)
                kept = weight if sigma is None else min(weight, in_reference)
                product += kept * in_reference
            over_orders += product / (norm(own) * norm(other))
        if sigma is not None:
            difference = bigrams(hypothesis) - bigrams(reference)
            over_orders *= math.exp(-(difference**2) / (2 * sigma**2))
        over_references += over_orders / order
    return 10 * over_references / len(references)
