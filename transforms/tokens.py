"""Stages 4 and 5: a partition's rows become examples, and their texts tokens."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import apache_beam as beam
import numpy as np
import pyarrow as pa

from schemas import tables
from schemas.errors import InputError
from schemas.slicing import Slice
from scoring import joining, references
from scoring.ceiling import FLOOR
from scoring.data_report import count_texts
from scoring.joining import Examples, Joined
from scoring.segments import Layout, SegmentTokens, TokenTrack
from scoring.text.recipe import TextRecipe, token_tracks
from transforms import accounts, broadcast, data, progress, slices, stopwatch
from transforms.packets import Keyed, Packet, of_kind
from transforms.read import REFUSED_REFERENCES, ROWS
from transforms.sources import HYPOTHESES, REFERENCES
from transforms.stopwatch import Stopwatch

TOKENS = "tokens"
SYSTEMS = "systems"
"""Kind of packet: the names of all systems, see transforms/broadcast.py."""

SHUFFLED = "shuffled"
"""Kind of packet: rows of example_id and the text of another example, see transforms/floor.py."""

TYPES = "reference_types"

NEAR_DUPLICATES = "references.near_duplicates"
NEAR_DUPLICATE_EXAMPLES = "references.near_duplicate_examples"

MOST_SYSTEMS = 1000
"""More are a wrong column: statistics are arrays of examples x systems."""


@dataclass(frozen=True)
class Text:
    """How rows are joined and cut.

    tracks: name and recipe of every way to cut texts; the first says which reference a
    hypothesis matches. resample_by: a column of the references. near_duplicates: a track, and from
    where on two references of one example count as one by its tokens. slices: with the tables of
    their columns.
    """

    tracks: tuple[tuple[str, TextRecipe], ...]
    missing: str
    resample_by: str | None
    near_duplicates: tuple[str, float] | None = None
    slices: tuple[Slice, ...] = ()

    def sliced(self, table: str) -> tuple[str, ...]:
        """The columns of a table that slices are made of."""
        parts = [part for of_slice in self.slices for part in of_slice.parts]
        return tuple(sorted({part.column for part in parts if part.table == table}))

    @property
    def reference_columns(self) -> tuple[str, ...]:
        """All columns of the references beside example_id and references."""
        units = [self.resample_by] if self.resample_by else []
        return tuple(sorted({*self.sliced(REFERENCES), *units}))

    @property
    def hypothesis_columns(self) -> tuple[str, ...]:
        """All columns of the hypotheses beside example_id, system, sample and text."""
        return self.sliced(HYPOTHESES)

    def recipes(self) -> dict[str, TextRecipe]:
        """The recipe of every track. What is large in them is loaded where they are used."""
        return dict(self.tracks)


class SystemsFn(beam.CombineFn):  # type: ignore[misc]
    """The distinct names in lists of names, sorted. Raises InputError for more than the most."""

    def create_accumulator(self) -> list[str]:
        return []

    def add_input(self, accumulator: list[str], element: list[str]) -> list[str]:
        return self.merge_accumulators([accumulator, element])

    def merge_accumulators(self, accumulators: Iterable[list[str]]) -> list[str]:
        # One more than the most is enough to know, and bounded.
        return sorted({n for names in accumulators for n in names})[: MOST_SYSTEMS + 1]

    def extract_output(self, accumulator: list[str]) -> list[str]:
        if len(accumulator) > MOST_SYSTEMS:
            raise InputError(
                f"the hypotheses have more than {MOST_SYSTEMS:,} systems, such as "
                f"{', '.join(map(repr, accumulator[:3]))}.\nExpected the name of a system in the "
                "column system. Say which column that is by --columns system=NAME, or name the "
                "systems to score by --systems."
            )
        return accumulator

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return beam.coders.FastPrimitivesCoder()


def systems_of(element: Keyed) -> list[str]:
    """The systems that occur in the rows of a packet."""
    packet = element[1]
    if packet.kind != HYPOTHESES:
        return []
    names: list[str] = packet.tables[ROWS].column("system").unique().to_pylist()
    return names


def with_baseline(systems: list[str], baseline: str) -> list[str]:
    """The systems, if the baseline is one of them. Raises InputError."""
    if baseline not in systems:
        close = difflib.get_close_matches(baseline, systems, 1)
        raise InputError(
            f"--baseline {baseline}: no system of the hypotheses is called so"
            + (f"; did you mean {close[0]!r}?" if close else ".")
            + f"\nThey have {', '.join(map(repr, systems[:10]))}"
            + (" ..." if len(systems) > 10 else ".")
        )
    return systems


@dataclass
class JoinAndTokenise(beam.PTransform):  # type: ignore[misc]
    """(partition, rows, ``SYSTEMS`` and slices.EDGES) -> main: (partition, ``TOKENS``);
    accounts.ACCOUNT: (partition, account) and, if texts are looked at, (partition, data.DATA).

    look_limit: of what is looked at, see ``data.Look``.
    """

    text: Text
    look_limit: int = 0

    def expand(self, rows: beam.PCollection[Keyed]) -> beam.pvalue.DoOutputsTuple:
        return (
            rows
            | "ByPartition" >> beam.GroupByKey()
            | "Join"
            >> beam.ParDo(_Join(self.text, self.look_limit))
            .with_output_types(Keyed, **{accounts.ACCOUNT: Keyed})
            .with_outputs(accounts.ACCOUNT, main=TOKENS)
        )


class _Join(beam.DoFn):  # type: ignore[misc]
    def __init__(self, text: Text, look_limit: int) -> None:
        self._text, self._look_limit = text, look_limit

    def setup(self) -> None:
        self._recipes = self._text.recipes()

    def process(self, element: tuple[int, Iterable[Packet]]) -> Iterable[object]:
        watch = Stopwatch()
        partition, packets = element[0], list(element[1])
        if not broadcast.has_more(packets, SYSTEMS, slices.EDGES):
            return
        systems: list[str] = broadcast.from_packets(packets, SYSTEMS)
        edges: slices.Edges = broadcast.from_packets(packets, slices.EDGES)
        hypotheses = _rows(packets, HYPOTHESES, _no_hypotheses(self._text.hypothesis_columns))
        of_references = _rows(packets, REFERENCES, _no_references(self._text.reference_columns))
        given, shuffled = len(hypotheses), _rows(packets, SHUFFLED, _NO_SHUFFLED)
        hypotheses = _with_floor(hypotheses, shuffled)
        joined = joining.join(
            hypotheses,
            of_references,
            systems,
            self._text.missing,
            self._text.resample_by,
            self._text.sliced(REFERENCES),
            _rows(packets, REFUSED_REFERENCES, _NO_IDS).column("example_id"),
            self._text.sliced(HYPOTHESES),
        )
        joined = _without_floor(joined, given, len(shuffled))
        examples, no_numbers = slices.sliced(joined.examples, self._text.slices, edges)
        tokenised = tokenise(replace(joined, examples=examples), self._recipes, self._text)
        sources = {HYPOTHESES: hypotheses, REFERENCES: of_references}
        refused = (
            pa.concat_tables(
                accounts.refused_rows(
                    r.table,
                    "join",
                    _readable(sources[r.table]),
                    [(r.rows, r.reason, r.detail)],
                )
                for r in joined.refusals
            )
            if joined.refusals
            else None
        )
        counts = {**joined.counts, **no_numbers, **tokenised.counts}
        for i, name in enumerate(systems):
            counts[f"system.missing.{name}"] = int(joined.examples.absent[:, i].sum())
        for name, track in tokenised.tracks.items():
            counts[f"tokens.{name}"] = int(track.lengths.sum())
        counts[stopwatch.count(progress.JOIN)] = watch.lap()
        yield beam.pvalue.TaggedOutput(
            accounts.ACCOUNT, (partition, accounts.account(counts, refused))
        )
        if len(examples):
            if self._look_limit:
                recipes = [*self._recipes.values()]
                seen = count_texts(examples, joined.texts, recipes, self._look_limit)
                yield beam.pvalue.TaggedOutput(accounts.ACCOUNT, (partition, data.to_packet(seen)))
            yield partition, to_packet(tokenised, systems)
        progress.tick(progress.JOIN, given + len(of_references), onward=len(joined.examples.system))


def _no_hypotheses(columns: Sequence[str]) -> pa.Table:
    return pa.table(
        {
            "example_id": pa.array([], pa.string()),
            "system": pa.array([], pa.string()),
            "sample": pa.array([], pa.int32()),
            "text": pa.array([], pa.string()),
            **{name: pa.array([], pa.string()) for name in columns},
            tables.FILE: pa.array([], pa.string()),
            tables.ROW: pa.array([], pa.int64()),
        }
    )


_NO_SHUFFLED = _no_hypotheses([]).select(["example_id", "text"])


def _with_floor(hypotheses: pa.Table, shuffled: pa.Table) -> pa.Table:
    """The rows of the hypotheses, and behind them those that are made of other references."""
    if not len(shuffled):
        return hypotheses
    made = {
        "example_id": shuffled.column("example_id"),
        "system": pa.chunked_array([pa.repeat(FLOOR, len(shuffled))]),
        "sample": pa.chunked_array([np.zeros(len(shuffled), np.int32)]),
        "text": shuffled.column("text"),
    }
    columns = [
        made[field.name].cast(field.type)
        if field.name in made
        else pa.nulls(len(shuffled), field.type)
        for field in hypotheses.schema
    ]
    return pa.concat_tables([hypotheses, pa.table(columns, schema=hypotheses.schema)])


def _without_floor(joined: joining.Joined, given: int, made: int) -> joining.Joined:
    """The account of the first ``given`` rows of hypotheses: the others were made here."""
    if not made:
        return joined
    refusals = [
        replace(r, rows=r.rows[r.rows < given]) if r.table == HYPOTHESES else r
        for r in joined.refusals
    ]
    unused = sum(
        int(np.count_nonzero(r.rows >= given)) for r in joined.refusals if r.table == HYPOTHESES
    )
    counts = dict(joined.counts)
    counts["hypotheses.scored"] -= made - unused
    return replace(joined, refusals=tuple(r for r in refusals if len(r.rows)), counts=counts)


_NO_IDS = pa.table({"example_id": pa.array([], pa.string())})


def _no_references(columns: Sequence[str]) -> pa.Table:
    return pa.table(
        {
            "example_id": pa.array([], pa.string()),
            "references": pa.array([], pa.list_(pa.string())),
            "reference_types": pa.array([], pa.list_(pa.string())),
            **{name: pa.array([], pa.string()) for name in columns},
            tables.FILE: pa.array([], pa.string()),
            tables.ROW: pa.array([], pa.int64()),
        }
    )


def _rows(packets: Iterable[Packet], kind: str, empty: pa.Table) -> pa.Table:
    parts = [p.tables[ROWS].select(empty.column_names) for p in of_kind(packets, kind)]
    return pa.concat_tables([part.unify_dictionaries() for part in parts]) if parts else empty


def _readable(rows: pa.Table) -> pa.Table:
    index = rows.column_names.index(tables.FILE)
    return rows.set_column(index, tables.FILE, rows.column(tables.FILE).cast(pa.string()))


@dataclass(frozen=True)
class Tokenised:
    """Examples and their tokens on every track. reference_types: of every reference, or None."""

    examples: Examples
    texts: pa.Array
    tracks: dict[str, TokenTrack]
    reference_types: pa.Array | None
    counts: Mapping[str, int]


def tokenise(joined: Joined, recipes: Mapping[str, TextRecipe], text: Text) -> Tokenised:
    """Cut the texts, and leave near-duplicate references out if that is asked for."""
    tracks = token_tracks(joined.texts, recipes)
    if text.near_duplicates is None:
        return Tokenised(joined.examples, joined.texts, tracks, joined.reference_types, {})
    reduced = references.without_near_duplicates(joined, tracks, *text.near_duplicates)
    counts = {NEAR_DUPLICATES: reduced.dropped, NEAR_DUPLICATE_EXAMPLES: reduced.examples_reduced}
    return Tokenised(
        reduced.examples, reduced.texts, reduced.tracks, reduced.reference_types, counts
    )


_EXAMPLE_ARRAYS = ("units", "system", "sample", "filled", "absent")


def to_packet(tokenised: Tokenised, systems: Sequence[str]) -> Packet:
    """Examples and their tokens, without any text but ids, slice values, types of references and
    names of systems."""
    examples, tracks = tokenised.examples, tokenised.tracks
    arrays = {name: getattr(examples, name) for name in _EXAMPLE_ARRAYS}
    arrays |= {
        "references": _narrow(examples.layout.references),
        "hypotheses": _narrow(examples.layout.hypotheses),
    }
    for number, track in enumerate(tracks.values()):
        arrays |= {
            f"{number} vocabulary_hashes": track.vocabulary_hashes,
            f"{number} ids": track.ids,
            f"{number} lengths": _narrow(track.lengths),
        }
    meta = {"systems": list(systems), "tracks": [*tracks]}
    told = {"examples": example_table(examples)}
    if tokenised.reference_types is not None:
        told[TYPES] = pa.table({TYPES: tokenised.reference_types})
    return Packet(TOKENS, meta, arrays, told)


def from_packet(packet: Packet) -> tuple[Examples, dict[str, SegmentTokens]]:
    """The inverse of ``to_packet``."""
    arrays = packet.arrays
    layout = Layout(arrays["references"].astype(np.int64), arrays["hypotheses"].astype(np.int64))
    tracks = {}
    for number, name in enumerate(packet.meta["tracks"]):
        lengths = arrays[f"{number} lengths"].astype(np.int64)
        track = TokenTrack(arrays[f"{number} vocabulary_hashes"], arrays[f"{number} ids"], lengths)
        tracks[name] = SegmentTokens(track, layout)
    return examples_of(packet, layout), tracks


def example_table(examples: Examples) -> pa.Table:
    """Ids and slice values, one row an example."""
    slices = {f"slice {name}": column for name, column in examples.slices.items()}
    return pa.table({"example_id": examples.example_id, **slices})


def examples_of(packet: Packet, layout: Layout) -> Examples:
    """The examples of a packet that holds ``example_table`` and the arrays of ``Examples``."""
    table = packet.tables["examples"].combine_chunks()
    columns = {name: _array(table, name) for name in table.column_names}
    example_id = columns.pop("example_id")
    slices = {name.removeprefix("slice "): column for name, column in columns.items()}
    return Examples(
        example_id=example_id,
        slices=slices,
        layout=layout,
        **{name: packet.arrays[name] for name in _EXAMPLE_ARRAYS},
    )


def _array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _narrow(values: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> np.ndarray:
    """Non-negative integers in the smallest type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
