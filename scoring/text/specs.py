"""How a step, with its parameters, is named on the command line and in a file.

``name`` or ``name:parameter=value,parameter=value``, such as ``stopwords:file=words.txt``: nothing
in it needs quotes in a shell. A value ends before a comma that begins another ``parameter=``, so
it may hold commas, colons and equals signs itself.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

_NEXT = re.compile(r",(?=[a-z_]+=)")
_PARAMETER = re.compile(r"([a-z_]+)=(.*)", re.DOTALL)


def parse(spec: str) -> tuple[str, dict[str, str]]:
    """The name and the parameters. Raises ValueError if it is not of the form above."""
    name, colon, rest = spec.partition(":")
    parameters: dict[str, str] = {}
    for part in _NEXT.split(rest) if colon else []:
        found = _PARAMETER.fullmatch(part)
        if not found:
            raise ValueError(f"{spec!r}: expected name:parameter=value, found {part!r}")
        if found[1] in parameters:
            raise ValueError(f"{spec!r}: the parameter {found[1]!r} is given twice")
        parameters[found[1]] = found[2]
    return name.strip(), parameters


def make(spec: str, kind: str, built_in: Mapping[str, str], group: str) -> Any:
    """What a spec names: one of ours, or of a user's entry points.

    built_in: name -> "module:callable", which takes the parameters as strings. kind: for messages.
    Raises ValueError, naming those that exist, if there is none; and for wrong parameters.
    """
    name, parameters = parse(spec)
    if name in built_in:
        module, _, of = built_in[name].partition(":")
        maker = getattr(import_module(module), of)
    else:
        plugins = {point.name: point for point in entry_points(group=group)}
        if name not in plugins:
            known = ", ".join([*built_in, *sorted(plugins)])
            raise ValueError(f"no {kind} is called {name!r}; there are {known}")
        maker = plugins[name].load()
    accepted = inspect.signature(maker).parameters
    unknown = sorted(set(parameters) - set(accepted))
    missing = [n for n, p in accepted.items() if p.default is p.empty and n not in parameters]
    if unknown or missing:
        wrong = f"no parameter {unknown[0]!r}" if unknown else f"no value for {missing[0]!r}"
        raise ValueError(f"{spec!r}: {wrong}; its parameters: {', '.join(accepted) or 'none'}")
    return maker(**parameters)
