"""Beam sees the same signatures, and looks at each method once."""

from __future__ import annotations

import inspect

import apache_beam as beam
import pytest
from apache_beam.transforms import core

from runners import signatures


class One(beam.DoFn):  # type: ignore[misc]
    def process(self, element: int, more: str = "one") -> list[int]:
        return [element]


class Other(One):
    def process(self, element: int, more: str = "other") -> list[int]:
        return [element]


def test_signatures_are_those_of_inspect() -> None:
    signatures.remember()
    for _ in range(2):
        for function in (One().process, Other().process, One().setup, One.process):
            assert core.get_signature(function) == inspect.signature(function)
        assert core.get_function_args_defaults(One().process) == (["element", "more"], ["one"])
        assert core.get_function_args_defaults(Other().process) == (["element", "more"], ["other"])


def test_a_method_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    def look(function: object) -> inspect.Signature:
        looked.append(function)
        return inspect.signature(One.process)

    monkeypatch.setattr(core, "get_signature", look)
    signatures.remember()
    once = core.get_signature
    signatures.remember()
    assert core.get_signature is once
    for _ in range(3):
        core.get_signature(One().process)
    assert len(looked) == 1
