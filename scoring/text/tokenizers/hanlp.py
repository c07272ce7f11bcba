"""Tokenizer ``hanlp``: HanLP 2 (package hanlp, which pulls torch) with a model that the user
brings.

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
    import hanlp

    return hanlp.load(extras.local(model))


@dataclass(frozen=True)
class HanlpTokenizer:
    """model: the path of the model of a tokenizer, the same on every worker."""

    model: str

    name = "hanlp"

    def __post_init__(self) -> None:
        extras.versions(self.name, "hanlp")
        extras.local(self.model)

    def signature(self) -> str:
        return f"hanlp:{extras.versions('hanlp', 'hanlp')},model={extras.model_hash(self.model)}"

    def tokenize(self, texts: pa.Array) -> Tokens:
        cut = _segmenter(self.model)
        return extras.cut_one_by_one(texts, cut)
