"""The local runner: Beam's FnApiRunner, in this process, with a thread for every core."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence

import pyarrow as pa

from runners.base import PROCESS_BYTES, Default, Given, Job, Runner, worker_memory
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
    workers = min(cores(), tasks)
    mode = "multi_processing" if _processes_pay(input_bytes, workers) else "in_memory"
    return [f"--direct_running_mode={mode}", f"--direct_num_workers={workers}"]


def _processes_pay(input_bytes: int, workers: int) -> bool:
    return input_bytes > _PROCESSES_ABOVE_BYTES and workers > _PROCESSES_ABOVE_CORES


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


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


DISK_LEFT_BYTES = 1_000_000_000
"""So much of a disk transforms/spill.py leaves to others."""

# Peak of a run that holds in memory what passes between two stages, some of it three times while
# the runner groups it; measured (docs/performance.md).
_BASE_BYTES = 350_000_000
_BYTES_OF_AN_INPUT_BYTE = 18.5
_TIMES_SUMS = 5


def spills(job: Job) -> bool:
    """Whether the disk takes what passes between stages."""
    free = _disk_free()
    return free is not None and job.shuffled + DISK_LEFT_BYTES <= free


def memory_needed(job: Job) -> int:
    """About how much memory a local run needs, all its processes together."""
    passing = _BYTES_OF_AN_INPUT_BYTE * job.input_bytes + _TIMES_SUMS * job.slice_sums
    held = round(_BASE_BYTES + passing)
    if not spills(job):
        return held
    workers = min(cores(), job.partitions)
    processes = workers if _processes_pay(job.input_bytes, workers) else 0
    return min(held, worker_memory(job, workers) + processes * PROCESS_BYTES)


def memory_warning(job: Job) -> str:
    """What to say before a run that this machine may not hold; empty if it should."""
    needed, free = memory_needed(job), _memory_free()
    if free is None or needed <= free:
        return ""
    said = (
        f"a local run of this needs about {needed / 1e9:.1f} GB of memory, but "
        f"{free / 1e9:.1f} GB are free here: it may be ended by the system.\n"
    )
    if not spills(job):
        said += (
            f"What passes between stages, about {job.shuffled / 1e9:.1f} GB, finds no room in "
            f"{tempfile.gettempdir()}: name another folder by the variable TMPDIR.\n"
        )
    return said + (
        "On a cluster (--runner flink, --runner dataflow) a worker holds one partition at a time."
    )


def _disk_free() -> int | None:
    """Bytes that are free where temporary files go; None if other processes could not find one."""
    try:
        os.stat("/proc/self/fd")
        return shutil.disk_usage(tempfile.gettempdir()).free
    except OSError:
        return None


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
