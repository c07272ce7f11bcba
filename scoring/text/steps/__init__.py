"""The steps that change a text before it is cut, by name.

Each is a pure function of every text alone, usable without the others. Users add theirs under the
entry point group ``liangchi.steps``: a callable that takes its parameters as strings and returns a
``Step``.
"""

from __future__ import annotations

from scoring.text import specs
from scoring.text.recipe import Step

GROUP = "liangchi.steps"

_HERE = "scoring.text.steps"

# Imported when asked for: some load a table.
BUILT_IN = {
    "nfc": f"{_HERE}.unicode_forms:Nfc",
    "nfkc": f"{_HERE}.unicode_forms:Nfkc",
}


def make_step(spec: str) -> Step:
    """The step that a spec (``scoring.text.specs``) names.

    Raises ValueError, naming those that exist, if there is none; and for wrong parameters.
    """
    step: Step = specs.make(spec, "step", BUILT_IN, GROUP)
    return step
