"""The tokenizer grapheme: characters as readers see them."""

from __future__ import annotations

from importlib.metadata import version

import pyarrow as pa
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from scoring.text.recipe import TextRecipe
from scoring.text.tokenizers import make_tokenizer


def tokens(texts: list[str]) -> list[list[str]]:
    return TextRecipe(make_tokenizer("grapheme")).tokenize(pa.array(texts, pa.string())).to_lists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天🇨🇳🇨🇳好", ["今", "天", "🇨🇳", "🇨🇳", "好"]),
        ("👨\u200d👩\u200d👧\u200d👦！", ["👨\u200d👩\u200d👧\u200d👦", "！"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("cafe\u0301", ["c", "a", "f", "e\u0301"]),
        ("한글", ["한", "글"]),
        ("\u1112\u1161\u11ab", ["\u1112\u1161\u11ab"]),
        ("1\ufe0f\u20e3𠀀が", ["1\ufe0f\u20e3", "𠀀", "が"]),
        ("a b\r\nc\n\u0301", ["a", "b", "c", "\u0301"]),
    ],
)
def test_a_character_is_one_token(text: str, expected: list[str]) -> None:
    assert tokens([text]) == [expected]


@given(st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from("\r\n\u0301\u200d👩🇨 "))))
def test_texts_are_cut_one_by_one(texts: list[str]) -> None:
    one_by_one = [[p for c in regex.findall(r"\X", t) for p in c.split()] for t in texts]
    assert tokens(texts) == one_by_one


def test_the_version_that_decides_is_in_the_signature() -> None:
    assert make_tokenizer("grapheme").signature() == f"grapheme:regex={version('regex')}"
