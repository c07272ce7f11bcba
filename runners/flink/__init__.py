"""Flink, by a job server that runs beside it. docs/flink.md: which versions were run."""

from __future__ import annotations

from runners.base import (
    TASKS_OF_A_SLOT,
    Default,
    Given,
    Job,
    Runner,
    element_warning,
    host_of,
    is_here,
    need,
    pool_defaults,
    worker_memory,
)
from schemas.errors import ConfigurationError

NAMES = ("flink", "FlinkRunner")

VERSIONS = ("1.19", "1.20", "2.0", "2.1", "2.2")
"""For which Beam 2.77 publishes a job server."""

HEAP_BYTES = 400_000_000
"""Input for a TaskManager of 512 MB heap up to which keyed state may lie in its heap (2.x)."""


def is_streaming(version: str) -> bool:
    """Whether a bounded job runs on this version's streaming path: from 2.0 there is no other."""
    return not version.startswith("1.")


def _defaults(given: Given, job: Job) -> list[Default]:
    found = [*pool_defaults(given)]
    if not is_streaming(given.value("flink_version") or ""):
        reason = "written between stages: a lost TaskManager costs its stages, not the job"
        found.append(Default("--execution_mode_for_batch=BATCH_FORCED", reason))
    elif given.has("state_backend_storage_path"):
        found.append(Default("--state_backend=rocksdb", "state on disk: 10% slower, any size"))
    return given.missing(found)


def _check(given: Given, job: Job) -> list[str]:
    if not given.has("job_endpoint"):
        need(
            given,
            "flink_master",
            "HOST:8081 of its REST service, or --job_endpoint=HOST:8099 of a job server",
        )
        need(
            given,
            "flink_job_server_jar",
            "the path of beam-runners-flink-VERSION-job-server-2.77.0.jar (Maven: "
            "org.apache.beam), or --job_endpoint. Beam would download it",
        )
    version = given.value("flink_version")
    if version not in VERSIONS:
        raise ConfigurationError(
            "flink_version",
            version,
            f"the cluster's, one of {', '.join(VERSIONS)}: what is recommended hangs on it, and "
            "Beam's own default is the newest",
        )
    return [*element_warning(job), *_warnings(given, job, version)]


def _warnings(given: Given, job: Job, version: str) -> list[str]:
    said = []
    if (given.value("environment_cache_millis") or "0") != "0":
        said.append(
            "--environment_cache_millis: with it a worker that was killed failed the job in 3 of "
            "3 trials; without it the job recovered."
        )
    parallelism = _number(given.value("parallelism"))
    if not given.has("parallelism"):
        said.append(
            "no --parallelism: Beam's job server takes 1, whatever the cluster's is (unless "
            "it was given --flink-conf-dir), and one slot does it all. Say how many there are."
        )
    if parallelism > 1 and job.partitions < TASKS_OF_A_SLOT * parallelism:
        said.append(
            f"--parallelism={parallelism}: the job has {job.partitions} partitions, less than "
            f"{TASKS_OF_A_SLOT} a slot, so some slots will have much more to do than others."
        )
    in_heap = given.value("state_backend") not in ("rocksdb", "ROCKSDB") and not given.has(
        "state_backend_storage_path"
    )
    if is_streaming(version) and in_heap and job.input_bytes > HEAP_BYTES * max(1, parallelism):
        said.append(
            "on Flink 2 what passes between stages lies in the heap of the TaskManagers, and this "
            "input is large: say --state_backend_storage_path=PATH, for RocksDB."
        )
    address = given.value("job_endpoint", "flink_master") or ""
    local = job.local_paths
    if local and not is_here(address):
        said.append(
            f"{local[0]}: a path of this machine. Every worker of {host_of(address)} must find the "
            "same files under it (shared storage), or the job fails after all its restarts."
        )
    return said


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0


RUNNER = Runner(
    name="flink",
    names=NAMES,
    local=False,
    # A job server that is there already is spoken to as to any other.
    beam=lambda given: "PortableRunner" if given.has("job_endpoint") else "FlinkRunner",
    memory=lambda job: worker_memory(job, 2),
    defaults=_defaults,
    check=_check,
)
