"""What a metric is: names of integer statistics, how to get them, how to score their sums.

The split of statistic and metric follows weatherbenchX (Google): statistics are additive over
segments, so one ``score`` serves a segment, the corpus, a slice and a bootstrap replicate.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from scoring.segments import SegmentTokens

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SEGMENTS = "segments"
"""A statistic that every metric may name: 1 for every segment."""

FIXED_POINT = 2**32
"""Real-valued statistics are held as integers, in units of 1 / FIXED_POINT, so sums are exact."""


class Scorer(Protocol):
    """A score that is a function of sums of per-segment integer statistics."""

    @property
    def name(self) -> str:
        """The name in tables, such as ``bleu``."""

    @property
    def label(self) -> str:
        """The name for people, such as ``BLEU-4``."""

    @property
    def scale(self) -> str:
        """The range of the score, such as ``0-1``."""

    @property
    def statistics(self) -> tuple[str, ...]:
        """Names of the k statistics. Metrics that name the same one share it."""

    def score(self, sums: npt.NDArray[Any]) -> Floats:
        """The score of sums [..., k]: [...], NaN where it is undefined."""

    def segment_score(self, statistics: Ints) -> Floats:
        """The score of single segments [n, k]: [n], NaN where it is undefined."""

    def note(self, sums: npt.NDArray[Any]) -> str:
        """What a reader of the score of ``sums`` [k] must know; the reason if it is undefined."""


class Metric(Scorer, Protocol):
    """A scorer that counts tokens: what is chosen by name, and what users can add."""

    @property
    def document_order(self) -> int:
        """The highest order of n-grams whose document frequencies it needs; 0 for none."""

    def signature(self) -> dict[str, str]:
        """Everything that moves the score, beside text and tokenizer, in a fixed order."""

    def segment_statistics(self, tokens: SegmentTokens) -> Ints:
        """The statistics of every hypothesis: [hypotheses, k]."""
