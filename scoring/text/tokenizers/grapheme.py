"""Tokenizer ``grapheme``: one token, one character as a reader sees it (an extended grapheme
cluster, Unicode Standard Annex 29): a flag, a family, a letter with its accents are one each."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pyarrow as pa
import regex

from scoring.text.tokens import Tokens

_CLUSTER = regex.compile(r"\X")
# A cluster never goes on across a control character, and U+001C is one that counts as a blank.
_BREAK = "\x1c"
_LINE_ENDS = str.maketrans("\r\n", _BREAK * 2)


class GraphemeTokenizer:
    """Clusters as the package regex finds them; its version decides which Unicode that is."""

    name = "grapheme"

    def signature(self) -> str:
        return f"grapheme:regex={version('regex')}"

    def tokenize(self, texts: pa.Array) -> Tokens:
        strings = [text.translate(_LINE_ENDS) for text in texts.to_pylist()]
        clusters = _CLUSTER.findall("".join(text + "\n" for text in strings))
        flat = pa.array(clusters, pa.string()).dictionary_encode()
        ids = flat.indices.to_numpy()
        newline = flat.dictionary.index("\n").as_py()
        lengths = np.diff(np.flatnonzero(ids == newline), prepend=-1) - 1
        return Tokens(flat.dictionary, ids[ids != newline], lengths)
