"""What every function on the way from text to interval costs: a fixed part, and so much an example.

``python -m benchmarks.kernels [--examples 500 1000 2000 4000 8000] [--json OUT]``

Each stage of ``scoring`` runs alone, on one core, on batches of several sizes (a partition of the
job has 4,000 to 8,000 examples), with what it needs made beforehand. CPU time counts, of the least
of the repeats. A line is fitted through (examples, seconds) by least squares of the relative
errors, so that small sizes count as much as large ones. Beyond a core's cache (some 10,000
examples) an example costs more, the line bends, and its fixed part comes out negative: read the
columns then.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from threadpoolctl import threadpool_limits

from benchmarks import data
from scoring import document_frequencies, hashing
from scoring.evaluation import StatisticsLayout, document_buckets, document_requests, finish
from scoring.joining import Examples, Joined, join
from scoring.metrics.bleu import Bleu
from scoring.metrics.cider import Cider
from scoring.metrics.tracks import MAIN
from scoring.segments import Layout, SegmentTokens, TokenTrack
from scoring.statistics import resampling
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.tokenizers import make_tokenizer

ORDER = 4
REPLICATES = 1000
SEED = 12345

MOST_REPEATS = 7
SECONDS_OF_A_STAGE = 2.0  # no further repeat when a stage has taken as long at one size


# Not in the sum: parts of others, an alternative, and what is done once a slice, not a batch.
NOT_SUMMED = ("hash_strings, all texts", "token_track, char", "finish, 1,000 (a slice)")
SUM = "sum, with jieba"


@dataclass(frozen=True)
class Timing:
    """The least CPU seconds of one stage at one size."""

    stage: str
    examples: int
    seconds: float
    repeats: int


@dataclass(frozen=True)
class Fit:
    """seconds = fixed + each * examples. worst: the largest relative error of the line."""

    stage: str
    fixed_us: float
    each_us: float
    worst: float


@dataclass(frozen=True)
class Batch:
    """A batch of examples with every intermediate result, so that each stage can run alone."""

    hypotheses: pa.Table
    references: pa.Table
    systems: list[str]
    joined: Joined
    words: TokenTrack
    buckets: document_frequencies.Buckets
    requests: list[document_frequencies.Request]
    answers: list[document_frequencies.Answer]
    frequencies: document_frequencies.DocumentFrequencies
    statistics: Any  # [examples, systems, k]
    segments: Any  # [hypotheses, k]

    def tokens(self) -> SegmentTokens:
        """The batch as a metric sees it, nothing counted yet."""
        old = self.joined.examples.layout
        layout = Layout(old.references, old.hypotheses)
        return SegmentTokens(self.words, layout, self.frequencies)


class Stages:
    """The stages. Tokenizers are loaded once: that cost is a worker's, not a batch's."""

    def __init__(self, seed: int, most: int, systems: int) -> None:
        self.hypotheses, self.references = data.tables(seed, most, systems)
        self.systems = data.system_names(systems)
        self.jieba = TextRecipe(make_tokenizer("jieba"))
        self.char = TextRecipe(make_tokenizer("char"))
        self.layout = StatisticsLayout((Bleu(), Cider(order=ORDER)))
        token_track(pa.array(["载入词典"]), self.jieba)

    def batch(self, examples: int) -> Batch:
        """The first examples, all the way through."""
        ids = data.example_ids(0, examples)
        chosen = pc.is_in(self.hypotheses.column("example_id"), value_set=ids)
        hypotheses = self.hypotheses.filter(chosen)
        samples = pa.array(np.zeros(len(hypotheses), np.int32))
        hypotheses = hypotheses.append_column("sample", samples).combine_chunks()
        references = self.references.slice(0, examples).combine_chunks()
        joined = join(hypotheses, references, self.systems)
        words = token_track(joined.texts, self.jieba)
        tokens = SegmentTokens(words, joined.examples.layout)
        buckets = document_buckets(tokens, ORDER, 1)
        requests = [*document_requests(tokens, buckets)]
        answers, _ = document_frequencies.answer(requests)
        frequencies = buckets.frequencies(examples, answers)
        tokens = SegmentTokens(words, joined.examples.layout, frequencies)
        segments = self.layout.segment_statistics({MAIN: tokens})
        statistics = self.layout.per_example(segments, joined.examples)
        return Batch(
            hypotheses,
            references,
            self.systems,
            joined,
            words,
            buckets,
            requests,
            answers,
            frequencies,
            statistics,
            segments,
        )

    def all(self, batch: Batch) -> dict[str, Callable[[], Callable[[], object]]]:
        """name -> what prepares the stage (untimed) and returns what is timed."""
        examples: Examples = batch.joined.examples
        n = len(examples)
        flat = batch.statistics.reshape(n, -1)
        replicates = range(REPLICATES)
        whole = np.array([n])

        # In the order of the job: each finds what those before it have counted, kept by the tokens.
        of_tokens: dict[str, Callable[[SegmentTokens], object]] = {
            "ngrams, orders 1-4": lambda tokens: tokens.ngrams(ORDER),
            "document_requests": lambda tokens: document_requests(
                tokens, document_buckets(tokens, ORDER, 1)
            ),
            "Bleu.segment_statistics": Bleu().segment_statistics,
            "Cider.segment_statistics": Cider(order=ORDER).segment_statistics,
        }

        def in_order(name: str) -> Callable[[], Callable[[], object]]:
            def prepare() -> Callable[[], object]:
                tokens = batch.tokens()
                for before in list(of_tokens)[: list(of_tokens).index(name)]:
                    of_tokens[before](tokens)
                return lambda: of_tokens[name](tokens)

            return prepare

        def plain(function: Callable[[], object]) -> Callable[[], Callable[[], object]]:
            return lambda: function

        def finished() -> Callable[[], object]:
            sums = batch.statistics.sum(axis=0)
            drawn = resampling.replicate_sums(examples.units, flat, whole, SEED, replicates)
            drawn = drawn.reshape(REPLICATES, *sums.shape)
            return lambda: finish(
                self.layout, batch.systems, "overall", "", sums, drawn, None, 0.95
            )

        return {
            "join": plain(lambda: join(batch.hypotheses, batch.references, batch.systems)),
            "hash_strings, all texts": plain(lambda: hashing.hash_strings(batch.joined.texts)),
            "token_track, jieba": plain(lambda: token_track(batch.joined.texts, self.jieba)),
            "token_track, char": plain(lambda: token_track(batch.joined.texts, self.char)),
            **{name: in_order(name) for name in of_tokens},
            "document_frequencies.answer": plain(
                lambda: document_frequencies.answer(batch.requests)
            ),
            "Buckets.frequencies": plain(lambda: batch.buckets.frequencies(n, batch.answers)),
            "per_example": plain(lambda: self.layout.per_example(batch.segments, examples)),
            "replicate_sums, 1,000": plain(
                lambda: resampling.replicate_sums(examples.units, flat, whole, SEED, replicates)
            ),
            "finish, 1,000 (a slice)": finished,
        }


def time_stage(stage: str, examples: int, prepare: Callable[[], Callable[[], object]]) -> Timing:
    """The least seconds of several repeats, the first of which only warms up."""
    prepare()()
    least, repeats, spent = float("inf"), 0, 0.0
    while repeats < MOST_REPEATS and (repeats == 0 or spent < SECONDS_OF_A_STAGE):
        function = prepare()
        start = time.process_time()
        function()
        seconds = time.process_time() - start
        least, repeats, spent = min(least, seconds), repeats + 1, spent + seconds
    return Timing(stage, examples, least, repeats)


def fit(timings: list[Timing]) -> Fit:
    """The line through the timings of one stage, by relative errors."""
    sizes = np.array([t.examples for t in timings], np.float64)
    seconds = np.array([t.seconds for t in timings])
    design = np.stack([np.ones_like(sizes), sizes], axis=1) / seconds[:, None]
    if len(timings) == 1:
        return Fit(timings[0].stage, 0.0, float(seconds[0] / sizes[0]) * 1e6, 0.0)
    solved, *_ = np.linalg.lstsq(design, np.ones(len(timings)), rcond=None)
    worst = np.abs(design @ solved - 1).max()
    return Fit(timings[0].stage, float(solved[0]) * 1e6, float(solved[1]) * 1e6, float(worst))


def table(sizes: list[int], timings: dict[str, list[Timing]], fits: list[Fit]) -> str:
    """Markdown: the line of every stage, then the time of an example at every size."""
    lines = [
        "| stage | fixed us | us/example | worst error | "
        + " | ".join(f"at {size:,}" for size in sizes)
        + " |",
        "|---|--:|--:|--:|" + "--:|" * len(sizes),
    ]
    for line in fits:
        each = [f"{t.seconds / t.examples * 1e6:.2f}" for t in timings[line.stage]]
        cells = [line.stage, f"{line.fixed_us:,.0f}", f"{line.each_us:.3f}"]
        cells += [f"{line.worst:.0%}", *each]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description="Time the functions of scoring.")
    parser.add_argument("--examples", type=int, nargs="+", default=[500, 1000, 2000, 4000, 8000])
    parser.add_argument("--systems", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sizes = sorted(set(options.examples))
    timings: dict[str, list[Timing]] = {}
    with threadpool_limits(1):
        stages = Stages(options.seed, sizes[-1], options.systems)
        for size in sizes:
            for name, prepare in stages.all(stages.batch(size)).items():
                timings.setdefault(name, []).append(time_stage(name, size, prepare))
    summed = [of_stage for name, of_stage in timings.items() if name not in NOT_SUMMED]
    timings[SUM] = [
        Timing(SUM, size, sum(t.seconds for t in of_size), 0)
        for size, of_size in zip(sizes, zip(*summed))
    ]
    fits = [fit(of_stage) for of_stage in timings.values()]
    print(
        f"{options.systems} systems, {data.REFERENCES} references an example; "
        "microseconds an example\n"
    )
    print(table(sizes, timings, fits))
    if options.json:
        result = {
            "systems": options.systems,
            "fits": [asdict(line) for line in fits],
            "timings": [asdict(t) for of_stage in timings.values() for t in of_stage],
        }
        options.json.write_text(json.dumps(result, indent=1), "utf-8")


if __name__ == "__main__":
    main()
