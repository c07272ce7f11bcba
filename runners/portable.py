"""Any job service that speaks Beam's job API: its address is all that is known of it."""

from __future__ import annotations

from runners.base import (
    WATCHED,
    Default,
    Given,
    Job,
    Runner,
    element_warning,
    is_here,
    need,
    pool_defaults,
    worker_memory,
)
from schemas.errors import ConfigurationError

NAMES = ("portable", "PortableRunner")


def _defaults(given: Given, job: Job) -> list[Default]:
    if given.has("environment_config"):
        return [*pool_defaults(given), *given.missing([WATCHED])]
    here = Default("--environment_type=LOOPBACK", "the service is here, so this process can work")
    return given.missing([here, WATCHED])


def _check(given: Given, job: Job) -> list[str]:
    need(given, "job_endpoint", "HOST:PORT of a job service, such as localhost:8099")
    endpoint = given.value("job_endpoint") or ""
    if not is_here(endpoint) and not given.has("environment_type", "environment_config"):
        raise ConfigurationError(
            "environment_type",
            None,
            "EXTERNAL with --environment_config=HOST:PORT of a worker pool as the job service "
            f"sees it, since {endpoint} is another machine (or DOCKER, with an image of ours)",
        )
    return element_warning(job)


RUNNER = Runner(
    name="portable",
    names=NAMES,
    local=False,
    beam=lambda given: "PortableRunner",
    memory=lambda job: worker_memory(job, 1),
    defaults=_defaults,
    check=_check,
)
