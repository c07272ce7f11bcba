"""Recipes from names: what is equal after which recipe, and what their signatures say."""

from __future__ import annotations

import pickle
import re
import unicodedata

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from scoring.text.presets import PRESETS, make_recipe, preset

ODD = (
    [*"你好世界，。！？、…“”‘’—《》（）０９Ａｚ．㐀𠀀𠀁𪛖かなカナー한글①℃→❤€aB07.,-&<>'\"()[]"]
    + [" ", "\t", "\n", "\r", "\x85", "\xa0", "\u2001", "\u200b", "\u2028", "\u3000", "\ufeff"]
    + ["😂", "👍🏽", "👨‍👩‍👧", "🇨🇳", "e\u0301", "か\u3099", "3.14", "2,000", "20%", "10:30", "A-1"]
)


def cut(recipe: str, *texts: str) -> list[list[str]]:
    return preset(recipe).recipe().tokenize(pa.array(texts, pa.string())).to_lists()


def test_the_default_recipe_is_raw() -> None:
    assert preset("raw").recipe().signature() == "raw/jieba-0.42"


def test_the_signature_names_the_steps_in_their_order() -> None:
    assert make_recipe("char", ["nfc", "nfkc"]).signature() == "nfc+nfkc/char"


@pytest.mark.parametrize("name", PRESETS)
def test_a_recipe_travels_to_workers(name: str) -> None:
    recipe = preset(name).recipe()
    texts = pa.array(["你好，世界！", "", "AirPods3 ①"])
    again = pickle.loads(pickle.dumps(recipe))
    assert again.signature() == recipe.signature()
    assert again.tokenize(texts).to_lists() == recipe.tokenize(texts).to_lists()


def test_an_unknown_preset_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(ValueError, match="'chat'; there are raw, sacrebleu"):
        preset("chat")


@given(text=st.lists(st.sampled_from(ODD), max_size=12).map("".join))
def test_the_preset_sacrebleu_is_sacrebleus_zh(text: str) -> None:
    assert cut("sacrebleu", text) == [SACREBLEU._preprocess_segment(text).split()]


SACREBLEU = BLEU(tokenize="zh")


@given(hypotheses=st.lists(st.lists(st.sampled_from(ODD), max_size=9).map("".join), min_size=3))
def test_the_preset_sacrebleu_has_sacrebleus_score(hypotheses: list[str]) -> None:
    references = [text[1:] + "好" for text in hypotheses]
    expected = SACREBLEU.corpus_score(hypotheses, [references])
    tokens = [[" ".join(t) for t in cut("sacrebleu", *texts)] for texts in (hypotheses, references)]
    got = BLEU(tokenize="none").corpus_score(tokens[0], [tokens[1]])
    assert got.counts == expected.counts
    assert got.totals == expected.totals
    assert got.score == expected.score


@pytest.mark.parametrize(
    ("text", "sacrebleu", "fixed"),
    [
        ("𠀀𠀁好", "𠀀𠀁 好", "𠀀 𠀁 好"),
        ("かな カー", "かな カー", "か な カ ー"),
        ("か\u3099な", "か\u3099な", "か\u3099 な"),
        ("한글", "한글", "한 글"),
        ("好😂😂吧", "好 😂😂 吧", "好 😂 😂 吧"),
        ("a👨‍👩‍👧b", "a👨 \u200d 👩 \u200d 👧b", "a 👨‍👩‍👧 b"),
        ("🇨🇳🇯🇵", "🇨🇳🇯🇵", "🇨🇳 🇯🇵"),
        ("２０２４年", "２ ０ ２ ４ 年", "２０２４ 年"),
        ("好\u200b吧", "好 \u200b 吧", "好 吧"),
        ("“好”…—，。！", "“ 好 ” … — ， 。 ！", "“ 好 ” … — ， 。 ！"),
        ("a-b 3.5, ok.", "a-b 3.5 , ok .", "a-b 3.5 , ok ."),
        ("①℃→㎡", "① ℃ → ㎡", "① ℃ → ㎡"),
    ],
)
def test_where_the_corrected_preset_differs(text: str, sacrebleu: str, fixed: str) -> None:
    assert cut("sacrebleu", text) == [sacrebleu.split(" ")]
    assert cut("sacrebleu-fixed", text) == [fixed.split(" ")]
    assert preset("sacrebleu").recipe().signature() == "raw/zh"
    assert preset("sacrebleu-fixed").recipe().signature() == "raw/zh-fixed"


