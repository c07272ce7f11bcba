"""Runs a command and measures its whole tree of processes: wall and CPU seconds, peak of memory.

Memory is sampled from /proc: at every sample the PSS of all processes of the tree is added up
(proportional set size: a page that k processes share counts 1/k in each, so the sum is what the
tree really holds), and the RSS too (shared pages count in each). A peak shorter than the interval
between samples can be missed. CPU seconds are the kernel's own account of every process that has
ended, orphans among them (this process adopts them). Linux only.

``python -m benchmarks.measure [--json OUT] -- COMMAND...``
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

INTERVAL = 0.2
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Measurement:
    """What a command took. Bytes are peaks of sums over the tree; processes the most at once.

    user and system seconds are those of all processes of the tree;
    output_tail is the last of its outputs.
    """

    command: tuple[str, ...]
    exit_code: int
    wall_seconds: float
    cpu_seconds: float
    user_seconds: float
    system_seconds: float
    peak_pss_bytes: int
    peak_rss_bytes: int
    processes: int
    samples: int
    output_tail: str


def run(
    command: Sequence[str],
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    interval: float = INTERVAL,
) -> Measurement:
    """Run it to its end. Both of its outputs go to the log.

    Processes it leaves behind are ended. The caller must have no other child meanwhile.
    """
    _adopt_orphans()
    cpu = [0.0, 0.0]
    peak_pss = peak_rss = most = samples = 0
    with log.open("wb") as out:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=out, cwd=cwd, env=env)
        try:
            exit_code: int | None = None
            while exit_code is None:
                pss, rss, count = _memory(_descendants(os.getpid()))
                peak_pss, peak_rss = max(peak_pss, pss), max(peak_rss, rss)
                most, samples = max(most, count), samples + 1
                exit_code = _wait(child.pid, cpu, interval)
            wall = time.perf_counter() - start
        finally:
            _end(cpu)
        child.returncode = exit_code  # it was waited for here: Popen must not wait again
    return Measurement(
        command=tuple(command),
        exit_code=exit_code,
        wall_seconds=wall,
        cpu_seconds=sum(cpu),
        user_seconds=cpu[0],
        system_seconds=cpu[1],
        peak_pss_bytes=peak_pss,
        peak_rss_bytes=peak_rss,
        processes=most,
        samples=samples,
        output_tail=log.read_bytes()[-4000:].decode("utf-8", "replace"),
    )


def _adopt_orphans() -> None:
    """Orphans below this process become its children, instead of the machine's first process's."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def _wait(pid: int, cpu: list[float], seconds: float) -> int | None:
    """Wait for so long; the exit code if the process ended. Collects orphans that end meanwhile."""
    until = time.perf_counter() + seconds
    step = min(0.005, seconds)
    while True:
        ended, status, usage = os.wait4(-1, os.WNOHANG)
        if ended:
            cpu[0] += usage.ru_utime
            cpu[1] += usage.ru_stime
            if ended == pid:
                return os.waitstatus_to_exitcode(status)
        elif time.perf_counter() >= until:
            return None
        else:
            time.sleep(step)


def _end(cpu: list[float]) -> None:
    """End what is left of the tree and collect its account."""
    while True:
        for pid in _descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return
        cpu[0] += usage.ru_utime
        cpu[1] += usage.ru_stime


def _descendants(root: int) -> list[int]:
    """All processes below that one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            parent = _parent(entry)
            if parent is not None:
                children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    new = [root]
    while new:
        new = [child for pid in new for child in children.get(pid, [])]
        found += new
    return found


def _parent(entry: Path) -> int | None:
    try:
        stat = (entry / "stat").read_text("utf-8", "replace")
    except OSError:
        return None  # it ended
    # Behind the name, which stands in parentheses and may hold anything: state, parent.
    return int(stat.rpartition(")")[2].split()[1])


def _memory(pids: Sequence[int]) -> tuple[int, int, int]:
    """The sums of PSS and RSS in bytes, and how many processes were read."""
    pss = rss = count = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
        except OSError:
            continue  # it ended, or is about to
        sizes = dict(line.split(":", 1) for line in lines[1:])
        pss += _kilobytes(sizes, "Pss")
        rss += _kilobytes(sizes, "Rss")
        count += 1
    return pss, rss, count


def _kilobytes(sizes: Mapping[str, str], name: str) -> int:
    return int(sizes[name].split()[0]) * 1024


def main() -> None:
    """``python -m benchmarks.measure [--json OUT] -- COMMAND...``"""
    parser = argparse.ArgumentParser(description="Measure a command and everything it starts.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--log", type=Path, default=Path(os.devnull))
    parser.add_argument("--interval", type=float, default=INTERVAL, help="seconds between samples")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    measured = run(options.command, options.log, interval=options.interval)
    text = json.dumps(asdict(measured), indent=1)
    if options.json:
        options.json.write_text(text, "utf-8")
    else:
        print(text)
    sys.exit(measured.exit_code)


if __name__ == "__main__":
    main()
