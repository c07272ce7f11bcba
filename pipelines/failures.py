"""What a failed run says: an error of the caller as it is, anything else on one screen with a file
for whoever mends it."""

from __future__ import annotations

import errno
import os
import platform
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from importlib import metadata

from pipelines.logs import Log
from pipelines.secrets import without_secrets
from schemas.errors import OutputError, UnavailableError, UserError

_STEP = re.compile(r" \[while running '[^']*'\]")

_REPORTED = (
    *("liangchi", "apache-beam", "numpy", "pyarrow", "jieba", "threadpoolctl"),
    *("grpcio", "protobuf", "rich"),
)

# What the machine refuses is for its owner to mend.
_REFUSALS = {
    errno.ENOSPC: "Free some space, or name a folder on another disk.",
    errno.EDQUOT: "Free some of your quota, or name a folder on another disk.",
    errno.EFBIG: "Raise the limit for files (ulimit -f), or name a folder on another disk.",
    errno.EROFS: "Name a folder that can be written to.",
    errno.EACCES: "Change the permissions, or name another place.",
    errno.EPERM: "Change the permissions, or name another place.",
}
_OS_ERROR = re.compile(r"^(?:OSError|PermissionError): (\[Errno (\d+)\] .*)$", re.MULTILINE)


def user_error(error: BaseException) -> UserError | None:
    """The error of the caller that this one is or carries: Beam's runners wrap what a worker
    raises, some as text only. None if there is none."""
    for one in _chain(error):
        if isinstance(one, UserError):
            return _without_step(one)
        if isinstance(one, OSError) and one.errno in _REFUSALS:
            return _refused(_STEP.sub("", str(one)), one.errno)
    text = str(error)
    names = {f"{cls.__module__}.{cls.__qualname__}": cls for cls in _subclasses(UserError)}
    starts = "|".join(map(re.escape, names))
    # Python's own form of the last line of a traceback; the message may have several lines.
    pattern = rf"^({starts}): (.*?)(?: \[while running '[^']*'\]|\n\n|\Z)"
    if found := re.findall(pattern, text, re.MULTILINE | re.DOTALL):
        made = UnavailableError if issubclass(names[found[-1][0]], UnavailableError) else UserError
        return made(found[-1][1].strip())
    if (address := nobody_at(text)) is not None:
        return UnavailableError(
            f"nobody answers at {address or 'an address'}, where the job looks for its workers or "
            "services.\n"
            "Start what should be there (--environment_config names the worker pool as the runner "
            "sees it); `liangchi doctor` looks at every part."
        )
    if refused := _OS_ERROR.findall(_STEP.sub("", text)):
        message, number = refused[-1]
        if int(number) in _REFUSALS:
            return _refused(message, int(number))
    return None


_NOBODY = (
    re.compile(
        r"StatusCode\.UNAVAILABLE\s+details = \"failed to connect to all addresses; "
        r"last error: [A-Z]+: (?:ipv[46]:)?(\S+): "
    ),
    # Java's, of a job server; some have the address.
    re.compile(r"ConnectException: .*Connection refused(?:: (\S+:\d+))?"),
)


def nobody_at(text: str) -> str | None:
    """The address that a runner could not connect to, if that is what an error says: '' where it
    does not say which."""
    found = next(filter(None, (pattern.search(text) for pattern in _NOBODY)), None)
    return (found[1] or "") if found else None


def _without_step(error: UserError) -> UserError:
    """The error without what Beam adds to its message."""
    if not _STEP.search(str(error)):
        return error
    made = UnavailableError if isinstance(error, UnavailableError) else UserError
    return made(_STEP.sub("", str(error)))


def _refused(message: str, number: int) -> UserError:
    return OutputError(f"the machine refused: {message}\n{_REFUSALS[number]}")


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _subclasses(cls: type[UserError]) -> Iterator[type[UserError]]:
    yield cls
    for below in cls.__subclasses__():
        yield from _subclasses(below)


def summary(error: BaseException) -> str:
    """What happened, in one line."""
    text = _STEP.sub("", str(error)).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if "Traceback (most recent call last)" in text:
        # A worker's error as text: its last line says what happened.
        raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
        line = raised[-1] if raised else lines[-1]
    else:
        line = f"{type(error).__name__}: {lines[0]}"
    return line if len(line) <= 300 else line[:300] + "..."


def advice(error: BaseException) -> str:
    """What the user may try."""
    text = str(error)
    if isinstance(error, MemoryError) or "Channel closed" in text or "exited with return" in text:
        return (
            "A worker ended early, mostly for lack of memory: try fewer workers "
            "(--direct_num_workers=1)\nor more partitions (--partitions)."
        )
    return "Try again; if it happens again, send the report to whoever looks after liangchi here."


def write_report(
    error: BaseException, arguments: Sequence[str], folder: str | None, log: Log
) -> str | None:
    """Write a report that only the user can read; its path, None if no place takes it.

    folder: where it should go; the folder for temporary files if that is not to be.
    """
    text = log.hide("\n".join(_report(error, arguments, log.text())))
    for place in (folder, tempfile.gettempdir()):
        if place is None or not os.path.isdir(place):
            continue
        try:
            # mkstemp: a new file that nobody else can read, under a name nobody can plant.
            handle, path = tempfile.mkstemp(prefix="liangchi-report-", suffix=".txt", dir=place)
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            return path
        except OSError:
            continue
    return None


def _report(error: BaseException, arguments: Sequence[str], log: str) -> Iterator[str]:
    yield f"liangchi: {summary(error)}"
    yield ""
    yield f"time      {time.strftime('%Y-%m-%d %H:%M:%S %z')}"
    yield f"platform  {platform.platform()}, {os.cpu_count()} processors"
    yield f"python    {sys.version}".replace("\n", " ")
    for name in _REPORTED:
        try:
            yield f"{name:<9} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            yield f"{name:<9} not installed"
    yield f"folder    {os.getcwd()}"
    yield ""
    yield "Arguments:"
    yield from (f"  {argument}" for argument in without_secrets(arguments))
    yield ""
    yield from traceback.format_exception(error)
    if log:
        yield "Log:"
        yield log
