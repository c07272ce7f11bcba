"""The local runner: Beam's FnApiRunner, in this process, with a thread for every core."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence

import pyarrow as pa

from runners.base import Default, Given, Job, Runner
from schemas.errors import ConfigurationError

NAMES = ("direct", "DirectRunner", "FnApiRunner")
"""What a user may call it. Beam's own DirectRunner would first try to download another runner."""

# Above two or three cores threads wait for Python's global lock; from this size on, worker
# processes earn back the seconds and the copies that they cost.
_PROCESSES_ABOVE_BYTES = 200_000_000
_PROCESSES_ABOVE_CORES = 3

# A thread that comes back from numpy waits for the lock until another gives it up: 5 ms by
# default, as long as several kernels take. With 0.1 ms two threads are 1.5 times one.
_SWITCH_INTERVAL = 0.0001


def options(arguments: Sequence[str], input_bytes: int, tasks: int) -> list[str]:
    """Beam options to add to the user's, which win.

    input_bytes: uncompressed, of the columns read. tasks: how many partitions there are.
    In memory with a thread for every core (never more than tasks): the data pass from stage to
    stage within one process. On more than three cores and for large inputs a process for each.
    """
    given = {argument.split("=")[0] for argument in arguments}
    if given & {"--direct_running_mode", "--direct_num_workers"}:
        return []
    workers = min(_cores(), tasks)
    large = input_bytes > _PROCESSES_ABOVE_BYTES and workers > _PROCESSES_ABOVE_CORES
    mode = "multi_processing" if large else "in_memory"
    return [f"--direct_running_mode={mode}", f"--direct_num_workers={workers}"]


# Arrays of a few MB come and go by the thousand. glibc gives each back to the system at once and
# gets fresh pages, zeroed, for the next; kept instead, with Arrow's from the same place, the whole
# run takes 6% less. Numbers of malloc.h and bytes.
_MALLOC = {
    -3: 32 << 20,  # M_MMAP_THRESHOLD, the largest that it takes
    -1: 256 << 20,  # M_TRIM_THRESHOLD
    -2: 16 << 20,  # M_TOP_PAD
}


def prepare() -> None:
    """Set this process up to run a job."""
    sys.setswitchinterval(_SWITCH_INTERVAL)
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for parameter, value in _MALLOC.items():
            libc.mallopt(parameter, value)
        pa.set_memory_pool(pa.system_memory_pool())


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Peak of what a local run holds, measured (docs/performance.md): everything that passes between
# two stages sits in memory at once, some of it three times while the runner groups it.
_BASE_BYTES = 350_000_000
_BYTES_OF_AN_INPUT_BYTE = 18.5
_TIMES_SUMS = 5


def memory_needed(job: Job) -> int:
    """About how much memory a local run needs."""
    passing = _BYTES_OF_AN_INPUT_BYTE * job.input_bytes + _TIMES_SUMS * job.slice_sums
    return round(_BASE_BYTES + passing)


def memory_warning(job: Job) -> str:
    """What to say before a run that this machine may not hold; empty if it should."""
    needed, free = memory_needed(job), _memory_free()
    if free is None or needed <= free:
        return ""
    return (
        f"a local run of this needs about {needed / 1e9:.1f} GB of memory, but "
        f"{free / 1e9:.1f} GB are free here: it may be ended by the system.\n"
        "The local runner holds what passes between stages; on a cluster (--runner flink, "
        "--runner dataflow) a worker holds one partition at a time."
    )


def _memory_free() -> int | None:
    """Bytes that new processes can take without swapping; None where that is not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _defaults(given: Given, job: Job) -> list[Default]:
    if given.has("direct_running_mode", "direct_num_workers"):
        return []
    mode, workers = options([], job.input_bytes, job.partitions)
    pays = "large input, many cores: they pay" if "processing" in mode else "no copies in between"
    return [Default(mode, pays), Default(workers, "one a core, never more than partitions")]


def _check(given: Given, job: Job) -> list[str]:
    if given.value("direct_running_mode") == "multi_threading":
        # Beam 2.77: a thread sends what is written so far every second, in the midst of an element
        # too; whoever reads it then reads nonsense (seen twice in our tests).
        raise ConfigurationError(
            "direct_running_mode",
            "multi_threading",
            "in_memory, which has a thread for each of --direct_num_workers here, or "
            "multi_processing: in Beam's multi_threading data can be cut in two",
        )
    warning = memory_warning(job)
    return [warning] if warning else []


RUNNER = Runner(
    name="direct",
    names=NAMES,
    local=True,
    beam=lambda given: "FnApiRunner",
    memory=memory_needed,
    defaults=_defaults,
    check=_check,
)
