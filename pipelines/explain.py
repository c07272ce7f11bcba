"""``liangchi explain RUN ID``: how one example got its scores, n-gram by n-gram.

The texts are read again from the inputs of the run, by the run's own settings and functions. If
what comes out is not what the run stored, that is said.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines import options
from pipelines.text import printable
from schemas.errors import InputError, UserError

_ROWS_A_SECOND = 20_000
"""References a second whose n-grams are counted, about, for a word of warning."""

_WORTH_A_WORD = 3.0

_QUERY = "query"

Say = Callable[[str], None]


def parser() -> argparse.ArgumentParser:
    """The parser of ``liangchi explain``."""
    made = options.Parser(
        prog="liangchi explain",
        allow_abbrev=False,
        description="Show how one example got its scores: tokens, n-grams that match and that do "
        "not, and their weights. The inputs of the run must still be there.",
    )
    made.add_argument("run", metavar="RUN", help="the --output folder of liangchi evaluate")
    made.add_argument("id", metavar="ID", help="example_id")
    made.add_argument("--system", metavar="NAME", help="only this system (default: all)")
    made.add_argument("--sample", type=int, metavar="K", help="only this sample (default: all)")
    made.add_argument(
        "--limit",
        type=int,
        default=40,
        metavar="N",
        help="n-grams shown of each order and kind (default 40; 0: all)",
    )
    return made


def explain(arguments: Sequence[str], say: Say) -> str:
    """What is printed. say: takes what the user should know meanwhile. Raises UserError."""
    given = parser().parse_args(list(arguments))
    example = load(given.run, given.id, say)
    chosen = [
        h
        for h in example.hypotheses
        if given.system in (None, h.system) and given.sample in (None, h.sample)
    ]
    if not chosen:
        there = ", ".join(f"{h.system} {h.sample}" for h in example.hypotheses) or "none"
        raise InputError(
            f"example {given.id!r} has no text of system {given.system or '(any)'}, sample "
            f"{'(any)' if given.sample is None else given.sample}.\nThere are: {there}."
        )
    lines = list(render(replace(example, hypotheses=tuple(chosen)), given.limit))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Gram:
    """One n-gram of an example.

    text: its tokens, with blanks between. counts: in the hypothesis, and in every reference.
    clipped: how often it counts as matched. frequency, weight: None without document frequencies.
    """

    text: str
    count: int
    in_references: tuple[int, ...]
    clipped: int
    frequency: int | None
    weight: float | None


@dataclass(frozen=True)
class Order:
    """The n-grams of one order: those of the hypothesis, in the order of the text, and those that
    only references have. matched, total: as BLEU counts them."""

    order: int
    own: tuple[Gram, ...]
    others: tuple[Gram, ...]
    matched: int
    total: int


@dataclass(frozen=True)
class BleuCount:
    """How BLEU makes its score of a segment: factors of every order and the brevity penalty."""

    precisions: tuple[float, ...]
    weights: tuple[float, ...]
    hypothesis_length: int
    reference_length: int
    brevity: float


@dataclass(frozen=True)
class CiderCount:
    """How CIDEr makes its score of a segment.

    similarities: [references][orders], the penalty for the difference in length included;
    penalties: [references], None without any; means: [references].
    """

    similarities: tuple[tuple[float, ...], ...]
    penalties: tuple[float, ...] | None
    means: tuple[float, ...]


@dataclass(frozen=True)
class CombinationCount:
    """How a combination makes its score of a segment: (weight, metric, score of the metric)."""

    terms: tuple[tuple[float, str, float | None], ...]


Count = BleuCount | CiderCount | CombinationCount | None


@dataclass(frozen=True)
class Cut:
    """A hypothesis on one track. lengths: tokens of every reference."""

    tokens: tuple[str, ...]
    lengths: tuple[int, ...]
    orders: tuple[Order, ...]


@dataclass(frozen=True)
class Weighed:
    """The document frequencies of a track: of how many examples, and where they come from."""

    documents: int
    table: str


@dataclass(frozen=True)
class Hypothesis:
    """One text and its scores. filled: it stands for a missing one.

    cuts: track -> the text on it. counts: metric -> how the score is made, None for metrics that
    only have a value here; tracks: metric -> its track, if it has one.
    scores, statistics: computed here; stored: the row of the run's ``segments``, None if there is
    none. differences: names of what is not as stored. source: where it stands, None if nowhere.
    """

    system: str
    sample: int
    source: str | None
    text: str
    filled: bool
    cuts: dict[str, Cut]
    counts: dict[str, Count]
    tracks: dict[str, str]
    labels: dict[str, str]
    scores: dict[str, float | None]
    statistics: dict[str, int]
    stored: dict[str, Any] | None
    differences: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """One example: its references and where they stand, its hypotheses, and what has changed.

    left_out: how many references count no more, each nearly the same as one that does.
    reference_tokens, weighed: by track; only tracks that have document frequencies are weighed.
    """

    id: str
    query: str | None
    source: str
    references: tuple[str, ...]
    left_out: int
    reference_tokens: dict[str, tuple[tuple[str, ...], ...]]
    weighed: dict[str, Weighed]
    hypotheses: tuple[Hypothesis, ...]
    changes: tuple[str, ...]


def load(run: str, example_id: str, say: Say) -> Example:
    """Everything about one example of a run. Raises InputError."""
    # Late: the parser must be quick.
    from pipelines import report

    result = report.load(run)
    return _Explainer(run, result.manifest, example_id, say).explain()


class _Explainer:
    def __init__(self, run: str, manifest: dict[str, Any], example_id: str, say: Say) -> None:
        from pipelines import evaluation, past

        self._run, self._manifest, self._id, self._say = run, manifest, example_id, say
        config = past.configuration(run, manifest)
        try:
            self._plan = evaluation.plan(config)
        except InputError as error:
            raise InputError(
                f"{error}\nliangchi explain reads the inputs of {run} again: they must be where "
                "they were."
            ) from error
        # The query is read too where there is one, for the reader; nothing is joined by it.
        self._reading = self._plan
        self._query = _QUERY in self._plan.text.reference_columns
        if not self._query:
            with contextlib.suppress(UserError):
                wider = replace(config, slices=(*config.slices, _QUERY))
                planned = evaluation.plan(wider)
                # With --skip_bad_files a file without it would be left out.
                there = _QUERY in planned.text.reference_columns
                if there and planned.inputs.files and _paths(planned) == _paths(self._plan):
                    self._reading, self._query = planned, True

    def explain(self) -> Example:
        import pyarrow as pa

        from scoring import joining
        from scoring.segments import SegmentTokens
        from transforms.sources import HYPOTHESES, REFERENCES
        from transforms.tokens import tokenise

        plan = self._plan
        stored = self._stored()
        orders = plan.measures.document_orders
        saved = {track: self._saved(track, len(orders)) for track in orders}
        recount = None in saved.values()
        rows, others = self._read(recount)
        joined = joining.join(
            rows[HYPOTHESES],
            rows[REFERENCES],
            self._manifest["systems"],
            plan.text.missing,
            plan.text.resample_by,
        )
        if not len(joined.examples):
            raise self._not_there(stored, joined)
        recipes = plan.text.recipes()
        tokenised = tokenise(joined, recipes, plan.text)
        layout = tokenised.examples.layout
        tracks = {name: SegmentTokens(track, layout) for name, track in tokenised.tracks.items()}
        weighed = {}
        for track, table in saved.items():
            tracks[track] = self._with_frequencies(track, tracks[track], table, others)
            frequencies = tracks[track].document_frequencies
            assert frequencies is not None
            source = table or "counted again from the references"
            weighed[track] = Weighed(frequencies.documents, source)
        plain = tokenised.texts.cast(pa.string())
        cut = {
            name: [tuple(t) for t in recipe.tokenize(plain).to_lists()]
            for name, recipe in recipes.items()
        }
        texts = tokenised.texts.to_pylist()
        references = int(layout.references[0])
        query = rows[REFERENCES].column(_QUERY).to_pylist() if self._query else [None]
        return Example(
            id=self._id,
            query=query[0],
            source=_place(rows[REFERENCES].to_pylist()[0]),
            references=tuple(texts[:references]),
            left_out=int(joined.examples.layout.references[0]) - references,
            reference_tokens={name: tuple(of[:references]) for name, of in cut.items()},
            weighed=weighed,
            hypotheses=tuple(
                self._hypotheses(
                    tokenised.examples, tracks, texts, cut, stored, rows[HYPOTHESES].to_pylist()
                )
            ),
            changes=tuple(self._changes()),
        )

    # What the run stored

    def _partition(self) -> int:
        import pyarrow as pa

        from scoring import hashing

        ids = pa.array([self._id], pa.string())
        return int(hashing.spread(hashing.hash_strings(ids), self._manifest["partitions"])[0])

    def _stored(self) -> list[dict[str, Any]]:
        """The rows of ``segments`` of this example."""
        return self._table_rows("segments")

    def _table_rows(self, name: str) -> list[dict[str, Any]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        from transforms import files, folder

        part = folder.part(self._partition(), self._manifest["partitions"])
        paths = [files.join(files.absolute(self._run), name, part)]
        if name == folder.REJECTED:
            base = files.join(files.absolute(self._run), name)
            paths = [files.join(base, n) for n in files.listing(base) if not n.startswith(".")]
        rows: list[dict[str, Any]] = []
        for path in paths:
            try:
                table = files.read_parquet(path)
            except FileNotFoundError:
                continue
            except (OSError, pa.ArrowException) as error:
                raise InputError(
                    f"{path}: cannot be read: {error}.\nThe folder was changed after the run; run "
                    "it again."
                ) from error
            rows += table.filter(pc.equal(table.column("example_id"), self._id)).to_pylist()
        return rows

    def _not_there(self, stored: Sequence[dict[str, Any]], joined: Any) -> InputError:
        from transforms import folder

        said = [f"example {self._id!r} was not scored."]
        for row in self._table_rows(folder.REJECTED)[:5]:
            said.append(
                f"{row['table']}: {row['file']}, row {row['row']:,}: {row['reason']} "
                f"({row['detail']})"
            )
        if stored:
            said = [
                f"example {self._id!r} was scored by the run, but its inputs do not give it any "
                "more: they were changed."
            ]
        elif len(said) == 1:
            near = difflib.get_close_matches(self._id, self._some_ids(), 3)
            said.append("No row has this id." + (f" Near it: {', '.join(near)}." if near else ""))
        return InputError("\n".join(said))

    def _some_ids(self) -> list[str]:
        """Ids of one file of segments."""
        from transforms import files, folder

        base = files.join(files.absolute(self._run), folder.SEGMENTS)
        for name in files.listing(base):
            if not name.startswith("."):
                ids = files.read_parquet(files.join(base, name)).column("example_id")
                names: list[str] = ids.unique().to_pylist()[:20_000]
                return names
        return []

    def _changes(self) -> Iterator[str]:
        """What is not as it was when the run was made, seen from outside."""
        before = {(f["table"], f["path"]): f for f in self._manifest["inputs"]}
        now = {(f.table, f.path): f for f in self._plan.inputs.files}
        for key in sorted({*before, *now}):
            if key not in now:
                yield f"{key[1]} is gone since the run"
            elif key not in before:
                yield f"{key[1]} is new since the run"
            else:
                was, file = before[key], now[key]
                if (was["rows"], was["bytes"]) != (file.rows, file.bytes):
                    yield (
                        f"{key[1]} was changed since the run: {was['rows']:,} rows then, "
                        f"{file.rows:,} now"
                    )
        before_signatures = self._manifest["signatures"]
        for metric, signature in self._plan.signatures:
            was = _recipes_in(before_signatures.get(metric, ""))
            now_cut = _recipes_in(signature)
            if was != now_cut:
                yield (f"texts are cut in another way now ({', '.join(now_cut)}) than by the run")
                return

    # The texts

    def _read(self, every_reference: bool) -> tuple[dict[str, Any], list[Any]]:
        """The rows of this example by table; and, if wanted, the accepted rows of all references,
        a table for every partition."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from pipelines import evaluation
        from schemas import tables
        from transforms.sources import HYPOTHESES, REFERENCES

        inputs = self._plan.inputs
        count = {t: inputs.rows(t) for t in (HYPOTHESES, REFERENCES)}
        seconds = sum(count.values()) / 1_000_000
        if every_reference:
            seconds += count[REFERENCES] / _ROWS_A_SECOND
        if seconds > _WORTH_A_WORD:
            again = ", and counting document frequencies again" if every_reference else ""
            self._say(
                f"reading {sum(count.values()):,} rows again{again}: about {seconds:.0f} s. A run "
                "with --save_document_frequencies spares the counting."
            )
        wanted = self._partition()
        found: dict[str, list[Any]] = {HYPOTHESES: [], REFERENCES: []}
        others: dict[int, list[Any]] = {}
        for table, partition, rows in evaluation.read_rows(self._reading):
            if table == REFERENCES and every_reference:
                joined_by = ["example_id", "references", *self._plan.text.reference_columns]
                others.setdefault(partition, []).append(rows.select(joined_by))
            if partition == wanted:
                own = rows.filter(pc.equal(rows.column("example_id"), self._id))
                index = own.column_names.index(tables.FILE)
                found[table].append(
                    own.set_column(index, tables.FILE, own.column(tables.FILE).cast(pa.string()))
                )
        empty = {
            HYPOTHESES: {"system": pa.string(), "sample": pa.int32(), "text": pa.string()},
            REFERENCES: {
                "references": pa.list_(pa.string()),
                **dict.fromkeys(self._reading.text.reference_columns, pa.string()),
            },
        }
        result = {}
        for table, columns in empty.items():
            schema = {
                "example_id": pa.string(),
                **columns,
                tables.FILE: pa.string(),
                tables.ROW: pa.int64(),
            }
            none = pa.schema(schema).empty_table()
            result[table] = pa.concat_tables(found[table]) if found[table] else none
        return result, [pa.concat_tables(parts) for parts in others.values()]

    # Document frequencies

    def _saved(self, track: str, tracks: int) -> str | None:
        """The table of a track that the run used or saved; None if it did neither, or it is
        gone."""
        from pipelines import measured, past
        from transforms import files
        from transforms.frequencies import TABLE_FILE

        configuration = self._manifest["configuration"]
        for key in ("document_frequencies", "save_document_frequencies"):
            if configuration.get(key):
                given = past.at(self._manifest, configuration[key])
                path = measured.table_folder(given, track, tracks)
                try:
                    files.read_bytes(files.join(path, TABLE_FILE))
                except OSError:
                    continue
                return path
        return None

    def _with_frequencies(
        self, track: str, tokens: Any, saved: str | None, references: Sequence[Any]
    ) -> Any:
        """The tokens with the document frequencies that the run weighed them by."""
        import numpy as np
        import pyarrow as pa

        from pipelines import measured
        from scoring import document_frequencies, joining
        from scoring.document_frequencies import Request
        from scoring.evaluation import document_buckets, document_requests
        from scoring.segments import SegmentTokens
        from transforms import files
        from transforms.frequencies import SavedTable
        from transforms.tokens import tokenise

        order, text = self._plan.measures.document_orders[track], self._plan.text
        asked = document_buckets(tokens, order, 1)
        hashes = document_requests(tokens, asked)[0].hashes
        # The example asks; what is counted comes from the whole table or from all references.
        requests = [Request(hashes, np.zeros(len(hashes), np.uint32))]

        def add(found: Any, counts: Any) -> None:
            ours = np.isin(found, hashes)
            requests.append(Request(found[ours], counts[ours].astype(np.uint32)))

        by = text.near_duplicates[0] if text.near_duplicates else track
        needed = {name: text.recipes()[name] for name in {track, by}}
        if saved is not None:
            table = SavedTable.load(saved, order, measured.table_recipes(text)[track])
            documents = table.documents
            for part in table.parts:
                rows = files.read_parquet(files.join(saved, part))
                add(rows.column("hash").to_numpy(), rows.column("frequency").to_numpy())
        else:
            documents = 0
            none = pa.schema(
                {
                    "example_id": pa.string(),
                    "system": pa.string(),
                    "sample": pa.int32(),
                    "text": pa.string(),
                }
            ).empty_table()
            for rows in references:
                joined = joining.join(none, rows, [], "skip", text.resample_by)
                documents += len(joined.examples)
                if len(joined.examples):
                    cut = tokenise(joined, needed, text)
                    batch = SegmentTokens(cut.tracks[track], cut.examples.layout)
                    (request,) = document_requests(batch, document_buckets(batch, order, 1))
                    add(request.hashes, request.counts)
        answers, _ = document_frequencies.answer(requests)
        return tokens.with_frequencies(asked.frequencies(documents, answers[:1]))

    # The count

    def _hypotheses(
        self,
        examples: Any,
        tracks: Any,
        texts: Sequence[str],
        cut: dict[str, list[tuple[str, ...]]],
        stored: Sequence[dict[str, Any]],
        read: Sequence[dict[str, Any]],
    ) -> Iterator[Hypothesis]:
        from scoring.evaluation import StatisticsLayout, segment_scores

        layout = self._plan.measures.layout()
        segments = layout.segment_statistics(tracks)
        scores = segment_scores(layout, segments)
        names = [n for n in layout.names if n not in StatisticsLayout.COUNTS]
        rows = {(r["system"], r["sample"]): r for r in stored}
        places = {(r["system"], r["sample"]): _place(r) for r in reversed(read)}
        references = int(examples.layout.references[0])
        tables = {
            name: [
                _GramTable(tracks[name], of, n) for n in range(1, _order(layout.sources, name) + 1)
            ]
            for name, of in cut.items()
        }
        track_of = {source.name: source.track for source in layout.sources}
        for i, text in enumerate(examples.layout.text_of_hypothesis.tolist()):
            system = self._manifest["systems"][int(examples.system[i])]
            sample = int(examples.sample[i])
            statistics = {n: int(segments[i, layout.column(n)]) for n in names}
            own = {
                m: None if math.isnan(value[i]) else float(value[i]) for m, value in scores.items()
            }
            row = rows.get((system, sample))
            computed = {**statistics, **own, "missing": bool(examples.filled[i])}
            yield Hypothesis(
                system=system,
                sample=sample,
                source=places.get((system, sample)),
                text=texts[text],
                filled=bool(examples.filled[i]),
                cuts={
                    name: Cut(
                        of[text],
                        tuple(len(c) for c in of[:references]),
                        tuple(t.of(text, references, tracks[name], i) for t in tables[name]),
                    )
                    for name, of in cut.items()
                },
                counts={
                    m.name: _count(m, tracks, segments[i : i + 1], layout, i)
                    for m in layout.metrics
                },
                tracks={m.name: track_of[m.name] for m in layout.metrics if m.name in track_of},
                labels={m.name: m.label for m in layout.metrics},
                scores=own,
                statistics=statistics,
                stored=row,
                differences=tuple(
                    name
                    for name, value in computed.items()
                    if row is None or row.get(name) != value
                ),
            )


