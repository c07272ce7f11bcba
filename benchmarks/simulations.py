"""How often the tests and intervals err, on corpora drawn from a population that is known.

``python -m benchmarks.simulations [--data wmt22-en-zh] [--runs 2000] [--json OUT]``

A population is what two systems gave for every kind of example: two rows of statistics. A run draws
examples from it, each the one way round or the other, with probabilities that make the true
difference 0 or a known number; then the product's own functions test it. Runs go through the
kernels side by side, as columns of one array. Prints tables for docs/statistics.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from scoring import hashing
from scoring.metrics.base import FIXED_POINT, Metric
from scoring.metrics.bleu import Bleu
from scoring.metrics.cider import Cider
from scoring.segments import Layout, SegmentTokens
from scoring.statistics.intervals import FEWEST_UNITS, percentile_interval
from scoring.statistics.paired import bootstrap_p, randomisation_p
from scoring.statistics.resampling import replicate_sums, swap_sums
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.tokenizers import make_tokenizer

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CHAT = Path(__file__).parents[1] / "examples" / "chat"

ALPHA = 0.05
REPLICATES = 1000
TRIALS = 1024
RUNS_OF_A_BATCH = 50

STRENGTH = 2.4
"""The true difference of a run that measures power, in standard errors: a power of about .67."""


@dataclass(frozen=True)
class Population:
    """What two systems gave for every kind of example. a, b: [kinds, k] statistics."""

    name: str
    metric: Metric
    a: Ints
    b: Ints

    def truth(self, share: float) -> float:
        """The difference of the scores if a share of the examples is one way round."""
        a, b = self.a.sum(axis=0), self.b.sum(axis=0)
        # In thousandths, so that the mixed sums are integers.
        parts = round(share * 1000)
        first, second = parts * a + (1000 - parts) * b, parts * b + (1000 - parts) * a
        return float(self.metric.score(first)) - float(self.metric.score(second))

    @cached_property
    def _spread_of_one(self) -> float:
        """The standard error of the difference times the root of the examples, at share .5."""
        draws = Design(2000, 0.5).draw(self, np.random.default_rng(99), 400)
        a, b = (statistics.sum(axis=0) for statistics in draws)
        return float(self.differences(a, b).std() * 2000**0.5)

    def share_for(self, examples: int, strength: float) -> float:
        """The share, in thousandths, whose true difference is so many standard errors."""
        step = self.truth(0.6) / 0.1
        return float(round(0.5 + strength * self._spread_of_one / examples**0.5 / step, 3))

    def differences(self, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Floats:
        """Of the scores of sums [..., k]."""
        return np.asarray(self.metric.score(a) - self.metric.score(b))


@dataclass(frozen=True)
class Design:
    """How a run's examples are drawn and resampled.

    share: how many are one way round; .5 makes both systems exchangeable.
    document: examples of a document, half of which are like its first; resampled apart or whole.
    """

    examples: int
    share: float
    document: int = 1
    whole: bool = True

    def draw(
        self, population: Population, rng: np.random.Generator, runs: int
    ) -> tuple[Ints, Ints]:
        """The statistics of both systems: [examples, runs, k] each."""
        shape = (self.examples, runs)
        kind = rng.integers(0, len(population.a), shape)
        forward = rng.random(shape) < self.share
        if self.document > 1:
            place = np.arange(self.examples)
            like_first = (rng.random(shape) < 0.5) & (place % self.document > 0)[:, None]
            first = place // self.document * self.document
            kind = np.where(like_first, kind[first], kind)
            forward = np.where(like_first, forward[first], forward)
        a, b = population.a[kind], population.b[kind]
        return np.where(forward[..., None], a, b), np.where(forward[..., None], b, a)

    @property
    def units(self) -> int:
        """How many things are resampled."""
        return self.examples // self.document if self.whole else self.examples

    def unit_hashes(self) -> hashing.Hashes:
        """[examples]"""
        unit = np.arange(self.examples) // (self.document if self.whole else 1)
        return hashing.hash_strings(pa.array([f"unit_{u:06d}" for u in unit.tolist()]))


@dataclass(frozen=True)
class Rates:
    """Shares of the runs. rejected_*: with a p of at most .05; missed_*: where the truth lies
    outside of the interval; plain_*: rejected by the same tests written in plain numpy;
    sacrebleu_*: by sacrebleu's formula of p, on the plain replicates."""

    population: str
    examples: int
    units: int
    document: int
    truth: float
    runs: int
    rejected_bootstrap: float
    rejected_randomisation: float
    covered: float
    missed_below: float
    missed_above: float
    plain_bootstrap: float
    plain_randomisation: float
    sacrebleu_bootstrap: float
    seconds: float


