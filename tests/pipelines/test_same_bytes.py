"""Scores, replicates and segments are the same bytes however the work is cut and run."""

from __future__ import annotations

from pathlib import Path

import harness
import pytest
from harness import BASE_FLAGS


@pytest.mark.parametrize("partitions", [1, 7])
def test_any_number_of_partitions_gives_the_same_bytes(
    chat: harness.Ran, tmp_path: Path, partitions: int
) -> None:
    flags = (*BASE_FLAGS, "--partitions", partitions)
    output = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    assert output.manifest["partitions"] == partitions
    assert len(list((output.folder / "segments").glob("*.parquet"))) == partitions
    harness.check_same_bytes(chat.fine(), output)


def test_more_groups_of_replicates_give_the_same_bytes(chat: harness.Ran, tmp_path: Path) -> None:
    flags = (*BASE_FLAGS, "--partitions", 2, "--replicate_groups", 3)
    output = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    harness.check_same_bytes(chat.fine(), output)


@pytest.mark.parametrize(("shards", "row_group_size", "shuffle"), [(1, 50, 1), (11, 7, 2)])
def test_shuffled_and_resharded_input_gives_the_same_bytes(
    chat: harness.Ran, tmp_path: Path, shards: int, row_group_size: int, shuffle: int
) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.read_folder(harness.CHAT_INPUTS.hypotheses),
        harness.read_folder(harness.CHAT_INPUTS.references),
        shards=shards,
        row_group_size=row_group_size,
        shuffle=shuffle,
    )
    output = harness.run(inputs, tmp_path / "out", *BASE_FLAGS, "--partitions", 2).fine()
    assert len(output.manifest["inputs"]) == 2 * shards
    harness.check_same_bytes(chat.fine(), output)


@pytest.mark.parametrize("workers", [1, 4])
def test_threads_give_the_same_bytes(chat: harness.Ran, tmp_path: Path, workers: int) -> None:
    beam = ("--direct_running_mode=in_memory", f"--direct_num_workers={workers}")
    flags = (*BASE_FLAGS, "--partitions", 4, *beam)
    output = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    harness.check_same_bytes(chat.fine(), output)


def test_worker_processes_give_the_same_bytes(chat: harness.Ran, tmp_path: Path) -> None:
    # Two of them: tests/runners/test_same_bytes_everywhere.py.
    workers = ("--direct_running_mode=multi_processing", "--direct_num_workers=3")
    flags = (*BASE_FLAGS, "--partitions", 4, *workers)
    output = harness.run_process(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    harness.check_same_bytes(chat.fine(), output)


def test_bundles_that_are_run_twice_give_the_same_bytes(chat: harness.Ran, tmp_path: Path) -> None:
    flags = (*BASE_FLAGS, "--partitions", 3, "--direct_runner_bundle_repeat=2")
    output = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    harness.check_same_bytes(chat.fine(), output)


def test_another_seed_gives_other_intervals_and_equal_scores(
    chat: harness.Ran, tmp_path: Path
) -> None:
    # So that the tests above compare something that can differ.
    output = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *BASE_FLAGS, "--seed", 7).fine()
    base = chat.fine()
    assert [row["value"] for row in output.scores] == [row["value"] for row in base.scores]
    differ = [
        one["ci_low"] != other["ci_low"]
        for one, other in zip(output.scores, base.scores, strict=True)
    ]
    assert all(differ)
    with pytest.raises(AssertionError, match=r"scores\.parquet"):
        harness.check_same_bytes(base, output)
