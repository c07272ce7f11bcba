"""Prism: Beam's own portable runner for one machine, a Go program that is built once (``make
prism``) and started for a job. Its worker is this process."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata

from runners import direct
from runners.base import WATCHED, Default, Given, Job, Runner, worker_memory
from schemas.errors import ConfigurationError

NAMES = ("prism", "PrismRunner")

_BUNDLES = 8
"""So many at once Prism gives to its worker, each on a thread. There is no option for it."""

# Measured at 500,000 x 3, where what passes between stages is held in memory: Prism and its worker
# hold 2.8 times what the local runner does.
_TIMES_DIRECT = 2.8


def location() -> str | None:
    """Where its binary is: beside this Python, or on PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "prism")
    return beside if os.access(beside, os.X_OK) else shutil.which("prism")


def memory_needed(job: Job) -> int:
    """About how much memory the worker needs."""
    if direct.spills(job):
        return worker_memory(job, min(_BUNDLES, direct.cores()))
    return round(_TIMES_DIRECT * direct.memory_needed(job))


def _defaults(given: Given, job: Job) -> list[Default]:
    found = location()
    return given.missing(
        [
            Default(f"--prism_location={found}", "built beforehand: Beam would download one"),
            Default("--environment_type=LOOPBACK", "the worker is this process: no Docker"),
            WATCHED,
        ]
    )


def _check(given: Given, job: Job) -> list[str]:
    if not given.has("prism_location", "job_endpoint") and location() is None:
        version = metadata.version("apache-beam")
        raise ConfigurationError(
            "prism_location",
            None,
            "a binary of Prism beside this Python or on PATH, built by\n"
            f"go install github.com/apache/beam/sdks/v2/go/cmd/prism@v{version}\n"
            "(make prism does it in a clone), or its path. Beam would download one.",
        )
    return []


RUNNER = Runner(
    name="prism",
    names=NAMES,
    local=True,
    beam=lambda given: "PrismRunner",
    memory=memory_needed,
    defaults=_defaults,
    check=_check,
)
