"""Recipes from names: what is equal after which recipe, and what their signatures say."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from scoring.text.presets import PRESETS, make_recipe, preset


def test_the_default_recipe_is_raw() -> None:
    assert preset("raw").recipe().signature() == "raw/jieba-0.42"


def test_the_signature_names_the_steps_in_their_order() -> None:
    assert make_recipe("char", ["nfc", "nfkc"]).signature() == "nfc+nfkc/char"


@pytest.mark.parametrize("name", PRESETS)
def test_a_recipe_travels_to_workers(name: str) -> None:
    recipe = preset(name).recipe()
    texts = pa.array(["你好，世界！", "", "AirPods3 ①"])
    again = pickle.loads(pickle.dumps(recipe))
    assert again.signature() == recipe.signature()
    assert again.tokenize(texts).to_lists() == recipe.tokenize(texts).to_lists()


def test_an_unknown_preset_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(ValueError, match="'chat'; there are raw, sacrebleu"):
        preset("chat")
