"""How a local job is run, by its size and by what the user says."""

from __future__ import annotations

import os
import sys

import pytest

from runners import direct

SMALL, LARGE = 1_000_000, 1_000_000_000


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)


@pytest.mark.usefixtures("four_cores")
def test_a_small_input_stays_in_memory_and_a_large_one_gets_a_process_for_every_core() -> None:
    assert direct.options([], SMALL, 100) == [
        "--direct_running_mode=in_memory",
        "--direct_num_workers=4",
    ]
    assert direct.options(["--temp_location=x"], LARGE, 100) == [
        "--direct_running_mode=multi_processing",
        "--direct_num_workers=4",
    ]


@pytest.mark.usefixtures("four_cores")
def test_there_are_never_more_workers_than_partitions() -> None:
    assert direct.options([], SMALL, 1)[1] == "--direct_num_workers=1"
    assert direct.options([], LARGE, 3) == [
        "--direct_running_mode=in_memory",
        "--direct_num_workers=3",
    ]


@pytest.mark.parametrize("cores", [1, 2])
def test_a_large_input_stays_in_memory_on_few_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
    assert direct.options([], LARGE, 100) == [
        "--direct_running_mode=in_memory",
        f"--direct_num_workers={cores}",
    ]


def test_threads_hand_over_quickly() -> None:
    before = sys.getswitchinterval()
    try:
        direct.prepare()
        assert sys.getswitchinterval() < 0.001
    finally:
        sys.setswitchinterval(before)


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize(
    "given",
    [
        ["--direct_running_mode=multi_threading"],
        ["--direct_running_mode", "in_memory"],
        ["--direct_num_workers=2"],
        ["--direct_num_workers", "2", "--direct_running_mode=multi_processing"],
    ],
)
def test_what_the_user_says_wins(given: list[str], size: int) -> None:
    assert direct.options(given, size, 100) == []


def test_all_names_of_the_local_runner_are_known() -> None:
    assert set(direct.NAMES) == {"direct", "DirectRunner", "FnApiRunner"}
