"""Makes Chinese replies of any number, the same for the same seed: references, and hypotheses of
several systems.

The words are those of jieba's dictionary with its frequencies. Every example has a hidden topic (a
list of words); its references copy spans of the topic, its hypotheses copy spans of a reference;
what is not copied is drawn anew. Everything is numpy and Arrow, block by block, so that 10
million examples need little memory. A block depends on (seed, number of the block) and a system
on its own number too: N examples are the first N of any larger set, and S systems the first S.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Ints = npt.NDArray[np.int64]

VERSION = 1
"""Raise it with every change that moves a byte: data on disk is made anew then."""

EXAMPLES_OF_A_BLOCK = 20_000  # drawn together; also the rows of a row group
BLOCKS_OF_A_SHARD = 5
EXAMPLES_OF_A_DOCUMENT = 20
REFERENCES = 3
REFERENCE_TYPES = ("A", "B", "C")
DOMAINS = ("shopping", "travel", "food", "health", "study", "weather")
DOMAIN_SHARES = (0.30, 0.22, 0.18, 0.14, 0.10, 0.06)

# Words of a reference: lognormal, 8 to 14 within one standard deviation. The deviation is the
# topic's and the reference's own together.
MEDIAN_WORDS = 10.6
SPREAD_OF_TOPICS = 0.24
SPREAD_OF_REFERENCES = 0.15
SPREAD_OF_HYPOTHESES = 0.12
LONGEST = 60

SHARE_COPIED_FROM_TOPIC = 0.7
BEST_SHARE_COPIED = 0.75  # of a reference, by the first system; each other a little less
SHARE_LOST_PER_SYSTEM = 0.04
LEAST_SHARE_COPIED = 0.3
NEW_SPAN = 0.3  # at every word: spans have 3.3 words on average
SHARE_WITH_FULL_STOP = 0.8
SHARE_OF_STOCK_REPLIES = 0.02  # of hypotheses
SHARE_OF_EMPTY = 0.001  # of hypotheses

# Not in the dictionary's frequencies: (word, share of all words).
OTHER_WORDS = (
    ("，", 0.06),
    ("、", 0.004),
    ("OK", 0.001),
    ("WiFi", 0.001),
    ("3", 0.002),
    ("2024", 0.001),
    ("98.5%", 0.0005),
    ("😊", 0.001),
)
STOPS = ("。", "！", "？", "～")
STOCK_REPLIES = ("好的。", "我不知道。", "不好意思，我没听懂。", "谢谢你！", "可以的。", "嗯嗯")

_CHINESE_WORD = re.compile("[\u4e00-\u9fd5]{1,4}")


@dataclass(frozen=True)
class Words:
    """Texts as words.

    ids: [words of all texts], places in ``Vocabulary.words``; lengths: [texts].
    """

    ids: Ints
    lengths: Ints

    @property
    def offsets(self) -> Ints:
        """Where every text starts: [texts + 1]."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.lengths)])

    def first(self, texts: int) -> Words:
        """The first texts."""
        return Words(self.ids[: self.offsets[texts]], self.lengths[:texts])


@dataclass(frozen=True)
class Vocabulary:
    """All words, the drawn ones first, from the most to the least frequent.

    cumulative: [drawn words], ends at 1. stops, stock: places of the full stops and stock replies.
    """

    words: pa.Array
    cumulative: npt.NDArray[np.float64]
    stops: range
    stock: range

    def draw(self, rng: np.random.Generator, number: int) -> Ints:
        """Words by their frequency: [number]."""
        found = np.searchsorted(self.cumulative, rng.random(number), side="right")
        return np.minimum(found, len(self.cumulative) - 1)

    def texts(self, words: Words) -> pa.Array:
        """The words of every text one after the other, without blanks: [texts] strings."""
        taken = self.words.take(pa.array(words.ids))
        if len(taken) == 0:
            return pa.array([""] * len(words.lengths), pa.string())
        _, offsets, data = taken.buffers()
        ends = np.frombuffer(offsets, np.int32, len(taken) + 1)[words.offsets]
        return pa.StringArray.from_buffers(len(words.lengths), pa.py_buffer(ends.copy()), data)


@cache
def vocabulary() -> Vocabulary:
    """The dictionary that comes with jieba: its words of 1 to 4 Chinese characters."""
    lines = files("jieba").joinpath("dict.txt").read_text("utf-8").splitlines()
    fields = (line.split(" ") for line in lines)
    counts = {f[0]: int(f[1]) for f in fields if _CHINESE_WORD.fullmatch(f[0]) and int(f[1]) > 0}
    total = sum(counts.values()) / (1 - sum(share for _, share in OTHER_WORDS))
    shares = {word: count / total for word, count in counts.items()} | dict(OTHER_WORDS)
    drawn = sorted(shares, key=lambda word: (-shares[word], word))
    stops = range(len(drawn), len(drawn) + len(STOPS))
    cumulative = np.cumsum([shares[word] for word in drawn])
    return Vocabulary(
        words=pa.array([*drawn, *STOPS, *STOCK_REPLIES], pa.string()),
        cumulative=cumulative / cumulative[-1],
        stops=stops,
        stock=range(stops.stop, stops.stop + len(STOCK_REPLIES)),
    )


