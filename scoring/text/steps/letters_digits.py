"""Step ``split_letters_digits``: AirPods3 is AirPods 3."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from scoring.text.steps.rewriting import replace


@dataclass(frozen=True)
class SplitLettersDigits:
    """A blank between an ASCII letter and an ASCII digit that stand together, either first.

    AirPods3 becomes AirPods 3, iOS17 iOS 17, 128GB 128 GB; also 5G 5 G and H2O H 2 O.
    """

    def signature(self) -> str:
        return "split_letters_digits"

    def apply(self, texts: pa.Array) -> pa.Array:
        # Two letter-digit pairs never share a character, so one pass a direction is enough.
        texts = replace(texts, "([A-Za-z])([0-9])", r"\1 \2")
        return replace(texts, "([0-9])([A-Za-z])", r"\1 \2")
