"""``liangchi tokenizers``: what another way to cut texts would change, on the user's own data."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pipelines import options, recipes, sample
from pipelines.text import printable
from schemas.errors import ConfigurationError, OutputError

if TYPE_CHECKING:
    from scoring.text.agreement import Agreement, Disagreement

_REPEATS = 3
_SHOWN = 60
"""Characters of an example that are shown, around the stretch that is cut differently."""


def parser() -> argparse.ArgumentParser:
    """The parser of ``liangchi tokenizers``."""
    made = options.Parser(
        prog="liangchi tokenizers",
        allow_abbrev=False,
        description="Compare tokenizers on your data: how they agree, where they do not, how fast "
        "they are, and what BLEU and the order of the systems become.",
    )
    sample.add_data(made)
    made.add_argument(
        "--tokenizers",
        nargs="+",
        default=["jieba", "char", "zh"],
        metavar="SPEC",
        help="which; others are compared with the first (default jieba char zh)",
    )
    recipes.add_recipe(made)
    made.add_argument(
        "--most", type=int, default=10, metavar="N", help="disagreements shown (default 10)"
    )
    made.add_argument("--output", metavar="DIR", help="a new or empty folder for the tables")
    return made


@dataclass(frozen=True)
class Cut:
    """Texts as one tokenizer cuts them. scores: BLEU of the systems. seconds: processor time."""

    name: str
    signature: str
    tokens: int
    vocabulary: int
    seconds: float
    scores: tuple[float, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Comparison:
    """What is printed and written. label: of the metric. pairs: by the names of two tokenizers;
    disagreements: of others with the first, by name."""

    sample: sample.Sample
    texts: tuple[str, ...]
    characters: int
    label: str
    cuts: tuple[Cut, ...]
    pairs: dict[tuple[str, str], Agreement]
    disagreements: dict[str, list[Disagreement]]
    reversed_pairs: dict[str, int]


def tokenizers(arguments: Sequence[str]) -> str:
    """What is printed. Raises UserError."""
    given = parser().parse_args(list(arguments))
    names = list(dict.fromkeys(given.tokenizers))
    if len(names) < 2:
        raise ConfigurationError("tokenizers", names, "at least two that differ")
    config = sample.evaluation(given, "tokenizers")
    made = {name: recipes.recipe(given, name) for name in names}
    if given.output:
        check_new(given.output)
    found = compare(sample.read(config, given.examples), made, given.most)
    if given.output:
        write(given.output, found)
    return "\n".join(_lines(found)) + "\n" + (f"{given.output}\n" if given.output else "")


def check_new(output: str) -> None:
    """Raise OutputError unless the folder is new or empty."""
    from transforms import files

    if held := files.listing(files.absolute(output)):
        raise OutputError(
            f"--output {output}: the folder already holds {held[0]!r}.\n"
            "Expected a new or empty folder. Name another one."
        )


def compare(data: sample.Sample, made: dict[str, Any], most: int) -> Comparison:
    """Cut the texts in all ways. made: recipes by name; the first is what others are held against.
    most: disagreements of each with the first."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from scoring import segmenters
    from scoring.metrics.bleu import Bleu
    from scoring.text import agreement
    from scoring.text.recipe import token_track

    metric = Bleu()
    texts = pc.unique(data.texts.cast(pa.string()))
    boundaries, cuts, scores = {}, [], {}
    for name, recipe in made.items():
        recipe.tokenize(texts.slice(0, 1))  # loads what it needs
        seconds, tokens = _timed(partial(recipe.tokenize, texts))
        track = token_track(data.texts, recipe)
        values = segmenters.system_scores(track, data.examples, len(data.systems), metric)
        scores[name] = values
        boundaries[name] = agreement.Boundaries(tokens)
        cuts.append(
            Cut(
                name,
                recipe.signature(),
                len(tokens.ids),
                len(np.unique(tokens.ids)),
                seconds,
                tuple(values.tolist()),
                tuple(segmenters.ranks(values).tolist()),
            )
        )
    first, *others = made
    return Comparison(
        data,
        tuple(texts.to_pylist()),
        int(pc.sum(pc.utf8_length(texts)).as_py() or 0),
        metric.label,
        tuple(cuts),
        {
            (one, other): agreement.compare(boundaries[one], boundaries[other])
            for one, other in combinations(made, 2)
        },
        {
            other: agreement.disagreements(boundaries[first], boundaries[other], most)
            for other in others
        },
        {other: segmenters.reversed_pairs(scores[first], scores[other]) for other in others},
    )


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """The processor time of a call, the least of several, and what it returns."""
    least = math.inf
    for _ in range(_REPEATS):
        start = time.process_time()
        result = call()
        least = min(least, time.process_time() - start)
    return least, result


# For people