def _place(row: dict[str, Any]) -> str:
    from schemas import tables

    return f"{row[tables.FILE]}, row {row[tables.ROW]:,}"


def _paths(plan: Any) -> list[str]:
    return [file.path for file in plan.inputs.files]


class _GramTable:
    """The n-grams of one order of an example, with their texts."""

    def __init__(self, tokens: Any, cut: Sequence[tuple[str, ...]], order: int) -> None:
        counts = tokens.ngrams(order)[order - 1]
        ids = tokens.track.ids.tolist()
        starts = tokens.track.offsets.tolist()
        self._order = order
        self._placed: list[list[tuple[int, ...]]] = []
        words: dict[int, str] = {}
        for text, pieces in enumerate(cut):
            own = ids[starts[text] : starts[text + 1]]
            words.update(zip(own, pieces))
            self._placed.append([tuple(own[i : i + order]) for i in range(len(own) - order + 1)])
        # n-grams are numbered in the order of their tokens (scoring/ngrams.py).
        distinct = sorted({gram for grams in self._placed for gram in grams})
        assert len(distinct) == len(counts.hashes)
        self._number = {gram: number for number, gram in enumerate(distinct)}
        self._text = {gram: " ".join(words[i] for i in gram) for gram in distinct}
        self._count = {
            (gram, text): count
            for gram, text, count in zip(
                counts.gram.tolist(), counts.text.tolist(), counts.count.tolist()
            )
        }
        self._frequencies = self._weights = None
        frequencies = tokens.document_frequencies
        if frequencies is not None and order <= len(frequencies.by_order):
            from scoring.metrics.cider import inverse_frequencies

            of_order = frequencies.by_order[order - 1]
            self._frequencies = of_order.tolist()
            if frequencies.documents:
                weights = inverse_frequencies(of_order, frequencies.documents)
                self._weights = weights.tolist()

    def of(self, text: int, references: int, tokens: Any, hypothesis: int) -> Order:
        """As seen by one hypothesis."""
        own = list(dict.fromkeys(self._placed[text]))
        others = dict.fromkeys(gram for grams in self._placed[:references] for gram in grams)
        for gram in own:
            others.pop(gram, None)
        return Order(
            self._order,
            tuple(self._gram(gram, text, references) for gram in own),
            tuple(self._gram(gram, text, references) for gram in others),
            matched=int(tokens.clipped_matches(self._order)[hypothesis]),
            total=len(self._placed[text]),
        )

    def _gram(self, gram: tuple[int, ...], text: int, references: int) -> Gram:
        number = self._number[gram]
        count = self._count.get((number, text), 0)
        in_references = tuple(self._count.get((number, r), 0) for r in range(references))
        return Gram(
            self._text[gram],
            count,
            in_references,
            min(count, max(in_references)),
            None if self._frequencies is None else self._frequencies[number],
            None if self._weights is None else self._weights[number],
        )


