"""How metrics on tracks and combinations of them are written: ``bleu[char]``,
``0.3 * bleu[char] + 0.7 * bleu[word]``. Read by hand: nothing is ever evaluated."""

from __future__ import annotations

import re

MAIN = "main"
"""The track of a metric that names none: the one that --tokenizer is for."""

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_METRIC = r"[^\W\d]\w*(?:\[[^\W\d]\w*\])?"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})|(?P<metric>{_METRIC})|(?P<sign>[-+*]))")
_ON_TRACK = re.compile(r"([^\[\]]+)(?:\[([^\[\]]*)\])?")

_EXPECTED = "weights and metrics such as 0.3 * bleu[char] + 0.7 * bleu[word]"


def is_name(text: str) -> bool:
    """Whether a track or a combination can be called so."""
    return text.isidentifier() and len(text) <= 100


def metric_on_track(text: str) -> tuple[str, str]:
    """``bleu[char]`` -> (bleu, char); ``bleu`` -> (bleu, main). Raises ValueError."""
    found = _ON_TRACK.fullmatch(text)
    if found is None or found[2] == "":
        raise ValueError("a metric, or METRIC[TRACK] such as bleu[char]")
    return found[1], found[2] or MAIN


def terms(text: str) -> tuple[tuple[float, str], ...]:
    """The (weight, metric) of a combination, in order. Raises ValueError.

    A term is ``weight * metric`` or ``metric``; terms are added or subtracted.
    """
    tokens = _tokens(text)
    found: list[tuple[float, str]] = []
    while tokens:
        sign = 1.0
        if tokens[0] in "+-" and (found or tokens[0] == "-"):
            sign = -1.0 if tokens.pop(0) == "-" else 1.0
        elif found:
            raise ValueError(f"{_EXPECTED}; a + or - before {tokens[0]!r}")
        weight = 1.0
        if tokens and re.fullmatch(_NUMBER, tokens[0]):
            weight = float(tokens.pop(0))
            if tokens[:1] != ["*"]:
                raise ValueError(f"{_EXPECTED}; a * and a metric after {weight:g}")
            tokens.pop(0)
        if not tokens or not re.fullmatch(_METRIC, tokens[0]):
            raise ValueError(f"{_EXPECTED}; a metric {_place(tokens)}")
        found.append((sign * weight, tokens.pop(0)))
    if not found:
        raise ValueError(_EXPECTED)
    return tuple(found)


def _place(tokens: list[str]) -> str:
    return f"in place of {tokens[0]!r}" if tokens else "at its end"


def _tokens(text: str) -> list[str]:
    tokens = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"{_EXPECTED}; nothing like {text[at:].strip()[:20]!r}")
        tokens.append(found[found.lastgroup or 0])
        at = found.end()
    return tokens
