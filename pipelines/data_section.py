"""What the texts of a run are like, as the report shows it: a line a source, and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.text import printable

_SHARES = ("cjk", "latin", "digits", "emoji")
_ENOUGH = 10
_MOSTLY = 0.9

Row = Mapping[str, Any]


def table(rows: Sequence[Row]) -> list[list[str]]:
    """The cells of a table, its head first; nothing without texts. rows: of the table ``data``."""
    sources = list(dict.fromkeys((row["table"], row["system"]) for row in rows))
    main = next((row["track"] for row in rows if row["track"] is not None), None)
    cells = [
        [
            "texts of",
            "looked at",
            "script",
            *_SHARES,
            "characters (p5 p50 p95)",
            "tokens",
            "repeated",
            "unknown words",
        ]
    ]
    for source in sorted(sources, key=lambda s: s[0] != "references"):
        of = {
            (row["track"], row["measure"]): row
            for row in rows
            if (row["table"], row["system"]) == source
        }
        texts = of[None, "texts"]
        if not texts["count"]:
            continue
        cells.append(
            [
                "references" if source[1] is None else printable(source[1]),
                f"{texts['count']:,} of {texts['of']:,}",
                _script(of[None, "traditional"]),
                *(_percent(of.get((None, name))) for name in _SHARES),
                " ".join(_whole(of[None, f"characters_p{p}"]) for p in (5, 50, 95)),
                " ".join(_whole(of[main, f"tokens_p{p}"]) for p in (5, 50, 95)),
                _percent(of[None, "repeated_texts"]),
                _percent(of.get((main, "unknown_words"))),
            ]
        )
    if all(line[-1] == "-" for line in cells[1:]):
        cells = [line[:-1] for line in cells]
    return cells if len(cells) > 1 else []


def _script(row: Row) -> str:
    if row["of"] < _ENOUGH:
        return "-"
    if row["value"] >= _MOSTLY:
        return "traditional"
    return "simplified" if row["value"] <= 1 - _MOSTLY else "mixed"


def _percent(row: Row | None) -> str:
    if row is None or row["value"] is None:
        return "-"
    percent = 100 * row["value"]
    return f"{percent:.0f}%" if percent >= 10 or percent == 0 else f"{percent:.1f}%"


def _whole(row: Row) -> str:
    return "-" if row["value"] is None else f"{row['value']:,.0f}"
