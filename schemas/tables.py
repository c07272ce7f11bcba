"""The tables at the border: what goes out, column by column. Bump VERSION when one changes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

VERSION = 1

FILE, ROW = "\0file", "\0row"
"""Where a row stands, in tables that have the user's columns too: none of those is called so."""


def _schema(name: str, *fields: tuple[str, pa.DataType, str]) -> pa.Schema:
    return pa.schema(
        [pa.field(f, t, metadata={"doc": doc}) for f, t, doc in fields],
        metadata={"liangchi.table": name, "liangchi.version": str(VERSION)},
    )


_TEXT = pa.string()
_COUNT = pa.int64()
_REAL = pa.float64()

SCORES = _schema(
    "scores",
    ("run_id", _TEXT, "given, or a hash of the signature and the accepted rows"),
    ("system", _TEXT, "what is scored"),
    ("slice", _TEXT, "column that the examples are chosen by; overall: all of them"),
    ("slice_value", _TEXT, "its value; empty for overall"),
    ("metric", _TEXT, "bleu, cider_d, ..."),
    ("value", _REAL, "the score; null if undefined, see note"),
    ("ci_low", _REAL, "lower end of the interval; null if there is none, see note"),
    ("ci_high", _REAL, "upper end of the interval"),
    ("ci_level", _REAL, "confidence, such as 0.95; null without bootstrap"),
    ("ci_method", _TEXT, "how the interval was made; null without bootstrap"),
    ("units", _COUNT, "how many things were resampled: examples, documents, ..."),
    ("examples", _COUNT, "examples scored"),
    ("segments", _COUNT, "hypotheses scored, every sample one, filled ones included"),
    ("missing", _COUNT, "examples for which the system gave nothing"),
    ("signature", _TEXT, "everything that moves the score"),
    ("scale", _TEXT, "range of the score, such as 0-1"),
    ("note", _TEXT, "what to mind; the reason for a null; empty if all is well"),
)

COMPARISONS = _schema(
    "comparisons",
    ("run_id", _TEXT, "as in scores"),
    ("system", _TEXT, "what is compared"),
    ("baseline", _TEXT, "with what"),
    ("slice", _TEXT, "as in scores"),
    ("slice_value", _TEXT, "as in scores"),
    ("metric", _TEXT, "as in scores"),
    ("difference", _REAL, "score of system minus score of baseline; null if undefined, see note"),
    ("ci_low", _REAL, "lower end of the difference's interval; null if there is none, see note"),
    ("ci_high", _REAL, "upper end of the interval"),
    ("ci_level", _REAL, "confidence, such as 0.95; null without bootstrap"),
    ("test", _TEXT, "bootstrap: paired bootstrap; randomisation: approximate randomisation"),
    ("p_value", _REAL, "two-sided; null if there is none, see note"),
    ("p_adjusted", _REAL, "by Holm over the family: compare this one with alpha"),
    ("comparisons", _COUNT, "p values in the family"),
    ("draws", _COUNT, "replicates or trials that the p value stands on"),
    ("wins", _COUNT, "examples in which system's segment score is above baseline's"),
    ("losses", _COUNT, "examples in which it is below"),
    ("ties", _COUNT, "examples in which neither is above"),
    ("units", _COUNT, "how many things were drawn: examples, documents, ..."),
    ("examples", _COUNT, "examples that both were scored on"),
    ("detectable_difference", _REAL, "the smallest that these examples show with 80% power"),
    ("units_needed", _COUNT, "to show the difference asked for with 80% power; null: not asked"),
    ("signature", _TEXT, "as in scores, and how the systems are compared"),
    ("scale", _TEXT, "as in scores"),
    ("note", _TEXT, "what to mind; the reason for a null; empty if all is well"),
)

RANKING = _schema(
    "ranking",
    ("run_id", _TEXT, "as in scores"),
    ("slice", _TEXT, "as in scores"),
    ("slice_value", _TEXT, "as in scores"),
    ("metric", _TEXT, "as in scores"),
    ("test", _TEXT, "as in comparisons"),
    ("rank", _COUNT, "place by score, from 1"),
    ("cluster", _COUNT, "from 1; every system of a cluster beats the first of the next one"),
    ("system", _TEXT, "as in scores"),
    ("value", _REAL, "its score"),
    ("beats", _COUNT, "systems that it beats: p_adjusted below alpha"),
)