@dataclass(frozen=True)
class Batch:
    """Some runs. a, b: [examples, runs, k]; p: [runs], NaN if there is none."""

    a: Ints
    b: Ints
    seed: int
    difference: Floats
    replicates: Floats
    bootstrap: Floats
    randomisation: Floats
    low: Floats
    high: Floats


def batches(population: Population, design: Design, runs: int, seed: int) -> Iterator[Batch]:
    """Every run through the product's functions, ``RUNS_OF_A_BATCH`` with one seed."""
    units = design.unit_hashes()
    whole = np.array([design.examples])
    for first in range(0, runs, RUNS_OF_A_BATCH):
        count = min(RUNS_OF_A_BATCH, runs - first)
        own = seed + first
        a, b = design.draw(population, np.random.default_rng(own), count)
        k = a.shape[2]
        both = np.concatenate([a.reshape(design.examples, -1), b.reshape(design.examples, -1)], 1)
        sums = both.sum(axis=0).reshape(2, count, k)
        difference = population.differences(*sums)
        drawn = replicate_sums(units, both, whole, own, range(REPLICATES))[0]
        replicates = population.differences(*drawn.reshape(-1, 2, count, k).swapaxes(0, 1))
        swapped = swap_sums(units, both, whole, own, range(TRIALS))[0]
        moved = swapped.reshape(-1, 2, count, k).swapaxes(0, 1)
        trials = population.differences(
            sums[0] - moved[0] + moved[1], sums[1] - moved[1] + moved[0]
        )
        of_run = range(count)
        bootstrap = [
            bootstrap_p(replicates[:, r], float(difference[r]), design.units).p for r in of_run
        ]
        randomisation = [randomisation_p(trials[:, r], float(difference[r])).p for r in of_run]
        intervals = [percentile_interval(replicates[:, r], 1 - ALPHA, design.units) for r in of_run]
        yield Batch(
            a,
            b,
            own,
            difference,
            replicates,
            np.array(bootstrap, np.float64),
            np.array(randomisation, np.float64),
            np.array([i.low for i in intervals], np.float64),
            np.array([i.high for i in intervals], np.float64),
        )


def simulate(
    population: Population, design: Design, runs: int, seed: int, plain: bool = False
) -> Rates:
    """Rates over so many runs. plain: whether the plain tests run beside (else they are NaN)."""
    start = time.process_time()
    truth = 0.0 if design.share == 0.5 else population.truth(design.share)
    counts = np.zeros(7)
    with threadpool_limits(1):
        for batch in batches(population, design, runs, seed):
            counts[:2] += [(p <= ALPHA).sum() for p in (batch.bootstrap, batch.randomisation)]
            counts[2:4] += (truth < batch.low).sum(), (truth > batch.high).sum()
            if plain:
                counts[4:] += [(p <= ALPHA).sum() for p in plain_p(population, design, batch)]
    rates = (counts / runs).tolist()
    plain_rates = rates[4:] if plain else [float("nan")] * 3
    # NaN is neither below nor above: without an interval nothing is covered or missed.
    covered = 1 - rates[2] - rates[3] if design.units >= FEWEST_UNITS else float("nan")
    return Rates(
        population.name,
        design.examples,
        design.units,
        design.document,
        truth,
        runs,
        rates[0],
        rates[1],
        covered,
        rates[2],
        rates[3],
        plain_rates[0],
        plain_rates[1],
        plain_rates[2],
        time.process_time() - start,
    )


