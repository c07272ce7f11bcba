"""Differences between systems that were scored on the same examples, and how far to trust them.

The draws are those of the systems' own intervals: in every draw all systems have the same weights,
so a difference in a draw is a difference of two scores of it, and no pair costs a sum of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring import ceiling, series
from scoring.evaluation import EXAMPLES, StatisticsLayout
from scoring.statistics import effects, multiplicity, paired, power, ranking
from scoring.statistics.intervals import percentile_interval

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BOOTSTRAP, RANDOMISATION = "bootstrap", "randomisation"
TESTS = (BOOTSTRAP, RANDOMISATION)

NOT_COMPARED = ceiling.NAMES
"""What stands among the systems to be looked at only."""

OUTCOMES = ("wins", "losses", "ties")

FAMILY = ("metric", "slice", "test")
"""What a family of tests may span beside the pairs."""


@dataclass(frozen=True)
class Pair:
    """system and baseline: numbers of the two systems. places: where their sums stand."""

    system: int
    baseline: int
    places: tuple[int, int]


@dataclass(frozen=True)
class Comparisons:
    """Which systems are compared, and how.

    named: (system, baseline) of single pairs. baseline: every other system is compared with it.
    every_pair: every two systems are compared. steps: systems are checkpoints, and each is
    compared with the one before. None of the four: nothing is compared.
    trials: draws of a test; more are taken where so many pairs could not be told apart otherwise.
    common: whether a pair is compared on the examples that both have (others are not filled).
    difference: one to tell the needed number of units for.
    """

    baseline: str | None = None
    every_pair: bool = False
    tests: tuple[str, ...] = TESTS
    trials: int = 10_000
    alpha: float = 0.05
    common: bool = False
    difference: float | None = None
    named: tuple[tuple[str, str], ...] = ()
    steps: bool = False

    def __bool__(self) -> bool:
        return self.every_pair or self.baseline is not None or bool(self.named) or self.steps

    def pairs(self, systems: Sequence[str]) -> tuple[Pair, ...]:
        """All pairs, the baseline's first. Raises ValueError if there is no such baseline."""
        if self.baseline is not None and self.baseline not in systems:
            raise ValueError(f"no system is called {self.baseline!r}; there are {list(systems)}")
        if not self:
            return ()
        numbers = [i for i, name in enumerate(systems) if name not in NOT_COMPARED]
        place_of = {name: i for i, name in enumerate(systems)}
        found = [(place_of[system], place_of[baseline]) for system, baseline in self.named]
        if self.steps:
            checkpoints = [systems[i] for i in numbers]
            found += [(place_of[a], place_of[b]) for a, b in series.successive(checkpoints)]
        if self.baseline is not None:
            place = place_of[self.baseline]
            known = set(found)
            found += [(i, place) for i in numbers if i != place and (i, place) not in known]
        if self.every_pair:
            known = {*found, *((j, i) for i, j in found)}
            found += [(i, j) for j in numbers for i in numbers if i > j and (i, j) not in known]
        if not self.common:
            return tuple(Pair(i, j, (i, j)) for i, j in found)
        first = len(systems)
        return tuple(
            Pair(i, j, (first + 2 * p, first + 2 * p + 1)) for p, (i, j) in enumerate(found)
        )

    def draws(self, systems: Sequence[str], metrics: int, family: Sequence[str]) -> int:
        """Draws of each test: enough for so many comparisons in one family."""
        pairs = len(self.pairs(systems))
        if not pairs:
            return 0
        of_family = pairs * (metrics if "metric" in family else 1)
        of_family *= len(self.tests) if "test" in family else 1
        return max(self.trials, paired.draws_needed(of_family, self.alpha))


NO_COMPARISONS = Comparisons()


def with_common(per_example: Ints, pairs: Sequence[Pair], systems: int) -> Ints:
    """The statistics [examples, systems, k], and behind them those of every pair that stands on
    places of its own: [examples, systems + 2 * pairs, k], 0 where one of the two has none."""
    own = [pair for pair in pairs if pair.places[0] >= systems]
    if not own:
        return per_example
    # EXAMPLES, the first column, is 1 where a system has an output.
    has = per_example[:, :, 0] > 0
    parts = [per_example]
    for pair in own:
        both = (has[:, pair.system] & has[:, pair.baseline])[:, None, None]
        parts.append(per_example[:, [pair.system, pair.baseline]] * both)
    return np.concatenate(parts, axis=1)


