"""Stages 6, 8 and 9: statistics of every segment, their sums as they are and in every replicate,
and the scores of every slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from scoring import ceiling, evaluation, hashing, series
from scoring import comparisons as compared
from scoring.comparisons import NO_COMPARISONS, Comparisons
from scoring.evaluation import StatisticsLayout
from scoring.joining import Examples
from scoring.metrics.registry import make_metric
from scoring.metrics.tracks import MAIN, Combination, OnTrack
from scoring.segments import Layout
from scoring.statistics.draws import BOOTSTRAP, PLAIN, SWAP, Block, blocks
from transforms import broadcast, frequencies, progress, reference_types, slices, stopwatch
from transforms.packets import Keyed, Packet, of_kind
from transforms.stopwatch import TOOK, Stopwatch
from transforms.tokens import TOKENS, TYPES, example_table, examples_of, from_packet

STATISTICS = "statistics"
TASK = "task"
SUMS = "sums"
UNITS = "units"
SCORES = "scores"
DIFFERENCES = "differences"

DIFFERENCES_OF_A_PACKET = 4_000
"""Every two of many systems are many pairs: a packet of so many rows has about 2 MB."""

SliceKey = tuple[int, int]
"""(hash of the slice's name and value, block of replicates; 0 is the plain sum)."""


@dataclass(frozen=True)
class MetricSpec:
    """A metric of the registry on a track, to be made where it is used."""

    name: str
    parameters: tuple[tuple[str, object], ...] = ()
    track: str = MAIN

    def make(self) -> OnTrack:
        """The metric. Raises ValueError if there is none, or a parameter is outside its range."""
        return OnTrack(make_metric(self.name, dict(self.parameters)), self.track)


@dataclass(frozen=True)
class Measures:
    """What is measured: metrics by name with their parameters, and how they are resampled.

    metrics: those that are scored; combinations: (name, terms), a term being (weight, metric).
    """

    metrics: tuple[MetricSpec, ...]
    replicates: int
    seed: int
    confidence: float
    own_units: bool
    combinations: tuple[tuple[str, tuple[tuple[float, MetricSpec], ...]], ...] = ()
    comparisons: Comparisons = NO_COMPARISONS
    family: tuple[str, ...] = ()
    ceiling: bool = False
    falls: int = 2

    def layout(self) -> StatisticsLayout:
        """The metrics, made where they are used."""
        terms = [spec for _, parts in self.combinations for _, spec in parts]
        made = {spec: spec.make() for spec in (*self.metrics, *terms)}
        metrics = [made[spec] for spec in self.metrics]
        combined = [
            Combination(name, tuple((weight, made[spec]) for weight, spec in parts))
            for name, parts in self.combinations
        ]
        return StatisticsLayout((*metrics, *combined))

    @property
    def document_orders(self) -> dict[str, int]:
        """track -> the highest order of document frequencies that a metric needs."""
        return self.layout().document_orders

    def draws(self, systems: Sequence[str]) -> int:
        """Draws of every test between so many systems; 0 if none are compared."""
        return self.comparisons.draws(systems, len(self.layout().metrics), self.family)

    def pairs(self, systems: Sequence[str]) -> tuple[compared.Pair, ...]:
        """The pairs that are compared."""
        return self.comparisons.pairs(systems)

    def blocks(self, systems: Sequence[str]) -> list[Block]:
        """All sums that are made: the plain one first."""
        draws = self.draws(systems)
        tested = dict.fromkeys(self.comparisons.tests, draws)
        own = {place for pair in self.pairs(systems) for place in pair.places}
        return blocks(
            max(self.replicates, tested.get(compared.BOOTSTRAP, 0)),
            tested.get(compared.RANDOMISATION, 0),
            len(own | {*range(len(systems))}) * len(self.layout().names),
        )


@dataclass
class ScoreSegments(beam.PTransform):  # type: ignore[misc]
    """Collections of (partition, tokens), of the answers of all buckets if a metric needs them, and
    of slices.TOPS if there are slices -> (partition, ``STATISTICS``).

    sliced: whether there are.
    """

    measures: Measures
    sliced: bool

    def expand(self, parts: Sequence[beam.PCollection[Keyed]]) -> beam.PCollection[Keyed]:
        if len(parts) > 1:
            tokens = parts | "Parts" >> beam.Flatten() | "ByPartition" >> beam.GroupByKey()
        else:
            # The local runner copies what it flattens.
            (alone,) = parts
            tokens = alone | "Alone" >> beam.MapTuple(lambda key, packet: (key, [packet]))
        score = beam.ParDo(_Score(self.measures, self.sliced))
        return tokens | "Statistics" >> score.with_output_types(Keyed)


class _Score(beam.DoFn):  # type: ignore[misc]
    def __init__(self, measures: Measures, sliced: bool) -> None:
        self._measures, self._sliced = measures, sliced

    def setup(self) -> None:
        self._layout = self._measures.layout()
        self._orders = self._measures.document_orders

    def process(self, element: tuple[int, Iterable[Packet]]) -> Iterator[Keyed]:
        watch = Stopwatch()
        partition, packets = element[0], list(element[1])
        if not broadcast.has_more(packets, slices.TOPS):
            return
        (packet,) = of_kind(packets, TOKENS)
        examples, tracks = from_packet(packet)
        if self._sliced:
            tops: slices.Tops = broadcast.from_packets(packets, slices.TOPS)
            examples = slices.relabelled(examples, tops)
        if self._orders:
            tracks = frequencies.with_answers(tracks, self._orders, packets)
        segments = self._layout.segment_statistics(tracks)
        per_example = self._layout.per_example(segments, examples)
        if self._measures.ceiling:
            top = ceiling.ceiling(self._layout, tracks, len(examples))
            per_example = np.concatenate([per_example, top], axis=1)
        first = next(iter(tracks.values()))
        arrays = {
            "segments": segments,
            "per_example": per_example,
            "matched": first.matched_references(),
            "references": examples.layout.references,
            "hypotheses": examples.layout.hypotheses,
        }
        for name, tokens in tracks.items():
            arrays[f"lengths {name}"] = tokens.hypothesis_lengths()
        for name in ("units", "system", "sample", "filled", "absent"):
            arrays[name] = getattr(examples, name)
        progress.tick(progress.SCORE, len(segments))
        of_examples = {"examples": example_table(examples)}
        meta = dict(packet.meta)
        systems: list[str] = meta["systems"]
        # What is summed, in the order of the last axis but one of per_example.
        meta["scored"] = ceiling.with_ceiling(systems) if self._measures.ceiling else systems
        if TYPES in packet.tables:
            meta[TYPES], arrays[TYPES] = reference_types.count(packet, examples, arrays["matched"])
        meta[TOOK] = {stopwatch.count(progress.SCORE): watch.lap()}
        yield partition, Packet(STATISTICS, meta, arrays, of_examples)


def statistics_examples(packet: Packet) -> Examples:
    """The examples of a ``STATISTICS`` or ``TASK`` packet."""
    arrays = packet.arrays
    return examples_of(packet, Layout(arrays["references"], arrays["hypotheses"]))


@dataclass
class SumBySlice(beam.PTransform):  # type: ignore[misc]
    """(partition, statistics) -> ((slice, block), ``SUMS``), summed over all partitions.

    groups: how many tasks share the draws of a partition. 1: every partition is a task, run where
    its statistics are. More: each task carries a copy of the statistics and is spread.
    """

    measures: Measures
    groups: int

    def expand(self, statistics: beam.PCollection[Keyed]) -> beam.PCollection:
        tasks = statistics | "Tasks" >> beam.FlatMap(_tasks, self.groups).with_output_types(Keyed)
        if self.groups > 1:
            tasks = tasks | "Spread" >> beam.Reshuffle()
        return (
            tasks
            | "Resample"
            >> beam.ParDo(_Resample(self.measures)).with_output_types(tuple[SliceKey, Packet])
            | "Sum" >> beam.CombinePerKey(SumFn()).with_output_types(tuple[SliceKey, Packet])
        )


def _tasks(element: Keyed, groups: int) -> Iterator[Keyed]:
    partition, packet = element
    names = ("per_example", "units", "system", "sample", "filled", "absent")
    arrays = {name: packet.arrays[name] for name in (*names, "references", "hypotheses")}
    for group in range(groups):
        meta = {"group": group, "groups": groups, "scored": packet.meta["scored"]}
        yield partition, Packet(TASK, meta, arrays, packet.tables)


class _Resample(beam.DoFn):  # type: ignore[misc]
    def __init__(self, measures: Measures) -> None:
        self._measures = measures

    def setup(self) -> None:
        self._layout = self._measures.layout()
        # Many small products: with more threads BLAS spends its time waiting.
        self._limits = threadpool_limits(1)

    def process(self, element: Keyed) -> Iterator[tuple[SliceKey, Packet]]:
        watch = Stopwatch()
        packet = element[1]
        systems = packet.meta["scored"]
        examples = statistics_examples(packet)
        blocks = self._measures.blocks(systems)
        pairs = self._measures.pairs(systems)
        statistics = compared.with_common(packet.arrays["per_example"], pairs, len(systems))
        rows = len(examples.system)
        for number in range(packet.meta["group"], len(blocks), packet.meta["groups"]):
            sums = evaluation.slice_sums(examples, statistics, self._measures.seed, blocks[number])
            arrays = [{"sums": of_slice.sums} for of_slice in sums]
            if blocks[number].kind == PLAIN and pairs:
                outcomes = compared.outcomes(self._layout, statistics, pairs)
                counted = evaluation.slice_sums(examples, outcomes, 0, blocks[number])
                arrays = [{**a, "outcomes": c.sums[0]} for a, c in zip(arrays, counted)]
            took = np.array([watch.lap()])
            for of_slice, of_arrays in zip(sums, arrays):
                made = {**of_arrays, TOOK: took}
                yield (
                    (slice_key(of_slice.name, of_slice.value), number),
                    sums_packet((of_slice.name, of_slice.value), systems, made),
                )
                took = np.zeros_like(took)
            watch.lap()
            before, after = (n * progress.PASSES // len(blocks) for n in (number, number + 1))
            progress.tick(progress.RESAMPLE, rows * (after - before))


def slice_key(name: str, value: str) -> int:
    """A key below 2**63 for a slice: Beam's keys are best integers."""
    hashes = hashing.hash_strings(pa.array([name, value], pa.string()))
    return int(hashing.combine([hashes[:1], hashes[1:]])[0] >> np.uint64(1))


def sums_packet(
    of_slice: tuple[str, str], systems: Sequence[str], arrays: Mapping[str, np.ndarray]
) -> Packet:
    """Sums of a slice: of statistics [draws, places, k], and of the pairs' outcomes.

    systems: what the first places are of.
    """
    return Packet(SUMS, {"slice": list(of_slice), "systems": list(systems)}, dict(arrays))


@beam.typehints.with_input_types(Packet)
@beam.typehints.with_output_types(Packet)
class SumFn(beam.CombineFn):  # type: ignore[misc]
    """Adds the sums of one slice and block. All inputs have one shape."""

    def create_accumulator(self) -> Packet:
        return Packet(SUMS)

    def add_input(self, accumulator: Packet, element: Packet) -> Packet:
        return self.merge_accumulators([accumulator, element])

    def merge_accumulators(self, accumulators: Iterable[Packet]) -> Packet:
        total: Packet | None = None
        for packet in accumulators:
            if not packet.arrays:
                continue
            if total is None:
                total = packet
                continue
            if total.meta != packet.meta:
                raise ValueError(f"two slices share one key: {total.meta} and {packet.meta}")
            added = {name: total.arrays[name] + a for name, a in packet.arrays.items()}
            total = Packet(SUMS, total.meta, added)
        return Packet(SUMS) if total is None else total

    def extract_output(self, accumulator: Packet) -> Packet:
        return accumulator

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return beam.coders.registry.get_coder(Packet)


@dataclass
class CountUnits(beam.PTransform):  # type: ignore[misc]
    """(partition, statistics) -> (slice, ``UNITS``): parts of the number of distinct units.

    A unit may stand in several partitions, so units meet by slice and bucket of their hash.
    """

    buckets: int

    def expand(self, statistics: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        return (
            statistics
            | "Units"
            >> beam.FlatMap(_units, self.buckets).with_output_types(tuple[SliceKey, Packet])
            | "ByUnit" >> beam.GroupByKey()
            | "Distinct" >> beam.Map(_count_units).with_output_types(Keyed)
        )


def _units(element: Keyed, buckets: int) -> Iterator[tuple[SliceKey, Packet]]:
    units = evaluation.distinct_units(statistics_examples(element[1]))
    for (name, value), hashes in units.items():
        bucket = hashing.spread(hashes, buckets)
        cuts = np.searchsorted(bucket, np.arange(buckets + 1))
        for number in np.unique(bucket).tolist():
            part = hashes[cuts[number] : cuts[number + 1]]
            yield (slice_key(name, value), number), Packet(UNITS, {}, {"hashes": part})


def _count_units(element: tuple[SliceKey, Iterable[Packet]]) -> Keyed:
    key, packets = element
    hashes = np.concatenate([packet.arrays["hashes"] for packet in packets])
    return key[0], Packet(UNITS, {"units": len(np.unique(hashes))})


@dataclass
class ScoreSlices(beam.PTransform):  # type: ignore[misc]
    """(partition, statistics) -> (0, ``SCORES`` and ``DIFFERENCES`` of every slice): all sums, and
    what follows."""

    measures: Measures
    groups: int
    partitions: int

    def expand(self, statistics: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        parts = [
            statistics
            | "Sums" >> SumBySlice(self.measures, self.groups)
            | "Blocks" >> beam.Map(_with_block).with_output_types(Keyed)
        ]
        if not self.measures.own_units:
            parts.append(statistics | "Units" >> CountUnits(self.partitions))
        return parts | "Parts" >> beam.Flatten() | "Finish" >> FinishSlices(self.measures)


@dataclass
class FinishSlices(beam.PTransform):  # type: ignore[misc]
    """(slice, sums of all blocks and numbers of units) -> (0, ``SCORES`` and ``DIFFERENCES``)."""

    measures: Measures

    def expand(self, parts: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        return (
            parts
            | "BySlice" >> beam.GroupByKey()
            | "Scores" >> beam.ParDo(_Finish(self.measures)).with_output_types(Keyed)
        )


class _Finish(beam.DoFn):  # type: ignore[misc]
    def __init__(self, measures: Measures) -> None:
        self._measures = measures

    def setup(self) -> None:
        self._layout = self._measures.layout()

    def process(self, element: tuple[int, Iterable[Packet]]) -> Iterator[Keyed]:
        packets = list(element[1])
        of_block = {packet.meta["block"]: packet.arrays for packet in of_kind(packets, SUMS)}
        units = [packet.meta["units"] for packet in of_kind(packets, UNITS)]
        meta = of_kind(packets, SUMS)[0].meta
        name, value = meta["slice"]
        systems: list[str] = meta["systems"]
        plain = of_block[0]["sums"][0]
        took = sum(int(arrays[TOOK][0]) for arrays in of_block.values())
        yield 0, Packet(TOOK, {TOOK: {stopwatch.count(progress.RESAMPLE): took}})
        blocks = list(enumerate(self._measures.blocks(systems)))
        bootstrap, swaps = (
            np.concatenate(
                [
                    np.zeros((0, *plain.shape), np.int64),
                    *(of_block[i]["sums"] for i, block in blocks if block.kind == kind),
                ]
            )
            for kind in (BOOTSTRAP, SWAP)
        )
        for packet in finished(
            self._measures,
            self._layout,
            systems,
            (name, value),
            compared.Draws(plain, bootstrap, swaps, of_block[0].get("outcomes", _NONE)),
            None if self._measures.own_units else sum(units),
        ):
            yield 0, packet


_NONE = np.zeros((0, 0), np.int64)


def finished(
    measures: Measures,
    layout: StatisticsLayout,
    systems: Sequence[str],
    of_slice: tuple[str, str],
    sums: compared.Draws,
    units: int | None,
) -> Iterator[Packet]:
    """``SCORES`` of one slice, rows and the values of all replicates, and its ``DIFFERENCES`` in
    numbered parts."""
    count = measures.replicates
    done = evaluation.finish(
        layout,
        systems,
        *of_slice,
        sums.plain[: len(systems)],
        sums.bootstrap[:count, : len(systems)],
        units,
        measures.confidence,
    )
    differences = compared.compare(
        layout,
        measures.comparisons,
        systems,
        of_slice,
        sums,
        count,
        measures.draws(systems),
        units,
        measures.confidence,
    )
    rows = [asdict(difference) for difference in differences]
    scored = [_with_note(asdict(score)) for score in done.scores]
    meta = {
        "slice": list(of_slice),
        "rows": scored,
    }
    if measures.comparisons.steps:
        meta["series"] = _series(measures, layout, systems, of_slice, sums, units, scored, rows)
    yield Packet(SCORES, meta, {"replicates": done.replicates})
    for part in range(0, len(rows), DIFFERENCES_OF_A_PACKET):
        of_part = rows[part : part + DIFFERENCES_OF_A_PACKET]
        yield Packet(DIFFERENCES, {"slice": list(of_slice), "part": part, "rows": of_part})


def _series(
    measures: Measures,
    layout: StatisticsLayout,
    systems: Sequence[str],
    of_slice: tuple[str, str],
    sums: compared.Draws,
    units: int | None,
    scores: Sequence[dict[str, Any]],
    differences: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Rows of the series of checkpoints, by the first of the tests."""
    checkpoints = [row for row in scores if row["system"] not in compared.NOT_COMPARED]
    test = measures.comparisons.tests[0]
    wanted = series.to_best(checkpoints)
    # Which pairs these are is known only now: nobody counted who won.
    pairs = tuple(dict.fromkeys((one, best) for _, one, best in wanted))
    asked = replace(
        measures.comparisons,
        named=pairs,
        steps=False,
        every_pair=False,
        baseline=None,
        common=False,
    )
    found = compared.compare(
        layout,
        asked,
        systems,
        of_slice,
        replace(sums, outcomes=np.zeros((len(pairs), 3 * len(layout.metrics)), np.int64)),
        measures.replicates,
        measures.draws(systems),
        units,
        measures.confidence,
    )
    beside = {(d.metric, d.system, d.baseline): asdict(d) for d in found if d.test == test}
    best: dict[str, dict[str, str]] = {}
    for metric, one, top in wanted:
        best.setdefault(metric, {})[one] = top
    bootstrapped = compared.BOOTSTRAP in measures.comparisons.tests
    draws = measures.draws(systems) if bootstrapped else measures.replicates
    adjusted = compared.best_p_values(layout, systems, best, sums, draws, units)
    previous = {*series.successive(row["system"] for row in checkpoints)}
    return series.series(
        checkpoints,
        [d for d in differences if d["test"] == test and (d["system"], d["baseline"]) in previous],
        [beside[key] for key in wanted],
        adjusted,
        measures.falls,
    )


def _with_note(row: dict[str, Any]) -> dict[str, Any]:
    """A row of scores; what is no system says what it is."""
    notes = (ceiling.NOTES.get(row["system"], ""), row["note"])
    return {**row, "note": "; ".join(note for note in notes if note)}


def _with_block(element: tuple[SliceKey, Packet]) -> Keyed:
    """((slice, block), sums) -> (slice, sums that know their block)."""
    (key, block), packet = element
    return key, Packet(SUMS, {**packet.meta, "block": block}, packet.arrays)
