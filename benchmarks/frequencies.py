"""Document frequencies of many distinct n-grams: what the exchange holds, on the local runner and
in one worker of a cluster.

    python -m benchmarks.frequencies --ngrams 100000000

Partitions ask for hashes of their own and for some that all share, through the stage of the
product. One process, the local runner, whose bundle is the whole stage. Then one bucket alone, as
a worker of a cluster adds it up.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions

import runners.direct
from scoring import document_frequencies, hashing
from scoring.metrics.tracks import MAIN
from transforms import frequencies, spill
from transforms.frequencies import REQUEST
from transforms.packets import Keyed, Packet

SHARED = 0.1
"""Of the n-grams of a partition, how many it shares with all others."""


def hashes_of(partition: int, own: int, shared: int) -> hashing.Hashes:
    """Distinct hashes: those of the partition, then those that all have."""
    first = np.uint64(1 + partition * own)
    numbers = np.arange(own, dtype=np.uint64) + first
    common = np.arange(shared, dtype=np.uint64) + np.uint64(2**62)
    return hashing.mix(np.concatenate([numbers, common]))


def requests(partition: int, own: int, shared: int, buckets: int) -> Iterator[Keyed]:
    """What a partition asks of every bucket."""
    hashes = hashes_of(partition, own, shared)
    counts = np.ones(len(hashes), np.uint32)
    asked = document_frequencies.Buckets.of([hashes], buckets)
    for bucket, request in enumerate(asked.requests([counts])):
        meta = {"partition": partition, "documents": 6000}
        narrow = request.counts.astype(np.uint8)
        arrays = {f"hashes {MAIN}": request.hashes, f"counts {MAIN}": narrow}
        yield bucket, Packet(REQUEST, meta, arrays)


def peak() -> float:
    """The largest this process has been, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ngrams", type=int, default=100_000_000)
    parser.add_argument("--partitions", type=int, default=256)
    parser.add_argument("--buckets", type=int, default=160)
    given = parser.parse_args()
    own = given.ngrams // given.partitions
    shared = round(own * SHARED)
    before = peak()
    alone = [
        packet
        for partition in range(given.partitions)
        for _, packet in [next(requests(partition, own, shared, given.buckets))]
    ]
    size = sum(packet.nbytes() for packet in alone)
    made = peak()
    asked = [
        document_frequencies.Request(p.arrays[f"hashes {MAIN}"], p.arrays[f"counts {MAIN}"])
        for p in alone
    ]
    cpu = time.process_time()
    answers, table = document_frequencies.answer(asked)
    print(
        f"one bucket of {given.buckets}: {size / 2**20:.1f} MB asked, "
        f"{time.process_time() - cpu:.2f} s CPU, {peak() - made:.0f} MB more at most "
        f"(process {peak():.0f} MB), {sum(len(a.index) for a in answers):,} answers, "
        f"{len(table.hashes):,} n-grams of frequency 2 or more"
    )
    del alone, asked, answers, table
    runners.direct.prepare()
    start, cpu = time.perf_counter(), time.process_time()
    options = PipelineOptions(["--runner=FnApiRunner"])
    with spill.opened(), beam.Pipeline(options=options) as root:
        answered = (
            root
            | "Partitions" >> beam.Create(range(given.partitions), reshuffle=False)
            | "Ask" >> beam.FlatMap(requests, own, shared, given.buckets).with_output_types(Keyed)
            | "ByBucket" >> beam.GroupByKey()
            | "Answer"
            >> beam.ParDo(frequencies._Answer({MAIN: 4}, None, None))
            .with_output_types(Keyed, **{frequencies.TABLE: Keyed})
            .with_outputs(frequencies.TABLE, main=frequencies.ANSWER)
        )
        _ = (
            answered[frequencies.ANSWER]
            | "ByPartition" >> beam.GroupByKey()
            | "Count" >> beam.MapTuple(lambda key, packets: len(list(packets)))
        )
    total = given.partitions * (own + shared)
    print(
        f"local runner: {given.partitions * own + shared:,} distinct n-grams in "
        f"{total:,} questions, {given.partitions} partitions: "
        f"{time.perf_counter() - start:.0f} s, {time.process_time() - cpu:.0f} s CPU, "
        f"process {peak():.0f} MB ({before:.0f} MB at its start), "
        f"{(peak() - before) * 2**20 / total:.0f} bytes a question"
    )


if __name__ == "__main__":
    main()
