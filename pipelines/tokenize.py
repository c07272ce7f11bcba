"""``liangchi tokenize``: what a recipe does to a text, step by step, and why two texts do not
match."""

from __future__ import annotations

import argparse
import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from pipelines import options, recipes
from pipelines.text import printable

if TYPE_CHECKING:
    from scoring.text.trace import Piece, Shared, Trace

_BETWEEN = " / "
_MARKS = {"same": ("", ""), "gone": ("[-", "-]"), "new": ("{+", "+}")}
_LONGEST_SPELLED = 4


def parser() -> argparse.ArgumentParser:
    """The parser of ``liangchi tokenize``."""
    made = options.Parser(
        prog="liangchi tokenize",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Show what a recipe does to texts: every step that changes something, the "
        "tokens,\nand what the steps after cutting change. [-x-] is taken away, {+y+} is put in.",
        epilog="Texts stand before the flags: liangchi tokenize TEXT --steps nfkc lowercase",
    )
    made.add_argument("text", nargs="*", metavar="TEXT", help="none: the lines of stdin")
    made.add_argument("--against", metavar="TEXT", help="show this too, and the n-grams shared")
    recipes.add_recipe(made)
    made.add_argument("--json", action="store_true", help="print one JSON object a text")
    return made


def tokenize(arguments: Sequence[str], stdin: TextIO) -> Iterator[str]:
    """What is printed, text by text. Raises UserError."""
    given = parser().parse_args(list(arguments))
    recipe = recipes.recipe(given)
    # Late: the parser must be quick.
    from scoring.text.trace import shared, trace

    other = None if given.against is None else trace(given.against, recipe)
    if not given.json:
        yield f"recipe  {printable(recipe.signature())}\n\n"
    for text in given.text or (line.rstrip("\r\n") for line in stdin):
        one = trace(text, recipe)
        grams = [] if other is None else shared(one.final, other.final)
        if given.json:
            yield _as_json(one, other, grams, recipe.signature())
            continue
        lines = [*_lines(one, "text"), ""]
        if other is not None:
            lines += [*_lines(other, "against"), "", *_shared_lines(grams), ""]
        yield "\n".join(lines) + "\n"


def _lines(one: Trace, head: str) -> Iterator[str]:
    from scoring.text.trace import changes

    rows = [(head, printable(one.text))]
    before: Sequence[str] = one.text
    idle = []
    for name, text in one.steps:
        if text == before:
            idle.append(name)
        else:
            rows.append((name, marked(changes(before, text))))
            rows.append(("", printable(text)))
        before = text
    rows.append(("tokens", f"{len(one.tokens)}: {printable(_BETWEEN.join(one.tokens))}"))
    before = one.tokens
    for name, tokens in one.after:
        if tokens == before:
            idle.append(name)
        else:
            rows.append((name, marked(changes(before, tokens, _BETWEEN), _BETWEEN)))
            rows.append(("", f"{len(tokens)}: {printable(_BETWEEN.join(tokens))}"))
        before = tokens
    if idle:
        rows.append(("no change", ", ".join(map(printable, idle))))
    width = max(len(printable(name)) for name, _ in rows)
    for name, text in rows:
        yield f"{printable(name):{width}}  {text}".rstrip()


def marked(pieces: Iterable[Piece], between: str = "") -> str:
    """The pieces with marks around what is gone and what is new. Letters with marks on them, which
    look alike composed or not, are spelled out by their code points."""
    return between.join(
        _MARKS[kind][0] + printable(text) + _spelled(kind, text) + _MARKS[kind][1]
        for kind, text in pieces
    )


def _spelled(kind: str, text: str) -> str:
    if kind == "same" or len(text) > _LONGEST_SPELLED or not any(map(_combines, text)):
        return ""
    return f" ({' '.join(f'U+{ord(c):04X}' for c in text)})"


def _combines(character: str) -> bool:
    """Whether it is a mark on a letter, or a letter with one."""
    decomposed = unicodedata.decomposition(character)
    return bool(unicodedata.combining(character) or (decomposed and decomposed[0] != "<"))


def _shared_lines(grams: Sequence[Shared]) -> Iterator[str]:
    for part in grams:
        both, one, other = (sum(n for _, n in p) for p in (part.both, part.one, part.other))
        only = f"{one:,} only in text, {other:,} only in against"
        yield f"{part.order}-grams: {both:,} shared, {only}"
        for name, counted in (
            ("shared", part.both),
            ("text", part.one),
            ("against", part.other),
        ):
            if counted:
                told = [printable(g) + (f" x{n}" if n > 1 else "") for g, n in counted]
                yield f"  {name:7}  {' | '.join(told)}"


def _as_json(one: Trace, other: Trace | None, grams: Sequence[Shared], signature: str) -> str:
    content: dict[str, Any] = {"recipe": signature, **_content(one)}
    if other is not None:
        content["against"] = _content(other)
        content["ngrams"] = [
            {
                "order": g.order,
                "shared": dict(g.both),
                "text": dict(g.one),
                "against": dict(g.other),
            }
            for g in grams
        ]
    text = json.dumps(content, ensure_ascii=False)
    # As JSON writes characters that a terminal would obey: the same data.
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text) + "\n"


def _content(one: Trace) -> dict[str, Any]:
    return {
        "text": one.text,
        "steps": [{"step": name, "text": text} for name, text in one.steps],
        "tokens": one.tokens,
        "after": [{"step": name, "tokens": tokens} for name, tokens in one.after],
    }
