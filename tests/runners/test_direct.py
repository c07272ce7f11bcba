"""How a local job is run, by its size and by what the user says."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pyarrow as pa
import pytest

from runners import choice, direct
from runners.base import Job
from schemas.errors import ConfigurationError

SMALL, LARGE = 1_000_000, 1_000_000_000

Cores = Callable[[int], None]


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Cores:
    """A machine of so many cores."""

    def have(number: int) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {*range(number)}, raising=False)

    return have


@pytest.mark.parametrize(
    ("number", "size", "tasks", "mode", "workers"),
    [
        (2, SMALL, 1, "in_memory", 1),
        (2, SMALL, 50, "in_memory", 2),
        (2, LARGE, 50, "in_memory", 2),
        (8, SMALL, 50, "in_memory", 8),
        (8, LARGE, 50, "multi_processing", 8),
        (8, LARGE, 5, "multi_processing", 5),
        (8, LARGE, 2, "in_memory", 2),
    ],
)
def test_workers_are_as_many_as_cores_and_tasks_and_processes_only_where_they_pay(
    cores: Cores, number: int, size: int, tasks: int, mode: str, workers: int
) -> None:
    cores(number)
    assert direct.options(["--temp_location=x"], size, tasks) == [
        f"--direct_running_mode={mode}",
        f"--direct_num_workers={workers}",
    ]


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
def test_what_the_user_says_wins(cores: Cores, given: list[str], size: int) -> None:
    cores(8)
    assert direct.options(given, size, 50) == []


def test_all_names_of_the_local_runner_are_known() -> None:
    assert set(direct.NAMES) == {"direct", "DirectRunner", "FnApiRunner"}


def test_threads_hand_over_the_lock_much_sooner_than_python_does_by_itself() -> None:
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)
        direct.prepare()
        assert sys.getswitchinterval() <= 0.001
    finally:
        sys.setswitchinterval(before)


@pytest.fixture(params=["disk", "no disk"])
def disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether there is a disk that takes what passes between stages."""
    free = 10**15 if request.param == "disk" else None
    monkeypatch.setattr(direct, "_disk_free", lambda: free)
    return free is not None


def test_the_memory_of_a_run_grows_with_its_input_where_no_disk_takes_what_passes(
    cores: Cores, disk: bool
) -> None:
    cores(2)
    one, two, three = (direct.memory_needed(Job(n * LARGE, 50)) for n in range(1, 4))
    assert one > 0
    assert two - one == pytest.approx(three - two, rel=1e-6)
    assert (two == one) is disk
    assert direct.memory_needed(Job(SMALL, 50)) < 400_000_000


def test_the_memory_of_a_run_grows_with_its_draws(cores: Cores, disk: bool) -> None:
    cores(2)
    few, many = (direct.memory_needed(Job(LARGE, 50, slice_sums=n * LARGE)) for n in range(2))
    assert many >= few + LARGE


def test_worker_processes_need_more_than_threads(
    cores: Cores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "_disk_free", lambda: 10**15)
    cores(8)
    small, large = (direct.memory_needed(Job(size, 50)) for size in (LARGE // 8, LARGE))
    assert large > small + 8 * 300_000_000


def test_a_disk_that_is_too_small_for_what_passes_takes_none_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = LARGE + direct.DISK_LEFT_BYTES
    monkeypatch.setattr(direct, "_disk_free", lambda: free)
    assert direct.spills(Job(LARGE, 50, shuffled=LARGE))
    assert not direct.spills(Job(LARGE, 50, shuffled=LARGE + 1))


def test_what_is_free_on_the_disk_is_read_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    free = direct._disk_free()
    assert free is None or free >= 0
    monkeypatch.setattr("tempfile.tempdir", "/nonexistent")
    assert direct._disk_free() is None


def test_a_run_that_the_machine_cannot_hold_is_told_before(
    monkeypatch: pytest.MonkeyPatch, disk: bool
) -> None:
    needed = direct.memory_needed(Job(LARGE, 50))
    monkeypatch.setattr(direct, "_memory_free", lambda: needed)
    assert direct.memory_warning(Job(LARGE, 50)) == ""
    monkeypatch.setattr(direct, "_memory_free", lambda: needed - 1)
    said = direct.memory_warning(Job(LARGE, 50, shuffled=5 * LARGE))
    assert "GB are free here" in said
    assert ("5.0 GB, finds no room in" in said) is not disk
    assert "--runner flink" in said


def test_nothing_is_said_where_the_free_memory_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(direct, "_memory_free", lambda: None)
    assert direct.memory_warning(Job(10**15, 1)) == ""


def test_the_free_memory_is_read_from_the_system() -> None:
    free = direct._memory_free()
    assert free is None or 10**7 < free < 10**14


def test_the_mode_that_cuts_elements_in_two_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="in_memory, which has a thread for each"):
        choice.effective(["--direct_running_mode=multi_threading"], Job(1000, 4))


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's settings are set on Linux only")
def test_memory_of_arrays_is_kept_for_the_next() -> None:
    direct.prepare()
    assert pa.default_memory_pool().backend_name == "system"
