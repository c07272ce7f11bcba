"""BLEU (Papineni et al., "BLEU: a method for automatic evaluation of machine translation", ACL
2002), as sacrebleu 2.6 defines it (Post, "A call for clarity in reporting BLEU scores", WMT
2018), with any order and any weights of the orders, on a scale of 0 to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import exact, ragged
from scoring.metrics.base import SEGMENTS, Floats, Ints
from scoring.segments import SegmentTokens

SMOOTHINGS = ("exp", "none", "floor", "add-k")
DEFAULT_SMOOTHING_VALUES = {"floor": 0.1, "add-k": 1.0}

_WEIGHT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Bleu:
    """Corpus BLEU and its segment scores.

    weights: of the orders 1, 2, ...: not negative, with sum 1. An order of weight 0 is left out
        of the mean, but smoothing counts it.
    smoothing: of a precision without any match: ``exp`` (halved for each such order), ``none``,
        ``floor`` (``smoothing_value`` matches), ``add-k`` (added to matches and totals of all
        orders above 1).
    smoothing_value: of floor (default 0.1) and add-k (default 1).
    effective_order: leave out the orders of which the hypothesis has no n-gram. Segment scores
        always do.
    Raises ValueError for weights or smoothing outside of this.
    """

    weights: tuple[float, ...] = (0.25, 0.25, 0.25, 0.25)
    smoothing: str = "exp"
    smoothing_value: float | None = None
    effective_order: bool = False
    name: str = "bleu"

    def __post_init__(self) -> None:
        if not self.weights:
            raise ValueError("BLEU needs at least one weight")
        if not all(math.isfinite(w) and w >= 0 for w in self.weights):
            raise ValueError(f"BLEU weights must be numbers >= 0, not {list(self.weights)}")
        total = math.fsum(self.weights)
        if abs(total - 1) > _WEIGHT_TOLERANCE:
            raise ValueError(
                f"BLEU weights must have the sum 1, but {list(self.weights)} have {total:.10g}"
            )
        if self.smoothing not in SMOOTHINGS:
            raise ValueError(
                f"BLEU smoothing must be one of {', '.join(SMOOTHINGS)}, not {self.smoothing!r}"
            )
        value = self.smoothing_value
        if value is not None and self.smoothing not in DEFAULT_SMOOTHING_VALUES:
            raise ValueError(f"BLEU smoothing {self.smoothing!r} takes no value")
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise ValueError(f"the value of BLEU smoothing must be >= 0, not {value}")

    @property
    def order(self) -> int:
        """The longest n-gram that counts."""
        return len(self.weights)

    @property
    def label(self) -> str:
        return f"BLEU-{self.order}"

    @property
    def scale(self) -> str:
        return "0-1"

    @property
    def document_order(self) -> int:
        return 0

    @property
    def statistics(self) -> tuple[str, ...]:
        """sacrebleu's order: lengths, matches of the orders 1 to N, n-grams of the same."""
        orders = range(1, self.order + 1)
        return (
            SEGMENTS,
            f"{self.name}_hypothesis_length",
            f"{self.name}_reference_length",
            *(f"{self.name}_matches_{n}" for n in orders),
            *(f"{self.name}_ngrams_{n}" for n in orders),
        )

    @property
    def _value(self) -> float:
        if self.smoothing_value is not None:
            return self.smoothing_value
        return DEFAULT_SMOOTHING_VALUES.get(self.smoothing, 0.0)

    def signature(self) -> dict[str, str]:
        smoothing = self.smoothing
        if smoothing in DEFAULT_SMOOTHING_VALUES:
            smoothing += f"[{self._value:g}]"
        equal = all(w == self.weights[0] for w in self.weights)
        return {
            "n": str(self.order),
            "w": "equal" if equal else ",".join(f"{w:.10g}" for w in self.weights),
            "eff": "yes" if self.effective_order else "no",
            "smooth": smoothing,
        }

    def segment_statistics(self, tokens: SegmentTokens) -> Ints:
        lengths = tokens.hypothesis_lengths()
        columns = [np.ones_like(lengths), lengths, closest_reference_lengths(tokens)]
        columns += [tokens.clipped_matches(n) for n in range(1, self.order + 1)]
        columns += [np.maximum(lengths - (n - 1), 0) for n in range(1, self.order + 1)]
        return np.stack(columns, axis=1)

    def score(self, sums: npt.NDArray[Any]) -> Floats:
        return self._score(sums, self.effective_order)

    def segment_score(self, statistics: Ints) -> Floats:
        return self._score(statistics, effective_order=True)

    def note(self, sums: npt.NDArray[Any]) -> str:
        if sums[0] == 0:
            return "undefined: no segments"
        # add-k makes up n-grams of every order above 1.
        counted = 1 if self.smoothing == "add-k" and self._value > 0 else self.order
        orders = [n for n in range(1, counted + 1) if self.weights[n - 1] > 0]
        missing = [n for n in orders if sums[2 + self.order + n] == 0]
        if missing and not self.effective_order:
            return f"0: no hypothesis has an n-gram of order {missing[0]}"
        return ""

    def _score(self, sums: npt.NDArray[Any], effective_order: bool) -> Floats:
        n = self.order
        hypothesis, reference = (sums[..., i].astype(np.float64) for i in (1, 2))
        matches = sums[..., 3 : 3 + n].astype(np.float64)
        totals = sums[..., 3 + n : 3 + 2 * n].astype(np.float64)
        nothing_matches = ~np.any(matches, axis=-1)
        precisions, has = self.precisions(matches, totals)
        weights = np.broadcast_to(np.array(self.weights), precisions.shape)
        if effective_order:
            weights = np.where(has, weights, 0.0)
        used = weights > 0
        zero = np.any(used & (precisions <= 0), axis=-1) | nothing_matches
        logarithms = exact.log(np.where(used & (precisions > 0), precisions, 1.0))
        terms = weights * logarithms
        weight = _sum_last(weights)
        mean = _sum_last(terms)
        if effective_order:  # renormalised over the orders that are kept
            zero |= weight <= 0
            mean = mean / np.where(weight > 0, weight, 1)
        short = (hypothesis < reference) & (hypothesis > 0)
        brevity = np.where(short, 1 - reference / np.where(short, hypothesis, 1), 0.0)
        value = np.where(zero | (hypothesis == 0), 0.0, exact.exp(mean + brevity))
        # Rounding can lift a perfect score by a bit or two above 1.
        return np.where(sums[..., 0] == 0, np.nan, np.minimum(value, 1.0))

    def precisions(self, matches: Floats, totals: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """[..., orders], 0 where an order has no n-gram or no (smoothed) match; and which orders
        have n-grams, those that smoothing adds among them."""
        above = np.arange(self.order) > 0
        if self.smoothing == "add-k":
            # As sacrebleu: an order of which there is no n-gram even with k stays 0.
            matches = matches + above * self._value
            totals = totals + above * self._value
        has = totals > 0
        precisions = np.where(has, matches / np.where(has, totals, 1), 0.0)
        empty = has & (matches == 0)
        if self.smoothing == "exp":
            halvings = np.cumsum(empty, axis=-1)
            smoothed = np.ldexp(1 / np.where(has, totals, 1), -halvings)
            precisions = np.where(empty, smoothed, precisions)
        elif self.smoothing == "floor":
            precisions = np.where(empty, self._value / np.where(has, totals, 1), precisions)
        return precisions, has


def closest_reference_lengths(tokens: SegmentTokens) -> Ints:
    """The length of the reference closest in length, of two equally close the shorter."""
    layout = tokens.layout
    references = tokens.track.lengths[layout.reference_pairs]
    own = np.repeat(tokens.hypothesis_lengths(), layout.references_of_hypothesis)
    # One number orders by distance, then by length.
    base = int(tokens.track.lengths.max(initial=0)) + 1
    best = ragged.segment_min(
        np.abs(own - references) * base + references, layout.references_of_hypothesis
    )
    return best % base


def _sum_last(values: Floats) -> Floats:
    """Sum over the last axis, first to last: np.sum may add in another order by width."""
    total = np.zeros(values.shape[:-1])
    for i in range(values.shape[-1]):
        total = total + values[..., i]
    return total
