"""Every setting once: its flag, its key in the configuration file, its default and its help."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from schemas.configuration import FAMILY, FORMATS, MISSING, PAIRS, TESTS, Track
from schemas.errors import ConfigurationError

PRINTS = ("table", "json", "csv", "markdown")

DATA, MEASURE, INTERVALS, RUN = "data", "what is measured", "intervals", "the run"
COMPARED = "comparisons"
PRINTED, TERMINAL = "what is printed", "on the terminal"


@dataclass(frozen=True)
class Setting:
    """kind: str, int, float, bool, dict (pairs of names) or Track. several: a list of that kind.
    shown: what stands for a value in help. needed: there is no default. flag: whether there is one
    beside the key."""

    key: str
    group: str
    kind: type
    default: Any
    shown: str
    help: str
    several: bool = False
    choices: tuple[str, ...] = ()
    needed: bool = False
    flag: bool = True

    @property
    def said(self) -> str:
        """The help as argparse shows it."""
        return self.help.replace("%%", "%")


SETTINGS = (
    Setting(
        "hypotheses",
        DATA,
        str,
        (),
        "PATTERN",
        several=True,
        needed=True,
        help="files, folders, patterns: example_id, system, text and, if there are several, sample",
    ),
    Setting(
        "references",
        DATA,
        str,
        (),
        "PATTERN",
        several=True,
        needed=True,
        help="the same: example_id, references (list of strings) and columns to slice on; lines "
        "of text: every file is a column of references",
    ),
    Setting("output", DATA, str, None, "DIR", needed=True, help="a new or empty folder"),
    Setting("overwrite", DATA, bool, False, "", help="replace a run that is in that folder"),
    Setting(
        "format",
        DATA,
        str,
        None,
        "FORMAT",
        choices=FORMATS,
        help="of all files: parquet, jsonl or text (default: by their names)",
    ),
    Setting(
        "columns",
        DATA,
        dict,
        (),
        "OURS=THEIRS",
        several=True,
        help="names of columns in your files, such as example_id=qid text=reply; "
        "references.example_id=id is for the references only",
    ),
    Setting("system", DATA, str, None, "NAME", help="of hypotheses that do not name theirs"),
    Setting(
        "null_text",
        DATA,
        str,
        (),
        "TEXT",
        several=True,
        help="references that stand for none, such as '<PAD>'",
    ),
    Setting(
        "systems",
        DATA,
        str,
        (),
        "NAME",
        several=True,
        help="score these, there or not (default: all that occur)",
    ),
    Setting(
        "missing",
        DATA,
        str,
        "empty",
        "POLICY",
        choices=MISSING,
        help="a system without output for an example: counts as an empty one (empty), is left "
        "out (skip), or fails the run (error)",
    ),
    Setting(
        "max_rejected",
        DATA,
        float,
        0.01,
        "SHARE",
        help="refused rows of hypotheses that a run may have",
    ),
    Setting("max_characters", DATA, int, 100_000, "N", help="a row with a longer text is refused"),
    Setting(
        "skip_bad_files",
        DATA,
        bool,
        False,
        "",
        help="refuse files that cannot be read, and go on with the others",
    ),
    Setting(
        "metrics",
        MEASURE,
        str,
        ("bleu", "cider_d"),
        "NAME",
        several=True,
        help="bleu, cider_d, cider; on a track: bleu[char]",
    ),
    Setting(
        "preset",
        MEASURE,
        str,
        "raw",
        "NAME",
        help="how texts are cut: raw, chat-zh, sacrebleu or sacrebleu-fixed; the next three "
        "replace parts of it",
    ),
    Setting(
        "tokenizer",
        MEASURE,
        str,
        None,
        "SPEC",
        help="jieba, char, grapheme, zh, zh-fixed, 13a, intl, none (default: the preset's)",
    ),
    Setting(
        "steps",
        MEASURE,
        str,
        None,
        "SPEC",
        several=True,
        help="before a text is cut, such as nfkc lowercase (default: the preset's)",
    ),
    Setting(
        "after",
        MEASURE,
        str,
        None,
        "SPEC",
        several=True,
        help="on its tokens, such as stopwords:file=words.txt (default: the preset's)",
    ),
    Setting(
        "user_dictionaries",
        MEASURE,
        str,
        (),
        "FILE",
        several=True,
        help="words for the tokenizer, lines such as: 微信支付 100 n",
    ),
    Setting(
        "tracks",
        MEASURE,
        Track,
        (),
        "TRACK=TOKENIZER",
        several=True,
        help="more ways to cut texts, for metrics such as bleu[char]",
    ),
    Setting(
        "combinations",
        MEASURE,
        dict,
        (),
        "NAME=SUM",
        several=True,
        help="weighted sums of metrics, such as 'bleu_dual=0.3*bleu[char]+0.7*bleu'",
    ),
    Setting(
        "near_duplicate_references",
        MEASURE,
        float,
        None,
        "X",
        help="references of one example that share more than this of their tokens (Jaccard), such "
        "as 0.8, count as one: the longest (default: every reference counts)",
    ),
    Setting(
        "near_duplicate_track",
        MEASURE,
        str,
        None,
        "TRACK",
        help="whose tokens those are (default: the first track in use)",
    ),
    Setting(
        "weights",
        MEASURE,
        float,
        (0.25, 0.25, 0.25, 0.25),
        "W",
        several=True,
        help="of BLEU's n-gram orders 1, 2, ...: sum 1",
    ),
    Setting(
        "smoothing",
        MEASURE,
        str,
        "exp",
        "NAME",
        choices=("exp", "none", "floor", "add-k"),
        help="of BLEU's orders without a match: exp, none, floor, add-k",
    ),
    Setting(
        "smoothing_value",
        MEASURE,
        float,
        None,
        "X",
        help="of floor (default 0.1) and add-k (default 1)",
    ),
    Setting(
        "slices",
        MEASURE,
        str,
        (),
        "COLUMN",
        several=True,
        help="columns of references or hypotheses: scores for each of their values too; a*b: for "
        "values that go together; length:5: for bins of numbers (5 about equally full; or edges, "
        "length:0,10,20)",
    ),
    Setting(
        "slice_values",
        MEASURE,
        int,
        50,
        "N",
        help="values of a slice that keep their names, the most frequent; the rest is 'other'",
    ),
    Setting(
        "reference_ceiling",
        MEASURE,
        bool,
        False,
        "",
        help="score the references too: each against the others of its example (ceiling), and "
        "against those of another (floor)",
    ),
    Setting(
        "spread_limit",
        MEASURE,
        float,
        0.05,
        "X",
        help="of several replies to one query: how far segment scores may lie apart before the "
        "query counts as unsteady",
    ),
    Setting(
        "document_frequencies",
        MEASURE,
        str,
        None,
        "DIR",
        help="weigh CIDEr's n-grams by this saved table",
    ),
    Setting(
        "save_document_frequencies", MEASURE, str, None, "DIR", help="save the run's own table"
    ),
    Setting("bootstrap", INTERVALS, int, 1000, "B", help="replicates, 0 for no intervals"),
    Setting("confidence", INTERVALS, float, 0.95, "C", help="of the interval"),
    Setting("seed", INTERVALS, int, 12345, "N", help="of the replicates"),
    Setting(
        "resample_by",
        INTERVALS,
        str,
        None,
        "COLUMN",
        help="column of the references whose equal values (a document, a dialogue) are resampled "
        "together (default: every example alone)",
    ),
    Setting(
        "baseline",
        COMPARED,
        str,
        None,
        "SYSTEM",
        help="compare every other system with this one: difference, interval, p",
    ),
    Setting("pairs", COMPARED, str, None, "WHICH", choices=PAIRS, help="all: compare every two"),
    Setting(
        "tests",
        COMPARED,
        str,
        TESTS,
        "TEST",
        several=True,
        choices=TESTS,
        help="of a difference: paired bootstrap, approximate randomisation",
    ),
    Setting(
        "trials",
        COMPARED,
        int,
        10_000,
        "T",
        help="draws of each test; 20 x pairs / alpha are taken where that is more",
    ),
    Setting("alpha", COMPARED, float, 0.05, "P", help="a difference counts below this adjusted p"),
    Setting(
        "family",
        COMPARED,
        str,
        (),
        "WHAT",
        several=True,
        choices=FAMILY,
        help="adjust p over all metrics, slices or tests, too, not only over the pairs (Holm)",
    ),
    Setting(
        "difference",
        COMPARED,
        float,
        None,
        "X",
        help="say how many units a difference of X needs (80%% power)",
    ),
    Setting(
        "step_column",
        COMPARED,
        str,
        None,
        "COLUMN",
        help="column of the hypotheses whose values are checkpoints of the system: a series, each "
        "compared with the one before and the best",
    ),
    Setting("falls", COMPARED, int, 2, "K", help="mark the step at which K falls stand in a row"),
    Setting(
        "run_id",
        RUN,
        str,
        None,
        "ID",
        help="name of the run in the tables (default: a hash of settings and rows)",
    ),
    Setting(
        "data_report",
        RUN,
        int,
        10_000,
        "N",
        help="rows whose texts are looked at for the data report, about; 0 for none",
    ),
    Setting("partitions", RUN, int, None, "P", help="(default: by the size of the input)"),
    Setting(
        "replicate_groups",
        RUN,
        int,
        1,
        "G",
        help="tasks that share a partition's replicates; more only if there are fewer partitions "
        "than workers",
    ),
    Setting(
        "plan",
        RUN,
        bool,
        False,
        "",
        help="run nothing: print the options in force, the stages and what each shuffle moves",
    ),
    Setting(
        "beam",
        RUN,
        str,
        (),
        "OPTION",
        several=True,
        flag=False,
        help="options of Beam and of its runner, as on the command line",
    ),
    Setting("print", PRINTED, str, "table", "KIND", choices=PRINTS, help=", ".join(PRINTS)),
    Setting(
        "scale",
        PRINTED,
        float,
        1.0,
        "X",
        help="multiply printed scores of 0-1 by it, 100 as sacrebleu does; the tables in the "
        "folder stay 0-1",
    ),
    Setting("quiet", TERMINAL, bool, False, "", help="no progress, on a terminal either"),
    Setting(
        "log_json",
        TERMINAL,
        bool,
        False,
        "",
        help="progress, warnings and errors as lines of JSON on stderr",
    ),
)

BY_KEY = {setting.key: setting for setting in SETTINGS}


def add_flag(
    group: argparse._ActionsContainer, setting: Setting, default: Any, *more_flags: str
) -> None:
    """Add the setting's flag. A flag that is not given leaves nothing behind."""
    shown = f"{setting.help} (default {_spelled(default)})" if _is_said(default) else setting.help
    flags = [f"--{setting.key}", *more_flags]
    if setting.kind is bool:
        group.add_argument(
            *flags,
            action=argparse.BooleanOptionalAction,
            default=argparse.SUPPRESS,
            help=setting.help,
        )
        return
    several: dict[str, Any] = {"nargs": "+"} if setting.several else {}
    group.add_argument(
        *flags,
        dest=setting.key,
        type=_from_flag(setting),
        default=argparse.SUPPRESS,
        metavar=setting.shown,
        choices=setting.choices or None,
        help=shown,
        **several,
    )


