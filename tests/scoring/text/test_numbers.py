"""The step numbers: pairs that become equal, texts that stay, and what holds for every text."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.text.steps import numbers
from scoring.text.steps.numbers import Numbers

HERE = Path(__file__).parent


def rows(name: str) -> list[list[str]]:
    lines = (HERE / name).read_text("utf-8").split("\n")
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


PAIRS, KEPT = rows("number_pairs.tsv"), rows("number_kept.tsv")

PIECES = (
    ["0", "1", "2", "3", "10", "15", "30", "2024", "1,000", "1.5", "007", "３", "8"]
    + [*"零〇一二两三四五六七八九十百千万亿", "十五", "二十", "三百", "一百二", "一万五"]
    + [*"点半刻分秒时差过整第年月日号天周个元块毛度折成多余来几俩负%％:：-到至~/、, ，。"]
    + ["点钟", "小时", "百分之", "分之", "百分百", "零下", "摄氏度", "°C", "公里", "左右", "后"]
    + ["下午", "晚上", "中午", "今晚", "明早", "周五", "明天", "am", "PM", "约", "超过", "见"]
    + ["三十六计", "万一", "十分", "a", "iPhone", " ", "\u00a0", "我们", "\n", "http://a.cn/3个"]
)
texts_of_pieces = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


def applied(*texts: str | None) -> list[str | None]:
    result: list[str | None] = Numbers().apply(pa.array(texts, pa.string())).to_pylist()
    return result


@pytest.mark.parametrize("row", PAIRS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_texts_that_mean_the_same_number_become_equal(row: list[str]) -> None:
    assert len(row) > 2
    assert len(set(applied(*row[1:]))) == 1


@pytest.mark.parametrize("row", KEPT, ids=lambda row: f"{row[0]}: {row[1]}")
def test_idioms_names_and_ids_stay(row: list[str]) -> None:
    assert applied(row[1]) == [row[1]]


def test_there_are_enough_of_both() -> None:
    assert len({tuple(sorted((row[1], other))) for row in PAIRS for other in row[2:]}) >= 150
    assert len({row[1] for row in PAIRS}) >= 150
    assert len({row[1] for row in KEPT}) >= 150
    assert min(Counter(row[0] for row in PAIRS).values()) >= 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3个", "三个"),
        ("2个", "两个"),
        ("2号", "二号"),
        ("十五个", "15个"),
        ("一万五千人", "15000人"),
        ("1.5万", "15000"),
        ("2.50元", "2.50元"),
        ("三到五天", "3-5天"),
        ("下午3点", "15:00"),
        ("晚上四点", "晚上四点"),
        ("中午十二点半", "12:30"),
        ("晚上12点", "24:00"),
        ("今晚一点半", "今晚1:30"),
        ("差一刻零点", "23:45"),
        ("2024-01-03", "2024年1月3日"),
        ("2024-13-03", "2024-13-03"),
        ("1月3号", "1月3日"),
        ("1月32号", "1月32号"),
        ("第1", "第一"),
        ("第十一", "第11"),
        ("百分之二十", "20%"),
        ("零下五摄氏度", "-5℃"),
        ("三分之一", "1/3"),
        ("25点", "25点"),
        ("10:75", "10:75"),
        ("五十点开会", "50点开会"),
        ("三千一个", "三千一个"),
        ("一百三十四万多亩", "1340000多亩"),
        ("三百多万", "300多万"),
        ("周三十五点", "周三15:00"),
    ],
)
def test_the_canonical_form(text: str, expected: str) -> None:
    assert applied(text) == [expected]


@pytest.mark.parametrize("rule", json.loads(
    resources.files("scoring.text.steps").joinpath("numbers.json").read_text("utf-8")
)["rules"], ids=lambda rule: rule["kind"])  # fmt: skip
def test_every_rule_does_what_its_example_says(rule: dict[str, str]) -> None:
    for example in rule["like"].split(", "):
        before, _, after = example.partition(" = ")
        assert applied(before) == applied(after or before)
        if not after:
            assert applied(before) == [before]
        else:
            assert applied(before) == [after]


@given(texts_of_pieces)
def test_a_second_time_changes_nothing(text: str) -> None:
    once = applied(text)
    assert applied(*once) == once


# Whatever a rule may write otherwise: digits, and the words that make a number of them.
_NUMBER_WORDS = re.compile(
    "[0-9０-９零〇一二两三四五六七八九十百千万亿点时整钟半刻差过分秒到至年月日号份"
    "个毛块俩第之负%％‰℃/:：.．,~～–—－ \u00a0-]"
    "|凌晨|清晨|大?清早|一?大早|早上|早晨|早|上午|中午|正午|下午|午后|傍晚|黄昏"
    "|晚上|晚间|晚|夜里|夜间|深夜|半夜|午夜"
    "|零下|摄氏度|°|C|[AaPp][.]?[Mm][.]?|就|的"
)


@given(texts_of_pieces)
def test_nothing_else_is_lost_or_moved(text: str) -> None:
    (changed,) = applied(text)
    assert changed is not None
    assert _NUMBER_WORDS.sub("", changed) == _NUMBER_WORDS.sub("", text)


@given(
    st.text(
        st.sampled_from("零一二两三四五六七八九十百千万亿点分之第月日年时半3５.,: 个"), max_size=12
    )
)
def test_also_in_runs_of_numerals(text: str) -> None:
    once = applied(text)
    assert applied(*once) == once
    assert _NUMBER_WORDS.sub("", once[0] or "") == _NUMBER_WORDS.sub("", text)


@given(texts_of_pieces)
def test_the_first_look_misses_no_change(text: str) -> None:
    seen = pc.match_substring_regex(pa.array([text]), numbers._MAY_CHANGE)[0].as_py()
    assert seen or not Numbers().changes(text)


@given(st.lists(st.none() | texts_of_pieces, max_size=6))
def test_every_text_is_handled_alone(texts: list[str | None]) -> None:
    expected = [None if text is None else applied(text)[0] for text in texts]
    assert applied(*texts, *texts) == expected * 2


def test_slices_and_chunks_without_texts() -> None:
    column = pa.array(["x", "3个", None, "3个"])
    assert Numbers().apply(column.slice(1)).to_pylist() == ["三个", None, "三个"]
    assert Numbers().apply(column.slice(0, 0)).to_pylist() == []
    assert Numbers().apply(column).type == column.type


def test_a_long_run_of_digits_takes_no_time() -> None:
    for piece in ("1", "一", "1,", "一百", "三点", "第", "下午3点到", "3-", "1.", "十 "):
        text = piece * 3000
        assert len(applied(text)) == 1


def test_the_signature_names_the_rules() -> None:
    assert re.fullmatch(r"numbers-\d+-[0-9a-f]{12}", Numbers().signature())
