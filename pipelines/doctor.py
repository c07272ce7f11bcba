"""``liangchi doctor``: whether a run could work here and on its workers; each line is fine or says
what to do. Whatever is asked has a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines import evaluation, failures, recipes
from pipelines.options import Call
from pipelines.text import printable
from runners import choice, probes
from runners.base import Given, Job
from schemas.errors import UserError
from transforms import create, facts, files, stores

INPUT_SECONDS = 120.0
OUTPUT_SECONDS = 30.0
JOB_SECONDS = 90.0

OK, WRONG, NOTE, UNKNOWN = "ok", "WRONG", "note", "-"


@dataclass(frozen=True)
class Line:
    """What was found of one thing. state: OK, WRONG, NOTE (it may do), or UNKNOWN: not asked."""

    state: str
    name: str
    text: str


class TooLate(Exception):
    """Something did not answer within its time."""


Answer = TypeVar("Answer")
Told = dict[str, set[str]]


def within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """What ``ask`` returns or raises. Raises TooLate if it takes longer; it is left alone then."""
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(ask())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise TooLate(f"no answer within {seconds:.0f} s")
    return answers[0]


def examined(found: dict[str, Any]) -> Iterator[Line]:
    """One line after the other. found: the settings of the call, as options.values gives them."""
    ours = facts.of_this_process()
    versions = ", ".join(f"{name} {ours[name]}" for name in ("python", *facts.DISTRIBUTIONS))
    yield Line(OK, "here", versions)
    call, line = _call(found)
    if line is not None:
        yield line
        return
    assert call is not None
    stores.use(call.beam)
    try:
        parts = recipes.of_tracks(call.config)
        ours |= {facts.of_recipe(n): recipes.made(p, "").signature() for n, p in parts.items()}
    except UserError as error:
        yield Line(WRONG, "settings", str(error))
        return
    job, plan_line = _input(found, call)
    yield plan_line
    output = _output(found)
    yield output
    try:
        where = choice.effective(call.beam, job)
    except UserError as error:
        yield Line(WRONG, "options", str(error))
        return
    yield Line(OK, "options", f"runner {where.runner.name}, as {where.beam}; more by --plan")
    for warning in where.warnings:
        yield Line(NOTE, "options", warning)
    services = list(_services(where, Given(call.beam)))
    yield from services
    if any(line.state == WRONG for line in services):
        yield Line(UNKNOWN, "workers", "not asked: first mend what stands above")
    elif where.runner.name == "dataflow":
        yield Line(UNKNOWN, "workers", "not asked: a job of Dataflow takes minutes and is paid for")
    else:
        question = {
            "arguments": where.arguments,
            # What cannot be done here would be said a second time.
            "inputs": sorted({job.inputs[0], job.inputs[-1]}) if job.inputs else [],
            "recipes": {name: asdict(part) for name, part in parts.items()},
        }
        folder = files.absolute(found["output"]) if output.state == OK else None
        yield from _workers(where, job, ours, question, folder)


def _call(found: dict[str, Any]) -> tuple[Call | None, Line | None]:
    """The call, with stand-ins for what is not given."""
    from pipelines import options

    missing = {"hypotheses": ("-",), "references": ("-",), "output": "-"}
    try:
        return options.call(found | {k: v for k, v in missing.items() if not found[k]}), None
    except UserError as error:
        return None, Line(WRONG, "settings", str(error))


def _input(found: dict[str, Any], call: Call) -> tuple[Job, Line]:
    if not (found["hypotheses"] and found["references"]):
        return Job(0, 1), Line(UNKNOWN, "input", "not read: no --hypotheses and --references")
    # A table that is to be saved must not be there, but that is the output's affair.
    config = replace(call.config, save_document_frequencies=None)
    try:
        plan = within(INPUT_SECONDS, lambda: evaluation.plan(config))
    except Exception as error:
        return Job(0, 1), Line(WRONG, "input", _said(error))
    count = len(plan.inputs.files)
    text = f"{count:,} files, {plan.inputs.bytes / 1e6:,.1f} MB, {plan.inputs.partitions:,} "
    return evaluation.job(plan), Line(OK, "input", f"{text}partitions")


def _output(found: dict[str, Any]) -> Line:
    if not found["output"]:
        return Line(UNKNOWN, "output", "not written to: no --output")
    folder = files.absolute(found["output"])
    try:
        held = within(OUTPUT_SECONDS, lambda: _write_probe(folder))
    except TooLate as error:
        return Line(WRONG, "output", f"{folder}: {error}")
    except Exception as error:
        return Line(WRONG, "output", f"{folder}: cannot be written: {_said(error)}")
    if held and not found["overwrite"]:
        said = f"{folder}: holds {held[0]!r} already; a run needs a new or empty folder"
        return Line(WRONG, "output", said)
    return Line(OK, "output", f"{folder}: written to and deleted again")


def _write_probe(folder: str) -> list[str]:
    """Write a file into a folder, delete it; what else the folder holds."""
    if not files.is_local(folder):
        stores.check(folder)  # what is not there is known at once
    held = files.listing(folder)
    new = files.is_local(folder) and not os.path.exists(folder)
    path = _probe(folder)
    files.write_bytes(path, b"liangchi doctor")
    _delete(path)
    if new:
        os.rmdir(folder)
    return held


def _probe(folder: str) -> str:
    return files.join(folder, f".liangchi-probe-{secrets.token_hex(8)}")


def _delete(path: str) -> None:
    if files.is_local(path):
        os.unlink(path)
        return
    from apache_beam.io.filesystems import FileSystems

    FileSystems.delete([path])


_JAR = re.compile(r"flink-(\d+\.\d+)-job-server-(\d+\.\d+\.\d+)")


def _services(where: choice.Effective, given: Given) -> Iterator[Line]:
    of_flink = where.runner.name == "flink"
    if endpoint := given.value("job_endpoint"):
        yield _job_endpoint(endpoint, of_flink)
    if not of_flink:
        return
    version = given.value("flink_version") or ""
    if jar := given.value("flink_job_server_jar"):
        yield _jar(jar, version)
    if not (master := given.value("flink_master")):
        said = "not asked: --flink_master=HOST:8081 names its REST service"
        yield Line(UNKNOWN, "Flink", said)
        return
    try:
        cluster = probes.flink_overview(master)
    except (OSError, ValueError) as error:
        yield Line(WRONG, "Flink", f"{master}: {error}. Start it, or name its REST service")
        return
    running, slots = str(cluster["flink-version"]), int(cluster.get("slots-total", 0))
    if ".".join(running.split(".")[:2]) != version:
        yield Line(WRONG, "Flink", f"{master} runs {running}: say --flink_version as it is")
    elif slots == 0:
        yield Line(WRONG, "Flink", f"{master}: {running}, but no TaskManager: start some")
    else:
        yield Line(OK, "Flink", f"{running} with {slots} slots")
        parallelism = given.value("parallelism") or "0"
        if parallelism.isdecimal() and int(parallelism) > slots:
            yield Line(WRONG, "Flink", f"--parallelism={parallelism}: it has {slots} slots")


def _job_endpoint(endpoint: str, of_flink: bool) -> Line:
    try:
        known = probes.job_options(endpoint)
    except OSError as error:
        said = f"{endpoint}: {error}. Start the job server, or name its job port"
        return Line(WRONG, "job endpoint", said)
    if of_flink and "flink_master" not in known:
        return Line(WRONG, "job endpoint", f"{endpoint}: is not Flink's. Start Flink's job server")
    return Line(OK, "job endpoint", f"{endpoint} answers")


def _jar(jar: str, version: str) -> Line:
    if not os.path.isfile(jar) and "://" not in jar:
        return Line(
            WRONG, "job server", f"{jar}: no such file; fetch it from Maven (docs/flink.md)"
        )
    found = _JAR.search(os.path.basename(jar))
    ours = metadata.version("apache-beam")
    if found and found[1] != version:
        return Line(WRONG, "job server", f"{jar} is for Flink {found[1]}, not {version}")
    if found and found[2] != ours:
        said = f"{jar} is of Beam {found[2]}, here is {ours}: fetch that of {ours}"
        return Line(WRONG, "job server", said)
    return Line(OK, "job server", os.path.basename(jar))


def _workers(
    where: choice.Effective,
    job: Job,
    ours: dict[str, str],
    question: dict[str, Any],
    folder: str | None,
) -> Iterator[Line]:
    probe = _probe(folder) if folder else None
    try:
        with _left_as_it_was(folder, probe):
            yield from _told(where, job, ours, question | {"probe": probe})
    except TooLate as error:
        said = f"a job of one element: {error}. Is the worker pool there, where its workers look?"
        left = "" if where.runner.local else " It may still run: cancel it where it does"
        yield Line(WRONG, "workers", said + left)
    except Exception as error:
        yield Line(WRONG, "workers", _worker_error(error))


@contextlib.contextmanager
def _left_as_it_was(folder: str | None, probe: str | None) -> Iterator[None]:
    """The folder as workers will find it: on a disk a run makes it here, and workers that are
    another user may not write into it. What they wrote is deleted, also by one whose job failed."""
    new = folder is not None and files.is_local(folder) and not os.path.exists(folder)
    if folder is not None and new:
        os.makedirs(folder)
    try:
        yield
    finally:
        if probe is not None and folder is not None:
            with contextlib.suppress(Exception):
                within(OUTPUT_SECONDS, lambda: _delete(probe))
            with contextlib.suppress(OSError):
                if new:
                    os.rmdir(folder)


def _told(
    where: choice.Effective,
    job: Job,
    ours: dict[str, str],
    question: dict[str, Any],
) -> Iterator[Line]:
    told = _ask(question)
    differing = {n: told.get(n, {"unknown"}) for n in ours if told.get(n) != {ours[n]}}
    if differing:
        each = "; ".join(f"{n} {', '.join(sorted(v))}" for n, v in differing.items())
        yield Line(WRONG, "workers", f"are not as here: {each}. Install the same, or use one image")
    else:
        yield Line(OK, "workers", "the same versions, code, dictionary and tokenizer as here")
    if question["inputs"]:
        yield Line(OK, "workers", "can read the input")
    if question["probe"] is not None:
        yield _seen(question["probe"])
    yield _memory(where, job, told.get(facts.MEMORY, set()))


class JobFailed(Exception):
    """The job of one element failed; what it said."""


def _ask(question: dict[str, Any]) -> Told:
    """What the workers tell. In a process of its own, which can be ended when it hangs: a worker
    pool that is not there makes some runners wait for ever.

    Raises TooLate, JobFailed.
    """
    # S603: the call is fixed.
    with subprocess.Popen(
        [sys.executable, "-m", "pipelines.doctor"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            answer, log = process.communicate(json.dumps(question), timeout=JOB_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise TooLate(f"no answer within {JOB_SECONDS:.0f} s") from error
        finally:
            # And what it started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    for line in answer.splitlines():
        if line.startswith(_MARK):
            return {name: set(values) for name, values in json.loads(line[len(_MARK) :]).items()}
    raise JobFailed(log)


_MARK = "liangchi doctor: "


def _answer(question: str) -> None:
    """Run the job of one element and print what its workers tell."""
    asked = json.loads(question)
    root = beam.Pipeline(options=PipelineOptions(asked["arguments"]))
    parts = {name: recipes.Parts(**fields) for name, fields in asked["recipes"].items()}
    made = {name: recipes.made(part, "") for name, part in parts.items()}
    tell = beam.Map(facts.tell, asked["inputs"], asked["probe"], made)
    root | "One" >> create.Create([b""], bytes) | "Tell" >> tell
    result = root.run()
    result.wait_until_finish()
    told = {name: sorted(values) for name, values in facts.told(result).items()}
    sys.stdout.write(f"{_MARK}{json.dumps(told)}\n")
    sys.stdout.flush()
    os._exit(0)  # whatever Beam's threads still wait for


def _worker_error(error: Exception) -> str:
    text = str(error)
    if "No module named" in text:
        return "have no liangchi (or another one): use its image, or install the same version there"
    if failures.nobody_at(text) is not None:
        return _said(error)
    said = _said(error).rstrip(".")
    return (
        f"{said}. They must see the same files as this machine, and be able to write into a folder "
        "that this user makes"
    )


def _seen(probe: str) -> Line:
    """Whether what a worker wrote is there."""
    try:
        data = within(OUTPUT_SECONDS, lambda: files.read_bytes(probe))
    except Exception:
        said = "wrote a file that is not here: their --output is another folder. Share it"
        return Line(WRONG, "workers", said)
    assert data == os.path.basename(probe).encode()
    return Line(OK, "workers", "can write to the output")


def _memory(where: choice.Effective, job: Job, told: set[str]) -> Line:
    needed = where.runner.memory(job)
    least = min((int(text) for text in told if text.isdecimal()), default=None)
    said = f"a worker needs about {needed / 1e9:.1f} GB"
    if least is None:
        return Line(UNKNOWN, "memory", f"{said}; how much it has is not known")
    if least < needed:
        do = "Give it more, or take fewer workers a machine"
        return Line(WRONG, "memory", f"{said}, and has {least / 1e9:.1f} GB. {do}")
    return Line(OK, "memory", f"{said}, and has {least / 1e9:.1f} GB")


def _said(error: BaseException) -> str:
    found = failures.user_error(error)
    if found is None and isinstance(error, OSError) and error.strerror:
        return error.strerror + (f": {error.filename}" if error.filename else "")
    return str(found) if found else failures.summary(error)


def printed(line: Line) -> str:
    """The line as it stands on a terminal."""
    head = f"{line.state:<5}  {line.name:<12}  "
    return head + f"\n{'':{len(head)}}".join(map(printable, line.text.split("\n"))) + "\n"


def as_json(line: Line) -> str:
    """The line as JSON."""
    return json.dumps({"state": line.state, "name": line.name, "text": line.text}) + "\n"


if __name__ == "__main__":
    _answer(sys.stdin.read())
