"""Metrics on tracks and combinations: names, columns, sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import builders
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.evaluation import StatisticsLayout
from scoring.library import all_with_own_frequencies
from scoring.metrics.base import SEGMENTS
from scoring.metrics.bleu import Bleu
from scoring.metrics.cider import Cider
from scoring.metrics.tracks import Combination, OnTrack, join_signature, scale_ends, signature

CHAR_BLEU, WORD_BLEU = OnTrack(Bleu(), "char"), OnTrack(Bleu(), "word")
DUAL = Combination("bleu_dual", ((0.3, CHAR_BLEU), (0.7, WORD_BLEU)))


def test_tracks_share_the_number_of_segments_and_no_other_column() -> None:
    layout = StatisticsLayout((Bleu(), CHAR_BLEU, OnTrack(Cider(), "char")))
    plain, char, cider = (set(layout.columns(metric)) for metric in layout.metrics)
    shared = {layout.column(SEGMENTS)}
    assert plain & char == plain & cider == char & cider == shared
    assert [m.name for m in layout.metrics] == ["bleu", "bleu[char]", "cider_d[char]"]
    assert "bleu_matches_1[char]" in layout.names
    assert layout.tracks == ("main", "char")
    assert layout.document_orders == {"char": 4}


def test_metrics_of_one_track_still_share_equal_statistics() -> None:
    other = Bleu(weights=(1.0, 0.0, 0.0, 0.0))

    @dataclass(frozen=True)
    class Renamed:
        """Another metric that names BLEU's statistics."""

        metric: Bleu
        name: str = "unigram"

        def __getattr__(self, name: str) -> Any:
            return getattr(self.metric, name)

    one = StatisticsLayout((CHAR_BLEU,))
    both = StatisticsLayout((CHAR_BLEU, OnTrack(Renamed(other), "char")))  # type: ignore[arg-type]
    assert one.names == both.names


def test_a_combination_adds_columns_only_for_what_is_not_counted_yet() -> None:
    apart = StatisticsLayout((CHAR_BLEU, WORD_BLEU))
    assert StatisticsLayout((CHAR_BLEU, WORD_BLEU, DUAL)).names == apart.names
    assert StatisticsLayout((DUAL,)).names == apart.names
    assert StatisticsLayout((DUAL,)).sources == (CHAR_BLEU, WORD_BLEU)


def test_two_metrics_that_differ_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match=r"bleu\[char\]"):
        StatisticsLayout((OnTrack(Bleu((1.0,)), "char"), DUAL))


WEIGHTS = st.floats(0.1, 5) | st.floats(-5, -0.1)


@given(builders.examples(), st.lists(WEIGHTS, min_size=3, max_size=3))
def test_a_combination_is_the_weighted_sum_everywhere(
    corpus: list[builders.Example], weights: list[float]
) -> None:
    parts = (OnTrack(Bleu(), "a"), OnTrack(Cider(), "b"), Bleu((0.5, 0.5)))
    mixed = Combination("mixed", tuple(zip(weights, parts)))
    layout = StatisticsLayout((*parts, mixed))
    tokens = {
        "main": builders.tokens_of(corpus),
        "a": builders.tokens_of(corpus, "char"),
        "b": builders.tokens_of(corpus),
    }
    segments = layout.segment_statistics(all_with_own_frequencies(tokens, layout))
    cumulated = np.cumsum(segments, axis=0)  # sums of more and more segments
    for of, method in ((segments, "segment_score"), (cumulated, "score")):
        *own, found = (getattr(m, method)(of[:, layout.columns(m)]) for m in layout.metrics)
        expected = weights[0] * own[0] + weights[1] * own[1] + weights[2] * own[2]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_combination_by_hand() -> None:
    one, other = OnTrack(Bleu((1.0,)), "char"), Bleu((1.0,))
    mixed = Combination("mixed", ((0.25, one), (-2.0, other)))
    assert mixed.statistics[0] == SEGMENTS
    # Segments; lengths, matches and n-grams of characters, then of words: 6 of 8 and 1 of 4.
    sums = np.array([1, 8, 8, 6, 8, 4, 4, 1, 4])
    assert mixed.score(sums) == pytest.approx(0.25 * 6 / 8 - 2 * 1 / 4)


def test_a_combination_is_undefined_where_a_part_is_and_says_which() -> None:
    mixed = Combination("mixed", ((1.0, Bleu()), (0.1, OnTrack(Cider(), "b"))))
    layout = StatisticsLayout((mixed,))
    sums = np.zeros((2, len(layout.names)), np.int64)
    sums[0, layout.columns(mixed)] = 1
    columns = layout.columns(mixed)
    assert np.isnan(mixed.score(sums[:, columns])).tolist() == [True, True]
    assert mixed.note(sums[0, columns]) == (
        "undefined: cider_d[b] is undefined: document frequencies of fewer than 2 examples"
    )
    assert mixed.note(sums[1, columns]) == "undefined: bleu is undefined: no segments"
    sums[0, layout.column("cider_d_undefined[b]")] = 0
    assert np.isfinite(mixed.score(sums[0, columns]))
    sums[0, layout.column("bleu_ngrams_4")] = 0
    assert mixed.note(sums[0, columns]) == "bleu: 0: no hypothesis has an n-gram of order 4"


@pytest.mark.parametrize(
    ("terms", "scale"),
    [
        (((0.3, CHAR_BLEU), (0.7, WORD_BLEU)), "0-1"),
        (((0.1, CHAR_BLEU), (0.2, WORD_BLEU), (0.7, Bleu())), "0-1"),
        (((0.5, Bleu()), (0.05, Cider())), "0-1"),
        (((1.0, Bleu()), (1.0, Cider())), "0-11"),
        (((1.0, CHAR_BLEU), (-1.0, WORD_BLEU)), "-1 to 1"),
    ],
)
def test_the_scale_goes_from_the_least_to_the_most(terms: Any, scale: str) -> None:
    assert Combination("c", terms).scale == scale
    low, high = scale_ends(scale) or (0, 0)
    assert low < high


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ((), "combines no metric"),
        (((0.0, Bleu()),), "other than 0"),
        (((float("nan"), Bleu()),), "other than 0"),
        (((float("inf"), Bleu()),), "other than 0"),
        (((1.0, Bleu()), (2.0, Bleu((1.0,)))), "twice"),
    ],
)
def test_weights_must_say_something(terms: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Combination("c", terms)


def test_a_signature_holds_the_recipe_of_its_own_track_and_no_name_of_one() -> None:
    recipes = {"main": "raw/jieba", "char": "raw/char", "word": "raw/jieba"}
    tables = {"main": "m", "char": "c", "word": "w"}

    def of(metric: Any) -> str:
        return join_signature(signature(metric, recipes, tables))

    assert of(OnTrack(Bleu(), "word")) == of(Bleu())
    assert of(CHAR_BLEU) == of(Bleu()).replace("raw/jieba", "raw/char")
    assert of(OnTrack(Cider(), "char")) == "metric:cider_d|n:4|sigma:6|text:raw/char|df:c"
    assert of(DUAL) == f"metric:sum|of:+0.3*({of(CHAR_BLEU)})+0.7*({of(WORD_BLEU)})"
