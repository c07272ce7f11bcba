"""Stage 7: document frequencies, exchanged by hash bucket. No worker ever holds the whole table.

Partitions ask every bucket (``REQUEST``), a bucket adds up and answers every partition
(``ANSWER``); scoring/document_frequencies.py has the arithmetic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa

from schemas import tables
from schemas.errors import InputError
from scoring import document_frequencies as frequencies
from scoring import hashing
from scoring.evaluation import document_requests
from scoring.segments import SegmentTokens
from transforms import create, files, progress
from transforms.packets import Keyed, Packet, of_kind
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
    """(partition, tokens) -> main: (partition, answer); ``TABLE``: (0, a bucket's fingerprint).

    order: n-grams up to it; saved: a table to use instead of the run's own; save: a folder to
    write the run's own to, one file a bucket.
    """

    order: int
    buckets: int
    saved: SavedTable | None = None
    save: str | None = None

    def expand(self, tokens: beam.PCollection[Keyed]) -> beam.pvalue.DoOutputsTuple:
        requests = tokens | "Ask" >> beam.ParDo(
            _Ask(self.order, self.buckets, self.saved is not None)
        ).with_output_types(Keyed)
        # Flattened only if there is something to add: the local runner copies what it flattens.
        if self.saved is not None:
            names = [files.join(self.saved.path, part) for part in self.saved.parts]
            table = (
                tokens.pipeline
                | "TableFiles" >> create.Create(names, str)
                | "SpreadFiles" >> beam.Reshuffle()
                | "ReadTable" >> beam.ParDo(_ReadTable(self.buckets)).with_output_types(Keyed)
            )
            requests = (requests, table) | "Flatten" >> beam.Flatten()
        return (
            requests
            | "ByBucket" >> beam.GroupByKey()
            | "Answer"
            >> beam.ParDo(_Answer(self.saved, self.save))
            .with_output_types(Keyed, **{TABLE: Keyed})
            .with_outputs(TABLE, main=ANSWER)
        )


class _Ask(beam.DoFn):  # type: ignore[misc]
    def __init__(self, order: int, buckets: int, frozen: bool) -> None:
        self._order, self._buckets, self._frozen = order, buckets, frozen

    def process(self, element: Keyed) -> Iterator[Keyed]:
        partition, packet = element
        examples, tokens = from_packet(packet)
        asked = document_requests(tokens, self._order, self._buckets)
        for bucket, request in enumerate(asked.requests):
            # With a frozen table the run's own references count nothing.
            counts = np.zeros_like(request.counts) if self._frozen else request.counts
            narrow = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
            yield (
                bucket,
                Packet(
                    REQUEST,
                    {"partition": partition, "documents": len(examples)},
                    {"hashes": request.hashes, "counts": narrow},
                ),
            )


class _ReadTable(beam.DoFn):  # type: ignore[misc]
    def __init__(self, buckets: int) -> None:
        self._buckets = buckets

    def process(self, path: str) -> Iterator[Keyed]:
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
                arrays = {"hashes": hashes[rows], "counts": counts[rows]}
                meta = {"partition": _TABLE_PARTITION, "documents": 0}
                yield number, Packet(REQUEST, meta, arrays)


class _Answer(beam.DoFn):  # type: ignore[misc]
    def __init__(self, saved: SavedTable | None, save: str | None) -> None:
        self._saved, self._save = saved, save

    def process(self, element: tuple[int, Iterable[Packet]]) -> Iterable[object]:
        bucket, packets = element
        # The order decides nothing but must not depend on the runner: files are written by it.
        asked = sorted(packets, key=lambda p: p.meta["partition"])
        answers, table = frequencies.answer(
            [frequencies.Request(p.arrays["hashes"], p.arrays["counts"]) for p in asked]
        )
        documents = (
            sum(p.meta["documents"] for p in asked)
            if self._saved is None
            else self._saved.documents
        )
        for packet, answer in zip(asked, answers):
            partition = packet.meta["partition"]
            if partition != _TABLE_PARTITION:
                yield (
                    partition,
                    Packet(
                        ANSWER,
                        {"bucket": bucket, "documents": documents},
                        {"index": answer.index, "frequency": answer.frequency},
                    ),
                )
        meta = {"fingerprint": table.fingerprint(), "documents": documents}
        if self._save is not None:
            meta["file"] = _write_bucket(self._save, bucket, table)
        progress.tick(progress.FREQUENCIES, 1)
        yield beam.pvalue.TaggedOutput(TABLE, (0, Packet(TABLE, meta)))


def _write_bucket(folder: str, bucket: int, table: frequencies.Table) -> dict[str, object]:
    order = np.argsort(table.hashes)
    columns = [pa.array(table.hashes[order]), pa.array(table.counts[order])]
    name = f"part-{bucket:05d}.parquet"
    written = files.write_parquet(
        files.join(folder, name), pa.table(columns, schema=tables.FREQUENCIES)
    )
    return {**written, "name": name}


def with_answers(tokens: SegmentTokens, order: int, packets: Iterable[Packet]) -> SegmentTokens:
    """The tokens of a partition with the answers of all buckets put to their n-grams."""
    packets = sorted(of_kind(packets, ANSWER), key=lambda p: p.meta["bucket"])
    asked = document_requests(tokens, order, len(packets))
    answers = (frequencies.Answer(p.arrays["index"], p.arrays["frequency"]) for p in packets)
    return tokens.with_frequencies(asked.frequencies(packets[0].meta["documents"], answers))
