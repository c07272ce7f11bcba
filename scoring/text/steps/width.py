"""Step ``width``: full-width letters, digits and signs become ASCII."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from scoring.text.steps.rewriting import CharacterTable

FULL_WIDTH = {chr(point + 0xFEE0): chr(point) for point in range(0x21, 0x7F)}
"""U+FF01 to U+FF5E, whose ASCII twins stand 0xFEE0 before them."""


@cache
def _table() -> CharacterTable:
    return CharacterTable({**FULL_WIDTH, "\u3000": " "})


@dataclass(frozen=True)
class Width:
    """U+FF01 to U+FF5E become U+0021 to U+007E, U+3000 a blank; nothing else changes.

    So ，！？（） become ASCII, while 。、“”《》, which have no full-width twin, stay.
    """

    def signature(self) -> str:
        return "width"

    def apply(self, texts: pa.Array) -> pa.Array:
        return _table().apply(texts)
