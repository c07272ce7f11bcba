"""The command ``liangchi``. Beam and numpy are imported only when a job is run, and other rooms
only after a look at where they would come from."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines import interrupts, logs, rooms, secrets
from pipelines.text import printable_lines

if TYPE_CHECKING:
    from pipelines.options import Call
    from pipelines.report import Result

FINE, OUR_FAULT, WRONG_CALL, BELOW_LIMITS, TRY_AGAIN = 0, 1, 2, 3, 4
STOPPED = interrupts.STOPPED

_USAGE = """usage: liangchi COMMAND ...

  evaluate   score systems' texts against references
  score      the same for files of lines; a line a score
  doctor     check that a run could work, here and on its workers
  config     print the settings in force, as a file for --config
  show       print a finished run again
  explain    show how one example got its scores
  compare    compare two finished runs
  tokenize   show what a recipe does to a text, step by step
  tokenizers compare tokenizers on your data
  suggest    find candidates for your dictionaries in your data

liangchi COMMAND --help says more.
"""


@dataclass
class Session:
    """One call of the command: what its parts must know of each other.

    owner: whether the process is the command's own. output: the folder of the run, once it is
    known; claimed: whether it is this run's already.
    """

    log: logs.Log
    interrupts: interrupts.Interrupts
    arguments: Sequence[str]
    owner: bool = False
    output: str | None = None
    claimed: bool = False
    remote: bool = False

    def say(self, message: str, level: str = "error") -> None:
        """Tell the user something on stderr, as text or as a line of JSON."""
        message = self.log.hide(message)
        if self.log.as_json:
            self.log.event("message", level, message=message)
            return
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"liangchi: {printable_lines(message)}\n")
            sys.stderr.flush()

    def end(self, code: int) -> None:
        """End the process and its workers, whatever Beam's threads still wait for."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        interrupts.end_children()
        os._exit(code)

    def worker_died(self) -> bool:
        """Whether Beam's local runner has said that a worker process did not end well."""
        return any("Worker subprocess exited" in line for line in self.log.errors)

    def lose_worker(self) -> None:
        """A worker is gone and the job waits for it."""
        self.interrupts.hold()
        for cleanup in self.interrupts.cleanups:
            with contextlib.suppress(Exception):
                cleanup()
        self.end(_failed(self, RuntimeError("Channel closed: a worker process ended")))

    def left_behind(self) -> str:
        """What a run that is stopped leaves."""
        if self.output is None or not self.claimed:
            return "stopped before anything was written."
        if self.remote:
            return (
                f"stopped watching. The job may go on where it runs: stop it there. Until "
                f"{self.output} holds manifest.json the run is incomplete."
            )
        path = os.path.expanduser(self.output)
        if "://" in path:
            return (
                f"stopped: the run is incomplete unless {path} holds a manifest.json.\n"
                "Run it again with --overwrite, or delete the folder."
            )
        if not os.path.isdir(path):
            return "stopped; nothing is left."
        if os.path.exists(os.path.join(path, "manifest.json")):
            return f"stopped; the run in {self.output} is complete."
        return (
            f"stopped: the run is incomplete, {self.output} holds no manifest.\n"
            "Run it again with --overwrite, or delete the folder."
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code.

    arguments: None for those of the process, which then is the command's own: it takes care of
    signals, and of what its workers write to stderr.
    """
    if problem := rooms.shadowed():
        sys.stderr.write(f"liangchi: {printable_lines(problem)}\n")
        return WRONG_CALL
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        sys.stdout.write(_USAGE)
        return FINE if given else WRONG_CALL
    with contextlib.ExitStack() as stack:
        output = None
        watched = interrupts.Interrupts()
        if arguments is None:
            for stream in (sys.stdout, sys.stderr):
                if hasattr(stream, "reconfigure"):  # Chinese in a terminal that knows only ASCII
                    stream.reconfigure(errors="backslashreplace")
            output = stack.enter_context(logs.own_stderr())
            watched = stack.enter_context(interrupts.watched())
        log = stack.enter_context(logs.kept("--log_json" in given))
        if output is not None:
            log.keep_output(output)
        log.secrets = secrets.values(given)
        session = Session(log, watched, given, owner=arguments is None)
        watched.message, watched.say = session.left_behind, session.say
        code = _run(session)
        if session.owner and code == OUR_FAULT:
            session.end(code)
        return code


def _run(session: Session) -> int:
    name, *rest = session.arguments
    try:
        if name not in _COMMANDS:
            from pipelines import options

            raise options.UsageError(f"unknown command {name!r}\n{_USAGE}")
        code = _COMMANDS[name](session, rest)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Who read our output has seen enough, such as head. Python flushes again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except Exception as error:
        session.interrupts.hold()
        return _failed(session, error)


def _failed(session: Session, error: Exception) -> int:
    from pipelines import failures
    from schemas.errors import UnavailableError

    if (found := failures.user_error(error)) is not None:
        session.say(str(found))
        return TRY_AGAIN if isinstance(found, UnavailableError) else WRONG_CALL
    place = None
    if session.output is not None and "://" not in session.output:
        place = os.path.dirname(os.path.abspath(os.path.expanduser(session.output)))
    path = failures.write_report(error, session.arguments, place, session.log)
    report = f"A report is in {path} (nothing was sent)." if path else "No report could be written."
    lines = [f"this is our fault, not yours: {failures.summary(error)}", report]
    lines.append(failures.advice(error))
    elsewhere = session.remote or "://" in (session.output or "")
    if session.claimed and session.output and (elsewhere or os.path.isdir(session.output)):
        lines.append(f"The run is incomplete: {session.output} holds no manifest.")
    session.say("\n".join(lines))
    return OUR_FAULT


def evaluate(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi evaluate``"""
    from pipelines import options

    return run_job(session, options.parse(arguments), None)


def run_job(session: Session, call: Call, text: Callable[[Result], str] | None) -> int:
    """Run the job of a call and print its scores, by ``text`` or as the call says."""
    session.output = call.config.output
    session.log.as_json = call.log_json  # the configuration file may say so too
    # Before numpy is imported, here and in the workers: its BLAS would start threads that wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pipelines import evaluation, output, plan, progress, report
    from transforms import stores

    stores.use(call.beam)
    planned = evaluation.plan(call.config)
    where = evaluation.effective(planned, call.beam)
    for warning in (*where.warnings, *planned.warnings):
        session.say(warning, "warning")
    if call.plan:
        sys.stdout.write(plan.described(planned, where))
        return FINE
    root = evaluation.claim(planned, call.beam, call.overwrite)
    session.claimed, session.remote = True, not where.runner.local
    display: progress.Display | None = None
    if call.quiet or session.remote:
        pass
    elif session.log.as_json:
        display = progress.Events(session.log)
    elif sys.stderr.isatty():
        display = progress.Terminal()
    with contextlib.ExitStack() as stack:
        stack.callback(output.release, call.config.output)
        cleanups = session.interrupts.cleanups
        stack.enter_context(progress.shown(display, evaluation.tally(planned), cleanups))
        stack.enter_context(_watched(session))
        evaluation.run(planned, root)
    _tell_errors(session)
    if where.only_described:
        session.say(f"the job is described in {where.only_described}; no job was started.", "info")
        return FINE
    result = report.load(call.config.output)
    sys.stdout.write(
        text(result) if text else report.render(result, call.printing, call.config.output)
    )
    problems = report.problems(result, call.config)
    for problem in problems:
        session.say(problem)
    return BELOW_LIMITS if problems else FINE


@contextlib.contextmanager
def _watched(session: Session) -> Iterator[None]:
    """While this is open, a worker that dies ends a local run."""
    if session.owner and not session.remote:
        with interrupts.workers_watched(session.worker_died, session.lose_worker):
            yield
    else:
        yield


def _tell_errors(session: Session) -> None:
    for line in list(dict.fromkeys(session.log.errors))[:3]:
        session.say(f"while it ran, an error was logged: {line}", "warning")


def compare(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi compare``"""
    from pipelines import compare_call

    call = compare_call.parse(arguments)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pipelines import compare, output, report
    from transforms import stores

    session.output = call.output
    stores.use(call.beam)
    planned = compare.plan(call)
    where = compare.effective(planned, call.beam)
    for warning in where.warnings:
        session.say(warning, "warning")
    for line in planned.different:
        session.say(f"not measured alike: {line}", "warning")
    root = compare.claim(planned, call)
    session.claimed, session.remote = True, not where.runner.local
    with contextlib.ExitStack() as stack:
        stack.callback(output.release, call.output)
        stack.enter_context(_watched(session))
        compare.run(planned, root)
    _tell_errors(session)
    result = report.load(call.output)
    sys.stdout.write(report.render(result, call.printing, call.output))
    counts = result.manifest["counts"]
    if not counts.get("examples.both"):
        session.say("no example is in both runs; see the counts in manifest.json")
        return BELOW_LIMITS
    return FINE


def score(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi score``"""
    from pipelines import score

    with score.called(arguments, session.interrupts.cleanups) as call:
        return run_job(session, call, score.text(call, session.say))


def config(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi config``"""
    from pipelines.config import config

    sys.stdout.write(config(arguments))
    return FINE


def doctor(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi doctor``"""
    from pipelines import options

    found = options.values(arguments, "doctor")
    session.log.as_json = found["log_json"]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pipelines import doctor

    code = FINE
    for line in doctor.examined(found):
        sys.stdout.write(doctor.as_json(line) if found["print"] == "json" else doctor.printed(line))
        sys.stdout.flush()
        code = WRONG_CALL if line.state == doctor.WRONG else code
    if session.owner:
        session.end(code)  # what did not answer in time would keep the process
    return code


def show(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi show``"""
    from pipelines.show import show

    sys.stdout.write(show(arguments))
    return FINE


def explain(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi explain``"""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pipelines.explain import explain

    sys.stdout.write(explain(arguments, lambda message: session.say(message, "info")))
    return FINE


def tokenize(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi tokenize``"""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pipelines.tokenize import tokenize

    for text in tokenize(arguments, sys.stdin):
        sys.stdout.write(text)
    return FINE


def tokenizers(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi tokenizers``"""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pipelines.tokenizers import tokenizers

    sys.stdout.write(tokenizers(arguments))
    return FINE


def suggest(session: Session, arguments: Sequence[str]) -> int:
    """``liangchi suggest``"""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pipelines.suggest import suggest

    sys.stdout.write(suggest(arguments))
    return FINE


_COMMANDS: dict[str, Callable[[Session, Sequence[str]], int]] = {
    "evaluate": evaluate,
    "score": score,
    "doctor": doctor,
    "config": config,
    "show": show,
    "explain": explain,
    "compare": compare,
    "tokenize": tokenize,
    "tokenizers": tokenizers,
    "suggest": suggest,
}

if __name__ == "__main__":
    sys.exit(main())
