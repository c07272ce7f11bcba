"""Tokenizers by name: a user's own, found by its entry point."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint

import pyarrow as pa
import pytest

from scoring.text import specs
from scoring.text.recipe import TextRecipe
from scoring.text.steps import make_step
from scoring.text.tokenizers import GROUP, make_tokenizer
from scoring.text.tokenizers.user_words import UserWords
from scoring.text.tokens import Tokenizer, Tokens, overlaps

NONE = UserWords.of(())


@dataclass(frozen=True)
class Pieces:
    """Pieces of a size; with words, only those."""

    size: str = "2"
    words: UserWords = NONE

    name = "pieces"

    def signature(self) -> str:
        return f"pieces:size={self.size}" + (
            f",words={self.words.content}" if self.words.entries else ""
        )

    def with_words(self, words: UserWords) -> Tokenizer:
        return Pieces(self.size, words)

    def tokenize(self, texts: pa.Array) -> Tokens:
        size = int(self.size)
        lists = [[t[i : i + size] for i in range(0, len(t), size)] for t in texts.to_pylist()]
        flat = pa.array(lists, pa.list_(pa.string()))
        return Tokens.from_flat(flat.flatten().to_pylist(), flat.value_lengths().to_numpy())


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("pieces", f"{__name__}:Pieces", GROUP)
    found = {GROUP: [point]}
    monkeypatch.setattr(specs, "entry_points", lambda group: found.get(group, []))
    monkeypatch.setattr(EntryPoint, "load", lambda self: Pieces)


@pytest.mark.usefixtures("_installed")
def test_a_users_tokenizer_is_found_by_its_entry_point() -> None:
    recipe = TextRecipe(make_tokenizer("pieces:size=3"))
    assert recipe.tokenize(pa.array(["量尺量尺", ""])).to_lists() == [["量尺量", "尺"], []]
    assert recipe.signature() == "raw/pieces:size=3"
    assert not overlaps(recipe.tokenizer)
    with pytest.raises(ValueError, match="no parameter 'n'; its parameters: size, words"):
        make_tokenizer("pieces:n=3")
    with pytest.raises(ValueError, match=r"no tokenizer is called 'piece'; there are .*, pieces"):
        make_tokenizer("piece")


@pytest.mark.usefixtures("_installed")
def test_it_may_take_a_users_words() -> None:
    words = UserWords.of([("量尺", None)])
    assert make_tokenizer("pieces", words).signature() == f"pieces:size=2,words={words.content}"


def test_search_mode_overlaps() -> None:
    assert overlaps(make_tokenizer("jieba:mode=search"))
    assert not overlaps(make_tokenizer("jieba"))


def test_a_users_word_that_a_step_changes_is_named() -> None:
    words = UserWords.of([("WeChat", 3), ("微信", None), ("ＡＰＰ", None)])
    tokenizer = make_tokenizer("jieba", words)
    assert TextRecipe(tokenizer).unmatched() == []
    recipe = TextRecipe(tokenizer, (make_step("nfkc"), make_step("lowercase")))
    name = tokenizer.signature()
    assert recipe.unmatched() == [(name, "WeChat", "wechat"), (name, "ＡＰＰ", "app")]
