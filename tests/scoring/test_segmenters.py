"""Scores and ranks of systems under another tokenizer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scoring.joining import join
from scoring.library import evaluate
from scoring.metrics.bleu import Bleu
from scoring.segmenters import ranks, reversed_pairs, system_scores
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.tokenizers import make_tokenizer

NAN = float("nan")


def test_scores_are_those_of_the_library() -> None:
    hypotheses = {"s": ["a b c d", "b c"], "t": ["a b c d e", "c d e f g"]}
    references = [["a b c d e", "a b"], ["b c d e f"]]
    rows = [
        (str(i), name, 0, text)
        for name, texts in hypotheses.items()
        for i, text in enumerate(texts)
    ]
    columns = zip(("example_id", "system", "sample", "text"), zip(*rows))
    table = pa.table({name: list(column) for name, column in columns})
    other = pa.table({"example_id": ["0", "1"], "references": references})
    joined = join(table, other, ["s", "t"])
    metric = Bleu()
    track = token_track(joined.texts, TextRecipe(make_tokenizer("none")))
    found = system_scores(track, joined.examples, 2, metric)
    expected = evaluate(hypotheses, references, metrics=[metric], tokenizer="none", bootstrap=0)
    assert found.tolist() == [expected[name, "bleu"].value for name in hypotheses]


def test_ranks() -> None:
    assert ranks(np.array([0.1, 0.3, NAN, 0.3, 0.2])).tolist() == [4, 1, 5, 1, 3]
    assert ranks(np.array([])).tolist() == []


def test_pairs_that_turn_round() -> None:
    one = np.array([0.1, 0.2, 0.3, 0.3])
    assert reversed_pairs(one, one) == 0
    assert reversed_pairs(one, -one) == 5
    assert reversed_pairs(one, np.array([0.2, 0.1, 0.3, 0.0])) == 3
