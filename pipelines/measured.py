"""What a configuration measures: tracks, metrics, tables of document frequencies, signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from pipelines import recipes
from schemas import expressions
from schemas.configuration import Comparison, Evaluation
from schemas.errors import ConfigurationError, OutputError
from scoring import data_report, hashing
from scoring.comparisons import Comparisons
from scoring.metrics.tracks import MAIN, join_signature, signature
from scoring.text.tokens import overlaps
from transforms import data, files, scores, sources, tokens, write
from transforms.frequencies import TABLE_FILE, SavedTable
from transforms.scores import Measures, MetricSpec
from transforms.sources import HYPOTHESES, REFERENCES

Tables = Mapping[str, SavedTable]
"""track -> its table of document frequencies"""


def measures(config: Evaluation) -> Measures:
    """The metrics of a run and how they are resampled. Raises ConfigurationError."""
    bootstrap = config.bootstrap
    return scores.Measures(
        metrics=tuple(_metric(config, "metrics", name) for name in config.metrics),
        replicates=bootstrap.replicates,
        seed=bootstrap.seed,
        confidence=bootstrap.confidence,
        own_units=bootstrap.resample_by is None,
        comparisons=_comparisons(config),
        family=config.comparison.family,
        ceiling=config.reference_ceiling,
        falls=config.falls,
        combinations=tuple(
            (
                name,
                tuple(
                    (weight, _metric(config, f"combinations.{name}", metric))
                    for weight, metric in expressions.terms(expression)
                ),
            )
            for name, expression in config.combinations
        ),
    )


def only(measures: Measures, names: Sequence[str]) -> Measures:
    """The same for some of the metrics and combinations."""
    return replace(
        measures,
        metrics=tuple(spec for spec in measures.metrics if spec.make().name in names),
        combinations=tuple(pair for pair in measures.combinations if pair[0] in names),
    )


def _comparisons(config: Evaluation) -> Comparisons:
    """Which systems are compared, and how."""
    asked = config.comparison
    return Comparisons(
        baseline=asked.baseline,
        every_pair=asked.pairs == "all",
        tests=asked.tests,
        trials=asked.trials,
        alpha=asked.alpha,
        common=config.missing == "skip",
        difference=asked.difference,
        steps=config.step_column is not None,
    )


def compared(asked: Comparison, seed: int) -> str:
    """What the signature of a difference has beside that of the score."""
    family = "+".join(("pairs", *asked.family))
    return (
        f"tests:{'+'.join(asked.tests)},trials={asked.trials},alpha={asked.alpha:g},seed={seed}"
        f"|adjusted:holm,over={family}"
    )


def _metric(config: Evaluation, key: str, text: str) -> MetricSpec:
    name, track = expressions.metric_on_track(text)
    spec = MetricSpec(name, _parameters(config, name), track)
    try:
        spec.make()
    except ValueError as error:
        raise ConfigurationError(key, text, str(error)) from error
    return spec


def _parameters(config: Evaluation, metric: str) -> tuple[tuple[str, object], ...]:
    if metric == "bleu":
        return (
            ("weights", config.weights),
            ("smoothing", config.smoothing),
            ("smoothing_value", config.smoothing_value),
        )
    return ()


def text(config: Evaluation, measures: Measures) -> tokens.Text:
    """How texts are cut: the tracks that are counted, the main one first.

    Raises ConfigurationError.
    """
    try:
        counted = measures.layout().tracks
    except ValueError as error:
        names = [*config.metrics, *(name for name, _ in config.combinations)]
        raise ConfigurationError("metrics", names, str(error)) from error
    made = tuple(
        (name, recipes.made(parts, "" if name == MAIN else f"tracks.{name}."))
        for name, parts in recipes.of_tracks(config).items()
        if name in (*counted, config.near_duplicate_track)
    )
    threshold = config.near_duplicate_references
    near = None if threshold is None else (config.near_duplicate_track or made[0][0], threshold)
    return tokens.Text(made, config.missing, config.bootstrap.resample_by, near)


def references_used(text: tokens.Text) -> str:
    """What a signature says of references that are left out; empty if none are."""
    if text.near_duplicates is None:
        return ""
    track, threshold = text.near_duplicates
    return f"jaccard<={threshold:.10g}[{text.recipes()[track].signature()}]"


def table_recipes(text: tokens.Text) -> dict[str, str]:
    """track -> what must be equal for a table of document frequencies to mean the same."""
    used = references_used(text)
    of_references = f" references:{used}" if used else ""
    return {name: f"{recipe.signature()}{of_references}" for name, recipe in text.recipes().items()}


def saved_tables(
    config: Evaluation, measures: Measures, recipe_of: Mapping[str, str]
) -> dict[str, SavedTable]:
    """The saved tables to use. Raises ConfigurationError, InputError."""
    folder = config.document_frequencies
    if not folder:
        return {}
    orders = _document_orders("document_frequencies", folder, measures)
    return {
        track: SavedTable.load(table_folder(folder, track, len(orders)), order, recipe_of[track])
        for track, order in orders.items()
    }


def table_folder(folder: str, track: str, tracks: int) -> str:
    """Where the table of a track stands: one alone in the folder itself, several below it."""
    own = files.join(files.absolute(folder), track)
    if tracks > 1:
        return own
    held = files.listing(files.absolute(folder))
    return own if TABLE_FILE not in held and track in held else folder


def tables_to_save(
    config: Evaluation, measures: Measures, recipe_of: Mapping[str, str]
) -> dict[str, SavedTable]:
    """The tables to save, empty as yet. Raises ConfigurationError, OutputError."""
    folder = config.save_document_frequencies
    if not folder:
        return {}
    orders = _document_orders("save_document_frequencies", folder, measures)
    path = files.absolute(folder)
    if held := files.listing(path):
        raise OutputError(
            f"--save_document_frequencies {path}: the folder already holds {held[0]!r}.\n"
            "Expected a new or empty folder, so that two tables never mix. Name another one."
        )
    return {
        track: SavedTable(
            path if len(orders) == 1 else files.join(path, track),
            order,
            0,
            recipe_of[track],
            "",
            (),
        )
        for track, order in orders.items()
    }


def _document_orders(key: str, folder: str, measures: Measures) -> Mapping[str, int]:
    orders = measures.document_orders
    if not orders:
        expected = "a metric that uses document frequencies, such as cider_d, in --metrics"
        raise ConfigurationError(key, folder, expected)
    return orders


def signatures(
    config: Evaluation, measures: Measures, text: tokens.Text, saved: Tables
) -> tuple[tuple[str, str], ...]:
    """(metric, everything that moves its score), in the order of the metrics."""
    cut_by = {name: recipe.signature() for name, recipe in text.recipes().items()}
    frequencies = {
        track: saved[track].fingerprint if track in saved else write.own_table(track)
        for track in cut_by
    }
    used = references_used(text)
    run = [("references", used)] if used else []
    run.append(("missing", "skip" if config.missing == "skip" else "empty"))
    if config.bootstrap.replicates:
        bootstrap = config.bootstrap
        unit = bootstrap.resample_by or "example"
        interval = (
            f"poisson-percentile,B={bootstrap.replicates},level={bootstrap.confidence:g},"
            f"seed={bootstrap.seed},unit={unit},{hashing.HASH_VERSION}"
        )
        run.append(("ci", interval))
    run.append(("liangchi", installed("liangchi")))
    return tuple(
        (metric.name, join_signature([*signature(metric, cut_by, frequencies), *run]))
        for metric in measures.layout().metrics
    )


def look(
    config: Evaluation, measures: Measures, text: tokens.Text, inputs: sources.Inputs
) -> data.Look:
    """Which texts are looked at for the data report, and what was chosen for them."""
    bleu = {m.track for m in measures.layout().sources if m.metric.name == "bleu"}
    tracks = tuple(
        data_report.Track(
            name,
            recipe.tokenizer.name,
            tuple(step.signature() for step in recipe.steps),
            overlaps(recipe.tokenizer),
            name in bleu,
        )
        for name, recipe in text.recipes().items()
    )
    rows = sum(inputs.rows(table) for table in (HYPOTHESES, REFERENCES))
    return data.Look(data.limit_of(rows, config.data_report), tracks)


def installed(distribution: str) -> str:
    """Its version, or 'not installed'."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
