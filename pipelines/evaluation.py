"""The graph of ``evaluate`` and its run. No arithmetic here: transforms/ and scoring/ have it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

import runners.direct
from pipelines import output as folders
from pipelines import progress
from runners import choice
from runners.base import Job
from schemas.configuration import Evaluation
from schemas.errors import ConfigurationError, OutputError
from scoring import hashing
from transforms import (
    accounts,
    create,
    estimates,
    files,
    frequencies,
    read,
    scores,
    slices,
    sources,
    tokens,
    write,
)
from transforms.packets import Keyed, Packet
from transforms.sources import Inputs


@dataclass(frozen=True)
class Plan:
    """A configuration that has been checked against its inputs: all that the graph is made of."""

    config: Evaluation
    inputs: Inputs
    text: tokens.Text
    measures: scores.Measures
    signatures: tuple[tuple[str, str], ...]
    saved: frequencies.SavedTable | None
    save_to: frequencies.SavedTable | None


def plan(config: Evaluation) -> Plan:
    """Check everything that can be known before the job starts.

    Raises ConfigurationError, InputError.
    """
    text = tokens.Text(
        config.tokenizer, config.missing, config.slices, config.bootstrap.resample_by
    )
    try:
        recipe = text.recipe().signature()
    except ValueError as error:
        raise ConfigurationError("tokenizer", config.tokenizer, str(error)) from error
    measures = scores.Measures(
        metrics=tuple((name, _parameters(config, name)) for name in config.metrics),
        replicates=config.bootstrap.replicates,
        seed=config.bootstrap.seed,
        confidence=config.bootstrap.confidence,
        own_units=config.bootstrap.resample_by is None,
    )
    try:
        layout = measures.layout()
    except ValueError as error:
        raise ConfigurationError("metrics", list(config.metrics), str(error)) from error
    order = measures.document_order
    saved = save_to = None
    if config.document_frequencies:
        saved = frequencies.SavedTable.load(config.document_frequencies, order, recipe)
    if config.save_document_frequencies:
        if not order:
            raise ConfigurationError(
                "save_document_frequencies",
                config.save_document_frequencies,
                "a metric that uses document frequencies, such as cider_d, in --metrics",
            )
        path = files.absolute(config.save_document_frequencies)
        if held := files.listing(path):
            raise OutputError(
                f"--save_document_frequencies {path}: the folder already holds {held[0]!r}.\n"
                "Expected a new or empty folder, so that two tables never mix. Name another one."
            )
        save_to = frequencies.SavedTable(path, order, 0, recipe, "", ())
    signatures = []
    for metric in layout.metrics:
        parts = {"metric": metric.name, **metric.signature(), "text": recipe}
        if metric.document_order:
            parts["df"] = saved.fingerprint if saved else write.OWN_TABLE
        parts["missing"] = "skip" if config.missing == "skip" else "empty"
        if config.bootstrap.replicates:
            bootstrap = config.bootstrap
            unit = bootstrap.resample_by or "example"
            parts["ci"] = (
                f"poisson-percentile,B={bootstrap.replicates},level={bootstrap.confidence:g},"
                f"seed={bootstrap.seed},unit={unit},{hashing.HASH_VERSION}"
            )
        parts["liangchi"] = installed("liangchi")
        signatures.append((metric.name, "|".join(f"{k}:{v}" for k, v in parts.items())))
    return Plan(config, sources.inspect(config), text, measures, tuple(signatures), saved, save_to)


def _parameters(config: Evaluation, metric: str) -> tuple[tuple[str, object], ...]:
    if metric == "bleu":
        return (
            ("weights", config.weights),
            ("smoothing", config.smoothing),
            ("smoothing_value", config.smoothing_value),
        )
    return ()


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
            | "Systems" >> create.Combine(tokens.SystemsFn(), [], list[str])
        )
    systems = beam.pvalue.AsSingleton(named)
    values = rows[slices.VALUES] | "SliceValues" >> slices.CommonValues()
    joined = rows[read.ROWS] | "Join" >> tokens.JoinAndTokenise(
        plan.text, systems, beam.pvalue.AsSingleton(values)
    )
    results: list[beam.PCollection[Keyed]] = []
    scored = joined[tokens.TOKENS]
    order = plan.measures.document_order
    if order:
        frequent = joined[tokens.TOKENS] | "DocumentFrequencies" >> (
            frequencies.DocumentFrequencies(
                order, inputs.buckets, plan.saved, plan.save_to.path if plan.save_to else None
            )
        )
        results.append(frequent[frequencies.TABLE])
        scored = (scored, frequent[frequencies.ANSWER]) | "WithFrequencies" >> beam.Flatten()
    statistics = scored | "Segments" >> scores.ScoreSegments(plan.measures, grouped=order > 0)
    parts = [
        statistics
        | "Sums" >> scores.SumBySlice(plan.measures, config.replicate_groups)
        | "Blocks" >> beam.Map(scores.with_block).with_output_types(Keyed)
    ]
    if not plan.measures.own_units:
        parts.append(statistics | "Units" >> scores.CountUnits(inputs.partitions))
    results += [
        parts | "Parts" >> beam.Flatten() | "Finish" >> scores.FinishSlices(plan.measures, systems),
        statistics
        | "WriteSegments" >> write.WriteSegments(plan.measures, output, inputs.partitions),
        (
            rows[read.REFUSED],
            joined[accounts.ACCOUNT],
            values | "OtherValues" >> beam.Map(slices.account_of).with_output_types(Keyed),
            root | "BadFiles" >> create.Create(_bad_files(inputs), Keyed),
        )
        | "Accounts" >> beam.Flatten()
        | "WriteAccounts" >> write.WriteAccounts(output, inputs.partitions),
        root | "Start" >> create.Create([(0, Packet(write.START))], Keyed),
    ]
    run = write.Run(
        output=output,
        run_id=config.run_id,
        signatures=plan.signatures,
        confidence=config.bootstrap.confidence,
        replicates=config.bootstrap.replicates,
        slices=config.slices,
        manifest=json.dumps(manifest(plan)),
        frozen=plan.saved,
        saved=plan.save_to,
    )
    return (
        results
        | "Results" >> beam.Flatten()
        | "WriteResults" >> write.WriteResults(run, plan.measures, systems)
    )


def _rows(plan: Plan) -> read.Rows:
    config = plan.config
    return read.Rows(
        plan.inputs.partitions,
        plan.text.reference_columns,
        config.max_characters,
        config.slices,
        config.null_text,
        config.skip_bad_files,
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
    return {
        "configuration": asdict(plan.config),
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
                name: installed(name)
                for name in ("liangchi", "apache-beam", "numpy", "pyarrow", "jieba", "rjieba")
            },
            "hash": hashing.HASH_VERSION,
        },
    }


def installed(distribution: str) -> str:
    """Its version, or 'not installed'."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def claim(plan: Plan, beam_arguments: list[str], overwrite: bool = False) -> beam.Pipeline:
    """Take the output folder; an empty pipeline for the job. Raises OutputError,
    ConfigurationError."""
    runners.direct.prepare()
    options = PipelineOptions(effective(plan, beam_arguments).arguments)
    try:
        root = beam.Pipeline(options=options)
    except (ValueError, ImportError) as error:
        # A runner that is unknown, lacks options, or whose part of Beam is not installed.
        name = options.view_as(StandardOptions).runner
        raise ConfigurationError("runner", name, f"what Beam can run: {error}") from error
    try:
        check_output(plan)
        folders.claim(plan.config.output, overwrite)
    except BaseException:
        # Beam removes it only when the pipeline has run.
        shutil.rmtree(root.local_tempdir, ignore_errors=True)
        raise
    return root


