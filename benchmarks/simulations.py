"""How often the tests and intervals err, on corpora drawn from a population that is known.

``python -m benchmarks.simulations [--tables null power ...] [--runs 2000] [--json OUT]``

A run draws examples from a population (populations.py), each the one way round or the other, with
probabilities that make the true difference 0 or a known number; then the product's own functions
test it. Runs go through the kernels side by side, as columns of one array. Prints tables for
docs/statistics.md.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from threadpoolctl import threadpool_limits

from benchmarks import populations
from benchmarks.populations import Population, plain_bleu
from scoring import hashing
from scoring.metrics.base import FIXED_POINT
from scoring.statistics.intervals import FEWEST_UNITS, percentile_interval
from scoring.statistics.paired import bootstrap_p, randomisation_p
from scoring.statistics.resampling import replicate_sums, swap_sums

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ALPHA = 0.05
REPLICATES = 1000
TRIALS = 1024
RUNS_OF_A_BATCH = 50

STRENGTH = 2.4
"""The true difference of a run that measures power, in standard errors: a power of about .67."""


class Design(Protocol):
    """How the examples of a run are drawn, and what is resampled.

    share: how many are one way round; .5 makes both systems exchangeable.
    """

    @property
    def share(self) -> float: ...

    @property
    def drawn(self) -> str:
        """What is resampled."""
        ...

    def draw(
        self, population: Population, rng: np.random.Generator, runs: int
    ) -> tuple[Ints, Ints, Ints]:
        """The statistics of both systems: [units, runs, k] each; and [runs], how many units each
        run has, behind which all statistics are 0. The examples of a document that is resampled
        whole are summed: all of them have its weight, and sums are linear."""
        ...


@dataclass(frozen=True)
class Examples:
    """Examples drawn one by one, from all kinds."""

    examples: int
    share: float

    @property
    def drawn(self) -> str:
        return "examples"

    def draw(
        self, population: Population, rng: np.random.Generator, runs: int
    ) -> tuple[Ints, Ints, Ints]:
        kind, forward = self.kinds(population, rng, runs)
        a, b = population.a[kind], population.b[kind]
        return *_turned(a, b, forward), np.full(runs, self.examples)

    def kinds(
        self, population: Population, rng: np.random.Generator, runs: int
    ) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """[examples, runs]: which kinds, and whether they are one way round."""
        shape = (self.examples, runs)
        return rng.integers(0, len(population.a), shape), rng.random(shape) < self.share


class OfDocuments:
    """What is drawn as a whole, or apart as if documents were none."""

    whole: bool

    @property
    def drawn(self) -> str:
        return "documents" if self.whole else "examples"


@dataclass(frozen=True)
class MadeDocuments(OfDocuments, Examples):
    """Documents of so many examples, half of which are like its first; resampled whole or apart."""

    document: int = 10
    whole: bool = True

    def draw(
        self, population: Population, rng: np.random.Generator, runs: int
    ) -> tuple[Ints, Ints, Ints]:
        kind, forward = self.kinds(population, rng, runs)
        place = np.arange(self.examples)
        like_first = (rng.random(kind.shape) < 0.5) & (place % self.document > 0)[:, None]
        first = place // self.document * self.document
        kind = np.where(like_first, kind[first], kind)
        forward = np.where(like_first, forward[first], forward)
        a, b = _turned(population.a[kind], population.b[kind], forward)
        if self.whole:
            starts = np.arange(0, self.examples, self.document)
            a, b = (np.add.reduceat(statistics, starts, axis=0) for statistics in (a, b))
        return a, b, np.full(runs, len(a))


@dataclass(frozen=True)
class RealDocuments(OfDocuments):
    """The population's own documents, drawn with replacement, each one way round as a whole;
    resampled whole or apart."""

    documents: int
    share: float
    whole: bool = True

    def draw(
        self, population: Population, rng: np.random.Generator, runs: int
    ) -> tuple[Ints, Ints, Ints]:
        lengths = population.documents
        starts = np.cumsum(lengths) - lengths
        shape = (self.documents, runs)
        document = rng.integers(0, len(lengths), shape)
        forward = rng.random(shape) < self.share
        if self.whole:
            a, b = (np.add.reduceat(x, starts, axis=0) for x in (population.a, population.b))
            return *_turned(a[document], b[document], forward), np.full(runs, self.documents)
        examples = lengths[document].sum(axis=0)
        a, b = np.zeros((2, int(examples.max()), runs, population.a.shape[1]), np.int64)
        for run in range(runs):
            own = lengths[document[:, run]]
            within = np.arange(examples[run]) - np.repeat(np.cumsum(own) - own, own)
            kind = np.repeat(starts[document[:, run]], own) + within
            turned = _turned(
                population.a[kind], population.b[kind], np.repeat(forward[:, run], own)
            )
            a[: examples[run], run], b[: examples[run], run] = turned
        return a, b, examples


def _turned(a: Ints, b: Ints, forward: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """a and b, exchanged where they are not one way round."""
    return np.where(forward[..., None], a, b), np.where(forward[..., None], b, a)


def share_for(population: Population, design: Any, strength: float, runs: int = 1000) -> float:
    """The share, in thousandths, whose true difference is so many standard errors of the design,
    which are taken from so many runs at share .5."""
    even = replace(design, share=0.5)
    rng = np.random.default_rng(99)
    found = []
    for _ in range(runs // RUNS_OF_A_BATCH):
        a, b, _ = even.draw(population, rng, RUNS_OF_A_BATCH)
        found.append(population.differences(a.sum(axis=0), b.sum(axis=0)))
    step = population.truth(0.6) / 0.1
    return float(round(0.5 + strength * np.concatenate(found).std() / step, 3))


@dataclass(frozen=True)
class Rates:
    """Shares of the runs. rejected_*: with a p of at most .05; missed_*: where the truth lies
    outside of the interval; plain_*: rejected by the same tests written in plain numpy;
    sacrebleu_*: by sacrebleu's formula of p, on the plain replicates. NaN: there is none."""

    population: str
    units: int
    drawn: str
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
    """Some runs. a, b: [units, runs, k]; units: [runs]; p: [runs], NaN if there is none."""

    a: Ints
    b: Ints
    units: Ints
    seed: int
    difference: Floats
    replicates: Floats
    bootstrap: Floats
    randomisation: Floats
    low: Floats
    high: Floats


