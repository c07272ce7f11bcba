"""n-gram counts of a whole batch of texts at once, by sorting instead of by a dictionary.

For every order one sort of 64-bit keys (number of the first n - 1 tokens, last token, position)
puts equal n-grams side by side, in the order of the texts that hold them. From there on counts,
clipped matches and document frequencies are differences of neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import hashing, ragged

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

_KEY_BITS = 63


@dataclass(frozen=True)
class NgramCounts:
    """How often every n-gram of one order occurs in every text.

    An entry is one n-gram in one text; entries are sorted by (gram, text).
    ``gram`` numbers the distinct n-grams of the batch by their tokens, first token first.
    """

    gram: Int32s  # [entries]
    text: Int32s  # [entries]
    count: Int32s  # [entries]
    hashes: hashing.Hashes  # [distinct n-grams]


def count_ngrams(
    ids: npt.NDArray[Any], offsets: Ints, vocabulary_hashes: hashing.Hashes, order: int
) -> list[NgramCounts]:
    """The counts of the orders 1 to ``order`` in the texts ``ids[offsets[i]:offsets[i + 1]]``.

    ids: [tokens], numbers below ``len(vocabulary_hashes)``.
    Grams are numbered in the order of ids, so an order of ids that does not depend on the batch
    (ours: sorted by hash) makes the order of grams independent of it too.
    """
    tokens = ids.astype(np.int64)
    texts = ragged.list_index(np.diff(offsets)).astype(np.int32)
    ends = np.repeat(offsets[1:], np.diff(offsets)).astype(np.int64)
    positions = np.arange(len(tokens), dtype=np.int64)
    prefix = np.zeros(len(tokens), np.int64)
    prefix_hashes = np.zeros(1, np.uint64)
    counts = []
    for n in range(1, order + 1):
        last = tokens[positions + (n - 1)]
        ordered, starts_gram = _sort(prefix[positions], last, positions, len(vocabulary_hashes))
        gram = (np.cumsum(starts_gram) - 1).astype(np.int32)
        text = texts[ordered]
        starts_entry = starts_gram.copy()
        starts_entry[1:] |= text[1:] != text[:-1]
        entries = np.flatnonzero(starts_entry)
        count = np.diff(entries, append=len(ordered)).astype(np.int32)
        first = ordered[starts_gram]
        hashes = hashing.extend(
            prefix_hashes[prefix[first]], vocabulary_hashes[tokens[first + (n - 1)]]
        )
        counts.append(NgramCounts(gram[entries], text[entries], count, hashes))
        prefix[ordered] = gram
        prefix_hashes = hashes
        positions = positions[positions + n < ends[positions]]
    return counts


def _sort(
    prefix: Ints, last: Ints, positions: Ints, vocabulary: int
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Positions sorted by (prefix, last, position) and where a new (prefix, last) starts."""
    position_bits = int(positions[-1]).bit_length() if len(positions) else 0
    gram = prefix * vocabulary + last
    gram_bits = (int(prefix.max(initial=0) + 1) * vocabulary).bit_length()
    if gram_bits + position_bits <= _KEY_BITS:
        keys = np.sort((gram << position_bits) | positions)
        ordered = keys & ((1 << position_bits) - 1)
        keys >>= position_bits
    else:  # a batch too large for one key: slower, the same result
        by_gram = np.argsort(gram, kind="stable")
        ordered = positions[by_gram]
        keys = gram[by_gram]
    starts = np.ones(len(keys), np.bool_)
    starts[1:] = keys[1:] != keys[:-1]
    return ordered, starts
