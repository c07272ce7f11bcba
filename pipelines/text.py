"""Text of unknown origin on its way to a terminal. Imports nothing: errors use it too."""

from __future__ import annotations


def printable(text: str) -> str:
    """One line in which control characters are shown, not obeyed."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """The same for a message of several lines."""
    return "\n".join(map(printable, text.split("\n")))
