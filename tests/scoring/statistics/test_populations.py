"""What simulations draw from, and what they take for granted about it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import populations
from benchmarks.simulations import (
    ALPHA,
    TRIALS,
    Examples,
    MadeDocuments,
    RealDocuments,
    attainable_level,
)
from scoring import Bleu, hashing
from scoring.metrics.base import FIXED_POINT
from scoring.metrics.cider import Cider
from scoring.statistics.resampling import replicate_sums, swap_sums

# sacrebleu 2.6.0, corpus_bleu(tokenize="char") on the texts and both references: sys_len, ref_len,
# counts, totals.
SACREBLEU = {
    "LanguageX": [60667, 61112, 54276, 45807, 39008, 33464, 60667, 58630, 56593, 54558],
    "HuaweiTSC": [60606, 61022, 54396, 45973, 39298, 33853, 60606, 58569, 56532, 54497],
    "DLUT": [61905, 61669, 52682, 42264, 34568, 28566, 61905, 59868, 57831, 55796],
}


@pytest.mark.parametrize("pair", list(itertools.permutations(SACREBLEU, 2)))
def test_the_statistics_of_wmt22_are_sacrebleus(pair: tuple[str, str]) -> None:
    population = populations.wmt22(*pair)
    for name, statistics in zip(pair, (population.a, population.b), strict=True):
        assert statistics.sum(axis=0).tolist() == [2037, *SACREBLEU[name]]
        assert (statistics[:, 0] == 1).all()
    assert (len(population.documents), population.documents.sum()) == (181, 2037)
    assert population.documents.min() > 0


@pytest.mark.parametrize("name", ["wmt22", "chat"])
def test_the_fast_bleu_of_simulations_is_bleu(name: str) -> None:
    statistics = getattr(populations, name)().a
    rng = np.random.default_rng(1)
    few = statistics[rng.integers(0, len(statistics), (500, 2))].sum(axis=1)
    many = statistics[rng.integers(0, len(statistics), (100, 200))].sum(axis=1)
    assert (few[:, 3:7] == 0).any()  # smoothed
    for sums in (few, many, few.reshape(5, 100, -1)):
        np.testing.assert_allclose(populations.fast_bleu(sums), Bleu().score(sums), rtol=1e-12)


def test_a_document_weighs_as_all_of_its_examples() -> None:
    population = populations.wmt22()
    lengths = population.documents[:40]
    rows = population.a[: lengths.sum()]
    names = pa.array([f"document {i}" for i in range(len(lengths))])
    units = hashing.hash_strings(names)
    starts = np.cumsum(lengths) - lengths
    for sums in (replicate_sums, swap_sums):
        apart = sums(units.repeat(lengths), rows, np.array([len(rows)]), 5, range(64))
        summed = np.add.reduceat(rows, starts, axis=0)
        whole = sums(units, summed, np.array([len(summed)]), 5, range(64))
        assert np.array_equal(apart, whole)


def test_real_documents_are_the_same_examples_whole_and_apart() -> None:
    population = populations.wmt22()
    drawn = [
        RealDocuments(30, 0.7, whole).draw(population, np.random.default_rng(3), 4)
        for whole in (True, False)
    ]
    (a, b, units), (rows_a, rows_b, examples) = drawn
    assert units.tolist() == [30] * 4
    assert len(set(examples.tolist())) > 1
    assert np.array_equal(a.sum(axis=0), rows_a.sum(axis=0))
    assert np.array_equal(b.sum(axis=0), rows_b.sum(axis=0))
    for run, n in enumerate(examples.tolist()):
        assert (rows_a[:n, run, 0] == 1).all() and not rows_a[n:, run].any()


def test_half_of_the_examples_of_a_made_document_are_like_its_first() -> None:
    population = populations.skewed_mean()
    a, _, _ = MadeDocuments(2000, 0.5, whole=False).draw(population, np.random.default_rng(4), 1)
    documents = a[:, 0, 1].reshape(200, 10)
    alike = (documents[:, 1:] == documents[:, :1]).mean()
    assert alike == pytest.approx(0.5, abs=0.04)


def test_a_share_of_one_half_has_no_difference_and_of_all_the_whole() -> None:
    population = populations.wmt22()
    assert population.truth(0.5) == 0
    scores = Bleu().score(np.stack([population.a.sum(axis=0), population.b.sum(axis=0)]))
    assert population.truth(1.0) == pytest.approx(scores[0] - scores[1], rel=1e-12)
    a, _, _ = Examples(500, 1.0).draw(population, np.random.default_rng(5), 2)
    known = {row.tobytes() for row in population.a}
    assert all(row.tobytes() in known for row in a.reshape(-1, 11))


def test_the_attainable_level_is_that_of_all_patterns() -> None:
    """Six examples that all disagree, and two of three: every pattern and every p by counting."""
    ones = np.array([[1, FIXED_POINT, 0], [1, 0, 0]])
    nothing = np.zeros(0, np.int64)
    always = populations.Population("", Cider(), ones[[0, 1]], ones[[1, 0]], nothing)
    some = populations.Population("", Cider(), ones[[0, 1, 0]], ones[[1, 0, 0]], nothing)

    def found(p: float) -> float:
        most = math.floor(ALPHA * (TRIALS + 1)) - 1
        q = 1 - p
        return sum(math.comb(TRIALS, k) * p**k * q ** (TRIALS - k) for k in range(most + 1))

    def of(signs: tuple[int, ...]) -> float:
        least = abs(sum(signs))
        patterns = list(itertools.product([1, -1], repeat=len(signs)))
        p = sum(abs(sum(other)) >= least for other in patterns) / len(patterns)
        return found(p) if p < 1 else 0.0

    six = [of(signs) for signs in itertools.product([1, -1], repeat=6)]
    assert attainable_level(always, 6) == pytest.approx(sum(six) / 64, rel=1e-6)
    assert 0.02 < attainable_level(always, 6) < 2 / 64 + 1e-9
    expected = 0.0
    for disagree in itertools.product([False, True, True], repeat=6):
        signs = list(itertools.product([1, -1], repeat=sum(disagree)))
        expected += sum(of(s) for s in signs) / len(signs) / 3**6
    assert attainable_level(some, 6) == pytest.approx(expected, rel=1e-6)
