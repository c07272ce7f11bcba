"""CIDEr and CIDEr-D (Vedantam, Zitnick and Parikh, "CIDEr: consensus-based image description
evaluation", CVPR 2015), as the authors' code computes them (vrama91/cider; pycocoevalcap 1.2 is
the same as its ``ciderD``)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import exact
from scoring.metrics.base import FIXED_POINT, SEGMENTS, Floats, Ints
from scoring.segments import SegmentTokens

_LEAST_DOCUMENTS = 2
_TABLE_SIZE = 4096


@dataclass(frozen=True)
class Cider:
    """The mean over segments of the cosine between weighted n-gram counts, times 10.

    order: n-grams of the orders 1 to ``order`` count, each order equally.
    clip_and_penalise: CIDEr-D: a hypothesis' count is clipped at the reference's, and a Gaussian
        of width ``sigma`` (in bigrams) punishes a difference in length. Without: CIDEr.
    The document frequencies are those of the batch (``SegmentTokens.document_frequencies``);
    with a table of fewer than 2 examples every weight would be 0: undefined.
    """

    order: int = 4
    sigma: float = 6.0
    clip_and_penalise: bool = True

    def __post_init__(self) -> None:
        if self.order < 1:
            raise ValueError(f"CIDEr needs an order of at least 1, not {self.order}")
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise ValueError(f"CIDEr-D needs a sigma above 0, not {self.sigma}")

    @property
    def name(self) -> str:
        return "cider_d" if self.clip_and_penalise else "cider"

    @property
    def label(self) -> str:
        return "CIDEr-D" if self.clip_and_penalise else "CIDEr"

    @property
    def scale(self) -> str:
        return "0-10"

    @property
    def document_order(self) -> int:
        return self.order

    @property
    def statistics(self) -> tuple[str, ...]:
        return (SEGMENTS, f"{self.name}_sum", f"{self.name}_undefined")

    def signature(self) -> dict[str, str]:
        parts = {"n": str(self.order)}
        if self.clip_and_penalise:
            parts["sigma"] = f"{self.sigma:.10g}"
        return parts

    def segment_statistics(self, tokens: SegmentTokens) -> Ints:
        frequencies = tokens.document_frequencies
        if frequencies is None:
            raise ValueError(f"{self.name} needs document frequencies")
        hypotheses = len(tokens.layout.text_of_hypothesis)
        statistics = np.ones((hypotheses, 3), np.int64)
        if frequencies.documents < _LEAST_DOCUMENTS:
            statistics[:, 1] = 0
            return statistics
        statistics[:, 2] = 0
        similarity = self.similarities(tokens)
        # bincount adds one after the other, in the order of the references.
        references = tokens.layout.references_of_hypothesis
        pairs = np.repeat(np.arange(hypotheses), references)
        value = 10.0 * (np.bincount(pairs, similarity, hypotheses) / references)
        statistics[:, 1] = np.rint(value * FIXED_POINT).astype(np.int64)
        return statistics

    def similarities(self, tokens: SegmentTokens) -> Floats:
        """The mean over orders of the cosine of every (hypothesis, reference) pair: [pairs]."""
        frequencies = tokens.document_frequencies
        assert frequencies is not None
        layout = tokens.layout
        texts = len(tokens.track.lengths)
        reference = layout.reference_pairs
        hypothesis = np.repeat(layout.text_of_hypothesis, layout.references_of_hypothesis)
        total = np.zeros(len(reference))
        for n, counts in enumerate(tokens.ngrams(self.order), start=1):
            weight = inverse_frequencies(frequencies.by_order[n - 1], frequencies.documents)
            entry = counts.count * weight[counts.gram]
            norms = np.sqrt(np.bincount(counts.text, entry * entry, texts))
            shared = tokens.pairs(n)
            own: npt.NDArray[Any] = shared.hypothesis_count
            if self.clip_and_penalise:
                own = np.minimum(own, shared.reference_count)
            squared = weight[shared.gram] * weight[shared.gram]
            product = own * shared.reference_count.astype(np.float64) * squared
            dot = np.bincount(shared.pair, product, len(reference))
            scale = norms[hypothesis] * norms[reference]
            total += np.divide(dot, scale, out=np.zeros(len(dot)), where=scale > 0)
        if self.clip_and_penalise:
            # Length is the reference code's: the number of bigrams, whatever the order.
            bigrams = np.maximum(tokens.track.lengths - 1, 0)
            total *= self.penalty(np.abs(bigrams[hypothesis] - bigrams[reference]))
        return total / self.order

    def penalty(self, difference: Ints) -> Floats:
        """The Gaussian of a difference in bigrams, rounded to 2**-40."""
        table = np.arange(int(difference.max(initial=0)) + 1, dtype=np.float64)
        return exact.rounded(exact.exp(-(table * table) / (2 * self.sigma * self.sigma)))[
            difference
        ]

    def score(self, sums: npt.NDArray[Any]) -> Floats:
        segments = sums[..., 0]
        defined = (segments > 0) & (sums[..., 2] == 0)
        mean = sums[..., 1] / FIXED_POINT / np.where(segments > 0, segments, 1)
        return np.where(defined, mean, np.nan)

    def segment_score(self, statistics: Ints) -> Floats:
        return self.score(statistics)

    def note(self, sums: npt.NDArray[Any]) -> str:
        if sums[0] == 0:
            return "undefined: no segments"
        if sums[2] > 0:
            return f"undefined: document frequencies of fewer than {_LEAST_DOCUMENTS} examples"
        return ""


def inverse_frequencies(frequencies: npt.NDArray[Any], documents: int) -> Floats:
    """log(documents) - log(max(1, frequency)), rounded to 2**-40: [n-grams]."""
    most = int(frequencies.max(initial=0))
    table = _inverse(np.arange(min(most, _TABLE_SIZE - 1) + 1), documents)
    weights: Floats = table[np.minimum(frequencies, len(table) - 1)]
    large = np.flatnonzero(frequencies >= _TABLE_SIZE)  # few: an n-gram of most examples
    weights[large] = _inverse(frequencies[large], documents)
    return weights


def _inverse(frequencies: npt.NDArray[Any], documents: int) -> Floats:
    return exact.rounded(math.log(documents) - exact.log(np.maximum(frequencies, 1)))