def _order(sources: Sequence[Any], track: str) -> int:
    """The longest n-gram that a metric of the track counts."""
    return max((getattr(s.metric, "order", 0) for s in sources if s.track == track), default=0)


def _count(metric: Any, tracks: Any, segment: Any, layout: Any, hypothesis: int) -> Count:
    """segment: the statistics of the hypothesis, [1, k]."""
    from scoring.metrics.bleu import Bleu
    from scoring.metrics.cider import Cider
    from scoring.metrics.tracks import Combination, OnTrack

    if isinstance(metric, Combination):
        terms = []
        for weight, term in metric.terms:
            value = float(term.segment_score(segment[:, layout.columns(term)])[0])
            terms.append((weight, term.name, None if math.isnan(value) else value))
        return CombinationCount(tuple(terms))
    assert isinstance(metric, OnTrack)
    if isinstance(metric.metric, Bleu):
        return _count_bleu(metric.metric, segment[0, layout.columns(metric)])
    if isinstance(metric.metric, Cider):
        return _count_cider(metric.metric, tracks[metric.track], hypothesis)
    return None


def _recipes_in(signature: str) -> list[str]:
    """The recipes of the texts that a signature names."""
    return re.findall(r"\|text:([^|)]*)", signature)


def _count_bleu(metric: Any, statistics: Any) -> BleuCount:
    import numpy as np

    n = metric.order
    matches, totals = (
        statistics[3 + i * n : 3 + (i + 1) * n].astype(np.float64)[None] for i in (0, 1)
    )
    precisions, has = metric.precisions(matches, totals)
    weights = [w if there else 0.0 for w, there in zip(metric.weights, has[0].tolist())]
    total = math.fsum(weights)
    ours, theirs = int(statistics[1]), int(statistics[2])
    return BleuCount(
        precisions=tuple(precisions[0].tolist()),
        weights=tuple(w / total if total else 0.0 for w in weights),
        hypothesis_length=ours,
        reference_length=theirs,
        brevity=math.exp(min(0.0, 1 - theirs / ours)) if ours else 0.0,
    )


