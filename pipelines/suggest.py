"""``liangchi suggest``: candidates for the user's dictionaries, as files ready to edit."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines import options, recipes, sample
from pipelines.text import printable
from pipelines.tokenizers import check_new, excerpt
from schemas.errors import OutputError

if TYPE_CHECKING:
    from scoring.suggestions import CommonWord, DomainWord, Miss

WORDS, STOP_WORDS, SYNONYMS = "words.txt", "stopwords.txt", "synonyms.json"
TABLE, CSV = "suggestions.parquet", "suggestions.csv"
_SHOWN = 5


def parser() -> argparse.ArgumentParser:
    """The parser of ``liangchi suggest``."""
    made = options.Parser(
        prog="liangchi suggest",
        allow_abbrev=False,
        description="Find candidates for your dictionaries in your data: words that the tokenizer "
        "cuts apart, stop words, and words that stand for each other. The files are to be looked "
        "through before they are used.",
    )
    sample.add_data(made)
    recipes.add_recipe(made)
    made.add_argument("--output", required=True, metavar="DIR", help="a new or empty folder")
    made.add_argument(
        "--most", type=int, default=200, metavar="N", help="candidates of each kind (default 200)"
    )
    return made


@dataclass(frozen=True)
class Suggestions:
    """What was found. texts: distinct ones, by the numbers that words carry; all_texts: those that
    misses carry. unused: misses that have no place in a group."""

    said: str
    words: list[DomainWord]
    common: list[CommonWord]
    groups: dict[str, list[str]]
    misses: list[Miss]
    unused: list[Miss]
    texts: list[str]
    all_texts: list[str]


def suggest(arguments: Sequence[str]) -> str:
    """What is printed. Raises UserError."""
    given = parser().parse_args(list(arguments))
    config = sample.evaluation(given, "suggest")
    recipe = recipes.recipe(given)
    check_new(given.output)
    found = find(sample.read(config, given.examples), recipe, given.most)
    write(given.output, found)
    return "\n".join(_lines(found)) + f"\n{given.output}\n"


def find(data: sample.Sample, recipe: Any, most: int) -> Suggestions:
    """Look for candidates. recipe: how texts are cut; most: of each kind."""
    import numpy as np
    import pyarrow as pa

    from scoring import suggestions

    encoded = data.texts.cast(pa.string()).dictionary_encode()
    # Steps may change a text: a word must stand in what the tokenizer sees.
    texts = recipe.normalize(encoded.dictionary)
    tokens = recipe.tokenize(encoded.dictionary)
    whole = tokens.take(encoded.indices.to_numpy().astype(np.int64))
    missed = suggestions.misses(whole, data.examples.layout, most)
    groups, unused = suggestions.groups(missed)
    return Suggestions(
        data.said(),
        suggestions.domain_words(tokens, texts, most),
        suggestions.common_words(tokens, most),
        groups,
        missed,
        unused,
        encoded.dictionary.to_pylist(),
        data.texts.to_pylist(),
    )


def _lines(found: Suggestions) -> Iterator[str]:
    from pipelines.report import aligned

    yield f"{found.said}; the most frequent of each kind:"
    kinds: list[tuple[str, str, list[list[str]]]] = [
        (
            WORDS,
            "words that are cut apart",
            [
                [
                    w.word,
                    "|".join(w.tokens),
                    f"{w.count:,} times",
                    _around(found.texts[w.text], w.word),
                ]
                for w in found.words[:_SHOWN]
            ],
        ),
        (
            STOP_WORDS,
            "stop words",
            [
                [w.word, f"in {w.texts:,} texts", _around(found.texts[w.text], w.word)]
                for w in found.common[:_SHOWN]
            ],
        ),
        (
            SYNONYMS,
            "words that stand for each other",
            [
                [
                    m.word,
                    m.other,
                    f"in {m.examples:,} examples",
                    _around(found.all_texts[m.hypothesis], m.other),
                    _around(found.all_texts[m.reference], m.word),
                ]
                for m in found.misses[:_SHOWN]
            ],
        ),
    ]
    for name, title, rows in kinds:
        yield ""
        yield f"{name}: {title}"
        shown = [[f"  {row[0]}", *row[1:]] for row in rows]
        yield from aligned([list(map(printable, row)) for row in shown]) if rows else ["  none"]
    yield ""
    yield f"Look through the files before you use them; all counts and examples are in {CSV}."


def _around(text: str, word: str) -> str:
    return excerpt(text, word)


def write(output: str, found: Suggestions) -> None:
    """Write the dictionaries and the table. Raises OutputError."""
    import pyarrow as pa

    from schemas import tables
    from transforms import files, folder

    table = pa.Table.from_pylist(list(_rows(found)), schema=tables.SUGGESTIONS)
    path = files.absolute(output)
    # A comment in a jieba dictionary would be a word: what is known of the words is in the table.
    words = "".join(f"{w.word}\n" for w in found.words)
    stops = ["# Stop words, those that tell texts apart least first: delete what you need."]
    for w in found.common:
        example = excerpt(found.texts[w.text], w.word)
        stops += [f"# in {w.texts} texts, {w.count} times: {printable(example)}", w.word]
    content = {
        WORDS: words,
        STOP_WORDS: "\n".join(stops) + "\n",
        SYNONYMS: json.dumps(found.groups, ensure_ascii=False, indent=1) + "\n",
    }
    try:
        for name, text in content.items():
            files.write_bytes(files.join(path, name), text.encode())
        files.write_parquet(files.join(path, TABLE), table)
        files.write_bytes(files.join(path, CSV), folder.table_csv(table))
    except OSError as error:
        raise OutputError(f"--output {output}: cannot be written: {error}") from error


def _rows(found: Suggestions) -> Iterator[dict[str, Any]]:
    for w in found.words:
        yield {
            "kind": "word",
            "word": w.word,
            "other": "|".join(w.tokens),
            "count": w.count,
            "measure": w.cohesion,
            "example": found.texts[w.text],
        }
    for c in found.common:
        yield {
            "kind": "stop_word",
            "word": c.word,
            "count": c.texts,
            "measure": c.weight,
            "example": found.texts[c.text],
        }
    unused = {(m.word, m.other) for m in found.unused}
    for m in found.misses:
        yield {
            "kind": "synonym_unused" if (m.word, m.other) in unused else "synonym",
            "word": m.word,
            "other": m.other,
            "count": m.examples,
            "example": found.all_texts[m.hypothesis],
            "reference": found.all_texts[m.reference],
        }
