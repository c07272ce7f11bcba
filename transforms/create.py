"""Beam's Create and CombineGlobally in steps with names of our own: theirs have a line number of
Beam's source in them, which a runner's pages show and another version of Beam changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam


@dataclass
class Create(beam.PTransform):  # type: ignore[misc]
    """A few values of the type ``of`` as a collection, all from one task."""

    values: Sequence[Any]
    of: Any

    def expand(self, root: beam.pvalue.PBegin) -> beam.PCollection:
        each = beam.FlatMap(_each, list(self.values)).with_output_types(self.of)
        return root | "Once" >> beam.Impulse() | "Each" >> each


def _each(_: bytes, values: Sequence[Any]) -> Iterable[Any]:
    return values


@dataclass
class Combine(beam.PTransform):  # type: ignore[misc]
    """All elements -> the one value that ``fn`` makes of them; also of none.

    neutral: an input of ``fn`` that changes nothing.
    """

    fn: beam.CombineFn
    neutral: Any
    of: Any

    def expand(self, parts: beam.PCollection) -> beam.PCollection:
        keyed = beam.typehints.Tuple[int, self.of]
        none = parts.pipeline | "Neutral" >> Create([(0, self.neutral)], keyed)
        return (
            (parts | "WithKey" >> beam.Map(_with_key).with_output_types(keyed), none)
            | "WithNeutral" >> beam.Flatten()
            | "Combine" >> beam.CombinePerKey(self.fn).with_output_types(keyed)
            | "Value" >> beam.Map(_value).with_output_types(self.of)
        )


def _with_key(value: Any) -> tuple[int, Any]:
    return 0, value


def _value(element: tuple[int, Any]) -> Any:
    return element[1]
