"""Beam's options, without the time that Beam takes to look at them."""

from __future__ import annotations

from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions, StandardOptions


class Options(PipelineOptions):  # type: ignore[misc]
    """The same options; every view of them is made once.

    Beam asks for a view of some at every step of a graph, and each makes a parser and parses all
    arguments again: a third of the time of a small run. All views share their values.
    """

    def view_as(self, cls: type[Any]) -> Any:
        # Not an attribute: those are options.
        views = self.__dict__.setdefault("_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        return views[cls]


def workers_are_here(options: PipelineOptions) -> bool:
    """Whether all workers of a job are this process, or are started by it."""
    runner = options.view_as(StandardOptions).runner
    environment = options.view_as(PortableOptions).environment_type
    return bool(runner == "FnApiRunner" or environment == "LOOPBACK")
