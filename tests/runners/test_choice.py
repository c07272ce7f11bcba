"""Which runner a call means, what is added to its options, what is refused before submission."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace

import apache_beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions

from runners import choice, dataflow, flink, prism
from runners.base import Given, Job
from schemas.errors import ConfigurationError

JOB = Job(10_000_000, 640, ("/data/a.parquet",), ("/out",))
CLOUD = Job(10_000_000, 640, ("gs://b/a.parquet",), ("gs://b/out",))

FLINK = ["--runner=flink", "--job_endpoint=localhost:8099", "--flink_version=1.20"]
DATAFLOW = [
    *("--runner", "dataflow", "--project=p", "--region=europe-west4"),
    *("--temp_location=gs://bucket/tmp", "--sdk_container_image=r/liangchi:1"),
]


@pytest.mark.parametrize(
    ("name", "runner", "beam"),
    [
        (None, "direct", "FnApiRunner"),
        ("direct", "direct", "FnApiRunner"),
        ("DirectRunner", "direct", "FnApiRunner"),
        ("directrunner", "direct", "FnApiRunner"),
        ("prism", "prism", "PrismRunner"),
        ("PrismRunner", "prism", "PrismRunner"),
        ("flink", "flink", "FlinkRunner"),
        ("FlinkRunner", "flink", "FlinkRunner"),
        ("dataflow", "dataflow", "DataflowRunner"),
        ("portable", "portable", "PortableRunner"),
        ("apache_beam.runners.portability.portable_runner.PortableRunner", *["portable"],
         "PortableRunner"),
        ("SparkRunner", "SparkRunner", "SparkRunner"),
    ],
)  # fmt: skip
def test_our_names_and_beams_mean_the_same(name: str | None, runner: str, beam: str) -> None:
    arguments = [] if name is None else [f"--runner={name}"]
    chosen = choice.chosen(arguments)
    assert (chosen.name, chosen.beam(Given(arguments))) == (runner, beam)


@pytest.mark.parametrize(
    ("name", "said"),
    [("flnk", "Did you mean flink?"), ("DaskRunner", "silently wrong"), ("dask", "wrong")],
)
def test_what_is_no_runner_or_a_wrong_one_is_refused(name: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said.replace("?", r"\?")):
        choice.chosen(["--runner", name])


@pytest.mark.parametrize("arguments", [[], FLINK, DATAFLOW])
def test_every_default_has_a_reason_and_is_an_option_of_beam_or_of_the_job_server(
    arguments: list[str],
) -> None:
    effective = choice.effective(arguments, CLOUD)
    assert effective.added
    of_flink = {"execution_mode_for_batch", "state_backend", "state_backend_storage_path"}
    for default in effective.added:
        assert 5 < len(default.reason) < 80
        name = default.option[2:].split("=")[0]
        known = PipelineOptions([]).get_all_options()
        names = {name, name.removeprefix("worker_"), name.removeprefix("no_")}
        assert names & set(known) or name in of_flink


@pytest.mark.parametrize("arguments", [FLINK, DATAFLOW, ["--runner=portable", FLINK[1]]])
def test_what_the_user_says_wins(arguments: list[str]) -> None:
    added = [d.option for d in choice.effective(arguments, CLOUD).added]
    for option in added:
        name = option.split("=")[0]
        if name in ("--experiments", "--no_save_main_session"):
            continue  # they add up; it has no value
        for given in ([f"{name}=mine"], [name, "mine"]):
            effective = choice.effective([*arguments, *given], CLOUD)
            ours = [a for a in effective.arguments if a.split("=")[0] == name]
            assert ours == [given[0]]


@pytest.mark.parametrize("arguments", [["--runner=portable", FLINK[1]], ["--runner=prism"]])
def test_a_job_of_hours_is_watched_to_its_end(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prism, "location", lambda: "/bin/prism")
    options = PipelineOptions(choice.effective(arguments, JOB).arguments)
    assert options.view_as(PortableOptions).job_server_timeout > 7 * 86_400


def test_experiments_add_up() -> None:
    arguments = choice.effective([*DATAFLOW, "--experiments=mine"], CLOUD).arguments
    experiments = PipelineOptions(arguments).get_all_options()["experiments"]
    assert {"mine", "use_runner_v2"} <= set(experiments)


def test_the_given_runner_is_replaced_in_both_spellings() -> None:
    for given in (["--runner=direct"], ["--runner", "direct"]):
        arguments = choice.effective([*given, "--temp_location", "x"], JOB).arguments
        assert arguments[0] == "--runner=FnApiRunner"
        assert arguments[-2:] == ["--temp_location", "x"]
        assert sum("runner" in a.split("=")[0] and "direct" not in a for a in arguments) == 1


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["--runner=flink"], "flink_master"),
        (["--runner=flink", "--flink_master=h:8081"], "flink_job_server_jar"),
        (FLINK[:2], "flink_version"),
        ([*FLINK[:2], "--flink_version=1.18"], "flink_version"),
        (["--runner=portable"], "job_endpoint"),
        (["--runner=portable", "--job_endpoint=far:8099"], "environment_type"),
        (["--runner=dataflow"], "project"),
        (DATAFLOW[:-1], "sdk_container_image"),
        ([*DATAFLOW, "--temp_location=/tmp"], "temp_location"),
        ([*DATAFLOW, "--temp_location=gs://b/tmp"], "temp_location"),
        ([*DATAFLOW, "--staging_location", "/tmp"], "staging_location"),
    ],
)
def test_what_cannot_work_is_refused_before_submission(arguments: list[str], key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        choice.effective(arguments, CLOUD)
    assert caught.value.key == key


def test_all_that_dataflow_needs_is_said_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        choice.effective(["--runner=dataflow", "--region=europe-west4"], CLOUD)
    said = str(caught.value)
    assert said.startswith("project = None: ")
    assert re.findall(r"and --(\w+), ", said) == ["sdk_container_image", "temp_location"]


def test_dataflow_reads_and_writes_no_file_of_this_machine() -> None:
    for job in (Job(1, 1, ("gs://b/a",), ("/out",)), Job(1, 1, ("/a",), ("gs://b/out",))):
        with pytest.raises(ConfigurationError, match="path in a bucket"):
            choice.effective(DATAFLOW, job)


def test_prism_is_never_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prism, "location", lambda: None)
    with pytest.raises(ConfigurationError, match=rf"prism@v{apache_beam.__version__}"):
        choice.effective(["--runner=prism"], JOB)
    monkeypatch.setattr(prism, "location", lambda: "/bin/prism")
    assert "--prism_location=/bin/prism" in choice.effective(["--runner=prism"], JOB).arguments


def test_presets_of_flink_hang_on_its_version() -> None:
    def options(*more: str) -> list[str]:
        return choice.effective([*FLINK[:2], *more], CLOUD).arguments

    batch = "--execution_mode_for_batch=BATCH_FORCED"
    assert batch in options("--flink_version=1.20")
    assert batch not in options("--flink_version=2.0")
    place = "--state_backend_storage_path=s3://b/state"
    assert "--state_backend=rocksdb" in options("--flink_version=2.2", place)
    assert "--state_backend=rocksdb" not in options("--flink_version=2.2")


@pytest.mark.parametrize(
    ("more", "job", "said"),
    [
        (["--environment_cache_millis=30000"], CLOUD, "3 of 3"),
        (["--parallelism=100"], CLOUD, "partitions"),
        (["--flink_version=2.0"], Job(10**10, 640), "RocksDB"),
        (["--job_endpoint=far:8099"], JOB, "shared storage"),
        ([], Job(1, 640, largest_element=9_000_000), "9 MB"),
    ],
)
def test_what_may_go_wrong_on_flink_is_said(more: list[str], job: Job, said: str) -> None:
    call = [*FLINK, "--parallelism=8"]
    assert not choice.effective(call, CLOUD).warnings
    (warning,) = choice.effective([*call, *more], job).warnings
    assert said in warning


@pytest.mark.parametrize(
    ("partitions", "machine", "most"),
    [(1, "n2-standard-2", 1), (256, "n2-standard-2", 4), (10_000, "n2-standard-8", 39)],
)
def test_machines_of_dataflow_go_by_the_partitions(
    partitions: int, machine: str, most: int
) -> None:
    assert dataflow.machines(partitions) == (machine, most)


def test_a_job_on_flink_that_says_no_parallelism_is_warned_of() -> None:
    (warning,) = choice.effective(FLINK, CLOUD).warnings
    assert "one slot does it all" in warning


def test_flink_is_spoken_to_by_its_job_server_or_by_one_that_beam_starts() -> None:
    assert choice.effective(FLINK, CLOUD).beam == "PortableRunner"
    own = ["--runner=flink", "--flink_master=h:8081", "--flink_job_server_jar=/j.jar"]
    assert choice.effective([*own, "--flink_version=1.20"], CLOUD).beam == "FlinkRunner"


@pytest.mark.parametrize("runner", choice.RUNNERS, ids=lambda runner: runner.name)
def test_every_runner_is_a_module_of_its_name(runner: choice.Runner) -> None:
    assert importlib.import_module(f"runners.{runner.name}").RUNNER is runner
    assert runner.memory(JOB) > 10**8
    assert runner.memory(replace(JOB, slice_sums=10**9)) > 10**9


def test_versions_of_flink_are_those_that_beam_knows() -> None:
    from apache_beam.options.pipeline_options import FlinkRunnerOptions

    assert set(flink.VERSIONS) == set(FlinkRunnerOptions.PUBLISHED_FLINK_VERSIONS)
