"""Recipes by name, and recipes from the names of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.text.recipe import TextRecipe
from scoring.text.steps import make_step
from scoring.text.token_steps import make_token_step
from scoring.text.tokenizers import make_tokenizer
from scoring.text.tokenizers.user_words import UserWords


@dataclass(frozen=True)
class Preset:
    """The parts of a recipe, as specs. What a user names beside it replaces a part."""

    tokenizer: str
    steps: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def recipe(self) -> TextRecipe:
        return make_recipe(self.tokenizer, self.steps, self.after)


PRESETS = {
    # Nothing: texts as they are.
    "raw": Preset("jieba"),
    # sacrebleu's tokenize="zh", quirks and all.
    "sacrebleu": Preset("zh"),
    # The same without the quirks: not sacrebleu's scores.
    "sacrebleu-fixed": Preset("zh-fixed"),
    # One form of each thing that can be typed in several ways; every word and mark still counts.
    "chat-zh": Preset(
        "jieba",
        (
            "strip_urls",  # one thing, but a dozen tokens. Before ，is a comma, which URLs may hold
            "strip_emoji",  # before nfkc makes 祝 of ㊗️
            "nfkc",  # the others then know one form of a letter, digit or sign
            "strip_emails",
            "numbers",  # before punctuation makes 3.5 of 3。5, and while A3 is whole: a code
            "punctuation",
            "split_letters_digits",
            "lowercase",
            "collapse_space",  # last: the others leave blanks
        ),
    ),
}


def preset(name: str) -> Preset:
    """The preset of that name. Raises ValueError, naming those that exist, if there is none."""
    if name not in PRESETS:
        raise ValueError(f"no preset is called {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]


def make_recipe(
    tokenizer_spec: str,
    steps: Sequence[str] = (),
    after: Sequence[str] = (),
    words: UserWords | None = None,
) -> TextRecipe:
    """A recipe from specs. Its files are read now and travel inside it, pickled, to the workers.

    steps: before the text is cut; after: on its tokens. words: a user's, for the tokenizer.
    Raises ValueError for what does not exist or cannot be read.
    """
    return TextRecipe(
        make_tokenizer(tokenizer_spec, words),
        tuple(make_step(spec) for spec in steps),
        tuple(make_token_step(spec) for spec in after),
    )
