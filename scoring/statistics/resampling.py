"""Bootstrap weights and swaps without a random number generator, and weighted sums of statistics.

The Poisson bootstrap (Hanley and MacGibbon, 2006; Chamandy et al., "Estimating uncertainty for
massive data streams", Google, 2012) gives every unit an independent Poisson(1) weight in every
replicate, instead of drawing n of n units. Here the weight is a pure function of (seed, unit,
replicate): the bits of one counter-based hash, cut into 16-bit draws for four replicates. So the
weights do not depend on partitions, order, retries, or on what else is evaluated.

Approximate randomisation (Noreen, "Computer-intensive methods for testing hypotheses", 1989)
swaps what two systems gave for a unit, or does not, by one fair bit of (seed, unit, trial): 64
trials from one hash, of a stream of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import hashing, ragged

Ints = npt.NDArray[np.int64]

REPLICATES_OF_A_HASH = 4

SWAPS_OF_A_HASH = 64

_DRAW_BITS = 16

POISSON_COUNTS = (24107, 24113, 12055, 4017, 1004, 201, 33, 5, 1)
"""Of 65,536 equally likely draws, how many give the weight 0, 1, 2, ...

65,536 times the Poisson(1) probabilities, rounded so that mean and variance are exactly 1.
"""

_THRESHOLDS = tuple(int(t) for t in np.cumsum(POISSON_COUNTS)[:-1])
_LARGEST_WEIGHT = len(POISSON_COUNTS) - 1

# 512 units x 256 draws: hashes 256 KB, weights as float32 512 KB: within a core's cache.
_UNITS_OF_A_TILE = 512
_DRAWS_OF_A_TILE = 256

# Integers up to 2**24 are exact in float32, whose products take half the time of float64's.
_EXACT_BITS = 24
_LARGEST_STATISTIC = 2**50


@dataclass(frozen=True)
class _Draw:
    """How weights are drawn. largest: of the weights; salt: its stream of hashes.

    weights: (units [n], constants [c]) -> [n, of_a_hash * c].
    """

    salt: int
    of_a_hash: int
    largest: int
    weights: Callable[[hashing.Hashes, hashing.Hashes], npt.NDArray[np.uint8]]

    def constants(self, seed: int, draws: range) -> hashing.Hashes:
        """One for every hash of the range, whose ends must be multiples of ``of_a_hash``."""
        if draws.start % self.of_a_hash or draws.stop % self.of_a_hash:
            raise ValueError(f"ends of {draws} are not multiples of {self.of_a_hash}")
        first, last = draws.start // self.of_a_hash, draws.stop // self.of_a_hash
        start = np.uint64(hashing.hash_number(seed, self.salt))
        return hashing.mix(start + np.arange(first, last, dtype=np.uint64) * np.uint64(2**33 + 1))


def stream(seed: int, replicates: range) -> hashing.Hashes:
    """One constant for every four replicates of the range, whose ends must be multiples of 4."""
    return _POISSON.constants(seed, replicates)


def swap_stream(seed: int, trials: range) -> hashing.Hashes:
    """One constant for every 64 trials of the range, whose ends must be multiples of 64.

    Other ones than the replicates' under the same seed: a swap tells nothing of a weight.
    """
    return _SWAP.constants(seed, trials)


def round_up(draws: int, of_a_hash: int = REPLICATES_OF_A_HASH) -> int:
    """The next multiple of what one hash draws."""
    return -(-draws // of_a_hash) * of_a_hash


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


def swaps(units: hashing.Hashes, constants: hashing.Hashes) -> npt.NDArray[np.uint8]:
    """1 where a unit is swapped in a trial, else 0: [units, 64 * constants]."""
    hashes = hashing.mix(units[:, None] + constants[None, :])
    octets = hashes.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")


_POISSON = _Draw(0, REPLICATES_OF_A_HASH, _LARGEST_WEIGHT, weights)
_SWAP = _Draw(1, SWAPS_OF_A_HASH, 1, swaps)


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
    Returns [groups, replicates, k], exact. Raises OverflowError for a statistic above 2**50.
    """
    return _drawn_sums(_POISSON, units, statistics, lengths, seed, replicates)