def outcomes(layout: StatisticsLayout, statistics: Ints, pairs: Sequence[Pair]) -> Ints:
    """By example whether the system's segment score is above, below or like the baseline's.

    statistics: as ``with_common`` gives them. Returns [examples, pairs, metrics * 3], ``OUTCOMES``
    of every metric; an example that one of the two lacks counts nothing.
    """
    n = len(statistics)
    result = np.zeros((n, len(pairs), len(layout.metrics) * len(OUTCOMES)), np.int64)
    has = statistics[:, :, layout.column(EXAMPLES)] > 0
    for j, metric in enumerate(layout.metrics):
        columns = layout.columns(metric)
        scored: dict[int, Floats] = {}
        for p, pair in enumerate(pairs):
            for place in pair.places:
                if place not in scored:
                    scored[place] = metric.segment_score(statistics[:, place, columns])
            system, baseline = (scored[place] for place in pair.places)
            both = has[:, pair.places[0]] & has[:, pair.places[1]]
            of_pair = effects.outcomes(system, baseline) & both[:, None]
            result[:, p, 3 * j : 3 * j + 3] = of_pair
    return result


@dataclass(frozen=True)
class Difference:
    """system minus baseline in one metric and slice, by one test. None: undefined, see ``note``."""

    system: str
    baseline: str
    slice: str
    slice_value: str
    metric: str
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    test: str
    p_value: float | None
    draws: int
    wins: int
    losses: int
    ties: int
    units: int
    examples: int
    detectable_difference: float | None
    units_needed: int | None
    scale: str
    note: str


@dataclass(frozen=True)
class Draws:
    """Sums of one slice. plain: [places, k]; bootstrap, swaps: [draws, places, k];
    outcomes: [pairs, metrics * 3]."""

    plain: Ints
    bootstrap: Ints
    swaps: Ints
    outcomes: Ints


def compare(
    layout: StatisticsLayout,
    comparisons: Comparisons,
    systems: Sequence[str],
    of_slice: tuple[str, str],
    sums: Draws,
    replicates: int,
    draws: int,
    units: int | None,
    confidence: float,
) -> list[Difference]:
    """The differences of all pairs in one slice.

    replicates: of which the interval is made, draws: on which the tests stand: the first so many.
    units: how many were drawn, None if they are the examples.
    """
    result = []
    pairs = comparisons.pairs(systems)
    for j, metric in enumerate(layout.metrics):
        columns = layout.columns(metric)
        points = metric.score(sums.plain[:, columns])
        drawn = {
            place: metric.score(sums.bootstrap[:, place, columns])
            for place in {place for pair in pairs for place in pair.places}
        }
        for p, pair in enumerate(pairs):
            system, baseline = pair.places
            examples = int(sums.plain[system, layout.column(EXAMPLES)])
            of_pair = examples if units is None else units
            point = float(points[system] - points[baseline])
            defined = not math.isnan(point)
            moved = drawn[system] - drawn[baseline]
            wins, losses, ties = sums.outcomes[p, 3 * j : 3 * j + 3].tolist()
            notes = _notes(metric, sums.plain, pair, layout) if not defined else []
            if comparisons.common:
                notes.append(f"on the {examples} examples that both have")
            low = high = detectable = needed = None
            if defined and replicates:
                interval = percentile_interval(moved[:replicates], confidence, of_pair)
                low, high = interval.low, interval.high
                notes.append(interval.note)
                if interval.low is not None:
                    spread = _spread(moved[:replicates])
                    detectable = power.detectable_difference(spread, comparisons.alpha).difference
                    if comparisons.difference is not None:
                        needed = power.units_needed(
                            spread, of_pair, comparisons.difference, comparisons.alpha
                        ).units
            row = Difference(
                system=systems[pair.system],
                baseline=systems[pair.baseline],
                slice=of_slice[0],
                slice_value=of_slice[1],
                metric=metric.name,
                difference=point if defined else None,
                ci_low=low,
                ci_high=high,
                test="",
                p_value=None,
                draws=draws,
                wins=wins,
                losses=losses,
                ties=ties,
                units=of_pair,
                examples=examples,
                detectable_difference=detectable,
                units_needed=needed,
                scale=metric.scale,
                note="",
            )
            for test in comparisons.tests:
                p_value = paired.PValue(None, "no p: the difference is undefined")
                if defined and test == BOOTSTRAP:
                    p_value = paired.bootstrap_p(moved[:draws], point, of_pair)
                elif defined:
                    swapped = sums.swaps[:draws]
                    moves = swapped[:, baseline, columns] - swapped[:, system, columns]
                    one = metric.score(sums.plain[system, columns] + moves)
                    other = metric.score(sums.plain[baseline, columns] - moves)
                    p_value = paired.randomisation_p(one - other, point)
                note = "; ".join(dict.fromkeys(n for n in (*notes, p_value.note) if n))
                result.append(replace(row, test=test, p_value=p_value.p, note=note))
    return result