def example_ids(start: int, stop: int) -> pa.Array:
    """The names of examples, such as ``duck_000001``."""
    return pa.array([f"duck_{i:06d}" for i in range(start, stop)], pa.string())


def system_names(systems: int) -> list[str]:
    """The names of systems: ``s00``, ``s01``, ..."""
    return [f"s{i:02d}" for i in range(systems)]


def block(seed: int, number: int, systems: int, examples: int) -> tuple[pa.Table, pa.Table]:
    """Hypotheses and references of the first examples of one block.

    Hypotheses stand in another order than references, systems mixed.
    """
    start = number * EXAMPLES_OF_A_BLOCK
    ids = example_ids(start, start + examples)
    references = _references(np.random.default_rng([seed, number, 0]))
    parts = []
    for system, name in enumerate(system_names(systems)):
        rng = np.random.default_rng([seed, number, 1 + system])
        words = _hypotheses(rng, references, system).first(examples)
        parts.append(
            pa.table(
                {
                    "example_id": ids,
                    "system": pa.array([name] * examples, pa.string()),
                    "text": vocabulary().texts(words),
                }
            )
        )
    hypotheses = pa.concat_tables(parts).combine_chunks()
    mixed = np.random.default_rng([seed, number, systems, examples]).permutation(len(hypotheses))
    return hypotheses.take(pa.array(mixed)), _reference_table(seed, number, ids, references)


def tables(seed: int, examples: int, systems: int) -> tuple[pa.Table, pa.Table]:
    """Hypotheses and references of the first examples, in memory."""
    parts = [block(seed, n, systems, size) for n, size in _blocks(0, examples)]
    hypotheses, references = zip(*parts)
    return pa.concat_tables(hypotheses), pa.concat_tables(references)


@dataclass(frozen=True)
class Dataset:
    """Data on disk. ``characters`` are those of all texts, ``text_bytes`` their UTF-8 bytes."""

    version: int
    seed: int
    examples: int
    systems: int
    shards: int
    characters: int
    text_bytes: int


