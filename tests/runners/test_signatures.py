"""Beam sees the same signatures, and looks at each method once."""

from __future__ import annotations

import inspect

import apache_beam as beam
import pytest
from apache_beam.coders import VarIntCoder
from apache_beam.transforms import core, userstate
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec

from runners import signatures


class One(beam.DoFn):  # type: ignore[misc]
    def process(self, element: int, more: str = "one") -> list[int]:
        return [element]


class Other(One):
    def process(self, element: int, more: str = "other") -> list[int]:
        return [element]


STATE = ReadModifyWriteStateSpec("seen", VarIntCoder())


class Stateful(beam.DoFn):  # type: ignore[misc]
    def process(
        self,
        element: int,
        seen: object = beam.DoFn.StateParam(STATE),
    ) -> list[int]:
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


def test_state_of_a_step_is_found_whatever_was_seen_before() -> None:
    signatures.remember()
    for _ in range(2):
        assert userstate.get_dofn_specs(One()) == (set(), set())
        assert not userstate.is_stateful_dofn(core.CallableWrapperDoFn(len))
        assert userstate.get_dofn_specs(Stateful()) == ({STATE}, set())
        # The class is the one above; the method, and its state, are this instance's.
        assert userstate.is_stateful_dofn(core.CallableWrapperDoFn(Stateful().process))


def test_a_class_without_state_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    def look(step: object) -> tuple[set[object], set[object]]:
        looked.append(type(step))
        return set(), set()

    monkeypatch.setattr(userstate, "get_dofn_specs", look)
    signatures.remember()
    once = userstate.get_dofn_specs
    signatures.remember()
    assert userstate.get_dofn_specs is once
    for _ in range(3):
        once(One())
        once(Other())
    assert looked == [One, Other]
    # No set that is given is given again.
    once(One())[0].add("changed")
    assert once(One()) == (set(), set())
