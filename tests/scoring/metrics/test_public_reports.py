"""What users of other tools have reported, each with the value that is right here.

The rows are token strings cut at blanks (tokenizer none) unless a test says otherwise.
"""

from __future__ import annotations

import math

import builders
import numpy as np
import pytest

from scoring import Bleu, Cider, Evaluation, evaluate
from scoring.document_frequencies import DocumentFrequencies
from scoring.metrics.base import Metric
from scoring.segments import SegmentTokens


def run(
    hypotheses: list[str], references: list[list[str]], metric: Metric, tokenizer: str = "none"
) -> Evaluation:
    return evaluate(
        {"system": hypotheses}, references, metrics=[metric], tokenizer=tokenizer, bootstrap=0
    )


def value(
    hypotheses: list[str],
    references: list[list[str]],
    metric: Metric | None = None,
    tokenizer: str = "none",
) -> float | None:
    metric = Bleu() if metric is None else metric
    return run(hypotheses, references, metric, tokenizer)["system", metric.name].value


def test_rows_with_1_2_and_5_references_in_one_call() -> None:
    # Streams of references of one length would drop rows or references.
    references = [["a b c d"], ["x", "e f g h"], ["i", "j", "k", "l", "m n o p"]]
    hypotheses = ["a b c d", "e f g h", "m n o p"]
    assert value(hypotheses, references) == 1.0
    assert value(hypotheses[:2] + ["m n o x"], references) == pytest.approx(
        ((11 / 12) * (8 / 9) * (5 / 6) * (2 / 3)) ** 0.25, rel=1e-12
    )


def test_an_empty_hypothesis_keeps_its_row_and_its_reference_length_counts() -> None:
    references = [["a b c d"], ["e f g h"], ["i j k l"]]
    result = run(["a b c d", "", "i j k l"], references, Bleu())["system", "bleu"]
    assert result.value == pytest.approx(math.exp(1 - 12 / 8), rel=1e-12)
    assert (result.examples, result.segments, result.missing) == (3, 3, 0)


def test_a_disjoint_pair_of_one_token_scores_0_and_not_its_brevity() -> None:
    for smoothing in ("exp", "none", "floor", "add-k"):
        for effective in (False, True):
            metric = Bleu(smoothing=smoothing, effective_order=effective)
            assert value(["a"], [["b"]], metric) == 0.0


def test_an_identical_text_of_2_tokens_is_0_at_order_4_and_the_note_says_why() -> None:
    score = run(["a b"], [["a b"]], Bleu())["system", "bleu"]
    assert score.value == 0.0
    assert "0: no hypothesis has an n-gram of order 3" in score.note
    effective = run(["a b"], [["a b"]], Bleu(effective_order=True))["system", "bleu"]
    assert effective.value == 1.0
    assert "no hypothesis" not in effective.note
    assert value(["a b"], [["a b"]], Bleu((0.5, 0.5))) == 1.0


def test_one_identical_chinese_sentence_scores_1() -> None:
    sentence = "我们今天去北京大学吃饭"
    for tokenizer in ("jieba", "char", "zh"):
        assert value([sentence], [[sentence]], tokenizer=tokenizer) == 1.0
    # The same text cut at blanks is one token, which has no 4-gram.
    assert value([sentence], [[sentence]], tokenizer="none") == 0.0


def test_of_two_references_equally_close_the_shorter_gives_the_length() -> None:
    for references in (["a b c", "a"], ["a", "a b c"]):
        tokens = builders.tokens_of([builders.Example(tuple(references), ("a b",))])
        assert Bleu().segment_statistics(tokens)[0, 1:3].tolist() == [2, 1]
        assert value(["a b"], [references], Bleu((1.0,))) == 1.0


def test_an_ngram_is_clipped_at_the_reference_that_holds_most_not_at_their_sum() -> None:
    assert value(["the the the the"], [["the the", "the cat"]], Bleu((1.0,))) == 0.5


