"""Weights of the Poisson bootstrap that are a function of (seed, unit, replicate), and sums."""

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


def weights_of(units: np.ndarray, replicates: range, seed: int = SEED) -> np.ndarray:
    return resampling.weights(units, resampling.stream(seed, replicates))


def far_from(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """By how many standard deviations chi-square leaves its mean."""
    expected = counts.sum() * probabilities
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(counts) - 1
    return (chi_square - freedom) / math.sqrt(2 * freedom)


def poisson_probabilities() -> np.ndarray:
    return np.array(resampling.POISSON_COUNTS) / 2**16


def merged(counts: np.ndarray) -> np.ndarray:
    """The rare weights from 5 on as one class."""
    return np.append(counts[:5], counts[5:].sum())


def test_golden_vectors_of_the_stream() -> None:
    assert resampling.stream(12345, range(12)).tolist() == [
        0xBF8B290CD0189424,
        0x13B330A5B64DA2CD,
        0x8FC2E49C415E6ACB,
    ]
    assert resampling.stream(0, range(996, 1000)).tolist() == [0xCF079FA611CB3225]


def test_golden_vectors_of_weights() -> None:
    units = hashing.hash_strings(pa.array(["duck_000001", "duck_000002", "鸭", ""]))
    expected = ["022031221111312230013130", "111203001022222111301102"]
    expected += ["131100102032212131011000", "021010200011411001010320"]
    found = weights_of(units, range(24))
    assert ["".join(map(str, row)) for row in found.tolist()] == expected


def test_a_weight_is_read_off_the_16_bit_lanes_of_one_hash() -> None:
    constants = resampling.stream(SEED, range(8, 16))
    found = resampling.weights(DUCKS[:50], constants)
    for unit, row in zip(DUCKS[:50], found.tolist()):
        expected = []
        for constant in constants:
            value = int(hashing.mix(unit[None] + constant[None])[0])
            for lane in range(4):
                draw = (value >> (16 * lane)) % 2**16
                weight = 0
                while draw >= sum(resampling.POISSON_COUNTS[: weight + 1]):
                    weight += 1
                expected.append(weight)
        assert row == expected


def test_every_draw_gives_the_weight_of_its_place_among_the_counts() -> None:
    constants = resampling.stream(SEED, range(400))
    draws = hashing.mix(DUCKS[:, None] + constants[None, :]).view(np.uint16)
    bounds = np.cumsum(resampling.POISSON_COUNTS)
    assert np.isin(bounds[:5], draws).all()  # the edges are among them
    assert np.isin(bounds[:5] - 1, draws).all()
    expected = np.searchsorted(bounds, draws, side="right")
    assert np.array_equal(resampling.weights(DUCKS, constants), expected)


def test_the_counts_of_draws_have_mean_and_variance_of_exactly_1() -> None:
    counts = resampling.POISSON_COUNTS
    assert sum(counts) == 2**16
    assert sum(k * c for k, c in enumerate(counts)) == 2**16
    assert sum((k - 1) ** 2 * c for k, c in enumerate(counts)) == 2**16


def test_the_counts_of_draws_are_poissons_within_4() -> None:
    for weight, count in enumerate(resampling.POISSON_COUNTS):
        exact = 2**16 * math.exp(-1) / math.factorial(weight)
        assert abs(count - exact) < 4


def test_weights_of_neighbouring_ids_are_poisson_in_all_replicates_together() -> None:
    drawn = weights_of(DUCKS, range(400))
    counts = np.bincount(drawn.ravel(), minlength=len(resampling.POISSON_COUNTS))
    assert abs(far_from(merged(counts), merged(poisson_probabilities()))) < 6


@pytest.mark.parametrize("axis", ["unit", "replicate"])
def test_weights_are_poisson_for_every_unit_and_every_replicate(axis: str) -> None:
    drawn = (
        weights_of(DUCKS[:200], range(4000)) if axis == "unit" else weights_of(DUCKS, range(200)).T
    )
    for row in drawn:
        counts = np.bincount(row, minlength=len(resampling.POISSON_COUNTS))
        # 200 rows; 9 standard deviations of a chi-square of 5 degrees: one in a million.
        assert far_from(merged(counts), merged(poisson_probabilities())) < 9


@pytest.mark.parametrize("shift", [1, 2, 3, 4, 5, 250])
def test_neighbouring_replicates_and_the_lanes_of_one_hash_are_uncorrelated(shift: int) -> None:
    drawn = weights_of(DUCKS, range(400)).astype(np.float64) - 1
    covariance = float((drawn[:, shift:] * drawn[:, :-shift]).mean())
    pairs = drawn.shape[0] * (drawn.shape[1] - shift)
    assert abs(covariance) < 5 / math.sqrt(pairs)  # the variance is 1


@pytest.mark.parametrize("lanes", [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
def test_each_pair_of_lanes_is_independent(lanes: tuple[int, int]) -> None:
    drawn = weights_of(DUCKS, range(200))
    one, other = (np.minimum(drawn[:, lane::4], 4).astype(np.int64).ravel() for lane in lanes)
    probabilities = np.append(poisson_probabilities()[:4], poisson_probabilities()[4:].sum())
    counts = np.bincount(one * 5 + other, minlength=25)
    assert abs(far_from(counts, np.outer(probabilities, probabilities).ravel())) < 6


@pytest.mark.parametrize("shift", [1, 2, 10, 1000])
def test_neighbouring_units_are_uncorrelated(shift: int) -> None:
    drawn = weights_of(DUCKS, range(400)).astype(np.float64) - 1
    covariance = float((drawn[shift:] * drawn[:-shift]).mean())
    assert abs(covariance) < 5 / math.sqrt((drawn.shape[0] - shift) * drawn.shape[1])


def test_sums_of_weights_vary_as_those_of_independent_weights() -> None:
    drawn = weights_of(DUCKS[:2000], range(4000)).astype(np.float64)
    of_replicates = drawn.sum(axis=0)
    assert abs(of_replicates.mean() / 2000 - 1) < 0.003
    assert abs(of_replicates.var() / 2000 - 1) < 6 * math.sqrt(2 / 4000)
    of_units = drawn.sum(axis=1)
    assert abs(of_units.var() / 4000 - 1) < 6 * math.sqrt(2 / 2000)


def test_other_seeds_draw_other_and_uncorrelated_weights() -> None:
    drawn = [weights_of(DUCKS, range(100), seed).astype(np.float64) - 1 for seed in range(4)]
    for i in range(4):
        for j in range(i):
            assert abs(float((drawn[i] * drawn[j]).mean())) < 5 / math.sqrt(drawn[i].size)


def test_a_weight_does_not_depend_on_the_other_units_and_replicates() -> None:
    whole = weights_of(DUCKS[:100], range(40))
    assert np.array_equal(weights_of(DUCKS[40:60], range(12, 28)), whole[40:60, 12:28])


@pytest.mark.parametrize("wrong", [range(1, 8), range(6), range(2, 4)])
def test_ranges_that_cut_a_hash_are_refused(wrong: range) -> None:
    with pytest.raises(ValueError, match="multiples of 4"):
        resampling.stream(SEED, wrong)


def naive_sums(
    units: np.ndarray, statistics: np.ndarray, lengths: list[int], seed: int, replicates: range
) -> list[list[list[int]]]:
    """In Python's own integers, which do not overflow."""
    drawn = weights_of(units, replicates, seed).tolist()
    rows = statistics.tolist()
    result = []
    start = 0
    for length in lengths:
        group = range(start, start + length)
        result.append(
            [
                [sum(drawn[i][b] * rows[i][k] for i in group) for k in range(statistics.shape[1])]
                for b in range(len(replicates))
            ]
        )
        start += length
    return result


@given(
    st.lists(st.integers(0, 9), max_size=5),
    st.sampled_from([1, 100, 2**40, 2**50]),
    st.integers(0, 2**32),
)
def test_sums_equal_those_of_python_integers(lengths: list[int], largest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    statistics = rng.integers(-largest, largest, (sum(lengths), 3), np.int64, endpoint=True)
    units = DUCKS[: sum(lengths)]
    found = resampling.replicate_sums(units, statistics, np.array(lengths), seed, range(4, 12))
    assert found.dtype == np.int64
    assert found.shape == (len(lengths), 8, 3)
    assert found.tolist() == naive_sums(units, statistics, lengths, seed, range(4, 12))


def test_groups_larger_than_a_tile_and_sums_near_2_to_the_53_are_exact() -> None:
    lengths = [0, 1, 513, 0, 1200, 3]
    rng = np.random.default_rng(11)
    statistics = np.stack(
        [
            rng.integers(0, 50, sum(lengths)),
            rng.integers(2**50 - 1000, 2**50, sum(lengths), endpoint=True),
            rng.integers(0, 2**34, sum(lengths)),
        ],
        axis=1,
    )
    units = DUCKS[: sum(lengths)]
    found = resampling.replicate_sums(units, statistics, np.array(lengths), SEED, range(8))
    assert found.tolist() == naive_sums(units, statistics, lengths, SEED, range(8))


def test_statistics_whose_sums_pass_2_to_the_53_are_exact() -> None:
    statistics = np.full((700, 1), 2**46 + 1)
    found = resampling.replicate_sums(DUCKS[:700], statistics, np.array([700]), SEED, range(4))
    expected = naive_sums(DUCKS[:700], statistics, [700], SEED, range(4))
    assert max(row[0] for row in expected[0]) > 2**53
    assert found.tolist() == expected


@given(st.permutations(range(30)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    statistics = np.random.default_rng(5).integers(0, 2**40, (30, 2))
    lengths = np.array([30])
    expected = resampling.replicate_sums(DUCKS[:30], statistics, lengths, SEED, range(16))
    found = resampling.replicate_sums(
        DUCKS[:30][order], statistics[order], lengths, SEED, range(16)
    )
    assert np.array_equal(found, expected)


def test_how_replicates_are_cut_into_ranges_does_not_matter() -> None:
    statistics = np.random.default_rng(6).integers(0, 99, (600, 2))
    lengths = np.array([100, 500])

    def sums(replicates: range) -> np.ndarray:
        return resampling.replicate_sums(DUCKS[:600], statistics, lengths, SEED, replicates)

    whole = sums(range(32))
    parts = [sums(range(4)), sums(range(4, 28)), sums(range(28, 32))]
    assert np.array_equal(np.concatenate(parts, axis=1), whole)
    assert sums(range(0)).shape == (2, 0, 2)


def test_how_rows_are_cut_into_partitions_does_not_matter() -> None:
    statistics = np.random.default_rng(8).integers(0, 2**45, (600, 2))

    def sums(rows: slice) -> np.ndarray:
        units = DUCKS[:600][rows]
        lengths = np.array([len(units)])
        return resampling.replicate_sums(units, statistics[rows], lengths, SEED, range(8))

    assert np.array_equal(sums(slice(0, 123)) + sums(slice(123, 600)), sums(slice(0, 600)))
