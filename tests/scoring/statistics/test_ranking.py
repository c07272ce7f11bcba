"""Clusters of systems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.statistics.ranking import clusters


def beats(systems: int, *pairs: tuple[int, int]) -> np.ndarray:
    result = np.zeros((systems, systems), bool)
    for winner, loser in pairs:
        result[winner, loser] = True
    return result


def test_every_difference_significant_gives_every_system_its_own_cluster() -> None:
    everything = beats(3, (1, 0), (1, 2), (0, 2))
    assert clusters([0.5, 0.9, 0.1], everything) == [2, 1, 3]


def test_no_difference_significant_gives_one_cluster() -> None:
    assert clusters([0.5, 0.9, 0.1], beats(3)) == [1, 1, 1]


def test_a_cluster_starts_only_where_all_above_win() -> None:
    # 0 beats 2 but 1 does not: 2 stays with them; 3 is beaten by all three.
    assert clusters([4, 3, 2, 1], beats(4, (0, 2), (0, 3), (1, 3), (2, 3))) == [1, 1, 1, 2]


def test_only_the_cluster_above_counts_not_those_farther_up() -> None:
    # 0 beats 1; 1 beats 2; 0 and 2 are not told apart.
    assert clusters([3, 2, 1], beats(3, (0, 1), (1, 2))) == [1, 2, 3]


def test_systems_without_a_score_come_last_together() -> None:
    assert clusters([None, 0.2, None, 0.7], beats(4, (3, 1), (3, 0))) == [3, 2, 3, 1]
    assert clusters([None, None], beats(2)) == [1, 1]
    assert clusters([], beats(0)) == []


def test_systems_of_one_score_stay_together_in_any_order() -> None:
    # 1 and 2 are level; 0 beats only 2.
    assert clusters([0.9, 0.5, 0.5], beats(3, (0, 2))) == [1, 1, 1]
    assert clusters([0.9, 0.5, 0.5], beats(3, (0, 1))) == [1, 1, 1]
    assert clusters([0.9, 0.5, 0.5], beats(3, (0, 1), (0, 2))) == [1, 2, 2]


@given(
    st.lists(st.one_of(st.none(), st.sampled_from([0.1, 0.2, 0.3, 0.4])), max_size=7),
    st.integers(0, 2**32),
)
def test_the_order_in_which_systems_come_does_not_matter(
    scores: list[float | None], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.random((len(scores), len(scores))) < 0.7
    found = clusters(scores, matrix)
    order = rng.permutation(len(scores))
    shuffled = clusters([scores[i] for i in order], matrix[np.ix_(order, order)])
    assert shuffled == [found[i] for i in order]
    # From 1 on without a gap, and never against the scores.
    assert sorted(set(found)) == list(range(1, len(set(found)) + 1))
    for s, c in zip(scores, found):
        for t, d in zip(scores, found):
            if s is not None and t is not None and s > t:
                assert c <= d


def test_sizes_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        clusters([0.1, 0.2], beats(3))