@given(text=st.text(alphabet="你好世界，。！？《》abZ09.,-'() ", max_size=20))
def test_the_corrected_preset_is_the_same_on_plain_text(text: str) -> None:
    assert cut("sacrebleu-fixed", text) == cut("sacrebleu", text)


@pytest.mark.parametrize(
    ("one", "other", "step"),
    [
        ("caf\u00e9", "cafe\u0301", "nfc"),
        ("が", "か\u3099", "nfc"),
        ("ＡＢＣ１２３", "ABC123", "width"),
        ("好，好！", "好,好!", "width"),
        ("ＡＢＣ，①", "ABC,1", "nfkc"),
        ("你好.", "你好。", "punctuation"),
        ("「好」……", "“好”。。。", "punctuation"),
        ("這裡", "这里", "t2s"),
        ("AirPods3", "AirPods 3", "split_letters_digits"),
        ("iPhone", "IPHONE", "lowercase"),
        ("下午3点", "15:00", "numbers"),
        ("好😂", "好", "strip_emoji"),
        ("好!", "好", "strip_symbols"),
        ("请看 https://a.cn", "请看", "strip_urls"),
    ],
)
@pytest.mark.parametrize("tokenizer", ["char", "jieba", "zh", "zh-fixed"])
def test_equal_after_the_recipe_that_says_so(
    tokenizer: str, one: str, other: str, step: str
) -> None:
    texts = pa.array([one, other])
    raw, with_step = make_recipe(tokenizer), make_recipe(tokenizer, [step])
    before, after = raw.tokenize(texts).to_lists(), with_step.tokenize(texts).to_lists()
    if (tokenizer, one) != ("char", "AirPods3"):  # single characters have no blanks anyway
        assert before[0] != before[1]
    assert after[0] == after[1]
    assert step in with_step.signature()
    assert step not in raw.signature()


@pytest.mark.parametrize(
    ("one", "other", "first", "second"),
    [
        ("见https://a.cn，b站", "见，b站", "strip_urls", "nfkc"),
        ("见https://a.cn、b站", "见、b站", "strip_urls", "punctuation"),
        ("㊗️大家好", "大家好", "strip_emoji", "nfkc"),
        ("发到a＠b.com吧", "发到 吧", "nfkc", "strip_emails"),
        ("第①名", "第一名", "nfkc", "numbers"),
        ("第3。5个", "第三。五个", "numbers", "punctuation"),
        ("用A3个", "用A 3个", "split_letters_digits", "numbers"),
    ],
)
def test_the_order_of_chat_zh(one: str, other: str, first: str, second: str) -> None:
    """Equal in its order, not with two of its steps exchanged; the last pair the other way."""
    steps = list(PRESETS["chat-zh"].steps)
    exchanged = list(steps)
    i, j = steps.index(first), steps.index(second)
    exchanged[i], exchanged[j] = exchanged[j], exchanged[i]
    cuts = [
        make_recipe("jieba", s).tokenize(pa.array([one, other])).to_lists()
        for s in (steps, exchanged)
    ]
    equal = [c[0] == c[1] for c in cuts]
    assert equal == ([True, False] if i < j else [False, True])


def test_chat_zh_keeps_what_is_said() -> None:
    assert cut("chat-zh", "今天很好😂我们走", "iPhone15在下午3点，￥20。好的呢") == [
        ["今天", "很", "好", "我们", "走"],
        ["iphone", "15", "在", "15", ":", "00", ",", "¥", "20", ".", "好", "的", "呢"],
    ]


@given(text=st.lists(st.sampled_from(ODD), max_size=12).map("".join))
def test_chat_zh_has_nothing_left_to_do(text: str) -> None:
    # Digits that are taken off letters are not looked at again: A3个 becomes A 3个, not A 三个.
    assume(not re.search("[A-Za-z][0-9]", unicodedata.normalize("NFKC", text)))
    recipe = preset("chat-zh").recipe()
    once = recipe.normalize(pa.array([text]))
    assert recipe.normalize(once).to_pylist() == once.to_pylist()
