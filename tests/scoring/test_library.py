"""``evaluate``, the library's front door, from texts to scores."""

from __future__ import annotations

import random

import numpy as np
import pytest

from scoring import Bleu, Evaluation, Score, evaluate


def words(draw: random.Random) -> str:
    return " ".join(draw.choices("abcdef", weights=(9, 7, 5, 3, 2, 1), k=draw.randrange(1, 12)))


def corpus(n: int, seed: int = 1) -> tuple[dict[str, list[str]], list[list[str]], list[str]]:
    """Two systems that copy one of up to three references with mistakes; ids."""
    draw = random.Random(seed)
    references = [[words(draw) for _ in range(draw.randrange(1, 4))] for _ in range(n)]

    def copied(share: float) -> list[str]:
        return [
            " ".join(w if draw.random() < share else "x" for w in draw.choice(r).split())
            for r in references
        ]

    systems = {"good": copied(0.9), "bad": copied(0.6)}
    return systems, references, [f"row_{i:04d}" for i in range(n)]


def chosen(values: list, rows: list[int]) -> list:
    return [values[i] for i in rows]


def by_key(evaluation: Evaluation) -> dict[tuple[str, str, str, str], Score]:
    return {(s.slice, s.slice_value, s.system, s.metric): s for s in evaluation.scores}


def numbers(score: Score) -> tuple[object, ...]:
    return (
        *(score.value, score.ci_low, score.ci_high, score.units),
        *(score.examples, score.segments, score.missing, score.note),
    )


def test_a_slice_scores_as_a_run_on_its_examples_alone_interval_included() -> None:
    systems, references, ids = corpus(90)
    values = ["even" if i % 3 else None for i in range(90)]
    lengths = [str(len(r)) for r in references]
    whole = by_key(
        evaluate(
            systems,
            references,
            metrics=[Bleu()],
            tokenizer="none",
            ids=ids,
            slices={"parity": values, "references": lengths},
        )
    )
    cuts = {
        ("parity", v or "unknown"): [i for i in range(90) if values[i] == v] for v in ("even", None)
    }
    cuts |= {("references", v): [i for i in range(90) if lengths[i] == v] for v in ("1", "2", "3")}
    assert {key[:2] for key in whole} == {("overall", ""), *cuts}
    for (name, value), rows in cuts.items():
        alone = evaluate(
            {system: chosen(texts, rows) for system, texts in systems.items()},
            chosen(references, rows),
            metrics=[Bleu()],
            tokenizer="none",
            ids=chosen(ids, rows),
        )
        for system in systems:
            expected = alone[system, "bleu"]
            assert expected.ci_low is not None
            assert numbers(whole[name, value, system, "bleu"]) == numbers(expected)


def test_slices_do_not_change_the_whole() -> None:
    systems, references, ids = corpus(40)
    plain = evaluate(systems, references, tokenizer="none", ids=ids, bootstrap=100)
    cut = evaluate(
        systems,
        references,
        tokenizer="none",
        ids=ids,
        bootstrap=100,
        slices={"x": [str(i % 2) for i in range(40)]},
    )
    for score in plain.scores:
        assert cut[score.system, score.metric] == score


def test_the_order_of_the_input_does_not_matter() -> None:
    systems, references, ids = corpus(60)
    domains = [str(i % 4) for i in range(60)]
    order = list(range(60))
    random.Random(3).shuffle(order)
    results = [
        evaluate(
            {system: chosen(texts, rows) for system, texts in pairs},
            chosen(references, rows),
            tokenizer="none",
            bootstrap=200,
            ids=chosen(ids, rows),
            slices={"domain": chosen(domains, rows)},
        )
        for rows, pairs in (
            (list(range(60)), list(systems.items())),
            (order, list(systems.items())[::-1]),
        )
    ]
    assert by_key(results[0]) == by_key(results[1])


def test_a_system_scores_the_same_whatever_stands_beside_it() -> None:
    systems, references, ids = corpus(40)
    both = evaluate(systems, references, tokenizer="none", ids=ids, bootstrap=100)
    alone = evaluate({"bad": systems["bad"]}, references, tokenizer="none", ids=ids, bootstrap=100)
    for metric in ("bleu", "cider_d"):
        assert alone["bad", metric] == both["bad", metric]


