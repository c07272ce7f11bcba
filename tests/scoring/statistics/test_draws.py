"""How draws are cut into blocks changes nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from scoring import hashing
from scoring.statistics import draws
from scoring.statistics.draws import BOOTSTRAP, PLAIN, SWAP, Block, block_sums, blocks
from scoring.statistics.resampling import replicate_sums, swap_sums

LENGTHS = np.array([1, 40, 2, 5])
ROWS = int(LENGTHS.sum())
UNITS = hashing.hash_strings(pa.array([f"e{i}" for i in range(ROWS)]))
STATISTICS = np.random.default_rng(1).integers(0, 2**20, (ROWS, 3))


def of_kind(found: list[Block], kind: str) -> np.ndarray:
    parts = [block_sums(b, UNITS, STATISTICS, LENGTHS, 7) for b in found if b.kind == kind]
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("columns", [1, 1000, 2**14, 2**20])
def test_the_sums_are_those_of_all_draws_at_once(columns: int) -> None:
    found = blocks(1001, 1025, columns)
    sizes = {len(block) for block in found}
    assert max(sizes) * columns * 8 <= max(2**21, 64 * columns * 8)
    assert found[0] == Block(PLAIN)
    bootstrap, swaps = of_kind(found, BOOTSTRAP), of_kind(found, SWAP)
    assert (bootstrap.shape[1], swaps.shape[1]) == (1004, 1088)
    everything = (UNITS, STATISTICS, LENGTHS, 7)
    assert np.array_equal(bootstrap, replicate_sums(*everything, range(1004)))
    assert np.array_equal(swaps, swap_sums(*everything, range(1088)))
    (plain,) = of_kind(found, PLAIN).transpose(1, 0, 2)
    starts = np.cumsum(LENGTHS) - LENGTHS
    assert np.array_equal(plain, np.add.reduceat(STATISTICS, starts, axis=0))


def test_how_many_are_drawn_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    block = Block(BOOTSTRAP, range(64, 320))
    before = block_sums(block, UNITS, STATISTICS, LENGTHS, 7)
    monkeypatch.setattr(draws, "_DRAWS_AT_ONCE", 4)
    assert np.array_equal(block_sums(block, UNITS, STATISTICS, LENGTHS, 7), before)


def test_nothing_is_drawn_where_nothing_is_asked_for() -> None:
    assert blocks(0, 0, 5) == [Block(PLAIN)]
    assert {b.kind for b in blocks(4, 0, 5)} == {PLAIN, BOOTSTRAP}
