"""Small corpora for the tests of this room: drawn by Hypothesis, and turned into tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from scoring import hashing
from scoring.segments import Layout, SegmentTokens
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.tokenizers import make_tokenizer


@dataclass(frozen=True)
class Example:
    """The texts of one example, cut at blanks when they are counted."""

    references: tuple[str, ...]
    hypotheses: tuple[str, ...]

    def cut(self) -> tuple[list[list[str]], list[list[str]]]:
        """The tokens of the references and of the hypotheses."""
        return [r.split() for r in self.references], [h.split() for h in self.hypotheses]


def texts(alphabet: str = "abc", longest: int = 9) -> st.SearchStrategy[str]:
    """Texts over few tokens, so that n-grams repeat; some empty, some of blanks only."""
    words = st.lists(st.sampled_from(list(alphabet)), max_size=longest)
    words |= st.lists(st.sampled_from("abcdefghijkl"), max_size=longest)
    blanks = st.sampled_from([" ", "  ", "\u3000", "\t", "\u2028"])
    cut = st.builds(lambda tokens, blank: blank.join(tokens), words, blanks)
    return cut | st.sampled_from(["", " ", "\u3000 \n", "a"])


def examples(most_hypotheses: int = 3) -> st.SearchStrategy[list[Example]]:
    """1 to 6 references and up to 3 hypotheses (of systems or samples) an example."""
    one = st.builds(
        lambda references, hypotheses: Example(tuple(references), tuple(hypotheses)),
        st.lists(texts(), min_size=1, max_size=6),
        st.lists(texts(), max_size=most_hypotheses),
    )
    return st.lists(one, min_size=1, max_size=6)


def tokens_of(corpus: Sequence[Example], tokenizer: str = "none") -> SegmentTokens:
    """The corpus as the metrics see it."""
    flat = [text for e in corpus for text in (*e.references, *e.hypotheses)]
    track = token_track(pa.array(flat, pa.string()), TextRecipe(make_tokenizer(tokenizer)))
    layout = Layout(
        np.array([len(e.references) for e in corpus], np.int64),
        np.array([len(e.hypotheses) for e in corpus], np.int64),
    )
    return SegmentTokens(track, layout)


def gram_hash(gram: Iterable[str]) -> int:
    """The hash of one n-gram, token after token."""
    value = np.zeros(1, np.uint64)
    for token in gram:
        value = hashing.extend(value, hashing.hash_strings(pa.array([token], pa.string())))
    return int(value[0])
