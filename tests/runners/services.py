"""Job services and worker pools for tests: started on this machine, and ended with the test."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import harness


@contextlib.contextmanager
def started(
    call: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process with a group of its own, which is killed at the end."""
    python = os.path.dirname(sys.executable)
    environment = {**harness.process_environment(), **(environment or {})}
    # The pool starts its workers by the bare name.
    environment["PATH"] = f"{python}{os.pathsep}{environment['PATH']}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            call,
            cwd=log.parent,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def job_service(folder: Path) -> Iterator[str]:
    """host:port of a job service of two workers a job."""
    port = folder / "job-service.port"
    call = [sys.executable, str(Path(__file__).with_name("two_workers.py")), str(port)]
    log = folder / "job-service.log"
    with started(call, log) as process:
        deadline = time.monotonic() + harness.PATIENCE
        while not (port.exists() and port.read_text()):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield f"localhost:{port.read_text().strip()}"


@contextlib.contextmanager
def worker_pool(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """host:port of a pool whose workers are processes."""
    port = free_port()
    module = "apache_beam.runners.worker.worker_pool_main"
    log = folder / "worker-pool.log"
    call = [sys.executable, "-m", module, f"--service_port={port}"]
    with started(call, log, environment) as process:
        deadline = time.monotonic() + harness.PATIENCE
        while not is_open(port):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield f"localhost:{port}"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def is_open(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
