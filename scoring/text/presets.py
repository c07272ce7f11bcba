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
