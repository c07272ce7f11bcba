"""Every step against a slow, obvious version, and the hard cases by name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import emoji
import opencc
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.text.steps import BUILT_IN, make_step

TEXT_STEPS = [name for name in BUILT_IN if name != "numbers"]

PIECES = (
    [
        *"aZéÉИẞİ_09①½٣〇々一龻㐀𠀀𪛖Ａｚ０．，！。、…“”‘’《》（）［］【】「」~〜—–-.,!?'\"<>()[]@:/#*+%$￥€&"
    ]
    + [" ", "  ", "\t", "\n", "\r\n", "\x1c", "\x85", "\xa0", "\u200b", "\u2028", "\u3000", "\x00"]
    + [
        "e\u0301",
        "が",
        "か\u3099",
        "ｶﾞ",
        "한",
        "ᄒ",
        "ᅡ",
        "ﬁ",
        "℃",
        "㎡",
        "臺灣",
        "裏面",
        "乾隆",
        "乾燥",
    ]
    + [
        "😂",
        "❤",
        "❤️",
        "👍🏽",
        "👨‍👩‍👧‍👦",
        "🇨🇳",
        "🇦",
        "1️⃣",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "🏳️‍🌈",
        "☆",
        "★",
        "©",
        "©️",
        "™",
        "\ufe0f",
    ]
    + ["\u200d", "🏽", "→", "AirPods3", "iOS17", "5G", "a1b2", "......", "。。。", "——", "--"]
    + [
        "http://a.cn/x?y=1",
        "https://",
        "www.",
        "WWW.A.COM",
        "abc@qq.com",
        "13812345678",
        "010-62345678",
    ]
)

texts = st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), max_size=5)
any_text = st.text(alphabet=st.characters(codec="utf-8"), max_size=20)


def apply(spec: str, text: str) -> str:
    changed = make_step(spec).apply(pa.array([text], pa.string()))
    changed.validate(full=True)
    (result,) = changed.to_pylist()
    assert isinstance(result, str)
    return result


def full_width(text: str) -> str:
    narrow = (chr(ord(c) - 0xFEE0) if "！" <= c <= "～" else c for c in text)
    return "".join(" " if c == "\u3000" else c for c in narrow)


def lower(text: str) -> str:
    return "".join(c.lower() if "A" <= c <= "Z" or "Ａ" <= c <= "Ｚ" else c for c in text)


def split_letters_digits(text: str) -> str:
    kinds = [(c.isascii() and c.isalpha()) - (c.isascii() and c.isdigit()) for c in text]
    parts = [(" " if i and kinds[i] * kinds[i - 1] == -1 else "") + c for i, c in enumerate(text)]
    return "".join(parts)


def strip_symbols(text: str) -> str:
    def is_word(c: str) -> bool:
        return unicodedata.category(c)[0] in "LMN" or c == "_" or c.isspace()

    return re.sub("\0+", " ", "".join(c if is_word(c) else "\0" for c in text.replace("\0", "!")))


SLOW: dict[str, Callable[[str], str]] = {
    "nfc": lambda text: unicodedata.normalize("NFC", text),
    "nfkc": lambda text: unicodedata.normalize("NFKC", text),
    "width": full_width,
    "t2s": opencc.OpenCC("t2s").convert,
    "lowercase": lower,
    "split_letters_digits": split_letters_digits,
    "collapse_space": lambda text: " ".join(text.split()),
    "strip_symbols": strip_symbols,
}


@pytest.mark.parametrize("name", SLOW)
@given(texts=texts)
def test_a_step_does_what_its_slow_version_does(name: str, texts: list[str]) -> None:
    changed = make_step(name).apply(pa.array(texts, pa.string()))
    changed.validate(full=True)
    assert changed.to_pylist() == [SLOW[name](text) for text in texts]


@pytest.mark.parametrize("name", ["width", "lowercase", "split_letters_digits", "collapse_space"])
@given(text=any_text)
def test_a_step_does_what_its_slow_version_does_on_any_text(name: str, text: str) -> None:
    assert apply(name, text) == SLOW[name](text)


@pytest.mark.parametrize("name", ["nfc", "nfkc"])
def test_normal_forms_of_all_characters_that_python_knows(name: str) -> None:
    points = [chr(p) for p in range(0x110000) if not 0xD800 <= p < 0xE000]
    known = [c for c in points if unicodedata.category(c) != "Cn"]
    changed = make_step(name).apply(pa.array(known)).to_pylist()
    assert changed == [SLOW[name](c) for c in known]


@pytest.mark.parametrize("name", TEXT_STEPS)
@given(texts=texts)
@settings(max_examples=30)
def test_a_text_never_depends_on_the_others(name: str, texts: list[str]) -> None:
    step = make_step(name)
    changed = step.apply(pa.array(texts, pa.string()))
    assert len(changed) == len(texts)
    assert changed.type == pa.string()
    assert changed.to_pylist() == [apply(name, text) for text in texts]
    large = step.apply(pa.array(["a", *texts], pa.large_string()).slice(1))
    assert large.type == pa.large_string()
    assert large.to_pylist() == changed.to_pylist()


@pytest.mark.parametrize("name", [n for n in TEXT_STEPS if n != "t2s"])
@given(text=st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | any_text)
@settings(max_examples=50)
def test_once_is_enough(name: str, text: str) -> None:
    once = apply(name, text)
    if name.startswith("strip") and name != "strip_symbols":
        # What is stripped may leave a blank between the halves of another: not joined, so stable.
        assert apply(name, once).split() == once.split()
    else:
        assert apply(name, once) == once


@pytest.mark.parametrize("name", TEXT_STEPS)
def test_no_texts_and_empty_texts(name: str) -> None:
    assert make_step(name).apply(pa.array([], pa.string())).to_pylist() == []
    assert apply(name, "") == ""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("nfkc", "①…℃㎡Ａ，。", "1...°Cm2A,。"),
        ("width", "Ａ１，！（ｘ）　。①…", "A1,!(x) 。①…"),
        ("t2s", "開放中文轉換，乾隆與乾燥，軟體", "开放中文转换，乾隆与干燥，软体"),
        ("t2s", "已经是简体的后面里皇后", "已经是简体的后面里皇后"),
        ("punctuation", "你好。", "你好."),
        ("punctuation", "“好”、『行』？！（是）【否】《书》", '"好","行"?!(是)[否]<书>'),
        ("punctuation", "嗯……好。。。那——走", "嗯...好...那-走"),
        ("punctuation", "3.14 a-b Ａ１", "3.14 a-b Ａ１"),
        ("lowercase", "AbC ＡｂＣ É İ Я", "abc ａｂｃ É İ Я"),
        ("split_letters_digits", "AirPods3和iOS17", "AirPods 3和iOS 17"),
        ("split_letters_digits", "a1b2c 5G 128GB v1.2", "a 1 b 2 c 5 G 128 GB v 1.2"),
        ("split_letters_digits", "第3代 é3 ３Ｇ", "第3代 é3 ３Ｇ"),
        ("strip_symbols", "你好！a_b，3.14元😂〇々", "你好 a_b 3 14元 〇々"),
        ("collapse_space", "　你 \t\n 好\xa0", "你 好"),
    ],
)
def test_what_a_step_does(name: str, text: str, expected: str) -> None:
    assert apply(name, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("请看https://a.cn/x?y=1谢谢", "请看 谢谢"),
        ("请看https://a.cn/x，谢谢", "请看 ，谢谢"),
        ("请看 https://a.cn/x. 谢谢", "请看  . 谢谢"),
        ("(见http://a.cn/b)。", "(见 )。"),
        ("HTTPS://A.CN:8080/%E4%BD%A0#top!", " !"),
        ("官网www.a-b.com.cn/好", "官网 好"),
        ("ftp://x.y/z", " "),
        ("https://例子.中国/路", "https://例子.中国/路"),
        ("版本node.js，访问example.com", "版本node.js，访问example.com"),
        ("awww.a.com", "awww.a.com"),
        ("https://", "https://"),
    ],
)
def test_urls_end_where_chinese_begins(text: str, expected: str) -> None:
    assert apply("strip_urls", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("邮箱abc.d+e@mail.qq.com谢谢", "邮箱 谢谢"),
        ("发到a@b.com.", "发到 ."),
        ("a@b.com,c@d.cn", " , "),
        ("@张三 你好 a@b", "@张三 你好 a@b"),
        ("微博@user.name", "微博@user.name"),
    ],
)
def test_emails(text: str, expected: str) -> None:
    assert apply("strip_emails", text) == expected


@pytest.mark.parametrize(
    "phone",
    [
        "13812345678",
        "138-1234-5678",
        "138 1234 5678",
        "+8613812345678",
        "+86 138 1234 5678",
        "86-13812345678",
        "0086 13812345678",
        "(+86)13812345678",
        "01062345678",
        "010-62345678",
        "0755 8234567",
        "(010)62345678",
        "+86 10 6234 5678",
        "010-62345678-801",
        "010-62345678转801",
        "400-123-4567",
        "400 1234 567",
        "4001234567",
        "800-820-8820",
        "+1 415 555 2671",
        "+1 (415) 555-2671",
        "+852 2345 6789",
    ],
)
def test_phone_numbers_go(phone: str) -> None:
    assert apply("strip_phones", phone) == " "
    assert apply("strip_phones", f"电话{phone}，谢谢") == "电话 ，谢谢"
    assert apply("strip_phones", f"{phone}、{phone}") == " 、 "


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-15 10:30:00",
        "20240115",
        "2024年11月30日",
        "138123456789",
        "1381234567",
        "0.13812345678",
        "13812345678.50",
        "13812345678元",
        "13800000000 元",
        "共4000000000元",
        "1,381,234,567",
        "订单X13812345678",
        "13812345678abc",
        "身份证110101199003071234",
        "1700000000000",
        "95588和110",
        "62345678",
        "12345678-1234",
        "100-200-3000",
        "a+1 2 3",
        "+3 比 2",
        "v1.13812345678",
        "192.168.100.100",
        "ISBN 978-7-111-12345-6",
    ],
)
def test_what_looks_like_a_phone_number_stays(text: str) -> None:
    assert apply("strip_phones", text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天很好😂我们走", "今天很好 我们走"),
        ("👨‍👩‍👧‍👦一家", " 一家"),
        ("中国🇨🇳日本🇯🇵", "中国 日本 "),
        ("🇨🇳🇯🇵👍🏽❤️a", " a"),
        ("1️⃣先#⃣ 12 #3 *", " 先  12 #3 *"),
        ("☆★♪→©™①℃ :-) [微笑]", "☆★♪→©™①℃ :-) [微笑]"),
        ("©️和❤和☎", " 和 和 "),
        ("🏴󠁧󠁢󠁥󠁮󠁧󠁿和🏳️‍🌈和🏴‍☠️", " 和 和 "),
        ("👩🏽‍🤝‍👨🏿", " "),
    ],
)
def test_an_emoji_goes_as_a_whole_and_nothing_else(text: str, expected: str) -> None:
    assert apply("strip_emoji", text) == expected


def test_every_emoji_of_the_package_emoji_goes_but_those_written_as_text() -> None:
    framed = pa.array([f"甲{e}乙" for e in emoji.EMOJI_DATA])
    results = make_step("strip_emoji").apply(framed).to_pylist()
    left = {e: result for e, result in zip(emoji.EMOJI_DATA, results) if result != "甲 乙"}
    assert all(result == f"甲{e}乙" for e, result in left.items())
    assert "".join(sorted(left)) == "©®‼⁉™ℹ↔↕↖↗↘↙↩↪Ⓜ▪▫▶◀◻◼♀♂➡⤴⤵⬅⬆⬇〰〽㊗㊙🅰🅱🅾🅿🈂🈷"


def test_no_other_character_is_an_emoji() -> None:
    known = {c for e in emoji.EMOJI_DATA for c in e} | {"\ufe0f"}
    others = [c for p in range(0x110000) if not 0xD800 <= p < 0xE000 and (c := chr(p)) not in known]
    flags = {chr(p) for p in range(0x1F1E6, 0x1F200)}
    kept = make_step("strip_emoji").apply(pa.array(others)).to_pylist()
    assert {c for c, k in zip(others, kept) if c != k} <= flags
