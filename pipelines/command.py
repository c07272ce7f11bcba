"""The command ``liangchi``. Beam and numpy are imported only when a job is run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pipelines import options
from schemas.errors import UserError

FINE, OUR_FAULT, WRONG_CALL, BELOW_LIMITS = 0, 1, 2, 3

_USAGE = """usage: liangchi evaluate ...

  evaluate   score systems' texts against references (liangchi evaluate --help)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        sys.stdout.write(_USAGE)
        return FINE if given else WRONG_CALL
    try:
        if given[0] != "evaluate":
            raise options.UsageError(f"unknown command {given[0]!r}\n{_USAGE}")
        return evaluate(given[1:])
    except UserError as error:
        sys.stderr.write(f"liangchi: {error}\n")
        return WRONG_CALL


def evaluate(arguments: Sequence[str]) -> int:
    """``liangchi evaluate``"""
    call = options.parse(arguments)
    # Before numpy is imported, here and in the workers: its BLAS would start threads that wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from pipelines import evaluation, report

    planned = evaluation.plan(call.config)
    evaluation.run(planned, call.beam)
    result = report.load(call.config.output)
    sys.stdout.write(report.table(result))
    problems = report.problems(result, call.config)
    for problem in problems:
        sys.stderr.write(f"liangchi: {problem}\n")
    sys.stdout.write(f"{call.config.output}\n")
    return BELOW_LIMITS if problems else FINE
