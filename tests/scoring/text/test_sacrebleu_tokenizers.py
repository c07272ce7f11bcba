"""The tokenizers none, char, zh and 13a against sacrebleu's own, on odd text."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from scoring.text.recipe import TextRecipe
from scoring.text.tokenizers import BUILT_IN, make_tokenizer

NAMES = ("none", "char", "zh", "13a", "intl")

# Each has its own way through one of the tokenizers.
OURS = [name for name in BUILT_IN if name not in ("lindera", "wapic", "lac", "ltp", "hanlp")]

PIECES = (
    [*"aB07.,-—…“”‘’()<>&;'\"!?/\\_^~|{}[]@#$%*+:=`", " ", "\t", "\n", "\r", "\r\n", "\x00"]
    + ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\xa0", "\u2028", "\u2029"]
    + ["\u2000", "\u2001", "\u200a", "\u200b", "\u200d", "\ufeff", "\u3000", "\u2a6d", "\u2a6e"]
    + [
        "量",
        "尺",
        "。",
        "，",
        "、",
        "《",
        "》",
        "𠀀",
        "𪛖",
        "かな",
        "カナ",
        "한글",
        "０",
        "９",
        "Ａ",
    ]
    + [
        "．",
        "，",
        "㐀",
        "䶵",
        "䶶",
        "一",
        "龻",
        "龼",
        "豈",
        "﨎",
        "⺀",
        "⿰",
        "ㄅ",
        "ㆠ",
        "㇀",
        "㈠",
    ]
    + ["㍿", "︐", "︰", "←", "①", "☀", "❤", "😀", "👍🏽", "👩\u200d👩", "e\u0301", "ｶﾅ", "￥"]
    + ["&quot;", "&amp;", "&lt;", "&gt;", "&amp;lt;", "&amp;amp;gt;", "<skipped>", "-\n", "<skip"]
    + ["ped>", "1.5", "2,000", "3-4", ".5", "5.", ",,", "--", "v1.2.3", "a-b", "20%", "12:30"]
)


def sacrebleu_tokens(name: str, text: str) -> list[str]:
    """As sacrebleu's BLEU does before it counts n-grams."""
    if name not in _SACREBLEU:
        _SACREBLEU[name] = BLEU(tokenize=name)
    tokens: list[str] = _SACREBLEU[name]._preprocess_segment(text).split()
    return tokens


_SACREBLEU: dict[str, BLEU] = {}


def ours(name: str, texts: list[str]) -> list[list[str]]:
    return TextRecipe(make_tokenizer(name)).tokenize(pa.array(texts, pa.string())).to_lists()


@pytest.mark.parametrize("name", NAMES)
@given(texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=5))
def test_tokens_equal_sacrebleus(name: str, texts: list[str]) -> None:
    assert ours(name, texts) == [sacrebleu_tokens(name, text) for text in texts]


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_tokens_equal_sacrebleus_on_any_text(name: str, text: str) -> None:
    assert ours(name, [text]) == [sacrebleu_tokens(name, text)]


@pytest.mark.parametrize("name", NAMES)
def test_thousands_of_texts_in_one_call_equal_sacrebleus_one_by_one(name: str) -> None:
    draw = random.Random(20)
    texts = ["".join(draw.choices(PIECES, k=draw.randrange(20))) for _ in range(3000)]
    assert ours(name, texts) == [sacrebleu_tokens(name, text) for text in texts]


def test_zh_cuts_out_every_code_point_that_sacrebleu_does() -> None:
    points = [chr(p) for p in range(0x30000) if not 0xD800 <= p < 0xE000]
    texts = ["a" + "a".join(points[i : i + 64]) + "a" for i in range(0, len(points), 64)]
    assert ours("zh", texts) == [sacrebleu_tokens("zh", text) for text in texts]


@pytest.mark.parametrize("name", NAMES)
@given(
    texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), max_size=5),
    start=st.integers(0, 5),
)
def test_tokens_do_not_depend_on_what_else_is_in_the_call(
    name: str, texts: list[str], start: int
) -> None:
    tokenizer = make_tokenizer(name)
    array = pa.array(texts, pa.string())
    together = tokenizer.tokenize(array).without_blanks().to_lists()
    assert together == [ours(name, [text])[0] for text in texts]
    part = tokenizer.tokenize(array.slice(min(start, len(texts)))).without_blanks()
    assert part.to_lists() == together[start:]


@pytest.mark.parametrize("name", OURS)
def test_no_texts_and_empty_texts_have_no_tokens(name: str) -> None:
    assert ours(name, []) == []
    assert ours(name, [""]) == [[]]
    assert ours(name, ["", " ", "\n", "\u3000"]) == [[], [], [], []]


@pytest.mark.parametrize("name", OURS)
def test_every_tokenizer_is_made_by_its_name(name: str) -> None:
    tokenizer = make_tokenizer(name)
    assert tokenizer.name == name
    assert tokenizer.signature().startswith(name)


def test_an_unknown_tokenizer_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(
        ValueError, match="'zhh'; there are jieba, char, grapheme, zh, zh-fixed, 13a"
    ):
        make_tokenizer("zhh")
