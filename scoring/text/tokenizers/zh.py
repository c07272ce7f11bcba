"""Tokenizer ``zh``: single Chinese characters, other scripts by the rules of 13a; as sacrebleu's.

sacrebleu means to name the Chinese blocks, but writes one of them as ``u'\\u20000'``, which is two
characters: its range runs from U+2001 to U+2A6D. So quotation marks, the ellipsis, dashes, arrows
and circled numbers are cut out as if they were Chinese, while ideographs beyond U+FFFF, kana and
hangul are not (sacrebleu issue 298). Scores under the name ``zh`` must equal sacrebleu's, so this
is kept.
"""

from __future__ import annotations

import re

import pyarrow as pa

from scoring.text.tokenizers import rules
from scoring.text.tokens import Tokens

_CUT_OUT = re.compile(
    "(["
    "\u2001-\u2a6d"  # see above
    "\u2e80-\u2fdf"  # radicals
    "\u2ff0-\u303f"  # description characters, punctuation
    "\u3100-\u312f\u31a0-\u31ef"  # bopomofo, strokes
    "\u3200-\u4db5\u4e00-\u9fbb"  # enclosed and squared, extension A, unified
    "\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9"  # compatibility
    "\ufe10-\ufe1f\ufe30-\ufe4f"  # vertical and compatibility forms
    "\uff00-\uffef"  # full-width
    "])"
)


class ZhTokenizer:
    """sacrebleu's ``zh``, its ranges included."""

    name = "zh"

    def signature(self) -> str:
        return "zh"

    def tokenize(self, texts: pa.Array) -> Tokens:
        joined = "\n".join(text.strip().replace("\n", " ") for text in texts.to_pylist())
        return rules.cut(_CUT_OUT.sub(r" \1 ", joined).split("\n") if len(texts) else [])