def batches(population: Population, design: Design, runs: int, seed: int) -> Iterator[Batch]:
    """Every run through the product's functions, ``RUNS_OF_A_BATCH`` with one seed."""
    for first in range(0, runs, RUNS_OF_A_BATCH):
        count = min(RUNS_OF_A_BATCH, runs - first)
        own = seed + first
        a, b, sizes = design.draw(population, np.random.default_rng(own), count)
        rows, _, k = a.shape
        units = hashing.hash_strings(pa.array([f"unit_{u:06d}" for u in range(rows)]))
        whole = np.array([rows])
        both = np.concatenate([a.reshape(rows, -1), b.reshape(rows, -1)], 1)
        sums = both.sum(axis=0).reshape(2, count, k)
        difference = population.differences(*sums)
        drawn = replicate_sums(units, both, whole, own, range(REPLICATES))[0]
        replicates = population.differences(*drawn.reshape(-1, 2, count, k).swapaxes(0, 1))
        swapped = swap_sums(units, both, whole, own, range(TRIALS))[0]
        moved = swapped.reshape(-1, 2, count, k).swapaxes(0, 1)
        trials = population.differences(
            sums[0] - moved[0] + moved[1], sums[1] - moved[1] + moved[0]
        )
        of_run = [(r, float(difference[r]), int(sizes[r])) for r in range(count)]
        bootstrap = [bootstrap_p(replicates[:, r], d, n).p for r, d, n in of_run]
        randomisation = [randomisation_p(trials[:, r], d).p for r, d, _ in of_run]
        intervals = [percentile_interval(replicates[:, r], 1 - ALPHA, n) for r, _, n in of_run]
        yield Batch(
            a,
            b,
            sizes,
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
    units = 0
    with threadpool_limits(1):
        for batch in batches(population, design, runs, seed):
            units += int(batch.units.sum())
            counts[:2] += [(p <= ALPHA).sum() for p in (batch.bootstrap, batch.randomisation)]
            # NaN is neither below nor above: without an interval nothing is covered or missed.
            counts[2:4] += (truth < batch.low).sum(), (truth > batch.high).sum()
            if plain:
                counts[4:] += [(p <= ALPHA).sum() for p in plain_p(population, batch)]
    rates = (counts / runs).tolist()
    plain_rates = rates[4:] if plain else [math.nan] * 3
    enough = round(units / runs) >= FEWEST_UNITS
    return Rates(
        population.name,
        round(units / runs),
        design.drawn,
        truth,
        runs,
        rates[0],
        rates[1],
        1 - rates[2] - rates[3] if enough else math.nan,
        rates[2],
        rates[3],
        plain_rates[0],
        plain_rates[1],
        plain_rates[2],
        time.process_time() - start,
    )


def plain_p(population: Population, batch: Batch) -> tuple[Floats, Floats, Floats]:
    """p by bootstrap, by randomisation and by sacrebleu's formula, of every run: numpy's random
    numbers, n of n units with replacement, no function of the product."""
    rng = np.random.default_rng([batch.seed, 7])
    score = plain_bleu if population.metric.name == "bleu" else plain_mean
    sizes = set(batch.units.tolist())
    if len(sizes) == 1:
        return _plain_p(score, batch.a, batch.b, rng)
    found = [
        _plain_p(score, batch.a[:n, r : r + 1], batch.b[:n, r : r + 1], rng)
        for r, n in enumerate(batch.units.tolist())
    ]
    bootstrap, randomisation, sacrebleus = (np.concatenate(p) for p in zip(*found))
    return bootstrap, randomisation, sacrebleus


def _plain_p(
    score: Callable[[npt.NDArray[Any]], Floats], a: Ints, b: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    n = len(a)
    # Integers below 2**24 are exact in float32, too, which takes half the time.
    kind = np.float32 if max(a.sum(axis=0).max(), b.sum(axis=0).max()) < 2**20 else np.float64
    chosen = rng.integers(0, n, (REPLICATES, n)) + np.arange(REPLICATES)[:, None] * n
    weights = np.bincount(chosen.ravel(), minlength=REPLICATES * n).reshape(REPLICATES, n)
    resampled = [np.tensordot(weights.astype(kind), x.astype(kind), 1) for x in (a, b)]
    differences = score(resampled[0]) - score(resampled[1])
    sums = a.sum(axis=0).astype(np.float64), b.sum(axis=0).astype(np.float64)
    own = score(sums[0]) - score(sums[1])
    centred = np.abs(differences - differences.mean(axis=0))
    bootstrap = (1 + (centred >= np.abs(own)).sum(axis=0)) / (1 + REPLICATES)
    absolute = np.abs(differences)
    sacrebleus = (1 + (absolute - absolute.mean(axis=0) > np.abs(own)).sum(axis=0)) / (
        1 + REPLICATES
    )
    swapped = rng.integers(0, 2, (TRIALS, n)).astype(kind)
    moved = np.tensordot(swapped, (b - a).astype(kind), 1).astype(np.float64)
    trials = score(sums[0] + moved) - score(sums[1] - moved)
    randomisation = (1 + (np.abs(trials) >= np.abs(own) - 1e-12).sum(axis=0)) / (1 + TRIALS)
    return bootstrap, randomisation, sacrebleus


def plain_mean(sums: npt.NDArray[Any]) -> Floats:
    """The mean of sums [..., (count, sum)]."""
    return np.asarray(sums[..., 1] / sums[..., 0] / FIXED_POINT, np.float64)


def attainable_level(population: Population, examples: int) -> float:
    """How often a randomisation test can find a difference of a rate where there is none.

    Only examples count on which the systems disagree, m of them; which way is a fair coin, so the
    difference is that of heads and tails. For every m and difference: its exact two-sided p, with
    all ties, and how probably so many trials put it at .05 or below. Summed over what m and the
    difference may be.
    """
    disagree = float((population.a[:, 1] != population.b[:, 1]).mean())
    most = math.floor(ALPHA * (TRIALS + 1)) - 1
    level = 0.0
    for m, of_m in enumerate(_binomial(examples, disagree).tolist()):
        if of_m < 1e-9:
            continue
        heads = _binomial(m, 0.5)
        apart = np.abs(2 * np.arange(m + 1) - m)
        for d in np.unique(apart).tolist():
            p = float(heads[apart >= d].sum())
            found = float(_binomial(TRIALS, min(p, 1.0))[: most + 1].sum())
            level += of_m * float(heads[apart == d].sum()) * found
    return level


def _binomial(n: int, p: float) -> Floats:
    """[n + 1] probabilities."""
    k = np.arange(n + 1)
    if p in (0.0, 1.0):
        return (k == n * p).astype(np.float64)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    ways = factorials[n] - factorials[k] - factorials[n - k]
    return np.asarray(np.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p)))