SERIES = _schema(
    "series",
    ("run_id", _TEXT, "as in scores"),
    ("system", _TEXT, "whose checkpoints these are"),
    ("step", _TEXT, "of the checkpoint; rows of a system go by it, numbers by size"),
    ("slice", _TEXT, "as in scores"),
    ("slice_value", _TEXT, "as in scores"),
    ("metric", _TEXT, "as in scores"),
    ("value", _REAL, "as in scores"),
    ("ci_low", _REAL, "as in scores"),
    ("ci_high", _REAL, "as in scores"),
    ("previous_difference", _REAL, "to the step before; null for the first"),
    ("previous_ci_low", _REAL, "lower end of its interval"),
    ("previous_ci_high", _REAL, "upper end of its interval"),
    ("previous_p_value", _REAL, "by the first of the tests, not adjusted"),
    ("best_difference", _REAL, "to the best step of the series; null for that one"),
    ("best_ci_low", _REAL, "lower end of its interval"),
    ("best_ci_high", _REAL, "upper end of its interval"),
    ("best_p_value", _REAL, "by the first of the tests, not adjusted"),
    ("best_p_adjusted", _REAL, "by bootstrap, for the choice of the best among all steps"),
    ("is_best", pa.bool_(), "the best step; of equals the first"),
    ("falls", _COUNT, "steps in a row, this one among them, at which the score fell"),
    ("stop", pa.bool_(), "the first step at which so many falls stand in a row as was asked"),
)

REPLICATES = _schema(
    "replicates",
    ("system", _TEXT, "as in scores"),
    ("slice", _TEXT, "as in scores"),
    ("slice_value", _TEXT, "as in scores"),
    ("metric", _TEXT, "as in scores"),
    ("replicate", pa.int32(), "number of the replicate: equal numbers drew equal weights"),
    ("value", _REAL, "the score under these weights; null if undefined"),
)

REJECTED = _schema(
    "rejected",
    ("table", _TEXT, "hypotheses or references"),
    ("file", _TEXT, "where the row stands"),
    ("row", _COUNT, "its number in the file, from 0; null: the whole file"),
    ("example_id", _TEXT, "null if it has none"),
    ("system", _TEXT, "null if it has none, and for references"),
    ("stage", _TEXT, "read, check or join"),
    ("reason", _TEXT, "a fixed word"),
    ("detail", _TEXT, "the reason in a sentence"),
)

SAMPLES = _schema(
    "samples",
    ("run_id", _TEXT, "as in scores"),
    ("system", _TEXT, "a system with several samples of some query"),
    ("metric", _TEXT, "as in scores"),
    ("queries", _COUNT, "examples with two samples or more of which the metric is defined"),
    ("samples", _COUNT, "sample indices"),
    ("mean_over_samples", _REAL, "each index scored alone over all its examples, then the mean"),
    ("lowest_sample", _REAL, "the lowest of these scores"),
    ("highest_sample", _REAL, "the highest of these scores"),
    ("variance", _REAL, "of segment scores within a query (divided by n - 1), mean over queries"),
    ("range", _REAL, "highest minus lowest segment score of a query, mean over queries"),
    ("limit", _REAL, "what a range is compared with"),
    ("above", _REAL, "share of queries whose range is above the limit"),
    ("signature", _TEXT, "as in scores"),
    ("scale", _TEXT, "as in scores"),
    ("note", _TEXT, "what to mind; the reason for a null; empty if all is well"),
)

SAMPLES_WORST = _schema(
    "samples_worst",
    ("run_id", _TEXT, "as in scores"),
    ("system", _TEXT, "as in scores"),
    ("metric", _TEXT, "as in scores"),
    ("rank", _COUNT, "from 1: the query whose segment scores lie farthest apart"),
    ("example_id", _TEXT, "the query; equal ranges go by it"),
    ("samples", _COUNT, "its samples of which the metric is defined"),
    ("range", _REAL, "highest minus lowest segment score, to 2^-32"),
    ("variance", _REAL, "of the segment scores (divided by n - 1), to 2^-32"),
    ("lowest", _REAL, "the lowest segment score"),
    ("highest", _REAL, "the highest segment score"),
)

SEGMENT_KEYS = (
    ("example_id", _TEXT, "the example; rows are sorted by it, then by system and sample"),
    ("system", _TEXT, "the system"),
    ("sample", pa.int32(), "number of the reply to the same query"),
    ("missing", pa.bool_(), "an empty hypothesis that stands for one that is missing"),
    ("hypothesis_tokens", pa.int32(), "tokens of the hypothesis, on the first track"),
    ("references", pa.int32(), "number of references"),
    (
        "matched_reference",
        pa.int32(),
        "place of the reference that shares most, on the first track; null if none does",
    ),
    ("unit", pa.uint64(), "hash of what the example is resampled with"),
)


