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

from collections.abc import Iterable
from dataclasses import dataclass

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
    """Hashes (ascending) and frequencies of all n-grams of one bucket that references hold."""

    hashes: hashing.Hashes
    counts: Counts

    def fingerprint(self) -> int:
        """A sum below 2**64 over the n-grams of frequency 2 or more: adds over buckets."""
        kept = self.counts >= 2
        rows = hashing.extend(self.hashes[kept], self.counts[kept].astype(np.uint64))
        return int(np.add.reduce(rows, dtype=np.uint64))


@dataclass(frozen=True)
class Buckets:
    """The distinct n-grams of a batch in the order of buckets: how to ask and to read answers."""

    requests: tuple[Request, ...]
    order: Ints  # [all distinct n-grams]: its number at every place of the requests, chained
    sizes: tuple[int, ...]  # distinct n-grams of the orders 1, 2, ...

    def frequencies(self, documents: int, answers: Iterable[Answer]) -> DocumentFrequencies:
        """Put the answers of all buckets, in the order of the buckets, back to the n-grams."""
        starts = ragged.offsets_of(np.array([len(r.hashes) for r in self.requests]))
        flat = np.zeros(len(self.order), np.uint32)
        for start, answer in zip(starts.tolist(), answers):
            flat[self.order[start + answer.index.astype(np.int64)]] = answer.frequency
        return DocumentFrequencies(
            documents, tuple(np.split(flat, np.cumsum(self.sizes)[:-1].astype(np.int64)))
        )


def document_counts(
    gram: npt.NDArray[np.int32], example: Ints, is_reference: npt.NDArray[np.bool_], grams: int
) -> Counts:
    """In how many examples' references every n-gram occurs.

    gram, example, is_reference: [entries], sorted by (gram, example). Returns [grams].
    """
    gram = gram[is_reference]
    example = example[is_reference]
    first = np.ones(len(gram), np.bool_)
    first[1:] = (gram[1:] != gram[:-1]) | (example[1:] != example[:-1])
    return np.bincount(gram[first], minlength=grams).astype(np.uint32)


def into_buckets(hashes: list[hashing.Hashes], counts: list[Counts], buckets: int) -> Buckets:
    """Cut the n-grams of all orders into buckets.

    hashes, counts: for every order [distinct n-grams], see ``document_counts``.
    """
    flat_hashes = np.concatenate(hashes)
    flat_counts = np.concatenate(counts)
    bucket = hashing.spread(flat_hashes, buckets)
    narrow = bucket.astype(np.uint16) if buckets <= 2**16 else bucket
    order = np.argsort(narrow, kind="stable")  # of 16 bits: a radix sort
    cuts = np.cumsum(np.bincount(bucket, minlength=buckets))[:-1]
    return Buckets(
        requests=tuple(
            Request(h, c)
            for h, c in zip(np.split(flat_hashes[order], cuts), np.split(flat_counts[order], cuts))
        ),
        order=order,
        sizes=tuple(len(h) for h in hashes),
    )


def answer(requests: list[Request]) -> tuple[list[Answer], Table]:
    """Add up what all partitions hold of one bucket; answer each, and return the whole."""
    hashes = np.concatenate([r.hashes for r in requests])
    counts = np.concatenate([r.counts for r in requests])
    by_hash = np.argsort(hashes)
    ordered = hashes[by_hash]
    starts = np.ones(len(ordered), np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    first = np.flatnonzero(starts)
    sums = (
        np.add.reduceat(counts[by_hash].astype(np.uint32), first)
        if len(first)
        else np.zeros(0, np.uint32)
    )
    frequency = np.empty(len(hashes), np.uint32)
    frequency[by_hash] = np.repeat(sums, np.diff(first, append=len(ordered)))
    answers = []
    end = 0
    for request in requests:
        start, end = end, end + len(request.hashes)
        own = frequency[start:end]
        index = np.flatnonzero(own >= 2).astype(np.uint32)
        answers.append(Answer(index, own[index]))
    held = sums > 0
    return answers, Table(ordered[first][held], sums[held])
