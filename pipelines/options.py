"""The flags of ``liangchi evaluate``. Imports neither Beam nor numpy: --help must be quick."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from schemas.configuration import Bootstrap, Evaluation
from schemas.errors import UserError


class UsageError(UserError):
    """A call that cannot be understood."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(f"{message}\nSee {self.prog} --help.")


@dataclass(frozen=True)
class Call:
    """A parsed call. beam: Beam's options as given; scale: what printed scores of 0-1 are
    multiplied by."""

    config: Evaluation
    beam: list[str]


def parser() -> argparse.ArgumentParser:
    """The parser of ``liangchi evaluate``."""
    made = _Parser(
        prog="liangchi evaluate",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Score systems' texts against references: corpus BLEU, CIDEr-D, intervals.",
        epilog=(
            "Beam's own options (--runner, --direct_num_workers, ...) are taken as they are;\n"
            "what stands behind -- goes to the runner unchecked.\n"
            "Exit codes: 0 fine, 2 wrong call or input, 3 data below the limits, 1 our fault."
        ),
    )
    data = made.add_argument_group("data")
    data.add_argument(
        "--hypotheses",
        nargs="+",
        required=True,
        metavar="PATTERN",
        help="Parquet with example_id, system, text and, if there are several, sample",
    )
    data.add_argument(
        "--references",
        nargs="+",
        required=True,
        metavar="PATTERN",
        help="Parquet with example_id, references (list of strings) and columns to slice on",
    )
    data.add_argument("--output", required=True, metavar="DIR", help="a new or empty folder")
    data.add_argument(
        "--systems",
        nargs="+",
        default=[],
        metavar="NAME",
        help="score these, there or not (default: all that occur)",
    )
    data.add_argument(
        "--missing",
        choices=("empty", "skip", "error"),
        default="empty",
        help="a system without output for an example: counts as an empty one "
        "(default), is left out, or fails the run",
    )
    data.add_argument(
        "--max_rejected",
        type=float,
        default=0.01,
        metavar="SHARE",
        help="refused rows of hypotheses that a run may have (default 0.01)",
    )
    measure = made.add_argument_group("what is measured")
    measure.add_argument(
        "--metrics",
        nargs="+",
        default=["bleu", "cider_d"],
        metavar="NAME",
        help="bleu, cider_d, cider (default: bleu cider_d)",
    )
    measure.add_argument(
        "--tokenizer", default="jieba", metavar="NAME", help="jieba (default), char, zh, 13a, none"
    )
    measure.add_argument(
        "--weights",
        nargs="+",
        type=float,
        metavar="W",
        default=[0.25, 0.25, 0.25, 0.25],
        help="of BLEU's n-gram orders 1, 2, ...: sum 1 (default: four times 0.25)",
    )
    measure.add_argument(
        "--smoothing",
        choices=("exp", "none", "floor", "add-k"),
        default="exp",
        help="of BLEU's orders without a match (default exp)",
    )
    measure.add_argument(
        "--smoothing_value",
        type=float,
        metavar="X",
        help="of floor (default 0.1) and add-k (default 1)",
    )
    measure.add_argument(
        "--slices",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of the references: scores for each of their values too",
    )
    measure.add_argument(
        "--document_frequencies", metavar="DIR", help="weigh CIDEr's n-grams by this saved table"
    )
    measure.add_argument(
        "--save_document_frequencies", metavar="DIR", help="save the run's own table"
    )
    interval = made.add_argument_group("intervals")
    interval.add_argument(
        "--bootstrap",
        type=int,
        default=1000,
        metavar="B",
        help="replicates (default 1000), 0 for no intervals",
    )
    interval.add_argument(
        "--confidence", type=float, default=0.95, metavar="C", help="of the interval (default 0.95)"
    )
    interval.add_argument(
        "--seed", type=int, default=12345, metavar="N", help="of the replicates (default 12345)"
    )
    interval.add_argument(
        "--resample_by",
        metavar="COLUMN",
        help="column of the references whose equal values (a document, a "
        "dialogue) are resampled together (default: every example alone)",
    )
    run = made.add_argument_group("the run")
    run.add_argument(
        "--run_id",
        metavar="ID",
        help="name of the run in the tables (default: a hash of settings and rows)",
    )
    run.add_argument(
        "--partitions", type=int, metavar="P", help="(default: by the size of the input)"
    )
    run.add_argument(
        "--replicate_groups",
        type=int,
        default=1,
        metavar="G",
        help="tasks that share a partition's replicates (default 1; more only if "
        "there are fewer partitions than workers)",
    )
    return made


def parse(arguments: Sequence[str]) -> Call:
    """The call of these arguments. Raises UsageError, ConfigurationError."""
    known, unchecked = _split(list(arguments))
    made = parser()
    values, rest = made.parse_known_args(known)
    if rest:
        _check_beam(made, rest)
    fields = vars(values)
    bootstrap = Bootstrap(
        fields.pop("bootstrap"),
        fields.pop("confidence"),
        fields.pop("seed"),
        fields.pop("resample_by"),
    )
    for name, value in fields.items():
        if isinstance(value, list):
            fields[name] = tuple(value)
    return Call(Evaluation(bootstrap=bootstrap, **fields), [*rest, *unchecked])


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _check_beam(ours: argparse.ArgumentParser, rest: Sequence[str]) -> None:
    """Raise UsageError for the first argument that is neither ours nor Beam's."""
    # Late: importing Beam takes most of a second, and few calls have options of it.
    from apache_beam.options.pipeline_options import PipelineOptions

    beam = _Parser(prog="liangchi evaluate", allow_abbrev=False, add_help=False)
    for view in sorted(PipelineOptions.__subclasses__(), key=lambda cls: cls.__name__):
        try:
            view._add_argparse_args(beam)
        except argparse.ArgumentError:
            continue  # two of Beam's classes define the same flag
    _, unknown = beam.parse_known_args(list(rest))
    if not unknown:
        return
    flags = [f for p in (ours, beam) for action in p._actions for f in action.option_strings]
    name = unknown[0].split("=")[0]
    close = difflib.get_close_matches(name, flags, 1, 0.5)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise UsageError(
        f"unknown argument {unknown[0]!r}.{hint}\n"
        "See liangchi evaluate --help; options that only the runner knows go behind --."
    )
