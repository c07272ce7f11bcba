"""Simulations: how often p-values and intervals of differences err, on populations that are known.

Slow; 2,000 runs each, every draw with a fixed seed: the rows of the tables in docs/statistics.md,
beside sacrebleu there. The standard error of a rate of .05 is .005.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks import simulations
from benchmarks.populations import Population
from benchmarks.simulations import (
    MAKERS,
    STRENGTH,
    Examples,
    Rates,
    RealDocuments,
    attainable_level,
    share_for,
    simulate,
)
from scoring.statistics.power import detectable_difference, units_needed

RUNS = 2000

pytestmark = pytest.mark.slow


@cache
def population(name: str) -> Population:
    return MAKERS[name]()


def shown(rates: Rates) -> Rates:
    print(rates)
    return rates


@cache
def without_difference(name: str, examples: int) -> Rates:
    return shown(simulate(population(name), Examples(examples, 0.5), RUNS, 1_000))


@pytest.mark.parametrize("examples", [200, 1000])
@pytest.mark.parametrize("name", ["wmt22", "skewed", "checks"])
def test_5_in_100_differences_are_found_where_there_are_none(name: str, examples: int) -> None:
    rates = without_difference(name, examples)
    assert rates.truth == 0
    assert 0.035 <= rates.rejected_bootstrap <= 0.065
    assert 0.035 <= rates.rejected_randomisation <= 0.065
    if name == "wmt22" or examples >= 1000:
        assert 0.93 <= rates.covered <= 0.97


@pytest.mark.parametrize("examples", [200, 1000])
def test_of_a_rate_as_many_are_found_as_an_exact_test_can(examples: int) -> None:
    """A rate has few values, and ties count as far as the difference: no valid test of swaps finds
    more, and none that finds fewer would be as sharp as it can be."""
    rates = without_difference("rate", examples)
    attainable = attainable_level(population("rate"), examples)
    print(f"attainable: {attainable:.4f}")
    assert attainable < 0.05
    assert rates.rejected_randomisation == pytest.approx(attainable, abs=0.01)
    assert 0.035 <= rates.rejected_bootstrap <= 0.065
    if examples >= 1000:
        assert 0.035 <= rates.rejected_randomisation <= 0.065
        assert 0.93 <= rates.covered <= 0.97


@pytest.mark.parametrize("examples", [200, 1000])
@pytest.mark.parametrize("name", ["wmt22", "skewed", "rate"])
def test_a_true_difference_is_found_as_often_as_by_plain_numpy(name: str, examples: int) -> None:
    share = share_for(population(name), Examples(examples, 0.5), STRENGTH)
    design = Examples(examples, share)
    rates = shown(simulate(population(name), design, RUNS, 1_000, plain=True))
    assert rates.truth > 0
    assert 0.5 < rates.rejected_bootstrap < 0.85
    assert abs(rates.rejected_bootstrap - rates.plain_bootstrap) <= 0.02
    assert abs(rates.rejected_randomisation - rates.plain_randomisation) <= 0.02
    if name == "wmt22" or examples >= 1000:
        assert 0.93 <= rates.covered <= 0.97
        assert 0.01 < rates.missed_below < 0.045
        assert 0.01 < rates.missed_above < 0.045


@pytest.mark.parametrize("name", ["skewed", "rate"])
def test_the_smallest_detectable_difference_is_found_80_times_in_100(name: str) -> None:
    """Of the replicates' standard deviation, as a user has it, averaged over some runs."""
    drawn = population(name)
    share = share_for(drawn, Examples(1000, 0.5), 1.959964 + 0.841621, runs=8000)
    design = Examples(1000, share)
    rates = shown(simulate(drawn, design, RUNS, 60_000))
    some = simulations.batches(drawn, design, 200, 61_000)
    deviation = float(np.mean([batch.replicates.std(axis=0, ddof=1) for batch in some]))
    detectable = detectable_difference(deviation, simulations.ALPHA).difference
    assert detectable == pytest.approx(rates.truth, rel=0.04)
    assert 0.76 <= rates.rejected_bootstrap <= 0.84
    needed = units_needed(deviation, 1000, rates.truth / 2, simulations.ALPHA).units
    assert needed == pytest.approx(4000, rel=0.08)


def test_real_documents_resampled_whole_err_as_often_as_they_say() -> None:
    rates = shown(simulate(population("wmt22_close"), RealDocuments(100, 0.5), RUNS, 3_000))
    assert (rates.units, rates.drawn) == (100, "documents")
    assert 0.035 <= rates.rejected_bootstrap <= 0.065
    assert 0.035 <= rates.rejected_randomisation <= 0.065
    assert 0.93 <= rates.covered <= 0.97


def test_real_documents_resampled_apart_find_differences_where_there_are_none() -> None:
    design = RealDocuments(100, 0.5, whole=False)
    rates = shown(simulate(population("wmt22_close"), design, RUNS, 3_000))
    assert (rates.units // 100, rates.drawn) == (11, "examples")
    assert rates.rejected_bootstrap > 0.12
    assert rates.rejected_randomisation > 0.12
    assert rates.covered < 0.88


def test_intervals_of_real_documents_as_they_are_hold_the_difference() -> None:
    """The outputs of each system as its own: no swap of the simulation makes them correlated."""
    rates = shown(simulate(population("wmt22_close"), RealDocuments(100, 1.0), RUNS, 3_000))
    assert rates.truth > 0.005
    assert 0.93 <= rates.covered <= 0.97


def test_real_documents_resampled_whole_have_the_power_of_plain_numpy() -> None:
    share = share_for(population("wmt22"), RealDocuments(100, 0.5), STRENGTH)
    design = RealDocuments(100, share)
    rates = shown(simulate(population("wmt22"), design, RUNS, 3_000, plain=True))
    assert 0.4 < rates.rejected_bootstrap < 0.9
    assert abs(rates.rejected_bootstrap - rates.plain_bootstrap) <= 0.02
    assert abs(rates.rejected_randomisation - rates.plain_randomisation) <= 0.02
    assert 0.93 <= rates.covered <= 0.97
