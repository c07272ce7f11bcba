"""The metrics by their names."""

from __future__ import annotations

import pytest

from scoring import Bleu, Cider
from scoring.metrics.registry import BUILT_IN, make_metric


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_metric_is_made_by_its_own_name(name: str) -> None:
    assert make_metric(name, {}).name == name


def test_parameters_reach_the_metric() -> None:
    assert make_metric("bleu", {"weights": (0.5, 0.5)}) == Bleu((0.5, 0.5))
    assert make_metric("cider_d", {"sigma": 2.0}) == Cider(sigma=2.0)
    assert make_metric("cider", {"order": 2}) == Cider(order=2, clip_and_penalise=False)


def test_parameters_outside_their_range_are_refused() -> None:
    with pytest.raises(ValueError, match="sum 1"):
        make_metric("bleu", {"weights": (0.5, 0.4)})


def test_an_unknown_metric_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(ValueError, match="'rouge'; there are bleu, cider_d, cider"):
        make_metric("rouge", {})
