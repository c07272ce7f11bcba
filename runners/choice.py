"""Which runner a call means, and the Beam options that are in force."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runners import dataflow, direct, flink, portable, prism
from runners.base import Default, Given, Job, Runner, worker_memory
from schemas.errors import ConfigurationError

RUNNERS = (direct.RUNNER, prism.RUNNER, flink.RUNNER, dataflow.RUNNER, portable.RUNNER)

# Trials of Beam 2.77: it merges tagged outputs, and finish_bundle's are lost.
_WRONG = ("DaskRunner", "dask")


def chosen(arguments: Sequence[str]) -> Runner:
    """The runner of these Beam options; one that is not ours is run as Beam does, without advice.

    Raises ConfigurationError for one that is known to compute wrong results.
    """
    name = Given(arguments).value("runner")
    if name is None:
        return direct.RUNNER
    for runner in RUNNERS:
        # Beam takes its names in any case, and with the module before them.
        if name.rpartition(".")[2].lower() in map(str.lower, runner.names):
            return runner
    known = [n for runner in RUNNERS for n in runner.names]
    if name in _WRONG:
        raise ConfigurationError(
            "runner", name, "another one: on Beam's Dask runner results are silently wrong"
        )
    if "." not in name and not name.endswith("Runner"):
        close = difflib.get_close_matches(name, known, 1, 0.6)
        hint = f". Did you mean {close[0]}?" if close else ""
        ours = ", ".join(runner.name for runner in RUNNERS)
        raise ConfigurationError("runner", name, f"one of {ours}, or a runner of Beam{hint}")
    return Runner(
        name=name,
        names=(name,),
        local=False,
        beam=_always(name),
        memory=lambda job: worker_memory(job, 1),
    )


def _always(name: str) -> Callable[[Given], str]:
    return lambda given: name


@dataclass(frozen=True)
class Effective:
    """What Beam is called with.

    given: the user's options but --runner. added: ours. warnings: of the runner's check.
    """

    runner: Runner
    beam: str
    given: tuple[str, ...]
    added: tuple[Default, ...]
    warnings: tuple[str, ...]

    @property
    def arguments(self) -> list[str]:
        """All options. The user's come last: where Beam takes the last, theirs win."""
        return [f"--runner={self.beam}", *(d.option for d in self.added), *self.given]

    @property
    def only_described(self) -> str | None:
        """Where Beam only writes what Dataflow is to run, as in the launcher of a flex template,
        which then starts the job itself; None if the job is run."""
        return Given(self.given).value("template_location") or None


def effective(arguments: Sequence[str], job: Job) -> Effective:
    """Choose, check, and add what is recommended. Raises ConfigurationError."""
    runner, given = chosen(arguments), Given(arguments)
    warnings = runner.check(given, job)
    return Effective(
        runner,
        runner.beam(given),
        tuple(_without_runner(arguments)),
        tuple(runner.defaults(given, job)),
        tuple(warnings),
    )


def _without_runner(arguments: Sequence[str]) -> list[str]:
    kept = []
    skip = False
    for argument in arguments:
        if skip and not argument.startswith("--"):
            skip = False
            continue
        skip = argument == "--runner"
        if not skip and not argument.startswith("--runner="):
            kept.append(argument)
    return kept
