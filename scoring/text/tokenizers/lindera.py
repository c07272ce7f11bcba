"""Tokenizer ``lindera``: jieba's dictionary, the cheapest way through a lattice, no model of new
words (package lindera-python-jieba, Rust)."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

from scoring.text.tokenizers import extras
from scoring.text.tokens import Tokens


@cache
def _segmenter() -> Any:
    from lindera import TokenizerBuilder

    builder = TokenizerBuilder()
    builder.set_mode("normal")
    builder.set_dictionary("embedded://jieba")
    builder.set_keep_whitespace(True)
    return builder.build()


class LinderaTokenizer:
    """Loaded at the first call (27 MB, embedded in the package)."""

    name = "lindera"

    def __init__(self) -> None:
        self.signature()

    def signature(self) -> str:
        return f"lindera:{extras.versions('lindera', 'lindera-python-jieba')}"

    def tokenize(self, texts: pa.Array) -> Tokens:
        cut = _segmenter().tokenize
        return extras.cut_one_by_one(texts, lambda text: [token.surface for token in cut(text)])
