"""Swaps of approximate randomisation: fair bits of (seed, unit, trial), and sums."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import hashing
from scoring.statistics import resampling

SEED = 12345
DUCKS = hashing.hash_strings(pa.array([f"duck_{i:06d}" for i in range(1, 20_001)]))


def swaps_of(units: np.ndarray, trials: range, seed: int = SEED) -> np.ndarray:
    return resampling.swaps(units, resampling.swap_stream(seed, trials))


def signs_of(units: np.ndarray, trials: range, seed: int = SEED) -> np.ndarray:
    return 2.0 * swaps_of(units, trials, seed) - 1


def test_golden_vectors_of_the_stream() -> None:
    found = resampling.swap_stream(12345, range(128)).tolist()
    assert found == [0x86C382393BFE09E7, 0x2CC695295C7FEA7A]
    assert resampling.swap_stream(0, range(64, 128)).tolist() == [0x394C9EE5C723637B]


def test_golden_vectors_of_swaps() -> None:
    units = hashing.hash_strings(pa.array(["duck_000001", "duck_000002", "鸭", ""]))
    found = ["".join(map(str, row)) for row in swaps_of(units, range(64)).tolist()]
    assert found == [
        "0001111111110011111110000101100000110110010000011101011001010110",
        "1101110000010010111010001110100001011000111000100111000011101110",
        "1011010001001100101100110101011011000000011100101000110101000000",
        "1001010011111000001011101011011100100000110111110100110000110000",
    ]


def test_a_swap_is_one_bit_of_one_hash_the_lowest_first() -> None:
    constants = resampling.swap_stream(SEED, range(64, 192))
    found = resampling.swaps(DUCKS[:50], constants)
    assert found.shape == (50, 128)
    for unit, row in zip(DUCKS[:50], found.tolist()):
        values = [int(hashing.mix(unit[None] + constant[None])[0]) for constant in constants]
        assert row == [value >> bit & 1 for value in values for bit in range(64)]


@pytest.mark.parametrize("axis", ["unit", "trial"])
def test_half_of_the_swaps_of_every_unit_and_every_trial_are_made(axis: str) -> None:
    signs = signs_of(DUCKS[:200], range(6400)) if axis == "unit" else signs_of(DUCKS, range(192)).T
    assert np.abs(signs.sum(axis=1)).max() < 5 * math.sqrt(signs.shape[1])


@pytest.mark.parametrize("shift", [1, 2, 3, 8, 32, 63, 64, 65, 128])
def test_bits_of_one_hash_and_of_neighbouring_hashes_are_uncorrelated(shift: int) -> None:
    signs = signs_of(DUCKS, range(256))
    covariance = float((signs[:, shift:] * signs[:, :-shift]).mean())
    assert abs(covariance) < 5 / math.sqrt(len(signs) * (signs.shape[1] - shift))


def test_every_pair_of_bits_of_one_hash_is_uncorrelated() -> None:
    signs = signs_of(DUCKS, range(64))
    together = signs.T @ signs / math.sqrt(len(signs))
    assert np.abs(together[np.triu_indices(64, 1)]).max() < 5  # 2,016 pairs


@pytest.mark.parametrize("shift", [1, 2, 10, 1000])
def test_neighbouring_units_are_uncorrelated(shift: int) -> None:
    signs = signs_of(DUCKS, range(256))
    covariance = float((signs[shift:] * signs[:-shift]).mean())
    assert abs(covariance) < 5 / math.sqrt((len(signs) - shift) * signs.shape[1])


def test_sums_of_signs_vary_as_those_of_fair_coins() -> None:
    signs = signs_of(DUCKS[:2000], range(6400))
    assert abs(signs.sum(axis=0).var() / 2000 - 1) < 6 * math.sqrt(2 / 6400)
    assert abs(signs.sum(axis=1).var() / 6400 - 1) < 6 * math.sqrt(2 / 2000)


def test_other_seeds_swap_otherwise() -> None:
    signs = [signs_of(DUCKS, range(64), seed) for seed in range(4)]
    for i in range(4):
        for j in range(i):
            assert abs(float((signs[i] * signs[j]).mean())) < 5 / math.sqrt(signs[i].size)


def test_swaps_know_nothing_of_the_weights_under_the_same_seed() -> None:
    signs = signs_of(DUCKS, range(256))
    drawn = resampling.weights(DUCKS, resampling.stream(SEED, range(256))) - 1.0
    together = signs.T @ drawn / math.sqrt(len(signs))
    assert np.abs(together).max() < 5.5  # 65,536 pairs of a trial and a replicate
    assert not np.isin(
        resampling.swap_stream(SEED, range(64 * 500)), resampling.stream(SEED, range(4 * 5000))
    ).any()


def test_a_swap_does_not_depend_on_the_other_units_and_trials() -> None:
    whole = swaps_of(DUCKS[:100], range(256))
    assert np.array_equal(swaps_of(DUCKS[40:60], range(64, 192)), whole[40:60, 64:192])


@pytest.mark.parametrize("wrong", [range(1, 64), range(4), range(64, 100)])
def test_ranges_that_cut_a_hash_are_refused(wrong: range) -> None:
    with pytest.raises(ValueError, match="multiples of 64"):
        resampling.swap_stream(SEED, wrong)


def test_rounding_up() -> None:
    assert resampling.SWAPS_OF_A_HASH == 64
    assert [resampling.round_up(n, 64) for n in (0, 1, 64, 65, 10_000)] == [0, 64, 64, 128, 10_048]
    assert [resampling.round_up(n) for n in (0, 1, 4, 1000)] == [0, 4, 4, 1000]


def naive_sums(
    units: np.ndarray, statistics: np.ndarray, lengths: list[int], seed: int, trials: range
) -> list[list[list[int]]]:
    """In Python's own integers."""
    swapped = swaps_of(units, trials, seed).tolist()
    rows = statistics.tolist()
    result, start = [], 0
    for length in lengths:
        group = range(start, start + length)
        result.append(
            [
                [
                    sum(rows[i][k] for i in group if swapped[i][t])
                    for k in range(statistics.shape[1])
                ]
                for t in range(len(trials))
            ]
        )
        start += length
    return result


