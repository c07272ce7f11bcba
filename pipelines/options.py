"""What a call asks for: flags and configuration files. Imports neither Beam nor numpy: --help must
be quick."""

from __future__ import annotations

import argparse
import difflib
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pipelines import secrets, settings
from schemas.configuration import Bootstrap, Comparison, Evaluation
from schemas.errors import ConfigurationError, UserError


class UsageError(UserError):
    """A call that cannot be understood."""


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\nSee {self.prog} --help.")


@dataclass(frozen=True)
class Printing:
    """How scores are printed. scale: what those of 0-1 are multiplied by."""

    kind: str = "table"
    scale: float = 1.0


@dataclass(frozen=True)
class Call:
    """A parsed call. beam: Beam's options as given; the rest changes no number in the tables."""

    config: Evaluation
    beam: list[str]
    printing: Printing = Printing()
    overwrite: bool = False
    plan: bool = False
    quiet: bool = False
    log_json: bool = False


def parser(program: str = "evaluate") -> argparse.ArgumentParser:
    """The parser of ``liangchi evaluate`` and of the commands that take the same flags."""
    described = _PROGRAMS[program]
    made = Parser(
        prog=f"liangchi {program}",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=described.description,
        epilog=(
            "--runner is direct (the default), prism, flink, dataflow, portable, or Beam's name\n"
            "of one. Beam's other options (--direct_num_workers, ...) are taken as they are; what\n"
            "stands behind -- goes to the runner unchecked.\n"
            "Exit codes: 0 fine, 2 wrong call or input, 3 data below the limits, 4 a store does\n"
            "not answer: try again later, 1 our fault, 130 stopped by Ctrl-C or SIGTERM."
        ),
    )
    made.add_argument(
        "--config", metavar="FILE", help="settings as TOML; flags win (see liangchi config)"
    )
    groups: dict[str, argparse._ArgumentGroup] = {}
    for setting in settings.SETTINGS:
        if not setting.flag:
            continue
        if setting.group not in groups:
            groups[setting.group] = made.add_argument_group(setting.group)
        more = described.more_flags.get(setting.key, ())
        default = described.defaults.get(setting.key, setting.default)
        settings.add_flag(groups[setting.group], setting, default, *more)
    return made


@dataclass(frozen=True)
class _Program:
    """A command. defaults: that differ; more_flags: other names of flags; optional: settings that
    need not be there."""

    description: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    more_flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional: tuple[str, ...] = ()


_PROGRAMS = {
    "evaluate": _Program(
        "Score systems' texts against references: corpus BLEU, CIDEr-D, intervals."
    ),
    "score": _Program(
        "Score one file of lines against files of references, line by line; a line a score.",
        defaults={"metrics": ("bleu",)},
        more_flags={"hypotheses": ("--hypothesis",)},
        optional=("output",),
    ),
    "doctor": _Program(
        "Check that a run with these flags could work, here and on its workers: versions, "
        "services,\nfiles, memory. Runs a job of one element; writes a file to the output and "
        "deletes it.",
        optional=("hypotheses", "references", "output"),
    ),
    "config": _Program(
        "Print the settings in force, from flags and --config, as a file for --config.",
        optional=("hypotheses", "references", "output"),
    ),
}


def add_printing(parser: argparse.ArgumentParser) -> None:
    """The flags that say how scores are printed, with their defaults."""
    printed = parser.add_argument_group(settings.PRINTED)
    for key in ("print", "scale"):
        setting = settings.BY_KEY[key]
        settings.add_flag(printed, setting, setting.default)
        parser.set_defaults(**{key: setting.default})


def take_printing(fields: dict[str, Any]) -> Printing:
    """Take the values of these flags out of all. Raises ConfigurationError."""
    kind, scale = fields.pop("print"), fields.pop("scale")
    if not (math.isfinite(scale) and scale > 0):
        raise ConfigurationError("scale", scale, "a number above 0, such as 100")
    return Printing(kind, scale)


def parse(arguments: Sequence[str], program: str = "evaluate") -> Call:
    """The call of these arguments. Raises UsageError, ConfigurationError."""
    return call(values(arguments, program))


def values(arguments: Sequence[str], program: str = "evaluate") -> dict[str, Any]:
    """All settings by key: the defaults, what --config says, and what the flags say, which win.

    Raises UsageError, ConfigurationError.
    """
    known, unchecked = _split(list(arguments))
    made = parser(program)
    given, rest = made.parse_known_args(known)
    if rest:
        secrets.refuse(rest)
        check_beam(made, rest)
    flags = vars(given)
    path = flags.pop("config", None)
    found = {setting.key: setting.default for setting in settings.SETTINGS}
    found |= _PROGRAMS[program].defaults
    found |= {} if path is None else load(path)
    secrets.refuse(found["beam"])
    found |= {key: tuple(v) if isinstance(v, list) else v for key, v in flags.items()}
    found["beam"] = (*found["beam"], *rest, *unchecked)
    absent = [
        f"--{setting.key}"
        for setting in settings.SETTINGS
        if setting.needed
        and not found[setting.key]
        and setting.key not in _PROGRAMS[program].optional
    ]
    if absent:
        raise UsageError(
            f"{' and '.join(absent)}: needed, by flag or in --config.\nSee {made.prog} --help."
        )
    return found


def load(path: str) -> dict[str, Any]:
    """The settings of a configuration file. Raises UsageError, ConfigurationError."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = Path(path).read_bytes().decode("utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"--config {path}: cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        what = str(error) or "nested too deeply"
        raise UsageError(
            f"--config {path}: no TOML: {what}.\nliangchi config prints a file to start from."
        ) from error
    return settings.check(content, path)


def call(found: Mapping[str, Any]) -> Call:
    """The call that these settings make. Raises ConfigurationError."""
    fields = dict(found)
    beam = list(fields.pop("beam"))
    printing = take_printing(fields)
    terminal = {name: fields.pop(name) for name in ("overwrite", "plan", "quiet", "log_json")}
    bootstrap = Bootstrap(
        fields.pop("bootstrap"),
        fields.pop("confidence"),
        fields.pop("seed"),
        fields.pop("resample_by"),
    )
    names = ("baseline", "pairs", "tests", "trials", "alpha", "family", "difference")
    comparison = Comparison(**{name: fields.pop(name) for name in names})
    config = Evaluation(bootstrap=bootstrap, comparison=comparison, **fields)
    return Call(config, beam, printing, **terminal)


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def check_beam(ours: argparse.ArgumentParser, rest: Sequence[str]) -> None:
    """Raise UsageError for the first argument that is neither ours nor Beam's."""
    # Late: importing Beam takes most of a second, and few calls have options of it.
    from apache_beam.options.pipeline_options import PipelineOptions

    beam = Parser(prog="liangchi evaluate", allow_abbrev=False, add_help=False)
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
        f"See {ours.prog} --help; options that only the runner knows go behind --."
    )
