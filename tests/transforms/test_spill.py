"""Packets that lie in a file come back as they were, to every process that may ask; where no file
can be had, everything is as without one."""

from __future__ import annotations

import errno
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import harness
import numpy as np
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from hypothesis import given
from hypothesis import strategies as st

from runners import direct
from runners.options import Options, workers_are_here
from transforms import spill
from transforms.packets import Packet, PacketCoder

LARGE = 100_000
REFERENCE_BYTES = 20

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="a system without /proc has no such files"
)


def packet(number: int, size: int = LARGE) -> Packet:
    return Packet("kind", {"number": number}, {"array": np.full(size, number, np.uint8)})


@given(st.lists(st.integers(1, 3 * spill.LEAST_BYTES) | st.just(LARGE), max_size=8))
def test_bytes_come_back_in_any_order(sizes: list[int]) -> None:
    made = [b"%d" % number + os.urandom(size) for number, size in enumerate(sizes)]
    with spill.opened():
        given_ = [spill.put(data) for data in made]
        assert [spill.get(data) for data in reversed(given_)] == made[::-1]
        assert [spill.size(data) for data in given_] == [len(data) for data in made]
    for data, stands in zip(made, given_):
        assert len(stands) == (REFERENCE_BYTES if len(data) >= spill.LEAST_BYTES else len(data))


def test_a_packet_that_is_passed_on_is_neither_read_nor_written_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    coder = PacketCoder()
    with spill.opened():
        first = coder.encode(packet(7))
        assert len(first) == REFERENCE_BYTES
        passed = coder.decode(first)
        with monkeypatch.context() as patched:
            patched.setattr(spill, "put", None)
            patched.setattr(spill, "get", None)
            assert coder.encode(passed) == first
            assert coder.estimate_size(passed) > LARGE
        assert passed.meta == {"number": 7}
        assert coder.encode(passed) == first
        assert passed.arrays["array"].tolist() == [7] * LARGE


def test_without_a_file_packets_are_their_bytes() -> None:
    assert spill.PLACE not in os.environ
    assert len(packet(1).encode()) > LARGE


def test_the_file_has_no_name_and_is_gone_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with spill.opened():
        spill.put(bytes([1]) * LARGE)
        place = os.environ[spill.PLACE]
        assert os.stat(place).st_size == LARGE
        assert os.stat(place).st_mode & 0o077 == 0
        assert os.stat(place).st_dev == os.stat(tmp_path).st_dev
        assert not list(tmp_path.iterdir())
        mine = os.open(place, os.O_RDONLY)
    assert not os.path.exists(place)
    os.close(mine)
    with pytest.raises(RuntimeError, match="another process"):
        spill.get(bytes(REFERENCE_BYTES))


def test_an_error_closes_the_file_and_one_within_another_gives_it_back() -> None:
    with spill.opened():
        outer = os.environ[spill.PLACE]
        kept = spill.put(b"outer" * LARGE)
        with pytest.raises(KeyError), spill.opened():
            assert os.environ[spill.PLACE] != outer
            raise KeyError
        assert os.environ[spill.PLACE] == outer
        assert spill.get(kept) == b"outer" * LARGE
    assert spill.PLACE not in os.environ


# Writes its own packets and says what stands for them, then reads those of another process.
WORKER = """
import sys
from transforms import spill
number = int(sys.argv[1])
for i in range(50):
    print(spill.put(b"%d,%d;" % (number, i) * 20_000).hex(), flush=True)
for i in range(50):
    assert spill.get(bytes.fromhex(input())) == b"%d,%d;" % (1 - number, i) * 20_000, i
"""


def test_processes_that_append_at_once_read_what_each_other_wrote() -> None:
    with spill.opened():
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, str(number)],
                env=harness.process_environment() | {spill.PLACE: os.environ[spill.PLACE]},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(2)
        ]
        said = [[worker.stdout.readline() for _ in range(50)] for worker in workers]
        for worker, lines in zip(workers, reversed(said)):
            worker.communicate("".join(lines), timeout=harness.PATIENCE)
            assert worker.returncode == 0
        assert all(len(line) == 2 * REFERENCE_BYTES + 1 for lines in said for line in lines)
        assert spill.get(bytes.fromhex(said[1][49])) == b"1,49;" * 20_000


