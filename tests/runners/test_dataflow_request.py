"""The request that Dataflow would get, made without a network; and the flex template."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import apache_beam as beam
import harness
import pytest
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from pipelines import evaluation, flex_template, options, settings
from runners import choice

ROOT = Path(__file__).resolve().parents[2]
METADATA = ROOT / "runners" / "dataflow" / "metadata.json"

GIVEN = [
    *("--runner=dataflow", "--project=project", "--region=europe-west4"),
    *("--temp_location=gs://bucket/tmp", "--sdk_container_image=registry/liangchi-worker:0.1.0"),
]
MOST_PAYLOAD = 20_000
"""Bytes of one step's specification on the small example."""


def translated(plan: evaluation.Plan, *more: str) -> tuple[Any, Any]:
    """(the graph, the environment) of the request for a job whose files lie in a bucket."""
    from apache_beam.runners.dataflow.internal import apiclient

    job = replace(evaluation.job(plan), inputs=("gs://bucket/a",), outputs=("gs://bucket/out",))
    arguments = [*choice.effective([*GIVEN, *more], job).arguments, "--dry_run=True"]
    beam_options = PipelineOptions(arguments)
    root = beam.Pipeline(options=beam_options)
    evaluation.define_pipeline(root, plan)
    graph = root.run().job.proto_pipeline
    environment = apiclient.Environment(
        packages=[],
        options=beam_options,
        environment_version="8",
        proto_pipeline_staged_url="gs://bucket/tmp/pipeline.pb",
        proto_pipeline=graph,
    )
    return graph, environment.proto


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    # It would ask the bucket for its policy, and only warn of what it finds.
    name = "_warn_if_soft_delete_policy_enabled"
    monkeypatch.setattr(GoogleCloudOptions, name, lambda self, location: None)


def planned(*flags: str, files: int = 1) -> evaluation.Plan:
    given = [*harness.CHAT_INPUTS.flags(), "--output", "gs://bucket/out", *flags]
    plan = evaluation.plan(options.parse(given).config)
    # As many files as a large run has; the first stands for all.
    many = [
        replace(file, path=f"gs://bucket/run-2026-11-30/hypotheses/part-{i:05d}.parquet")
        for i in range(files - 1)
        for file in plan.inputs.files[:1]
    ]
    return replace(plan, inputs=replace(plan.inputs, files=(*plan.inputs.files, *many)))


def test_the_request_has_our_image_and_what_is_recommended() -> None:
    graph, environment = translated(planned("--slices", "domain"), "--experiments=of_the_user")
    (pool,) = environment.worker_pools
    (harness_image,) = pool.sdk_harness_container_images
    image = "registry/liangchi-worker:0.1.0"
    assert harness_image.container_image == pool.worker_harness_container_image == image
    # So that a machine of n cores has n workers, as the memory is reckoned.
    assert harness_image.use_single_core_per_container
    assert pool.num_threads_per_worker == 2
    assert (pool.machine_type, pool.disk_size_gb) == ("n2-standard-2", 50)
    assert pool.autoscaling_settings.max_num_workers == 1
    assert {"use_runner_v2", "of_the_user"} <= set(environment.experiments)
    (worker,) = graph.components.environments.values()
    assert worker.urn == "beam:env:docker:v1"
    assert image.encode() in worker.payload


def test_nothing_of_this_process_is_sent() -> None:
    graph, _ = translated(planned())
    (worker,) = graph.components.environments.values()
    staged = [dependency.role_payload for dependency in worker.dependencies]
    assert not any(b"main_session" in name or b".tar" in name for name in staged)


def test_the_graph_is_small_and_of_the_same_size_whatever_is_measured() -> None:
    few, _ = translated(planned("--metrics", "bleu", "cider_d", "--bootstrap", "10"))
    more, _ = translated(
        planned("--metrics", "bleu", "cider_d", "--bootstrap", "5000", "--systems", *"abcdefgh")
    )
    sizes = [len(g.components.transforms) for g in (few, more)]
    assert sizes[1] <= sizes[0] < 150
    for graph in (few, more):
        for step in graph.components.transforms.values():
            assert len(step.spec.payload) < MOST_PAYLOAD, step.unique_name


def test_five_thousand_files_make_no_large_step() -> None:
    # Two steps grow with the input: what there is to read, and what the manifest says was read.
    one, many = (
        {
            t.unique_name: len(t.spec.payload)
            for t in translated(plan)[0].components.transforms.values()
        }
        for plan in (planned(), planned(files=5000))
    )
    grown = {name for name in many if many[name] > 1.2 * one[name]}
    assert grown == {"Splits/Each", "WriteResults/Results"}
    assert max(many.values()) < 100_000


def parameters() -> list[dict[str, Any]]:
    content = json.loads(METADATA.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = content["parameters"]
    return found


def test_the_template_has_every_setting_and_is_up_to_date() -> None:
    # python -m pipelines.flex_template --metadata > runners/dataflow/metadata.json
    assert json.loads(METADATA.read_text(encoding="utf-8")) == flex_template.metadata()
    names = {parameter["name"] for parameter in parameters()}
    image = {flex_template.IMAGE}
    assert names == {*settings.BY_KEY} - flex_template.NOT_IN_TEMPLATE | image
    assert not [p["name"] for p in parameters() if "%%" in p["helpText"]]


def test_a_parameter_takes_what_its_setting_takes() -> None:
    for parameter in parameters():
        setting = settings.BY_KEY.get(parameter["name"])
        if setting is None or setting.default in (None, (), "") or setting.several:
            continue
        value = str(setting.default).lower() if setting.kind is bool else str(setting.default)
        for regex in parameter.get("regexes", ["."]):
            assert re.match(regex, value), setting.key


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        (["--hypotheses=a,b"], ["--hypotheses", "a", "b"]),
        (["--skip_bad_files=true"], ["--skip_bad_files"]),
        (["--overwrite=false"], ["--no-overwrite"]),
        (["--bootstrap=10", "--region=r"], ["--bootstrap=10", "--region=r"]),
    ],
)
def test_parameters_become_flags(given: list[str], flags: list[str]) -> None:
    assert flex_template.arguments(given) == flags


def test_all_parameters_together_make_a_call() -> None:
    values = {
        **{p["name"]: "x" for p in parameters()},
        **{s.key: "1" for s in settings.SETTINGS if s.kind in (int, float)},
        **{s.key: "true" for s in settings.SETTINGS if s.kind is bool},
        **{s.key: s.choices[0] for s in settings.SETTINGS if s.choices},
        **{s.key: "x=y" for s in settings.SETTINGS if "=" in s.shown},
    }
    del values["save_document_frequencies"]  # goes with no --document_frequencies
    given = [f"--{p['name']}={values[p['name']]}" for p in parameters() if p["name"] in values]
    values_read = options.values(flex_template.arguments(given))
    assert values_read["hypotheses"] == ("x",)
    assert values_read["skip_bad_files"] is True
    assert "--sdk_container_image=x" in values_read["beam"]