def test_equal_systems_have_equal_scores_and_intervals() -> None:
    systems, references, ids = corpus(40)
    twins = {"one": systems["good"], "other": systems["good"]}
    result = evaluate(twins, references, tokenizer="none", ids=ids, bootstrap=100)
    for metric in ("bleu", "cider_d"):
        assert numbers(result["one", metric]) == numbers(result["other", metric])


def test_the_seed_moves_the_interval_and_nothing_else() -> None:
    systems, references, ids = corpus(40)
    runs = [
        evaluate(systems, references, tokenizer="none", ids=ids, seed=seed, bootstrap=100)
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1]
    first, other = runs[0]["good", "bleu"], runs[2]["good", "bleu"]
    assert first.value == other.value
    assert (first.ci_low, first.ci_high) != (other.ci_low, other.ci_high)


def test_the_interval_holds_the_value_and_narrows_with_more_examples() -> None:
    widths = []
    for n in (40, 640):
        systems, references, ids = corpus(n)
        score = evaluate(systems, references, metrics=[Bleu()], tokenizer="none", ids=ids)
        good = score["good", "bleu"]
        assert good.value is not None and good.ci_low is not None and good.ci_high is not None
        assert good.ci_low < good.value < good.ci_high
        widths.append(good.ci_high - good.ci_low)
    assert widths[1] == pytest.approx(widths[0] / 4, rel=0.4)


def test_more_confidence_gives_a_wider_interval() -> None:
    systems, references, _ = corpus(100)
    ends = []
    for confidence in (0.5, 0.9, 0.99):
        result = evaluate(
            systems, references, metrics=[Bleu()], tokenizer="none", confidence=confidence
        )
        ends.append((result["good", "bleu"].ci_low, result["good", "bleu"].ci_high))
    assert ends[2][0] < ends[1][0] < ends[0][0] < ends[0][1] < ends[1][1] < ends[2][1]  # type: ignore[operator]


def test_units_that_hang_together_are_resampled_together() -> None:
    systems, references, _ = corpus(50)
    copies = 4
    names = [f"dialogue {i}" for i in range(50) for _ in range(copies)]
    repeated = {s: [t for t in texts for _ in range(copies)] for s, texts in systems.items()}
    lists = [r for r in references for _ in range(copies)]

    def width(units: list[str] | None) -> float:
        result = evaluate(repeated, lists, metrics=[Bleu()], tokenizer="none", units=units)
        score = result["good", "bleu"]
        assert score.units == (200 if units is None else 50)
        assert score.examples == 200
        assert score.ci_low is not None and score.ci_high is not None
        return score.ci_high - score.ci_low

    # Copies add nothing, so the honest interval is twice as wide.
    assert width(names) == pytest.approx(2 * width(None), rel=0.15)


