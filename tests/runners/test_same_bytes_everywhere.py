"""The same job on every runner that can be had: the same bytes in every data file.

On Flink too: a cluster of the tests' own (``make flink``), or where ``LIANGCHI_FLINK_JOB_ENDPOINT``
names a job server; its workers are pools at ``LIANGCHI_FLINK_ENVIRONMENT`` (localhost:50000) and
must see this machine's temporary folder (``--basetemp`` names another). ``LIANGCHI_FLINK_VERSION``
is 1.20 unless it says otherwise.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import flink_cluster
import harness
import pyarrow as pa
import pytest
import services
from apache_beam.runners.direct import executor, transform_evaluator

from runners import prism
from transforms import progress

FLAGS = (
    *(
        "--slices",
        "domain",
        "--pairs",
        "all",
        "--bootstrap",
        "300",
        "--trials",
        "1000",
        "--partitions",
        "5",
        "--max_rejected",
        "0.1",
    ),
    *("--save_document_frequencies", "{output}-table"),
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> harness.Inputs:
    """The chat example and rows that are refused, in several files and row groups."""
    hypotheses = harness.read_folder(harness.CHAT_INPUTS.hypotheses)
    references = harness.read_folder(harness.CHAT_INPUTS.references)
    known = hypotheses.column("example_id")[0].as_py()
    system = hypotheses.column("system")[0].as_py()
    warts = [
        (None, system, 0, "没有编号"),
        (known, None, 0, "没有系统"),
        (known, system, 0, "同一个编号,另一句话"),
        ("nowhere", system, 0, "没有参考"),
        (known, system, 7, "长" * 200_000),
    ]
    more = harness.hypotheses_table(warts).cast(hypotheses.schema)
    none = pa.Table.from_pylist([{"example_id": "empty"}], schema=references.schema)
    return harness.write_inputs(
        tmp_path_factory.mktemp("inputs"),
        pa.concat_tables([hypotheses, more]),
        pa.concat_tables([references, none]),
        shards=3,
        row_group_size=90,
        shuffle=1,
    )


def flags(output: Path) -> list[str]:
    return [flag.format(output=output) for flag in FLAGS]


@pytest.fixture(scope="module")
def reference(inputs: harness.Inputs, tmp_path_factory: pytest.TempPathFactory) -> harness.Output:
    output = tmp_path_factory.mktemp("memory") / "out"
    return harness.run(inputs, output, *flags(output)).fine()


Services = list[str]


@pytest.fixture(params=["multi_processing", "job_service", "prism", "flink"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Services]:
    """The options that make a job run somewhere."""
    if request.param == "multi_processing":
        yield ["--direct_running_mode=multi_processing", "--direct_num_workers=2"]
    elif request.param == "job_service":
        with services.job_service(tmp_path) as job, services.worker_pool(tmp_path) as pool:
            yield [
                *("--runner=portable", f"--job_endpoint={job}"),
                *("--environment_type=EXTERNAL", f"--environment_config={pool}"),
            ]
        starts = (tmp_path / "worker-pool.log").read_text().count("Starting worker with")
        assert starts == 2
    elif request.param == "prism":
        if prism.location() is None:
            missing = "no Prism: make prism builds it"
            assert not os.environ.get("CI"), missing
            pytest.skip(missing)
        yield ["--runner=prism"]
    else:
        yield flink_options(request)


def flink_options(request: pytest.FixtureRequest) -> list[str]:
    endpoint = os.environ.get("LIANGCHI_FLINK_JOB_ENDPOINT")
    if endpoint is None:
        own: flink_cluster.Cluster = request.getfixturevalue("flink")
        return own.options()
    return [
        *("--runner=flink", f"--job_endpoint={endpoint}"),
        f"--environment_config={os.environ.get('LIANGCHI_FLINK_ENVIRONMENT', 'localhost:50000')}",
        f"--flink_version={os.environ.get('LIANGCHI_FLINK_VERSION', '1.20')}",
    ]


def test_every_data_file_has_the_bytes_of_the_run_in_memory(
    inputs: harness.Inputs, reference: harness.Output, tmp_path: Path, where: Services
) -> None:
    output = tmp_path / "out"
    start = time.monotonic()
    ran = harness.run_process(inputs, output, *flags(output), *where).fine()
    print(f"{where[0]}: {time.monotonic() - start:.1f} s")
    check_same(ran, reference)


def check_same(ran: harness.Output, reference: harness.Output) -> None:
    """Every data file has the same bytes, every count and stage is in the manifest."""
    expected, found = digests(reference), digests(ran)
    assert set(found) == set(expected)
    assert len(found) > 10
    differing = [name for name in expected if found[name] != expected[name]]
    assert not differing
    assert ran.counts == reference.counts
    manifest = ran.manifest
    for name in ("run_id", "partitions", "buckets", "warnings"):
        assert manifest[name] == reference.manifest[name]
    assert set(manifest["seconds"]) == set(progress.STAGES)
    assert all(seconds > 0 for seconds in manifest["seconds"].values())


# Killed, on a runner that tries again.

SITE = """
import os
import signal
import sys
import time


