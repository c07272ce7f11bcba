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
    "width": f"{_HERE}.width:Width",
    "t2s": f"{_HERE}.simplified:TraditionalToSimplified",
    "punctuation": f"{_HERE}.punctuation:Punctuation",
    "lowercase": f"{_HERE}.lowercase:Lowercase",
    "split_letters_digits": f"{_HERE}.letters_digits:SplitLettersDigits",
    "strip_urls": f"{_HERE}.addresses:StripUrls",
    "strip_emails": f"{_HERE}.addresses:StripEmails",
    "strip_phones": f"{_HERE}.addresses:StripPhones",
    "strip_emoji": f"{_HERE}.emoji:StripEmoji",
    "strip_symbols": f"{_HERE}.symbols:StripSymbols",
    "collapse_space": f"{_HERE}.blanks:CollapseSpace",
    "numbers": f"{_HERE}.numbers:Numbers",
}


def make_step(spec: str) -> Step:
    """The step that a spec (``scoring.text.specs``) names.

    Raises ValueError, naming those that exist, if there is none; and for wrong parameters.
    """
    step: Step = specs.make(spec, "step", BUILT_IN, GROUP)
    return step