def plain_p(population: Population, design: Design, batch: Batch) -> tuple[Floats, Floats, Floats]:
    """p by bootstrap, by randomisation and by sacrebleu's formula, of every run: numpy's random
    numbers, n of n units with replacement, no function of the product."""
    rng = np.random.default_rng([batch.seed, 7])
    unit = np.arange(design.examples) // (design.document if design.whole else 1)
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    a = np.add.reduceat(batch.a, starts, axis=0).astype(np.float64)
    b = np.add.reduceat(batch.b, starts, axis=0).astype(np.float64)
    n = len(starts)
    weights = rng.multinomial(n, np.full(n, 1 / n), REPLICATES).astype(np.float64)
    resampled = [np.tensordot(weights, x, 1) for x in (a, b)]
    score = plain_bleu if population.metric.name == "bleu" else plain_mean
    differences = score(resampled[0]) - score(resampled[1])
    own = score(a.sum(axis=0)) - score(b.sum(axis=0))
    centred = np.abs(differences - differences.mean(axis=0))
    bootstrap = (1 + (centred >= np.abs(own)).sum(axis=0)) / (1 + REPLICATES)
    absolute = np.abs(differences)
    sacrebleus = (1 + (absolute - absolute.mean(axis=0) > np.abs(own)).sum(axis=0)) / (
        1 + REPLICATES
    )
    swapped = rng.integers(0, 2, (TRIALS, n)).astype(np.float64)
    moved = np.tensordot(swapped, b - a, 1)
    trials = score(a.sum(axis=0) + moved) - score(b.sum(axis=0) - moved)
    randomisation = (1 + (np.abs(trials) >= np.abs(own) - 1e-12).sum(axis=0)) / (1 + TRIALS)
    return bootstrap, randomisation, sacrebleus


def plain_bleu(sums: Floats) -> Floats:
    """BLEU of sums [..., 11] by numpy's logarithms; 0 where an order has no match."""
    matches, totals = sums[..., 3:7], sums[..., 7:11]
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithms = np.log(matches / totals).mean(axis=-1)
        brevity = np.minimum(0, 1 - sums[..., 2] / sums[..., 1])
        return np.asarray(np.nan_to_num(np.exp(logarithms + brevity)))


def plain_mean(sums: Floats) -> Floats:
    """The mean of sums [..., (count, sum)]."""
    return np.asarray(sums[..., 1] / sums[..., 0] / FIXED_POINT)


def skewed_mean() -> Population:
    """A mean of scores with a long tail (skewness about 6), as CIDEr-D's, paired by example."""
    rng = np.random.default_rng(2016)
    base = rng.lognormal(0.0, 0.9, 20_000)
    a, b = (base * rng.lognormal(shift, 0.5, len(base)) for shift in (0.3, 0.0))
    return Population("skewed mean", Cider(), *(_mean_statistics(x / 20) for x in (a, b)))


def rate() -> Population:
    """A share of examples, about 16% and 8%, some of them the same ones."""
    rng = np.random.default_rng(2017)
    same = rng.random(20_000) < 0.05
    a, b = (same | (rng.random(len(same)) < share) for share in (0.12, 0.035))
    return Population("rate", Cider(), *(_mean_statistics(x * 1.0) for x in (a, b)))


def _mean_statistics(values: npt.NDArray[Any]) -> Ints:
    statistics = np.zeros((len(values), 3), np.int64)
    statistics[:, 0] = 1
    statistics[:, 1] = np.rint(values * FIXED_POINT).astype(np.int64)
    return statistics


def chat() -> Population:
    """BLEU in jieba's words of examples/chat: all pairs of two of the five replies (one each of
    two systems, three samples of the third), the better system's first."""
    references = _table(CHAT / "references").sort_by("example_id")
    outputs = _table(CHAT / "hypotheses").sort_by(
        [("example_id", "ascending"), ("system", "ascending"), ("sample", "ascending")]
    )
    statistics = _bleu(references, outputs, "jieba")
    first, second = np.triu_indices(statistics.shape[1], 1)
    pairs = (statistics[:, chosen].reshape(-1, statistics.shape[2]) for chosen in (first, second))
    return Population("chat BLEU", Bleu(), *pairs)


def wmt22(folder: Path, first: str, second: str) -> Population:
    """BLEU in characters of two systems of WMT22 English-Chinese, the better one first."""
    references = _table(folder / "references").sort_by("example_id")
    outputs = _table(folder / "outputs")
    chosen = pc.is_in(outputs.column("system"), value_set=pa.array([first, second]))
    order = [("example_id", "ascending"), ("system", "ascending")]
    statistics = _bleu(references, outputs.filter(chosen).sort_by(order), "char")
    a, b = (statistics[:, sorted([first, second]).index(name)] for name in (first, second))
    return Population("WMT22 BLEU", Bleu(), a, b)