def run(plan: Plan, root: beam.Pipeline) -> None:
    """Run the job, wait for it. Raises what a worker raises, or RuntimeError."""
    with root:
        define_pipeline(root, plan)


def tally(plan: Plan) -> progress.Tally:
    """What there is to do, for who watches."""
    return progress.Tally(
        rows=sum(file.rows for file in plan.inputs.files),
        buckets=plan.inputs.buckets if plan.measures.document_order else 0,
        passes=len(plan.measures.blocks()),
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
    return Job(
        input_bytes=plan.inputs.bytes,
        partitions=plan.inputs.partitions,
        inputs=tuple(file.path for file in plan.inputs.files),
        outputs=tuple(files.absolute(path) for path in (config.output, saved) if path),
        largest_element=max(shuffle.largest for shuffle in shuffles(plan).values()),
    )


def shuffles(plan: Plan) -> dict[str, estimates.Shuffle]:
    """What will pass between the stages, by the name of the shuffle."""
    config = plan.config
    return estimates.shuffles(
        plan.inputs, plan.measures, config.systems, config.slices, config.replicate_groups
    )


def effective(plan: Plan, arguments: list[str]) -> choice.Effective:
    """The Beam options in force, and warnings. Raises ConfigurationError for a call that cannot
    work."""
    return choice.effective(arguments, job(plan))
