"""What paired tests cost: the product's kernels alone, and sacrebleu's on what it can hold.

``python -m benchmarks.paired [--examples 1000000] [--sacrebleu 10000] [--json OUT]``

Three systems, two of them against the first. Ours: the statistics of BLEU and CIDEr-D (15 columns a
system, one of them fixed point), partition by partition as the job does it, 1,000 replicates and
10,000 trials, p of all pairs and both metrics at the end. sacrebleu: the statistics of BLEU (10
columns), in memory. Every part runs in a process of its own on one core: CPU seconds without
making the data, and the peak of the resident memory beyond the process before the work.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from benchmarks.populations import chat
from scoring import hashing
from scoring.metrics.base import FIXED_POINT
from scoring.metrics.bleu import Bleu
from scoring.metrics.cider import Cider
from scoring.statistics import resampling
from scoring.statistics.paired import bootstrap_p, randomisation_p

SYSTEMS = 3
PARTITION = 6000
REPLICATES = 1000
TRIALS = 10_000
SEED = 12345

BLEU, CIDER = slice(2, 13), [2, 13, 14]
COLUMNS = 15

PARTS = ("bootstrap", "randomisation", "sacrebleu bootstrap", "sacrebleu randomisation")


@dataclass(frozen=True)
class Cost:
    """nanoseconds: of CPU for an example, a system and a draw; bytes: the peak beyond the start."""

    part: str
    examples: int
    draws: int
    seconds: float
    nanoseconds: float
    bytes: int
    p: list[float | None]


class Examples:
    """Statistics [examples, systems, columns] of the chat examples, drawn again and again."""

    def __init__(self) -> None:
        population = chat()
        self._kinds = np.stack([population.a, population.b], axis=1)

    def draw(self, first: int, count: int) -> Any:
        """Of the examples from that number on; the same for the same numbers."""
        rng = np.random.default_rng([SEED, first])
        statistics = np.zeros((count, SYSTEMS, COLUMNS), np.int64)
        kind = rng.integers(0, len(self._kinds), (count, 1))
        # The last systems are a little better: they take the better reply more often.
        better = rng.random((count, SYSTEMS)) < [0.5, 0.501, 0.505]
        statistics[..., 0] = 1
        statistics[..., BLEU] = self._kinds[kind, np.where(better, 0, 1)]
        similarity = rng.gamma(1.0, 1.0, (count, SYSTEMS)) + 0.01 * better
        statistics[..., CIDER[1]] = np.rint(np.minimum(similarity, 10) * FIXED_POINT)
        return statistics


def ours(test: str, examples: int) -> tuple[float, int, list[float | None]]:
    """CPU seconds, draws, and p by pair and metric."""
    source = Examples()
    bootstrap = test == "bootstrap"
    of_a_hash = resampling.REPLICATES_OF_A_HASH if bootstrap else resampling.SWAPS_OF_A_HASH
    function = resampling.replicate_sums if bootstrap else resampling.swap_sums
    wanted = REPLICATES if bootstrap else TRIALS
    drawn = range(resampling.round_up(wanted, of_a_hash))
    plain = np.zeros(SYSTEMS * COLUMNS, np.int64)
    sums = np.zeros((len(drawn), SYSTEMS * COLUMNS), np.int64)
    seconds = 0.0
    for first in range(0, examples, PARTITION):
        count = min(PARTITION, examples - first)
        statistics = source.draw(first, count).reshape(count, -1)
        names = pa.array([f"example_{i:09d}" for i in range(first, first + count)])
        units = hashing.hash_strings(names)
        start = time.process_time()
        plain += statistics.sum(axis=0)
        sums += function(units, statistics, np.array([count]), SEED, drawn)[0]
        seconds += time.process_time() - start
    start = time.process_time()
    whole = plain.reshape(SYSTEMS, COLUMNS)
    parts = sums[:wanted].reshape(wanted, SYSTEMS, COLUMNS)
    found: list[float | None] = []
    for metric, columns in ((Bleu(), BLEU), (Cider(), CIDER)):
        for other in range(1, SYSTEMS):
            a, b = whole[0, columns], whole[other, columns]
            difference = float(metric.score(b) - metric.score(a))
            if bootstrap:
                scores = [metric.score(parts[:, s, columns]) for s in (0, other)]
                p = bootstrap_p(scores[1] - scores[0], difference, examples)
            else:
                moved = parts[:, other, columns] - parts[:, 0, columns]
                p = randomisation_p(metric.score(b - moved) - metric.score(a + moved), difference)
            found.append(p.p)
    return seconds + time.process_time() - start, wanted, found


def sacrebleus(test: str, examples: int) -> tuple[float, int, list[float | None]]:
    """The same by sacrebleu.significance, BLEU alone."""
    import sacrebleu
    from sacrebleu.significance import Result, _paired_ar_test, _paired_bs_test

    class OnStatistics(sacrebleu.BLEU):
        """BLEU whose corpora are statistics already."""

        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            return hypotheses

    metric = OnStatistics(tokenize="none")
    function = _paired_bs_test if test.endswith("bootstrap") else _paired_ar_test
    draws = REPLICATES if test.endswith("bootstrap") else TRIALS
    statistics = Examples().draw(0, examples)[..., BLEU][..., 1:]
    systems = [statistics[:, s].tolist() for s in range(SYSTEMS)]
    found: list[float | None] = []
    start = time.process_time()
    baseline = Result(metric._aggregate_and_compute(systems[0]).score)
    for system in systems[1:]:
        information = {"BLEU": (statistics[:, 0], baseline)}
        _, results = function(information, "", system, None, {"BLEU": metric}, draws, -1, SEED)
        found.append(results["BLEU"].p_value)
    return time.process_time() - start, draws, found


def run(part: str, examples: int) -> Cost:
    """One part in this process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with threadpool_limits(1):
        function = sacrebleus if part.startswith("sacrebleu") else ours
        seconds, draws, p = function(part, examples)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    each = seconds / (examples * SYSTEMS * draws) * 1e9
    return Cost(part, examples, draws, seconds, each, (peak - before) * 1024, p)


def main() -> None:
    """``python -m benchmarks.paired``; with --part that part alone, as JSON."""
    parser = argparse.ArgumentParser(description="What paired tests cost.")
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--sacrebleu", type=int, default=10_000, help="examples for sacrebleu")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.part:
        chosen = options.sacrebleu if options.part.startswith("sacre") else options.examples
        print(json.dumps(asdict(run(options.part, chosen))))
        return
    costs = []
    print("| part | examples | draws | CPU s | ns | peak MB | p |\n|---|--:|--:|--:|--:|--:|---|")
    for part in PARTS:
        command = [sys.executable, "-m", "benchmarks.paired", "--part", part]
        command += ["--examples", str(options.examples), "--sacrebleu", str(options.sacrebleu)]
        cost = Cost(**json.loads(subprocess.check_output(command)))
        shown = ", ".join("none" if p is None else f"{p:.4f}" for p in cost.p)
        print(
            f"| {part} | {cost.examples:,} | {cost.draws:,} | {cost.seconds:.1f} | "
            f"{cost.nanoseconds:.2f} | {cost.bytes / 1e6:.0f} | {shown} |",
            flush=True,
        )
        costs.append(asdict(cost))
    if options.json:
        options.json.write_text(json.dumps(costs, indent=1), "utf-8")


if __name__ == "__main__":
    main()
