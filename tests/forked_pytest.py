"""pytest in processes forked from one that has imported Beam and other heavy packages already.

A fresh process takes seconds of CPU for these imports, a forked one none. It runs the tests of a
copy of the tree against the rooms of that copy, and fails if any room comes from elsewhere.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import connection, forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("pipelines", "transforms", "scoring", "schemas", "runners")

LIMIT = 600.0
"""Seconds that the tests of one process may take. A slow machine needs a tenth of it at most."""

FOREIGN = 100
"""Exit code: the tests used rooms of another tree than the copy. None of pytest's own."""

# Third-party modules alone: the rooms must come from the copy.
PRELOADED = (
    "apache_beam",
    "apache_beam.io",
    "apache_beam.io.filesystems",
    "apache_beam.options.pipeline_options",
    "hypothesis.strategies",
    "jieba",
    "numpy",
    "opencc",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pytest",
    "regex",
)
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}

# Without what takes a second of every process: plugins of packages that happen to be installed, and
# what makes failures easier to read, for nobody reads them.
PYTEST = (
    *("-x", "-q", "--assert=plain"),
    *("-p", "no:cacheprovider", "-p", "no:unraisableexception", "-p", "_hypothesis_pytestplugin"),
    "--hypothesis-profile=mutants",
)


@dataclass(frozen=True)
class Run:
    """pytest at work in a process of its own. said: the file that it prints into."""

    root: Path
    process: ForkServerProcess
    said: Path
    started: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Seconds until the limit, 0 when it is past."""
        return max(0.0, self.started + LIMIT - time.monotonic())

    def printed(self) -> str:
        return self.said.read_text(encoding="utf-8", errors="replace") if self.said.exists() else ""

    def end(self) -> None:
        """Kill the process and those that it started; nothing if it is over."""
        if self.process.exitcode is None and self.process.pid is not None:
            self.process.kill()
            self.process.join()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


def start(root: Path, said: Path, file: str, words: str = "") -> Run:
    """Start the tests of a file whose names have the words (pytest -k), in the copy at root."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    with mock.patch.dict(os.environ, ENVIRONMENT):
        forkserver.ensure_running()
    arguments = [*PYTEST, file, *(["-k", words] if words else [])]
    process = context.Process(target=_run, args=(root, said, arguments))
    process.start()
    return Run(root, process, said)


def wait(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The runs that are over and those that are past the limit, as soon as there is one."""
    sentinels = [run.process.sentinel for run in runs]
    ready = connection.wait(sentinels, min(run.left() for run in runs))
    over = [run for run in runs if run.process.sentinel in ready]
    for run in over:
        run.process.join()
    return over, [run for run in runs if run not in over and not run.left()]


def _run(root: Path, said: Path, arguments: list[str]) -> None:
    """In the forked process: exits with pytest's code, a negative one is a signal's."""
    os.setsid()
    target = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(target)
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)
    sys.path[:] = [str(root), *(path for path in sys.path if path and not _is_of_the_tree(path))]
    import pytest

    code = int(pytest.main(arguments))
    foreign = {
        name: file
        for name, module in sys.modules.items()
        if name.partition(".")[0] in ROOMS
        for file in [getattr(module, "__file__", None) or ""]
        if not Path(file).is_relative_to(root)
    }
    if foreign:
        print(f"these rooms are not those of {root}: {foreign}")
        code = FOREIGN
    sys.stdout.flush()
    sys.exit(code)


def _is_of_the_tree(path: str) -> bool:
    """The parent's folders of rooms and tests, which its conftest added; not those of packages."""
    return Path(path).is_relative_to(ROOT) and not Path(path).is_relative_to(sys.prefix)
