"""Which draws there are, in blocks: the plain sum, bootstrap replicates, swaps of two systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import hashing, ragged
from scoring.statistics import resampling

Ints = npt.NDArray[np.int64]

PLAIN, BOOTSTRAP, SWAP = "plain", "bootstrap", "swap"

_MULTIPLE_OF = {
    BOOTSTRAP: resampling.REPLICATES_OF_A_HASH,
    SWAP: resampling.SWAPS_OF_A_HASH,
}

# The sums of one block of one slice are one element: few of them, and none above 2 MB.
_MOST_DRAWS = 1024
_MOST_BYTES = 2**21

# The weights of a tile of units for so many draws stay in a core's cache.
_DRAWS_AT_ONCE = 256


@dataclass(frozen=True)
class Block:
    """Draws of one kind that are summed together. draws: empty for the plain sum."""

    kind: str
    draws: range = range(0)

    def __len__(self) -> int:
        """How many sums it gives."""
        return len(self.draws) if self.kind != PLAIN else 1


def blocks(replicates: int, swaps: int, columns: int) -> list[Block]:
    """The plain sum, then all draws: at least as many as asked for, in the order of their numbers.

    columns: of the statistics that are summed, all systems together. What is drawn does not
    depend on how it is cut into blocks.
    """
    found = [Block(PLAIN)]
    for kind, draws in ((BOOTSTRAP, replicates), (SWAP, swaps)):
        multiple = _MULTIPLE_OF[kind]
        end = -(-draws // multiple) * multiple
        fitting = min(_MOST_DRAWS, _MOST_BYTES // (8 * max(columns, 1)))
        size = max(fitting // multiple, 1) * multiple
        found += [Block(kind, range(i, min(i + size, end))) for i in range(0, end, size)]
    return found


def block_sums(
    block: Block,
    units: hashing.Hashes,
    statistics: npt.NDArray[Any],
    lengths: Ints,
    seed: int,
) -> Ints:
    """Sums of groups of rows in every draw of a block: [groups, len(block), k].

    units: [rows]; statistics: [rows, k] integers; lengths: [groups], how many rows each group
    has (none is empty): the rows of a group stand together.
    """
    if block.kind == PLAIN:
        starts = ragged.offsets_of(lengths)[:-1]
        return np.add.reduceat(statistics, starts, axis=0)[:, None, :]
    summed = resampling.replicate_sums if block.kind == BOOTSTRAP else resampling.swap_sums
    draws = block.draws
    parts = [
        summed(units, statistics, lengths, seed, draws[i : i + _DRAWS_AT_ONCE])
        for i in range(0, len(draws), _DRAWS_AT_ONCE)
    ]
    return np.concatenate(parts, axis=1)
