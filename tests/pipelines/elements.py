"""What passes between the stages of a run: every element before a shuffle, by its name and size."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pytest

from transforms import spill
from transforms.packets import Packet

SIZES: dict[str, list[int]] = defaultdict(list)
"""Full name of the shuffle -> bytes of each element before it. Filled by runs in this process."""

_SHUFFLES = (beam.GroupByKey, beam.CombinePerKey, beam.Reshuffle)


@contextlib.contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[int]]]:
    """While this is open, pipelines that are built note what comes to their shuffles, and send it
    as on a cluster: not by a file."""
    SIZES.clear()
    apply = beam.Pipeline.apply

    def noting(self: Any, transform: Any, pvalueish: Any = None, label: str | None = None) -> Any:
        above = [applied.transform for applied in self.transforms_stack]
        inside = any(isinstance(t, _SHUFFLES) for t in above)
        # A transform with a label comes twice, the second time with the label in it.
        if isinstance(transform, _SHUFFLES) and label is None and not inside:
            name = "/".join(filter(None, [self.transforms_stack[-1].full_label, transform.label]))
            note = beam.Map(_note, name).with_output_types(pvalueish.element_type)
            pvalueish = apply(self, note, pvalueish, f"{transform.label} noted")
        return apply(self, transform, pvalueish, label)

    with monkeypatch.context() as patched:
        patched.setattr(beam.Pipeline, "apply", noting)
        patched.setattr(spill, "opened", contextlib.nullcontext)
        yield SIZES


def _note(element: Any, name: str) -> Any:
    SIZES[name].append(size(element))
    return element


def size(element: Any) -> int:
    """The bytes of an element as it is sent, keys apart."""
    value = element[1] if isinstance(element, tuple) and len(element) == 2 else element
    if isinstance(value, Packet):
        return len(value.encode())
    return len(beam.coders.FastPrimitivesCoder().encode(value))
