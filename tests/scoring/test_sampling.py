"""The sample is the same whatever the order and the tables that rows come in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from scoring.sampling import Smallest, chosen, sample_hashes


def rows(ids: list[str]) -> pa.Table:
    return pa.table({"example_id": pa.array(ids, pa.string()), "text": [f"t{i}" for i in ids]})


@given(st.lists(st.integers(0, 40)), st.integers(1, 12), st.integers(1, 7))
def test_the_smallest_hashes_are_kept(numbers: list[int], examples: int, size: int) -> None:
    ids = [f"duck_{n:06d}" for n in numbers]
    kept = Smallest(examples)
    for start in range(0, len(ids), size):
        kept.add(rows(ids[start : start + size]))
    of_id = dict(zip(ids, sample_hashes(pa.array(ids, pa.string())).tolist()))
    wanted = sorted(set(ids), key=of_id.__getitem__)[:examples]
    found = kept.rows.column("example_id").to_pylist() if kept.rows is not None else []
    assert found == [i for i in ids if i in wanted]
    if ids:
        others = chosen(rows(ids), kept.limit).to_pylist()
        assert [i for i, fine in zip(ids, others) if fine] == found


def test_the_sample_is_spread_over_partitions() -> None:
    from scoring import hashing

    ids = pa.array([f"e{n}" for n in range(4000)])
    smallest = np.argsort(sample_hashes(ids))[:400]
    parts = hashing.spread(hashing.hash_strings(ids.take(pa.array(smallest))), 8)
    assert (np.bincount(parts, minlength=8) > 25).all()
