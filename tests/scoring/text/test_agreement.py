"""Agreement of two ways to cut, against a count of sets of places, text by text."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.text.agreement import Boundaries, Disagreement, compare, disagreements
from scoring.text.tokens import Tokens

Cut = list[str]


def tokens(texts: list[Cut]) -> Tokens:
    lengths = np.array([len(text) for text in texts], np.int64)
    return Tokens.from_flat([token for text in texts for token in text], lengths)


@st.composite
def two_cuts(draw: st.DrawFn) -> tuple[list[Cut], list[Cut]]:
    """The same texts cut twice; now and then one differs in a character."""
    sides: tuple[list[Cut], list[Cut]] = ([], [])
    for text in draw(st.lists(st.text(alphabet="ab好😂", max_size=7), max_size=6)):
        for side in sides:
            own = text + "x" if draw(st.integers(0, 9)) == 0 else text
            places = sorted(draw(st.sets(st.integers(1, max(len(own) - 1, 1)))))
            ends = [p for p in places if p < len(own)]
            side.append([own[i:j] for i, j in zip([0, *ends], [*ends, len(own)]) if i < j])
    return sides


def inner(cut: Cut) -> set[int]:
    return set(list(accumulate(map(len, cut)))[:-1])


@given(two_cuts())
def test_counts_are_those_of_sets_of_places(sides: tuple[list[Cut], list[Cut]]) -> None:
    pairs = [(a, b) for a, b in zip(*sides) if "".join(a) == "".join(b)]
    found = compare(*(Boundaries(tokens(side)) for side in sides))
    assert (found.texts, found.comparable) == (len(sides[0]), len(pairs))
    assert found.alike == sum(a == b for a, b in pairs)
    assert found.both == sum(len(inner(a) & inner(b)) for a, b in pairs)
    assert found.one == sum(len(inner(a) - inner(b)) for a, b in pairs)
    assert found.other == sum(len(inner(b) - inner(a)) for a, b in pairs)


@given(two_cuts())
def test_disagreements_are_the_stretches_between_common_places(
    sides: tuple[list[Cut], list[Cut]],
) -> None:
    expected: Counter[tuple[str, str]] = Counter()
    for a, b in zip(*sides):
        text = "".join(a)
        if text != "".join(b):
            continue
        common = sorted(inner(a) & inner(b)) + [len(text)]
        start = 0
        for end in common:
            own = [
                "|".join(
                    text[i:j]
                    for i, j in zip(
                        [start, *(p for p in sorted(inner(side)) if start < p < end)],
                        [*(p for p in sorted(inner(side)) if start < p < end), end],
                    )
                )
                for side in (a, b)
            ]
            if own[0] != own[1]:
                expected[own[0], own[1]] += 1
            start = end
    found = disagreements(*(Boundaries(tokens(side)) for side in sides), most=1000)
    assert {(d.one, d.other): d.count for d in found} == expected
    keys = [(-d.count, d.one, d.other) for d in found]
    assert keys == sorted(keys)
    for d in found:
        assert d.one.replace("|", "") in "".join(sides[0][d.text])


def test_a_count_by_hand() -> None:
    one = Boundaries(tokens([["微信", "支付", "好用"], ["好用"], [], ["a"]]))
    other = Boundaries(tokens([["微信支付", "好", "用"], ["好", "用"], [], ["a"]]))
    found = compare(one, other)
    assert (found.both, found.one, found.other, found.alike) == (1, 1, 2, 2)
    assert found.f1 == pytest.approx(2 / 5)
    assert disagreements(one, other, 2) == [
        Disagreement("好用", "好|用", 2, 0),
        Disagreement("微信|支付", "微信支付", 1, 0),
    ]
    assert compare(Boundaries(tokens([])), Boundaries(tokens([]))).f1 is None
    assert disagreements(Boundaries(tokens([])), Boundaries(tokens([])), 5) == []
