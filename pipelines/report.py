"""What a run says on the terminal, read back from its output folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from schemas.configuration import Evaluation
from scoring.metrics.registry import make_metric
from transforms import files, write


@dataclass(frozen=True)
class Result:
    """A finished run: the rows of ``scores`` and the manifest."""

    scores: list[dict[str, Any]]
    manifest: dict[str, Any]


def load(output: str) -> Result:
    """Read a run. Raises OSError if there is no manifest: the run did not finish."""
    folder = files.absolute(output)
    manifest = json.loads(files.read_bytes(files.join(folder, write.MANIFEST)))
    table = files.read_parquet(files.join(folder, "scores.parquet"))
    return Result(table.to_pylist(), manifest)


def table(result: Result) -> str:
    """One line a system (and slice), then notes and signatures."""
    counts = result.manifest["counts"]
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in result.scores:
        groups.setdefault((row["slice"], row["slice_value"], row["system"]), []).append(row)
    lines = []
    for (name, value, system), rows in groups.items():
        cells = [printable(system)]
        if name != "overall":
            cells.append(printable(f"{name}={value}"))
        cells += [_score(row) for row in rows]
        cells += [f"segments {rows[0]['segments']:,}", f"missing {rows[0]['missing']:,}"]
        if name == "overall":
            cells.append(f"refused {counts.get(f'system.refused.{system}', 0):,}")
        lines.append((name, cells))
    text = []
    slice_name = None
    for part in dict.fromkeys(name for name, _ in lines):
        text += _aligned([cells for name, cells in lines if name == part])
        text.append("")
        slice_name = part
    assert slice_name is not None or not lines
    notes: dict[str, int] = {}
    for row in result.scores:
        if row["note"]:
            label = f"{row['metric']}: {row['note']}"
            notes[label] = notes.get(label, 0) + 1
    text += [f"note ({n} rows) {printable(note)}" for note, n in notes.items()]
    text += [f"signature {printable(s)}" for s in result.manifest["signatures"].values()]
    return "\n".join(text) + "\n"


def problems(result: Result, config: Evaluation) -> list[str]:
    """Why the data are below the limits; none if they are not."""
    counts: dict[str, int] = result.manifest["counts"]
    found = []
    read = counts.get("hypotheses.read", 0)
    refused = counts.get("hypotheses.refused", 0)
    if refused > config.max_rejected * read:
        found.append(
            f"{refused:,} of {read:,} rows of hypotheses were refused, more than "
            f"--max_rejected {config.max_rejected:g} allows; see rejected/ for the reasons"
        )
    overall = [row for row in result.scores if row["slice"] == "overall"]
    if not any(row["segments"] for row in overall):
        found.append("nothing was scored; see rejected/ and the counts in manifest.json")
    elif all(row["value"] is None for row in overall):
        found.append("no score is defined; see the notes")
    if config.missing == "error":
        absent = {r["system"]: r["missing"] for r in overall if r["missing"]}
        found += [
            f"{printable(system)}: no output for {n:,} examples (--missing error)"
            for system, n in absent.items()
        ]
    return found


def _score(row: dict[str, Any]) -> str:
    label = make_metric_label(row["metric"], row["signature"])
    if row["value"] is None:
        return f"{label} undefined"
    text = f"{label} {row['value']:.4f}"
    if row["ci_low"] is not None:
        text += f" [{row['ci_low']:.4f}, {row['ci_high']:.4f}]"
    return text


def make_metric_label(metric: str, signature: str) -> str:
    """The name for people, such as BLEU-4."""
    if metric == "bleu":
        order = dict(part.split(":", 1) for part in signature.split("|"))["n"]
        return f"BLEU-{order}"
    return make_metric(metric, {}).label


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(_width(cell) for cell in column) for column in zip(*rows)]
    return [
        "  ".join(c + " " * (w - _width(c)) for c, w in zip(cells, widths)).rstrip()
        for cells in rows
    ]


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two."""
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def printable(text: str) -> str:
    """Text of unknown origin for a terminal: control characters are shown, not obeyed."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
