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

_KEY_BITS = 63
_STOP = -1


@dataclass(frozen=True)
class NgramCounts:
    """How often every n-gram of one order occurs in every text.

    An entry is one n-gram in one text; entries are sorted by (gram, text).
    ``gram`` numbers the distinct n-grams of the batch by their tokens, first token first.
    """

    gram: Ints  # [entries]
    text: Ints  # [entries]
    count: Ints  # [entries]
    hashes: hashing.Hashes  # [distinct n-grams]


def count_ngrams(
    ids: npt.NDArray[Any], lengths: Ints, vocabulary_hashes: hashing.Hashes, order: int
) -> list[NgramCounts]:
    """The counts of the orders 1 to ``order`` in texts of the given lengths.

    ids: [tokens of all texts], numbers below ``len(vocabulary_hashes)``.
    Grams are numbered in the order of ids, so an order of ids that does not depend on the batch
    (ours: sorted by hash) makes the order of grams independent of it too.
    """
    # A stop after every text ends the n-grams that would run into the next one.
    texts = ragged.list_index(lengths + 1)
    tokens = np.full(len(texts), _STOP, np.int64)
    is_token = np.ones(len(texts), np.bool_)
    is_token[ragged.offsets_of(lengths + 1)[1:] - 1] = False
    tokens[is_token] = ids
    # The n-grams so far, sorted by (gram, position): where they start, their first n - 1 tokens.
    positions = np.flatnonzero(is_token)
    prefix = np.zeros(len(positions), np.int64)
    prefix_hashes = np.zeros(1, np.uint64)
    counts = []
    for n in range(1, order + 1):
        last = tokens[positions + (n - 1)]
        if n > 1:
            goes_on = last != _STOP
            positions, prefix, last = positions[goes_on], prefix[goes_on], last[goes_on]
        positions, starts = _sort(prefix, last, positions, len(vocabulary_hashes))
        first = np.flatnonzero(starts)
        gram = ragged.list_index(ragged.sizes_of(first, len(positions)))
        text = texts[positions]
        starts_entry = starts.copy()
        starts_entry[1:] |= text[1:] != text[:-1]
        # Sorting moved positions only within a prefix, so prefix is in the new order too.
        hashes = hashing.extend(
            prefix_hashes[prefix[first]], vocabulary_hashes[tokens[positions[first] + (n - 1)]]
        )
        entries = np.flatnonzero(starts_entry)
        if len(entries) == len(gram):
            counts.append(NgramCounts(gram, text, np.ones(len(gram), np.int64), hashes))
        else:
            count = ragged.sizes_of(entries, len(gram))
            counts.append(NgramCounts(gram[entries], text[entries], count, hashes))
        prefix, prefix_hashes = gram, hashes
    return counts


def _sort(
    prefix: Ints, last: Ints, positions: Ints, vocabulary: int
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Positions sorted by (prefix, last, position) and where a new (prefix, last) starts.

    prefix: ascending.
    """
    position_bits = int(positions.max(initial=0)).bit_length()
    last_bits = max(vocabulary - 1, 0).bit_length()
    prefix_bits = int(prefix[-1]).bit_length() if len(prefix) else 0
    gram = prefix << last_bits
    gram |= last
    if prefix_bits + last_bits + position_bits <= _KEY_BITS:
        gram <<= position_bits
        gram |= positions
        gram.sort()
        ordered = gram & ((1 << position_bits) - 1)
        gram >>= position_bits
    else:  # a batch too large for one key: slower, the same result
        by_gram = np.lexsort((positions, gram))
        ordered = positions[by_gram]
        gram = gram[by_gram]
    starts = np.ones(len(gram), np.bool_)
    np.not_equal(gram[1:], gram[:-1], out=starts[1:])
    return ordered, starts
