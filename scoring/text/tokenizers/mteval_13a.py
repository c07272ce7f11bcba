"""Tokenizer ``13a``: that of the mteval-v13a script, as sacrebleu's ``13a``. For Latin scripts:
it does not cut Chinese."""

from __future__ import annotations

import pyarrow as pa

from scoring.text.tokenizers import rules
from scoring.text.tokens import Tokens

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


class Mteval13aTokenizer:
    """sacrebleu's ``13a``, entity by entity and rule by rule."""

    name = "13a"

    def signature(self) -> str:
        return "13a"

    def tokenize(self, texts: pa.Array) -> Tokens:
        return rules.cut([_prepared(text) for text in texts.to_pylist()])


def _prepared(text: str) -> str:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    return f" {text} "
