"""Beam's look at the methods of a step, without looking at one method twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import Signature
from types import MethodType
from typing import Any
from weakref import WeakSet

from apache_beam.transforms import core, userstate

# Methods of the classes of steps, Beam's and ours: some 150.
_METHODS = 1000

_Specs = tuple[set[Any], set[Any]]


def remember() -> None:
    """Let Beam keep what it has seen of methods in this process; once is enough.

    Beam 2.77 asks ``inspect`` for every method of a step, eight times a step, 10,000 times a graph:
    a quarter of the time of a small run. The signature of a function never changes. Beam asks to
    see whether the step keeps state: of a class that does not, once is enough too, which saves
    another sixth.
    """
    look: Callable[[Any], Signature] = core.get_signature
    if not isinstance(look, _Remembering):
        core.get_signature = _Remembering(look)
    specs: Callable[[Any], _Specs] = userstate.get_dofn_specs
    if not isinstance(specs, _Stateless):
        userstate.get_dofn_specs = _Stateless(specs)


class _Remembering:
    def __init__(self, look: Callable[[Any], Signature]) -> None:
        self._look = look
        self._of_method = lru_cache(_METHODS)(self._look_at_method)

    def __call__(self, function: Any) -> Signature:
        if type(function) is MethodType:
            return self._of_method(function.__func__)
        return self._look(function)

    def _look_at_method(self, function: Callable[..., Any]) -> Signature:
        # Of a method the first argument is left out, whatever it is bound to.
        return self._look(MethodType(function, object()))


class _Stateless:
    """Beam's look for the state and timers of a step, without looking at a class again that has
    none."""

    def __init__(self, look: Callable[[Any], _Specs]) -> None:
        self._look = look
        self._without: WeakSet[type] = WeakSet()

    def __call__(self, step: Any) -> _Specs:
        # A method that the instance alone has, as of a step made of a method, may ask for state.
        if any(type(value) is MethodType for value in vars(step).values()):
            return self._look(step)
        if type(step) in self._without:
            return set(), set()
        found = self._look(step)
        if not any(found):
            self._without.add(type(step))
        return found
