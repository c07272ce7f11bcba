"""The data of a user, or a sample of it, read without a job: for commands that look at texts."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines import options, settings
from schemas.configuration import Evaluation
from schemas.errors import InputError

if TYPE_CHECKING:
    from scoring.joining import Examples

EXAMPLES = 5000
"""Examples that are looked at unless another number is given."""

_LEFT_OUT = ("output", "overwrite", "max_rejected")


def _settings() -> list[settings.Setting]:
    return [
        setting
        for setting in settings.SETTINGS
        if setting.group == settings.DATA and setting.key not in _LEFT_OUT
    ]


def add_data(parser: argparse.ArgumentParser) -> None:
    """The flags that say where the data are, and how many examples are looked at."""
    group = parser.add_argument_group(settings.DATA)
    group.add_argument("--config", metavar="FILE", help="settings as TOML; only data are used")
    for setting in _settings():
        if setting.flag:
            settings.add_flag(group, setting, setting.default)
    group.add_argument(
        "--examples",
        type=int,
        default=EXAMPLES,
        metavar="N",
        help=f"look at N examples, chosen by hash of example_id (default {EXAMPLES:,}; 0: all)",
    )


def evaluation(given: argparse.Namespace, program: str) -> Evaluation:
    """The settings of the data. Raises UsageError, ConfigurationError."""
    keys = {setting.key for setting in _settings()}
    found = {} if given.config is None else options.load(given.config)
    found |= vars(given)
    found = {k: tuple(v) if isinstance(v, list) else v for k, v in found.items() if k in keys}
    absent = [f"--{key}" for key in ("hypotheses", "references") if not found.get(key)]
    if absent:
        raise options.UsageError(
            f"{' and '.join(absent)}: needed, by flag or in --config.\n"
            f"See liangchi {program} --help."
        )
    return Evaluation(output="-", metrics=("bleu",), partitions=1, **found)


@dataclass(frozen=True)
class Sample:
    """Examples and their texts, as ``scoring.joining`` lays them out. of: how many there are."""

    examples: Examples
    texts: Any
    systems: tuple[str, ...]
    of: int

    def said(self) -> str:
        """How many of how many, for people."""
        number = len(self.examples)
        if number >= self.of:
            return f"all {number:,} examples"
        return f"{number:,} of {self.of:,} examples, chosen by hash of example_id"


def read(config: Evaluation, examples: int) -> Sample:
    """Read the data. examples: how many to look at; 0: all. The same sample every time; memory is
    bounded by it. Raises ConfigurationError, InputError."""
    import pyarrow as pa

    from pipelines.evaluation import plan, read_rows
    from scoring import joining, sampling
    from transforms.sources import HYPOTHESES, REFERENCES

    planned = plan(config)
    columns = {
        REFERENCES: ["example_id", "references"],
        HYPOTHESES: ["example_id", "system", "sample", "text"],
    }
    kept = sampling.Smallest(examples or 2**62)
    seen = 0
    for _, _, rows in read_rows(planned, REFERENCES):
        seen += len(rows)
        kept.add(rows.select(columns[REFERENCES]))
    if kept.rows is None:
        raise InputError(f"{' '.join(config.references)}: no row that can be used.")
    found = []
    for _, _, rows in read_rows(planned, HYPOTHESES):
        own = rows.select(columns[HYPOTHESES])
        own = own.filter(sampling.chosen(own, kept.limit))
        found.append(own.unify_dictionaries())
    if not sum(map(len, found)):
        raise InputError(
            f"{' '.join(config.hypotheses)}: no row for an example of the references.\n"
            "Expected the same example_id on both sides."
        )
    hypotheses = pa.concat_tables(found)
    names = hypotheses.column("system").unique().to_pylist()
    systems = list(config.systems) or sorted(names)
    joined = joining.join(hypotheses, kept.rows, systems, config.missing)
    whole = len(joined.examples) if len(kept.rows) == seen else seen
    return Sample(joined.examples, joined.texts, tuple(systems), whole)
