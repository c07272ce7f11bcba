"""Whether all rooms come from one place: they are installed under bare names, which other packages
and folders use too. Nothing of the other rooms is imported here."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

ROOMS = ("pipelines", "transforms", "scoring", "schemas", "runners")


def shadowed() -> str | None:
    """What stands in the way of a room, in a few lines for the user; None if nothing does."""
    home = Path(__file__).resolve().parents[1]
    wrong = []
    for room in ROOMS:
        found = _place(room)
        if found != home / room:
            wrong.append(f"  {room}: {found or 'is not there'}, expected {home / room}")
    if not wrong:
        return None
    return "\n".join(
        [
            "other code stands in the way of a part of liangchi:",
            *wrong,
            "liangchi's parts have plain names, which other packages and folders use too. Install "
            "it in an\nenvironment of its own, empty PYTHONPATH, and call it from a folder that "
            "has none of these names.",
        ]
    )


def _place(room: str) -> Path | None:
    """The folder that ``import room`` would take, or has taken."""
    try:
        spec = importlib.util.find_spec(room)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.origin is None:  # a folder without __init__.py
        places = list(spec.submodule_search_locations or [])
        return Path(places[0]).resolve() if places else None
    path = Path(os.path.abspath(spec.origin)).resolve()
    return path.parent if path.name == "__init__.py" else path