def _lines(found: Comparison) -> Iterator[str]:
    from pipelines.report import aligned

    names = [printable(cut.name) for cut in found.cuts]
    yield (
        f"{found.sample.said()}; {len(found.texts):,} distinct texts of {found.characters:,} "
        "characters"
    )
    yield ""
    rows = [("tokenizer", "tokens a text", "characters a token", "vocabulary", "characters/s")]
    for cut, name in zip(found.cuts, names):
        a_text = cut.tokens / max(len(found.texts), 1)
        a_token = found.characters / max(cut.tokens, 1)
        speed = f"{found.characters / cut.seconds:,.0f}" if cut.seconds > 0 else "too few to tell"
        rows.append((name, f"{a_text:.2f}", f"{a_token:.2f}", f"{cut.vocabulary:,}", speed))
    yield from aligned(rows)
    yield ""
    yield "agreement: F1 of boundaries inside texts, and share of texts cut alike"
    grid = [["", *names[1:]]]
    for i, one in enumerate(found.cuts[:-1]):
        cells = [
            _agreement(found.pairs[one.name, other.name]) if j > i else ""
            for j, other in enumerate(found.cuts)
        ]
        grid.append([names[i], *cells[1:]])
    yield from aligned(grid)
    for (one_name, other_name), pair in found.pairs.items():
        if pair.comparable < pair.texts:
            yield (
                f"{printable(one_name)} and {printable(other_name)}: compared on "
                f"{pair.comparable:,} of {pair.texts:,} texts; of the others they do not keep the "
                "same characters"
            )
    yield ""
    yield f"{found.label} and rank of the systems, on these examples"
    table = [["system", *names]]
    for i, system in enumerate(found.sample.systems):
        scores = [f"{_score(cut.scores[i])} ({cut.ranks[i]})" for cut in found.cuts]
        table.append([printable(system), *scores])
    yield from aligned(table)
    pairs = math.comb(len(found.sample.systems), 2)
    for name, count in found.reversed_pairs.items():
        if pairs:
            yield f"{printable(name)} turns {count:,} of {pairs:,} pairs of systems round"
    for name, parts in found.disagreements.items():
        yield ""
        yield f"most frequent differences, {names[0]} against {printable(name)}"
        shown = [["count", names[0], printable(name), "for example"]]
        for part in parts:
            example = excerpt(found.texts[part.text], part.one.replace("|", ""))
            shown.append([f"{part.count:,}", *map(printable, (part.one, part.other, example))])
        yield from aligned(shown) if parts else ["none"]


def _agreement(pair: Agreement) -> str:
    if not pair.comparable or pair.f1 is None:
        return "-"
    return f"{pair.f1:.4f}  {100 * pair.alike / pair.comparable:.1f}%"


def _score(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.4f}"


def excerpt(text: str, stretch: str) -> str:
    """The text, or what stands around a stretch of it if it is long."""
    if len(text) <= _SHOWN:
        return text
    at = max(text.find(stretch), 0)
    start = max(min(at - _SHOWN // 3, len(text) - _SHOWN), 0)
    end = start + _SHOWN
    return ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")


# For machines


def write(output: str, found: Comparison) -> None:
    """Write the tables as Parquet and CSV. Raises OutputError."""
    import pyarrow as pa

    from schemas import tables
    from transforms import files, folder

    base = {"texts": len(found.texts), "characters": found.characters}
    rows: dict[str, tuple[pa.Schema, list[dict[str, Any]]]] = {
        "tokenizers": (
            tables.TOKENIZERS,
            [
                {
                    "tokenizer": cut.name,
                    "signature": cut.signature,
                    **base,
                    "tokens": cut.tokens,
                    "vocabulary": cut.vocabulary,
                    "seconds": cut.seconds,
                }
                for cut in found.cuts
            ],
        ),
        "pairs": (
            tables.TOKENIZER_PAIRS,
            [
                {
                    "tokenizer": one,
                    "other": other,
                    "texts": pair.texts,
                    "comparable": pair.comparable,
                    "alike": pair.alike,
                    "boundaries_both": pair.both,
                    "boundaries_only": pair.one,
                    "boundaries_other": pair.other,
                    "f1": pair.f1,
                }
                for (one, other), pair in found.pairs.items()
            ],
        ),
        "disagreements": (
            tables.TOKENIZER_DISAGREEMENTS,
            [
                {
                    "tokenizer": found.cuts[0].name,
                    "other": other,
                    "cut": part.one,
                    "other_cut": part.other,
                    "count": part.count,
                    "example": found.texts[part.text],
                }
                for other, parts in found.disagreements.items()
                for part in parts
            ],
        ),
        "scores": (
            tables.TOKENIZER_SCORES,
            [
                {
                    "tokenizer": cut.name,
                    "system": system,
                    "metric": "bleu",
                    "value": None if math.isnan(value) else value,
                    "rank": rank,
                }
                for cut in found.cuts
                for system, value, rank in zip(found.sample.systems, cut.scores, cut.ranks)
            ],
        ),
    }
    path = files.absolute(output)
    try:
        for name, (schema, of_table) in rows.items():
            table = pa.Table.from_pylist(of_table, schema=schema)
            files.write_parquet(files.join(path, f"{name}.parquet"), table)
            files.write_bytes(files.join(path, f"{name}.csv"), folder.table_csv(table))
    except OSError as error:
        raise OutputError(f"--output {output}: cannot be written: {error}") from error
