"""Stop words and synonyms: what they do to tokens, and what is said about wrong files."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.text.presets import make_recipe
from scoring.text.token_steps import BUILT_IN, make_token_step
from scoring.text.token_steps.stop_words import StopWords
from scoring.text.token_steps.synonyms import Synonyms
from scoring.text.token_steps.word_files import MOST_BYTES
from scoring.text.tokenizers import make_tokenizer

WORDS = ["甲", "乙", "丙", "丁", "a", "b"]


def write(tmp_path: Path, text: str | bytes, name: str = "words") -> str:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def cut(texts: list[str], *after: str, tokenizer: str = "none") -> list[list[str]]:
    recipe = make_recipe(tokenizer, [], after)
    return recipe.tokenize(pa.array(texts, pa.string())).to_lists()


def test_our_stop_words_are_particles(tmp_path: Path) -> None:
    assert cut(["好 的 呀 ， 走 吧", "啊", "吗"], "stopwords") == [
        ["好", "的", "，", "走"],
        [],
        ["吗"],
    ]


def test_stop_words_of_a_file(tmp_path: Path) -> None:
    file = write(tmp_path, "\ufeff# ours\n甲\r\n\n  乙 \n#丙\n")
    assert cut(["甲 乙 丙 #丙 丁"], f"stopwords:file={file}") == [["丙", "丁"]]


def test_synonyms_of_both_forms_of_file(tmp_path: Path) -> None:
    as_json = write(tmp_path, '{"甲": ["乙", "丙", "甲"], "a": ["b"], "丁": []}', "s.json")
    as_lines = write(
        tmp_path, "Aa01A01= 甲 乙 丙\nAa01A02# 丁 甲\nAa01A03@ 丁\nBb01= a b\n", "cilin.txt"
    )
    for file in (as_json, as_lines):
        assert cut(["乙 甲 丙 丁 b a"], f"synonyms:file={file}") == [
            ["甲", "甲", "甲", "丁", "a", "a"]
        ]


def test_the_order_of_steps_counts(tmp_path: Path) -> None:
    words = f"stopwords:file={write(tmp_path, '甲', 'w')}"
    same = f"synonyms:file={write(tmp_path, json.dumps({'甲': ['乙']}), 's')}"
    assert cut(["甲 乙 丙"], words, same) == [["甲", "丙"]]
    assert cut(["甲 乙 丙"], same, words) == [["丙"]]


@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=6), max_size=5),
    stops=st.sets(st.sampled_from(WORDS)),
    variants=st.sets(st.sampled_from(WORDS[1:])),
)
def test_token_steps_do_what_a_loop_does(
    texts: list[list[str]], stops: set[str], variants: set[str]
) -> None:
    tokens = make_tokenizer("none").tokenize(pa.array([" ".join(t) for t in texts], pa.string()))
    assert StopWords(tuple(stops), "").apply(tokens).to_lists() == [
        [word for word in text if word not in stops] for text in texts
    ]
    same = Synonyms(tuple(variants), ("甲",) * len(variants), "", "error")
    once = same.apply(tokens)
    assert once.to_lists() == [["甲" if w in variants else w for w in text] for text in texts]
    assert same.apply(once).to_lists() == once.to_lists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"甲": ["乙"], "丙": ["乙"]}', r"key '丙': '乙' is also in the group of .*key '甲'"),
        ('{"甲": ["乙"], "甲": ["丙"]}', r"key '甲': '甲' begins a group here and at .*key '甲'"),
        ('{"甲": ["乙"], "乙": ["丙"]}', r"key '甲': '乙' becomes '甲' here .* key '乙': a chain"),
        ('{"甲": ["乙"], "乙": ["甲"]}', r"key '甲': '乙' becomes '甲' here .* key '乙': a cycle"),
        ("A= 甲 乙\nB= 丙 乙\n", r"line 2: '乙' is also in the group of .*line 1"),
        ("A= 甲 乙\n\nB= 乙 丙\n", r"line 1: '乙' becomes '甲' here .*line 3: a chain"),
        ("A= 甲 乙\nB= 甲 丙\n", r"line 2: '甲' begins a group here and at .*line 1"),
        ("A= 甲 乙\n甲 乙\n", r"line 2: expected a Cilin line"),
        ('{"甲": "乙"}', r"key '甲': expected a list of words, found '乙'"),
        ('{"甲": ["乙 丙"]}', r"key '甲': '乙 丙' cannot be a token"),
        ('{"甲": [""]}', r"key '甲': '' cannot be a token"),
        ('{"甲": [1]}', r"key '甲': 1 cannot be a token"),
        ('{\n"甲": [乙]}', r"line 2 is not JSON"),
        ("A= 甲\n".encode() + "B= 乙".encode("gbk"), r"line 2 is not UTF-8.*iconv"),
    ],
)
def test_wrong_synonyms_are_refused_with_their_place(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make_token_step(f"synonyms:file={write(tmp_path, text)}")


def test_ambiguous_words_can_be_left_out(tmp_path: Path) -> None:
    file = write(tmp_path, "A= 甲 乙 丙\nB= 乙 丁 a\nC= b\n")
    step = make_token_step(f"synonyms:file={file},ambiguous=drop")
    assert cut(["丙 乙 a 丁"], f"synonyms:file={file},ambiguous=drop") == [["甲", "乙", "丁", "丁"]]
    assert step.signature().endswith(",ambiguous=drop)")
    with pytest.raises(ValueError, match="expected error or drop"):
        make_token_step(f"synonyms:file={file},ambiguous=yes")


def test_wrong_files_of_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"line 2: '乙 丙' cannot be a token"):
        make_token_step(f"stopwords:file={write(tmp_path, '甲' + chr(10) + '乙 丙')}")
    with pytest.raises(ValueError, match=r"nowhere: cannot be read: No such file"):
        make_token_step(f"stopwords:file={tmp_path}/nowhere")
    large = write(tmp_path, b"a" * (MOST_BYTES + 1))
    with pytest.raises(ValueError, match=r"16,777,217 bytes; .* may have 16,777,216 at most"):
        make_token_step(f"stopwords:file={large}")


def test_the_signature_follows_what_the_file_holds_not_its_name(tmp_path: Path) -> None:
    one = make_token_step(f"stopwords:file={write(tmp_path, '甲', 'one')}").signature()
    two = make_token_step(f"stopwords:file={write(tmp_path, '甲', 'two')}").signature()
    other = make_token_step(f"stopwords:file={write(tmp_path, '乙', 'two')}").signature()
    assert one == two != other
    assert make_recipe("char", [], [f"stopwords:file={tmp_path}/one"]).signature() == (
        f"raw/char/{one}"
    )


def test_what_files_hold_travels_with_the_recipe(tmp_path: Path) -> None:
    file = write(tmp_path, '{"甲": ["乙"]}')
    recipe = make_recipe("none", [], ["stopwords", f"synonyms:file={file}"])
    sent = pickle.dumps(recipe)
    Path(file).unlink()
    again = pickle.loads(sent)
    assert again.signature() == recipe.signature()
    assert again.tokenize(pa.array(["乙 呀"])).to_lists() == [["甲"]]


def test_words_that_never_are_one_token_are_named(tmp_path: Path) -> None:
    file = write(tmp_path, '{"苹果": ["Apple", "苹果手机"]}')
    recipe = make_recipe("jieba", ["lowercase"], [f"synonyms:file={file}"])
    (name,) = {step for step, _, _ in recipe.unmatched()}
    assert name.startswith("synonyms(file=")
    assert [(word, made) for _, word, made in recipe.unmatched()] == [
        ("Apple", "apple"),
        ("苹果手机", "苹果 手机"),
    ]


@pytest.mark.parametrize("name", BUILT_IN)
def test_our_own_words_are_words_of_jieba(name: str) -> None:
    assert make_recipe("jieba", [], [name]).unmatched() == []
