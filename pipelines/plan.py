"""What ``--plan`` prints: the options in force, the stages of the graph, what shuffles move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import common_urns
from apache_beam.runners.portability.fn_api_runner import translations

from pipelines import evaluation
from pipelines.evaluation import Plan
from pipelines.secrets import without_secrets
from pipelines.text import printable_lines
from runners.choice import Effective
from transforms import estimates

_SHUFFLES = frozenset(
    [common_urns.primitives.GROUP_BY_KEY.urn, common_urns.composites.RESHUFFLE.urn]
)
_RUNNERS_OWN = {common_urns.primitives.IMPULSE.urn, common_urns.primitives.FLATTEN.urn}


@dataclass(frozen=True)
class Stage:
    """Steps that run together, without anything sent in between; or one shuffle."""

    steps: tuple[str, ...]
    is_shuffle: bool


def stages(plan: Plan) -> list[Stage]:
    """The stages of the job in the order in which they can run, as portable runners fuse them:
    always the same, as near as may be to that of the graph's definition."""
    root = beam.Pipeline("FnApiRunner", PipelineOptions([]))
    evaluation.define_pipeline(root, plan)
    graph = root.to_runner_api()
    defined = _places(graph.components.transforms, graph.root_transform_ids)

    def place(name: str) -> int:
        # The parts into which a combiner is taken apart have longer names.
        while name not in defined and "/" in name:
            name = name.rpartition("/")[0]
        return defined.get(name, len(defined))

    def rank(step: Any) -> tuple[int, bool, str]:
        name = step.unique_name
        return place(name), name.endswith("/ExtractOutputs"), name

    def in_order(stages: Iterable[translations.Stage], _: object) -> list[translations.Stage]:
        for stage in stages:
            stage.transforms.sort(key=rank)
        return sorted(stages, key=lambda stage: min(map(rank, stage.transforms)))

    _, fused = translations.create_and_optimize_stages(
        graph,
        [
            translations.annotate_downstream_side_inputs,
            translations.fix_side_input_pcoll_coders,
            translations.lift_combiners,
            translations.greedily_fuse,
            in_order,
            translations.sort_stages,
        ],
        _SHUFFLES | _RUNNERS_OWN,
    )
    found = []
    for stage in fused:
        steps = [
            t
            for t in stage.transforms
            if not (_is_between(t.unique_name) or t.spec.urn in _RUNNERS_OWN)
        ]
        if steps:
            is_shuffle = any(t.spec.urn in _SHUFFLES for t in steps)
            found.append(Stage(tuple(t.unique_name for t in steps), is_shuffle))
    return found


def _places(transforms: Mapping[str, Any], roots: Iterable[str]) -> dict[str, int]:
    """Of every step by its name, in the order of definition."""
    found: dict[str, int] = {}
    waiting = list(roots)[::-1]
    while waiting:
        step = transforms[waiting.pop()]
        found.setdefault(step.unique_name, len(found))
        waiting += list(step.subtransforms)[::-1]
    return found


def _is_between(name: str) -> bool:
    """Whether a step is the runner's own: what a stage reads from and writes to."""
    return name.endswith(("/Read", "/Write")) and "pcollection" in name.lower()


def described(plan: Plan, where: Effective) -> str:
    """All that can be said of a run before it runs."""
    return printable_lines("\n".join(_lines(plan, where))) + "\n"


def _lines(plan: Plan, where: Effective) -> Iterator[str]:
    yield "options"
    rows = [(f"--runner={where.beam}", f"{where.runner.name}")]
    rows += [(default.option, default.reason) for default in where.added]
    rows += [(option, "given") for option in _in_one(without_secrets(where.given))]
    width = max(len(option) for option, _ in rows)
    yield from (f"  {option:<{width}}  {reason}" for option, reason in rows)
    inputs = plan.inputs
    yield ""
    yield "input"
    for table in ("hypotheses", "references"):
        count = sum(file.table == table for file in inputs.files)
        yield f"  {table:<11} {inputs.rows(table):>13,} rows in {_counted(count, 'file')}"
    yield f"  {_bytes(inputs.bytes)} uncompressed in the columns that are read"
    buckets = _counted(inputs.buckets, "bucket")
    yield f"  {_counted(inputs.partitions, 'partition')}, {buckets} of n-grams"
    yield f"  a worker process needs about {_bytes(where.runner.memory(evaluation.job(plan)))}"
    yield ""
    yield "stages; -> is a shuffle, with what it moves at most (estimated from footers)"
    guesses = evaluation.shuffles(plan)
    for stage in stages(plan):
        if stage.is_shuffle:
            yield f"    -> {_shuffle(stage.steps[0], guesses)}"
        else:
            yield "  " + ", ".join(stage.steps)
    total = sum(guess.bytes for guess in guesses.values())
    yield ""
    yield f"about {_bytes(total)} in all shuffles; elements of at most about " + _bytes(
        evaluation.job(plan).largest_element
    )


def _in_one(arguments: Iterable[str]) -> list[str]:
    """Every option with its values."""
    found: list[str] = []
    for argument in arguments:
        if found and not argument.startswith("--"):
            found[-1] += f" {argument}"
        else:
            found.append(argument)
    return found


def _shuffle(name: str, guesses: Mapping[str, estimates.Shuffle]) -> str:
    label = name.removesuffix("/Group")
    guess = guesses.get(label)
    if guess is None:
        return f"{label:<32} small"
    return f"{label:<32} {_bytes(guess.bytes)} in {_counted(guess.elements, 'element')}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