def _count_cider(metric: Any, tokens: Any, hypothesis: int) -> CiderCount | None:
    import numpy as np

    if tokens.document_frequencies.documents < 2:
        return None
    layout = tokens.layout
    pairs = np.flatnonzero(layout.hypothesis_of_pair == hypothesis)
    # What is added by each order: the mean over n orders, times n, less that over n - 1.
    sums = [np.zeros(len(pairs))]
    for n in range(1, metric.order + 1):
        sums.append(n * replace(metric, order=n).similarities(tokens)[pairs])
    # A difference of equal sums may be a bit below 0.
    by_order = np.maximum(np.diff(np.stack(sums), axis=0), 0.0).T
    penalties = None
    if metric.clip_and_penalise:
        bigrams = np.maximum(tokens.track.lengths - 1, 0)
        own = bigrams[layout.text_of_hypothesis[hypothesis]]
        difference = np.abs(own - bigrams[layout.reference_pairs[pairs]])
        penalties = tuple(metric.penalty(difference).tolist())
    return CiderCount(
        similarities=tuple(map(tuple, by_order.tolist())),
        penalties=penalties,
        means=tuple((sums[-1] / metric.order).tolist()),
    )


# What is shown


def render(example: Example, limit: int) -> Iterator[str]:
    """The lines of an explanation; at most ``limit`` n-grams of each order and kind, 0: all."""
    yield f"example {printable(example.id)}"
    for change in example.changes:
        yield f"  CHANGED: {printable(change)}"
    yield f"  {printable(example.source)}"
    if example.query is not None:
        yield f"query        {printable(example.query)}"
    several = len(example.reference_tokens) > 1
    for number, text in enumerate(example.references):
        yield f"reference {number + 1}  {printable(text)}"
        for track, of_track in example.reference_tokens.items():
            yield f"             {f'{track}: ' if several else ''}{_tokens(of_track[number])}"
    if example.left_out:
        yield f"{example.left_out} near-duplicate references are left out"
    for track, weighed in example.weighed.items():
        on = f" on {track}" if several else ""
        yield (
            f"document frequencies{on}: of {weighed.documents:,} examples, "
            f"{printable(weighed.table)}"
        )
    for hypothesis in example.hypotheses:
        yield ""
        yield from _render(hypothesis, limit)


