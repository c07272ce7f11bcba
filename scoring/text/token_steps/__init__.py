"""The steps that change tokens after a text is cut, by name.

Users add theirs under the entry point group ``liangchi.token_steps``: a callable that takes its
parameters as strings and returns a ``TokenStep``.
"""

from __future__ import annotations

from scoring.text import specs
from scoring.text.recipe import TokenStep

GROUP = "liangchi.token_steps"

_HERE = "scoring.text.token_steps"

BUILT_IN = {
    "stopwords": f"{_HERE}.stop_words:stop_words",
    "synonyms": f"{_HERE}.synonyms:synonyms",
}


def make_token_step(spec: str) -> TokenStep:
    """The token step that a spec (``scoring.text.specs``) names; its files are read now.

    Raises ValueError, naming those that exist, if there is none; and for wrong parameters or files.
    """
    step: TokenStep = specs.make(spec, "token step", BUILT_IN, GROUP)
    return step
