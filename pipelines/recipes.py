"""How texts are cut: recipes from flags and from configurations."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from schemas import expressions
from schemas.configuration import Evaluation, Track
from schemas.errors import ConfigurationError

if TYPE_CHECKING:
    from scoring.text.recipe import TextRecipe
    from scoring.text.tokenizers.user_words import LineWarning, UserWords


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
    group.add_argument(
        "--user_dictionaries",
        nargs="+",
        default=(),
        metavar="FILE",
        help="words for the tokenizer, lines such as: 微信支付 100 n",
    )


def recipe(given: argparse.Namespace, tokenizer: str | None = None) -> TextRecipe:
    """The recipe of these flags. tokenizer: instead of theirs. Raises ConfigurationError."""
    flags = Track(
        expressions.MAIN,
        given.preset,
        tokenizer or given.tokenizer,
        None if given.steps is None else tuple(given.steps),
        None if given.after is None else tuple(given.after),
        tuple(given.user_dictionaries),
    )
    return made(_parts(flags, None, ""))


@dataclass(frozen=True)
class Parts:
    """The parts of a recipe, as they are named."""

    tokenizer: str
    steps: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    user_dictionaries: tuple[str, ...] = ()


def of_tracks(config: Evaluation) -> dict[str, Parts]:
    """The recipe of every track, the main one first. Raises ConfigurationError."""
    main = Track(
        expressions.MAIN,
        config.preset,
        config.tokenizer,
        config.steps,
        config.after,
        config.user_dictionaries,
    )
    found = {main.name: _parts(main, None, "")}
    for track in config.tracks:
        found[track.name] = _parts(track, found[main.name], f"tracks.{track.name}.")
    return found


def _parts(track: Track, main: Parts | None, key: str) -> Parts:
    """main: what the track says nothing of, beside its preset. key: before those of messages."""
    from scoring.text.presets import preset

    if track.preset is not None:
        try:
            named = preset(track.preset)
        except ValueError as error:
            raise ConfigurationError(f"{key}preset", track.preset, str(error)) from error
        base = Parts(named.tokenizer, named.steps, named.after)
    else:
        assert main is not None
        base = main
        if track.tokenizer not in (None, main.tokenizer):
            # Made for the words of another tokenizer.
            base = replace(main, after=(), user_dictionaries=())
    said = {
        name: getattr(track, name)
        for name in ("tokenizer", "steps", "after", "user_dictionaries")
        if getattr(track, name) is not None
    }
    return replace(base, **said)


def made(parts: Parts, key: str = "") -> TextRecipe:
    """The recipe of these parts. key: before those of messages. Raises ConfigurationError."""
    from scoring.text.recipe import TextRecipe
    from scoring.text.steps import make_step
    from scoring.text.token_steps import make_token_step
    from scoring.text.tokenizers import make_tokenizer

    words = _read(parts.user_dictionaries, key)[0]
    return TextRecipe(
        _made(f"{key}tokenizer", parts.tokenizer, lambda spec: make_tokenizer(spec, words)),
        tuple(_made(f"{key}steps", spec, make_step) for spec in parts.steps),
        tuple(_made(f"{key}after", spec, make_token_step) for spec in parts.after),
    )


def warnings(recipes: Sequence[tuple[Parts, TextRecipe]]) -> tuple[str, ...]:
    """What the lists of recipes do other than their authors may think, the first few of each."""
    found: list[str] = []
    for parts, recipe in recipes:
        about = [str(warning) for warning in _read(parts.user_dictionaries, "")[1]]
        about += [
            f"{step}: {word!r} is hardly ever found: this recipe makes {tokens!r} of it"
            for step, word, tokens in recipe.unmatched()
        ]
        found += about[:_SHOWN]
        if len(about) > _SHOWN:
            found.append(f"... and {len(about) - _SHOWN:,} more; liangchi tokenize shows each word")
    return tuple(dict.fromkeys(found))


_SHOWN = 5

_Made = TypeVar("_Made")


def _made(key: str, spec: str, make: Callable[[str], _Made]) -> _Made:
    try:
        return make(spec)
    except (ValueError, OSError, ImportError) as error:
        raise ConfigurationError(key, spec, f"one that can be used: {error}") from error


def _read(paths: Sequence[str], key: str) -> tuple[UserWords, tuple[LineWarning, ...]]:
    from scoring.text.tokenizers.user_words import read_user_words
    from transforms import files

    try:
        return read_user_words([(p, files.read_bytes(files.absolute(p))) for p in paths])
    except (ValueError, OSError) as error:
        expected = f"files of lines such as 微信支付 100 n: {error}"
        raise ConfigurationError(f"{key}user_dictionaries", list(paths), expected) from error
