"""Simulations: how often p-values and intervals of differences err, on populations that are known.

Slow; 2,000 runs each, every draw with a fixed seed. The standard error of a rate of .05 is .005.
The same on WMT22's statistics, and beside sacrebleu: benchmarks/simulations.py, docs/statistics.md.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks import simulations
from benchmarks.simulations import Design, Population, Rates, simulate
from scoring.statistics.power import detectable_difference, units_needed

RUNS = 2000

MAKERS = {
    "chat": simulations.chat,
    "skewed": simulations.skewed_mean,
    "rate": simulations.rate,
}

pytestmark = pytest.mark.slow


@cache
def population(name: str) -> Population:
    return MAKERS[name]()


def shown(rates: Rates) -> Rates:
    print(rates)
    return rates


@pytest.mark.parametrize("examples", [200, 1000])
@pytest.mark.parametrize("name", ["chat", "skewed"])
def test_5_in_100_differences_are_found_where_there_are_none(name: str, examples: int) -> None:
    rates = shown(simulate(population(name), Design(examples, 0.5), RUNS, 10_000))
    assert rates.truth == 0
    assert 0.035 <= rates.rejected_bootstrap <= 0.065
    assert 0.035 <= rates.rejected_randomisation <= 0.065
    assert (examples < 1000 and name != "chat") or 0.93 <= rates.covered <= 0.97


@pytest.mark.parametrize("examples", [200, 1000])
def test_of_a_rate_no_more_than_5_in_100_are_found(examples: int) -> None:
    """Fewer by randomisation: a rate has few values, and ties count as far as the difference."""
    rates = shown(simulate(population("rate"), Design(examples, 0.5), RUNS, 20_000))
    assert 0.035 <= rates.rejected_bootstrap <= 0.065
    assert 0.015 <= rates.rejected_randomisation <= 0.065


@pytest.mark.parametrize("examples", [200, 1000])
@pytest.mark.parametrize("name", list(MAKERS))
def test_a_true_difference_is_found_as_often_as_by_plain_numpy(name: str, examples: int) -> None:
    share = population(name).share_for(examples, simulations.STRENGTH)
    rates = shown(simulate(population(name), Design(examples, share), RUNS, 30_000, plain=True))
    assert rates.truth > 0
    assert 0.5 < rates.rejected_bootstrap < 0.85
    assert abs(rates.rejected_bootstrap - rates.plain_bootstrap) <= 0.02
    assert abs(rates.rejected_randomisation - rates.plain_randomisation) <= 0.02
    if name == "chat" or examples >= 1000:
        assert 0.93 <= rates.covered <= 0.97
        assert 0.01 < rates.missed_below < 0.045
        assert 0.01 < rates.missed_above < 0.045


@pytest.mark.parametrize("name", ["skewed", "rate"])
def test_the_smallest_detectable_difference_is_found_80_times_in_100(name: str) -> None:
    """Of the replicates' standard deviation, as a user has it, averaged over some runs."""
    drawn = population(name)
    share = drawn.share_for(1000, 1.959964 + 0.841621)
    design = Design(1000, share)
    rates = shown(simulate(drawn, design, RUNS, 60_000))
    some = simulations.batches(drawn, design, 200, 61_000)
    deviation = float(np.mean([batch.replicates.std(axis=0, ddof=1) for batch in some]))
    detectable = detectable_difference(deviation, simulations.ALPHA).difference
    assert detectable == pytest.approx(rates.truth, rel=0.04)
    assert 0.76 <= rates.rejected_bootstrap <= 0.84
    needed = units_needed(deviation, 1000, rates.truth / 2, simulations.ALPHA).units
    assert needed == pytest.approx(4000, rel=0.08)


def test_documents_resampled_whole_err_as_often_as_they_say() -> None:
    design = Design(1000, 0.5, document=10, whole=True)
    rates = shown(simulate(population("chat"), design, RUNS, 40_000))
    assert rates.units == 100
    assert 0.035 <= rates.rejected_bootstrap <= 0.065
    assert 0.035 <= rates.rejected_randomisation <= 0.065
    assert 0.93 <= rates.covered <= 0.97


def test_documents_resampled_apart_find_differences_where_there_are_none() -> None:
    design = Design(1000, 0.5, document=10, whole=False)
    rates = shown(simulate(population("chat"), design, RUNS, 40_000))
    assert rates.rejected_bootstrap > 0.15
    assert rates.rejected_randomisation > 0.15
    assert rates.covered < 0.85


def test_documents_resampled_whole_have_the_power_of_plain_numpy() -> None:
    share = population("chat").share_for(1000, 1.8 * simulations.STRENGTH)
    design = Design(1000, share, document=10, whole=True)
    rates = shown(simulate(population("chat"), design, RUNS, 50_000, plain=True))
    assert 0.4 < rates.rejected_bootstrap < 0.9
    assert abs(rates.rejected_bootstrap - rates.plain_bootstrap) <= 0.02
    assert abs(rates.rejected_randomisation - rates.plain_randomisation) <= 0.02
    assert 0.93 <= rates.covered <= 0.97
