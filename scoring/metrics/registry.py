"""The metrics by name. Users add theirs under the entry point group ``liangchi.metrics``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

from scoring.metrics.base import Metric
from scoring.metrics.bleu import Bleu
from scoring.metrics.cider import Cider

GROUP = "liangchi.metrics"

BUILT_IN: dict[str, Callable[..., Metric]] = {
    "bleu": Bleu,
    "cider_d": Cider,
    "cider": lambda **parameters: Cider(clip_and_penalise=False, **parameters),
}


def make_metric(name: str, parameters: Mapping[str, Any]) -> Metric:
    """The metric of that name with its own parameters.

    Raises ValueError if there is none of that name, or a parameter is outside its range.
    """
    if name in BUILT_IN:
        return BUILT_IN[name](**parameters)
    plugins = {point.name: point for point in entry_points(group=GROUP)}
    if name in plugins:
        made: Metric = plugins[name].load()(**parameters)
        return made
    known = ", ".join([*BUILT_IN, *sorted(plugins)])
    raise ValueError(f"no metric is called {name!r}; there are {known}")
