"""The graph of ``evaluate`` and its run. No arithmetic here: transforms/ and scoring/ have it."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

import runners.direct
from schemas.configuration import Evaluation
from schemas.errors import ConfigurationError, OutputError
from scoring import hashing
from transforms import accounts, files, frequencies, read, scores, sources, tokens, write
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
        save_to = frequencies.SavedTable(path, order, 0, recipe, "", ())
    signatures = []
    for metric in layout.metrics:
        parts = {"metric": metric.name, **metric.signature(), "text": recipe}
        if metric.document_order:
            parts["df"] = saved.fingerprint if saved else "{table}"
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
        | "Splits" >> beam.Create(inputs.splits(), reshuffle=False)
        | "Read"
        >> (
            read.ReadRows(
                read.Rows(inputs.partitions, plan.text.reference_columns, config.max_characters)
            )
        )
    )
    if config.systems:
        named = root | "Systems" >> beam.Create([list(config.systems)], reshuffle=False)
    else:
        named = (
            rows[read.ROWS]
            | "SystemNames" >> beam.Map(tokens.systems_of)
            | "Systems" >> beam.CombineGlobally(tokens.SystemsFn())
        )
    systems = beam.pvalue.AsSingleton(named)
    joined = rows[read.ROWS] | "Join" >> tokens.JoinAndTokenise(plan.text, systems)
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
        | "WriteSegments" >> write.WriteSegments(plan.measures, output, inputs.partitions, systems),
        (rows[read.REFUSED], joined[accounts.ACCOUNT])
        | "Accounts" >> beam.Flatten()
        | "WriteAccounts" >> write.WriteAccounts(output, inputs.partitions),
        root
        | "Start"
        >> beam.Create([(0, Packet(write.START))], reshuffle=False).with_output_types(Keyed),
    ]
    run = write.Run(
        output=output,
        run_id=config.run_id,
        signatures=plan.signatures,
        confidence=config.bootstrap.confidence,
        replicates=config.bootstrap.replicates,
        slices=config.slices,
        manifest=json.dumps(manifest(plan)),
        saved=plan.save_to,
    )
    return (
        results
        | "Results" >> beam.Flatten()
        | "WriteResults" >> write.WriteResults(run, plan.measures, systems)
    )


def manifest(plan: Plan) -> dict[str, Any]:
    """What the manifest says of the run before it ran."""
    return {
        "configuration": asdict(plan.config),
        "inputs": [
            {"table": f.table, "path": f.path, "rows": f.rows, "bytes": f.bytes}
            for f in plan.inputs.files
        ],
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


def claim(output: str) -> None:
    """Take a folder for a run: it must be new or empty. Raises OutputError."""
    folder = files.absolute(output)
    try:
        held = files.listing(folder)
        if held:
            raise OutputError(
                f"--output {output}: the folder already holds {held[0]!r}"
                f"{f' and {len(held) - 1} more' if len(held) > 1 else ''}.\n"
                "Expected a new or empty folder, so that runs never mix. Name another one."
            )
        marker = {"product": "liangchi", "state": f"a run is complete if {write.MANIFEST} exists"}
        files.write_bytes(files.join(folder, write.MARKER), json.dumps(marker).encode())
    except OSError as error:
        raise OutputError(f"--output {output}: cannot be written: {error}") from error


def run(plan: Plan, beam_arguments: list[str]) -> None:
    """Claim the output folder, run the job, wait for it. Raises OutputError, RuntimeError."""
    options = PipelineOptions(_effective(plan, beam_arguments))
    claim(plan.config.output)
    with beam.Pipeline(options=options) as root:
        define_pipeline(root, plan)


def _effective(plan: Plan, arguments: list[str]) -> list[str]:
    runner = PipelineOptions(arguments).view_as(StandardOptions).runner
    if runner is None or runner in runners.direct.NAMES:
        local = runners.direct.options(arguments, plan.inputs.bytes)
        return [*arguments, *local, "--runner=FnApiRunner"]
    return arguments
