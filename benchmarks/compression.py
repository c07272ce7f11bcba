"""Rows between reading and joining with LZ4 and without: bytes, and the time to write and read.

    python -m benchmarks.compression --examples 24000

The tables are those of benchmarks/data.py, cut into partitions as the job cuts them. One core,
least CPU time of several repeats.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa

from benchmarks import data
from transforms import packets, read
from transforms.packets import Packet

EXAMPLES_OF_A_PARTITION = 6_000
REPEATS = 7


def least(call: Callable[[], object]) -> float:
    """The least CPU seconds of the repeats."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def encode(rows: Sequence[Packet]) -> list[bytes]:
    """The packets as they are sent."""
    return [packet.encode() for packet in rows]


def decode(encoded: Sequence[bytes]) -> int:
    """Read what the packets hold, as a join does; the rows."""
    packets_back = map(Packet.decode, encoded)
    return sum(len(table) for packet in packets_back for table in packet.tables.values())


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Measure LZ4 in packets.")
    parser.add_argument("--examples", type=int, default=24_000)
    examples = parser.parse_args().examples
    tables = data.tables(1, examples, 1)
    partitions = max(1, examples // EXAMPLES_OF_A_PARTITION)
    print("| | bytes an example | write us | read us |\n|---|--:|--:|--:|")
    for name in ("lz4", None):
        packets._IPC = pa.ipc.IpcWriteOptions(compression=name, use_threads=False)

        def made() -> list[Packet]:
            return [
                Packet("rows", tables={"rows": part})
                for table in tables
                for _, part in read.cut(table, partitions)
            ]

        rows = made()
        encoded = encode(rows)
        write = least(partial(encode, rows))
        back = least(partial(decode, encoded))
        size = sum(map(len, encoded)) / examples
        micro = 1e6 / examples
        print(f"| {name or 'none'} | {size:.0f} | {write * micro:.2f} | {back * micro:.2f} |")


if __name__ == "__main__":
    main()
