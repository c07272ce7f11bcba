"""Google Cloud Dataflow, with our image (runners/image)."""

from __future__ import annotations

import re

from runners.base import (
    TASKS_OF_A_SLOT,
    Default,
    Given,
    Job,
    Runner,
    element_warning,
    no_session,
    worker_memory,
)
from schemas.errors import ConfigurationError

NAMES = ("dataflow", "DataflowRunner")

_IN_BUCKET = re.compile(r"gs://[a-z0-9][a-z0-9._-]+[a-z0-9]/.")

_THREADS = 2
_FEW_CORES = 8


def machines(partitions: int) -> tuple[str, int]:
    """(machine type, how many at most): no more cores than have ``TASKS_OF_A_SLOT`` partitions.

    Both have 4 GB a core, and a core has one worker process.
    """
    useful = max(1, partitions // TASKS_OF_A_SLOT)
    cores = 2 if useful <= _FEW_CORES else 8
    return f"n2-standard-{cores}", -(-useful // cores)


def _defaults(given: Given, job: Job) -> list[Default]:
    machine, most = machines(job.partitions)
    found = [
        Default("--sdk_location=container", "liangchi is in the image: nothing is installed"),
        *no_session(given),
        Default(
            f"--number_of_worker_harness_threads={_THREADS}",
            "a thread holds a partition; Dataflow's 12 would hold twelve",
        ),
        Default("--disk_size_gb=50", "the image and logs; shuffles lie with the service"),
    ]
    if not given.has("machine_type"):
        found.append(Default(f"--worker_machine_type={machine}", "by size; 4 GB a core"))
    if not given.has("num_workers"):
        reason = f"more would have fewer than {TASKS_OF_A_SLOT} partitions a core"
        found.append(Default(f"--max_num_workers={most}", reason))
    found = given.missing(found)
    # Experiments add up, so this one takes none of the user's away.
    found.append(Default("--experiments=use_runner_v2", "the only one for images of one's own"))
    return found


_NEEDED = {
    "project": "the project of Google Cloud that pays",
    "region": "a region, such as europe-west4; best where the data are",
    "sdk_container_image": "the image of runners/image as your registry has it",
    "temp_location": "a folder in a bucket, such as gs://BUCKET/tmp",
}


def _check(given: Given, job: Job) -> list[str]:
    missing = [name for name in _NEEDED if not given.value(name)]
    if missing:
        # All at once: each further call would look at the input again.
        others = "".join(f"\nand --{name}, {_NEEDED[name]}" for name in missing[1:])
        raise ConfigurationError(missing[0], None, _NEEDED[missing[0]] + others)
    for name in ("temp_location", "staging_location"):
        place = given.value(name)
        # Beam would look for a bucket of its own, two minutes long where there is no network.
        if place is not None and not _IN_BUCKET.match(place):
            raise ConfigurationError(name, place, "a folder in a bucket, such as gs://BUCKET/tmp")
    local = job.local_paths
    if local:
        raise ConfigurationError(
            "output" if local[0] in job.outputs else "input",
            local[0],
            "a path in a bucket, such as gs://BUCKET/run: workers do not see this machine's files",
        )
    return element_warning(job)


RUNNER = Runner(
    name="dataflow",
    names=NAMES,
    local=False,
    beam=lambda given: "DataflowRunner",
    memory=lambda job: worker_memory(job, _THREADS),
    defaults=_defaults,
    check=_check,
)
