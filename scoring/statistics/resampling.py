"""Bootstrap weights without a random number generator, and weighted sums of statistics.

The Poisson bootstrap (Hanley and MacGibbon, 2006; Chamandy et al., "Estimating uncertainty for
massive data streams", Google, 2012) gives every unit an independent Poisson(1) weight in every
replicate, instead of drawing n of n units. Here the weight is a pure function of (seed, unit,
replicate): the bits of one counter-based hash, cut into 16-bit draws for four replicates. So the
weights do not depend on partitions, order, retries, or on what else is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import hashing, ragged

Ints = npt.NDArray[np.int64]

REPLICATES_OF_A_HASH = 4

_DRAW_BITS = 16

POISSON_COUNTS = (24107, 24113, 12055, 4017, 1004, 201, 33, 5, 1)
"""Of 65,536 equally likely draws, how many give the weight 0, 1, 2, ...

65,536 times the Poisson(1) probabilities, rounded so that mean and variance are exactly 1.
"""

_THRESHOLDS = tuple(int(t) for t in np.cumsum(POISSON_COUNTS)[:-1])
_LARGEST_WEIGHT = len(POISSON_COUNTS) - 1

# 512 units x 256 replicates: hashes 256 KB, weights as float64 1 MB: within a core's cache.
_UNITS_OF_A_TILE = 512
_EXACT = 2**53


def stream(seed: int, replicates: range) -> hashing.Hashes:
    """One constant for every four replicates of the range, whose ends must be multiples of 4."""
    if replicates.start % REPLICATES_OF_A_HASH or replicates.stop % REPLICATES_OF_A_HASH:
        raise ValueError(f"ends of {replicates} are not multiples of {REPLICATES_OF_A_HASH}")
    first = replicates.start // REPLICATES_OF_A_HASH
    last = replicates.stop // REPLICATES_OF_A_HASH
    start = np.uint64(hashing.hash_number(seed))
    return hashing.mix(start + np.arange(first, last, dtype=np.uint64) * np.uint64(2**33 + 1))


def round_up(replicates: int) -> int:
    """The next multiple of what one hash draws."""
    return -(-replicates // REPLICATES_OF_A_HASH) * REPLICATES_OF_A_HASH


def weights(units: hashing.Hashes, constants: hashing.Hashes) -> npt.NDArray[np.uint8]:
    """The weight of every unit in every replicate: [units, 4 * constants]."""
    hashes = hashing.mix(units[:, None] + constants[None, :])
    draws = hashes.astype("<u8", copy=False).view("<u2")
    # Eight comparisons of whole vectors are faster than a look-up of every draw.
    result = np.zeros(draws.shape, np.uint8)
    above = np.empty(draws.shape, np.bool_)
    for threshold in _THRESHOLDS:
        np.greater_equal(draws, threshold, out=above)
        np.add(result, above.view(np.uint8), out=result)
    return result


def replicate_sums(
    units: hashing.Hashes,
    statistics: npt.NDArray[Any],
    lengths: Ints,
    seed: int,
    replicates: range,
) -> Ints:
    """Weighted sums of the statistics of groups of rows in every replicate.

    units: [rows]; statistics: [rows, k] integers; lengths: [groups], how many rows each group
    has: the rows of a group stand together.
    Returns [groups, replicates, k]. Exact: products and sums are integers below 2**53.
    Raises OverflowError for a row with a statistic above 2**50.
    """
    constants = stream(seed, replicates)
    values = statistics.astype(np.float64).T
    sums = np.zeros((len(lengths), statistics.shape[1], len(replicates)), np.int64)
    drawn = np.empty((_UNITS_OF_A_TILE, len(replicates)))
    for group, rows in _tiles(statistics, lengths):
        part = drawn[: rows.stop - rows.start]
        np.copyto(part, weights(units[rows], constants))
        sums[group] += (values[:, rows] @ part).astype(np.int64)
    by_replicate: Ints = sums.transpose(0, 2, 1)
    return by_replicate


def _tiles(statistics: npt.NDArray[Any], lengths: Ints) -> Iterator[tuple[int, slice]]:
    """(group, rows) small enough for the cache and for exact sums."""
    offsets = ragged.offsets_of(lengths)
    for group, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        while start < stop:
            end = min(start + _UNITS_OF_A_TILE, stop)
            while _may_overflow(statistics[start:end]):
                if end == start + 1:
                    raise OverflowError(f"a statistic of row {start} is too large for exact sums")
                end = start + (end - start) // 2
            yield group, slice(start, end)
            start = end


def _may_overflow(statistics: npt.NDArray[Any]) -> bool:
    largest = np.abs(statistics).max(initial=0)
    return bool(float(largest) * len(statistics) * _LARGEST_WEIGHT > _EXACT)