def best_p_values(
    layout: StatisticsLayout,
    systems: Sequence[str],
    best: Mapping[str, Mapping[str, str]],
    sums: Draws,
    draws: int,
    units: int | None,
) -> dict[tuple[str, str], float | None]:
    """(metric, system) -> p of its difference to the best one of its kind (``paired.best_p``). None
    of systems without a score.

    best: metric -> system -> the best one. draws: of how many replicates. units: see ``compare``.
    """
    place = {name: i for i, name in enumerate(systems)}
    found: dict[tuple[str, str], float | None] = {}
    for metric in layout.metrics:
        columns = layout.columns(metric)
        points = metric.score(sums.plain[:, columns])
        kinds: dict[str, list[str]] = {}
        for system, top in best.get(metric.name, {}).items():
            if not math.isnan(points[place[system]]):
                kinds.setdefault(top, []).append(system)
        for top, others in kinds.items():
            members = [place[name] for name in (top, *others)]
            examples = int(sums.plain[place[top], layout.column(EXAMPLES)])
            replicates = metric.score(sums.bootstrap[:draws, members][..., columns])
            differences = [float(points[place[name]] - points[place[top]]) for name in others]
            p = paired.best_p(replicates, differences, examples if units is None else units)
            found |= {(metric.name, name): value for name, value in zip(others, p)}
    return found


def _spread(replicates: Floats) -> float:
    """Their standard deviation."""
    defined = replicates[~np.isnan(replicates)]
    return float(np.std(defined, ddof=1)) if len(defined) > 1 else math.nan


def _notes(metric: Any, plain: Ints, pair: Pair, layout: StatisticsLayout) -> list[str]:
    columns = layout.columns(metric)
    return [n for n in (metric.note(plain[place, columns]) for place in pair.places) if n]


Row = Mapping[str, Any]


def adjusted(rows: Sequence[Row], family: Sequence[str], alpha: float) -> list[dict[str, Any]]:
    """The rows with ``p_adjusted`` (Holm) and ``comparisons``, how many a row was one of.

    rows: as ``Difference`` has them. A family is all pairs of one test, metric and slice; and
    over the metrics, slices or tests that ``family`` names. Where so few draws could never reject
    the largest p of a family, the note says so.
    """
    keys = {"metric": ("metric",), "slice": ("slice", "slice_value"), "test": ("test",)}
    within = [column for name in FAMILY if name not in family for column in keys[name]]
    families: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(rows):
        families.setdefault(tuple(row[column] for column in within), []).append(i)
    result = [dict(row) for row in rows]
    for members in families.values():
        of_family = multiplicity.holm([rows[i]["p_value"] for i in members])
        tested = sum(rows[i]["p_value"] is not None for i in members)
        for i, p in zip(members, of_family):
            row = result[i]
            row["p_adjusted"], row["comparisons"] = p, tested
            draws = row["draws"]
            if p is not None and not paired.resolvable(draws, tested, alpha):
                needed = paired.draws_needed(tested, alpha)
                said = f"not resolvable with {draws} draws: {tested} comparisons need {needed}"
                row["note"] = "; ".join(note for note in (row["note"], said) if note)
    return result


def ranks(
    scores: Sequence[Row], compared: Sequence[Row], systems: Sequence[str], alpha: float
) -> list[dict[str, Any]]:
    """Systems by score in every slice, metric and test, and the cluster of each.

    scores: as ``evaluation.Score`` has them; compared: as ``adjusted`` gives them, of all pairs.
    """
    value = {(s["slice"], s["slice_value"], s["metric"], s["system"]): s["value"] for s in scores}
    number = {name: i for i, name in enumerate(systems)}
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in compared:
        key = (row["slice"], row["slice_value"], row["metric"], row["test"])
        groups.setdefault(key, []).append(row)
    result = []
    for key, rows in groups.items():
        beats = np.zeros((len(systems), len(systems)), np.bool_)
        for row in rows:
            i, j = number[row["system"]], number[row["baseline"]]
            if row["p_adjusted"] is not None and row["p_adjusted"] < alpha:
                beats[i, j], beats[j, i] = row["difference"] > 0, row["difference"] < 0
        values = [value.get((*key[:3], name)) for name in systems]
        clusters = ranking.clusters(values, beats)
        order = sorted(
            range(len(systems)), key=lambda i: (values[i] is None, -(values[i] or 0.0), systems[i])
        )
        result += [
            {
                "slice": key[0],
                "slice_value": key[1],
                "metric": key[2],
                "test": key[3],
                "rank": place,
                "cluster": clusters[i],
                "system": systems[i],
                "value": values[i],
                "beats": int(beats[i].sum()),
            }
            for place, i in enumerate(order, 1)
        ]
    return result
