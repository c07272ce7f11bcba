"""Slices of a column with too many values: the most frequent keep their names, the rest is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scoring import hashing
from scoring.joining import UNKNOWN, Examples
from transforms import accounts, create
from transforms.packets import Keyed, Packet

VALUES = "values"

MOST_VALUES = 50
"""Values of a column that keep their names."""

OTHER = "other"
"""The value of all the others."""

_MOST_BUCKETS = 256

Tops = dict[str, dict[str, Any]]
"""Column -> distinct: how many values it has; top: the most frequent ones, [(value, count)]."""


def values_of(rows: pa.Table, slices: Sequence[str], partitions: int) -> Iterator[Keyed]:
    """(bucket, how often the values occur in the rows), every value in the bucket of its hash."""
    buckets = min(partitions, _MOST_BUCKETS)
    for name in slices:
        counted = rows.column(name).fill_null(UNKNOWN).value_counts()
        values, counts = counted.field("values"), counted.field("counts")
        bucket = hashing.spread(hashing.hash_strings(values), buckets)
        for number in np.unique(bucket).tolist():
            chosen = pa.array(np.flatnonzero(bucket == number))
            table = pa.table({"value": values.take(chosen), "count": counts.take(chosen)})
            yield number, Packet(VALUES, {"slice": name}, tables={VALUES: table})


@dataclass
class CommonValues(beam.PTransform):  # type: ignore[misc]
    """(bucket, values) -> one ``Tops``."""

    def expand(self, values: beam.PCollection[Keyed]) -> beam.PCollection[Tops]:
        return (
            values
            | "ByBucket" >> beam.GroupByKey()
            | "Count" >> beam.Map(_top_of_bucket).with_output_types(Tops)
            | "Top" >> create.Combine(TopFn(), {}, Tops)
        )


def _top_of_bucket(element: tuple[int, Iterable[Packet]]) -> Tops:
    of_slice: dict[str, list[pa.Table]] = {}
    for packet in element[1]:
        of_slice.setdefault(packet.meta["slice"], []).append(packet.tables[VALUES])
    return {name: _top(pa.concat_tables(parts)) for name, parts in of_slice.items()}


def _top(table: pa.Table) -> dict[str, Any]:
    table = table.combine_chunks()
    encoded = pa.concat_arrays(table.column("value").chunks).dictionary_encode()
    counts = np.zeros(len(encoded.dictionary), np.int64)
    np.add.at(counts, encoded.indices.to_numpy(), table.column("count").to_numpy())
    summed = pa.table({"value": encoded.dictionary, "count": counts})
    order = [("count", "descending"), ("value", "ascending")]
    top = summed.take(pc.sort_indices(summed, sort_keys=order)[:MOST_VALUES])
    pairs = zip(top.column("value").to_pylist(), top.column("count").to_pylist())
    return {"distinct": len(summed), "top": [list(pair) for pair in pairs]}


class TopFn(beam.CombineFn):  # type: ignore[misc]
    """The most frequent values of all buckets. A value stands in one bucket only."""

    def create_accumulator(self) -> Tops:
        return {}

    def add_input(self, accumulator: Tops, element: Tops) -> Tops:
        return self.merge_accumulators([accumulator, element])

    def merge_accumulators(self, accumulators: Iterable[Tops]) -> Tops:
        distinct: dict[str, int] = {}
        pairs: dict[str, list[Any]] = {}
        for tops in accumulators:
            for name, of_slice in tops.items():
                distinct[name] = distinct.get(name, 0) + of_slice["distinct"]
                pairs.setdefault(name, []).extend(of_slice["top"])
        return {
            name: {
                "distinct": distinct[name],
                "top": sorted(found, key=lambda pair: (-pair[1], pair[0].encode()))[:MOST_VALUES],
            }
            for name, found in sorted(pairs.items())
        }

    def extract_output(self, accumulator: Tops) -> Tops:
        return accumulator

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return beam.coders.FastPrimitivesCoder()


def account_of(tops: Tops) -> Keyed:
    """How many values of each column lost their names."""
    lost = {name: t["distinct"] - len(t["top"]) for name, t in tops.items()}
    counts = {f"slices.{name}.other_values": n for name, n in lost.items() if n}
    return 0, accounts.account(counts)


def relabelled(examples: Examples, tops: Tops) -> tuple[Examples, Mapping[str, int]]:
    """The examples with ``OTHER`` for values that are not among the most frequent, and how many
    examples that are, by column."""
    slices = dict(examples.slices)
    counts = {}
    for name, column in slices.items():
        of_slice = tops.get(name)
        if of_slice is None or of_slice["distinct"] <= len(of_slice["top"]):
            continue
        kept = pc.is_in(column, pa.array([value for value, _ in of_slice["top"]], pa.string()))
        slices[name] = pc.if_else(kept, column, OTHER)
        counts[f"slices.{name}.other"] = len(column) - int(pc.sum(kept).as_py() or 0)
    return replace(examples, slices=slices), {name: n for name, n in counts.items() if n}