def make(
    directory: Path, examples: int, systems: int, seed: int = 1, processes: int = 1
) -> Dataset:
    """Write ``hypotheses/`` and ``references/`` into the directory, unless they are there already.

    What else stands in these two folders is removed.
    """
    if examples < 1 or systems < 1:
        raise ValueError("at least one example and one system are needed")
    manifest = directory / "data.json"
    shards = -(-examples // (EXAMPLES_OF_A_BLOCK * BLOCKS_OF_A_SHARD))
    if manifest.exists():
        found = Dataset(**json.loads(manifest.read_text("utf-8")))
        asked = (VERSION, seed, examples, systems)
        same = (found.version, found.seed, found.examples, found.systems) == asked
        if same and len(list(directory.glob("*/part-*.parquet"))) == 2 * shards:
            return found
        manifest.unlink()
    for folder in ("hypotheses", "references"):
        shutil.rmtree(directory / folder, ignore_errors=True)
        (directory / folder).mkdir(parents=True)
    write = partial(_write_shard, directory, examples, systems, seed)
    if processes > 1:
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            sizes = list(pool.map(write, range(shards)))
    else:
        sizes = [write(shard) for shard in range(shards)]
    characters, text_bytes = (sum(column) for column in zip(*sizes))
    made = Dataset(VERSION, seed, examples, systems, shards, characters, text_bytes)
    manifest.write_text(json.dumps(asdict(made), indent=1), "utf-8")
    return made


def _blocks(first: int, examples: int) -> Iterator[tuple[int, int]]:
    """(block, examples of it) of all blocks from the first on that the examples reach into."""
    number = first
    while number * EXAMPLES_OF_A_BLOCK < examples:
        yield number, min(EXAMPLES_OF_A_BLOCK, examples - number * EXAMPLES_OF_A_BLOCK)
        number += 1


def _write_shard(
    directory: Path, examples: int, systems: int, seed: int, shard: int
) -> tuple[int, int]:
    """Write one file of each folder; returns characters and bytes of its texts."""
    first = shard * BLOCKS_OF_A_SHARD
    last = min(examples, (first + BLOCKS_OF_A_SHARD) * EXAMPLES_OF_A_BLOCK)
    writers: dict[str, pq.ParquetWriter] = {}
    characters = text_bytes = 0
    for number, size in _blocks(first, last):
        for folder, table in zip(("hypotheses", "references"), block(seed, number, systems, size)):
            if folder not in writers:
                path = directory / folder / f"part-{shard:05d}.parquet"
                writers[folder] = pq.ParquetWriter(path, table.schema, compression="zstd")
            writers[folder].write_table(table, row_group_size=EXAMPLES_OF_A_BLOCK)
            texts = "text" if folder == "hypotheses" else "references"
            for chunk in table.column(texts).chunks:
                strings = chunk if folder == "hypotheses" else chunk.flatten()
                characters += _sum_of(pc.utf8_length(strings))
                text_bytes += _sum_of(pc.binary_length(strings))
    for writer in writers.values():
        writer.close()
    return characters, text_bytes


def _sum_of(column: pa.Array) -> int:
    return int(pc.sum(column).as_py() or 0)


def _reference_table(seed: int, number: int, ids: pa.Array, words: Words) -> pa.Table:
    n = len(ids)
    texts = vocabulary().texts(words.first(n * REFERENCES))
    ends = pa.array(np.arange(0, n * REFERENCES + 1, REFERENCES, dtype=np.int32))
    types = pa.array(list(REFERENCE_TYPES) * n, pa.string())
    # A document has one domain. All documents of the block are drawn, whatever n is.
    documents = EXAMPLES_OF_A_BLOCK // EXAMPLES_OF_A_DOCUMENT
    rng = np.random.default_rng([seed, number, 0, 0])
    domains = rng.choice(len(DOMAINS), documents, p=DOMAIN_SHARES)
    document = np.arange(n) // EXAMPLES_OF_A_DOCUMENT
    names = pa.array([f"pond_{number * documents + d:05d}" for d in range(documents)], pa.string())
    return pa.table(
        {
            "example_id": ids,
            "references": pa.ListArray.from_arrays(ends, texts),
            "reference_types": pa.ListArray.from_arrays(ends, types),
            "domain": pa.array(DOMAINS, pa.string()).take(pa.array(domains[document])),
            "document": names.take(pa.array(document)),
        }
    )


def _references(rng: np.random.Generator) -> Words:
    """The references of all examples of a block, those of an example together."""
    n = EXAMPLES_OF_A_BLOCK
    about = _lengths(rng, np.full(n, MEDIAN_WORDS), SPREAD_OF_TOPICS)
    topics = Words(vocabulary().draw(rng, int(about.sum())), about)
    source = np.repeat(np.arange(n), REFERENCES)
    lengths = _lengths(rng, about[source], SPREAD_OF_REFERENCES)
    words = _copy(rng, topics, source, lengths, SHARE_COPIED_FROM_TOPIC)
    return _with_stops(rng, words)


def _hypotheses(rng: np.random.Generator, references: Words, system: int) -> Words:
    """One hypothesis for every example of a block."""
    n = EXAMPLES_OF_A_BLOCK
    share = max(BEST_SHARE_COPIED - SHARE_LOST_PER_SYSTEM * system, LEAST_SHARE_COPIED)
    source = np.arange(n) * REFERENCES + rng.integers(0, REFERENCES, n)
    lengths = _lengths(rng, references.lengths[source], SPREAD_OF_HYPOTHESES)
    kind = rng.random(n)
    stock = kind < SHARE_OF_STOCK_REPLIES
    lengths[stock] = 1
    lengths[kind > 1 - SHARE_OF_EMPTY] = 0
    words = _with_stops(rng, _copy(rng, references, source, lengths, share))
    words.ids[words.offsets[:-1][stock]] = rng.choice(vocabulary().stock, int(stock.sum()))
    return words


def _lengths(rng: np.random.Generator, median: npt.NDArray[Any], spread: float) -> Ints:
    drawn = np.rint(median * np.exp(rng.normal(0, spread, len(median)))).astype(np.int64)
    lengths: Ints = np.clip(drawn, 1, LONGEST)
    return lengths


def _copy(
    rng: np.random.Generator, source: Words, texts: Ints, lengths: Ints, share: float
) -> Words:
    """Texts of the given lengths, the share of whose spans is copied from the source texts.

    texts: [new texts], which of the source's texts each copies from. A copied span may have moved
    by one word.
    """
    total = int(lengths.sum())
    text = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    span = np.cumsum((place == 0) | (rng.random(total) < NEW_SPAN)) - 1
    spans = total  # at most; drawn in full, so that what follows does not depend on how many
    copied = rng.random(spans) < share
    moved = rng.integers(-1, 2, spans)
    at = place + moved[span]
    inside = copied[span] & (at >= 0) & (at < source.lengths[texts][text])
    ids = vocabulary().draw(rng, total)
    ids[inside] = source.ids[(source.offsets[:-1][texts][text] + at)[inside]]
    return Words(ids, lengths)


def _with_stops(rng: np.random.Generator, words: Words) -> Words:
    """A full stop as the last word of most texts."""
    ended = (rng.random(len(words.lengths)) < SHARE_WITH_FULL_STOP) & (words.lengths > 0)
    stops = vocabulary().stops
    words.ids[words.offsets[1:][ended] - 1] = rng.choice(stops, int(ended.sum()))
    return words


def main() -> None:
    """``python -m benchmarks.data --examples 50000 --output DIR``"""
    parser = argparse.ArgumentParser(description="Make benchmark data.")
    parser.add_argument("--examples", type=int, required=True)
    parser.add_argument("--systems", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    made = make(options.output, options.examples, options.systems, options.seed, options.processes)
    print(json.dumps(asdict(made)))


if __name__ == "__main__":
    main()
