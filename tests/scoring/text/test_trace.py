"""What is shown of a recipe at work is what the recipe does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

from scoring.text.presets import make_recipe
from scoring.text.recipe import TextRecipe
from scoring.text.tokenizers import make_tokenizer
from scoring.text.tokens import Tokens
from scoring.text.trace import changes, shared, trace

TEXTS = st.text(alphabet="aAＡé\u0301 好的①7", max_size=12)


@dataclass(frozen=True)
class Without:
    """A token step that drops a word."""

    word: str

    def signature(self) -> str:
        return f"without[{self.word}]"

    def words(self) -> list[str]:
        return [self.word]

    def apply(self, tokens: Tokens) -> Tokens:
        return tokens.split(pc.equal(tokens.vocabulary, self.word), lambda word: [])


RECIPE = TextRecipe(
    make_tokenizer("char"), make_recipe("char", ["nfc", "nfkc"]).steps, (Without("7"),)
)


@given(TEXTS)
def test_the_trace_ends_where_the_recipe_ends(text: str) -> None:
    found = trace(text, RECIPE)
    assert list(found.final) == RECIPE.tokenize(pa.array([text])).to_lists()[0]
    assert [name for name, _ in found.steps] == ["nfc", "nfkc"]
    assert [name for name, _ in found.after] == ["without[7]"]
    assert list(found.tokens) == RECIPE.cut(pa.array([text])).to_lists()[0]


def test_every_step_is_followed() -> None:
    found = trace("Ａ7①", RECIPE)
    assert found.steps == (("nfc", "Ａ7①"), ("nfkc", "A71"))
    assert (found.tokens, found.final) == (("A", "7", "1"), ("A", "1"))
    assert trace("", RECIPE).final == ()


@given(TEXTS, TEXTS)
def test_changes_lead_from_one_to_the_other(before: str, after: str) -> None:
    pieces = changes(before, after)
    assert "".join(text for kind, text in pieces if kind != "new") == before
    assert "".join(text for kind, text in pieces if kind != "gone") == after
    assert all(kind == "same" for kind, _ in pieces) == (before == after)


def test_changes_of_tokens() -> None:
    pieces = changes(["a", "b", "c", "d"], ["a", "d", "e"], " / ")
    assert pieces == [("same", "a"), ("gone", "b / c"), ("same", "d"), ("new", "e")]


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_ngrams_are_shared_as_bleu_clips_them(one: list[str], other: list[str]) -> None:
    for part in shared(one, other):
        n = part.order
        left = Counter(tuple(one[i : i + n]) for i in range(len(one) - n + 1))
        right = Counter(tuple(other[i : i + n]) for i in range(len(other) - n + 1))
        clipped = sum(min(count, right[gram]) for gram, count in left.items())
        assert sum(count for _, count in part.both) == clipped
        assert sum(count for _, count in part.one) == left.total() - clipped
        assert sum(count for _, count in part.other) == right.total() - clipped