@dataclass(frozen=True)
class Sacrebleu:
    """Shares of runs rejected by sacrebleu's own functions, beside ours on the same runs."""

    population: str
    units: int
    drawn: str
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
    units = 0
    seconds = 0.0
    truth = 0.0 if design.share == 0.5 else population.truth(design.share)
    for batch in batches(population, design, runs, seed):
        units += int(batch.units.sum())
        counts[2:] += [(p <= ALPHA).sum() for p in (batch.bootstrap, batch.randomisation)]
        for r, n in enumerate(batch.units.tolist()):
            # Without our count of segments theirs are the same columns.
            a, b = batch.a[:n, r, 1:].tolist(), batch.b[:n, r, 1:].tolist()
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
    mean_units = round(units / runs)
    return Sacrebleu(population.name, mean_units, design.drawn, truth, runs, *rates, seconds)


def equal_systems() -> tuple[float, float, float, float]:
    """p of a system against itself: ours by bootstrap and randomisation, sacrebleu's likewise."""
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest, Result

    texts = [f"a b c d e f {i}" for i in range(100)]
    theirs: list[Any] = []
    for test in ("bs", "ar"):
        systems: list[tuple[str, Sequence[str]]] = [("one", texts), ("other", texts)]
        metrics = {"BLEU": BLEU(tokenize="none", references=[texts])}
        _, found = PairedTest(systems, metrics, None, test, REPLICATES)()
        result = found["BLEU"][1]
        assert isinstance(result, Result)
        theirs.append(result.p_value)
    ours = bootstrap_p(np.zeros(REPLICATES), 0.0, 100).p, randomisation_p(np.zeros(TRIALS), 0.0).p
    assert ours[0] is not None and ours[1] is not None
    return ours[0], ours[1], theirs[0], theirs[1]


