"""Statistics of examples, sums of slices, and what becomes of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from scoring import Bleu, Cider, hashing
from scoring.evaluation import (
    EXAMPLES,
    MISSING,
    OVERALL,
    StatisticsLayout,
    distinct_units,
    finish,
    segment_scores,
    slice_sums,
)
from scoring.joining import Examples, join
from scoring.metrics.base import SEGMENTS
from scoring.statistics import resampling
from scoring.statistics.draws import BOOTSTRAP, PLAIN, SWAP, Block

SYSTEMS = ["beam", "greedy"]
DOMAINS = ["food", "pets", "food", None, "pets", "food"]
DOCUMENTS = ["d1", "d1", "d2", "d2", "d2", "d3"]


def joined(missing: str = "empty", rows: list[int] | None = None) -> Examples:
    """Six examples; greedy has two samples of each, beam none of the examples 1 and 4."""
    rows = list(range(6)) if rows is None else rows
    beam = [i for i in rows if i not in (1, 4)]
    hypotheses = [(f"e{i}", "beam", 0, "x") for i in beam]
    hypotheses += [(f"e{i}", "greedy", s, "y") for i in rows for s in (0, 1)]
    columns = list(zip(*hypotheses))
    return join(
        pa.table(
            {
                "example_id": pa.array(columns[0], pa.string()),
                "system": pa.array(columns[1], pa.string()),
                "sample": pa.array(columns[2], pa.int32()),
                "text": pa.array(columns[3], pa.string()),
            }
        ),
        pa.table(
            {
                "example_id": pa.array([f"e{i}" for i in rows], pa.string()),
                "references": pa.array([["x"]] * len(rows), pa.list_(pa.string())),
                "domain": pa.array([DOMAINS[i] for i in rows], pa.string()),
                "document": pa.array([DOCUMENTS[i] for i in rows], pa.string()),
            }
        ),
        SYSTEMS,
        missing,
        "document",
        ["domain", "document"],
    ).examples


def statistics_of(examples: Examples) -> np.ndarray:
    """[examples, systems, 2], different for every cell."""
    numbers = [int(name[1:]) for name in examples.example_id.to_pylist()]
    return np.array([[[10 * i + s, 7**i] for s in range(2)] for i in numbers], np.int64)


def test_the_layout_names_counts_first_and_every_statistic_once() -> None:
    layout = StatisticsLayout((Bleu(), Cider(), Cider(clip_and_penalise=False)))
    names = layout.names
    assert names[:3] == (EXAMPLES, MISSING, SEGMENTS)
    assert len(names) == len(set(names))
    for metric in layout.metrics:
        assert [names[c] for c in layout.columns(metric)] == list(metric.statistics)
    assert {names[i] for i in range(3, len(names))} == {
        name for m in layout.metrics for name in m.statistics if name != SEGMENTS
    }


@pytest.mark.parametrize("missing", ["empty", "skip"])
def test_per_example_adds_up_samples_and_fills_in_the_counts(missing: str) -> None:
    examples = joined(missing)
    layout = StatisticsLayout((Bleu((1.0,)),))
    k = len(layout.names)
    segments = np.random.default_rng(2).integers(0, 50, (len(examples.system), k))
    segments[:, layout.column(EXAMPLES)] = 0
    segments[:, layout.column(MISSING)] = 0
    result = layout.per_example(segments, examples)
    expected = np.zeros((6, 2, k), np.int64)
    owner = examples.layout.example_of_hypothesis.tolist()
    for row, example, system in zip(segments, owner, examples.system.tolist()):
        expected[example, system] += row
        expected[example, system, layout.column(EXAMPLES)] = 1
    for example in (1, 4):
        expected[example, 0, layout.column(MISSING)] = 1
    assert result.tolist() == expected.tolist()
    counted = result[..., layout.column(EXAMPLES)]
    assert counted[:, 1].tolist() == [1] * 6
    assert counted[:, 0].tolist() == ([1] * 6 if missing == "empty" else [1, 0, 1, 1, 0, 1])


@pytest.mark.parametrize(
    "block",
    [
        Block(PLAIN),
        Block(BOOTSTRAP, range(8)),
        Block(BOOTSTRAP, range(4, 12)),
        Block(SWAP, range(64, 192)),
    ],
)
def test_the_sums_of_a_slice_are_those_of_its_examples_alone(block: Block) -> None:
    examples = joined()
    found = slice_sums(examples, statistics_of(examples), 3, block)
    assert (found[0].name, found[0].value) == OVERALL
    by_slice = {(s.name, s.value): s.sums.tolist() for s in found}
    members = {OVERALL: list(range(6))}
    for name, column in (("domain", DOMAINS), ("document", DOCUMENTS)):
        for i, value in enumerate(column):
            members.setdefault((name, value or "unknown"), []).append(i)
    assert set(by_slice) == set(members)
    assert len(found) == len(members)
    for key, rows in members.items():
        part = joined(rows=rows)
        alone = slice_sums(part, statistics_of(part), 3, block)[0]
        assert by_slice[key] == alone.sums.tolist()


def test_replicate_sums_are_weighted_by_unit() -> None:
    examples = joined()
    statistics = statistics_of(examples)
    weights = resampling.weights(examples.units, resampling.stream(9, range(4)))
    assert np.array_equal(weights[0], weights[1])  # of one document
    expected = np.einsum("nb,nsk->bsk", weights.astype(np.int64), statistics)
    found = slice_sums(examples, statistics, 9, Block(BOOTSTRAP, range(4)))[0]
    assert found.sums.tolist() == expected.tolist()


def test_no_examples_have_no_slices() -> None:
    examples = joined()
    nothing = Examples(
        examples.example_id.slice(0, 0),
        {name: column.slice(0, 0) for name, column in examples.slices.items()},
        examples.units[:0],
        examples.layout,
        examples.system[:0],
        examples.sample[:0],
        examples.filled[:0],
        examples.absent[:0],
    )
    assert slice_sums(nothing, np.zeros((0, 2, 2), np.int64), 1, Block(BOOTSTRAP, range(4))) == []


def test_distinct_units_are_counted_in_every_slice() -> None:
    units = distinct_units(joined())
    hashes = {name: int(hashing.hash_strings(pa.array([name]))[0]) for name in ("d1", "d2", "d3")}

    def of(*names: str) -> list[int]:
        return sorted(hashes[name] for name in names)

    assert units[OVERALL].tolist() == of("d1", "d2", "d3")
    assert units["domain", "food"].tolist() == of("d1", "d2", "d3")
    assert units["domain", "pets"].tolist() == of("d1", "d2")
    assert units["domain", "unknown"].tolist() == of("d2")
    assert units["document", "d2"].tolist() == of("d2")


def finished(units: int | None, undefined: bool = False) -> list[object]:
    layout = StatisticsLayout((Bleu((1.0,)), Cider()))
    columns = {name: i for i, name in enumerate(layout.names)}
    bleu, cider = (layout.columns(metric) for metric in layout.metrics)
    sums = np.zeros((2, len(columns)), np.int64)
    sums[:, layout.column(EXAMPLES)] = [20, 12]
    sums[:, layout.column(MISSING)] = [0, 8]
    sums[:, bleu] = [[20, 100, 100, 50, 100], [24, 100, 100, 25, 100]]
    sums[:, cider[1]] = 20 * 2**32
    sums[:, cider[2]] = 1 if undefined else 0
    weights = np.arange(1, 9)[:, None, None]
    replicates = sums[None] * weights
    replicates[..., bleu[3]] = (np.arange(8) * 10)[:, None]  # matches
    replicates[..., bleu[4]] = 100
    done = finish(layout, SYSTEMS, "domain", "food", sums, replicates, units, 0.5)
    assert done.replicates.shape == (2, 2, 8)
    assert done.replicates[0, 0, 1:].tolist() == pytest.approx(
        [i / 10 for i in range(1, 8)], rel=1e-12
    )
    return list(done.scores)


def test_finish_gives_a_score_for_every_metric_and_system_with_its_counts() -> None:
    scores = finished(None)
    found = [
        (s.metric, s.system, s.slice, s.slice_value, s.value, s.units, s.examples)  # type: ignore[attr-defined]
        for s in scores
    ]
    assert found == [
        ("bleu", "beam", "domain", "food", 0.5, 20, 20),
        ("bleu", "greedy", "domain", "food", 0.25, 12, 12),
        ("cider_d", "beam", "domain", "food", 1.0, 20, 20),
        ("cider_d", "greedy", "domain", "food", 20 / 24, 12, 12),
    ]
    counts = [(s.segments, s.missing, s.scale) for s in scores]  # type: ignore[attr-defined]
    assert counts == [(20, 0, "0-1"), (24, 8, "0-1"), (20, 0, "0-10"), (24, 8, "0-10")]
    bleu = scores[0]
    assert bleu.ci_low == pytest.approx(0.175, rel=1e-12)  # type: ignore[attr-defined]
    assert bleu.ci_high == pytest.approx(0.525, rel=1e-12)  # type: ignore[attr-defined]
    assert bleu.note == "few units (20): the interval is rough"  # type: ignore[attr-defined]


def test_finish_takes_the_number_of_units_where_it_is_not_that_of_examples() -> None:
    for score in finished(9):
        assert score.units == 9  # type: ignore[attr-defined]
        assert score.ci_low is None  # type: ignore[attr-defined]
        assert score.note == "no interval: too few units (9 < 10)"  # type: ignore[attr-defined]


def test_an_undefined_score_is_none_with_one_note() -> None:
    bleu, _, cider, _ = finished(None, undefined=True)
    assert bleu.value == 0.5  # type: ignore[attr-defined]
    assert cider.value is None  # type: ignore[attr-defined]
    assert cider.ci_low is None  # type: ignore[attr-defined]
    assert cider.note == (  # type: ignore[attr-defined]
        "undefined: document frequencies of fewer than 2 examples"
    )


def test_segment_scores_are_those_of_every_metric() -> None:
    layout = StatisticsLayout((Bleu((1.0,)), Cider()))
    segments = np.zeros((2, len(layout.names)), np.int64)
    segments[:, layout.columns(layout.metrics[0])] = [[1, 4, 4, 1, 4], [1, 2, 4, 2, 2]]
    segments[:, layout.columns(layout.metrics[1])[1:]] = [[3 * 2**31, 0], [0, 1]]
    found = segment_scores(layout, segments)
    assert found["bleu"].tolist() == pytest.approx([0.25, np.exp(-1)], rel=1e-12)
    assert found["cider_d"][0] == 1.5
    assert np.isnan(found["cider_d"][1])
