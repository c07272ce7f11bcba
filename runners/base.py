"""What a runner is to us: names, defaults with their reasons, checks before submission."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from schemas.errors import ConfigurationError

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "::1")

ELEMENT_BYTES = 8_000_000
"""The largest element that should pass between two stages: above 10 MB Flink crawls or fails."""

TASKS_OF_A_SLOT = 32
"""Partitions a slot of a cluster should have at least: keys go by hash, so few are uneven."""


@dataclass(frozen=True)
class Job:
    """What a runner must know of a job before it is submitted.

    input_bytes: uncompressed, of the columns read. partitions: how many tasks most stages have.
    inputs, outputs: files and folders, absolute. largest_element, slice_sums, shuffled: bytes,
    estimated, of one element, of all draws of one slice, and of all that passes between stages.
    """

    input_bytes: int
    partitions: int
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    largest_element: int = 0
    slice_sums: int = 0
    shuffled: int = 0

    @property
    def local_paths(self) -> list[str]:
        """Outputs and inputs that lie on this machine's disks."""
        return [path for path in (*self.outputs, *self.inputs) if "://" not in path]


@dataclass(frozen=True)
class Default:
    """An option that we add, ``--name=value``, and why."""

    option: str
    reason: str


class Given:
    """The Beam options of a call, as they were given."""

    def __init__(self, arguments: Iterable[str]) -> None:
        self._values: dict[str, list[str]] = {}
        name = None
        for argument in arguments:
            if argument.startswith("--"):
                name, equals, value = argument[2:].partition("=")
                self._values.setdefault(name, []).extend([value] if equals else [])
            elif name is not None:
                self._values[name].append(argument)

    def has(self, *names: str) -> bool:
        """Whether one of the options is given."""
        return any(name in self._values for name in names)

    def value(self, *names: str) -> str | None:
        """What the first of the options that is given has as its last value; '' if it has none."""
        for name in names:
            if name in self._values:
                return (self._values[name] or [""])[-1]
        return None

    def missing(self, defaults: Iterable[Default]) -> list[Default]:
        """Those of the defaults that the user does not say otherwise."""
        return [d for d in defaults if not self.has(d.option[2:].split("=")[0])]


def _no_defaults(given: Given, job: Job) -> list[Default]:
    return []


def _no_check(given: Given, job: Job) -> list[str]:
    return []


@dataclass(frozen=True)
class Runner:
    """Where a job runs.

    beam: Beam's name of it for a call. names: what a user may say. local: whether it all happens
    below this process. defaults: options to add to the user's, which win. check: raises
    ConfigurationError for a call that cannot work; returns warnings. memory: bytes that one worker
    process needs, about.
    """

    name: str
    names: tuple[str, ...]
    local: bool
    beam: Callable[[Given], str]
    memory: Callable[[Job], int]
    defaults: Callable[[Given, Job], list[Default]] = field(default=_no_defaults)
    check: Callable[[Given, Job], list[str]] = field(default=_no_check)


# What a worker holds (docs/runners.md): the process with Beam, pyarrow and a dictionary, and for
# each thread a task's rows as they are read, as a partition, and as they are sent.
PROCESS_BYTES = 350_000_000
_TASK_BYTES = 200_000_000

# The sums of a slice as they come, as draws in a row, and as scores.
_TIMES_SUMS = 3


def worker_memory(job: Job, threads: int) -> int:
    """About how many bytes a worker process of a cluster needs, whatever the size of the input.

    Only draws make it more: all of one slice are looked at together.
    """
    return PROCESS_BYTES + max(threads * _TASK_BYTES, _TIMES_SUMS * job.slice_sums)


def element_warning(job: Job) -> list[str]:
    """What to say if elements may become too large for a cluster."""
    if job.largest_element <= ELEMENT_BYTES:
        return []
    return [
        f"elements of up to about {job.largest_element / 1e6:.0f} MB will pass between stages; "
        f"above {ELEMENT_BYTES / 1e6:.0f} MB clusters slow down or fail. Score fewer systems or "
        "metrics in one run, or make more --partitions (--plan shows which elements)."
    ]


WATCHED = Default(
    "--job_server_timeout=2592000", "a job is watched a month; Beam gives up at 300 s"
)
"""Beam 2.77 asks for the state of a job with the time limit of a single question, if the service
knows the job before it runs, as Python's and Prism do: a run of five minutes ended as failed."""


def need(given: Given, name: str, expected: str) -> None:
    """Raise ConfigurationError unless the option is given with a value."""
    if not given.value(name):
        raise ConfigurationError(name, given.value(name), expected)


def host_of(address: str) -> str:
    """The host of host:port."""
    return address.rpartition("://")[2].rpartition(":")[0] or address


def is_here(address: str) -> bool:
    """Whether an address is one of this machine's own."""
    return host_of(address) in LOCAL_HOSTS


def no_session(given: Given) -> list[Default]:
    """So that workers get nothing of the process that submits."""
    if given.has("save_main_session"):
        return []
    reason = "liangchi is installed on the workers: nothing of this process is sent"
    return given.missing([Default("--no_save_main_session", reason)])


def pool_defaults(given: Given) -> Sequence[Default]:
    """The environment for workers that are pools beside what runs the job."""
    if given.has("environment_type"):
        return no_session(given)
    return [
        Default("--environment_type=EXTERNAL", "workers of our image; Beam's default is Docker"),
        *given.missing(
            [
                Default(
                    "--environment_config=localhost:50000",
                    "one pool beside every TaskManager; two that share one stop each other's",
                )
            ]
        ),
        *no_session(given),
    ]
