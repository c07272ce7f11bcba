"""Slices made of columns; of one with too many values the most frequent keep their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.slicing import Part, Slice
from scoring import hashing, slicing
from scoring.joining import Examples
from transforms import accounts, create
from transforms.packets import Keyed, Packet

VALUES = "values"
NUMBERS = "numbers"
EDGES = "edges"
TOPS = "tops"

OTHER = "other"
"""The value of all that are not among the most frequent."""

MOST_NUMBERS = 1 << 14
"""Numbers of a column, those of the examples with the smallest hashes, that bins are made from."""

_MOST_BUCKETS = 256

Edges = dict[str, list[float]]
"""Column and number of bins (see ``_edges_name``) -> where bins end."""

Tops = dict[str, dict[str, Any]]
"""Slice -> distinct: how many values it has; examples: how many examples; top: the most frequent
values, [(value, count)]."""


# Bins


def sampled(slices: Iterable[Slice]) -> list[tuple[str, str]]:
    """(table, column) of the columns whose bins follow from their numbers."""
    parts = [part for of_slice in slices for part in of_slice.parts]
    return sorted({(part.table or "", part.column) for part in parts if part.bins})


def sample_of(rows: pa.Table, table: str, columns: Sequence[str]) -> Packet:
    """Numbers of the columns of a table: those of the examples with the smallest hashes."""
    hashes = hashing.hash_strings(_whole(rows, "example_id"))
    parts = {}
    for column in columns:
        numbers = slicing.numbers(_whole(rows, column))
        there = ~np.isnan(numbers)
        parts[Part(column, table).key] = _smallest([hashes[there]], [numbers[there]])
    return _sample(parts)


def _whole(rows: pa.Table, name: str) -> pa.Array:
    chunks = rows.column(name).chunks
    return pa.concat_arrays(chunks) if chunks else pa.array([], pa.string())


_Sample = tuple[np.ndarray, np.ndarray]


def _sample(parts: Mapping[str, _Sample]) -> Packet:
    arrays = {}
    for name, (hashes, numbers) in sorted(parts.items()):
        arrays[f"hashes {name}"], arrays[f"numbers {name}"] = hashes, numbers
    return Packet(NUMBERS, {}, arrays)


def _smallest(hashes: Sequence[np.ndarray], numbers: Sequence[np.ndarray]) -> _Sample:
    """The distinct pairs of hash and number, ascending, as many as are kept."""
    pairs = np.concatenate(hashes), np.concatenate(numbers)
    order = np.lexsort(pairs[::-1])
    hash_, number = (array[order] for array in pairs)
    new = np.ones(len(hash_), np.bool_)
    new[1:] = (hash_[1:] != hash_[:-1]) | (number[1:] != number[:-1])
    return hash_[new][:MOST_NUMBERS], number[new][:MOST_NUMBERS]


@beam.typehints.with_input_types(Packet)
@beam.typehints.with_output_types(Packet)
class SampleFn(beam.CombineFn):  # type: ignore[misc]
    """The numbers of the examples with the smallest hashes, of every column."""

    def create_accumulator(self) -> Packet:
        return Packet(NUMBERS)

    def add_input(self, accumulator: Packet, element: Packet) -> Packet:
        return self.merge_accumulators([accumulator, element])

    def merge_accumulators(self, accumulators: Iterable[Packet]) -> Packet:
        found: dict[str, list[_Sample]] = {}
        for packet in accumulators:
            for name in _columns(packet):
                found.setdefault(name, []).append(_of_column(packet, name))
        return _sample({name: _smallest(*map(list, zip(*parts))) for name, parts in found.items()})

    def extract_output(self, accumulator: Packet) -> Packet:
        return accumulator

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return beam.coders.registry.get_coder(Packet)


def _columns(packet: Packet) -> list[str]:
    prefix = "hashes "
    return [name.removeprefix(prefix) for name in packet.arrays if name.startswith(prefix)]


def _of_column(packet: Packet, name: str) -> _Sample:
    return packet.arrays[f"hashes {name}"], packet.arrays[f"numbers {name}"]


@dataclass
class FindEdges(beam.PTransform):  # type: ignore[misc]
    """(0, samples of numbers) -> one ``Edges``."""

    slices: tuple[Slice, ...]

    def expand(self, samples: beam.PCollection[Keyed]) -> beam.PCollection[Edges]:
        return (
            samples
            | "Samples" >> beam.Map(_sample_alone).with_output_types(Packet)
            | "Sample" >> create.Combine(SampleFn(), Packet)
            | "Edges" >> beam.Map(edges_of, self.slices).with_output_types(Edges)
        )


def _sample_alone(element: Keyed) -> Packet:
    return element[1]


def edges_of(sample: Packet, slices: Sequence[Slice]) -> Edges:
    """Where the bins of all slices end."""
    found = {}
    known = _columns(sample)
    for part in (part for of_slice in slices for part in of_slice.parts if part.binned):
        edges = list(part.edges)
        if part.bins and part.key in known:
            edges = slicing.quantile_edges(_of_column(sample, part.key)[1], part.bins)
        found[_edges_name(part)] = edges
    return found


def _edges_name(part: Part) -> str:
    return f"{part.bins or part.edges}:{part.key}"


# Slices


def sliced(
    examples: Examples, slices: Sequence[Slice], edges: Edges
) -> tuple[Examples, Mapping[str, int]]:
    """The examples with slices made of their columns, and how many values of binned columns are no
    numbers."""
    made: dict[str, pa.Array] = {}
    counts: dict[str, int] = {}
    for of_slice in slices:
        columns = []
        for part in of_slice.parts:
            column = examples.slices[part.key]
            if part.binned:
                column, strange = slicing.binned(column, edges[_edges_name(part)])
                if strange:
                    counts[f"slices.{part.key}.not_numbers"] = strange
            columns.append(column)
        made[of_slice.name] = slicing.crossed(columns)
    return replace(examples, slices=made), counts


def values_of(element: Keyed, partitions: int) -> Iterator[Keyed]:
    """(bucket, how often the values of slices occur here), every value in the bucket of its
    hash."""
    buckets = min(partitions, _MOST_BUCKETS)
    table = element[1].tables["examples"]
    for name in table.column_names[1:]:
        counted = _whole(table, name).value_counts()
        values, counts = counted.field("values"), counted.field("counts")
        bucket = hashing.spread(hashing.hash_strings(values), buckets)
        for number in np.unique(bucket).tolist():
            chosen = pa.array(np.flatnonzero(bucket == number))
            part = pa.table({"value": values.take(chosen), "count": counts.take(chosen)})
            meta = {"slice": name.removeprefix("slice ")}
            yield number, Packet(VALUES, meta, tables={VALUES: part})


@dataclass
class CommonValues(beam.PTransform):  # type: ignore[misc]
    """(partition, examples with slices) -> one ``Tops``. most: values that keep their names."""

    most: int
    partitions: int

    def expand(self, examples: beam.PCollection[Keyed]) -> beam.PCollection[Tops]:
        return (
            examples
            | "Values" >> beam.FlatMap(values_of, self.partitions).with_output_types(Keyed)
            | "ByBucket" >> beam.GroupByKey()
            | "Count" >> beam.Map(_top_of_bucket, self.most).with_output_types(Tops)
            | "Top" >> create.Combine(TopFn(self.most), Tops)
        )


def _top_of_bucket(element: tuple[int, Iterable[Packet]], most: int) -> Tops:
    of_slice: dict[str, list[pa.Table]] = {}
    for packet in element[1]:
        of_slice.setdefault(packet.meta["slice"], []).append(packet.tables[VALUES])
    return {name: _top(pa.concat_tables(parts), most) for name, parts in of_slice.items()}


def _top(table: pa.Table, most: int) -> dict[str, Any]:
    table = table.combine_chunks()
    encoded = pa.concat_arrays(table.column("value").chunks).dictionary_encode()
    counts = np.zeros(len(encoded.dictionary), np.int64)
    np.add.at(counts, encoded.indices.to_numpy(), table.column("count").to_numpy())
    summed = pa.table({"value": encoded.dictionary, "count": counts})
    order = [("count", "descending"), ("value", "ascending")]
    top = summed.take(pc.sort_indices(summed, sort_keys=order)[:most])
    pairs = zip(top.column("value").to_pylist(), top.column("count").to_pylist())
    return {
        "distinct": len(summed),
        "examples": int(counts.sum()),
        "top": [list(pair) for pair in pairs],
    }


class TopFn(beam.CombineFn):  # type: ignore[misc]
    """The most frequent values of all buckets. A value stands in one bucket only."""

    def __init__(self, most: int = 50) -> None:
        self._most = most

    def create_accumulator(self) -> Tops:
        return {}

    def add_input(self, accumulator: Tops, element: Tops) -> Tops:
        return self.merge_accumulators([accumulator, element])

    def merge_accumulators(self, accumulators: Iterable[Tops]) -> Tops:
        numbers = {"distinct": dict[str, int](), "examples": dict[str, int]()}
        pairs: dict[str, list[Any]] = {}
        for tops in accumulators:
            for name, of_slice in tops.items():
                for number, of_name in numbers.items():
                    of_name[name] = of_name.get(name, 0) + of_slice[number]
                pairs.setdefault(name, []).extend(of_slice["top"])
        return {
            name: {
                **{number: of_name[name] for number, of_name in numbers.items()},
                "top": sorted(found, key=lambda pair: (-pair[1], pair[0].encode()))[: self._most],
            }
            for name, found in sorted(pairs.items())
        }

    def extract_output(self, accumulator: Tops) -> Tops:
        return accumulator

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return beam.coders.FastPrimitivesCoder()


def account_of(tops: Tops) -> Keyed:
    """How many values of each slice lost their names, and how many examples have them."""
    counts = {}
    for name, of_slice in tops.items():
        counts[f"slices.{name}.other"] = of_slice["examples"] - sum(n for _, n in of_slice["top"])
        counts[f"slices.{name}.other_values"] = of_slice["distinct"] - len(of_slice["top"])
    return 0, accounts.account({name: n for name, n in counts.items() if n})


def relabelled(examples: Examples, tops: Tops) -> Examples:
    """The examples with ``OTHER`` for values that are not among the most frequent."""
    slices = dict(examples.slices)
    for name, column in slices.items():
        of_slice = tops.get(name)
        if of_slice is None or of_slice["distinct"] <= len(of_slice["top"]):
            continue
        kept = pc.is_in(column, pa.array([value for value, _ in of_slice["top"]], pa.string()))
        slices[name] = pc.if_else(kept, column, OTHER)
    return replace(examples, slices=slices)
