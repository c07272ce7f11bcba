"""Metrics on tracks and combinations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import expressions
from scoring.metrics import tracks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.3 * bleu[char] + 0.7 * bleu[word]", ((0.3, "bleu[char]"), (0.7, "bleu[word]"))),
        ("0.3*bleu[char]+0.7*bleu[word]", ((0.3, "bleu[char]"), (0.7, "bleu[word]"))),
        ("bleu - 2e-1*cider_d", ((1.0, "bleu"), (-0.2, "cider_d"))),
        ("-bleu+.5*bleu[字]", ((-1.0, "bleu"), (0.5, "bleu[字]"))),
        ("  1.*bleu  ", ((1.0, "bleu"),)),
        ("1e3*e3", ((1000.0, "e3"),)),
    ],
)
def test_combinations(text: str, expected: object) -> None:
    assert expressions.terms(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "weights and metrics"),
        ("0.3", "a * and a metric after 0.3"),
        ("0.3 * ", "a metric at its end"),
        ("0.3 bleu", "a * and a metric after 0.3"),
        ("bleu bleu", "a + or - before 'bleu'"),
        ("bleu +", "a metric at its end"),
        ("bleu + * bleu", "a metric in place of '*'"),
        ("bleu * 0.3", "a + or - before '*'"),
        ("(bleu + bleu)", "nothing like '(bleu + bleu)'"),
        ("0.3 * bleu[char] + __import__('os')", "nothing like \"('os')"),
        ("bleu[]", "nothing like '[]'"),
        ("bleu[a", "nothing like '[a'"),
        ("+ bleu", "in place of '+'"),
        ("- - bleu", "in place of '-'"),
    ],
)
def test_what_is_no_combination_is_refused_with_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="weights and metrics") as error:
        expressions.terms(text)
    assert says in str(error.value)


@given(st.text(max_size=30) | st.text("0123.*+-eb[] ", max_size=30))
def test_any_text_is_a_combination_or_a_value_error(text: str) -> None:
    try:
        found = expressions.terms(text)
    except ValueError:
        return
    again = "".join(f"{weight:+}*{metric}" for weight, metric in found).removeprefix("+")
    assert expressions.terms(again) == found


def test_metrics_on_tracks() -> None:
    assert expressions.metric_on_track("bleu") == ("bleu", "main")
    assert expressions.metric_on_track("bleu[char]") == ("bleu", "char")
    for text in ("bleu[]", "bleu[char", "[char]", "bleu[a][b]", ""):
        with pytest.raises(ValueError, match="METRIC"):
            expressions.metric_on_track(text)
    assert expressions.MAIN == tracks.MAIN
