"""What is imported, pickled and started when, and on which runner."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import apache_beam as beam
import harness
import pytest

from pipelines import command, evaluation, options
from transforms.packets import Packet

AFTER_HELP = """
import json, sys
from pipelines.command import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0
print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize("arguments", [["evaluate", "--help"], ["--help"]])
def test_help_imports_neither_beam_nor_numpy(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AFTER_HELP, *arguments],
        env=harness.process_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    *said, last = done.stdout.splitlines()
    loaded = set(json.loads(last))
    assert "pipelines.command" in loaded
    assert not loaded & {"apache_beam", "numpy", "pyarrow", "scoring", "transforms"}
    assert any("evaluate" in line for line in said)


def test_help_names_every_flag_of_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        command.main(["evaluate", "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    flags = "hypotheses references output metrics tokenizer weights smoothing bootstrap confidence"
    flags += " seed resample_by slices systems missing document_frequencies"
    flags += " save_document_frequencies run_id partitions max_rejected"
    assert [f for f in flags.split() if f"--{f} " not in said] == []


def test_the_module_that_is_run_prints_the_table_and_the_folder(tmp_path: Path) -> None:
    output = tmp_path / "out"
    ran = harness.run_process(harness.CHAT_INPUTS, output, "--bootstrap", 20)
    ran.fine()
    lines = ran.stdout.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["beam", "greedy", "sampling"]
    assert all("  BLEU-4 0." in line and "  CIDEr-D " in line for line in lines[:3])
    assert lines[-1] == str(output)


def test_nothing_is_pickled_by_the_name_of_the_module_that_is_run(tmp_path: Path) -> None:
    # Worker processes have another __main__, and other working directories.
    output = tmp_path / "out"
    flags = ("--bootstrap", 20, "--partitions", 2, "--direct_running_mode=multi_processing")
    ran = harness.run_process(harness.CHAT_INPUTS, output, *flags, "--direct_num_workers=1")
    assert ran.fine().score("beam", "bleu")["value"] > 0.4


def test_no_packet_is_pickled_on_its_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Packet, protocol: object) -> None:
        raise AssertionError(f"a packet of kind {self.kind} is pickled")

    monkeypatch.setattr(Packet, "__reduce_ex__", fail)
    flags = ("--bootstrap", 20, "--partitions", 2, "--resample_by", "domain", "--slices", "domain")
    more = ("--replicate_groups", 2, "--save_document_frequencies", tmp_path / "table")
    harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags, *more).fine()
    with pytest.raises(AssertionError, match="kind x is pickled"):
        beam.coders.PickleCoder().encode(Packet("x"))


def test_the_graph_does_not_grow_with_systems_metrics_slices_or_replicates(tmp_path: Path) -> None:
    def steps(*flags: str) -> int:
        given = [*harness.CHAT_INPUTS.flags(), "--output", str(tmp_path / "out"), *flags]
        root = beam.Pipeline(runner="FnApiRunner")
        evaluation.define_pipeline(root, evaluation.plan(options.parse(given).config))
        return len(root.to_runner_api().components.transforms)

    # Slices have a few steps of their own, however many there are.
    small = steps("--metrics", "cider_d", "--bootstrap", "1", "--slices", "domain")
    large = ["--metrics", "bleu", "cider_d", "cider", "--bootstrap", "5000"]
    assert steps(*large, "--slices", "domain", "query", "domain*query") == small
    assert not (tmp_path / "out").exists()


def test_a_pipeline_can_be_defined_without_the_command_and_twice_on_one_root(
    tmp_path: Path,
) -> None:
    given = [*harness.CHAT_INPUTS.flags(), "--bootstrap", "20", "--output"]
    plans = [evaluation.plan(options.parse([*given, str(tmp_path / name)]).config) for name in "ab"]
    with beam.Pipeline(runner="FnApiRunner") as root:
        for name, plan in zip("ab", plans):
            root | name >> _Embedded(plan)
    outputs = [harness.Output(tmp_path / name) for name in "ab"]
    harness.check_same_bytes(*outputs)
    again = harness.run(harness.CHAT_INPUTS, tmp_path / "c", "--bootstrap", 20).fine()
    harness.check_same_bytes(outputs[0], again)


class _Embedded(beam.PTransform):  # type: ignore[misc]
    """One evaluation inside of another pipeline."""

    def __init__(self, plan: evaluation.Plan) -> None:
        super().__init__()
        self._plan = plan

    def expand(self, root: beam.pvalue.PBegin) -> beam.PCollection:
        return evaluation.define_pipeline(root.pipeline, self._plan)


def runner_of(*arguments: str) -> str:
    """The runner that a small job with these Beam arguments goes to."""
    given = [*harness.CHAT_INPUTS.flags(), "--output", "out", *arguments]
    call = options.parse(given)
    effective = evaluation.effective(evaluation.plan(call.config), call.beam)
    chosen = beam.options.pipeline_options.PipelineOptions(effective.arguments)
    return str(chosen.view_as(beam.options.pipeline_options.StandardOptions).runner)


@pytest.mark.parametrize("name", [None, "direct", "DirectRunner", "FnApiRunner"])
def test_every_name_of_the_local_runner_means_the_one_that_downloads_nothing(
    name: str | None,
) -> None:
    assert runner_of(*([f"--runner={name}"] if name else [])) == "FnApiRunner"
    assert runner_of(*(["--runner", name] if name else [])) == "FnApiRunner"


def test_configurations_can_be_compared_and_not_changed() -> None:
    one, other = (
        options.parse([*harness.CHAT_INPUTS.flags(), "--output", "out", "--seed", seed]).config
        for seed in ("1", "1")
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one != dataclasses.replace(one, tokenizer="char")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.tokenizer = "char"  # type: ignore[misc]
