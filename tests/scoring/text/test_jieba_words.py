"""The tokenizer jieba against the jieba package itself."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path

import jieba
import numpy as np
import pyarrow as pa
import pytest

from scoring.text.recipe import TextRecipe
from scoring.text.tokenizers import jieba_way
from scoring.text.tokenizers.jieba_words import JiebaTokenizer
from scoring.text.tokenizers.user_words import read_user_words

GOLDEN = Path(__file__).parents[1] / "golden"

PIECES = (
    ["我们", "今天", "去", "北京大学", "吃饭", "了", "吗", "？", "。", "，", "！", "……", "——"]
    + ["他来到网易杭研大厦", "小明硕士毕业于中国科学院", "结婚的和尚未结婚的", "量尺", "马建国"]
    + [
        "一九九八年",
        "二〇二四",
        "３点",
        "１２３",
        "Ｔ恤",
        "T恤",
        "卡拉OK",
        "B超",
        "C++",
        "c#",
        "AT&T",
    ]
    + ["1.5", "3.14%", "20%", "2,000", "12:30", "2024-05-01", "a-b", "a_b", "v1.2.3", "e-mail"]
    + [
        "http://a.b/c?d=1&e",
        "x@y.com",
        "#话题#",
        "user.name",
        "...",
        "..",
        ".",
        "-",
        "--",
        "&",
        "+",
    ]
    + ["%", "_", "hello", "World", "iPhone15", "5G", "G", "PM2.5", "3D", "A4", "4S店", "K歌"]
    + [" ", "  ", "\n", "\r\n", "\r", "\t", "\u3000", "\x0b", "\x1c", "\x85", "\u2028", "\xa0"]
    + [
        "\u200b",
        "\x00",
        "“",
        "”",
        "《红楼梦》",
        "😀",
        "👍🏽",
        "かな",
        "カナ",
        "한글",
        "é",
        "ß",
        "ж",
    ]
    + ["𠀀", "㐀", "䶵", "鿕", "鿖", "鿿", "豈", "𪛖", "〇", "々", "①", "㎡", "℃", "．", "％", "＋"]
)


@pytest.fixture(scope="session")
def package() -> jieba.Tokenizer:
    """jieba's own tokenizer, without its cache file in the shared temporary folder."""
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


@pytest.fixture(scope="session")
def ours() -> JiebaTokenizer:
    return JiebaTokenizer()


def tokens(tokenizer: JiebaTokenizer, texts: list[str]) -> list[list[str]]:
    return TextRecipe(tokenizer).tokenize(pa.array(texts, pa.string())).to_lists()


def jieba_tokens(package: jieba.Tokenizer, text: str) -> list[str]:
    return [part for token in package.cut(text) for part in token.split()]


def chat_texts() -> list[str]:
    stored = json.loads((GOLDEN / "chat_texts.json").read_text(encoding="utf-8"))
    return [
        text
        for example in stored["examples"]
        for key in ("references", "replies")
        for text in example[key]
    ]


def differing(
    package: jieba.Tokenizer, texts: list[str], found: list[list[str]]
) -> list[tuple[str, list[str], list[str]]]:
    pairs = [(t, f, jieba_tokens(package, t)) for t, f in zip(texts, found, strict=True)]
    return [(t, f, e) for t, f, e in pairs if f != e]


def test_random_texts_are_cut_as_jieba_cuts_them(
    ours: JiebaTokenizer, package: jieba.Tokenizer
) -> None:
    draw = random.Random(21)
    texts = ["".join(draw.choices(PIECES, k=draw.randrange(12))) for _ in range(4000)]
    assert differing(package, texts, tokens(ours, texts)) == []


def test_random_characters_are_cut_as_jieba_cuts_them(
    ours: JiebaTokenizer, package: jieba.Tokenizer
) -> None:
    draw = random.Random(22)
    characters = sorted({c for text in [*chat_texts(), *PIECES] for c in text})
    texts = ["".join(draw.choices(characters, k=draw.randrange(15))) for _ in range(3000)]
    assert differing(package, texts, tokens(ours, texts)) == []


def test_ascii_words_are_cut_as_jieba_cuts_them(
    ours: JiebaTokenizer, package: jieba.Tokenizer
) -> None:
    draw = random.Random(23)
    texts = ["".join(draw.choices("aZ09.%+#&_-是 ", k=draw.randrange(9))) for _ in range(4000)]
    assert differing(package, texts, tokens(ours, texts)) == []


def test_chat_is_cut_as_jieba_cuts_it(ours: JiebaTokenizer, package: jieba.Tokenizer) -> None:
    texts = chat_texts()
    assert len(texts) > 400
    assert differing(package, texts, tokens(ours, texts)) == []


