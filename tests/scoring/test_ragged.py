"""Lists in flat arrays, against lists of lists."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scoring import ragged

LISTS = st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=8)


def flat(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([v for one in lists for v in one], np.int64), np.array(
        [len(one) for one in lists], np.int64
    )


@given(LISTS)
def test_sums_and_minima_equal_those_of_lists(lists: list[list[int]]) -> None:
    values, lengths = flat(lists)
    assert ragged.segment_sum(values, lengths).tolist() == [sum(one) for one in lists]
    assert ragged.segment_min(values, lengths).tolist() == [min(one, default=0) for one in lists]


@given(LISTS)
def test_offsets_and_list_index_name_every_value(lists: list[list[int]]) -> None:
    values, lengths = flat(lists)
    offsets = ragged.offsets_of(lengths)
    assert [values[a:b].tolist() for a, b in itertools.pairwise(offsets)] == lists
    expected = [number for number, one in enumerate(lists) for _ in one]
    assert ragged.list_index(lengths).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=8))
def test_ranges_equal_pythons(pairs: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in pairs], np.int64)
    lengths = np.array([length for _, length in pairs], np.int64)
    expected = [i for start, length in pairs for i in range(start, start + length)]
    assert ragged.ranges(starts, lengths).tolist() == expected


@given(st.lists(st.integers(1, 9), max_size=6))
def test_sizes_of_runs_follow_from_their_starts(sizes: list[int]) -> None:
    starts = ragged.offsets_of(np.array(sizes, np.int64))[:-1]
    assert ragged.sizes_of(starts, sum(sizes)).tolist() == sizes


def test_sums_keep_the_type_of_the_values() -> None:
    values = np.array([2**63, 2**63 + 5], np.uint64)
    sums = ragged.segment_sum(values, np.array([2, 0]))
    assert sums.dtype == np.uint64
    assert sums.tolist() == [5, 0]  # modulo 2**64
