"""The graph of ``evaluate`` and its run. No arithmetic here: transforms/ and scoring/ have it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.options.pipeline_options import StandardOptions

import runners.direct
from pipelines import measured, progress, recipes
from pipelines import output as folders
from runners import choice, probes, signatures
from runners.base import Given, Job
from runners.options import Options, workers_are_here
from schemas.configuration import Evaluation
from schemas.errors import ConfigurationError, UnavailableError
from scoring import hashing
from scoring.ceiling import with_ceiling
from transforms import (
    accounts,
    broadcast,
    create,
    data,
    estimates,
    files,
    floor,
    frequencies,
    read,
    reference_types,
    samples,
    scores,
    slices,
    sources,
    spill,
    tokens,
    write,
)
from transforms.packets import Keyed
from transforms.progress import PASSES as RESAMPLE_PASSES
from transforms.sources import Inputs


@dataclass(frozen=True)
class Plan:
    """A configuration that has been checked against its inputs: all that the graph is made of."""

    config: Evaluation
    inputs: Inputs
    text: tokens.Text
    measures: scores.Measures
    signatures: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    saved: Mapping[str, frequencies.SavedTable]
    save_to: Mapping[str, frequencies.SavedTable]
    look: data.Look
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Tells this run from any other that takes its folder; never in a table."""


def plan(config: Evaluation) -> Plan:
    """Check everything that can be known before the job starts.

    Raises ConfigurationError, InputError.
    """
    measures = measured.measures(config)
    text = measured.text(config, measures)
    made = text.recipes()
    tables = measured.table_recipes(text)
    saved = measured.saved_tables(config, measures, tables)
    save_to = measured.tables_to_save(config, measures, tables)
    signatures = measured.signatures(config, measures, text, saved)
    parts = recipes.of_tracks(config)
    warnings = recipes.warnings([(parts[name], recipe) for name, recipe in made.items()])
    inputs = sources.inspect(config)
    text = replace(text, slices=inputs.slices)
    look = measured.look(config, measures, text, inputs)
    return Plan(config, inputs, text, measures, signatures, warnings, saved, save_to, look)