@given(
    st.lists(st.integers(0, 9), max_size=5),
    st.sampled_from([1, 100, 2**15, 2**15 + 1, 2**30, 2**40, 2**50]),
    st.integers(0, 2**32),
)
def test_sums_equal_those_of_python_integers(lengths: list[int], largest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    statistics = rng.integers(-largest, largest, (sum(lengths), 3), np.int64, endpoint=True)
    statistics[:, 0] %= 5  # a narrow column beside wide ones
    units = DUCKS[: sum(lengths)]
    found = resampling.swap_sums(units, statistics, np.array(lengths), seed, range(64, 128))
    assert found.dtype == np.int64
    assert found.shape == (len(lengths), 64, 3)
    assert found.tolist() == naive_sums(units, statistics, lengths, seed, range(64, 128))


@pytest.mark.parametrize("largest", [2**15 - 1, 2**15, 2**15 + 1, 2**30, 2**50])
def test_whole_tiles_of_the_largest_values_are_exact(largest: int) -> None:
    lengths = [0, 1, 513, 0, 1200]
    rows = sum(lengths)
    statistics = np.stack([np.full(rows, largest), np.full(rows, -largest), np.arange(rows)], 1)
    found = resampling.swap_sums(DUCKS[:rows], statistics, np.array(lengths), SEED, range(64))
    assert found.tolist() == naive_sums(DUCKS[:rows], statistics, lengths, SEED, range(64))


def test_a_statistic_above_2_to_the_50_is_an_error() -> None:
    statistics = np.array([[1], [2**50 + 1], [1]])
    with pytest.raises(OverflowError, match="row 1"):
        resampling.swap_sums(DUCKS[:3], statistics, np.array([3]), 1, range(64))


@given(st.permutations(range(30)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    statistics = np.random.default_rng(5).integers(0, 2**40, (30, 2))
    lengths = np.array([30])
    expected = resampling.swap_sums(DUCKS[:30], statistics, lengths, SEED, range(64))
    found = resampling.swap_sums(DUCKS[:30][order], statistics[order], lengths, SEED, range(64))
    assert np.array_equal(found, expected)


def test_how_rows_and_trials_are_cut_does_not_matter() -> None:
    statistics = np.random.default_rng(8).integers(0, 2**45, (700, 2))

    def sums(rows: slice, trials: range) -> np.ndarray:
        units = DUCKS[:700][rows]
        return resampling.swap_sums(units, statistics[rows], np.array([len(units)]), SEED, trials)

    whole = sums(slice(0, 700), range(640))
    parts = [sums(slice(0, 700), trials) for trials in (range(64), range(64, 640))]
    assert np.array_equal(np.concatenate(parts, axis=1), whole)
    assert np.array_equal(
        sums(slice(0, 123), range(640)) + sums(slice(123, 700), range(640)), whole
    )
    assert sums(slice(0, 700), range(0)).shape == (1, 0, 2)


def test_swapping_every_unit_and_none_exchanges_the_systems() -> None:
    """The identity that tests rest on: after a swap both systems still hold everything."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 99, (2, 40, 2))
    lengths = np.array([40])
    swapped = [resampling.swap_sums(DUCKS[:40], s, lengths, SEED, range(64))[0] for s in (a, b)]
    of_a = a.sum(axis=0) - swapped[0] + swapped[1]
    of_b = b.sum(axis=0) - swapped[1] + swapped[0]
    bits = swaps_of(DUCKS[:40], range(64)).T.astype(bool)
    for t in range(64):
        assert np.array_equal(of_a[t], np.where(bits[t][:, None], b, a).sum(axis=0))
        assert np.array_equal(of_b[t], np.where(bits[t][:, None], a, b).sum(axis=0))