def _tokens(tokens: Sequence[str]) -> str:
    return f"{len(tokens)} tokens: {' / '.join(map(printable, tokens))}" if tokens else "no token"


def _render(hypothesis: Hypothesis, limit: int) -> Iterator[str]:
    name = f"{printable(hypothesis.system)}, sample {hypothesis.sample}"
    yield f"== {name} =="
    if hypothesis.source is not None and not hypothesis.filled:
        yield f"  {printable(hypothesis.source)}"
    yield "missing: scored as an empty text" if hypothesis.filled else printable(hypothesis.text)
    several = len(hypothesis.cuts) > 1
    for track, cut in hypothesis.cuts.items():
        yield f"{f'{track}: ' if several else ''}{_tokens(cut.tokens)}"
    if hypothesis.stored is None:
        yield "CHANGED: the run stored no scores for this text"
    elif hypothesis.differences:
        yield (
            "CHANGED: the run stored other values of "
            f"{', '.join(map(printable, hypothesis.differences))}: what follows is not what it "
            "scored"
        )
    for metric, count in hypothesis.counts.items():
        yield ""
        value = hypothesis.scores[metric]
        shown = "undefined" if value is None else f"{value:.6f}"
        stored = "" if hypothesis.stored is None else _stored(hypothesis, metric)
        yield f"{hypothesis.labels[metric]} {shown}{stored}"
        if isinstance(count, BleuCount):
            yield from _render_bleu(hypothesis.cuts[hypothesis.tracks[metric]], count)
        elif isinstance(count, CiderCount):
            yield from _render_cider(count)
        elif isinstance(count, CombinationCount):
            yield from _render_combination(count)
    for track, cut in hypothesis.cuts.items():
        on = f" on {track}" if several else ""
        for order in cut.orders:
            yield ""
            yield f"{order.order}-grams{on}: {order.matched} of {order.total} matched"
            yield from _grams(order, len(cut.lengths), limit)