def segments_schema(
    slices: Sequence[str],
    metrics: Sequence[str],
    statistics: Sequence[str],
    tracks: Sequence[str] = (),
) -> pa.Schema:
    """One row a hypothesis: keys, slices, a score for each metric, the statistics of all.

    tracks: those after the first.
    """
    at = 1 + [name for name, _, _ in SEGMENT_KEYS].index("hypothesis_tokens")
    return _schema(
        "segments",
        *SEGMENT_KEYS[:at],
        *(
            (f"hypothesis_tokens[{track}]", pa.int32(), f"the same on the track {track}")
            for track in tracks
        ),
        *SEGMENT_KEYS[at:],
        *((f"slice_{name}", _TEXT, f"value of the slice {name}") for name in slices),
        *((name, _REAL, "score of this segment; null if undefined") for name in metrics),
        *((name, _COUNT, "statistic; sums of it give the scores") for name in statistics),
    )


REFERENCE_TYPES = _schema(
    "reference_types",
    ("run_id", _TEXT, "as in scores"),
    ("system", _TEXT, "whose texts are matched with the references"),
    ("reference_type", _TEXT, "as in the references; null: no reference shares anything"),
    ("segments", _COUNT, "texts that a reference of this type matches best"),
    ("share", _REAL, "of all texts of the system; null if it has none"),
    ("references", _COUNT, "references of this type, near-duplicates left out"),
    ("share_of_references", _REAL, "of all references"),
)

FREQUENCIES = _schema(
    "document_frequencies",
    ("hash", pa.uint64(), "hash of an n-gram"),
    ("frequency", pa.uint32(), "in how many examples' references it occurs; at least 2"),
)

TOKENIZERS = _schema(
    "tokenizers",
    ("tokenizer", _TEXT, "as it was named"),
    ("signature", _TEXT, "the whole recipe"),
    ("texts", _COUNT, "distinct texts cut"),
    ("characters", _COUNT, "their characters, blanks included, as they are given"),
    ("tokens", _COUNT, "their tokens"),
    ("vocabulary", _COUNT, "distinct tokens"),
    ("seconds", _REAL, "processor time, the best of three; differs from call to call"),
)

TOKENIZER_PAIRS = _schema(
    "tokenizer_pairs",
    ("tokenizer", _TEXT, "one"),
    ("other", _TEXT, "the other"),
    ("texts", _COUNT, "distinct texts"),
    ("comparable", _COUNT, "those of which both keep the same characters: only they are compared"),
    ("alike", _COUNT, "those that both cut at the same places"),
    ("boundaries_both", _COUNT, "boundaries inside texts that both have"),
    ("boundaries_only", _COUNT, "that only the one has"),
    ("boundaries_other", _COUNT, "that only the other has"),
    ("f1", _REAL, "F1 of the boundaries; null if there is none"),
)

TOKENIZER_DISAGREEMENTS = _schema(
    "tokenizer_disagreements",
    ("tokenizer", _TEXT, "one"),
    ("other", _TEXT, "the other"),
    ("cut", _TEXT, "a stretch of text as the one cuts it, with | between tokens"),
    ("other_cut", _TEXT, "as the other does"),
    ("count", _COUNT, "how often, in distinct texts"),
    ("example", _TEXT, "a text that has it"),
)

TOKENIZER_SCORES = _schema(
    "tokenizer_scores",
    ("tokenizer", _TEXT, "by which texts are cut"),
    ("system", _TEXT, "what is scored"),
    ("metric", _TEXT, "bleu"),
    ("value", _REAL, "the score on the examples looked at; null if undefined"),
    ("rank", _COUNT, "its place among the systems, the best is 1"),
)

DATA = _schema(
    "data",
    ("table", _TEXT, "hypotheses or references"),
    ("system", _TEXT, "null for references"),
    ("track", _TEXT, "by which texts were cut; null for what is of the whole text"),
    ("measure", _TEXT, "what was counted, such as characters_p50 or texts_with_emoji"),
    ("count", _COUNT, "how many; null for quantiles"),
    ("of", _COUNT, "out of how many texts, characters, tokens or examples"),
    ("value", _REAL, "share, mean or quantile; null if there is nothing to count"),
)

SUGGESTIONS = _schema(
    "suggestions",
    ("kind", _TEXT, "word, stop_word, synonym; synonym_unused: one that has no place in a group"),
    ("word", _TEXT, "the candidate"),
    ("other", _TEXT, "word: how it is cut now, | between tokens; synonym: what becomes the word"),
    (
        "count",
        _COUNT,
        "word: how often; stop_word: in how many texts; synonym: in how many examples",
    ),
    ("measure", _REAL, "word: cohesion in nats; stop_word: mean TF-IDF; null for synonyms"),
    ("example", _TEXT, "a text that has it; of a synonym a hypothesis"),
    ("reference", _TEXT, "of a synonym the reference of the example; else null"),
)
