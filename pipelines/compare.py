"""``liangchi compare RUN_A RUN_B``: is the second run better than the first? By the statistics of
their segments, in a job of its own; the text is not read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import apache_beam as beam

from pipelines import evaluation, measured, output, past, report
from pipelines.compare_call import Call
from runners import choice
from runners.base import Job
from schemas.errors import ConfigurationError, InputError
from scoring.comparisons import NOT_COMPARED, Comparisons
from transforms import accounts, broadcast, create, files, folder, saved, tokens, write
from transforms.packets import Keyed
from transforms.scores import STATISTICS, Measures, ScoreSlices

_COUNTED = "references.fingerprint"


@dataclass(frozen=True)
class _Run:
    """A finished run, as its manifest has it."""

    path: str
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rsplit("/", 1)[-1]

    @property
    def systems(self) -> list[str]:
        return [name for name in self.manifest["systems"] if name not in NOT_COMPARED]

    @property
    def signatures(self) -> dict[str, str]:
        found: dict[str, str] = self.manifest["signatures"]
        return found

    def segments(self) -> tuple[str, ...]:
        """Where its segments are, wherever the folder was moved to."""
        names = (str(entry["path"]).split("/")[-2:] for entry in self.manifest["files"])
        own = [name for parent, name in names if parent == folder.SEGMENTS]
        return tuple(files.join(files.absolute(self.path), folder.SEGMENTS, name) for name in own)


def _load(path: str) -> _Run:
    manifest = report.load(path).manifest
    if "systems" not in manifest or "compared" in manifest:
        raise InputError(
            f"{path}: is no run of liangchi evaluate.\nExpected its --output folder, with segments."
        )
    return _Run(path, manifest)


def paired(pairs: Sequence[str], runs: Sequence[_Run]) -> list[tuple[str, str]]:
    """(system of the first, system of the second). Raises ConfigurationError, InputError."""
    one, other = (run.systems for run in runs)
    if not pairs:
        both = [(name, name) for name in one if name in other]
        if not both:
            raise InputError(
                f"{runs[0].path} and {runs[1].path}: no system of one name is in both.\n"
                f"The first has {', '.join(one)}, the second {', '.join(other)}. "
                "Name pairs by --pair A:B."
            )
        return both
    found = []
    for pair in pairs:
        # A name may hold colons itself.
        cuts = [(pair[:i], pair[i + 1 :]) for i, c in enumerate(pair) if c == ":"]
        fitting = [(a, b) for a, b in cuts if a in one and b in other]
        if len(fitting) != 1:
            expected = f"A:B, A one of {', '.join(one)}; B one of {', '.join(other)}"
            raise ConfigurationError("pair", pair, expected)
        found += fitting
    return list(dict.fromkeys(found))


def differing(runs: Sequence[_Run], metrics: Sequence[str]) -> list[str]:
    """What the two runs were not measured alike by, a line each."""
    one, other = runs
    lines = []
    for metric in metrics:
        parts = [
            dict(part.partition(":")[::2] for part in run.signatures[metric].split("|"))
            for run in runs
        ]
        for key in dict.fromkeys([*parts[0], *parts[1]]):
            if parts[0].get(key) != parts[1].get(key):
                lines.append(
                    f"{metric}: {key} is {parts[0].get(key, 'not there')} in {one.name}, "
                    f"{parts[1].get(key, 'not there')} in {other.name}"
                )
    prints = [run.manifest["counts"].get(_COUNTED) for run in runs]
    if prints[0] != prints[1]:
        lines.append(f"references: their fingerprint is {prints[0]} and {prints[1]}")
    return lines


@dataclass(frozen=True)
class Planned:
    """What the job is made of. names: of the systems, in the order of their places."""

    names: tuple[str, ...]
    reader: saved.ReadRuns
    measures: Measures
    run: write.Run
    bytes: int
    inputs: tuple[str, ...]
    different: tuple[str, ...]


def plan(call: Call) -> Planned:
    """Check all that can be known before the job. Raises InputError, ConfigurationError."""
    runs = (_load(call.runs[0]), _load(call.runs[1]))
    metrics = [m for m in runs[0].signatures if m in runs[1].signatures]
    if not metrics:
        raise InputError(
            f"{runs[0].path} and {runs[1].path}: no metric is in both.\n"
            f"The first has {', '.join(runs[0].signatures)}, the second "
            f"{', '.join(runs[1].signatures)}."
        )
    different = differing(runs, metrics)
    if different and not call.allow_different:
        raise InputError(
            f"{runs[0].path} and {runs[1].path} were not measured alike:\n"
            + "\n".join(different[:12])
            + "\nScores that mean different things are not compared: measure both alike, or take "
            "--allow_different,\nwhich compares them on the examples that both have."
        )
    configs = [past.configuration(run.path, run.manifest) for run in runs]
    marks = [run.name for run in runs] if runs[0].name != runs[1].name else ["A", "B"]
    pairs = paired(call.pairs, runs)
    first = list(dict.fromkeys(a for a, _ in pairs))
    second = list(dict.fromkeys(b for _, b in pairs))
    places = {(0, name): i for i, name in enumerate(first)}
    places |= {(1, name): i for i, name in enumerate(second, len(first))}
    names = tuple(f"{name}@{marks[run]}" for run, name in places)
    slices = tuple(name for name in configs[0].slices if name in configs[1].slices)
    measures = replace(
        measured.only(measured.measures(configs[0]), metrics),
        ceiling=False,
        comparisons=Comparisons(
            named=tuple((names[places[1, b]], names[places[0, a]]) for a, b in pairs),
            tests=call.comparison.tests,
            trials=call.comparison.trials,
            alpha=call.comparison.alpha,
            common=any(config.missing == "skip" for config in configs),
            difference=call.comparison.difference,
        ),
        family=call.comparison.family,
    )
    read = tuple(
        saved.SavedRun(
            run.path,
            run.segments(),
            tuple((name, (place,)) for (of, name), place in places.items() if of == number),
        )
        for number, run in enumerate(runs)
    )
    partitions = max(int(run.manifest["partitions"]) for run in runs)
    signatures = [
        (m, runs[0].signatures[m])
        if runs[0].signatures[m] == runs[1].signatures[m]
        else (m, f"{runs[0].signatures[m]} <> {runs[1].signatures[m]}")
        for m in metrics
    ]
    manifest = {
        "compared": [
            {"run": mark, "path": run.path, "run_id": run.manifest["run_id"]}
            for mark, run in zip(marks, runs)
        ],
        "different": different,
        "configuration": {"comparison": asdict(call.comparison), "pairs": pairs},
        "partitions": partitions,
    }
    run = write.Run(
        output=files.absolute(call.output),
        run_id=None,
        signatures=tuple(signatures),
        compared=measured.compared(call.comparison, configs[0].bootstrap.seed),
        confidence=configs[0].bootstrap.confidence,
        replicates=configs[0].bootstrap.replicates,
        slices=slices,
        manifest=json.dumps(manifest),
        token=uuid.uuid4().hex,
    )
    return Planned(
        names,
        saved.ReadRuns(read, measures, slices, names, partitions),
        measures,
        run,
        sum(entry["bytes"] for r in runs for entry in r.manifest["files"]),
        tuple(path for r in read for path in (r.path, *r.files)),
        tuple(different),
    )


def effective(planned: Planned, arguments: list[str]) -> choice.Effective:
    """The Beam options in force. Raises ConfigurationError."""
    job = Job(
        input_bytes=planned.bytes,
        partitions=planned.reader.partitions,
        inputs=planned.inputs,
        outputs=(planned.run.output,),
        largest_element=0,
    )
    return choice.effective(arguments, job)


def claim(planned: Planned, call: Call) -> beam.Pipeline:
    """Take the output folder; an empty pipeline for the job. Raises OutputError,
    ConfigurationError."""

    def take() -> None:
        output.check_apart("output", call.output, planned.inputs)
        output.claim(call.output, call.overwrite, planned.run.token)

    return evaluation.open_pipeline(effective(planned, call.beam).arguments, take)


def run(planned: Planned, root: beam.Pipeline) -> None:
    """Run the job, wait for it. Raises what a worker raises, or RuntimeError."""
    with evaluation.spilling(root), root:
        define_pipeline(root, planned)


def define_pipeline(root: beam.Pipeline, planned: Planned) -> beam.PCollection[Keyed]:
    """The graph of a comparison; returns the manifest that it writes last."""
    systems = broadcast.to_packet(tokens.SYSTEMS, list(planned.names))
    joined = root | "Runs" >> planned.reader
    partitions = planned.reader.partitions
    results = [
        joined[STATISTICS] | "Slices" >> ScoreSlices(planned.measures, 1, partitions),
        joined[accounts.ACCOUNT]
        | "WriteAccounts" >> write.WriteAccounts(planned.run.output, partitions),
        root | "Systems" >> create.Create([(0, systems)], Keyed),
    ]
    return (
        results
        | "Results" >> beam.Flatten()
        | "WriteResults" >> write.WriteResults(planned.run, planned.measures)
    )