def test_threads_that_append_at_once_each_get_their_own() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        made = [bytes([number]) * (LARGE + i) for i in range(100)]
        stand_for = [spill.put(data) for data in made]
        if [spill.get(data) for data in stand_for] != made:
            wrong.append(number)

    with spill.opened():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_forked_process_appends_for_itself() -> None:
    def fine(number: int) -> bool:
        made = [bytes([number]) * (LARGE + i) for i in range(200)]
        return [spill.get(spill.put(data)) for data in made] == made

    with spill.opened():
        spill.put(b"a" * LARGE)  # opens the file
        child = multiprocessing.get_context("fork").Process(
            target=lambda: os._exit(0 if fine(1) else 1)
        )
        child.start()
        assert fine(2)
        child.join(harness.PATIENCE)
        assert child.exitcode == 0


def refused(*arguments: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def half(descriptor: int, data: bytes) -> int:
    return WRITE(descriptor, data[: len(data) // 2])


WRITE = os.write


@pytest.mark.parametrize("write", [refused, half])
def test_a_full_disk_leaves_packets_in_memory(
    write: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = b"a" * LARGE, b"b" * LARGE
    with spill.opened():
        before = spill.put(one)
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", write)
            assert spill.put(two) == two
        after = spill.put(two)
        assert len(before) == len(after) == REFERENCE_BYTES
        assert [spill.get(data) for data in (before, two, after)] == [one, two, two]


def test_some_of_a_disk_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with spill.opened():
        monkeypatch.setattr(spill, "LEFT_BYTES", 10**18)
        assert spill.put(b"a" * LARGE) == b"a" * LARGE
        assert os.stat(os.environ[spill.PLACE]).st_size == 0


def test_what_is_reckoned_with_before_a_run_is_what_is_left() -> None:
    assert direct.DISK_LEFT_BYTES == spill.LEFT_BYTES


def test_a_folder_that_takes_no_file_is_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nonexistent")
    with spill.opened():
        assert spill.PLACE not in os.environ
        assert spill.put(b"a" * LARGE) == b"a" * LARGE


def test_a_file_that_is_cut_is_an_error() -> None:
    with spill.opened():
        stands = spill.put(b"a" * LARGE)
        os.truncate(os.environ[spill.PLACE], LARGE - 1)
        with pytest.raises(RuntimeError, match="100000 bytes its file has 99999"):
            spill.get(stands)


def test_a_local_run_holds_no_packet_between_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = spill.put
    sizes: list[tuple[int, int]] = []

    def noted(data: bytes) -> bytes:
        stands = put(data)
        sizes.append((len(data), len(stands)))
        return stands

    monkeypatch.setattr(spill, "put", noted)
    harness.run(harness.CHAT_INPUTS, tmp_path / "out", "--bootstrap", 100).fine()
    large = [stands for size, stands in sizes if size >= spill.LEAST_BYTES]
    assert len(large) > 10
    assert {*large} == {REFERENCE_BYTES}
    assert sum(size for size, _ in sizes) > 100 * sum(stands for _, stands in sizes)
    assert spill.PLACE not in os.environ


@pytest.mark.parametrize(
    ("arguments", "here"),
    [
        (["--runner=FnApiRunner"], True),
        (["--runner=FnApiRunner", "--direct_running_mode=multi_processing"], True),
        (["--runner=PrismRunner", "--environment_type=LOOPBACK"], True),
        (["--runner=PortableRunner", "--environment_type=LOOPBACK"], True),
        (["--runner=PortableRunner", "--environment_type=EXTERNAL"], False),
        (["--runner=FlinkRunner", "--environment_type=EXTERNAL"], False),
        (["--runner=DataflowRunner"], False),
        (["--runner=PrismRunner", "--environment_type=DOCKER"], False),
    ],
)
def test_only_workers_of_this_machine_may_get_a_file(arguments: list[str], here: bool) -> None:
    for options in (Options(arguments), PipelineOptions(arguments)):
        assert workers_are_here(options) is here
