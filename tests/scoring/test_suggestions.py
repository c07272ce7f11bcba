"""Candidates for dictionaries: what was planted in made texts is found, what was not is not."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.segments import Layout
from scoring.suggestions import Miss, common_words, domain_words, groups, misses
from scoring.text.tokens import Tokens

WORDS = [a + b for a in "天地人你东西南北春夏" for b in "山水木金火土日月星云"]


def tokens(texts: list[list[str]]) -> Tokens:
    lengths = np.array([len(text) for text in texts], np.int64)
    return Tokens.from_flat([token for text in texts for token in text], lengths)


def made(number: int, seed: int = 1) -> list[list[str]]:
    """Texts of words drawn at random, so that nothing hangs together."""
    draw = random.Random(seed)
    return [draw.choices(WORDS, k=draw.randint(5, 9)) for _ in range(number)]


def test_a_planted_domain_word_is_found() -> None:
    texts = made(400)
    for text in texts[::20]:
        text[2:2] = ["微信", "支付"]
    found = domain_words(tokens(texts), pa.array(["".join(t) for t in texts]), 10)
    assert [(w.word, w.tokens, w.count) for w in found] == [("微信支付", ("微信", "支付"), 20)]
    assert "微信支付" in "".join(texts[found[0].text])
    assert found[0].cohesion > 4
    assert found[0].freedom > 1


def test_a_word_of_three_tokens_and_none_of_its_parts() -> None:
    texts = made(400)
    for text in texts[::80]:
        text[2:2] = ["蚂", "蚁", "森林"]
    found = domain_words(tokens(texts), pa.array(["".join(t) for t in texts]), 10)
    # 蚂蚁 is always before 森林, so it has no freedom of its own.
    assert [w.word for w in found] == ["蚂蚁森林"]


@pytest.mark.parametrize(
    "planted", [["微信", " ", "支付"], ["微信", "，"], ["12", "号"], ["pay", "pal"]]
)
def test_what_is_no_word_is_not_found(planted: list[str]) -> None:
    texts = made(400)
    for text in texts[::20]:
        text[2:2] = planted
    cut = tokens([[t for t in text if t != " "] for text in texts])
    assert domain_words(cut, pa.array(["".join(t) for t in texts]), 10) == []


def test_a_phrase_that_always_stands_in_one_place_is_not_found() -> None:
    texts = [["春山", "微信", "支付", "夏水", *text] for text in made(400)]
    assert [
        w.word for w in domain_words(tokens(texts), pa.array(["".join(t) for t in texts]), 9)
    ] in (
        [],
        ["春山微信支付夏水"],
    )


def test_planted_stop_words_are_found_first() -> None:
    texts = made(300)
    for i, text in enumerate(texts):
        text.insert(1, "的")
        if i % 2:
            text.insert(3, "了")
        text.append("。")
    found = common_words(tokens(texts), 5)
    assert [w.word for w in found[:2]] == ["的", "了"]
    assert (found[0].texts, found[0].count, found[0].weight) == (300, 300, 0.0)
    assert found[1].texts == 150
    assert all(a.weight <= b.weight for a, b in itertools.pairwise(found))
    assert "。" not in [w.word for w in common_words(tokens(texts), 500)]


def layout(examples: int) -> Layout:
    one = np.ones(examples, np.int64)
    return Layout(one, one)


def test_a_planted_synonym_is_found() -> None:
    rows = []
    for i, text in enumerate(made(200)):
        other = list(text)
        if i % 20 == 0:
            text[2:2], other[2:2] = ["手机"], ["电话"]
        rows += [text, other]
    (found,) = misses(tokens(rows), layout(200), 10)
    assert {found.word, found.other} == {"手机", "电话"}
    assert found.examples == 10
    assert "电话" in rows[found.hypothesis]
    assert "手机" in rows[found.reference]
    assert found.reference == found.hypothesis - 1


def test_no_miss_where_the_other_word_is_there_too_or_nothing_around_is_equal() -> None:
    swapped = [["我", "用", "手机", "打", "电话", "吧"], ["我", "用", "电话", "打", "手机", "吧"]]
    alone = [["手机"], ["电话"]]
    apart = [["我", "用", "手机", "吧"], ["他", "拿", "电话", "呢"]]
    number = [["我", "用", "7", "吧"], ["我", "用", "8", "吧"]]
    for pair in (swapped, alone, apart, number):
        assert misses(tokens(pair * 5), layout(5), 10, least=1) == []


TEXT = st.lists(st.sampled_from(["甲", "乙", "丙", "丁", "，"]), max_size=5)


@given(st.lists(st.tuples(TEXT, TEXT), max_size=6))
def test_misses_are_those_of_a_count_token_by_token(
    pairs: list[tuple[list[str], list[str]]],
) -> None:
    expected: dict[frozenset[str], set[int]] = {}
    for example, (reference, hypothesis) in enumerate(pairs):
        for i, own in enumerate(hypothesis):
            for j, other in enumerate(reference):
                around = [
                    (side[k - 1] if k else None, side[k + 1] if k + 1 < len(side) else None)
                    for side, k in ((hypothesis, i), (reference, j))
                ]
                fine = own != other and "，" not in (own, other) and around[0] == around[1]
                fine &= around[0] != (None, None)
                if fine and own not in reference and other not in hypothesis:
                    expected.setdefault(frozenset((own, other)), set()).add(example)
    rows = [text for pair in pairs for text in pair]
    found = misses(tokens(rows), layout(len(pairs)), 100, least=1)
    assert {frozenset((m.word, m.other)): m.examples for m in found} == {
        pair: len(examples) for pair, examples in expected.items()
    }


def test_no_word_is_in_two_groups() -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "d"), ("e", "a"), ("f", "g"), ("h", "g")]
    found = [Miss(word, other, 9 - i, 0, 1) for i, (word, other) in enumerate(pairs)]
    made_groups, left = groups(found)
    assert made_groups == {"a": ["b", "c"], "f": ["g"]}
    assert [(m.word, m.other) for m in left] == [("b", "d"), ("e", "a"), ("h", "g")]


def test_nothing_in_nothing() -> None:
    none = tokens([])
    assert domain_words(none, pa.array([], pa.string()), 5) == []
    assert common_words(none, 5) == []
    assert misses(none, layout(0), 5) == []
