"""The library's front door: score lists of strings in memory, by the functions the job uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from scoring import document_frequencies
from scoring.comparisons import (
    BOOTSTRAP,
    NO_COMPARISONS,
    RANDOMISATION,
    Comparisons,
    Difference,
    Draws,
    compare,
    outcomes,
    with_common,
)
from scoring.evaluation import (
    OVERALL,
    Score,
    SliceSums,
    StatisticsLayout,
    distinct_units,
    document_buckets,
    document_requests,
    finish,
    slice_sums,
)
from scoring.joining import join
from scoring.metrics.base import Metric, Scorer
from scoring.metrics.bleu import Bleu
from scoring.metrics.cider import Cider
from scoring.metrics.tracks import MAIN, Tracks
from scoring.references import without_near_duplicates
from scoring.segments import SegmentTokens
from scoring.statistics.draws import BOOTSTRAP as DRAWN
from scoring.statistics.draws import PLAIN, SWAP, Block, blocks
from scoring.text.recipe import TextRecipe, token_tracks
from scoring.text.tokenizers import make_tokenizer

Texts = Sequence["str | Sequence[str | None] | None"]


@dataclass(frozen=True)
class Evaluation:
    """Scores by system, slice and metric, the whole set first; differences likewise."""

    scores: tuple[Score, ...]
    differences: tuple[Difference, ...] = ()

    def __getitem__(self, key: tuple[str, str]) -> Score:
        """The score of (system, metric) over the whole set. Raises KeyError."""
        for score in self.scores:
            if (score.system, score.metric) == key and score.slice == OVERALL[0]:
                return score
        raise KeyError(key)


def evaluate(
    hypotheses: Mapping[str, Texts],
    references: Sequence[Sequence[str | None]],
    *,
    metrics: Sequence[Scorer] = (Bleu(), Cider()),
    tokenizer: str = "jieba",
    tracks: Mapping[str, TextRecipe] | None = None,
    near_duplicate_references: float | None = None,
    bootstrap: int = 1000,
    confidence: float = 0.95,
    seed: int = 12345,
    ids: Sequence[str] | None = None,
    slices: Mapping[str, Sequence[str | None]] | None = None,
    units: Sequence[str] | None = None,
    missing: str = "empty",
    comparisons: Comparisons = NO_COMPARISONS,
) -> Evaluation:
    """Score systems on the same references.

    hypotheses: system -> one entry an example: a text, None (missing), or a list of samples.
    references: for every example its texts (None entries are dropped). At least one each.
    tokenizer: of the main track; tracks: recipes of others, for metrics such as
        ``OnTrack(Bleu(), "char")`` and combinations of them.
    near_duplicate_references: above this Jaccard coefficient of their tokens, on the first track
        in use, references of one example count as one.
    ids: names of the examples (default: their numbers); units: what is resampled together
        (default: the examples). slices: name -> value of every example.
    missing: what a missing hypothesis (None) is: ``empty`` (the default: an empty one), ``skip``
    (left out) or ``error``.
    comparisons: which systems are compared; with ``skip`` on the examples that both have.
    Raises ValueError if lengths differ, an example has no reference, or an option is out of range.
    """
    n = len(references)
    layout = StatisticsLayout(tuple(metrics))
    recipes = {MAIN: TextRecipe(make_tokenizer(tokenizer)), **(tracks or {})}
    if unknown := sorted({*layout.tracks} - {*recipes}):
        raise ValueError(f"no track is called {unknown[0]!r}; there are {', '.join(recipes)}")
    recipes = {name: recipe for name, recipe in recipes.items() if name in layout.tracks}
    _check_options(hypotheses, bootstrap, confidence, missing, slices or {})
    lengths = {f"hypotheses of {s!r}": len(texts) for s, texts in hypotheses.items()}
    lengths |= {f"slice {s!r}": len(values) for s, values in (slices or {}).items()}
    lengths |= {"ids": n if ids is None else len(ids), "units": n if units is None else len(units)}
    for what, length in lengths.items():
        if length != n:
            raise ValueError(f"{what}: {length} entries, but there are {n} lists of references")
    ids = [str(i) for i in range(n)] if ids is None else ids
    if len(set(ids)) != n:
        raise ValueError("ids must differ")
    kept = [[r for r in texts if r is not None] for texts in references]
    for name, texts in zip(ids, kept):
        if not texts:
            raise ValueError(f"example {name!r} has no reference")

    systems = sorted(hypotheses)
    rows = [
        (name, system, sample, text)
        for system in systems
        for name, entry in zip(ids, hypotheses[system])
        for sample, text in enumerate([entry] if entry is None or isinstance(entry, str) else entry)
    ]
    columns = list(zip(*rows)) if rows else [(), (), (), ()]
    unit_column = {} if units is None else {"unit": list(units)}
    joined = join(
        pa.table(
            {
                "example_id": pa.array(columns[0], pa.string()),
                "system": pa.array(columns[1], pa.string()),
                "sample": pa.array(columns[2], pa.int32()),
                "text": pa.array(columns[3], pa.string()),
            }
        ),
        pa.table(
            {
                "example_id": pa.array(ids, pa.string()),
                "references": pa.array(kept, pa.list_(pa.string())),
                **{f"slice {s}": pa.array(v, pa.string()) for s, v in (slices or {}).items()},
                **{u: pa.array(v, pa.string()) for u, v in unit_column.items()},
            }
        ),
        systems,
        missing,
        "unit" if units is not None else None,
        [f"slice {s}" for s in slices or {}],
    )
    cut = token_tracks(joined.texts, recipes)
    examples = joined.examples
    if near_duplicate_references is not None:
        by = next(iter(cut))
        reduced = without_near_duplicates(joined, cut, by, near_duplicate_references)
        cut, examples = reduced.tracks, reduced.examples
    tokens = {name: SegmentTokens(track, examples.layout) for name, track in cut.items()}
    weighed = all_with_own_frequencies(tokens, layout)
    statistics = layout.per_example(layout.segment_statistics(weighed), examples)
    comparisons = replace(comparisons, common=missing == "skip")
    pairs = comparisons.pairs(systems)
    draws = comparisons.draws(systems, len(metrics), ())
    extended = with_common(statistics, pairs, len(systems))
    tested = dict.fromkeys(comparisons.tests, draws)
    bootstrap_draws = max(bootstrap, tested.get(BOOTSTRAP, 0))
    parts: dict[str, list[list[SliceSums]]] = {PLAIN: [], DRAWN: [], SWAP: []}
    for block in blocks(bootstrap_draws, tested.get(RANDOMISATION, 0), extended[0].size):
        parts[block.kind].append(slice_sums(examples, extended, seed, block))
    won = slice_sums(examples, outcomes(layout, extended, pairs), 0, Block(PLAIN))
    of_slice = distinct_units(examples)
    scores: list[Score] = []
    differences: list[Difference] = []
    for i, plain in enumerate(parts[PLAIN][0]):
        none = np.zeros((0, *plain.sums.shape[1:]), np.int64)
        drawn, swapped = (
            np.concatenate([none, *(part[i].sums for part in parts[kind])])
            for kind in (DRAWN, SWAP)
        )
        units_drawn = None if units is None else len(of_slice[plain.name, plain.value])
        name = plain.name.removeprefix("slice ")
        done = finish(
            layout,
            systems,
            name,
            plain.value,
            plain.sums[0, : len(systems)],
            drawn[:bootstrap, : len(systems)],
            units_drawn,
            confidence,
        )
        scores += done.scores
        differences += compare(
            layout,
            comparisons,
            systems,
            (name, plain.value),
            Draws(plain.sums[0], drawn, swapped, won[i].sums[0]),
            bootstrap,
            draws,
            units_drawn,
            confidence,
        )
    return Evaluation(tuple(scores), tuple(differences))


def _check_options(
    hypotheses: Mapping[str, Texts],
    bootstrap: int,
    confidence: float,
    missing: str,
    slices: Mapping[str, Sequence[str | None]],
) -> None:
    if not hypotheses:
        raise ValueError("no system: hypotheses is empty")
    if bootstrap < 0:
        raise ValueError(f"bootstrap must be 0 or more, not {bootstrap}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")
    if missing not in ("empty", "skip", "error"):
        raise ValueError(f"missing must be empty, skip or error, not {missing!r}")
    if OVERALL[0] in slices:
        raise ValueError(f"a slice cannot be called {OVERALL[0]!r}: that is the whole set")
    absent = [name for name, texts in hypotheses.items() if any(t is None for t in texts)]
    if missing == "error" and absent:
        raise ValueError(f"system {absent[0]!r} gave no output for some examples")


def with_own_frequencies(tokens: SegmentTokens, metrics: Sequence[Metric]) -> SegmentTokens:
    """The tokens with document frequencies from their own references, if a metric needs them."""
    return _with_own(tokens, max((metric.document_order for metric in metrics), default=0))


def all_with_own_frequencies(tracks: Tracks, layout: StatisticsLayout) -> Tracks:
    """The same for every track."""
    orders = layout.document_orders
    return {name: _with_own(tokens, orders.get(name, 0)) for name, tokens in tracks.items()}


def _with_own(tokens: SegmentTokens, order: int) -> SegmentTokens:
    if not order:
        return tokens
    buckets = document_buckets(tokens, order, 1)
    answers, _ = document_frequencies.answer([*document_requests(tokens, buckets)])
    frequencies = buckets.frequencies(len(tokens.layout.references), answers)
    return tokens.with_frequencies(frequencies)
