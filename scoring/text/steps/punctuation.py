"""Step ``punctuation``: one form for every mark, Chinese or Latin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from scoring.text.steps.rewriting import CharacterTable, replace
from scoring.text.steps.width import FULL_WIDTH

_MARKS = {
    **{wide: mark for wide, mark in FULL_WIDTH.items() if not mark.isalnum()},
    **dict.fromkeys("。｡", "."),
    **dict.fromkeys("、､", ","),
    **dict.fromkeys("“”„‟「」『』｢｣〝〞〟«»", '"'),
    **dict.fromkeys("‘’‚‛", "'"),
    **dict.fromkeys("【〔〖［", "["),
    **dict.fromkeys("】〕〗］", "]"),
    **dict.fromkeys("《〈", "<"),
    **dict.fromkeys("》〉", ">"),
    **dict.fromkeys("—―–‒‐‑−─", "-"),
    **dict.fromkeys("〜∼", "~"),
    **dict.fromkeys("‧•・･∙⋅", "·"),
    "…": "...",
    "⋯": "...",
}


@cache
def _table() -> CharacterTable:
    return CharacterTable(_MARKS)


@dataclass(frozen=True)
class Punctuation:
    """Every mark of Chinese text becomes its ASCII likeness; blanks, letters and digits stay.

    。 becomes ``.``, 、 a comma, quotation marks of all kinds ``"`` or ``'``, 《 a ``<``. Two or
    more stops or dots (……, 。。。) are one ``...``, two or more dashes (——) one ``-``.
    """

    def signature(self) -> str:
        return "punctuation"

    def apply(self, texts: pa.Array) -> pa.Array:
        texts = _table().apply(texts)
        return replace(replace(texts, r"\.{2,}", "..."), "-{2,}", "-")
