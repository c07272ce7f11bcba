"""``--plan``: what it prints, that it runs nothing, and that its guesses hold; names of steps."""

from __future__ import annotations

import re
from pathlib import Path

import apache_beam as beam
import elements
import harness
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_runner_api_pb2

from benchmarks import data
from pipelines import evaluation, options, plan
from pipelines.evaluation import Plan
from runners.base import ELEMENT_BYTES, element_warning
from transforms import progress, scores

EXAMPLES = 8_000
STEPS = Path(__file__).with_name("golden") / "steps.txt"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> harness.Inputs:
    folder = tmp_path_factory.mktemp("made") / "data"
    data.make(folder, EXAMPLES, 3, processes=1)
    return harness.Inputs(folder / "hypotheses", folder / "references")


def planned(inputs: harness.Inputs, output: Path, *flags: object) -> Plan:
    call = options.parse([*inputs.flags(), "--output", str(output), *map(str, flags)])
    return evaluation.plan(call.config)


def test_a_plan_is_printed_and_nothing_is_written(tmp_path: Path) -> None:
    secret = ("--", "--s3_secret_access_key=XYZ")
    ran = harness.run(harness.CHAT_INPUTS, tmp_path / "out", "--plan", *secret)
    assert ran.code == 0
    assert not (tmp_path / "out").exists()
    text = ran.stdout
    assert "XYZ" not in text
    assert re.search(r"--runner=FnApiRunner +direct", text)
    assert re.search(r"--s3_secret_access_key=\.\.\. +given", text)
    assert re.search(r"hypotheses +1,200 rows in 4 files", text)
    assert re.search(
        r"-> DocumentFrequencies/ByBucket +\d[\d.]* [kM]?B in 1 element$", text, re.MULTILINE
    )
    assert "-> Read/Spread" in text


def test_a_plan_is_the_same_each_time_and_options_stand_with_their_values(tmp_path: Path) -> None:
    call = [*harness.CHAT_INPUTS.flags(), "--output", str(tmp_path / "out"), "--plan"]
    call += ["--slices", "domain", "--temp_location", "/x", "--direct_num_workers=2"]
    # Beam keeps stages in sets, whose order hangs on addresses.
    texts = [harness.command_run("evaluate", *call)[1] for _ in range(3)]
    assert len(set(texts)) == 1
    assert re.search(r"^  --temp_location /x +given$", texts[0], re.MULTILINE)
    order = ["Read/Spread", "Join/ByPartition", "Segments/ByPartition", "WriteResults/Together"]
    assert sorted(order, key=texts[0].index) == order


ALL = ("--slices", "domain", "--resample_by", "domain", "--replicate_groups", 3)


@pytest.mark.parametrize("flags", [(), ALL, ("--systems", "a", "--metrics", "bleu")])
def test_names_of_steps_are_stable_and_readable(tmp_path: Path, flags: tuple[object, ...]) -> None:
    stages = plan.stages(planned(harness.CHAT_INPUTS, tmp_path / "out", *flags))
    names = [name for stage in stages for name in stage.steps]
    assert len(names) > 20
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[A-Z][A-Za-z]*(/[A-Z][A-Za-z]*|/ParDo\(_?[A-Z][A-Za-z]*\))*", name)


def test_names_of_steps_are_those_that_dashboards_know(tmp_path: Path) -> None:
    # A change here is one that users of Flink's and Dataflow's pages see: name it in CHANGELOG.md.
    flags = (*ALL, "--pairs", "all", "--reference_ceiling")
    stages = plan.stages(planned(harness.CHAT_INPUTS, tmp_path / "out", *flags))
    names = sorted(name for stage in stages for name in stage.steps)
    assert names == STEPS.read_text(encoding="utf-8").split()


def test_nothing_is_kept_without_bounds(tmp_path: Path) -> None:
    root = beam.Pipeline("FnApiRunner", PipelineOptions([]))
    flags = (*ALL, "--pairs", "all", "--reference_ceiling")
    evaluation.define_pipeline(root, planned(harness.CHAT_INPUTS, tmp_path / "out", *flags))
    components = root.to_runner_api().components
    steps = [
        beam_runner_api_pb2.ParDoPayload.FromString(step.spec.payload)
        for step in components.transforms.values()
        if step.spec.urn == common_urns.primitives.PAR_DO.urn
    ]
    assert len(steps) > 20
    assert not any(step.state_specs or step.timer_family_specs for step in steps)
    # Portable runners break a stage before a step that has one, and Flink sends it to every task.
    assert not any(step.side_inputs for step in steps)
    bounded = beam_runner_api_pb2.IsBounded.BOUNDED
    assert {p.is_bounded for p in components.pcollections.values()} == {bounded}
    windows = components.windowing_strategies.values()
    assert {w.window_fn.urn for w in windows} == {common_urns.global_windows.urn}


