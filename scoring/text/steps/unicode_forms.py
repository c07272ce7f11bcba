"""Steps ``nfc`` and ``nfkc``: Unicode's normal forms.

pyarrow's ``utf8_normalize`` only decomposes, whatever its form (apache/arrow issue 51225), so it is
not used. Most texts are done character by character; Python's ``unicodedata`` does those in which
characters act on each other. A character that Unicode adds is changed only by a Python that knows
it; those that Python 3.10 knows never change.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import pyarrow as pa

from scoring.text.steps.rewriting import LIMIT, CharacterTable, change_some

Form = Literal["NFC", "NFKC"]

_HANGUL = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))  # vowels, finals


@cache
def _table(form: Form) -> CharacterTable:
    """The characters that are not in the form even alone."""
    changed = {}
    for character in map(chr, range(LIMIT)):
        if character > "\x7f" and (normal := unicodedata.normalize(form, character)) != character:
            changed[character] = normal
    return CharacterTable(changed)


@cache
def _acting() -> str:
    """A class (RE2) of the characters that act on one before them: by composition or order."""
    acting = set(_HANGUL)
    for point in range(LIMIT):
        character = chr(point)
        if unicodedata.combining(character):
            acting.add(point)
        parts = unicodedata.decomposition(character).split()
        if len(parts) == 2 and parts[0][0] != "<":
            acting.add(int(parts[1], 16))
    return "[" + "".join(rf"\x{{{point:x}}}" for point in sorted(acting)) + "]"


def _normalize(form: Form, texts: pa.Array) -> pa.Array:
    texts = _table(form).apply(texts)
    return change_some(texts, _acting(), partial(unicodedata.normalize, form))


@dataclass(frozen=True)
class Nfc:
    """Equal characters in one form: é is one code point, not e with an accent."""

    def signature(self) -> str:
        return "nfc"

    def apply(self, texts: pa.Array) -> pa.Array:
        return _normalize("NFC", texts)


@dataclass(frozen=True)
class Nfkc:
    """``nfc``, and similar characters in one form too.

    Full-width letters become ASCII, half-width kana full, … becomes ..., ① becomes 1, ℃ becomes
    °C, ㎡ becomes m2. Chinese 。 and 、 stay.
    """

    def signature(self) -> str:
        return "nfkc"

    def apply(self, texts: pa.Array) -> pa.Array:
        return _normalize("NFKC", texts)
