"""Lists every change that the step ``numbers`` makes on a corpus, to be read by a person.

``python -m benchmarks.number_changes FILES... [--sample N --seed S] [--kind KIND]``

FILES: Parquet (columns of text or lists of texts, by default ``text`` and ``references``) or text,
one a line. Distinct texts count once. Printed are tab-separated lines: how many texts have the
change, kind of rule, old, new, and the change in the context of one text; the most frequent first.
The figures on speed are of the step alone over all distinct texts, the least CPU time of three.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.text import printable
from scoring.text.steps.numbers import Change, Numbers

AROUND = 12


def texts_of(path: Path, columns: Sequence[str]) -> Iterator[str]:
    """All texts of a file."""
    if path.suffix != ".parquet":
        yield from path.read_text("utf-8").split("\n")
        return
    file = pq.ParquetFile(path)
    present = [name for name in columns if name in file.schema_arrow.names]
    if not present:
        raise SystemExit(
            f"{path}: none of the columns {', '.join(columns)}; name some by --columns"
        )
    table = file.read(columns=present, use_threads=False)
    for name in present:
        column = table[name].combine_chunks()
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            column = column.flatten()
        yield from (text for text in column.to_pylist() if text)


def all_changes(step: Numbers, text: str) -> Iterator[tuple[str, Change]]:
    """Every change with the text that it was made in: round by round, as the step works."""
    while changes := step.changes(text):
        done, end = "", 0
        for change in changes:
            yield text, change
            done += text[end : change.start] + change.new
            end = change.end
        text = done + text[end:]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="List what the step numbers changes.")
    parser.add_argument("files", nargs="+", type=Path, help="Parquet or text files")
    parser.add_argument("--columns", nargs="+", default=["text", "references"])
    parser.add_argument("--kind", help="only the changes of this kind of rule")
    parser.add_argument("--sample", type=int, help="so many changes, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)

    texts = sorted({t for path in options.files for t in texts_of(path, options.columns)})
    step = Numbers()
    counts: Counter[tuple[str, str, str]] = Counter()
    context: dict[tuple[str, str, str], str] = {}
    changed = 0
    for text in texts:
        found = dict.fromkeys(
            (change.kind, change.old, change.new) for _, change in all_changes(step, text)
        )
        changed += bool(found)
        counts.update(list(found))
        for before, change in all_changes(step, text):
            left = before[max(0, change.start - AROUND) : change.start]
            right = before[change.end : change.end + AROUND]
            context.setdefault(
                (change.kind, change.old, change.new), f"{left}[{change.old}]{right}"
            )
    rows = sorted(counts, key=lambda key: (-counts[key], key))
    rows = [key for key in rows if options.kind in (None, key[0])]
    if options.sample is not None and options.sample < len(rows):
        rows = random.Random(options.seed).sample(rows, options.sample)
    for key in rows:
        kind, old, new = key
        print(counts[key], kind, *(printable(x) for x in (old, new, context[key])), sep="\t")

    column = pa.array(texts, pa.string())
    seconds = min(_seconds(step, column) for _ in range(3))
    characters = sum(map(len, texts))
    print(
        f"{len(texts)} distinct texts, {changed} changed; {len(counts)} distinct changes, "
        f"{sum(counts.values())} in all; {characters} characters in {seconds:.2f} s of CPU, "
        f"{characters / max(seconds, 1e-9):.3g} a second",
        file=sys.stderr,
    )


def _seconds(step: Numbers, texts: pa.Array) -> float:
    start = time.process_time()
    step.apply(texts)
    return time.process_time() - start


if __name__ == "__main__":
    main()
