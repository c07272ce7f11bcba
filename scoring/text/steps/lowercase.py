"""Step ``lowercase``: of ASCII and full-width letters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from scoring.text.steps.rewriting import CharacterTable

_FULL_WIDTH = range(0xFF21, 0xFF3B)


@cache
def _table() -> CharacterTable:
    return CharacterTable({chr(point): chr(point + 0x20) for point in _FULL_WIDTH})


@dataclass(frozen=True)
class Lowercase:
    """A to Z and Ａ to Ｚ; É, Я, ẞ or İ stay, so no length changes and no language is guessed."""

    def signature(self) -> str:
        return "lowercase"

    def apply(self, texts: pa.Array) -> pa.Array:
        texts = pc.ascii_lower(texts)
        if pc.any(pc.match_substring_regex(texts, "[Ａ-Ｚ]")).as_py():
            return _table().apply(texts)
        return texts
