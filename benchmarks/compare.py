"""The product beside its peers: the same data, one run, wall, CPU, memory, and equal scores.

``python -m benchmarks.compare --examples 50000 --systems 1 --work DIR --output RESULTS.json``
makes the data (see ``benchmarks.data``; kept in DIR and used again), runs the product in every
setting named by ``--product_args`` and then the peers (see ``benchmarks.peers``), checks that the
scores agree, prints a table and writes JSON. Exits 1 if scores disagree or a run fails.

``--growth 10000 100000 1000000`` instead runs the product only, on each size.
``--small``: 300 examples, for correctness.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import data, measure

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = (sys.executable, "-m", "pipelines.evaluate")
PEERS = "jieba + sacrebleu + pycocoevalcap"

SMALL_EXAMPLES = 300
SMALL_SYSTEMS = 2

BLEU_TOLERANCE = 1e-9  # relative
CIDER_TOLERANCE = 1e-6  # absolute
METRICS = ("bleu", "cider_d")

Scores = dict[str, dict[str, "float | None"]]
"""system -> metric (or one with _ci_low, _ci_high) -> value"""


@dataclass
class Run:
    """One run of the product or the peers on some data.

    hypotheses: how many were scored. parts: of the peers. extrapolated: a part ran on fewer
    examples, and wall and CPU seconds are what all would have taken; memory is then null.
    differing_texts: how many the product cuts otherwise than the peers.
    """

    name: str
    command: tuple[str, ...]
    exit_code: int
    examples: int
    hypotheses: int
    wall_seconds: float
    cpu_seconds: float
    peak_pss_bytes: int | None
    peak_rss_bytes: int | None
    processes: int
    walls_of_repeats: list[float]
    scores: Scores = field(default_factory=dict)
    parts: list[dict[str, Any]] = field(default_factory=list)
    extrapolated: bool = False
    differing_texts: int | None = None
    differing: list[dict[str, str]] = field(default_factory=list)
    error: str = ""

    @property
    def hypotheses_per_second(self) -> float:
        """By wall time."""
        return self.hypotheses / self.wall_seconds

    def as_json(self) -> dict[str, Any]:
        """All fields and the rate."""
        return asdict(self) | {"hypotheses_per_second": self.hypotheses_per_second}


@dataclass(frozen=True)
class Check:
    """One score of one system, the product's and the peers'."""

    setting: str
    system: str
    metric: str
    product: float | None
    peers: float | None
    difference: float | None
    tolerance: float
    agrees: bool | None
    """None: the peers could not be run on all the data, so there is nothing to compare."""


def run_product(
    made: data.Dataset, directory: Path, work: Path, setting: str, options: argparse.Namespace
) -> Run:
    """The product's ``evaluate`` on the data, the fastest of the repeats."""
    output = work / "output"
    command = [
        *(shlex.split(options.product_command) if options.product_command else PRODUCT),
        *("--hypotheses", str(directory / "hypotheses" / "*.parquet")),
        *("--references", str(directory / "references" / "*.parquet")),
        *("--output", str(output)),
        *("--metrics", *METRICS),
        *("--tokenizer", options.tokenizer),
        *("--bootstrap", str(options.bootstrap)),
        *shlex.split(setting),
    ]
    measured = []
    for _ in range(options.repeats):
        shutil.rmtree(output, ignore_errors=True)
        measured.append(measure.run(command, work / "product.log", cwd=ROOT))
    best = min(measured, key=lambda m: (m.exit_code != 0, m.wall_seconds))
    result = _as_run(f"liangchi {setting}".strip(), made, best, measured)
    if best.exit_code == 0:
        result.scores = read_scores(output / "scores.parquet")
    shutil.rmtree(output, ignore_errors=True)
    return result


