"""References that say nearly the same, and types of references, against slow obvious versions."""

from __future__ import annotations

from itertools import combinations

import builders
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import evaluate
from scoring.joining import Examples, join
from scoring.metrics.bleu import Bleu
from scoring.references import (
    TypeCounts,
    count_types,
    jaccard_pairs,
    near_duplicates,
    type_rows,
    without_near_duplicates,
)
from scoring.segments import SegmentTokens
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.tokenizers import make_tokenizer


def alike(one: list[str], other: list[str]) -> float:
    either = {*one} | {*other}
    return len({*one} & {*other}) / len(either) if either else 1.0


def left_out(references: list[list[str]], threshold: float) -> set[int]:
    """Places of the references that are left out, by walking from one to the next."""
    near = [
        {j for j in range(len(references)) if j != i and alike(r, references[j]) > threshold}
        for i, r in enumerate(references)
    ]
    seen: set[int] = set()
    out: set[int] = set()
    for i in range(len(references)):
        if i in seen:
            continue
        group, todo = {i}, [i]
        while todo:
            for j in near[todo.pop()] - group:
                group.add(j)
                todo.append(j)
        seen |= group
        best = max(group, key=lambda k: (len(references[k]), -k))
        out |= group - {best}
    return out


@given(builders.examples(), st.sampled_from([0.2, 0.5, 2 / 3, 0.8]))
def test_near_duplicates_equal_the_slow_version(
    corpus: list[builders.Example], threshold: float
) -> None:
    tokens = builders.tokens_of(corpus)
    found = near_duplicates(tokens, threshold)
    expected: list[bool] = []
    pairs = []
    for example in corpus:
        references, hypotheses = example.cut()
        out = left_out(references, threshold)
        pairs += [alike(a, b) for a, b in combinations(references, 2)]
        expected += [i in out for i in range(len(references))] + [False] * len(hypotheses)
    assert found.tolist() == expected
    assert jaccard_pairs(tokens)[2].tolist() == pairs


def cut(*texts: str) -> SegmentTokens:
    return builders.tokens_of([builders.Example(texts, ())], "char")


@pytest.mark.parametrize(
    ("texts", "out"),
    [
        (("好的", "好的呢"), []),  # 2 of 3 tokens are in both: .67
        (("好的呢", "好的呢", "不行"), [1]),  # equal ones: the first stays
        (("abcdef", "abcdefg", "abcdefgh"), [0, 1]),  # through the one between: 6 of 8
        (("好好好的", "的好"), [1]),  # order and repetition do not count, length does
        (("", "", "a"), [1]),
    ],
)
def test_what_the_measure_sees(texts: tuple[str, ...], out: list[int]) -> None:
    assert np.flatnonzero(near_duplicates(cut(*texts), 0.8)).tolist() == out


def joined(types: list[list[str | None] | None]) -> object:
    return join(
        pa.table(
            {
                "example_id": ["a", "a", "b", "b"],
                "system": ["s", "t", "s", "t"],
                "sample": pa.array([0] * 4, pa.int32()),
                "text": ["x y z", "p q", "m", ""],
            }
        ),
        pa.table(
            {
                "example_id": ["b", "a"],
                "references": [["m", "n"], ["p q r s t u", "x y z", "p q r s t"]],
                "reference_types": pa.array(types, pa.list_(pa.string())),
            }
        ),
        ["s", "t"],
    )


def test_types_stay_with_their_references() -> None:
    result = joined([["A", "C"], ["A", "B", "C"]])
    assert result.reference_types.to_pylist() == ["A", "B", "C", "A", "C"]  # type: ignore[attr-defined]
    recipe = TextRecipe(make_tokenizer("none"))
    tracks = {"main": token_track(result.texts, recipe)}  # type: ignore[attr-defined]
    reduced = without_near_duplicates(result, tracks, "main", 0.8)  # type: ignore[arg-type]
    assert (reduced.dropped, reduced.examples_reduced) == (1, 1)
    assert reduced.texts.to_pylist()[:2] == ["p q r s t u", "x y z"]
    assert reduced.reference_types is not None
    assert reduced.reference_types.to_pylist() == ["A", "B", "A", "C"]
    assert reduced.examples.layout.references.tolist() == [2, 2]
    assert reduced.tracks["main"].lengths.tolist() == [6, 3, 3, 2, 1, 1, 1, 0]


def test_types_are_counted_by_best_match() -> None:
    result = joined([["C", "C"], ["A", "B", "C"]])
    recipe = TextRecipe(make_tokenizer("none"))
    examples: Examples = result.examples  # type: ignore[attr-defined]
    track = token_track(result.texts, recipe)  # type: ignore[attr-defined]
    matched = SegmentTokens(track, examples.layout).matched_references()
    counts = count_types(examples, result.reference_types, matched, 2)  # type: ignore[attr-defined]
    assert counts.types == ("A", "B", "C")
    assert counts.references.tolist() == [1, 1, 3]
    assert counts.matched.tolist() == [[0, 1, 1, 0], [0, 0, 1, 1]]
    rows = type_rows(counts, ["s", "t"])
    assert [r["share"] for r in rows] == [0, 0.5, 0.5, 0, 0, 0, 0.5, 0.5]
    assert rows[2]["share_of_references"] == 0.6
    assert (rows[3]["reference_type"], rows[3]["references"]) == (None, None)


def test_examples_without_types_do_not_count_and_single_ones_are_unknown() -> None:
    result = joined([None, ["A", None, "B"]])
    assert result.reference_types.to_pylist() == ["A", None, "B", None, None]  # type: ignore[attr-defined]
    examples: Examples = result.examples  # type: ignore[attr-defined]
    matched = np.array([1, 2, 0, -1])
    counts = count_types(examples, result.reference_types, matched, 2)  # type: ignore[attr-defined]
    assert counts == TypeCounts(("A", "B", "unknown"), counts.matched, counts.references)
    assert counts.matched.tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    assert counts.references.tolist() == [1, 1, 1]


@given(st.lists(st.dictionaries(st.sampled_from("ABC"), st.integers(0, 9)), min_size=1))
def test_counts_of_parts_add_up(parts: list[dict[str, int]]) -> None:
    made = [
        TypeCounts(
            tuple(sorted(part)),
            np.array([[*(part[n] for n in sorted(part)), 1]]),
            np.array([2 * part[n] for n in sorted(part)], np.int64),
        )
        for part in parts
    ]
    total = sum(made[1:], start=made[0])
    for i, name in enumerate(total.types):
        expected = sum(part.get(name, 0) for part in parts)
        assert total.matched[0, i] == expected
        assert total.references[i] == 2 * expected
    assert total.matched[0, -1] == len(parts)


def test_a_reference_that_is_left_out_counts_nowhere() -> None:
    systems = {"s": ["a b c d e f", "m"]}
    doubled = [["a b c d e f g h i", "a b c d e f g h i j"], ["m"]]
    single = [["a b c d e f g h i j"], ["m"]]
    options = {"metrics": [Bleu()], "tokenizer": "none", "bootstrap": 0}
    near = evaluate(systems, doubled, near_duplicate_references=0.8, **options)  # type: ignore[arg-type]
    assert near["s", "bleu"] == evaluate(systems, single, **options)["s", "bleu"]  # type: ignore[arg-type]
    assert near["s", "bleu"] != evaluate(systems, doubled, **options)["s", "bleu"]  # type: ignore[arg-type]
