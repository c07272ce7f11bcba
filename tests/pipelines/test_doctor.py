"""``liangchi doctor``: every line is fine or says what to do, and nothing hangs."""

from __future__ import annotations

import contextlib
import http.server
import io
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
import pytest

from pipelines import command, doctor, options, recipes
from runners import probes
from transforms import facts


def examined(*flags: object) -> tuple[int, list[dict[str, str]]]:
    """The exit code and the lines."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = command.main(["doctor", "--print", "json", *map(str, flags)])
    assert not stderr.getvalue()
    return code, [json.loads(line) for line in stdout.getvalue().splitlines()]


def wrong(lines: list[dict[str, str]]) -> str:
    return "\n".join(f"{x['name']}: {x['text']}" for x in lines if x["state"] == "WRONG")


def test_a_healthy_place_is_fine_and_nothing_is_left(tmp_path: Path) -> None:
    output = tmp_path / "deep" / "out"
    output.parent.mkdir()
    code, lines = examined(*harness.CHAT_INPUTS.flags(), "--output", output)
    assert code == 0, wrong(lines)
    assert {line["state"] for line in lines} == {"ok"}
    text = [line["text"] for line in lines]
    assert "the same versions, code, dictionary and tokenizer as here" in text
    assert {"can read the input", "can write to the output"} < set(text)
    assert list(output.parent.iterdir()) == []


def test_what_is_wrong_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_ask", lambda *given: {})
    (tmp_path / "kept").write_text("x")
    code, lines = examined("--hypotheses", "/nowhere", "--references", "/n", "--output", tmp_path)
    assert code == 2
    said = wrong(lines)
    assert "matches no file" in said
    assert "holds 'kept' already" in said
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_workers_that_are_not_as_here_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = facts.of_this_process()
    told = {name: {value} for name, value in ours.items()}
    told |= {"pyarrow": {"1.0", ours["pyarrow"]}, facts.MEMORY: {"1000"}}
    told |= {facts.of_recipe("main"): {"lindera:lindera-python-jieba=0"}}
    monkeypatch.setattr(doctor, "_ask", lambda *given: told)
    code, lines = examined()
    assert code == 2
    assert "are not as here: pyarrow 1.0" in wrong(lines)
    assert "recipe of main lindera:lindera-python-jieba=0" in wrong(lines)
    assert "dictionary of jieba" not in wrong(lines)
    assert "a worker needs about 0.3 GB, and has 0.0 GB" in wrong(lines)


def test_workers_find_the_folder_as_a_run_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Made by them it would be theirs; a run makes it here, and they may be another user.
    output = tmp_path / "out"
    found: list[bool] = []

    def ask(question: dict[str, object]) -> dict[str, set[str]]:
        found.append(output.is_dir())
        raise doctor.JobFailed(f"PermissionError: [Errno 13] Permission denied: '{output}/x'")

    monkeypatch.setattr(doctor, "_ask", ask)
    code, lines = examined(*harness.CHAT_INPUTS.flags(), "--output", output)
    assert (code, found) == (2, [True])
    assert "write into a folder that this user makes" in wrong(lines)
    assert not output.exists()


def test_a_store_without_credentials_is_said_within_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(doctor, "_ask", lambda question: pytest.fail() if question["probe"] else {})
    start = time.monotonic()
    code, lines = examined("--output", "s3://bucket/run")
    assert time.monotonic() - start < doctor.OUTPUT_SECONDS
    assert code == 2
    assert "the store wants credentials" in wrong(lines)
    assert wrong(lines).count("bucket") == 2


def test_what_only_may_go_wrong_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {name: {value} for name, value in facts.of_this_process().items()}
    told |= {facts.of_recipe("main"): {measured_signature()}, facts.MEMORY: {"9000000000"}}
    monkeypatch.setattr(doctor, "_ask", lambda question: told)
    monkeypatch.setattr(probes, "job_options", lambda endpoint: {"flink_master"})
    code, lines = examined(
        *("--runner", "flink", "--flink_version", "1.20", "--job_endpoint", "h:8099"),
        *("--parallelism", "9", *harness.CHAT_INPUTS.flags()),
    )
    assert code == 0, wrong(lines)
    notes = [line["text"] for line in lines if line["state"] == "note"]
    assert any("--parallelism=9" in note for note in notes)
    assert any("a path of this machine" in note for note in notes)


def measured_signature() -> str:
    """Of the recipe of a call that says nothing of it."""
    call = options.parse([*harness.CHAT_INPUTS.flags(), "--output", "-"])
    return recipes.made(recipes.of_tracks(call.config)["main"]).signature()


def test_workers_without_liangchi_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*given: object) -> None:
        raise doctor.JobFailed("Traceback\nModuleNotFoundError: No module named 'transforms'")

    monkeypatch.setattr(doctor, "_ask", ask)
    code, lines = examined()
    assert code == 2
    assert "have no liangchi" in wrong(lines)


def test_a_job_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "JOB_SECONDS", 0.1)
    start = time.monotonic()
    code, lines = examined()
    assert time.monotonic() - start < harness.PATIENCE
    assert code == 2
    assert "no answer within 0 s" in wrong(lines)


def test_input_that_does_not_answer_is_left_alone() -> None:
    with pytest.raises(doctor.TooLate):
        doctor.within(0.05, lambda: time.sleep(5))
    with pytest.raises(ZeroDivisionError):
        doctor.within(5, lambda: 1 // 0)
    assert doctor.within(5, lambda: 3) == 3


@contextlib.contextmanager
def rest(answer: dict[str, Any]) -> Iterator[str]:
    """A server that gives one answer to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *given: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ({"flink-version": "1.20.3", "slots-total": 4}, "--parallelism=9: it has 4 slots"),
        ({"flink-version": "2.0.1", "slots-total": 16}, "runs 2.0.1: say --flink_version"),
        ({"flink-version": "1.20.3", "slots-total": 0}, "no TaskManager"),
        ({"other": 1}, "not Flink's"),
    ],
)
def test_the_cluster_is_compared_with_the_call(
    tmp_path: Path, cluster: dict[str, Any], said: str
) -> None:
    jar = tmp_path / "beam-runners-flink-2.0-job-server-2.77.0.jar"
    jar.write_bytes(b"")
    with rest(cluster) as master:
        code, lines = examined(
            *("--runner", "flink", "--flink_version", "1.20", "--flink_master", master),
            *("--flink_job_server_jar", jar, "--parallelism", 9),
        )
    assert code == 2
    assert said in wrong(lines)
    assert "is for Flink 2.0, not 1.20" in wrong(lines)
    assert lines[-1]["text"] == "not asked: first mend what stands above"


def test_a_job_server_that_is_not_there_or_says_nothing_costs_seconds() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        start = time.monotonic()
        with pytest.raises(OSError, match=r"DEADLINE|UNAVAILABLE"):
            probes.job_options(f"127.0.0.1:{silent.getsockname()[1]}", 0.5)
        with pytest.raises(OSError):
            probes.flink_overview(f"127.0.0.1:{silent.getsockname()[1]}", 0.5)
        assert time.monotonic() - start < harness.PATIENCE


def test_lines_are_shown_and_not_obeyed() -> None:
    line = doctor.Line(doctor.WRONG, "input", "a\x1b[2J\nb")
    assert doctor.printed(line) == "WRONG  input         a\\x1b[2J\n" + " " * 21 + "b\n"