def swap_sums(
    units: hashing.Hashes,
    statistics: npt.NDArray[Any],
    lengths: Ints,
    seed: int,
    trials: range,
) -> Ints:
    """Sums of the statistics of those rows of groups whose unit is swapped, in every trial.

    units, statistics, lengths: see ``replicate_sums``. For two systems with the sums S_A, S_B and
    the swapped sums R_A, R_B of a trial, A has S_A - R_A + R_B after the swap and B the rest.
    Returns [groups, trials, k], exact. Raises OverflowError for a statistic above 2**50.
    """
    return _drawn_sums(_SWAP, units, statistics, lengths, seed, trials)


def _drawn_sums(
    draw: _Draw,
    units: hashing.Hashes,
    statistics: npt.NDArray[Any],
    lengths: Ints,
    seed: int,
    draws: range,
) -> Ints:
    constants = draw.constants(seed, draws)
    bits = _EXACT_BITS - (_UNITS_OF_A_TILE * draw.largest - 1).bit_length()
    step = _DRAWS_OF_A_TILE // draw.of_a_hash
    sums = np.zeros((len(lengths), statistics.shape[1], len(draws)), np.int64)
    drawn = np.empty((_UNITS_OF_A_TILE, _DRAWS_OF_A_TILE), np.float32)
    for group, rows in _tiles(lengths):
        _check_sizes(statistics, rows)
        limbs = _limbs(statistics[rows], bits)
        values = np.concatenate([limb.values for limb in limbs])
        for first in range(0, len(constants), step):
            some = constants[first : first + step]
            columns = slice(first * draw.of_a_hash, (first + len(some)) * draw.of_a_hash)
            part = drawn[: rows.stop - rows.start, : columns.stop - columns.start]
            np.copyto(part, draw.weights(units[rows], some))
            product = (values @ part).astype(np.int64)
            start = 0
            for limb in limbs:
                end = start + len(limb.values)
                sums[group, limb.columns, columns] += product[start:end] << limb.shift
                start = end
    by_draw: Ints = sums.transpose(0, 2, 1)
    return by_draw


def _tiles(lengths: Ints) -> Iterator[tuple[int, slice]]:
    """(group, rows) small enough for the cache and for exact sums."""
    offsets = ragged.offsets_of(lengths)
    for group, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        for first in range(start, stop, _UNITS_OF_A_TILE):
            yield group, slice(first, min(first + _UNITS_OF_A_TILE, stop))


def _check_sizes(statistics: npt.NDArray[Any], rows: slice) -> None:
    too_large = (np.abs(statistics[rows]) > _LARGEST_STATISTIC).any(axis=1)
    if too_large.any():
        row = rows.start + int(too_large.argmax())
        raise OverflowError(f"a statistic of row {row} is too large for exact sums")


@dataclass(frozen=True)
class _Limb:
    """values [columns, rows], to be multiplied by 2**shift, of these columns of statistics."""

    columns: slice | npt.NDArray[np.intp]
    shift: int
    values: npt.NDArray[np.float32]


def _limbs(statistics: npt.NDArray[Any], bits: int) -> list[_Limb]:
    """Statistics [rows, k] as a sum of limbs of at most 2**bits each, all but the highest of a
    column not negative."""
    rest = np.ascontiguousarray(statistics.T, np.int64)
    columns: slice | npt.NDArray[np.intp] = slice(None)
    limbs: list[_Limb] = []
    while True:
        shift = bits * len(limbs)
        large = np.flatnonzero(np.abs(rest).max(axis=1, initial=0) > 2**bits)
        values = rest.astype(np.float32)
        values[large] = rest[large] & (2**bits - 1)
        limbs.append(_Limb(columns, shift, values))
        if not len(large):
            return limbs
        columns = large if isinstance(columns, slice) else columns[large]
        rest = rest[large] >> bits
