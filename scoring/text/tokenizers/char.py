"""Tokenizer ``char``: one Unicode code point, one token, as sacrebleu's ``char``.

Code points, for ever: a ZWJ, a skin tone and a combining mark are tokens of their own.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scoring.text.characters import points_of
from scoring.text.tokens import Tokens


class CharTokenizer:
    """One token for every code point."""

    name = "char"

    def signature(self) -> str:
        return "char"

    def tokenize(self, texts: pa.Array) -> Tokens:
        points, lengths = points_of(texts)
        # A table over all code points is faster than a sort and bounded: 1,114,112 entries.
        present = np.flatnonzero(np.bincount(points))
        number = np.zeros(int(present[-1]) + 1 if len(present) else 1, np.int32)
        number[present] = np.arange(len(present), dtype=np.int32)
        vocabulary = pa.array([chr(p) for p in present.tolist()], pa.string())
        return Tokens(vocabulary, number[points], lengths)
