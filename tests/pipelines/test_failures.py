"""What goes wrong and what is said: the caller's errors as they are, ours on one screen with a
report for whoever mends it."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys
from pathlib import Path

import harness
import pytest

from pipelines import command, failures, logs
from schemas.errors import (
    ConfigurationError,
    InputError,
    OutputError,
    UnavailableError,
    UserError,
)

FAILING = """
import os
import signal

from schemas.errors import InputError
from scoring.text.tokenizers.blanks import BlankTokenizer


class Failing:
    name = "failing"

    def signature(self):
        return "failing-1"

    def tokenize(self, texts):
        how = os.environ["HOW"]
        if how == "user":
            raise InputError("words.txt: line 3 has \\x1b[31mno weight.\\nExpected a number.")
        if how == "ours":
            raise RuntimeError("the tokenizer fails on purpose")
        if how == "full":
            raise OSError(28, "No space left on device", "/data/out")
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "killed at the end":
            return BlankTokenizer().tokenize(texts)
        raise AssertionError(how)


def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)


if os.environ["HOW"] == "killed at the end":
    import transforms.write

    transforms.write._WriteResults._by_slice = die
"""


def run_failing(
    folder: Path, how: str, *flags: object, code: str = "", **environment: str
) -> harness.Ran:
    """A run whose tokenizer fails, in a process of its own."""
    described = folder / "installed" / "failing_plugin-1.0.dist-info"
    described.mkdir(parents=True)
    plugin = described.parent
    (plugin / "failing_plugin.py").write_text(FAILING, encoding="utf-8")
    (described / "METADATA").write_text("Name: failing-plugin\nVersion: 1.0\n", encoding="utf-8")
    (described / "entry_points.txt").write_text(
        "[liangchi.tokenizers]\nfailing = failing_plugin:Failing\n", encoding="utf-8"
    )
    given = {"PYTHONPATH": harness.python_path(plugin), "HOW": how, **environment}
    all_flags = ("--tokenizer", "failing", "--partitions", 4, *flags)
    return harness.run_process(harness.CHAT_INPUTS, folder / "out", *all_flags, environment=given)


PROCESSES = ("--direct_running_mode=multi_processing", "--direct_num_workers=2")
MODES = [
    ("--direct_running_mode=in_memory",),
    ("--direct_running_mode=multi_processing", "--direct_num_workers=1"),
]


@pytest.mark.parametrize("mode", MODES)
def test_what_a_worker_finds_wrong_with_the_input_is_said_as_it_is(
    tmp_path: Path, mode: tuple[str, ...]
) -> None:
    ran = run_failing(tmp_path, "user", *mode)
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == (
        "liangchi: words.txt: line 3 has \\x1b[31mno weight.\nExpected a number.\n"
    )
    assert not list(tmp_path.glob("liangchi-report-*"))


@pytest.mark.parametrize("mode", MODES)
def test_our_fault_is_said_on_one_screen_with_a_report(
    tmp_path: Path, mode: tuple[str, ...]
) -> None:
    secret = "--s3_secret_access_key=hunter2"
    ran = run_failing(tmp_path, "ours", *mode, "--", secret)
    assert (ran.code, ran.stdout) == (1, "")
    (report,) = tmp_path.glob("liangchi-report-*.txt")
    assert ran.stderr.splitlines() == [
        "liangchi: this is our fault, not yours: RuntimeError: the tokenizer fails on purpose",
        f"A report is in {report} (nothing was sent).",
        "Try again; if it happens again, send the report to whoever looks after liangchi here.",
        f"The run is incomplete: {tmp_path / 'out'} holds no manifest.",
    ]
    assert oct(report.stat().st_mode & 0o777) == "0o600"
    text = report.read_text(encoding="utf-8")
    for part in (
        "Traceback (most recent call last)",
        'failing_plugin.py", line',
        "apache-beam",
        "numpy",
        "platform",
        "--tokenizer",
        str(tmp_path / "out"),
    ):
        assert part in text, part
    assert "hunter2" not in text
    assert "--s3_secret_access_key=..." in text
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["_liangchi.json"]


@pytest.mark.parametrize("mode", MODES)
def test_what_the_machine_refuses_is_for_its_owner(tmp_path: Path, mode: tuple[str, ...]) -> None:
    ran = run_failing(tmp_path, "full", *mode)
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.splitlines() == [
        "liangchi: the machine refused: [Errno 28] No space left on device: '/data/out'",
        "Free some space, or name a folder on another disk.",
    ]


def test_a_worker_that_is_killed_ends_the_run(tmp_path: Path) -> None:
    ran = run_failing(tmp_path, "killed", *PROCESSES)
    assert (ran.code, ran.stdout) == (1, "")
    assert "A worker ended early, mostly for lack of memory" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(ran.stderr.splitlines()) < 10
    assert list(tmp_path.glob("liangchi-report-*.txt"))


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_last_stage_ends_the_run_too(tmp_path: Path) -> None:
    # Beam's local runner alone would wait for it for ever; the harness gives up some day.
    ran = run_failing(tmp_path, "killed at the end", *PROCESSES)
    assert (ran.code, ran.stdout) == (1, "")
    assert "A worker ended early, mostly for lack of memory" in ran.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_json_lines_have_the_failure_too(tmp_path: Path) -> None:
    ran = run_failing(tmp_path, "ours", "--log_json")
    lines = ran.stderr.splitlines()
    assert ran.code == 1
    assert all(line.startswith('{"time": ') for line in lines)
    assert "this is our fault" in lines[-1]
    assert any('"event": "log"' in line and "on purpose" in line for line in lines)


# In the process of the caller


def test_in_this_process_too_nothing_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("\x1b[2Jon purpose\nsecond line")

    monkeypatch.setattr("pipelines.evaluation.define_pipeline", fail)
    ran = harness.run(harness.CHAT_INPUTS, tmp_path / "out")
    assert ran.code == 1
    assert "not yours: ValueError: \\x1b[2Jon purpose\n" in ran.stderr
    assert "second line" not in ran.stderr
    (report,) = tmp_path.glob("liangchi-report-*.txt")
    assert "second line" in report.read_text(encoding="utf-8")


def test_a_report_goes_where_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    error, log = ValueError("x"), logs.Log(None, False)
    nowhere = str(tmp_path / "nowhere")
    path = failures.write_report(error, [], nowhere, log)
    assert path is not None and Path(path).parent == temporary
    path = failures.write_report(error, [], None, log)
    assert path is not None and Path(path).parent == temporary
    monkeypatch.setattr("tempfile.tempdir", nowhere)
    assert failures.write_report(error, [], nowhere, log) is None


# What is found in an error


class Wrapped(UserError):
    """An error of a kind that Beam cannot make again."""

    def __init__(self, path: str, found: str) -> None:
        super().__init__(f"{path}: {found}\nMend it.")


def raised(error: Exception, cause: Exception) -> Exception:
    try:
        try:
            raise cause
        except Exception as inner:
            raise error from inner
    except Exception as outer:
        return outer


TRACEBACK = """Traceback (most recent call last):
  File "apache_beam/runners/common.py", line 1, in process
