"""Step ``strip_symbols``: words alone."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from scoring.text.steps.rewriting import replace
from scoring.text.tokens import BLANKS


@dataclass(frozen=True)
class StripSymbols:
    """What is neither a word character, nor Han, nor a blank becomes a blank, one for each run.

    Word characters: letters, marks on them, digits and other numerals of any script, ``_``. So
    all punctuation, currency signs, emoji and zero-width characters go; 3.14 becomes 3 14.
    """

    def signature(self) -> str:
        return "strip_symbols"

    def apply(self, texts: pa.Array) -> pa.Array:
        return replace(texts, rf"[^\pL\pM\pN_\p{{Han}}{BLANKS}]+", " ")