def test_units_are_counted_by_slice() -> None:
    systems, references, _ = corpus(24)
    result = evaluate(
        systems,
        references,
        metrics=[Bleu()],
        tokenizer="none",
        bootstrap=8,
        units=[str(i // 2) for i in range(24)],
        slices={"part": ["x"] * 4 + ["y"] * 20},
    )
    units = {(s.slice_value, s.units) for s in result.scores}
    assert units == {("", 12), ("x", 2), ("y", 10)}
    assert all((s.ci_low is None) == (s.slice_value == "x") for s in result.scores)


@pytest.mark.parametrize("missing", ["empty", "skip"])
def test_missing_outputs_count_as_empty_or_are_left_out_and_are_always_counted(
    missing: str,
) -> None:
    references = [["a b c d"]] * 20
    texts: list[str | list[str | None] | None] = ["a b c d"] * 20
    texts[0], texts[1], texts[2] = None, [None, None], ["a b c d", None]
    result = evaluate(
        {"system": texts, "silent": [None] * 20},
        references,
        metrics=[Bleu()],
        tokenizer="none",
        missing=missing,
        bootstrap=40,
    )
    score, silent = result["system", "bleu"], result["silent", "bleu"]
    assert score.missing == 2
    assert silent.missing == 20
    if missing == "skip":
        assert (score.value, score.examples, score.segments, score.units) == (1.0, 18, 18, 18)
        assert (silent.value, silent.examples, silent.segments) == (None, 0, 0)
        assert silent.note == "undefined: no segments"
    else:
        assert score.value == pytest.approx(np.exp(1 - 80 / 72), rel=1e-12)
        assert (score.examples, score.segments, score.units) == (20, 20, 20)
        assert (silent.value, silent.examples) == (0.0, 20)


def test_an_empty_text_is_not_missing() -> None:
    result = evaluate(
        {"system": ["", "a"]}, [["a"], ["a"]], metrics=[Bleu((1.0,))], tokenizer="none"
    )
    score = result["system", "bleu"]
    assert score.missing == 0
    assert score.value == pytest.approx(np.exp(-1), rel=1e-12)


def test_samples_are_segments_of_one_example() -> None:
    texts = [["a b", "a x", "x x"], ["a b"], ["x b", "a b"]]
    result = evaluate(
        {"system": texts}, [["a b"]] * 3, metrics=[Bleu((1.0,))], tokenizer="none", bootstrap=0
    )
    score = result["system", "bleu"]
    assert (score.examples, score.segments, score.units) == (3, 6, 3)
    assert score.value == 8 / 12


def test_systems_may_give_different_numbers_of_samples() -> None:
    result = evaluate(
        {"one": ["a", "b"], "many": [["a", "x"], ["b", "b", "b"]]},
        [["a"], ["b"]],
        metrics=[Bleu((1.0,))],
        tokenizer="none",
        bootstrap=0,
    )
    assert result["one", "bleu"].value == 1.0
    assert result["many", "bleu"].value == 4 / 5


def test_references_that_are_none_are_dropped_and_empty_ones_are_kept() -> None:
    metric = Bleu((1.0,))
    for references, expected in ([[None, "a b"]], np.exp(-1)), ([["", "a b"]], 1.0):
        result = evaluate({"s": ["a"]}, references, metrics=[metric], tokenizer="none")
        assert result["s", "bleu"].value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"hypotheses": {"s": ["a"]}}, "hypotheses of 's': 1 entries, but there are 2"),
        ({"ids": ["1"]}, "ids: 1 entries"),
        ({"ids": ["1", "1"]}, "ids must differ"),
        ({"units": ["1"]}, "units: 1 entries"),
        ({"slices": {"x": ["1"]}}, "slice 'x': 1 entries"),
        ({"references": [["a"], [None]]}, "example '1' has no reference"),
        ({"references": [["a"], []]}, "example '1' has no reference"),
        ({"tokenizer": "words"}, "no tokenizer is called 'words'"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(
    arguments: dict[str, object], reason: str
) -> None:
    fitting: dict[str, object] = {
        "hypotheses": {"s": ["a", "b"]},
        "references": [["a"], ["b"]],
        "tokenizer": "none",
    }
    with pytest.raises(ValueError, match=reason):
        evaluate(**(fitting | arguments))  # type: ignore[arg-type]


def test_no_bootstrap_gives_no_interval_and_no_note() -> None:
    systems, references, _ = corpus(20)
    score = evaluate(systems, references, tokenizer="none", bootstrap=0)["good", "bleu"]
    assert (score.ci_low, score.ci_high, score.note) == (None, None, "")


def test_any_number_of_replicates_is_taken_as_asked() -> None:
    systems, references, _ = corpus(20)

    def ends(bootstrap: int) -> tuple[float | None, float | None]:
        score = evaluate(
            systems, references, metrics=[Bleu()], tokenizer="none", bootstrap=bootstrap
        )["good", "bleu"]
        return score.ci_low, score.ci_high

    low, high = ends(1)
    assert low == high
    assert len({ends(n) for n in (1, 2, 3, 4, 5)}) == 5


def test_an_unknown_key_is_a_key_error() -> None:
    result = evaluate({"s": ["a"]}, [["a"]], tokenizer="none", bootstrap=0)
    assert result["s", "bleu"].system == "s"
    with pytest.raises(KeyError):
        result["s", "rouge"]