def _render_combination(count: CombinationCount) -> Iterator[str]:
    for weight, metric, value in count.terms:
        yield f"  {weight:+g} x {metric} {'undefined' if value is None else f'{value:.6f}'}"


def _stored(hypothesis: Hypothesis, metric: str) -> str:
    assert hypothesis.stored is not None
    value = hypothesis.stored.get(metric)
    if value == hypothesis.scores[metric]:
        return "  (as stored)"
    return f"  (stored: {'undefined' if value is None else f'{value:.6f}'})"


def _render_bleu(cut: Cut, count: BleuCount) -> Iterator[str]:
    for order, precision in zip(cut.orders, count.precisions):
        smoothed = "  (smoothed)" if order.matched == 0 and precision > 0 else ""
        yield (
            f"  order {order.order}: {order.matched} of {order.total} = {precision:.4f}{smoothed}"
        )
    closest = [n for n, length in enumerate(cut.lengths, 1) if length == count.reference_length]
    which = f"reference {closest[0]}" if closest else "a reference"
    yield (
        f"  brevity penalty {count.brevity:.4f}: {count.hypothesis_length} tokens, {which} is "
        f"closest with {count.reference_length}"
    )
    used = [(w, p) for w, p in zip(count.weights, count.precisions) if w > 0]
    if not used or any(p <= 0 for _, p in used) or not any(o.matched for o in cut.orders):
        yield "  nothing of some order matches: 0"
        return
    terms = " + ".join(f"{w:g} ln {p:.4f}" for w, p in used)
    yield f"  = {count.brevity:.4f} x exp({terms})"


