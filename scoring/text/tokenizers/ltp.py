"""Tokenizer ``ltp``: LTP 4 (package ltp, which pulls torch) with a model that the user brings.

Its models are not on a package registry, so this is tested with a stand-in for its call only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from scoring.text.tokenizers import extras
from scoring.text.tokens import Tokens


@lru_cache(maxsize=1)
def _segmenter(model: str) -> Any:
    from ltp import LTP

    return LTP(extras.local(model))


@dataclass(frozen=True)
class LtpTokenizer:
    """model: the path of the model, the same on every worker."""

    model: str

    name = "ltp"

    def __post_init__(self) -> None:
        extras.versions(self.name, "ltp")
        extras.local(self.model)

    def signature(self) -> str:
        return f"ltp:{extras.versions('ltp', 'ltp')},model={extras.model_hash(self.model)}"

    def tokenize(self, texts: pa.Array) -> Tokens:
        pipeline = _segmenter(self.model).pipeline
        return extras.cut_one_by_one(texts, lambda text: pipeline([text], tasks=["cws"]).cws[0])