def define_pipeline(root: beam.Pipeline, plan: Plan) -> beam.PCollection[Keyed]:
    """Build the graph of one evaluation on ``root``; returns the manifest that it writes last."""
    config, inputs = plan.config, plan.inputs
    output = files.absolute(config.output)
    rows = (
        root
        | "Splits" >> create.Create(inputs.splits(), sources.Split)
        | "Read" >> (read.ReadRows(_rows(plan)))
    )
    if config.systems:
        named = root | "Systems" >> create.Create([list(config.systems)], list[str])
    else:
        named = (
            rows[read.ROWS]
            | "SystemNames" >> beam.Map(tokens.systems_of).with_output_types(list[str])
            | "Systems" >> create.Combine(tokens.SystemsFn(), list[str])
        )
    baseline = config.comparison.baseline
    if baseline is not None:
        named = named | "Baseline" >> beam.Map(tokens.with_baseline, baseline)
    to_join = [rows[read.ROWS]]
    if config.reference_ceiling:
        named = named | "WithFloor" >> beam.Map(floor.with_floor).with_output_types(list[str])
        shards = floor.shards(inputs.rows(sources.REFERENCES))
        to_join.append(
            rows[read.ROWS] | "Floor" >> floor.ShuffleReferences(shards, inputs.partitions)
        )
    edges = rows[slices.NUMBERS] | "Bins" >> slices.FindEdges(plan.text.slices)
    to_join += [
        named | "SystemsToAll" >> broadcast.ToAll(tokens.SYSTEMS, inputs.partitions),
        edges | "BinsToAll" >> broadcast.ToAll(slices.EDGES, inputs.partitions),
    ]
    joined = (
        to_join
        | "ToJoin" >> beam.Flatten()
        | "Join" >> tokens.JoinAndTokenise(plan.text, plan.look.limit)
    )
    if config.reference_ceiling:
        named = named | "WithCeiling" >> beam.Map(with_ceiling).with_output_types(list[str])
    results = [named | "ToResults" >> broadcast.ToAll(tokens.SYSTEMS, 1)]
    of_join = joined[accounts.ACCOUNT] | "AccountsOfJoin" >> (
        beam.Filter(read.is_of_kind, accounts.ACCOUNT).with_output_types(Keyed)
    )
    counted = [rows[read.REFUSED], of_join]
    to_score = [joined[tokens.TOKENS]]
    if config.slices:
        common = joined[tokens.TOKENS] | "SliceValues" >> (
            slices.CommonValues(config.slice_values, inputs.partitions)
        )
        counted.append(
            common | "OtherValues" >> beam.Map(slices.account_of).with_output_types(Keyed)
        )
        to_score.append(common | "ValuesToAll" >> broadcast.ToAll(slices.TOPS, inputs.partitions))
    orders = plan.measures.document_orders
    if orders:
        frequent = joined[tokens.TOKENS] | "DocumentFrequencies" >> (
            frequencies.DocumentFrequencies(
                orders,
                inputs.buckets,
                plan.saved or None,
                {track: table.path for track, table in plan.save_to.items()} or None,
            )
        )
        results.append(frequent[frequencies.TABLE])
        to_score.append(frequent[frequencies.ANSWER])
    statistics = tuple(to_score) | "Segments" >> scores.ScoreSegments(
        plan.measures, bool(config.slices)
    )
    results += [
        statistics
        | "Slices" >> scores.ScoreSlices(plan.measures, config.replicate_groups, inputs.partitions),
        statistics | "ReferenceTypes" >> reference_types.CountTypes(),
        statistics | "Samples" >> samples.CountSamples(plan.measures, config.spread_limit),
        statistics
        | "WriteSegments" >> write.WriteSegments(plan.measures, output, inputs.partitions),
        (*counted, root | "BadFiles" >> create.Create(_bad_files(inputs), Keyed))
        | "Accounts" >> beam.Flatten()
        | "WriteAccounts" >> write.WriteAccounts(output, inputs.partitions),
    ]
    if plan.look.limit:
        results.append(
            joined[accounts.ACCOUNT]
            | "DataOfJoin" >> beam.Filter(read.is_of_kind, data.DATA).with_output_types(Keyed)
            | "Data" >> data.AddUp()
        )
    run = write.Run(
        output=output,
        run_id=config.run_id,
        signatures=plan.signatures,
        compared=measured.compared(config.comparison, config.bootstrap.seed),
        confidence=config.bootstrap.confidence,
        replicates=config.bootstrap.replicates,
        slices=config.slices,
        spread_limit=config.spread_limit,
        manifest=json.dumps(manifest(plan)),
        look=plan.look,
        frozen=tuple(plan.saved.items()),
        saved=tuple(plan.save_to.items()),
        token=plan.token,
    )
    return (
        results
        | "Results" >> beam.Flatten()
        | "WriteResults" >> write.WriteResults(run, plan.measures)
    )


def _rows(plan: Plan) -> read.Rows:
    config = plan.config
    return read.Rows(
        plan.inputs.partitions,
        plan.text.reference_columns,
        config.max_characters,
        tuple(slices.sampled(plan.text.slices)),
        config.null_text,
        config.skip_bad_files,
        config.step_column,
        plan.text.hypothesis_columns,
    )


def read_rows(plan: Plan, only: str | None = None) -> Iterator[tuple[str, int, pa.Table]]:
    """(table, partition, accepted rows of it) of all inputs, read in this process: for a look at
    single rows, with what the job reads by. only: this table."""
    for split in plan.inputs.splits():
        if only in (None, split.table):
            yield from read.accepted(split, _rows(plan))


def _bad_files(inputs: Inputs) -> list[Keyed]:
    """An account of the files that were refused before the job."""
    refused = [accounts.refused_file(f.table, f.path, f.detail) for f in inputs.refused]
    return [(0, accounts.account({}, pa.concat_tables(refused) if refused else None))]


def manifest(plan: Plan) -> dict[str, Any]:
    """What the manifest says of the run before it ran."""
    parts = recipes.of_tracks(plan.config)
    return {
        "configuration": asdict(plan.config),
        "tracks": {
            name: {**asdict(parts[name]), "recipe": recipe.signature()}
            for name, recipe in plan.text.recipes().items()
        },
        "inputs": [
            {"table": f.table, "path": f.path, "rows": f.rows, "bytes": f.bytes}
            for f in plan.inputs.files
        ],
        "working_directory": os.getcwd(),
        "partitions": plan.inputs.partitions,
        "buckets": plan.inputs.buckets,
        "replicate_groups": plan.config.replicate_groups,
        "versions": {
            "python": platform.python_version(),
            **{
                name: measured.installed(name)
                for name in ("liangchi", "apache-beam", "numpy", "pyarrow", "jieba")
            },
            "hash": hashing.HASH_VERSION,
        },
    }


