"""Token step ``stopwords``: words that say little are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from scoring.text.token_steps.word_files import HERE, check_word, read
from scoring.text.tokens import Tokens

OURS = HERE / "stopwords.txt"
"""Modal particles and sounds of Chinese chat; not 吗, 了, 的, which change what is said."""


@dataclass(frozen=True)
class StopWords:
    """Drops the tokens that are equal to a word of the list.

    What stood at both sides of a dropped token is then adjacent, also for n-grams.
    """

    listed: tuple[str, ...]
    fingerprint: str

    def signature(self) -> str:
        return f"stopwords(file={self.fingerprint})"

    def words(self) -> Sequence[str]:
        return self.listed

    def apply(self, tokens: Tokens) -> Tokens:
        stops = pc.is_in(tokens.vocabulary, value_set=pa.array(self.listed, pa.string()))
        return tokens.split(stops, lambda _: [])


def stop_words(file: str | None = None) -> StopWords:
    """From a file with a word a line, or from our list. Raises ValueError."""
    found = read(OURS if file is None else file)
    words = [check_word(line, f"{found.name}: line {i}") for i, line in found.lines()]
    return StopWords(tuple(dict.fromkeys(words)), found.fingerprint)
