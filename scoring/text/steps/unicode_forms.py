"""Steps ``nfc`` and ``nfkc``: Unicode's normal forms."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Nfc:
    """Equal characters in one form: é is one code point, not e with an accent."""

    def signature(self) -> str:
        return "nfc"

    def apply(self, texts: pa.Array) -> pa.Array:
        return pc.utf8_normalize(texts, form="NFC")


@dataclass(frozen=True)
class Nfkc:
    """``nfc``, and similar characters in one form too.

    Full-width letters become ASCII, half-width kana full, … becomes ..., ① becomes 1, ℃ becomes
    °C, ㎡ becomes m2. Chinese 。 and 、 stay.
    """

    def signature(self) -> str:
        return "nfkc"

    def apply(self, texts: pa.Array) -> pa.Array:
        return pc.utf8_normalize(texts, form="NFKC")