def run_peers(made: data.Dataset, directory: Path, work: Path, options: argparse.Namespace) -> Run:
    """The peers on the same data, in a process of their own."""
    answer = work / "peers.json"
    answer.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.peers", str(directory), "--json", str(answer)]
    command += ["--bootstrap", str(options.bootstrap)]
    command += ["--tokenizer", options.tokenizer, "--check_tokens"]
    command += ["--system", *data.system_names(made.systems)]
    if options.max_bytes:
        command += ["--max_bytes", str(options.max_bytes)]
    if options.max_examples:
        command += ["--max_examples", str(options.max_examples)]
    measured = measure.run(command, work / "peers.log", cwd=ROOT)
    result = _as_run(PEERS, made, measured, [measured])
    if measured.exit_code != 0:
        return result
    said = json.loads(answer.read_text("utf-8"))
    result.parts = said["parts"]
    result.extrapolated = said["extrapolated"]
    # Their own account: without the probes of memory and what is done for the comparison.
    result.wall_seconds = said["total_seconds"]
    result.cpu_seconds = said["total_cpu_seconds"]
    result.processes = 1
    if result.extrapolated:
        result.peak_pss_bytes = result.peak_rss_bytes = None
    result.differing_texts, result.differing = said["differing_texts"], said["differing"]
    result.examples = said["examples"]
    result.hypotheses = said["examples"] * made.systems
    result.scores = said["scores"]
    return result


def read_scores(path: Path) -> Scores:
    """The scores of the whole set, from the product's table."""
    names = ["system", "slice", "metric", "value", "ci_low", "ci_high"]
    table = pq.read_table(path, columns=names)
    scores: Scores = {}
    for row in table.filter(pc.field("slice") == "overall").to_pylist():
        of_system = scores.setdefault(row["system"], {})
        of_system[row["metric"]] = row["value"]
        of_system[f"{row['metric']}_ci_low"] = row["ci_low"]
        of_system[f"{row['metric']}_ci_high"] = row["ci_high"]
    return scores


def check(product: Run, peers: Run, systems: Sequence[str]) -> list[Check]:
    """Every score of the product against the peers'."""
    checks = []
    for system in systems:
        for metric in METRICS:
            own = product.scores.get(system, {}).get(metric)
            other = peers.scores.get(system, {}).get(metric)
            tolerance = CIDER_TOLERANCE
            if metric == "bleu":
                tolerance = BLEU_TOLERANCE * abs(other or 0.0)
            difference = None if own is None or other is None else abs(own - other)
            agrees: bool | None = difference is not None and difference <= tolerance
            if other is None or peers.examples != product.examples:
                agrees = None
            checks.append(
                Check(product.name, system, metric, own, other, difference, tolerance, agrees)
            )
    return checks


def run_growth(work: Path, settings: Sequence[str], options: argparse.Namespace) -> list[Run]:
    """The product on every size, in every setting."""
    runs = []
    for examples in options.growth:
        made, directory = _data(work, examples, options)
        for setting in settings:
            runs.append(run_product(made, directory, work, setting, options))
            _report_failure(runs[-1])
    return runs


