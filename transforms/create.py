"""Beam's Create and CombineGlobally in steps with names of our own: theirs have a line number of
Beam's source in them, which a runner's pages show and another version of Beam changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.typehints.native_type_compatibility import convert_to_beam_type


@dataclass
class Create(beam.PTransform):  # type: ignore[misc]
    """A few values of the type ``of`` as a collection, all from one task."""

    values: Sequence[Any]
    of: Any

    def expand(self, root: beam.pvalue.PBegin) -> beam.PCollection:
        coder = beam.coders.registry.get_coder(convert_to_beam_type(self.of))
        encoded = [coder.encode(value) for value in self.values]
        each = beam.FlatMap(_each, encoded, coder).with_output_types(self.of)
        return root | "Once" >> beam.Impulse() | "Each" >> each


def _each(_: bytes, encoded: Sequence[bytes], coder: beam.coders.Coder) -> Iterable[Any]:
    return map(coder.decode, encoded)


@dataclass
class Combine(beam.PTransform):  # type: ignore[misc]
    """All elements -> the one value that ``fn`` makes of them; also of none.

    Inputs of ``fn`` are like its accumulators, so that an empty one changes nothing.
    """

    fn: beam.CombineFn
    of: Any

    def expand(self, parts: beam.PCollection) -> beam.PCollection:
        keyed = beam.typehints.Tuple[int, self.of]
        empty = beam.Map(_empty, self.fn).with_output_types(keyed)
        none = parts.pipeline | "Once" >> beam.Impulse() | "Empty" >> empty
        return (
            (parts | "WithKey" >> beam.Map(_with_key).with_output_types(keyed), none)
            | "WithEmpty" >> beam.Flatten()
            | "Combine" >> beam.CombinePerKey(self.fn).with_output_types(keyed)
            | "Value" >> beam.Map(_value).with_output_types(self.of)
        )


def _empty(_: bytes, fn: beam.CombineFn) -> tuple[int, Any]:
    return 0, fn.create_accumulator()


def _with_key(value: Any) -> tuple[int, Any]:
    return 0, value


def _value(element: tuple[int, Any]) -> Any:
    return element[1]
