"""Beam's look at the methods of a step, without looking at one method twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import Signature
from types import MethodType
from typing import Any

from apache_beam.transforms import core

# Methods of the classes of steps, Beam's and ours: some 150.
_METHODS = 1000


def remember() -> None:
    """Let Beam keep the signatures of methods in this process; once is enough.

    Beam 2.77 asks ``inspect`` for every method of a step, eight times a step, 10,000 times a graph:
    a quarter of the time of a small run. The signature of a function never changes.
    """
    look: Callable[[Any], Signature] = core.get_signature
    if isinstance(look, _Remembering):
        return
    core.get_signature = _Remembering(look)


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
