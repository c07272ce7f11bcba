"""What the tokenizers ``13a`` and ``zh`` share: regular expressions over many texts at once.

The four rules are those of the mteval script (NIST), in sacrebleu's order: cut at ASCII
punctuation; at . and , unless a digit stands before; unless a digit stands behind; at a dash
behind a digit. Texts are joined by newlines, which no rule may look across: unlike a blank, a
newline (the edge of a text) does not count as 'something other than a digit'.
The script also puts blanks around blanks, which changes no token and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from scoring.text.tokens import Tokens

RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"([!\"#$%&()*+/:;<=>?@\[\\\]^_`{|}~])"), r" \1 "),
    (re.compile(r"([^0-9\n])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9\n])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def cut(texts: Sequence[str]) -> Tokens:
    """Apply the rules to every text (which must hold no newline) and split at blanks."""
    if not texts:
        return Tokens.from_flat([], np.zeros(0, np.int64))
    joined = "\n".join(texts)
    for pattern, replacement in RULES:
        joined = pattern.sub(replacement, joined)
    lists = [text.split() for text in joined.split("\n")]
    flat = [token for tokens in lists for token in tokens]
    return Tokens.from_flat(flat, np.array([len(tokens) for tokens in lists], np.int64))
