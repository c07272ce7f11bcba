"""Tokenizer ``intl``: that of the mteval-v14 script for any language, as sacrebleu's ``intl``.

Punctuation is cut off unless a number stands beside it, symbols always. It does not cut Chinese.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pyarrow as pa
import regex

from scoring.text.tokens import Tokens

# Texts are joined by newlines, which are no character to these rules.
_RULES = (
    (regex.compile(r"([^\p{N}\n])(\p{P})"), r"\1 \2 "),
    (regex.compile(r"(\p{P})([^\p{N}\n])"), r" \1 \2"),
    (regex.compile(r"(\p{S})"), r" \1 "),
)


class InternationalTokenizer:
    """sacrebleu's ``intl``; the version of the package regex decides what is punctuation."""

    name = "intl"

    def signature(self) -> str:
        return f"intl:regex={version('regex')}"

    def tokenize(self, texts: pa.Array) -> Tokens:
        if not len(texts):
            return Tokens.from_flat([], np.zeros(0, np.int64))
        joined = "\n".join(text.rstrip().replace("\n", " ") for text in texts.to_pylist())
        for pattern, replacement in _RULES:
            joined = pattern.sub(replacement, joined)
        lists = [text.split() for text in joined.split("\n")]
        flat = [token for tokens in lists for token in tokens]
        return Tokens.from_flat(flat, np.array([len(tokens) for tokens in lists], np.int64))
