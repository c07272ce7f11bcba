"""Tokenizer ``none``: the text is already cut; tokens stand between blanks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scoring.text.tokens import Tokens


class BlankTokenizer:
    """Splits at blanks (``str.isspace``) only, as sacrebleu's tokenizer ``none`` does."""

    name = "none"

    def signature(self) -> str:
        return "none"

    def tokenize(self, texts: pa.Array) -> Tokens:
        lists = [text.split() for text in texts.to_pylist()]
        flat = [token for tokens in lists for token in tokens]
        return Tokens.from_flat(flat, np.array([len(tokens) for tokens in lists], np.int64))