def once(step, fail):
    process = step.process
    name = os.path.join(os.environ["KILLED"], step.__name__)

    def failing(*arguments):
        try:
            with open(name, "x"):
                pass
        except FileExistsError:
            return process(*arguments)
        fail()
        return process(*arguments)

    step.process = failing


def die():
    os.kill(os.getpid(), signal.SIGKILL)


if any("SdkHarness" in part for part in sys.orig_argv):
    from transforms import frequencies, read, scores, write

    once(read._Read, lambda: time.sleep(10))  # Until its TaskManager is killed.
    once(frequencies._Answer, die)
    once(scores._Resample, die)
    once(write._WriteSegments, die)
"""
"""What every Python does first that a worker pool starts as a worker."""


def test_flink_makes_up_for_killed_workers_and_a_killed_task_manager(
    inputs: harness.Inputs,
    reference: harness.Output,
    tmp_path: Path,
    flink: flink_cluster.Cluster,
) -> None:
    """The TaskManager while it reads; workers while they count, draw replicates and write."""
    (tmp_path / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), str(harness.ROOT)])
    environment = {"PYTHONPATH": paths, "KILLED": str(tmp_path)}
    output = tmp_path / "out"
    with (
        services.worker_pool(tmp_path, environment) as pool,
        futures.ThreadPoolExecutor(1) as thread,
    ):
        options = [*flink.options(), f"--environment_config={pool}"]
        running = thread.submit(harness.run_process, inputs, output, *flags(output), *options)
        while not (tmp_path / "_Read").exists():
            assert not running.done(), running.result()
            time.sleep(0.1)
        flink.kill_task_manager()
        flink.start_task_manager()
        ran = running.result().fine()
    marks = {path.name for path in tmp_path.glob("_*")}
    assert marks == {"_Read", "_Answer", "_Resample", "_WriteSegments"}
    check_same(ran, reference)


RETRYING = "BundleBasedDirectRunner"
"""Beam's old local runner: no other that can be had here tries a bundle again that failed."""


@pytest.fixture
def failed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every bundle fails twice: after its first element, then after all its work.

    Returns how many bundles of each step did.
    """
    evaluator = transform_evaluator._ParDoEvaluator
    process, finish = evaluator.process_element, evaluator.finish_bundle
    tries: Counter[tuple[str, int]] = Counter()
    found: Counter[str] = Counter()
    kept = []

    def fail(self: Any, number: int) -> None:
        # A bundle is known by its place in memory, so none may be freed for another.
        kept.append(self._input_committed_bundle)
        step = self._applied_ptransform.full_label
        if tries[step, id(kept[-1])] == number:
            tries[step, id(kept[-1])] += 1
            found[step] += number
            raise ValueError("the test fails this bundle")

    def failing_process(self: Any, element: Any) -> None:
        process(self, element)
        fail(self, 0)

    def failing_finish(self: Any) -> Any:
        result = finish(self)
        fail(self, 1)
        return result

    monkeypatch.setattr(evaluator, "process_element", failing_process)
    monkeypatch.setattr(evaluator, "finish_bundle", failing_finish)
    monkeypatch.setattr(executor._LOGGER, "error", lambda *arguments: None)
    return found


def test_bundles_that_fail_and_are_tried_again_give_the_same_bytes(
    inputs: harness.Inputs, reference: harness.Output, tmp_path: Path, failed: Counter[str]
) -> None:
    output = tmp_path / "out"
    ran = harness.run(inputs, output, *flags(output), f"--runner={RETRYING}").fine()
    check_same(ran, reference)
    steps = {name.rpartition("/")[0] or name for name in failed} | set(failed)
    assert {"Read/ReadAndCheck", "Join/Join", "Segments/Statistics", "Slices/Sums/Resample"} < steps
    assert {"DocumentFrequencies/Ask", "DocumentFrequencies/Answer", "Data/Look"} & steps
    assert {"WriteSegments/File", "WriteAccounts/File", "WriteResults/Results"} < steps
    assert sum(failed.values()) > 50


def test_the_run_has_what_it_should_have(reference: harness.Output) -> None:
    # So that the test above compares something.
    counts = reference.counts
    assert counts["hypotheses.refused"] >= 4
    assert {row["reason"] for row in reference.rejected} >= {"too_long", "contradicting_duplicates"}
    assert {row["slice"] for row in reference.scores} == {"overall", "domain"}


def digests(output: harness.Output) -> dict[str, str]:
    """SHA-256 of every file of a run but the manifest, and of its table of frequencies."""
    table = output.folder.with_name(f"{output.folder.name}-table")
    files = [
        (folder, path)
        for folder in (output.folder, table)
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("manifest.json", "_liangchi.json")
    ]
    return {
        f"{folder.name}/{path.relative_to(folder)}": hashlib.sha256(path.read_bytes()).hexdigest()
        for folder, path in files
    }