def comparison_table(runs: Sequence[Run]) -> str:
    """Markdown: a row for every run and every part of the peers."""
    peers = next((run for run in runs if run.name == PEERS and run.exit_code == 0), None)
    lines = [
        "| run | wall s | CPU s | peak PSS MB | processes | hypotheses/s | ratio | CPU ratio |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for run in runs:
        if run.exit_code != 0:
            lines.append(f"| {run.name} | failed ({run.exit_code}) | | | | | | |")
            continue
        ratio = cpu_ratio = ""
        if peers is not None:
            ratio = f"{run.hypotheses_per_second / peers.hypotheses_per_second:.1f}"
            each = run.cpu_seconds / run.hypotheses
            cpu_ratio = f"{peers.cpu_seconds / peers.hypotheses / each:.1f}"
        mark = " (extrapolated)" if run.extrapolated else ""
        cells = [
            run.name + mark,
            f"{run.wall_seconds:.1f}",
            f"{run.cpu_seconds:.1f}",
            _megabytes(run.peak_pss_bytes),
            str(run.processes),
            f"{run.hypotheses_per_second:,.0f}",
            ratio,
            cpu_ratio,
        ]
        lines.append(f"| {' | '.join(cells)} |")
        for part in run.parts:
            mark = f" (from {part['examples']:,} examples)" if part["extrapolated"] else ""
            seconds = f"{part['seconds']:.1f} | {part['cpu_seconds']:.1f}"
            lines.append(f"| - {part['name']}{mark} | {seconds} | | | | | |")
    return "\n".join(lines)


def agreement_table(checks: Sequence[Check], runs: Sequence[Run]) -> str:
    """Markdown: scores and intervals side by side."""
    by_name = {run.name: run for run in runs}
    lines = [
        "| setting | system | metric | product | its interval | peers | their interval | agree |",
        "|---|---|---|--:|---|--:|---|---|",
    ]
    words = {True: "yes", False: "NO", None: "not compared"}
    for item in checks:
        cells = [item.setting, item.system, item.metric, _number(item.product, 12)]
        cells.append(_interval(by_name[item.setting], item))
        cells.append(_number(item.peers, 12))
        cells.append(_interval(by_name[PEERS], item))
        cells.append(words[item.agrees])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def differing_tokens(peers: Run) -> str:
    """Whether the product and the peers counted the same tokens."""
    lines = [f"Texts that the product cuts otherwise than the peers: {peers.differing_texts}"]
    for item in peers.differing:
        lines += [f"- {item['text']}", f"  - peers: {item['peers']}"]
        lines.append(f"  - product: {item['product']}")
    return "\n".join(lines)


def growth_table(runs: Sequence[Run]) -> str:
    """Markdown: cost per hypothesis, and that of the hypotheses added since the size before."""
    lines = [
        "| setting | examples | wall s | CPU s | peak PSS MB | hypotheses/s "
        "| us/hypothesis | us/added hypothesis | CPU us/hypothesis |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    before: dict[str, Run] = {}
    for run in runs:
        if run.exit_code != 0:
            lines.append(f"| {run.name} | {run.examples:,} | failed ({run.exit_code}) |" + " |" * 6)
            continue
        added = ""
        last = before.get(run.name)
        if last is not None and run.hypotheses > last.hypotheses:
            more = run.wall_seconds - last.wall_seconds
            added = f"{more / (run.hypotheses - last.hypotheses) * 1e6:.1f}"
        cells = [
            run.name,
            f"{run.examples:,}",
            f"{run.wall_seconds:.1f}",
            f"{run.cpu_seconds:.1f}",
            _megabytes(run.peak_pss_bytes),
            f"{run.hypotheses_per_second:,.0f}",
            f"{run.wall_seconds / run.hypotheses * 1e6:.1f}",
            added,
            f"{run.cpu_seconds / run.hypotheses * 1e6:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
        before[run.name] = run
    return "\n".join(lines)


def environment() -> dict[str, Any]:
    """The machine and the versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    packages = ("apache-beam", "numpy", "pyarrow", "jieba", "sacrebleu", "pycocoevalcap")
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "memory_bytes": memory,
        "load_at_start": os.getloadavg(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "versions": {name: version(name) for name in packages},
        "commit": _git("rev-parse", "HEAD"),
        "changed_since": bool(_git("status", "--porcelain")),
    }


def main() -> None:
    """See the module."""
    options = _options()
    settings = options.product_args or [""]
    with ExitStack() as stack:
        work = options.work
        if work is None:
            work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="liangchi-")))
        work.mkdir(parents=True, exist_ok=True)
        result: dict[str, Any] = {"environment": environment()}
        if options.growth:
            runs = run_growth(work, settings, options)
            failed = any(run.exit_code != 0 for run in runs)
            result["growth"] = [run.as_json() for run in runs]
            print(growth_table(runs))
        else:
            failed = _compare(work, settings, options, result)
    if options.output:
        options.output.write_text(json.dumps(result, indent=1), "utf-8")
    sys.exit(1 if failed else 0)


def _compare(
    work: Path, settings: Sequence[str], options: argparse.Namespace, result: dict[str, Any]
) -> bool:
    """Runs all, prints the tables, fills the result. True if something failed or disagrees."""
    made, directory = _data(work, options.examples, options)
    result["data"] = asdict(made)
    print(
        f"{made.examples:,} examples x {data.REFERENCES} references, {made.systems} systems, "
        f"{made.text_bytes / 1e6:,.0f} MB of text\n"
    )
    products = []
    for setting in settings:
        products.append(run_product(made, directory, work, setting, options))
        _report_failure(products[-1])
    runs = list(products)
    checks: list[Check] = []
    if not options.no_peers:
        peers = run_peers(made, directory, work, options)
        _report_failure(peers)
        runs.append(peers)
        if peers.exit_code == 0:
            systems = data.system_names(made.systems)
            good = [run for run in products if run.exit_code == 0]
            checks = [c for run in good for c in check(run, peers, systems)]
    print(comparison_table(runs))
    if checks:
        print(f"\n{agreement_table(checks, runs)}")
        print(f"\n{differing_tokens(runs[-1])}")
    result["runs"] = [run.as_json() for run in runs]
    result["agreement"] = [asdict(item) for item in checks]
    disagree = any(item.agrees is False for item in checks)
    if disagree:
        print("\nscores disagree", file=sys.stderr)
    return disagree or any(run.exit_code != 0 for run in runs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the product and its peers side by side.")
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--systems", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bootstrap", type=int, default=1000)
    parser.add_argument("--tokenizer", choices=("jieba", "char"), default="jieba")
    parser.add_argument("--work", type=Path, help="where data is kept; default: nowhere")
    parser.add_argument("--output", type=Path, help="results as JSON")
    parser.add_argument(
        "--product_args",
        action="append",
        metavar="'--ARG VALUE ...'",
        help="one more setting of the product; '' is its defaults (write --product_args='--x')",
    )
    parser.add_argument("--product_command", help="in place of python -m pipelines.evaluate")
    parser.add_argument("--repeats", type=int, default=1, help="of the product; the fastest counts")
    parser.add_argument("--no_peers", action="store_true")
    parser.add_argument("--max_bytes", type=int, help="memory of a peer's part")
    parser.add_argument("--max_examples", type=int, help="run the peers on the first only")
    parser.add_argument("--small", action="store_true", help="300 examples, 2 systems: correctness")
    parser.add_argument("--growth", type=int, nargs="+", metavar="EXAMPLES", help="product only")
    parser.add_argument("--processes", type=int, default=1, help="that make the data")
    options = parser.parse_args()
    if options.small:
        options.examples, options.systems = SMALL_EXAMPLES, SMALL_SYSTEMS
    return options


def _data(work: Path, examples: int, options: argparse.Namespace) -> tuple[data.Dataset, Path]:
    directory = work / f"data-{examples}x{options.systems}-seed{options.seed}"
    made = data.make(directory, examples, options.systems, options.seed, options.processes)
    return made, directory


def _as_run(
    name: str,
    made: data.Dataset,
    best: measure.Measurement,
    measured: Sequence[measure.Measurement],
) -> Run:
    return Run(
        name=name,
        command=best.command,
        exit_code=best.exit_code,
        examples=made.examples,
        hypotheses=made.examples * made.systems,
        wall_seconds=best.wall_seconds,
        cpu_seconds=best.cpu_seconds,
        peak_pss_bytes=best.peak_pss_bytes,
        peak_rss_bytes=best.peak_rss_bytes,
        processes=best.processes,
        walls_of_repeats=[m.wall_seconds for m in measured],
        error="" if best.exit_code == 0 else best.output_tail,
    )


def _report_failure(run: Run) -> None:
    if run.exit_code != 0:
        print(f"{run.name}: exit code {run.exit_code}\n{run.error}", file=sys.stderr)


def _interval(run: Run, item: Check) -> str:
    scores: Mapping[str, float | None] = run.scores.get(item.system, {})
    ends = [scores.get(f"{item.metric}_ci_{end}") for end in ("low", "high")]
    return "" if None in ends else f"{_number(ends[0], 5)} to {_number(ends[1], 5)}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _megabytes(value: int | None) -> str:
    return "" if value is None else f"{value / 1e6:,.0f}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