def claim(plan: Plan, beam_arguments: list[str], overwrite: bool = False) -> beam.Pipeline:
    """Take the output folder; an empty pipeline for the job. Raises OutputError,
    ConfigurationError."""

    def take() -> None:
        check_output(plan)
        folders.claim(plan.config.output, overwrite, plan.token)

    return open_pipeline(effective(plan, beam_arguments).arguments, take)


def open_pipeline(arguments: list[str], take: Callable[[], None]) -> beam.Pipeline:
    """An empty pipeline for a job with these Beam options, once ``take`` has taken the output.

    Raises ConfigurationError, UnavailableError, and what ``take`` raises.
    """
    _check_job_service(Given(arguments).value("job_endpoint"))
    if choice.chosen(arguments) is runners.direct.RUNNER:
        runners.direct.prepare()
    signatures.remember()
    options = Options(arguments)
    try:
        root = beam.Pipeline(options=options)
    except (ValueError, ImportError) as error:
        # A runner that is unknown, lacks options, or whose part of Beam is not installed.
        name = options.view_as(StandardOptions).runner
        raise ConfigurationError("runner", name, f"what Beam can run: {error}") from error
    try:
        take()
    except BaseException:
        # Beam removes it only when the pipeline has run.
        shutil.rmtree(root.local_tempdir, ignore_errors=True)
        raise
    return root


def _check_job_service(endpoint: str | None) -> None:
    # Beam would wait as long as it may watch the job.
    if not endpoint or endpoint == "embed":
        return
    try:
        probes.job_options(endpoint)
    except OSError as error:
        raise UnavailableError(
            f"--job_endpoint {endpoint}: no job service answers there ({error}).\nStart it, or "
            "name the port at which it takes jobs; `liangchi doctor` looks at every part."
        ) from error


def run(plan: Plan, root: beam.Pipeline) -> None:
    """Run the job, wait for it. Raises what a worker raises, or RuntimeError."""
    with spilling(root), root:
        define_pipeline(root, plan)


def spilling(root: beam.Pipeline) -> AbstractContextManager[None]:
    """While this is open, what passes between stages lies in a file, if all workers can read it."""
    return spill.opened() if workers_are_here(root.options) else nullcontext()


def tally(plan: Plan) -> progress.Tally:
    """What there is to do, for who watches."""
    return progress.Tally(
        rows=sum(file.rows for file in plan.inputs.files),
        buckets=plan.inputs.buckets if plan.measures.document_orders else 0,
        passes=RESAMPLE_PASSES,
        start=time.monotonic(),
    )


def check_output(plan: Plan) -> None:
    """Refuse to write where an input is. Raises OutputError."""
    config = plan.config
    inputs = [*config.hypotheses, *config.references, *(f.path for f in plan.inputs.files)]
    if config.document_frequencies:
        inputs.append(config.document_frequencies)
    folders.check_apart("output", config.output, inputs)
    if config.save_document_frequencies:
        saved = config.save_document_frequencies
        folders.check_apart("save_document_frequencies", saved, inputs)


def job(plan: Plan) -> Job:
    """What a runner must know of the job."""
    config = plan.config
    saved = config.save_document_frequencies
    guesses = shuffles(plan).values()
    return Job(
        input_bytes=plan.inputs.bytes,
        partitions=plan.inputs.partitions,
        inputs=tuple(file.path for file in plan.inputs.files),
        outputs=tuple(files.absolute(path) for path in (config.output, saved) if path),
        largest_element=max(guess.largest for guess in guesses),
        slice_sums=max(guess.together for guess in guesses),
        shuffled=sum(guess.bytes for guess in guesses),
    )


def shuffles(plan: Plan) -> dict[str, estimates.Shuffle]:
    """What will pass between the stages, by the name of the shuffle."""
    config = plan.config
    return estimates.shuffles(
        plan.inputs,
        plan.measures,
        config.systems,
        len(config.slices) * (config.slice_values + 1),
        config.replicate_groups,
    )


def effective(plan: Plan, arguments: list[str]) -> choice.Effective:
    """The Beam options in force, and warnings. Raises ConfigurationError for a call that cannot
    work."""
    return choice.effective(arguments, job(plan))
