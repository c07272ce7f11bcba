"""The flags that say how a text is cut, for commands that look at texts without a run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from schemas.errors import ConfigurationError

if TYPE_CHECKING:
    from scoring.text.recipe import TextRecipe


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """--preset, --tokenizer, --steps and --after."""
    group = parser.add_argument_group("how a text is cut")
    group.add_argument("--preset", default="raw", metavar="NAME", help="a recipe (default raw)")
    group.add_argument("--tokenizer", metavar="SPEC", help="instead of the preset's")
    group.add_argument(
        "--steps", nargs="*", metavar="SPEC", help="before cutting, instead of the preset's"
    )
    group.add_argument(
        "--after", nargs="*", metavar="SPEC", help="on the tokens, instead of the preset's"
    )


def recipe(given: argparse.Namespace, tokenizer: str | None = None) -> TextRecipe:
    """The recipe of these flags. tokenizer: instead of theirs. Raises ConfigurationError."""
    from scoring.text.presets import make_recipe, preset

    try:
        parts = preset(given.preset)
    except ValueError as error:
        raise ConfigurationError("preset", given.preset, str(error)) from error
    spec = tokenizer or given.tokenizer or parts.tokenizer
    steps = parts.steps if given.steps is None else given.steps
    after = parts.after if given.after is None else given.after
    try:
        return make_recipe(spec, steps, after)
    except (ValueError, OSError, ImportError) as error:
        named = " ".join([spec, *steps, *after])
        raise ConfigurationError("recipe", named, f"parts that exist: {error}") from error
