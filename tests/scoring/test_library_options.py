"""What the library refuses, and that it says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scoring import Bleu, Cider, evaluate
from scoring.metrics.tracks import Combination, OnTrack
from scoring.statistics import resampling
from scoring.text.recipe import TextRecipe
from scoring.text.tokenizers import make_tokenizer


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bootstrap": -3}, "bootstrap"),
        ({"confidence": 1.5}, "confidence"),
        ({"missing": "foo"}, "missing"),
        ({"slices": {"overall": ["x"]}}, "overall"),
        ({"metrics": [Cider(4), Cider(1)]}, "different names"),
        ({"metrics": [Bleu(), Bleu((0.5, 0.5))]}, "different names"),
        ({"tokenizer": "jeiba"}, "jieba"),
        ({"ids": ["a", "b"]}, "ids: 2 entries"),
    ],
)
def test_an_option_out_of_range_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        evaluate({"s": ["a"]}, [["a"]], **options)


def test_no_system_is_an_error() -> None:
    with pytest.raises(ValueError, match="no system"):
        evaluate({}, [["a"]])


def test_missing_error_names_the_system_that_is_silent() -> None:
    with pytest.raises(ValueError, match="'quiet'"):
        evaluate({"loud": ["a"], "quiet": [None]}, [["a"]], missing="error", bootstrap=0)


def test_two_bleus_of_other_names_stand_side_by_side() -> None:
    done = evaluate(
        {"s": ["a b c d e"]},
        [["a b c d f"]],
        metrics=[Bleu(), Bleu((0.5, 0.5), name="bleu_2")],
        tokenizer="none",
        bootstrap=0,
    )
    assert done["s", "bleu_2"].value == pytest.approx((4 / 5 * 3 / 4) ** 0.5, rel=1e-12)
    assert done["s", "bleu"].value == pytest.approx(
        (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25, rel=1e-12
    )


def test_a_statistic_too_large_for_exact_sums_is_an_error() -> None:
    units = np.arange(3, dtype=np.uint64)
    statistics = np.array([[1], [2**50 + 1], [1]])
    with pytest.raises(OverflowError, match="row 1"):
        resampling.replicate_sums(units, statistics, np.array([3]), 1, range(4))


def test_metrics_of_another_track_and_a_combination() -> None:
    systems, references = {"s": ["abc d", "b"]}, [["abd d"], ["b"]]
    char = OnTrack(Bleu((1.0,)), "char")
    dual = Combination("dual", ((0.25, char), (0.75, Bleu((1.0,)))))
    scores = evaluate(
        systems,
        references,
        metrics=[Bleu((1.0,)), char, dual],
        tokenizer="none",
        tracks={"char": TextRecipe(make_tokenizer("char"))},
        bootstrap=0,
    )
    # By words 2 of 3 match, by characters 4 of 5.
    found = [scores["s", name].value for name in ("bleu", "bleu[char]", "dual")]
    assert found == pytest.approx([2 / 3, 4 / 5, 0.25 * 4 / 5 + 0.75 * 2 / 3])
    with pytest.raises(ValueError, match="no track is called 'char'; there are main"):
        evaluate(systems, references, metrics=[char])
