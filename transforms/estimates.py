"""How much passes between the stages, guessed before a run from footers and settings.

The factors were measured on made Chinese replies (benchmarks/data.py; 3 and 10 systems, BLEU and
CIDEr-D); a test holds the guesses to within twice of what passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scoring import ceiling
from scoring.comparisons import OUTCOMES
from transforms.scores import DIFFERENCES_OF_A_PACKET, Measures
from transforms.sources import HYPOTHESES, REFERENCES, Inputs

# Bytes that are sent for a byte of input.
_ROWS = 0.95
_NGRAMS = 3.0
_TOKENS = 0.8
_LARGEST_TOKENS = 0.65

_STATISTIC_BYTES = 8

# A row of the tables, as it is sent to the last writer.
_SCORE_BYTES = 400
_DIFFERENCE_BYTES = 500
# No two partitions are equally large.
_UNEVEN = 1.2


@dataclass(frozen=True)
class Shuffle:
    """What comes to a shuffle. bytes: in all elements together; largest: of one; together: of all
    draws of a slice."""

    bytes: int
    elements: int
    largest: int
    together: int = 0


def shuffles(
    inputs: Inputs, measures: Measures, systems: Sequence[str], slices: int, groups: int
) -> dict[str, Shuffle]:
    """By the name of the shuffle in the graph; those that are not there are small.

    Sums count every partition apart: where a worker adds up some before it sends, less is sent.
    slices: values of all slices, at most.
    """
    size, partitions, buckets = inputs.bytes, inputs.partitions, inputs.buckets
    of_systems = _systems(inputs, systems)
    splits = len(inputs.splits())
    rows = round(_ROWS * size)
    found = {"Join/ByPartition": _even(rows, splits * partitions)}
    if measures.document_orders:
        tracks, asking = len(measures.layout().tracks), len(measures.document_orders)
        asked = round(_NGRAMS * size * asking), partitions * buckets
        found["DocumentFrequencies/ByBucket"] = _even(*asked)
        largest = round(_UNEVEN * _LARGEST_TOKENS * size * tracks / partitions)
        answered = round(_TOKENS * size * tracks), partitions * (buckets + 1)
        found["Segments/ByPartition"] = Shuffle(*answered, largest)
    metrics = len(measures.layout().metrics)
    names = _names(of_systems, systems, measures.comparisons.baseline)
    if measures.ceiling:
        names = [*names, *ceiling.NAMES]
    pairs = measures.pairs(names)
    places = len(names) + (2 * len(pairs) if measures.comparisons.common else 0)
    row = len(names) * len(measures.layout().names) * _STATISTIC_BYTES
    blocks, values = measures.blocks(names), 1 + slices
    if groups > 1:
        statistics = row * inputs.rows(REFERENCES) * groups
        found["Slices/Sums/Spread"] = _even(statistics, partitions * groups)
    summed = places * len(measures.layout().names) * _STATISTIC_BYTES
    sums = values * sum(map(len, blocks)) * summed
    outcomes = len(pairs) * metrics * len(OUTCOMES) * _STATISTIC_BYTES
    largest = max(summed * max(map(len, blocks)), summed + outcomes)
    elements = values * len(blocks)
    found["Slices/Sums/Sum"] = Shuffle(partitions * sums, partitions * elements, largest)
    found["Slices/Finish/BySlice"] = Shuffle(sums, elements, largest, sums // values)
    scores = len(names) * metrics * (_SCORE_BYTES + _STATISTIC_BYTES * measures.replicates)
    differences = len(pairs) * metrics * len(measures.comparisons.tests)
    parts = -(-differences // DIFFERENCES_OF_A_PACKET)
    found["WriteResults/Together"] = Shuffle(
        values * (scores + differences * _DIFFERENCE_BYTES),
        values * (1 + parts) + 2 * partitions,
        max(scores, min(differences, DIFFERENCES_OF_A_PACKET) * _DIFFERENCE_BYTES),
    )
    return found


def _even(size: int, elements: int) -> Shuffle:
    return Shuffle(size, elements, round(_UNEVEN * size / max(1, elements)))


def _names(count: int, named: Sequence[str], baseline: str | None) -> list[str]:
    """As many names of systems, the baseline's among them."""
    made = [*named, *(f"\0{i}" for i in range(count - len(named)))]
    return made if baseline is None or baseline in made else [baseline, *made[1:]]


def _systems(inputs: Inputs, named: Sequence[str]) -> int:
    """How many systems there are: as many as are named, or as rows for an example."""
    examples = max(1, inputs.rows(REFERENCES))
    return len(named) or max(1, -(-inputs.rows(HYPOTHESES) // examples))
