"""Tokens: a vocabulary and the texts as numbers of it, against lists of strings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from scoring import hashing
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.tokenizers import make_tokenizer
from scoring.text.tokens import Tokens

TOKENS = st.sampled_from(["a", "b", "ab", "量尺", " ", "a b", "\u3000", "b\u2028", "\x1c", "𠀀"])
LISTS = st.lists(st.lists(TOKENS, max_size=5), max_size=6)


def from_lists(lists: list[list[str]]) -> Tokens:
    flat = [token for tokens in lists for token in tokens]
    return Tokens.from_flat(flat, np.array([len(tokens) for tokens in lists], np.int64))


@given(LISTS)
def test_from_flat_and_to_lists_are_inverse(lists: list[list[str]]) -> None:
    tokens = from_lists(lists)
    assert tokens.to_lists() == lists
    words = tokens.vocabulary.to_pylist()
    assert sorted(words) == sorted({t for one in lists for t in one})


@given(LISTS.filter(bool), st.data())
def test_take_gives_the_texts_asked_for_in_that_order(
    lists: list[list[str]], data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    taken = from_lists(lists).take(np.array(chosen, np.int64))
    assert taken.to_lists() == [lists[i] for i in chosen]


@given(LISTS)
def test_without_blanks_cuts_every_token_as_str_split_does(lists: list[list[str]]) -> None:
    cut = from_lists(lists).without_blanks()
    assert cut.to_lists() == [[p for t in tokens for p in t.split()] for tokens in lists]
    words = cut.vocabulary.to_pylist()
    assert len(words) == len(set(words))
    assert not any(word == "" or any(c.isspace() for c in word) for word in words)


@given(LISTS, st.dictionaries(TOKENS, st.lists(TOKENS, max_size=3)))
def test_split_replaces_every_token_by_its_parts(
    lists: list[list[str]], parts: dict[str, list[str]]
) -> None:
    tokens = from_lists(lists)
    which = pa.array([word in parts for word in tokens.vocabulary.to_pylist()], pa.bool_())
    result = tokens.split(which, parts.__getitem__)
    expected = [[p for t in tokens for p in parts.get(t, [t])] for tokens in lists]
    assert result.to_lists() == expected
    words = result.vocabulary.to_pylist()
    assert len(words) == len(set(words))


def test_split_asks_once_for_a_distinct_token_and_for_no_other() -> None:
    asked: list[str] = []

    def parts_of(token: str) -> list[str]:
        asked.append(token)
        return [token, token]

    tokens = from_lists([["a", "b", "a"], ["a"]])
    result = tokens.split(pa.array([True, False]), parts_of)
    assert result.to_lists() == [["a", "a", "b", "a", "a"], ["a", "a"]]
    assert asked == ["a"]


def test_blanks_are_exactly_those_of_str_isspace() -> None:
    points = [chr(p) for p in range(0x110000) if not 0xD800 <= p < 0xE000]
    tokens = Tokens.from_flat([f"x{c}y" for c in points], np.ones(len(points), np.int64))
    cut = tokens.without_blanks().lengths == 2
    assert [c for c, two in zip(points, cut.tolist()) if two] == [c for c in points if c.isspace()]


@given(LISTS.filter(bool), st.data())
def test_compact_keeps_the_texts_and_drops_unused_tokens(
    lists: list[list[str]], data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=3))
    compact = from_lists(lists).take(np.array(chosen, np.int64)).compact()
    kept = [lists[i] for i in chosen]
    assert compact.to_lists() == kept
    words = compact.vocabulary.to_pylist()
    assert sorted(words) == sorted({token for tokens in kept for token in tokens})


@given(st.lists(st.sampled_from(["a b", "b a a", "", " ", "量 尺", "a b"]), max_size=8))
def test_a_track_numbers_a_vocabulary_that_is_sorted_by_hash(texts: list[str]) -> None:
    track = token_track(pa.array(texts, pa.string()), TextRecipe(make_tokenizer("none")))
    words = sorted(
        {token for text in texts for token in text.split()},
        key=lambda word: int(hashing.hash_strings(pa.array([word]))[0]),
    )
    expected = hashing.hash_strings(pa.array(words, pa.string()))
    assert track.vocabulary_hashes.tolist() == expected.tolist()
    assert track.lengths.tolist() == [len(text.split()) for text in texts]
    for number, text in enumerate(texts):
        ids = track.ids[track.offsets[number] : track.offsets[number + 1]]
        assert [words[i] for i in ids.tolist()] == text.split()


def test_ids_are_as_narrow_as_the_vocabulary_allows() -> None:
    for size, width in ((255, np.uint8), (256, np.uint8), (257, np.uint16)):
        text = " ".join(f"w{i}" for i in range(size))
        track = token_track(pa.array([text]), TextRecipe(make_tokenizer("none")))
        assert track.ids.dtype == width
        assert sorted(track.ids.tolist()) == list(range(size))


class Upper:
    """A step that writes large letters."""

    def signature(self) -> str:
        return "upper"

    def apply(self, texts: pa.Array) -> pa.Array:
        return pa.array([text.upper() for text in texts.to_pylist()], pa.string())


class Double:
    """A step that writes every text twice."""

    def signature(self) -> str:
        return "double"

    def apply(self, texts: pa.Array) -> pa.Array:
        return pa.array([f"{text} {text}!" for text in texts.to_pylist()], pa.string())


def test_steps_come_before_the_tokenizer_in_their_order_and_in_the_signature() -> None:
    texts = pa.array(["a b", ""])
    plain = TextRecipe(make_tokenizer("none"))
    assert plain.signature() == "raw/none"
    assert plain.tokenize(texts).to_lists() == [["a", "b"], []]
    stepped = TextRecipe(make_tokenizer("none"), (Double(), Upper()))
    assert stepped.signature() == "double+upper/none"
    assert stepped.tokenize(texts).to_lists() == [["A", "B", "A", "B!"], ["!"]]