def _bleu(references: pa.Table, outputs: pa.Table, tokenizer: str) -> Ints:
    """[examples, outputs of an example, k]. Both sorted by example."""
    own, texts = references.column("references").to_pylist(), outputs.column("text").to_pylist()
    each = len(texts) // len(own)
    ids = np.repeat(references.column("example_id").to_numpy(), each)
    assert np.array_equal(ids, outputs.column("example_id").to_numpy())
    flat = [t for i, r in enumerate(own) for t in (*r, *texts[i * each : (i + 1) * each])]
    track = token_track(pa.array(flat, pa.string()), TextRecipe(make_tokenizer(tokenizer)))
    layout = Layout(np.array([len(r) for r in own]), np.full(len(own), each))
    statistics = Bleu().segment_statistics(SegmentTokens(track, layout))
    return statistics.reshape(len(own), each, -1)


def _table(folder: Path) -> pa.Table:
    parts = [pq.ParquetFile(path).read(use_threads=False) for path in sorted(folder.iterdir())]
    return pa.concat_tables(parts)


@dataclass(frozen=True)
class Sacrebleu:
    """Shares of runs rejected by sacrebleu's own functions, beside ours on the same runs."""

    population: str
    examples: int
    truth: float
    runs: int
    bootstrap: float
    randomisation: float
    our_bootstrap: float
    our_randomisation: float
    seconds: float


def beside_sacrebleu(population: Population, design: Design, runs: int, seed: int) -> Sacrebleu:
    """sacrebleu.significance on the statistics of the same runs."""
    import sacrebleu
    from sacrebleu.significance import Result, _paired_ar_test, _paired_bs_test

    class OnStatistics(sacrebleu.BLEU):
        """BLEU whose corpora are statistics already."""

        def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
            return hypotheses

    metric = OnStatistics(tokenize="none")
    counts = np.zeros(4)
    seconds = 0.0
    truth = 0.0 if design.share == 0.5 else population.truth(design.share)
    for batch in batches(population, design, runs, seed):
        counts[2:] += [(p <= ALPHA).sum() for p in (batch.bootstrap, batch.randomisation)]
        for r in range(batch.a.shape[1]):
            # Without our count of segments theirs are the same columns.
            a, b = batch.a[:, r, 1:].tolist(), batch.b[:, r, 1:].tolist()
            score = metric._aggregate_and_compute(a).score
            start = time.process_time()
            for i, (test, draws) in enumerate(
                ((_paired_bs_test, REPLICATES), (_paired_ar_test, TRIALS))
            ):
                baseline = {"BLEU": (np.array(a), Result(score))}
                _, found = test(baseline, "b", b, None, {"BLEU": metric}, draws, -1, batch.seed + r)
                p = found["BLEU"].p_value
                counts[i] += p is not None and p <= ALPHA
            seconds += time.process_time() - start
    rates: list[Any] = (counts / runs).tolist()
    return Sacrebleu(population.name, design.examples, truth, runs, *rates, seconds)


def equal_systems() -> tuple[float, float, float, float]:
    """p of a system against itself: ours by bootstrap and randomisation, sacrebleu's likewise."""
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest

    texts = [f"a b c d e f {i}" for i in range(100)]
    theirs: list[Any] = []
    for test in ("bs", "ar"):
        systems: list[tuple[str, Sequence[str]]] = [("one", texts), ("other", texts)]
        metrics = {"BLEU": BLEU(tokenize="none", references=[texts])}
        _, found = PairedTest(systems, metrics, None, test, REPLICATES)()
        theirs.append(found["BLEU"][1].p_value)  # type: ignore[union-attr]
    ours = bootstrap_p(np.zeros(REPLICATES), 0.0, 100).p, randomisation_p(np.zeros(TRIALS), 0.0).p
    assert ours[0] is not None and ours[1] is not None
    return ours[0], ours[1], theirs[0], theirs[1]


