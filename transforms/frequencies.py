"""Stage 7: document frequencies, exchanged by hash bucket. No worker ever holds the whole table.

Partitions ask every bucket (``REQUEST``), a bucket adds up and answers every partition
(``ANSWER``); scoring/document_frequencies.py has the arithmetic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa

from schemas import tables
from schemas.errors import InputError
from scoring import document_frequencies as frequencies
from scoring import hashing
from scoring.evaluation import document_buckets, document_requests
from scoring.segments import SegmentTokens
from transforms import create, files, progress, stopwatch
from transforms.packets import Keyed, Packet, of_kind
from transforms.stopwatch import TOOK, Stopwatch
from transforms.tokens import from_packet

REQUEST = "request"
ANSWER = "answer"
TABLE = "table"

TABLE_FILE = "table.json"
_TABLE_PARTITION = -1


@dataclass(frozen=True)
class SavedTable:
    """A saved table of document frequencies: what its ``table.json`` says."""

    path: str
    order: int
    documents: int
    recipe: str
    fingerprint: str
    parts: tuple[str, ...]

    @classmethod
    def load(cls, path: str, order: int, recipe: str) -> SavedTable:
        """Read ``table.json``. Raises InputError if it is none, or was made in another way."""
        path = files.absolute(path)
        name = files.join(path, TABLE_FILE)
        try:
            saved = json.loads(files.read_bytes(name))
            table = cls(
                path,
                saved["order"],
                saved["documents"],
                saved["recipe"],
                saved["fingerprint"],
                tuple(saved["parts"]),
            )
            version = saved["hash"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"--document_frequencies {path}: no table of document frequencies: {error}.\n"
                "Expected a folder written by --save_document_frequencies."
            ) from error
        for what, found, expected in (
            ("hash", version, hashing.HASH_VERSION),
            ("n-gram order", table.order, order),
            ("text recipe", table.recipe, recipe),
        ):
            if found != expected:
                raise InputError(
                    f"--document_frequencies {path}: its {what} is {found}, this run's is "
                    f"{expected}.\nScores by it would mean something else. Use the same settings "
                    "as when it was saved, or save a new table."
                )
        absent = sorted(set(table.parts) - set(files.listing(path)))
        if absent:
            raise InputError(
                f"--document_frequencies {path}: {absent[0]} is not there, though {TABLE_FILE} "
                "names it.\nCopy the whole folder again, or save a new table."
            )
        return table

    def check(self, fingerprint: str) -> None:
        """Raise InputError unless the rows that were read have the fingerprint of the table."""
        if fingerprint != self.fingerprint:
            raise InputError(
                f"--document_frequencies {self.path}: its rows have the fingerprint {fingerprint}, "
                f"but {TABLE_FILE} says {self.fingerprint}: files of two tables are mixed, or one "
                "is damaged.\nCopy the whole folder again, or save a new table."
            )

    def write(self) -> int:
        """Write ``table.json``, which makes the table complete; its size."""
        saved = {
            "hash": hashing.HASH_VERSION,
            "order": self.order,
            "documents": self.documents,
            "recipe": self.recipe,
            "fingerprint": self.fingerprint,
            "parts": list(self.parts),
        }
        data = json.dumps(saved, indent=1, ensure_ascii=False).encode()
        return files.write_bytes(files.join(self.path, TABLE_FILE), data)


@dataclass
class DocumentFrequencies(beam.PTransform):  # type: ignore[misc]
    """(partition, tokens) -> main: (partition, answer); ``TABLE``: (0, a bucket's fingerprints).

    orders: track -> n-grams up to it. saved: track -> a table to use instead of the run's own;
    None for the run's own. save: track -> a folder to write the run's own to, one file a bucket.
    The tracks share elements but no n-gram: every one has arrays of its own.
    """

    orders: Mapping[str, int]
    buckets: int
    saved: Mapping[str, SavedTable] | None = None
    save: Mapping[str, str] | None = None

    def expand(self, tokens: beam.PCollection[Keyed]) -> beam.pvalue.DoOutputsTuple:
        requests = tokens | "Ask" >> beam.ParDo(
            _Ask(self.orders, self.buckets, self.saved is not None)
        ).with_output_types(Keyed)
        # Flattened only if there is something to add: the local runner copies what it flattens.
        if self.saved is not None:
            names = [
                (track, files.join(table.path, part))
                for track, table in self.saved.items()
                for part in table.parts
            ]
            table = (
                tokens.pipeline
                | "TableFiles" >> create.Create(names, tuple[str, str])
                | "SpreadFiles" >> beam.Reshuffle()
                | "ReadTable" >> beam.ParDo(_ReadTable(self.buckets)).with_output_types(Keyed)
            )
            requests = (requests, table) | "Flatten" >> beam.Flatten()
        return (
            requests
            | "ByBucket" >> beam.GroupByKey()
            | "Answer"
            >> beam.ParDo(_Answer(self.orders, self.saved, self.save))
            .with_output_types(Keyed, **{TABLE: Keyed})
            .with_outputs(TABLE, main=ANSWER)
        )


class _Ask(beam.DoFn):  # type: ignore[misc]
    def __init__(self, orders: Mapping[str, int], buckets: int, frozen: bool) -> None:
        self._orders, self._buckets, self._frozen = orders, buckets, frozen

    def process(self, element: Keyed) -> Iterator[Keyed]:
        watch = Stopwatch()
        partition, packet = element
        examples, tracks = from_packet(packet)
        asked = [
            document_requests(tracks[track], document_buckets(tracks[track], order, self._buckets))
            for track, order in self._orders.items()
        ]
        took = watch.lap()
        for bucket, of_tracks in enumerate(zip(*asked)):
            arrays: dict[str, np.ndarray] = {}
            for track, request in zip(self._orders, of_tracks):
                # With a frozen table the run's own references count nothing.
                counts = np.zeros_like(request.counts) if self._frozen else request.counts
                narrow = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
                arrays |= _request(track, request.hashes, narrow)
            meta = {"partition": partition, "documents": len(examples), TOOK: took}
            yield bucket, Packet(REQUEST, meta, arrays)
            took = 0


def _request(track: str, hashes: np.ndarray, counts: np.ndarray) -> dict[str, np.ndarray]:
    return {f"hashes {track}": hashes, f"counts {track}": counts}


def _requests(track: str, packets: Sequence[Packet]) -> list[frequencies.Request]:
    """What packets ask of one track; a saved table's hold one track only."""
    none = np.zeros(0, np.uint64), np.zeros(0, np.uint32)
    return [
        frequencies.Request(
            p.arrays.get(f"hashes {track}", none[0]), p.arrays.get(f"counts {track}", none[1])
        )
        for p in packets
    ]


class _ReadTable(beam.DoFn):  # type: ignore[misc]
    def __init__(self, buckets: int) -> None:
        self._buckets = buckets

    def process(self, part: tuple[str, str]) -> Iterator[Keyed]:
        track, path = part
        with files.open_parquet(path) as parquet:
            table = parquet.read(["hash", "frequency"], use_threads=False)
        hashes = table.column("hash").to_numpy()
        counts = table.column("frequency").to_numpy()
        bucket = hashing.spread(hashes, self._buckets)
        order = np.argsort(bucket, kind="stable")
        cuts = np.searchsorted(bucket[order], np.arange(self._buckets + 1))
        for number in range(self._buckets):
            rows = order[cuts[number] : cuts[number + 1]]
            if len(rows):
                meta = {"partition": _TABLE_PARTITION, "documents": 0}
                yield number, Packet(REQUEST, meta, _request(track, hashes[rows], counts[rows]))


class _Answer(beam.DoFn):  # type: ignore[misc]
    def __init__(
        self,
        orders: Mapping[str, int],
        saved: Mapping[str, SavedTable] | None,
        save: Mapping[str, str] | None,
    ) -> None:
        self._tracks, self._saved, self._save = [*orders], saved, save

    def process(self, element: tuple[int, Iterable[Packet]]) -> Iterable[object]:
        watch = Stopwatch()
        bucket, packets = element
        # The order decides nothing but must not depend on the runner: files are written by it.
        asked = sorted(packets, key=lambda p: p.meta["partition"])
        own = sum(p.meta["documents"] for p in asked)
        answered, meta = [], {}
        for track in self._tracks:
            answers, table = frequencies.answer(_requests(track, asked))
            answered.append(answers)
            documents = own if self._saved is None else self._saved[track].documents
            meta[track] = {"fingerprint": table.fingerprint(), "documents": documents}
            if self._save is not None:
                meta[track]["file"] = _write_bucket(self._save[track], bucket, table)
        took = watch.lap() + sum(p.meta.get(TOOK, 0) for p in asked)
        for packet, of_tracks in zip(asked, zip(*answered)):
            partition = packet.meta["partition"]
            if partition == _TABLE_PARTITION:
                continue
            arrays: dict[str, np.ndarray] = {}
            for track, answer in zip(self._tracks, of_tracks):
                arrays[f"index {track}"] = answer.index
                arrays[f"frequency {track}"] = answer.frequency
            documents_of = {track: meta[track]["documents"] for track in self._tracks}
            yield partition, Packet(ANSWER, {"bucket": bucket, "documents": documents_of}, arrays)
        progress.tick(progress.FREQUENCIES, 1)
        told = {"tracks": meta, TOOK: {stopwatch.count(progress.FREQUENCIES): took}}
        yield beam.pvalue.TaggedOutput(TABLE, (0, Packet(TABLE, told)))


def _write_bucket(folder: str, bucket: int, table: frequencies.Table) -> dict[str, object]:
    order = np.argsort(table.hashes)
    columns = [pa.array(table.hashes[order]), pa.array(table.counts[order])]
    name = f"part-{bucket:05d}.parquet"
    written = files.write_parquet(
        files.join(folder, name), pa.table(columns, schema=tables.FREQUENCIES)
    )
    return {**written, "name": name}


def with_answers(
    tracks: Mapping[str, SegmentTokens], orders: Mapping[str, int], packets: Iterable[Packet]
) -> dict[str, SegmentTokens]:
    """The tokens of a partition with the answers of all buckets put to their n-grams."""
    packets = sorted(of_kind(packets, ANSWER), key=lambda p: p.meta["bucket"])
    result = dict(tracks)
    for track, order in orders.items():
        asked = document_buckets(tracks[track], order, len(packets))
        answers = (
            frequencies.Answer(p.arrays[f"index {track}"], p.arrays[f"frequency {track}"])
            for p in packets
        )
        documents = packets[0].meta["documents"][track]
        result[track] = tracks[track].with_frequencies(asked.frequencies(documents, answers))
    return result
