"""Simulations: how often the interval holds the truth, and that Poisson weights spread as they
should. Slow; every draw has a fixed seed."""

from __future__ import annotations

import json
from pathlib import Path

import builders
import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_limits

from benchmarks.populations import fast_bleu
from scoring import Bleu, hashing
from scoring.statistics.intervals import percentile_interval
from scoring.statistics.resampling import replicate_sums

GOLDEN = Path(__file__).parents[1] / "golden"

METRIC = Bleu()


@pytest.fixture(scope="module")
def population() -> np.ndarray:
    """BLEU's statistics of 300 replies to 60 chat examples, in jieba's words."""
    stored = json.loads((GOLDEN / "chat_texts.json").read_text(encoding="utf-8"))
    corpus = [
        builders.Example(tuple(words["references"]), tuple(words["replies"]))
        for example, words in zip(stored["examples"], stored["words"], strict=True)
        if not example["id"].startswith("odd")
    ]
    statistics = METRIC.segment_statistics(builders.tokens_of(corpus))
    assert statistics.shape == (300, 11)
    return statistics


def units(count: int) -> np.ndarray:
    return hashing.hash_strings(pa.array([f"chat_{i:05d}" for i in range(count)]))


@pytest.mark.slow
@pytest.mark.parametrize("examples", [200, 2000])
def test_the_interval_of_bleu_holds_the_truth_95_times_in_100(
    population: np.ndarray, examples: int
) -> None:
    """2,000 runs, 50 of which share their weights: they are columns of one array."""
    seeds, together = 40, 50
    truth = float(METRIC.score(population.sum(axis=0)))
    assert 0.1 < truth < 0.9
    rng = np.random.default_rng(examples)
    ids = units(examples)
    below = above = 0
    with threadpool_limits(1):  # the products are small
        for seed in range(seeds):
            samples = population[rng.integers(0, len(population), (examples, together))]
            rows = samples.reshape(examples, -1)
            sums = replicate_sums(ids, rows, np.array([examples]), seed, range(1000))[0]
            for scores in fast_bleu(sums.reshape(1000, together, -1)).T:
                interval = percentile_interval(scores, 0.95, examples)
                assert interval.low is not None and interval.high is not None
                below += truth < interval.low
                above += truth > interval.high
    runs = seeds * together
    covered = 1 - (below + above) / runs
    print(f"{examples} examples: covered {covered:.4f}, {below} too high, {above} too low")
    assert 0.93 <= covered <= 0.97
    # Neither side is left out: each misses about 2.5 times in 100.
    assert 0.01 < below / runs < 0.05
    assert 0.01 < above / runs < 0.05


@pytest.mark.slow
def test_poisson_replicates_spread_as_a_bootstrap_that_draws_n_of_n(
    population: np.ndarray,
) -> None:
    replicates, n = 20_000, 600
    rng = np.random.default_rng(12)
    sample = population[rng.integers(0, len(population), n)]
    with threadpool_limits(1):
        poisson = METRIC.score(
            replicate_sums(units(n), sample, np.array([n]), 1, range(replicates))[0]
        )
        drawn = rng.multinomial(n, np.full(n, 1 / n), replicates)
        plain = METRIC.score((drawn.astype(np.float64) @ sample).astype(np.int64))
    print(f"standard deviations: {poisson.std():.6f}, {plain.std():.6f}")
    assert poisson.std() == pytest.approx(plain.std(), rel=0.02)
    assert poisson.mean() == pytest.approx(plain.mean(), abs=plain.std() * 0.05)
    low, high = np.quantile(plain, [0.025, 0.975])
    interval = percentile_interval(poisson, 0.95, n)
    assert interval.low == pytest.approx(low, abs=plain.std() * 0.1)
    assert interval.high == pytest.approx(high, abs=plain.std() * 0.1)