def _render_cider(count: CiderCount) -> Iterator[str]:
    from pipelines.report import aligned

    orders = len(count.similarities[0]) if count.similarities else 0
    head = ["", *(f"order {n}" for n in range(1, orders + 1))]
    head += ["length", "mean"] if count.penalties is not None else ["mean"]
    rows = [head]
    for number, (similarities, mean) in enumerate(zip(count.similarities, count.means)):
        cells = [f"reference {number + 1}", *(f"{s:.4f}" for s in similarities)]
        if count.penalties is not None:
            cells.append(f"x {count.penalties[number]:.4f}")
        rows.append([*cells, f"{mean:.4f}"])
    yield from (f"  {line}" for line in aligned(rows))
    inside = ", the factor for length included" if count.penalties is not None else ""
    yield f"  = 10 x the mean over references (similarity of each order{inside})"


def _grams(order: Order, references: int, limit: int) -> Iterator[str]:
    from pipelines.report import aligned

    weighed = any(g.weight is not None for g in (*order.own, *order.others))
    head = ["", "n-gram", "here", *(f"ref {n}" for n in range(1, references + 1)), "counts"]
    head += ["df", "weight"] if weighed else []
    rows = [head]
    left: list[str] = []
    kinds = (
        ("matched", [g for g in order.own if g.clipped]),
        ("missed", [g for g in order.own if not g.clipped]),
        ("only in references", list(order.others)),
    )
    for kind, grams in kinds:
        shown = grams[:limit] if limit > 0 else grams
        for gram in shown:
            cells = [kind, printable(gram.text), str(gram.count)]
            cells += [*map(str, gram.in_references), str(gram.clipped)]
            if weighed:
                cells += [
                    "-" if gram.frequency is None else _frequency(gram.frequency),
                    "-" if gram.weight is None else f"{gram.weight:.4f}",
                ]
            rows.append(cells)
        if len(shown) < len(grams):
            left.append(f"{len(grams) - len(shown):,} more {kind}")
    if len(rows) > 1:
        yield from (f"  {line}" for line in aligned(rows))
    if left:
        yield f"  ... {', '.join(left)} (--limit 0 shows all)"


def _frequency(frequency: int) -> str:
    # The exchange sends only frequencies of 2 and more: 0 and 1 weigh the same.
    return str(frequency) if frequency >= 2 else "0-1"
