"""Tokenizer ``zh-fixed``: what sacrebleu's ``zh`` means to do.

Under a name of its own, since its scores are not sacrebleu's. It differs from ``zh`` thus:

* all ideographs are cut out one by one, those beyond U+FFFF too, and so are kana and hangul
  syllables (with the marks that follow them);
* an emoji is one token, flags, families and skin tones included (``zh`` glues them to their
  neighbours or cuts them in the middle);
* full-width letters and digits are words and numbers, as ASCII ones are; full-width punctuation
  is still cut out;
* characters without width (U+200B, U+2060, U+FEFF) are blanks, not tokens.

Chinese punctuation, quotation marks, dashes, arrows, circled and squared characters are cut out
one by one by both.
"""

from __future__ import annotations

import pyarrow as pa

from scoring.text.steps.emoji import ONE_EMOJI
from scoring.text.steps.rewriting import replace
from scoring.text.tokenizers import rules
from scoring.text.tokens import Tokens

_CUT_OUT = (
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}"
    r"\x{30fc}\x{ff70}"  # long vowels of kana
    r"\x{2010}-\x{2027}\x{2030}-\x{205e}"  # dashes, quotation marks, ellipsis
    r"\x{2190}-\x{22ff}\x{2460}-\x{24ff}"  # arrows, mathematics, enclosed
    r"\x{3001}-\x{303f}\x{30fb}\x{3200}-\x{33ff}"  # Chinese punctuation, enclosed, squared
    r"\x{fe10}-\x{fe1f}\x{fe30}-\x{fe6b}"  # vertical, compatibility and small forms
    r"\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff20}\x{ff3b}-\x{ff40}\x{ff5b}-\x{ff65}"  # full-width signs
    r"\x{ffe0}-\x{ffef}]"
    r"[\pM\x{ff9e}\x{ff9f}]*"
)

_WITHOUT_WIDTH = r"[\x{200b}\x{2060}\x{feff}\n]"


class FixedZhTokenizer:
    """Single characters of Chinese, Japanese and Korean; other scripts by the rules of 13a."""

    name = "zh-fixed"

    def signature(self) -> str:
        return "zh-fixed"

    def tokenize(self, texts: pa.Array) -> Tokens:
        texts = replace(texts, _WITHOUT_WIDTH, " ")
        texts = replace(texts, ONE_EMOJI, r" \0 ")
        texts = replace(texts, _CUT_OUT, r" \0 ")
        return rules.cut([text.strip() for text in texts.to_pylist()])
