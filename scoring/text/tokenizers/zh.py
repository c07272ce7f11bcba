"""Tokenizer ``zh``: single Chinese characters, other scripts by the rules of 13a; as sacrebleu's.

sacrebleu means to name the Chinese blocks, but writes one of them as ``u'\\u20000'``, which is two
characters: its range runs from U+2001 to U+2A6D. So quotation marks, the ellipsis, dashes, arrows
and circled numbers are cut out as if they were Chinese, while ideographs beyond U+FFFF, kana and
hangul are not (sacrebleu issue 298). Scores under the name ``zh`` must equal sacrebleu's, so this
is kept.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from scoring.text.tokenizers import rules
from scoring.text.tokens import Tokens

_CUT_OUT = (
    r"[\x{2001}-\x{2a6d}"  # see above
    r"\x{2e80}-\x{2fdf}"  # radicals
    r"\x{2ff0}-\x{303f}"  # description characters, punctuation
    r"\x{3100}-\x{312f}\x{31a0}-\x{31ef}"  # bopomofo, strokes
    r"\x{3200}-\x{4db5}\x{4e00}-\x{9fbb}"  # enclosed and squared, extension A, unified
    r"\x{f900}-\x{fa2d}\x{fa30}-\x{fa6a}\x{fa70}-\x{fad9}"  # compatibility
    r"\x{fe10}-\x{fe1f}\x{fe30}-\x{fe4f}"  # vertical and compatibility forms
    r"\x{ff00}-\x{ffef}]"  # full-width
)


class ZhTokenizer:
    """sacrebleu's ``zh``, its ranges included."""

    name = "zh"

    def signature(self) -> str:
        return "zh"

    def tokenize(self, texts: pa.Array) -> Tokens:
        stripped = [text.strip().replace("\n", " ") for text in texts.to_pylist()]
        cut_out = pc.replace_substring_regex(pa.array(stripped, pa.string()), _CUT_OUT, r" \0 ")
        return rules.cut(cut_out.to_pylist())
