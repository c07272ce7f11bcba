"""Stage 11: what is written. Names come from partition numbers only; the manifest comes last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import tables
from schemas.errors import OutputError
from scoring import comparisons, evaluation, hashing, references, samples
from scoring.evaluation import OVERALL, StatisticsLayout
from transforms import accounts, broadcast, data, files, folder, progress, scores, stopwatch
from transforms.folder import MANIFEST
from transforms.frequencies import TABLE, SavedTable
from transforms.packets import Keyed, Packet, of_kind
from transforms.reference_types import counts_of
from transforms.samples import SAMPLES, from_packet
from transforms.scores import Measures, statistics_examples
from transforms.stopwatch import TOOK, Stopwatch
from transforms.tokens import SYSTEMS, TYPES

WRITTEN = "written"


def own_table(track: str) -> str:
    """Stands in a signature for what is known only at the end, the fingerprint of a track's own
    document frequencies; no name of a column can hold it."""
    return f"\0table {track}\0"


CI_METHOD = "percentile of Poisson bootstrap"


@dataclass
class WriteSegments(beam.PTransform):  # type: ignore[misc]
    """(partition, statistics) -> (0, the file written for it)."""

    measures: Measures
    output: str
    partitions: int

    def expand(self, statistics: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        writer = _WriteSegments(self.measures, self.output, self.partitions)
        return statistics | "File" >> beam.ParDo(writer).with_output_types(Keyed)


class _WriteSegments(beam.DoFn):  # type: ignore[misc]
    def __init__(self, measures: Measures, output: str, partitions: int) -> None:
        self._measures, self._output, self._partitions = measures, output, partitions

    def setup(self) -> None:
        self._layout = self._measures.layout()

    def process(self, element: Keyed) -> Iterator[Keyed]:
        watch = Stopwatch()
        partition, packet = element
        path = files.join(self._output, folder.SEGMENTS, folder.part(partition, self._partitions))
        table = segment_table(self._layout, packet.meta["systems"], packet)
        written = files.write_parquet(path, table)
        took = {**packet.meta[TOOK], stopwatch.count(progress.WRITE): watch.lap()}
        yield 0, Packet(WRITTEN, {"file": written, TOOK: took})
        progress.tick(progress.WRITE, len(table))


def segment_table(layout: StatisticsLayout, systems: Sequence[str], packet: Packet) -> pa.Table:
    """The rows of ``segments`` of one partition, by example, system and sample."""
    examples = statistics_examples(packet)
    arrays = packet.arrays
    statistics = [n for n in layout.names if n not in StatisticsLayout.COUNTS]
    example = examples.layout.example_of_hypothesis
    names = pa.array(systems, pa.string())
    matched = arrays["matched"]
    lengths = [pa.array(arrays[f"lengths {t}"].astype(np.int32)) for t in packet.meta["tracks"]]
    columns: list[pa.Array] = [
        examples.example_id.take(pa.array(example)),
        names.take(pa.array(examples.system)),
        pa.array(examples.sample),
        pa.array(examples.filled),
        *lengths,
        pa.array(examples.layout.references_of_hypothesis.astype(np.int32)),
        pa.array(matched.astype(np.int32), mask=matched < 0),
        pa.array(examples.units[example]),
    ]
    columns += [column.take(pa.array(example)) for column in examples.slices.values()]
    of_metric = evaluation.segment_scores(layout, arrays["segments"])
    columns += [pa.array(values, mask=np.isnan(values)) for values in of_metric.values()]
    columns += [pa.array(arrays["segments"][:, layout.column(n)]) for n in statistics]
    schema = tables.segments_schema(
        list(examples.slices), list(of_metric), statistics, packet.meta["tracks"][1:]
    )
    return pa.table(columns, schema=schema)


@dataclass
class WriteAccounts(beam.PTransform):  # type: ignore[misc]
    """(partition, accounts) -> (0, one account): refused rows are written, counts are added."""

    output: str
    partitions: int

    def expand(self, parts: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        return (
            parts
            | "ByPartition" >> beam.GroupByKey()
            | "File"
            >> beam.Map(_write_account, self.output, self.partitions).with_output_types(Keyed)
        )


def _write_account(element: tuple[int, Iterable[Packet]], output: str, of: int) -> Keyed:
    partition, packets = element[0], list(element[1])
    meta: dict[str, Any] = {"counts": accounts.merge(p.meta["counts"] for p in packets)}
    refused = [p.tables["rejected"] for p in packets if "rejected" in p.tables]
    if refused:
        together = pa.concat_tables(refused)
        keys = [(c, "ascending") for c in ("table", "file", "row", "reason")]
        ordered = together.take(pc.sort_indices(together, sort_keys=keys))
        path = files.join(output, folder.REJECTED, folder.part(partition, of))
        meta["file"] = files.write_parquet(path, ordered)
    return 0, Packet(accounts.ACCOUNT, meta)


@dataclass(frozen=True)
class Run:
    """What the last writer must know of the run.

    compared: what a signature of a difference has beside that of the score.
    signatures: metric -> signature, with ``own_table`` where the fingerprint of the run's document
    frequencies belongs. manifest: what goes into the manifest as it is. frozen: the tables of
    document frequencies that were used, saved: those to complete, by track. look: at the texts,
    None if there are none. spread_limit: of several replies to one query.
    """

    output: str
    run_id: str | None
    signatures: tuple[tuple[str, str], ...]
    compared: str
    confidence: float
    replicates: int
    slices: tuple[str, ...]
    manifest: str
    look: data.Look | None = None
    frozen: tuple[tuple[str, SavedTable], ...] = ()
    saved: tuple[tuple[str, SavedTable], ...] = ()
    token: str = ""
    spread_limit: float = 0.0


@dataclass
class WriteResults(beam.PTransform):  # type: ignore[misc]
    """(0, tokens.SYSTEMS, scores, accounts, files written, fingerprints) -> the manifest, written
    last."""

    run: Run
    measures: Measures

    def expand(self, parts: beam.PCollection[Keyed]) -> beam.PCollection[Keyed]:
        return (
            parts
            | "Together" >> beam.GroupByKey()
            | "Results"
            >> beam.ParDo(_WriteResults(self.run, self.measures)).with_output_types(Keyed)
        )


class _WriteResults(beam.DoFn):  # type: ignore[misc]
    def __init__(self, run: Run, measures: Measures) -> None:
        self._run, self._measures = run, measures

    def process(self, element: tuple[int, Iterable[Packet]]) -> Iterator[Keyed]:
        run, packets = self._run, list(element[1])
        systems: list[str] = broadcast.from_packets(packets, SYSTEMS)
        told = [p.meta["counts"] for p in of_kind(packets, accounts.ACCOUNT)]
        told += [p.meta[TOOK] for p in packets if TOOK in p.meta]
        counts, seconds = stopwatch.apart(accounts.merge(told))
        check_balance(counts)
        table_parts = [p.meta["tracks"] for p in of_kind(packets, TABLE)]
        signatures = dict(run.signatures)
        for track in self._measures.document_orders:
            fingerprint = _fingerprint([part[track] for part in table_parts])
            stand_in = own_table(track)
            signatures = {m: s.replace(stand_in, fingerprint) for m, s in signatures.items()}
        for track, frozen in run.frozen:
            frozen.check(_fingerprint([part[track] for part in table_parts]))
        run_id = run.run_id or _run_id(signatures, counts)
        done = self._by_slice(of_kind(packets, scores.SCORES), systems)
        rows = [
            {
                **row,
                "run_id": run_id,
                "ci_level": run.confidence if run.replicates else None,
                "ci_method": CI_METHOD if run.replicates else None,
                "signature": signatures[row["metric"]],
            }
            for packet in done
            for row in packet.meta["rows"]
        ]
        table = pa.Table.from_pylist(rows, schema=tables.SCORES)
        kinds = (WRITTEN, accounts.ACCOUNT)
        written = [p.meta["file"] for p in packets if p.kind in kinds and "file" in p.meta]
        written += [t["file"] for part in table_parts for t in part.values() if "file" in t]
        if not any(f"/{folder.REJECTED}/" in entry["path"] for entry in written):
            # So that whoever reads the folder finds a table, if an empty one.
            path = files.join(run.output, folder.REJECTED, folder.part(0, 1))
            written.append(files.write_parquet(path, tables.REJECTED.empty_table()))
        path = files.join(run.output, folder.REPLICATES)
        written.append(files.write_parquet(path, _replicates(done)))
        written += _write_both(run.output, (folder.SCORES, folder.SCORES_CSV), table)
        for packet in of_kind(packets, TYPES):
            typed = [
                {**row, "run_id": run_id}
                for row in references.type_rows(counts_of(packet), systems)
            ]
            own = pa.Table.from_pylist(typed, schema=tables.REFERENCE_TYPES)
            names = (folder.REFERENCE_TYPES, folder.REFERENCE_TYPES_CSV)
            written += _write_both(run.output, names, own)
        for packet in of_kind(packets, SAMPLES):
            written += self._samples(run_id, signatures, packet)
        if self._measures.comparisons:
            differences = self._ordered(of_kind(packets, scores.DIFFERENCES))
            written += self._comparisons(run_id, signatures, systems, done, differences)
        warnings: list[str] = []
        if run.look is not None:
            looked, warnings = data.reported(run.look, packets, systems)
            written += _write_both(run.output, (folder.DATA, folder.DATA_CSV), looked)
        for track, saved in run.saved:
            written.append(_complete(saved, [part[track] for part in table_parts]))
        manifest = {
            "run_id": run_id,
            "signatures": signatures,
            **json.loads(run.manifest),
            "systems": list(systems),
            "warnings": warnings,
            "counts": {
                name: f"{n:016x}" if name.endswith(accounts.FINGERPRINT) else n
                for name, n in counts.items()
            },
            "seconds": seconds,
            "files": sorted(
                ({k: entry[k] for k in ("path", "rows", "bytes")} for entry in written),
                key=lambda entry: str(entry["path"]),
            ),
        }
        content = json.dumps(manifest, indent=1, ensure_ascii=False).encode()
        check_ours(run.output, run.token)
        files.write_bytes(files.join(run.output, MANIFEST), content)
        yield 0, Packet(MANIFEST, {"run_id": run_id})

    def _samples(
        self, run_id: str, signatures: dict[str, str], packet: Packet
    ) -> list[dict[str, Any]]:
        """Write how several replies to one query differ, if there are any."""
        layout, limit = self._measures.layout(), self._run.spread_limit
        found, systems = from_packet(packet), packet.meta["systems"]
        rows = samples.rows(found, layout, systems, limit)
        if not rows:
            return []
        rows = [{**row, "run_id": run_id, "signature": signatures[row["metric"]]} for row in rows]
        worst = [{**row, "run_id": run_id} for row in samples.worst_rows(found, layout, systems)]
        names = (folder.SAMPLES, folder.SAMPLES_CSV)
        written = _write_both(
            self._run.output, names, pa.Table.from_pylist(rows, schema=tables.SAMPLES)
        )
        names = (folder.SAMPLES_WORST, folder.SAMPLES_WORST_CSV)
        table = pa.Table.from_pylist(worst, schema=tables.SAMPLES_WORST)
        return written + _write_both(self._run.output, names, table)

    def _comparisons(
        self,
        run_id: str,
        signatures: dict[str, str],
        systems: Sequence[str],
        done: Sequence[Packet],
        differences: Sequence[Packet],
    ) -> list[dict[str, Any]]:
        """Write the differences and the ranking."""
        run, measures = self._run, self._measures
        alpha = measures.comparisons.alpha
        compared = comparisons.adjusted(
            [row for packet in differences for row in packet.meta["rows"]], measures.family, alpha
        )
        more = {
            "run_id": run_id,
            "ci_level": run.confidence if run.replicates else None,
        }
        table = pa.Table.from_pylist(
            [
                {**row, **more, "signature": f"{signatures[row['metric']]}|{run.compared}"}
                for row in compared
            ],
            schema=tables.COMPARISONS,
        )
        names = (folder.COMPARISONS, folder.COMPARISONS_CSV)
        written = _write_both(run.output, names, table)
        if measures.comparisons.steps:
            rows = [{**row, "run_id": run_id} for p in done for row in p.meta.get("series", ())]
            table = pa.Table.from_pylist(rows, schema=tables.SERIES)
            written += _write_both(run.output, (folder.SERIES, folder.SERIES_CSV), table)
        if measures.comparisons.every_pair:
            scored = [row for packet in done for row in packet.meta["rows"]]
            ranked = comparisons.ranks(scored, compared, systems, alpha)
            table = pa.Table.from_pylist(
                [{**row, "run_id": run_id} for row in ranked], schema=tables.RANKING
            )
            written += _write_both(run.output, (folder.RANKING, folder.RANKING_CSV), table)
        return written

    def _by_slice(self, done: list[Packet], systems: Sequence[str]) -> list[Packet]:
        if not any(tuple(p.meta["slice"]) == OVERALL for p in done):
            # Nothing was scored at all: the rows are there all the same, null with the reason.
            layout = self._measures.layout()
            shape = (len(systems), len(layout.names))
            sums, none = np.zeros(shape, np.int64), np.zeros((0, *shape), np.int64)
            units = None if self._measures.own_units else 0
            empty = comparisons.Draws(sums, none, none, np.zeros((0, 0), np.int64))
            measures = replace(self._measures, comparisons=comparisons.NO_COMPARISONS)
            done = [
                *done,
                *scores.finished(measures, layout, systems, OVERALL, empty, units),
            ]
        return self._ordered(done)

    def _ordered(self, packets: list[Packet]) -> list[Packet]:
        """By slice, then by part."""
        order = {name: i for i, name in enumerate((OVERALL[0], *self._run.slices))}

        def place(packet: Packet) -> tuple[int, str, int]:
            name, value = packet.meta["slice"]
            return order[name], value, packet.meta.get("part", 0)

        return sorted(packets, key=place)


def _write_both(output: str, names: tuple[str, str], table: pa.Table) -> list[dict[str, Any]]:
    """Write a table as Parquet and as CSV."""
    path = files.join(output, names[1])
    size = files.write_bytes(path, folder.table_csv(table))
    return [
        files.write_parquet(files.join(output, names[0]), table),
        {"path": path, "rows": len(table), "bytes": size},
    ]


def check_ours(output: str, token: str) -> None:
    """Raise OutputError if another run has taken the folder meanwhile."""
    try:
        marker = json.loads(files.read_bytes(files.join(output, folder.MARKER)))
    except (OSError, ValueError):
        return  # nobody took it
    if isinstance(marker, dict) and marker.get("run", token) != token:
        raise OutputError(
            f"{output}: another run took this folder by --overwrite while this one was going on, "
            "which ends here without a manifest.\nName a folder of its own for every run."
        )


def check_balance(counts: dict[str, int]) -> None:
    """Every row that came in must be accounted for. Raises ValueError if one is not."""
    for table, fates in (
        ("hypotheses", ("scored", "collapsed", "null", "not_selected", "refused")),
        ("references", ("accepted", "collapsed", "refused")),
    ):
        read = counts.get(f"{table}.read", 0)
        found = {fate: counts.get(f"{table}.{fate}", 0) for fate in fates}
        if sum(found.values()) != read:
            raise ValueError(f"{table}: {read} rows were read, but the account has {found}")


def _run_id(signatures: dict[str, str], counts: dict[str, int]) -> str:
    texts = [f"{m}={s}" for m, s in sorted(signatures.items())]
    texts += [f"{n}={c}" for n, c in counts.items() if n.endswith(accounts.FINGERPRINT)]
    hashes = hashing.hash_strings(pa.array(["\n".join(texts)]))
    return f"{int(hashes[0]):016x}"


def _fingerprint(parts: Sequence[dict[str, Any]]) -> str:
    return f"{sum(part['fingerprint'] for part in parts) % 2**64:016x}"


def _complete(saved: SavedTable, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    table = SavedTable(
        saved.path,
        saved.order,
        max((part["documents"] for part in parts), default=0),
        saved.recipe,
        _fingerprint(parts),
        tuple(sorted(part["file"]["name"] for part in parts)),
    )
    rows = sum(part["file"]["rows"] for part in parts)
    return {"path": files.join(saved.path, "table.json"), "rows": rows, "bytes": table.write()}


def _replicates(done: Sequence[Packet]) -> pa.Table:
    parts = []
    for packet in done:
        values = packet.arrays["replicates"]
        count = values.shape[-1]
        rows = packet.meta["rows"]
        # Rows of scores come metric by metric, replicates system by system.
        flat = values.transpose(1, 0, 2).reshape(len(rows), count)
        for row, of_row in zip(rows, flat):
            columns = [
                pa.repeat(pa.scalar(row[name], pa.string()), count)
                for name in ("system", "slice", "slice_value", "metric")
            ]
            columns.append(pa.array(np.arange(count, dtype=np.int32)))
            columns.append(pa.array(of_row, mask=np.isnan(of_row)))
            parts.append(pa.table(columns, schema=tables.REPLICATES))
    return pa.concat_tables(parts) if parts else tables.REPLICATES.empty_table()
