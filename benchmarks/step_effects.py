"""What each step of a recipe does to BLEU on the examples: the tables in docs/chinese.md.

``python -m benchmarks.step_effects [--write] [--data DIR ...]``

Every step is added alone to the recipe ``raw`` and, if ``chat-zh`` has it, taken alone out of that.
DIR holds folders ``hypotheses`` and ``references``. --write puts the tables between the markers of
docs/chinese.md; otherwise they are printed. Scores are 0 to 100; a column is a system.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scoring.evaluation import StatisticsLayout
from scoring.joining import Joined, join
from scoring.metrics.bleu import Bleu
from scoring.metrics.tracks import MAIN
from scoring.segments import Layout, SegmentTokens
from scoring.text.presets import PRESETS, Preset
from scoring.text.recipe import TextRecipe, token_track
from scoring.text.steps import BUILT_IN as STEPS
from scoring.text.token_steps import BUILT_IN as TOKEN_STEPS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "chinese.md"
DATA = (ROOT / "examples" / "chat", ROOT / "examples" / "chat-real")
BEGIN, END = "<!-- step effects: begin -->", "<!-- step effects: end -->"

RAW, CHAT = PRESETS["raw"], PRESETS["chat-zh"]


@dataclass(frozen=True)
class Examples:
    """The examples of one folder, joined once."""

    name: str
    systems: list[str]
    joined: Joined

    def bleu(self, recipe: TextRecipe) -> list[float]:
        """Corpus BLEU of every system, 0 to 100."""
        examples = self.joined.examples
        old = examples.layout
        tokens = SegmentTokens(
            token_track(self.joined.texts, recipe), Layout(old.references, old.hypotheses)
        )
        layout = StatisticsLayout((Bleu(),))
        (metric,) = layout.metrics
        sums = layout.per_example(layout.segment_statistics({MAIN: tokens}), examples).sum(axis=0)
        return [100 * float(score) for score in metric.score(sums[:, layout.columns(metric)])]

    def changed(self, recipe: TextRecipe, other: TextRecipe) -> float:
        """The share of distinct texts that the two recipes cut differently."""
        texts = pc.unique(self.joined.texts.cast(pa.string()))
        one, two = (r.tokenize(texts).to_lists() for r in (recipe, other))
        return float(np.mean([a != b for a, b in zip(one, two)]))


def read(folder: Path) -> Examples:
    """The rows that have a text and references; each (example, system, sample) once."""
    hypotheses = _table(folder / "hypotheses", ["example_id", "system", "sample", "text"])
    hypotheses = hypotheses.filter(pc.is_valid(hypotheses["text"]))
    references = _table(folder / "references", ["example_id", "references"])
    present = [[t for t in row or [] if t is not None] for row in references[1].to_pylist()]
    references = references.set_column(1, "references", pa.array(present, pa.list_(pa.string())))
    references = references.filter(pc.greater(pc.list_value_length(references[1]), 0))
    systems = sorted(pc.unique(hypotheses["system"]).to_pylist())
    return Examples(folder.name, systems, join(hypotheses, references, systems, "empty", None, []))


def _table(folder: Path, columns: list[str]) -> pa.Table:
    return pa.concat_tables(
        pq.ParquetFile(path).read(columns=columns, use_threads=False)
        for path in sorted(folder.glob("*.parquet"))
    ).combine_chunks()


def table(examples: Examples) -> Iterator[str]:
    """The lines of one table (Markdown)."""
    yield f"**{examples.name}**: {len(examples.joined.examples):,} examples"
    yield ""
    yield f"| recipe | texts cut otherwise | {' | '.join(examples.systems)} |"
    yield "| --- " * (2 + len(examples.systems)) + "|"
    yield from _rows(examples, "raw", RAW, [_with(step) for step in (*STEPS, *TOKEN_STEPS)])
    yield from _rows(examples, "chat-zh", CHAT, [_without(step) for step in CHAT.steps])


def _with(step: str) -> tuple[str, Preset]:
    if step in STEPS:
        return f"raw + {step}", Preset(RAW.tokenizer, (step,))
    return f"raw + {step}", Preset(RAW.tokenizer, (), (step,))


def _without(step: str) -> tuple[str, Preset]:
    steps = tuple(s for s in CHAT.steps if s != step)
    return f"chat-zh - {step}", Preset(CHAT.tokenizer, steps)


def _rows(
    examples: Examples, name: str, base: Preset, others: Sequence[tuple[str, Preset]]
) -> Iterator[str]:
    recipe = base.recipe()
    scores = examples.bleu(recipe)
    changed = examples.changed(RAW.recipe(), recipe)
    yield f"| **{name}** | {changed:.1%} | {' | '.join(f'**{s:.2f}**' for s in scores)} |"
    for title, other in others:
        differences = [b - a for a, b in zip(scores, examples.bleu(other.recipe()))]
        share = examples.changed(recipe, other.recipe())
        cells = " | ".join("0" if abs(d) < 0.005 else f"{d:+.2f}" for d in differences)
        yield f"| {title} | {share:.1%} | {cells} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables or write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", nargs="+", type=Path, default=DATA, metavar="DIR")
    parser.add_argument("--write", action="store_true", help=f"into {DOCS.name}")
    given = parser.parse_args(arguments)
    text = "\n\n".join("\n".join(table(read(folder))) for folder in given.data)
    if not given.write:
        print(text)
        return
    before, _, rest = DOCS.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCS.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