def test_every_guess_is_of_a_shuffle_that_is_there(tmp_path: Path) -> None:
    planned_all = planned(harness.CHAT_INPUTS, tmp_path / "out", *ALL)
    names = {s.steps[0].removesuffix("/Group") for s in plan.stages(planned_all) if s.is_shuffle}
    assert set(evaluation.shuffles(planned_all)) <= names


@pytest.mark.parametrize(
    "flags",
    [
        ("--slices", "domain", "--bootstrap", 300, "--replicate_groups", 2),
        ("--partitions", 1, "--bootstrap", 0),
    ],
)
def test_no_element_is_too_large_and_guesses_hold_within_twice(
    made: harness.Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[object, ...]
) -> None:
    guessed = evaluation.shuffles(planned(made, tmp_path / "out", *flags))
    with elements.watched(monkeypatch) as sizes:
        harness.run(made, tmp_path / "out", *flags).fine()
    assert {"Join/ByPartition", "Segments/ByPartition", "Slices/Finish/BySlice"} < set(sizes)
    for name, found in sizes.items():
        assert max(found) < ELEMENT_BYTES, name
        if sum(found) > 1_000_000:
            # Of slices only the most is known before.
            most = 52 if name in ("Slices/Sums/Sum", "Slices/Finish/BySlice") else 2
            assert guessed[name].bytes / most < sum(found) < 2 * guessed[name].bytes, name
            assert guessed[name].largest / 2 < max(found) < 2 * guessed[name].largest, name


def test_comparisons_of_all_pairs_make_no_large_element(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems, examples = 4, 20
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table(
            (f"e{i}", f"s{j}", 0, f"a b c {(i + j) % 7} {i * j % 5}")
            for i in range(examples)
            for j in range(systems)
        ),
        harness.references_table((f"e{i}", [f"a b c {i % 7} {i % 3}"]) for i in range(examples)),
    )
    flags = ("--tokenizer", "none", "--pairs", "all", "--trials", 10_000, "--reference_ceiling")
    whole = harness.run(inputs, tmp_path / "whole", *flags).fine()
    planned_all = planned(inputs, tmp_path / "out", *flags)
    guessed = evaluation.shuffles(planned_all)
    with monkeypatch.context() as patched, elements.watched(patched) as sizes:
        # Rows of differences go in parts; a run has so few that there would be one.
        patched.setattr(scores, "DIFFERENCES_OF_A_PACKET", 7)
        cut = harness.run(inputs, tmp_path / "out", *flags).fine()
    for name in ("scores.parquet", "comparisons.parquet", "ranking.parquet"):
        assert (cut.folder / name).read_bytes() == (whole.folder / name).read_bytes()
    for name in ("Slices/Sums/Sum", "Slices/Finish/BySlice"):
        assert 500_000 < max(sizes[name]) < 2_200_000
        assert guessed[name].largest == pytest.approx(max(sizes[name]), rel=0.01)
    assert sum(sizes["Slices/Finish/BySlice"]) == pytest.approx(
        evaluation.job(planned_all).slice_sums, rel=0.01
    )
    of_rows = guessed["WriteResults/Together"].bytes
    assert of_rows / 2 < sum(sizes["WriteResults/Together"]) < 2 * of_rows


@pytest.mark.parametrize(
    ("flags", "large"),
    [
        ((), False),
        (("--pairs", "all", "--trials", 10_000), False),
        (("--pairs", "all", "--missing", "skip", "--trials", 10_000), True),
        (("--bootstrap", 10_000, "--metrics", "bleu", "cider_d"), True),
    ],
)
def test_elements_that_many_systems_make_large_are_known_before(
    tmp_path: Path, flags: tuple[object, ...], large: bool
) -> None:
    systems = [f"s{i}" for i in range(60)]
    of_many = planned(harness.CHAT_INPUTS, tmp_path / "out", "--systems", *systems, *flags)
    job = evaluation.job(of_many)
    assert (job.largest_element > ELEMENT_BYTES) == large
    assert bool(element_warning(job)) == large


def test_the_statistics_are_written_where_they_are_made(tmp_path: Path) -> None:
    # They are the largest elements; in a stage of its own the writer would be sent them.
    stages = plan.stages(planned(harness.CHAT_INPUTS, tmp_path / "out"))
    (stage,) = [stage for stage in stages if "Segments/Statistics" in stage.steps]
    assert {"Slices/Sums/Tasks", "WriteSegments/File", "Slices/Sums/Resample"} < set(stage.steps)


def test_the_manifest_tells_of_every_stage(chat: harness.Ran) -> None:
    manifest = chat.fine().manifest
    assert set(manifest["seconds"]) == set(progress.STAGES)
    assert all(0 < seconds < 3600 for seconds in manifest["seconds"].values())
    assert manifest["counts"]["tokens.main"] > 1000
    assert not [name for name in manifest["counts"] if "seconds" in name]
    assert {"partitions", "buckets", "inputs", "files"} < set(manifest)
