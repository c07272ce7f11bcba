"""References of other examples, as if a system had given them: what any text of the set scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.errors import InputError
from scoring import ceiling, hashing
from transforms import read
from transforms.packets import Keyed, Packet, of_kind
from transforms.sources import REFERENCES
from transforms.tokens import SHUFFLED

DONORS = "donors"

_FEW_ROWS = 200_000
_SHARDS = 64


def shards(rows: int) -> int:
    """How many parts examples change texts within: nothing that the partitions decide."""
    return 1 if rows < _FEW_ROWS else _SHARDS


def with_floor(systems: list[str]) -> list[str]:
    """The systems, and the floor behind them. Raises InputError if one has a name of ours."""
    for name in ceiling.NAMES:
        if name in systems:
            raise InputError(
                f"a system is called {name!r}, as what --reference_ceiling adds.\n"
                "Give the system another name, or leave --reference_ceiling out."
            )
    return [*systems, ceiling.FLOOR]


@dataclass
class ShuffleReferences(beam.PTransform):  # type: ignore[misc]
    """(partition, rows of references) -> (partition, ``SHUFFLED``): the first reference of
    another example for every example."""

    shards: int
    partitions: int

    def expand(self, rows: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        return (
            rows
            | "ToShards" >> beam.FlatMap(_to_shards, self.shards).with_output_types(Keyed)
            | "ByShard" >> beam.GroupByKey()
            | "Shuffle" >> beam.FlatMap(_shuffle, self.partitions).with_output_types(Keyed)
        )


def _to_shards(element: Keyed, number: int) -> Iterator[Keyed]:
    for packet in of_kind([element[1]], REFERENCES):
        rows = packet.tables[read.ROWS]
        texts = pc.list_element(rows.column("references"), 0)
        donors = pa.table({"example_id": rows.column("example_id"), "text": texts})
        # By another hash than the partitions': theirs would put neighbours together.
        salted = hashing.mix(hashing.hash_strings(donors.column("example_id").combine_chunks()))
        shard = pa.array(hashing.spread(salted, number))
        for at in pc.unique(shard).to_pylist():
            yield at, Packet(DONORS, tables={DONORS: donors.filter(pc.equal(shard, at))})


def _shuffle(element: tuple[int, Iterable[Packet]], partitions: int) -> Iterator[Keyed]:
    together = pa.concat_tables([packet.tables[DONORS] for packet in element[1]])
    keys = [("example_id", "ascending"), ("text", "ascending")]
    together = together.take(pc.sort_indices(together, sort_keys=keys)).combine_chunks()
    ids, texts = (pa.concat_arrays(together.column(n).chunks) for n in ("example_id", "text"))
    # Of rows with one id, which are equal or will all be refused, the first by its text.
    first = np.ones(len(ids), np.bool_)
    first[1:] = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    ids, texts = ids.filter(pa.array(first)), texts.filter(pa.array(first))
    ids, texts = ceiling.shuffled(ids, texts)
    for partition, part in read.cut(pa.table({"example_id": ids, "text": texts}), partitions):
        yield partition, Packet(SHUFFLED, tables={read.ROWS: part})
