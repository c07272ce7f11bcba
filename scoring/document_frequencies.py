"""Document frequencies: in how many examples' references an n-gram occurs.

An n-gram occurs in an example if any of the example's references holds it; hypotheses never
count (Vedantam, Zitnick and Parikh, "CIDEr", CVPR 2015, and its reference code). What crosses
between partitions is hashes, never strings.

The exchange: every partition cuts its distinct n-grams into the same buckets by hash and asks
each bucket (``requests``); a bucket adds up all requests (``answer``) and returns to every
partition the frequencies of what it asked, in the order it asked; only frequencies of at least 2
are sent, since the logarithm treats 0 and 1 alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import hashing, ragged

Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class DocumentFrequencies:
    """The frequencies of a batch's n-grams within a table of ``documents`` examples.

    by_order: for the orders 1, 2, ...: [distinct n-grams of the batch].
    """

    documents: int
    by_order: tuple[Counts, ...]


@dataclass(frozen=True)
class Request:
    """What one partition asks of one bucket.

    hashes: [n] distinct n-grams, in the partition's own order.
    counts: [n] examples of this partition whose references hold it; 0 if only hypotheses do.
    """

    hashes: hashing.Hashes
    counts: Counts


@dataclass(frozen=True)
class Answer:
    """For one request: the n-grams of frequency 2 or more.

    index: which of the request's n-grams; frequency: the sum over all requests.
    """

    index: Counts
    frequency: Counts


@dataclass(frozen=True)
class Table:
    """Hashes, in any order, and frequencies of the n-grams of one bucket of frequency 2 or more."""

    hashes: hashing.Hashes
    counts: Counts

    def fingerprint(self) -> int:
        """A sum over the n-grams modulo 2**64: the sums of buckets add up."""
        rows = hashing.extend(self.hashes, self.counts.astype(np.uint64))
        return int(np.add.reduce(rows, dtype=np.uint64))


@dataclass(frozen=True)
class Buckets:
    """The distinct n-grams of a batch in the order of buckets: how to ask and to read answers.

    hashes: for the orders 1, 2, ...: [distinct n-grams]. order: [all distinct n-grams] its number
    at every place of the requests, chained; starts: [buckets] where the request of each starts.
    """

    hashes: tuple[hashing.Hashes, ...]
    order: Ints
    starts: Ints

    @classmethod
    def of(cls, hashes: Sequence[hashing.Hashes], buckets: int) -> Buckets:
        """Cut the n-grams of all orders into buckets."""
        bucket = hashing.spread(np.concatenate(hashes), buckets)
        narrow = bucket.astype(np.uint16) if buckets <= 2**16 else bucket
        order = np.argsort(narrow, kind="stable")  # of 16 bits: a radix sort
        starts = ragged.offsets_of(np.bincount(narrow, minlength=buckets))[:-1]
        return cls(tuple(hashes), order, starts)

    def requests(self, counts: Sequence[Counts]) -> tuple[Request, ...]:
        """What to ask every bucket. counts: of every order, see ``Request.counts``."""
        hashes = np.concatenate(self.hashes)[self.order]
        of_hashes = np.concatenate(counts)[self.order]
        cuts = self.starts[1:]
        return tuple(map(Request, np.split(hashes, cuts), np.split(of_hashes, cuts)))

    def frequencies(self, documents: int, answers: Iterable[Answer]) -> DocumentFrequencies:
        """Put the answers of all buckets, in the order of the buckets, back to the n-grams."""
        flat = np.zeros(len(self.order), np.uint32)
        for start, answer in zip(self.starts.tolist(), answers):
            flat[self.order[start + answer.index.astype(np.int64)]] = answer.frequency
        ends = np.cumsum([len(of_order) for of_order in self.hashes])
        return DocumentFrequencies(documents, tuple(np.split(flat, ends[:-1])))


def answer(requests: list[Request]) -> tuple[list[Answer], Table]:
    """Add up what all partitions hold of one bucket; answer each, and return the whole."""
    hashes = np.concatenate([r.hashes for r in requests])
    counts = np.concatenate([r.counts for r in requests])
    order = _together(hashes)
    ordered = hashes[order]
    starts = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    first = np.flatnonzero(starts)
    sizes = ragged.sizes_of(first, len(ordered))
    sums = _sums(counts[order], first + sizes - 1)
    frequency = np.empty(len(hashes), np.uint32)
    frequency[order] = np.repeat(sums, sizes)
    answers = []
    end = 0
    for request in requests:
        start, end = end, end + len(request.hashes)
        own = frequency[start:end]
        index = np.flatnonzero(own >= 2).astype(np.uint32)
        answers.append(Answer(index, own[index]))
    frequent = np.flatnonzero(sums >= 2)
    return answers, Table(ordered[first[frequent]], sums[frequent])


def _sums(counts: npt.NDArray[Any], last: Ints) -> Counts:
    """Sums of runs of counts, from where the runs end."""
    total = np.cumsum(counts, dtype=np.int64)[last]
    return np.diff(total, prepend=0).astype(np.uint32)


def _together(hashes: hashing.Hashes) -> Ints:
    """An order in which equal hashes stand together."""
    bits = len(hashes).bit_length()
    # Sorting (low bits of the hash, place) as one number is four times as fast as argsort. The
    # high bits are nearly the same in a bucket, so little is lost with them.
    keys = (hashes << np.uint64(bits)) | np.arange(len(hashes), dtype=np.uint64)
    keys.sort()
    order: Ints = (keys & np.uint64((1 << bits) - 1)).astype(np.int64)
    keys >>= np.uint64(bits)
    ordered = hashes[order]
    if np.any((keys[1:] == keys[:-1]) & (ordered[1:] != ordered[:-1])):
        order = np.argsort(hashes)  # two hashes differ only in their high bits
    return order
