"""``liangchi show RUN``: print a run again. Beam is not imported, the inputs are not read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pipelines import options


def parser() -> argparse.ArgumentParser:
    """The parser of ``liangchi show``."""
    made = options.Parser(
        prog="liangchi show",
        allow_abbrev=False,
        description="Print a finished run again, as liangchi evaluate did.",
    )
    made.add_argument("run", metavar="RUN", help="the --output folder of liangchi evaluate")
    options.add_printing(made)
    return made


def show(arguments: Sequence[str]) -> str:
    """What is printed. Raises UserError."""
    fields = vars(parser().parse_args(list(arguments)))
    printing = options.take_printing(fields)
    from pipelines import report

    return report.render(report.load(fields["run"]), printing, fields["run"])