def test_equal_ratios_of_matches_give_equal_scores_to_the_last_bit() -> None:
    metric = Bleu()
    base = np.array([3, 29, 31, 19, 11, 7, 3, 29, 26, 23, 20])
    for factor in (2, 3, 7, 10**9 + 7):
        assert float(metric.score(base * factor)) == float(metric.score(base))
    hypotheses = ["a b c d e", "a b x d e f"]
    references = [["a b c d e f"], ["a b c d e f", "a b x"]]
    once = value(hypotheses, references)
    assert once is not None
    assert 0 < once < 1
    assert value(hypotheses * 3, references * 3) == once


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_cider_d_of_an_identical_short_text_is_2_and_a_half_times_its_tokens(length: int) -> None:
    text = " ".join("abcde"[:length])
    corpus = [builders.Example((text,), (text,)), builders.Example(("x y z u v",), ("x",))]
    score = segment_scores(corpus)[0]
    assert score == pytest.approx(2.5 * min(length, 4), abs=1e-9)


def segment_scores(corpus: list[builders.Example]) -> list[float]:
    from scoring.library import with_own_frequencies

    metric = Cider()
    tokens = with_own_frequencies(builders.tokens_of(corpus), [metric])
    result: list[float] = metric.segment_score(metric.segment_statistics(tokens)).tolist()
    return result


def test_cider_d_of_an_ngram_in_every_example_is_0() -> None:
    corpus = [builders.Example((text,), (text,)) for text in ("好", "好")]
    assert segment_scores(corpus) == [0.0, 0.0]


def test_cider_d_of_a_single_example_is_none_with_the_reason() -> None:
    score = run(["a b c d"], [["a b c d"]], Cider())["system", "cider_d"]
    assert score.value is None
    assert (score.ci_low, score.ci_high) == (None, None)
    assert score.note == "undefined: document frequencies of fewer than 2 examples"


def test_cider_d_of_a_single_example_is_right_with_a_frozen_table() -> None:
    tokens = builders.tokens_of([builders.Example(("a b c d",), ("a b c d", "a b", "x"))])
    frequencies = DocumentFrequencies(
        1000, tuple(np.full(len(c.hashes), 3, np.uint32) for c in tokens.ngrams(4))
    )
    frozen = SegmentTokens(tokens.track, tokens.layout, frequencies)
    scores = Cider().segment_score(Cider().segment_statistics(frozen)).tolist()
    # "a b" shares 2 of 4 words and 1 of 3 bigrams of equal weight; it is 2 bigrams short.
    expected = 2.5 * (2 / math.sqrt(2 * 4) + 1 / math.sqrt(3)) * math.exp(-4 / 72)
    assert scores == pytest.approx([10.0, expected, 0.0], abs=1e-8)


def test_a_slice_of_one_example_has_a_cider_d_by_the_table_of_the_run() -> None:
    result = evaluate(
        {"system": ["a b c d", "e f g h"]},
        [["a b c d"], ["e f g h"]],
        metrics=[Cider()],
        tokenizer="none",
        bootstrap=0,
        slices={"domain": ["one", "other"]},
    )
    assert {s.slice_value: s.value for s in result.scores} == {"": 10.0, "one": 10.0, "other": 10.0}


def test_newlines_and_odd_separators_inside_a_text_do_not_shift_rows() -> None:
    hypotheses = ["a b\nc d", "e f\u2028g h", "i j\x85k l", "m n ||| o p"]
    references = [["a b c d"], ["e f g h"], ["i j k l"], ["m n ||| o p"]]
    assert value(hypotheses, references) == 1.0
    assert value(hypotheses, references, Cider()) == pytest.approx(10.0, abs=1e-9)


def test_sums_of_millions_of_segments_are_exact() -> None:
    # In float32 two million segments of 11 tokens add up to 22,474,796 instead of 22,000,000.
    sums = np.array([2_000_000, 22_000_000, 22_000_001, *[21_999_999] * 4, *[22_000_000] * 4])
    expected = 21_999_999 / 22_000_000 * math.exp(1 - 22_000_001 / 22_000_000)
    assert float(Bleu().score(sums)) == pytest.approx(expected, rel=1e-14)
