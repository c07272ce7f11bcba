"""Processes that tests start have no libraries of the clouds, and say nothing of it."""

from __future__ import annotations

import subprocess
import sys
from importlib import util

import harness

CALL = (
    "import sys, apache_beam; print(sorted({'boto3', 'google.cloud.storage'} & set(sys.modules)))"
)


def test_beam_finds_no_libraries_of_the_clouds_in_a_process_of_a_test() -> None:
    # Here they are installed.
    assert util.find_spec("boto3") and util.find_spec("google.cloud.storage")
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        env=harness.process_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