schemas.errors.InputError: first: not the one

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "x.py", line 3, in process
    raise InputError("...")
schemas.errors.InputError: a.parquet: row 3 is bad.
Write it again. [while running 'Read/RowGroups']
"""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("a: bad"), "a: bad"),
        (InputError("a: bad [while running 'Read/ReadAndCheck']"), "a: bad"),
        (ConfigurationError("k", 1, "2"), "k = 1: expected 2"),
        (raised(RuntimeError("x"), InputError("inside")), "inside"),
        (RuntimeError(TRACEBACK), "a.parquet: row 3 is bad.\nWrite it again."),
        (
            RuntimeError(f"{__name__}.Wrapped: a: bad\nMend it. [while running 'X']"),
            "a: bad\nMend it.",
        ),
        (OSError(errno.EACCES, "Permission denied", "/x"), "the machine refused"),
        (RuntimeError("OSError: [Errno 28] No space left on device [while running 'W']"), "space"),
    ],
)
def test_errors_of_the_caller_are_found_however_they_are_wrapped(
    error: Exception, message: str
) -> None:
    found = failures.user_error(error)
    assert found is not None
    assert message in str(found)
    assert "while running" not in str(found)
    assert isinstance(found, OutputError) == ("refused" in str(found))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (
            "java.net.ConnectException: java.net.ConnectException: finishConnect(..) failed: "
            "Connection refused",
            "an address",
        ),
        (
            "x.AnnotatedConnectException: Connection refused: localhost/127.0.0.1:50009",
            "localhost/127.0.0.1:50009",
        ),
    ],
)
def test_a_job_server_of_java_that_finds_nobody_is_understood(text: str, address: str) -> None:
    found = failures.user_error(RuntimeError(f"Pipeline x failed in state FAILED: {text}"))
    assert isinstance(found, UnavailableError)
    assert str(found).startswith(f"nobody answers at {address}, where the job looks")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("an InputError: of another kind"),
        RuntimeError("text schemas.errors.InputError: in the middle"),
        OSError(errno.ENOENT, "No such file"),
        RuntimeError("OSError: [Errno 5] Input/output error"),
        KeyError(),
    ],
)
def test_other_errors_are_ours(error: Exception) -> None:
    assert failures.user_error(error) is None
    assert "\n" not in failures.summary(error)


def test_a_summary_is_one_line_that_says_what_happened() -> None:
    text = (
        "Error processing instruction 5. Original traceback is\nTraceback (most recent call last):"
    )
    text += "\n  File 'x.py', line 1\n    raise ValueError('x')\nValueError: it broke"
    assert failures.summary(RuntimeError(f"{text} [while running 'Y']")) == "ValueError: it broke"
    assert failures.summary(ValueError("")) == "ValueError"
    assert len(failures.summary(ValueError("x" * 5000))) < 320


def test_secrets_are_left_out_of_reports() -> None:
    given = ["evaluate", "--s3_secret_access_key", "a", "--api_token=b", "--tokenizer", "char"]
    given += ["--password=c", "--output", "d", "--gcp_credentials=e", "--user_key", "f", "g"]
    assert failures.without_secrets(given) == [
        *("evaluate", "--s3_secret_access_key", "...", "--api_token=...", "--tokenizer", "char"),
        *("--password=...", "--output", "d", "--gcp_credentials=...", "--user_key", "...", "..."),
    ]


# The command around it


def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pipelines.command", *arguments],
        env={**harness.process_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=harness.PATIENCE,
        encoding="utf-8",
    )


def test_a_terminal_that_knows_only_ascii_shows_the_rest_escaped(chat: harness.Ran) -> None:
    folder = str(chat.fine().folder)
    done = call("explain", folder, "alarms-01", "--system", "beam", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "query        \\u660e\\u65e9" in done.stdout


def test_a_reader_that_has_seen_enough_is_no_failure(chat: harness.Ran) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.command", "show", str(chat.fine().folder)],
        env=harness.process_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert (process.wait(timeout=harness.PATIENCE), process.stderr.read()) == (0, b"")
    process.stderr.close()


def test_a_call_without_stderr_works(chat: harness.Ran) -> None:
    call_ = f"exec {sys.executable} -m pipelines.command show {chat.fine().folder} 2>&-"
    done = subprocess.run(
        ["/bin/sh", "-c", call_],
        env=harness.process_environment(),
        stdout=subprocess.PIPE,
        text=True,
        timeout=harness.PATIENCE,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("beam ")


def test_exit_codes_are_those_that_help_documents(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["evaluate", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "0 fine, 2 wrong call or input, 3 data below the limits, 4 a store does not answer: try "
        "again later, 1 our fault, 130 stopped by Ctrl-C or SIGTERM" in said
    )
    assert (command.FINE, command.OUR_FAULT, command.WRONG_CALL) == (0, 1, 2)
    assert (command.BELOW_LIMITS, command.TRY_AGAIN, command.STOPPED) == (3, 4, 130)


def test_a_job_service_that_does_not_answer_is_said_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and it does not listen
        endpoint = f"localhost:{taken.getsockname()[1]}"
        where = ("--runner=portable", f"--job_endpoint={endpoint}")
        ran = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *where)
    assert ran.code == 4
    assert f"--job_endpoint {endpoint}: no job service answers there" in ran.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("runner", "said"),
    [
        ("NoSuchRunner", "runner = 'NoSuchRunner': expected what Beam can run: "),
        ("DataflowRunner", "project = None: expected the project of Google Cloud"),
    ],
)
def test_a_runner_that_cannot_be_used_is_said_before_anything_is_written(
    tmp_path: Path, runner: str, said: str
) -> None:
    ran = harness.run(harness.CHAT_INPUTS, tmp_path / "out", f"--runner={runner}")
    message = ran.refused()
    assert said in message
    assert not (tmp_path / "out").exists()