def test_every_basic_code_point_is_cut_as_jieba_cuts_it(
    ours: JiebaTokenizer, package: jieba.Tokenizer
) -> None:
    points = [chr(p) for p in range(0x10000) if not 0xD800 <= p < 0xE000]
    texts = ["是".join(points[i : i + 16]) for i in range(0, len(points), 16)]
    assert differing(package, texts, tokens(ours, texts)) == []


def test_tokens_do_not_depend_on_what_else_is_in_the_call(ours: JiebaTokenizer) -> None:
    draw = random.Random(24)
    texts = ["".join(draw.choices(PIECES, k=draw.randrange(6))) for _ in range(300)]
    together = tokens(ours, texts)
    assert together == [tokens(ours, [text])[0] for text in texts]
    assert tokens(ours, texts[::-1]) == together[::-1]


def test_spans_too_long_to_be_walked_side_by_side(
    ours: JiebaTokenizer, package: jieba.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["我们今天去北京大学", "", "量尺" * 40, "C++ 和\r\nPM2.5", "", *chat_texts()[:200]]
    texts.append("".join(texts).replace("\r\n", ""))
    expected = tokens(ours, texts)
    assert differing(package, texts, expected) == []
    for longest in (2, 3, 5):
        monkeypatch.setattr(jieba_way, "_LONGEST", longest)
        assert tokens(ours, texts) == expected


def test_ways_that_are_close_are_walked_as_jieba_walks_them(
    ours: JiebaTokenizer, package: jieba.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = chat_texts()
    expected = tokens(ours, texts)
    walked: list[int] = []
    walk = jieba_way._walk
    monkeypatch.setattr(jieba_way, "_walk", lambda *a: (walked.append(len(a[0])), walk(*a))[1])
    for close in (1.0, np.inf):
        monkeypatch.setattr(jieba_way, "_CLOSE", close)
        walked.clear()
        assert tokens(ours, texts) == expected
        assert walked


def test_a_tie_is_broken_by_the_rounding_of_jiebas_sum(package: jieba.Tokenizer) -> None:
    """Words of equal frequency on either side of a character: only rounding tells them apart, and
    that hangs on what follows in the block."""
    words = read_user_words([("w", "甲乙 7\n乙甲 7\n甲 11\n乙 1\n甲乙丙 3\n丙 9".encode())])[0]
    known = jieba.Tokenizer()
    known.FREQ, known.total = known.gen_pfdict(known.get_dict_file())
    known.initialized = True
    for word, frequency in words.entries:
        known.add_word(word, frequency)
    draw = random.Random(25)
    rests = ["".join(draw.choices("的甲乙我们丙", k=n)) for n in range(60) for _ in range(5)]
    texts = ["甲乙甲" + rest for rest in rests]
    found = tokens(JiebaTokenizer(words=words), texts)
    assert differing(known, texts, found) == []
    ways = {tuple(cut[:2]) for cut in found}
    assert {("甲", "乙甲"), ("甲乙", "甲")} <= ways


def test_a_copy_by_pickle_cuts_the_same(ours: JiebaTokenizer) -> None:
    texts = ["他来到网易杭研大厦", "PM2.5 超标"]
    stored = pickle.dumps(ours)
    assert len(stored) < 1000
    assert tokens(pickle.loads(stored), texts) == tokens(ours, texts)


def test_words_added_to_the_jieba_that_a_process_shares_change_nothing(
    ours: JiebaTokenizer,
) -> None:
    text = "量尺鿖量尺"
    before = tokens(ours, [text])
    jieba.dt.FREQ, old = {text: 10**9}, jieba.dt.FREQ
    try:
        assert tokens(JiebaTokenizer(), [text]) == before
    finally:
        jieba.dt.FREQ = old


@pytest.mark.parametrize(
    "text",
    ["常在在", "仙仙仙仙眩", "光雍雍雍为", "仙仙仙仙仙仙仙", "眩仙仙仙a仙仙仙眩", "哈哈哈哈哈哈"],
)
def test_ties_of_the_word_model_are_broken_as_jieba_breaks_them(
    package: jieba.Tokenizer, text: str
) -> None:
    cut = JiebaTokenizer().tokenize(pa.array([text])).to_lists()
    assert cut == [list(package.cut(text))]


def test_runs_of_repeated_rare_characters_are_cut_as_jieba_cuts_them(
    package: jieba.Tokenizer,
) -> None:
    # Few characters, so that equal ones stand side by side and paths tie.
    draw = random.Random(20261130)
    alphabets = [
        [chr(draw.randrange(0x4E00, 0x9FD6)) for _ in range(draw.randint(1, 4))] for _ in range(400)
    ]
    texts = [
        "".join(draw.choice([*alphabet, "x"]) for _ in range(draw.randint(1, 12)))
        for alphabet in alphabets
        for _ in range(10)
    ]
    cut = JiebaTokenizer().tokenize(pa.array(texts)).to_lists()
    assert cut == [list(package.cut(text)) for text in texts]