def main() -> None:
    """Prints tables and, with --json, writes all rates."""
    parser = argparse.ArgumentParser(description="How often tests and intervals err.")
    parser.add_argument("--data", type=Path, help="the folder wmt22-en-zh")
    parser.add_argument("--systems", nargs=2, default=["LanguageX", "DLUT"], help="of WMT22")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--sacrebleu_runs", type=int, default=400)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--populations", nargs="+", default=["wmt22", "chat", "skewed", "rate"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    makers = {"chat": chat, "skewed": skewed_mean, "rate": rate}
    if options.data:
        makers["wmt22"] = lambda: wmt22(options.data, *options.systems)
    populations = [makers[name]() for name in options.populations if name in makers]
    found = []
    for name in options.tables:
        title, columns = TABLES[name]
        print(f"\n{title}\n\n| {' | '.join(columns)} |\n|---|{'--:|' * (len(columns) - 1)}")
        for row in rows(name, populations, options.runs, options.sacrebleu_runs):
            print(f"| {' | '.join(str(show(row)) for show in columns.values())} |", flush=True)
            found.append({"table": name, **asdict(row)})
    ours = ", ".join(f"{p:.6f}" for p in equal_systems())
    print(f"\nA system against itself, p of bootstrap and randomisation, ours, sacrebleu's: {ours}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), "utf-8")


def rows(
    table: str, populations: Sequence[Population], runs: int, sacrebleu_runs: int
) -> Iterator[Rates | Sacrebleu]:
    """The rows of one table."""
    for population in populations:
        of_bleu = population.metric.name == "bleu"
        if table in ("null", "power"):
            for examples in (200, 1000):
                share = population.share_for(examples, STRENGTH) if table == "power" else 0.5
                yield simulate(population, Design(examples, share), runs, 1_000, plain=True)
        elif table == "documents" and of_bleu:
            some = population.share_for(1000, 1.8 * STRENGTH)
            for share, whole in ((0.5, True), (0.5, False), (some, True)):
                yield simulate(population, Design(1000, share, 10, whole), runs, 3_000, plain=True)
        elif table == "few":
            for examples in (1, 2, 5, 10, 30, 100):
                yield simulate(population, Design(examples, 0.5), runs, 4_000, plain=True)
        elif table == "sacrebleu" and of_bleu:
            for share in (0.5, population.share_for(200, STRENGTH)):
                yield beside_sacrebleu(population, Design(200, share), sacrebleu_runs, 5_000)


RATES = {
    "data": lambda r: r.population,
    "examples": lambda r: r.examples,
    "units": lambda r: r.units,
    "truth": lambda r: f"{r.truth:.4f}",
    "bootstrap": lambda r: f"{r.rejected_bootstrap:.3f}",
    "plain": lambda r: f"{r.plain_bootstrap:.3f}",
    "randomisation": lambda r: f"{r.rejected_randomisation:.3f}",
    "plain ": lambda r: f"{r.plain_randomisation:.3f}",
    "sacrebleu's formula": lambda r: f"{r.sacrebleu_bootstrap:.3f}",
    "covered": lambda r: f"{r.covered:.3f}",
    "too high": lambda r: f"{r.missed_below:.3f}",
    "too low": lambda r: f"{r.missed_above:.3f}",
    "CPU s": lambda r: f"{r.seconds:.0f}",
}

SACREBLEU = {
    "data": lambda r: r.population,
    "examples": lambda r: r.examples,
    "truth": lambda r: f"{r.truth:.4f}",
    "runs": lambda r: r.runs,
    "sacrebleu bootstrap": lambda r: f"{r.bootstrap:.3f}",
    "our bootstrap": lambda r: f"{r.our_bootstrap:.3f}",
    "sacrebleu randomisation": lambda r: f"{r.randomisation:.3f}",
    "our randomisation": lambda r: f"{r.our_randomisation:.3f}",
    "sacrebleu CPU s": lambda r: f"{r.seconds:.0f}",
}


TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "null": ("No difference: rejected, and intervals that hold 0", RATES),
    "power": ("A true difference: rejected (power), and intervals that hold it", RATES),
    "documents": ("1,000 examples in documents of 10, resampled whole (100) or apart", RATES),
    "few": ("Few units, no difference", RATES),
    "sacrebleu": ("sacrebleu's own functions on the same runs", SACREBLEU),
}


if __name__ == "__main__":
    main()
