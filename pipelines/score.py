"""``liangchi score``: the classic call, files of lines in and one line a score out. The job is that
of ``liangchi evaluate``; its folder is kept only if --output names one."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pipelines import options
from pipelines.text import printable

if TYPE_CHECKING:
    from pipelines.report import Result


@contextlib.contextmanager
def called(arguments: Sequence[str], cleanups: list[Callable[[], None]]) -> Iterator[options.Call]:
    """The call, with a folder of its own for as long as this is open, if none is named.

    cleanups: what must be done if the process is stopped meanwhile is added here.
    Raises UsageError, ConfigurationError.
    """
    found = options.values(arguments, "score")
    if found["format"] is None and not _formats_are_known(
        (*found["hypotheses"], *found["references"])
    ):
        found["format"] = "text"
    if found["output"]:
        yield options.call(found)
        return
    # Before a folder is made for nothing.
    options.call({**found, "output": "-"})
    # mkdtemp: a new folder that nobody else can read.
    folder = tempfile.mkdtemp(prefix="liangchi-score-")

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    cleanups.append(remove)
    try:
        yield options.call({**found, "output": folder})
    finally:
        remove()


def _formats_are_known(patterns: Sequence[str]) -> bool:
    """Whether the names say what all files hold. Names such as refs.A are lines of text here."""
    from transforms.sources import format_of

    return all(format_of(pattern) for pattern in patterns)


def text(call: options.Call, say: Callable[[str, str], None]) -> Callable[[Result], str] | None:
    """How the scores are printed; None: as --print says. say: takes what is to be minded."""
    if call.printing.kind != "table":
        return None

    def printed(result: Result) -> str:
        notes = [f"{row['metric']}: {row['note']}" for row in result.scores if row["note"]]
        for note in dict.fromkeys(notes):
            say(note, "info")
        return lines(result, call.printing.scale)

    return printed


def lines(result: Result, scale: float) -> str:
    """``BLEU-4: 0.1287 [0.1261, 0.1312]``, a line a metric, after the system's name if
    there are several."""
    from pipelines import report

    rows = [row for row in result.scores if row["slice"] == "overall"]
    several = len({row["system"] for row in rows}) > 1
    made = []
    for row in rows:
        label, score = report.score_text(row, scale)
        name = f"{printable(row['system'])}  " if several else ""
        made.append(f"{name}{label}: {score}\n")
    return "".join(made)
