"""What a whole recipe costs beside plain jieba, and whether its memory stays flat.

``python -m benchmarks.recipe [--preset chat-zh] [--rows 1000000] [--repeats 5] [--json OUT]``

Texts: those of examples/ (with URLs, emoji and numbers) and synthetic replies of
``benchmarks.data``; each distinct text once. One core, CPU time, the least of the repeats;
dictionaries are loaded beforehand. Memory: the resident set after every tenth of the rows, no two
of which are equal, cut in batches of 10,000 as the job cuts them by partition.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import jieba
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import data
from benchmarks.step_effects import DATA, read
from scoring.text.presets import preset
from scoring.text.recipe import token_track

SEED = 12345
BATCH = 10_000
AT_LEAST = 150_000  # characters of a measurement


def example_texts() -> pa.Array:
    """The distinct texts of examples/, repeated with a number so that a repeat is another text."""
    texts = pa.concat_arrays([read(folder).joined.texts.cast(pa.string()) for folder in DATA])
    distinct = pc.unique(texts).to_pylist()
    times = -(-AT_LEAST // sum(map(len, distinct)))
    return pa.array([text + "。" * i for i in range(times) for text in distinct], pa.string())


def synthetic_texts(characters: int) -> pa.Array:
    """Distinct texts of the synthetic set."""
    hypotheses, _ = data.tables(SEED, max(characters // 40, 100), 3)
    return pc.unique(hypotheses["text"].combine_chunks().cast(pa.string()))


def seconds(run: Callable[[], object], repeats: int) -> float:
    """The least CPU seconds."""
    least = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        run()
        least = min(least, time.process_time() - start)
    return least


def rates(texts: pa.Array, name: str, repeats: int) -> dict[str, float]:
    """Characters a second of each part of the recipe, the whole, and jieba itself."""
    recipe = preset(name).recipe()
    strings = texts.to_pylist()
    characters = sum(map(len, strings))
    recipe.tokenize(texts)
    jieba.setLogLevel(60)
    jieba.lcut("载入词典")
    result = {}
    changed = texts
    for step in recipe.steps:
        result[step.signature()] = characters / seconds(partial(step.apply, changed), repeats)
        changed = step.apply(changed)
    result["all steps"] = characters / seconds(lambda: recipe.normalize(texts), repeats)
    result[recipe.tokenizer.signature()] = characters / seconds(
        lambda: recipe.tokenizer.tokenize(changed), repeats
    )
    result[f"{name}, whole"] = characters / seconds(lambda: recipe.tokenize(texts), repeats)
    result["jieba.lcut alone, raw text"] = characters / seconds(
        lambda: [jieba.lcut(text) for text in strings], min(repeats, 2)
    )
    return result


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(name: str, rows: int) -> Iterator[tuple[int, int]]:
    """(rows, resident bytes) after every tenth of the rows, no two of which are equal."""
    recipe = preset(name).recipe()
    base = [text[:20] for text in example_texts().to_pylist()]
    done = 0
    while done < rows:
        batch = [f"{base[i % len(base)]}{i}号，😂iPhone{i}" for i in range(done, done + BATCH)]
        token_track(pa.array(batch, pa.string()), recipe)
        done += BATCH
        if done % max(rows // 10, BATCH) == 0:
            yield done, resident()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--preset", default="chat-zh", metavar="NAME")
    parser.add_argument("--rows", type=int, default=1_000_000, help="for memory; 0: not measured")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    found: dict[str, object] = {"load_at_start": os.getloadavg()[0]}
    for of, texts in (("examples", example_texts()), ("synthetic", synthetic_texts(400_000))):
        measured = rates(texts, given.preset, given.repeats)
        found[of] = measured
        print(f"{of}: {len(texts):,} texts. Characters a second (CPU, one core):")
        for part, rate in measured.items():
            print(f"  {part:28} {rate / 1e6:8.2f} million")
    if given.rows:
        found["memory"] = sizes = []
        for rows, size in memory(given.preset, given.rows):
            print(f"  {rows:>11,} distinct rows: {size / 2**20:,.0f} MB", flush=True)
            sizes.append((rows, size))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main()
