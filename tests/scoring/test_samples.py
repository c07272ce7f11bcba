"""Several replies to one query against plain loops."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import samples
from scoring.evaluation import StatisticsLayout
from scoring.joining import Examples, join
from scoring.metrics.bleu import Bleu
from scoring.metrics.tracks import MAIN
from scoring.segments import SegmentTokens
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.tokenizers import make_tokenizer


class Sometimes(Bleu):
    """BLEU that is undefined where nothing is matched."""

    def segment_score(self, statistics: np.ndarray) -> np.ndarray:
        values = super().segment_score(statistics)
        return np.where(values > 0, values, np.nan)


LAYOUT = StatisticsLayout((Sometimes(),))
SYSTEMS = ["a", "b"]
LIMIT = 0.3

ROWS = st.lists(
    st.tuples(
        st.sampled_from([f"e{n}" for n in range(30)]),
        st.sampled_from(SYSTEMS),
        st.sampled_from([0, 1, 2, 5, 100, 200]),
        st.sampled_from(["a b c d e", "a b c d x", "a b x d e f", "x", ""]),
    ),
    max_size=60,
    unique_by=lambda row: row[:3],
)

Row = tuple[str, str, int, str]


def counted(rows: list[Row], names: set[str]) -> tuple[np.ndarray, Examples]:
    """The statistics of the hypotheses for some of the examples."""
    rows = [row for row in rows if row[0] in names]
    columns = list(zip(*rows)) or [(), (), (), ()]
    types = (pa.string(), pa.string(), pa.int32(), pa.string())
    keys = ("example_id", "system", "sample", "text")
    hypotheses = pa.table({k: pa.array(c, t) for k, c, t in zip(keys, columns, types)})
    references = pa.table(
        {
            "example_id": pa.array(sorted(names), pa.string()),
            "references": pa.array([["a b c d e f"]] * len(names), pa.list_(pa.string())),
        }
    )
    joined = join(hypotheses, references, SYSTEMS)
    track = token_track(joined.texts, TextRecipe(make_tokenizer("none")))
    tokens = SegmentTokens(track, joined.examples.layout)
    return LAYOUT.segment_statistics({MAIN: tokens}), joined.examples


def same(one: samples.Spread, other: samples.Spread) -> bool:
    arrays = ("totals", "indices", "by_index", "beyond")
    equal = all(np.array_equal(getattr(one, n), getattr(other, n)) for n in arrays)
    return equal and one.worst.equals(other.worst)


@given(ROWS, st.integers(1, 4))
def test_the_spread_equals_loops_and_is_the_same_in_parts(rows: list[Row], parts: int) -> None:
    names = [f"e{n}" for n in range(30)]
    segments, examples = counted(rows, {*names})
    whole = samples.spread(LAYOUT, segments, examples, LIMIT)
    split = [
        samples.spread(LAYOUT, *counted(rows, {*names[n::parts]}), LIMIT) for n in range(parts)
    ]
    assert same(samples.merge(split), whole)
    assert same(samples.merge(split[::-1]), whole)

    (metric,) = LAYOUT.metrics
    values = metric.segment_score(segments[:, LAYOUT.columns(metric)])
    of_query: dict[tuple[int, str], list[float]] = defaultdict(list)
    of_index: dict[tuple[int, int], list[int]] = defaultdict(list)
    owners = examples.layout.example_of_hypothesis.tolist()
    for n, (owner, system) in enumerate(zip(owners, examples.system.tolist())):
        if not math.isnan(values[n]):
            of_query[system, examples.example_id[owner].as_py()].append(float(values[n]))
        of_index[system, int(examples.sample[n])].append(n)
    found = {row["system"]: row for row in samples.rows(whole, LAYOUT, SYSTEMS, LIMIT)}
    worst = samples.worst_rows(whole, LAYOUT, SYSTEMS)
    for i, system in enumerate(SYSTEMS):
        several = {name: v for (s, name), v in of_query.items() if s == i and len(v) > 1}
        if not several:
            assert system not in found
            continue
        row = found[system]
        ranges = {name: max(v) - min(v) for name, v in several.items()}
        assert row["queries"] == len(several)
        assert row["range"] == pytest.approx(statistics.fmean(ranges.values()), abs=1e-9)
        variances = [statistics.variance(v) for v in several.values()]
        assert row["variance"] == pytest.approx(statistics.fmean(variances), abs=1e-9)
        assert row["above"] == sum(r > LIMIT for r in ranges.values()) / len(ranges)
        indices = sorted(index for s, index in of_index if s == i)
        if indices[-1] >= samples.MOST_INDICES:
            assert row["mean_over_samples"] is None
            assert "have an index of 100 or more" in row["note"]
        else:
            alone = [
                float(metric.score(segments[of_index[i, n]].sum(axis=0)[LAYOUT.columns(metric)]))
                for n in indices
            ]
            assert row["samples"] == len(alone)
            assert row["mean_over_samples"] == pytest.approx(statistics.fmean(alone))
            assert (row["lowest_sample"], row["highest_sample"]) == (min(alone), max(alone))
        fixed = {name: round(r * 2**32) for name, r in ranges.items()}
        expected = sorted((n for n, r in fixed.items() if r), key=lambda n: (-fixed[n], n))
        own = [r for r in worst if r["system"] == system]
        assert [r["example_id"] for r in own] == expected[: samples.MOST_WORST]
        assert [r["rank"] for r in own] == list(range(1, len(own) + 1))
        for r in own:
            assert (r["lowest"], r["highest"]) == (
                min(several[r["example_id"]]),
                max(several[r["example_id"]]),
            )