MAKERS: dict[str, Callable[[], Population]] = {
    "wmt22": lambda: populations.wmt22("LanguageX", "DLUT"),
    "wmt22_close": lambda: populations.wmt22("HuaweiTSC", "LanguageX"),
    "chat": populations.chat,
    "skewed": populations.skewed_mean,
    "rate": populations.rate,
    "checks": populations.checks,
}


def main() -> None:
    """Prints tables and, with --json, writes all rates."""
    parser = argparse.ArgumentParser(description="How often tests and intervals err.")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--populations", nargs="+", choices=list(MAKERS), default=list(MAKERS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    chosen = [MAKERS[name]() for name in options.populations]
    found = []
    for name in options.tables:
        title, columns = TABLES[name]
        print(f"\n{title}\n\n| {' | '.join(columns)} |\n|---|{'--:|' * (len(columns) - 1)}")
        for row in rows(name, chosen, options.runs):
            print(f"| {' | '.join(str(show(row)) for show in columns.values())} |", flush=True)
            found.append({"table": name, **asdict(row)})
    ours = ", ".join(f"{p:.6f}" for p in equal_systems())
    print(f"\nA system against itself, p of bootstrap and randomisation, ours, sacrebleu's: {ours}")
    for examples in (200, 1000):
        level = attainable_level(populations.rate(), examples)
        print(f"What a randomisation test of the rate can attain with {examples}: {level:.4f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), "utf-8")


def rows(table: str, chosen: Sequence[Population], runs: int) -> Iterator[Rates | Sacrebleu]:
    """The rows of one table."""
    for population in chosen:
        of_bleu = population.metric.name == "bleu"
        if table in ("null", "power"):
            for examples in (200, 1000):
                design = Examples(examples, 0.5)
                if table == "power":
                    design = replace(design, share=share_for(population, design, STRENGTH))
                yield simulate(population, design, runs, 1_000, plain=True)
        elif table == "documents" and of_bleu:
            for documents in of_documents(population):
                yield simulate(population, documents, runs, 3_000, plain=True)
        elif table == "few":
            for examples in (1, 2, 5, 10, 30, 100):
                yield simulate(population, Examples(examples, 0.5), runs, 4_000, plain=True)
        elif table == "sacrebleu" and of_bleu:
            few = Examples(200, 0.5)
            some = replace(few, share=share_for(population, few, STRENGTH))
            for design in (few, some, Examples(1000, 0.5)):
                yield beside_sacrebleu(population, design, runs, 1_000)
        elif table == "sacrebleu documents" and len(population.documents):
            for whole in (False, True):
                yield beside_sacrebleu(population, RealDocuments(100, 0.5, whole), runs, 3_000)


def of_documents(population: Population) -> Iterator[Design]:
    """No difference, resampled whole and apart; a true one; and real documents as they are."""
    real = len(population.documents) > 0
    whole: Any = RealDocuments(100, 0.5) if real else MadeDocuments(1000, 0.5)
    yield from (whole, replace(whole, whole=False))
    share = share_for(population, whole, STRENGTH)
    if share <= 1:  # else the two systems are closer than that
        yield replace(whole, share=share)
    if real:
        yield from (replace(whole, share=1.0), replace(whole, share=1.0, whole=False))


RATES = {
    "data": lambda r: r.population,
    "units": lambda r: r.units,
    "drawn": lambda r: r.drawn,
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
    "units": lambda r: r.units,
    "drawn": lambda r: r.drawn,
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
    "documents": ("Examples in documents, resampled whole or apart", RATES),
    "few": ("Few units, no difference", RATES),
    "sacrebleu": ("sacrebleu's own functions on the same runs", SACREBLEU),
    "sacrebleu documents": ("The same on real documents, no difference", SACREBLEU),
}


if __name__ == "__main__":
    main()
