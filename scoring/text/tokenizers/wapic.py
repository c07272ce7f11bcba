"""Tokenizer ``wapic``: a conditional random field with a fine standard (packages wapic,
wapic-cws-model)."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

from scoring.text.tokenizers import extras
from scoring.text.tokens import Tokens


@cache
def _segmenter() -> Any:
    from wapic import Segmenter

    return Segmenter()


class WapicTokenizer:
    """Loaded at the first call (a model of 52 MB)."""

    name = "wapic"

    def __init__(self) -> None:
        self.signature()

    def signature(self) -> str:
        return f"wapic:{extras.versions('wapic', 'wapic', 'wapic-cws-model')}"

    def tokenize(self, texts: pa.Array) -> Tokens:
        # Not segment_batch, which starts a thread for every core of a worker.
        return extras.cut_one_by_one(texts, _segmenter().segment)