def _is_said(default: Any) -> bool:
    return default is not None and default != ()


def _spelled(default: Any) -> str:
    return " ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _from_flag(setting: Setting) -> Callable[[str], Any]:
    """What makes a value of a word of the command line."""
    if setting.kind not in (dict, Track):
        return setting.kind

    def pair(text: str) -> tuple[str, str] | Track:
        name, equals, stands_for = text.partition("=")
        if not (name and equals and stands_for):
            such = _SUCH[setting.key]
            raise argparse.ArgumentTypeError(f"{text!r}: expected {setting.shown}, such as {such}")
        return (name, stands_for) if setting.kind is dict else Track(name, tokenizer=stands_for)

    return pair


_SUCH = {"columns": "text=reply", "tracks": "char=char", "combinations": "dual=bleu+bleu[char]"}


def check(values: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The values of a configuration file, by key, as the flags would give them.

    source: the file, for messages. Raises ConfigurationError for a key that is none, and for a
    value of another type.
    """
    checked = {}
    for key, value in values.items():
        setting = BY_KEY.get(key)
        if setting is None:
            close = difflib.get_close_matches(key, BY_KEY, 1, 0.5)
            expected = f"the key {close[0]}" if close else f"one of {', '.join(BY_KEY)}"
            raise ConfigurationError(f"{source}: unknown key {key}", value, expected)
        taken = _taken(setting, value)
        if taken is None:
            raise ConfigurationError(f"{source}: {key}", value, expected_by(setting))
        checked[key] = taken
    return checked


def _taken(setting: Setting, value: Any) -> Any:
    """The value as the setting takes it; None if it does not."""
    if setting.kind is dict:
        return _pairs(value)
    if setting.kind is Track:
        return _tracks(value)
    if not setting.several:
        taken = _one(setting.kind, value)
        return None if setting.choices and taken not in setting.choices else taken
    if not isinstance(value, list) or not value:
        may_be_empty = setting.default in ((), None) and not setting.needed
        return () if value == [] and may_be_empty else None
    each = tuple(_one(setting.kind, one) for one in value)
    return None if None in each else each


def _one(kind: type, value: Any) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 2**1000 else None
    fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return value if fits else None


def _pairs(value: Any) -> tuple[tuple[str, str], ...] | None:
    """A table of names, and in it tables for one of the inputs, as pairs."""
    if not isinstance(value, dict):
        return None
    pairs: list[tuple[str, str]] = []
    for ours, theirs in value.items():
        if isinstance(theirs, dict):
            inner = _pairs(theirs)
            if inner is None:
                return None
            pairs += [(f"{ours}.{name}", in_file) for name, in_file in inner]
        elif isinstance(theirs, str):
            pairs.append((ours, theirs))
        else:
            return None
    return tuple(pairs)


def _tracks(value: Any) -> tuple[Track, ...] | None:
    """A table of tracks, each a table of settings or only the tokenizer."""
    if not isinstance(value, dict):
        return None
    tracks = []
    known = {f.name for f in fields(Track)} - {"name"}
    for name, of_track in value.items():
        given = {"tokenizer": of_track} if isinstance(of_track, str) else of_track
        if not isinstance(given, dict) or not {*given} <= known:
            return None
        taken = {key: _taken(BY_KEY[key], one) for key, one in given.items()}
        if None in taken.values():
            return None
        tracks.append(Track(name, **taken))
    return tuple(tracks)


def expected_by(setting: Setting) -> str:
    """What a value must be, for a message."""
    if setting.kind is dict:
        return f"a table of names, such as {example(setting)}"
    if setting.kind is Track:
        keys = ", ".join(f.name for f in fields(Track) if f.name != "name")
        return f"a table of tracks with {keys}, such as {example(setting)}"
    names = {str: "string", int: "whole number", float: "number", bool: "true or false"}
    name = names[setting.kind]
    if setting.choices:
        return "one of " + ", ".join(setting.choices)
    if setting.several:
        examples = {"weights": "[0.5, 0.5]", "null_text": '["<PAD>"]'}
        return f"a list of {name}s, such as {examples.get(setting.key, example(setting))}"
    return name if setting.kind is bool else f"a {name}"


def example(setting: Setting) -> str:
    """A value in TOML, for a setting that has none."""
    texts = {
        "hypotheses": '["runs/*.parquet"]', "references": '["references/"]', "output": '"out"',
        "metrics": '["bleu"]', "columns": '{example_id = "qid"}',
        "steps": '["nfkc", "lowercase"]', "tracks": '{char = {tokenizer = "char"}}',
        "combinations": '{bleu_dual = "0.3 * bleu[char] + 0.7 * bleu"}',
        "beam": '["--direct_num_workers=2"]',
    }  # fmt: skip
    plain = {
        str: _toml(setting.choices[0] if setting.choices else setting.shown),
        int: "1",
        float: "0.1",
    }
    made = texts.get(setting.key) or plain.get(setting.kind, "")
    return f"[{made}]" if setting.several and setting.key not in texts else made


def toml(values: Mapping[str, Any]) -> str:
    """The values as a commented TOML file that ``check`` takes."""
    lines: list[str] = []
    group = ""
    for setting in SETTINGS:
        if setting.group != group:
            group = setting.group
            lines += ["", f"# ---- {group} ----"]
        value = values.get(setting.key)
        lines += ["", f"# {setting.said}"]
        if value is None or (value == () and setting.default == ()):
            need = "needed" if setting.needed else "not set"
            lines.append(f"# {setting.key} = {example(setting)}  # {need}")
        elif setting.kind is dict:
            pairs = ", ".join(f"{_toml(ours)} = {_toml(theirs)}" for ours, theirs in value)
            lines.append(f"{setting.key} = {{{pairs}}}")
        elif setting.kind is Track:
            tracks = ", ".join(f"{_toml(track.name)} = {_toml_track(track)}" for track in value)
            lines.append(f"{setting.key} = {{{tracks}}}")
        else:
            lines.append(f"{setting.key} = {_toml(value)}")
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml_track(track: Track) -> str:
    said = {f.name: getattr(track, f.name) for f in fields(track) if f.name != "name"}
    return "{" + ", ".join(f"{k} = {_toml(v)}" for k, v in said.items() if v is not None) + "}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    return repr(value)


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 2**16 else f"\\U{ord(character):08x}"
