"""What ``liangchi compare`` is asked. Imports neither Beam nor numpy: --help must be quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines import options, settings
from schemas.configuration import Comparison

_OURS = ("tests", "trials", "alpha", "family", "difference")


@dataclass(frozen=True)
class Call:
    """A parsed call. pairs: (system of the first run, system of the second); empty: all systems
    of one name."""

    runs: tuple[str, str]
    output: str
    pairs: tuple[str, ...]
    comparison: Comparison
    allow_different: bool
    overwrite: bool
    printing: options.Printing
    beam: list[str]


def parser() -> argparse.ArgumentParser:
    """The parser of ``liangchi compare``."""
    made = options.Parser(
        prog="liangchi compare",
        allow_abbrev=False,
        description="Compare two finished runs on the examples that both have: the second minus "
        "the first.",
        epilog="Beam's own options are taken as they are. Exit codes: as liangchi evaluate.",
    )
    made.add_argument("run_a", metavar="RUN_A", help="the --output folder of an evaluation")
    made.add_argument("run_b", metavar="RUN_B", help="another one")
    for key in ("output", "overwrite"):
        settings.add_flag(made, settings.BY_KEY[key], settings.BY_KEY[key].default)
    made.add_argument(
        "--pair",
        metavar="A:B",
        nargs="+",
        default=[],
        help="a system of RUN_A and one of RUN_B (default: all systems of one name)",
    )
    made.add_argument(
        "--allow_different",
        action="store_true",
        help="compare though signatures or references differ; what differs is shown",
    )
    group = made.add_argument_group(settings.COMPARED)
    for key in _OURS:
        settings.add_flag(group, settings.BY_KEY[key], settings.BY_KEY[key].default)
    options.add_printing(made)
    return made


def parse(arguments: Sequence[str]) -> Call:
    """The call of these arguments. Raises UsageError, ConfigurationError."""
    made = parser()
    given, rest = made.parse_known_args(list(arguments))
    if rest:
        options.check_beam(made, rest)
    fields = vars(given)
    printing = options.take_printing(fields)
    if not fields.get("output"):
        raise options.UsageError(f"--output: needed.\nSee {made.prog} --help.")
    asked: dict[str, Any] = {
        k: tuple(fields[k]) if isinstance(fields[k], list) else fields[k]
        for k in _OURS
        if k in fields
    }
    return Call(
        (fields["run_a"], fields["run_b"]),
        fields["output"],
        tuple(fields["pair"]),
        Comparison(**asked),
        fields["allow_different"],
        fields.get("overwrite", False),
        printing,
        rest,
    )
