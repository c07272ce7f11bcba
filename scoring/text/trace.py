"""What a recipe does to one text, step by step, and which n-grams two texts share: for people."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from scoring.text.recipe import TextRecipe

Piece = tuple[str, str]
"""(kind, text): ``same``, ``gone`` or ``new``."""


@dataclass(frozen=True)
class Trace:
    """One text on its way through a recipe.

    steps: (signature, the text after it); tokens: as the tokenizer cuts it; after: (signature, the
    tokens after it).
    """

    text: str
    steps: tuple[tuple[str, str], ...]
    tokens: tuple[str, ...]
    after: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def final(self) -> tuple[str, ...]:
        """The tokens that are counted."""
        return self.after[-1][1] if self.after else self.tokens


def trace(text: str, recipe: TextRecipe) -> Trace:
    """Follow one text through the recipe."""
    texts = pa.array([text], pa.string())
    steps = []
    for step in recipe.steps:
        texts = step.apply(texts)
        steps.append((step.signature(), str(texts[0].as_py())))
    tokens = recipe.tokenizer.tokenize(texts).without_blanks()
    cut = tuple(tokens.to_lists()[0])
    after = []
    for token_step in recipe.after:
        tokens = token_step.apply(tokens)
        after.append((token_step.signature(), tuple(tokens.to_lists()[0])))
    return Trace(text, tuple(steps), cut, tuple(after))


def changes(before: Sequence[str], after: Sequence[str], between: str = "") -> list[Piece]:
    """The way from one sequence of characters or tokens to another, as pieces in order.

    between: what stands between the elements of a piece.
    """
    pieces: list[Piece] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            pieces.append(("same", between.join(before[i:j])))
            continue
        if i < j:
            pieces.append(("gone", between.join(before[i:j])))
        if k < m:
            pieces.append(("new", between.join(after[k:m])))
    return pieces


@dataclass(frozen=True)
class Shared:
    """The n-grams of one order: (n-gram, count) that both have, that one has more often, that the
    other has; in the order of the texts."""

    order: int
    both: tuple[tuple[str, int], ...]
    one: tuple[tuple[str, int], ...]
    other: tuple[tuple[str, int], ...]


def shared(one: Sequence[str], other: Sequence[str], orders: int = 4) -> list[Shared]:
    """The n-grams of the orders 1 to ``orders`` that two lists of tokens share and do not."""
    found = []
    for order in range(1, orders + 1):
        left, right = _grams(one, order), _grams(other, order)
        parts = (left & right, left - right, right - left)
        found.append(Shared(order, *(tuple(part.items()) for part in parts)))
    return found


def _grams(tokens: Sequence[str], order: int) -> Counter[str]:
    starts = range(len(tokens) - order + 1)
    return Counter(" ".join(tokens[i : i + order]) for i in starts)
