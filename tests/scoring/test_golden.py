"""BLEU and CIDEr-D equal sacrebleu's and pycocoevalcap's own values on stored texts.

The values are made by golden/make_golden.py; the files name tools and versions.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import builders
import pyarrow as pa
import pytest

from scoring import Bleu, Cider
from scoring.library import with_own_frequencies
from scoring.text.recipe import TextRecipe
from scoring.text.tokenizers import make_tokenizer

GOLDEN = Path(__file__).parent / "golden"


@cache
def stored(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    return content


SACREBLEU = stored("sacrebleu.json")
COCO = stored("pycocoevalcap.json")


def corpus(name: str, track: str, reply: int) -> list[builders.Example]:
    texts = stored("chat_texts.json")
    source = texts["words"] if track == "words" else texts["examples"]
    result = []
    for example, row in zip(texts["examples"], source, strict=True):
        odd = example["id"].startswith("odd")
        if name == "all" or odd == (name == "odd"):
            result.append(builders.Example(tuple(row["references"]), (row["replies"][reply],)))
    return result


def test_the_files_name_tool_version_and_command() -> None:
    assert SACREBLEU["tools"]["sacrebleu"].startswith("2.6")
    assert COCO["tools"] == {"pycocoevalcap": "1.2"}
    for content in (SACREBLEU, COCO, stored("chat_texts.json")):
        assert content["made_by"] == "python tests/scoring/golden/make_golden.py"


@pytest.mark.parametrize("case", SACREBLEU["bleu"])
def test_bleus_segment_statistics_equal_sacrebleus(case: str) -> None:
    name, track, tokenizer, reply = case.split("/")
    tokens = builders.tokens_of(corpus(name, track, int(reply)), tokenizer)
    expected = SACREBLEU["bleu"][case]["segment_statistics_order_5"]
    found = Bleu((0.2,) * 5).segment_statistics(tokens)
    assert found[:, 1:].tolist() == expected
    assert (found[:, 0] == 1).all()


@pytest.mark.parametrize("case", SACREBLEU["bleu"])
def test_corpus_bleu_equals_sacrebleus(case: str) -> None:
    name, track, tokenizer, reply = case.split("/")
    tokens = builders.tokens_of(corpus(name, track, int(reply)), tokenizer)
    expected = SACREBLEU["bleu"][case]["corpus_scores"]
    assert len(expected) == 50
    for smoothing, value, order, effective, score in expected:
        metric = Bleu((1 / order,) * order, smoothing, value, effective)
        sums = metric.segment_statistics(tokens).sum(axis=0)
        found = 100 * float(metric.score(sums))
        assert found == pytest.approx(score, rel=1e-9, abs=0), (smoothing, value, order, effective)


@pytest.mark.parametrize("case", SACREBLEU["bleu"])
def test_segment_bleu_equals_sacrebleus_sentence_bleu(case: str) -> None:
    name, track, tokenizer, reply = case.split("/")
    tokens = builders.tokens_of(corpus(name, track, int(reply)), tokenizer)
    metric = Bleu()
    found = 100 * metric.segment_score(metric.segment_statistics(tokens))
    expected = SACREBLEU["bleu"][case]["sentence_scores"]
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("case", COCO["cider_d"])
def test_cider_d_equals_pycocoevalcaps(case: str) -> None:
    name, track, reply = case.split("/")
    tokenizer = "char" if track == "characters" else "none"
    examples = corpus(name, track, int(reply))
    metric = Cider()
    tokens = with_own_frequencies(builders.tokens_of(examples, tokenizer), [metric])
    statistics = metric.segment_statistics(tokens)
    expected = COCO["cider_d"][case]
    found = metric.segment_score(statistics)
    assert found.tolist() == pytest.approx(expected["segments"], rel=0, abs=1e-6)
    corpus_score = float(metric.score(statistics.sum(axis=0)))
    assert corpus_score == pytest.approx(expected["corpus"], rel=0, abs=1e-6)


def test_jiebas_words_equal_the_stored_ones() -> None:
    texts = stored("chat_texts.json")
    recipe = TextRecipe(make_tokenizer("jieba"))
    for key in ("references", "replies"):
        raw = [text for example in texts["examples"] for text in example[key]]
        words = [text.split() for example in texts["words"] for text in example[key]]
        assert recipe.tokenize(pa.array(raw)).to_lists() == words


def test_the_corpora_hold_what_makes_them_hard() -> None:
    examples = stored("chat_texts.json")["examples"]
    assert sum(not e["id"].startswith("odd") for e in examples) == 60
    assert {len(e["references"]) for e in examples} == {1, 2, 3, 5}
    assert any("" in e["replies"] for e in examples)
    scores = [row[-1] for values in SACREBLEU["bleu"].values() for row in values["corpus_scores"]]
    assert min(scores) == 0
    assert max(scores) > 50
