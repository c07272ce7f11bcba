"""Step ``collapse_space``: blanks without meaning."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from scoring.text.steps.rewriting import replace
from scoring.text.tokens import BLANKS


@dataclass(frozen=True)
class CollapseSpace:
    """Every run of blanks (``str.isspace``) is one U+0020; none at the ends.

    A blank between two Chinese characters stays: it may be the only mark between two sentences.
    """

    def signature(self) -> str:
        return "collapse_space"

    def apply(self, texts: pa.Array) -> pa.Array:
        return pc.utf8_trim(replace(texts, f"[{BLANKS}]+", " "), " ")
