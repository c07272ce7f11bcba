"""What a run says on the terminal, read back from its output folder. No Beam here: ``show`` must
be quick."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pipelines import data_section
from pipelines.options import Printing
from pipelines.text import printable
from schemas import tables
from schemas.configuration import Evaluation
from schemas.errors import InputError
from scoring.metrics.registry import make_metric
from scoring.metrics.tracks import SUM, scale_ends
from transforms import files, folder

__all__ = ["Result", "aligned", "load", "printable", "problems", "render", "table"]


@dataclass(frozen=True)
class Result:
    """A finished run: the rows of ``scores``, the manifest, what was compared, rows of ``data``."""

    scores: list[dict[str, Any]]
    manifest: dict[str, Any]
    comparisons: list[dict[str, Any]] = field(default_factory=list)
    ranking: list[dict[str, Any]] = field(default_factory=list)
    series: list[dict[str, Any]] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def warnings(self) -> list[str]:
        """Where a choice does not suit the data."""
        return list(self.manifest.get("warnings", []))


def load(output: str) -> Result:
    """Read a run. Raises InputError if it is none, or did not finish."""
    path = files.absolute(output)
    try:
        manifest = json.loads(files.read_bytes(files.join(path, folder.MANIFEST)))
        if not isinstance(manifest, dict) or not {"run_id", "signatures", "counts"} <= {*manifest}:
            raise ValueError("it is not a manifest of liangchi")
    except OSError as error:
        raise InputError(
            f"{output}: no finished run: {folder.MANIFEST} cannot be read: {_first_line(error)}.\n"
            "Expected the --output folder of liangchi evaluate; a run that was stopped has no "
            "manifest and must be\nrun again."
        ) from error
    except ValueError as error:
        raise InputError(
            f"{output}/{folder.MANIFEST}: cannot be understood: {_first_line(error)}.\n"
            "Expected the --output folder of liangchi evaluate, as it was written."
        ) from error
    scores = _rows(output, path, folder.SCORES, tables.SCORES)
    written = {entry["path"].rsplit("/", 1)[-1] for entry in manifest.get("files", ())}
    comparisons, ranking, series, data, samples = (
        _rows(output, path, name, schema) if name in written else []
        for name, schema in (
            (folder.COMPARISONS, tables.COMPARISONS),
            (folder.RANKING, tables.RANKING),
            (folder.SERIES, tables.SERIES),
            (folder.DATA, tables.DATA),
            (folder.SAMPLES, tables.SAMPLES),
        )
    )
    return Result(scores, manifest, comparisons, ranking, series, data, samples)


def _rows(output: str, path: str, name: str, schema: pa.Schema) -> list[dict[str, Any]]:
    try:
        table = files.read_parquet(files.join(path, name)).select(schema.names)
    except (OSError, KeyError, pa.ArrowException) as error:
        raise InputError(
            f"{output}/{name}: cannot be read: {_first_line(error)}.\n"
            "The folder was changed after the run; run it again."
        ) from error
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def render(result: Result, printing: Printing, output: str) -> str:
    """The scores as they were asked for; of a table the last line is the folder."""
    if printing.kind == "json":
        return _json(result, printing.scale, output)
    if printing.kind == "csv":
        return _csv(result, printing.scale)
    if printing.kind == "markdown":
        return _markdown(result, printing.scale)
    return f"{table(result, printing.scale)}{output}\n"


@dataclass(frozen=True)
class _Line:
    """Scores of one system in one slice, as texts."""

    slice: str
    system: str
    value: str
    scores: list[tuple[str, str]]
    segments: str
    missing: str
    refused: str | None


def _lines(result: Result, scale: float) -> list[_Line]:
    counts = result.manifest["counts"]
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in result.scores:
        groups.setdefault((row["slice"], row["slice_value"], row["system"]), []).append(row)
    return [
        _Line(
            name,
            system,
            value,
            [score_text(row, scale) for row in rows],
            f"{rows[0]['segments']:,}",
            f"{rows[0]['missing']:,}",
            f"{counts.get(f'system.refused.{system}', 0):,}" if name == "overall" else None,
        )
        for (name, value, system), rows in groups.items()
    ]


def table(result: Result, scale: float = 1.0) -> str:
    """One line a system (and slice), then how to read it, notes and signatures."""
    lines = _lines(result, scale)
    text: list[str] = []
    for part in dict.fromkeys(line.slice for line in lines):
        rows = []
        for line in lines:
            if line.slice != part:
                continue
            cells = [printable(line.system)]
            if part != "overall":
                cells.append(printable(f"{part}={line.value}"))
            cells += [f"{label} {score}" for label, score in line.scores]
            cells += [f"segments {line.segments}", f"missing {line.missing}"]
            if line.refused is not None:
                cells.append(f"refused {line.refused}")
            rows.append(cells)
        text += [*aligned(rows), ""]
    text += differences(result, scale)
    if apart := _samples(result, scale):
        head = f"several replies to one query (the farthest apart: {folder.SAMPLES_WORST_CSV})"
        text += [head, *aligned(apart), ""]
    text += _explanation(result, scale)
    text += _left_out(result)
    if looked_at := data_section.table(result.data):
        text += ["", *aligned(looked_at), ""]
    text += [f"warning {printable(warning)}" for warning in result.warnings]
    text += [f"note ({n} rows) {printable(note)}" for note, n in _notes(result).items()]
    text += [f"signature {printable(s)}" for s in result.manifest["signatures"].values()]
    return "\n".join(text) + "\n"


_MOST_DIFFERENCES = 40
_MOST_OF_SLICES = 10


def _compared(result: Result) -> dict[str, list[list[dict[str, Any]]]]:
    """overall, and slices: for every pair and metric its rows, one for each test. Of the slices
    only what counts: the largest differences."""
    of_pair: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    keys = ("slice", "slice_value", "metric", "system", "baseline")
    for row in result.comparisons:
        of_pair.setdefault(tuple(row[key] for key in keys), []).append(row)
    overall = [rows for key, rows in of_pair.items() if key[0] == "overall"]
    alpha = result.manifest["configuration"]["comparison"]["alpha"] if of_pair else 0.0
    slices = [
        rows
        for key, rows in of_pair.items()
        if key[0] != "overall" and any(_counts(row, alpha) for row in rows)
    ]
    slices.sort(key=lambda rows: -abs(rows[0]["difference"]))
    return {"overall": overall[:_MOST_DIFFERENCES], "slices": slices[:_MOST_OF_SLICES]}


def _counts(row: dict[str, Any], alpha: float) -> bool:
    return row["p_adjusted"] is not None and row["p_adjusted"] < alpha


def _difference_line(rows: list[dict[str, Any]], scale: float) -> list[str]:
    row = rows[0]
    factor = _factor(row, scale)
    digits = min(max(4 - round(math.log10(factor)), 0), 12)
    value = "undefined"
    if row["difference"] is not None:
        value = f"{row['difference'] * factor:+.{digits}f}"
        if row["ci_low"] is not None:
            low, high = row["ci_low"] * factor, row["ci_high"] * factor
            value += f" [{low:+.{digits}f}, {high:+.{digits}f}]"
    tests = [f"{r['test']} {_p_text(r['p_adjusted'])}" for r in rows]
    name = f"{printable(row['system'])} - {printable(row['baseline'])}"
    if row["slice"] != "overall":
        name += f" ({printable(row['slice'])}={printable(row['slice_value'])})"
    counts = f"{row['wins']:,} / {row['losses']:,} / {row['ties']:,}"
    return [name, _label(row), value, f"p {', '.join(tests)}", counts]


def _p_text(p: float | None) -> str:
    return "none" if p is None else f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}"


def differences(result: Result, scale: float) -> list[str]:
    """What was compared, as lines: all pairs over all examples, the ranking, and of the slices the
    largest differences that count."""
    if not result.comparisons:
        return []
    parts = _compared(result)
    shown = {
        name: [_difference_line(rows, scale) for rows in of_part] for name, of_part in parts.items()
    }
    text = aligned(shown["overall"])
    pairs = len({(r["system"], r["baseline"], r["metric"]) for r in result.comparisons})
    if pairs > len(shown["overall"]):
        text.append(f"... {pairs - len(shown['overall'])} more in {folder.COMPARISONS_CSV}")
    if shown["slices"]:
        text += ["", "differences in slices that count, the largest first"]
        text += aligned(shown["slices"])
    if ranked := _ranking(result, scale):
        text += ["", *aligned(ranked)]
    if checkpoints := _series(result, scale):
        text += ["", *aligned(checkpoints)]
    text += [
        "",
        "p: two-sided, adjusted by Holm for the pairs of a metric and slice; "
        "then examples won / lost / tied."
        + (" >: all before it win; =: not told apart." if ranked else "")
        + (" Of steps: adjusted for the choice of the best." if checkpoints else ""),
    ]
    return [*text, ""]


def _samples(result: Result, scale: float) -> list[list[str]]:
    """Of every system with several replies to one query: the mean over sample indices, and how far
    the replies of a query lie apart."""
    of_metric = {row["metric"]: row for row in result.scores}
    lines = []
    for row in result.samples:
        factor = _factor(of_metric[row["metric"]], scale)
        digits = min(max(4 - round(math.log10(factor)), 0), 12)
        mean, apart, limit = (
            "undefined" if value is None else f"{value * factor:.{digits}f}"
            for value in (row["mean_over_samples"], row["range"], row["limit"])
        )
        above = "" if row["above"] is None else f", above {limit} in {row['above']:.1%}"
        cells = [printable(row["system"]), _label(of_metric[row["metric"]])]
        cells.append(f"mean over {row['samples']:,} samples {mean}")
        lines.append([*cells, f"range of a query {apart}{above} of {row['queries']:,}"])
    return lines


def _series(result: Result, scale: float) -> list[list[str]]:
    """Over all examples a line for every system and metric: its best step, its last, where it
    should have been stopped."""
    of_metric = {row["metric"]: row for row in result.scores}
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in result.series:
        if row["slice"] == "overall":
            lines.setdefault((row["system"], row["metric"]), []).append(row)
    found = []
    for (system, metric), rows in lines.items():
        factor = _factor(of_metric[metric], scale)
        best = next((row for row in rows if row["is_best"]), None)
        stop = next((row for row in rows if row["stop"]), None)
        last = rows[-1]
        cells = [f"steps of {printable(system)}", _label(of_metric[metric])]
        cells.append("undefined" if best is None else f"best {_step(best, factor)}")
        end = f"last {_step(last, factor)}"
        if last["best_difference"] is not None:
            adjusted = _p_text(last["best_p_adjusted"])
            end += f" ({last['best_difference'] * factor:+.4f}, p {adjusted})"
        cells.append(end)
        cells.append("" if stop is None else f"falls in a row until {printable(stop['step'])}")
        found.append(cells)
    return found


def _step(row: dict[str, Any], factor: float) -> str:
    value = "undefined" if row["value"] is None else f"{row['value'] * factor:.4f}"
    return f"{printable(row['step'])}: {value}"


def _ranking(result: Result, scale: float) -> list[list[str]]:
    """Over all examples a line for every metric and test: systems by score, clusters parted."""
    lines: dict[tuple[str, str], list[str]] = {}
    clusters: dict[tuple[str, str], int] = {}
    of_metric = {row["metric"]: row for row in result.scores}
    for row in result.ranking:
        if row["slice"] != "overall":
            continue
        key = (_label(of_metric[row["metric"]]), row["test"])
        value = "undefined"
        if row["value"] is not None:
            value = f"{row['value'] * _factor(of_metric[row['metric']], scale):.4f}"
        parted = "" if key not in lines else " > " if row["cluster"] != clusters[key] else " = "
        lines.setdefault(key, []).append(f"{parted}{printable(row['system'])} {value}")
        clusters[key] = row["cluster"]
    return [[label, f"by {test}", "".join(parts)] for (label, test), parts in lines.items()]


def _explanation(result: Result, scale: float) -> list[str]:
    """How to read the table, for who sees it for the first time."""
    ranges = {}
    for row in result.scores:
        if ends := scale_ends(row.get("scale", "")):
            low, high = (f"{end * _factor(row, scale):g}" for end in ends)
            ranges[_label(row)] = f"{_label(row)} from {low} to {high}"
    if not ranges:
        return []
    said = [f"Higher is closer to the references: {', '.join(ranges.values())}."]
    levels = {row["ci_level"] for row in result.scores if row["ci_low"] is not None}
    said += [f"[low, high] is the {100 * level:g}% interval of a score." for level in levels]
    return [" ".join(said), "missing: examples without a text; refused: rows that cannot be used."]


def _left_out(result: Result) -> list[str]:
    counts = result.manifest["counts"]
    dropped = counts.get("references.near_duplicates", 0)
    if not dropped:
        return []
    examples = counts.get("references.near_duplicate_examples", 0)
    return [f"{dropped:,} near-duplicate references of {examples:,} examples are left out."]


def _notes(result: Result) -> dict[str, int]:
    notes: dict[str, int] = {}
    for row in result.scores:
        if row["note"]:
            label = f"{row['metric']}: {row['note']}"
            notes[label] = notes.get(label, 0) + 1
    return notes


def _json(result: Result, scale: float, output: str) -> str:
    rows = []
    for row in result.scores:
        scaled = _scaled_row(row, scale)
        rows.append({"label": _label(row), **{k: v for k, v in scaled.items() if k != "run_id"}})
    content = {
        "run_id": result.manifest["run_id"],
        "output": output,
        "scores": rows,
        **_beside(result, scale),
        "warnings": result.warnings,
        "counts": result.manifest["counts"],
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    # As JSON writes characters that a terminal would obey: the same data.
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text) + "\n"


def _beside(result: Result, scale: float) -> dict[str, list[dict[str, Any]]]:
    """The tables beside the scores that the run has, by name, on the scores' scale."""
    of_metric = {row["metric"]: row["scale"] for row in result.scores}
    found = {
        name: [
            _scaled_row({"scale": of_metric[row["metric"]], **row}, scale)
            for row in getattr(result, name)
        ]
        for name in ("comparisons", "ranking", "series", "samples")
    }
    return {
        name: [{k: v for k, v in row.items() if k != "run_id"} for row in rows]
        for name, rows in found.items()
        if rows
    }


def _csv(result: Result, scale: float) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    rows = [_scaled_row(row, scale) for row in result.scores]
    writer.writerow(rows[0] if rows else [])
    for row in rows:
        cells = (folder.csv_cell(value) for value in row.values())
        writer.writerow([printable(c) if isinstance(c, str) else c for c in cells])
    return text.getvalue()


def _markdown(result: Result, scale: float) -> str:
    lines = _lines(result, scale)
    text: list[str] = []
    for part in dict.fromkeys(line.slice for line in lines):
        own = [line for line in lines if line.slice == part]
        labels = [label for label, _ in own[0].scores]
        sliced = part != "overall"
        head = ["system", *([_markdown_text(part)] if sliced else []), *labels]
        head += ["segments", "missing", *([] if sliced else ["refused"])]
        text.append(f"| {' | '.join(head)} |")
        words = 2 if sliced else 1
        text.append("|" + " --- |" * words + " ---: |" * (len(head) - words))
        for line in own:
            cells = [_markdown_text(line.system)]
            cells += [_markdown_text(line.value)] if sliced else []
            cells += [score for _, score in line.scores]
            cells += [line.segments, line.missing, *([line.refused] if line.refused else [])]
            text.append(f"| {' | '.join(cells)} |")
        text.append("")
    compared = [line for rows in _compared(result).values() for line in rows]
    if compared:
        lines_of = [_difference_line(rows, scale) for rows in compared]
        text.append("| difference | metric | value | p | wins / losses / ties |")
        text.append("| --- | --- | --- | --- | --- |")
        text += [f"| {' | '.join(map(_markdown_text, cells))} |" for cells in lines_of]
        text.append("")
    beside = (*_ranking(result, scale), *_series(result, scale), *_samples(result, scale))
    text += [f"- {_markdown_text(', '.join(filter(None, cells)))}" for cells in beside]
    text += [f"- warning: {_markdown_text(warning)}" for warning in result.warnings]
    text += [f"- {_markdown_text(note)} ({n} rows)" for note, n in _notes(result).items()]
    text += [f"- signature {_markdown_text(s)}" for s in result.manifest["signatures"].values()]
    return "\n".join(text) + "\n"


_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#!@])")


def _markdown_text(text: str) -> str:
    """Text of unknown origin in Markdown: no cell ends in it, no markup, no HTML."""
    return _MARKDOWN.sub(r"\\\1", printable(text))


def problems(result: Result, config: Evaluation) -> list[str]:
    """Why the data are below the limits; none if they are not."""
    counts: dict[str, int] = result.manifest["counts"]
    found = []
    read = counts.get("hypotheses.read", 0)
    # References may be a subset; but if they share nothing with the hypotheses, ids differ.
    outside = counts.get("hypotheses.outside", 0)
    refused = counts.get("hypotheses.refused", 0) - outside
    if outside and outside == read - counts.get("hypotheses.not_selected", 0):
        found.append(
            f"{outside:,} of {read:,} rows of hypotheses were refused: none has the example_id of "
            "a reference; see rejected/ for what they have"
        )
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


def _factor(row: dict[str, Any], scale: float) -> float:
    """Only scores of 0-1 are ever printed on another scale."""
    return scale if row.get("scale", "0-1") == "0-1" else 1.0


def _scaled_range(row: dict[str, Any], scale: float) -> str:
    factor = _factor(row, scale)
    return str(row["scale"]) if factor == 1 else f"0-{factor:g}"


_SCORED = (
    *("value", "difference", "ci_low", "ci_high", "detectable_difference"),
    *(
        f"{to}_{name}"
        for to in ("previous", "best")
        for name in ("difference", "ci_low", "ci_high")
    ),
    *("mean_over_samples", "lowest_sample", "highest_sample", "range", "limit"),
)
_SQUARED = ("variance",)


def _scaled_row(row: dict[str, Any], scale: float) -> dict[str, Any]:
    factor = _factor(row, scale)
    if factor == 1:
        return row
    by = {**dict.fromkeys(_SCORED, factor), **dict.fromkeys(_SQUARED, factor**2)}
    scaled = {name: row[name] * by[name] for name in by if row.get(name) is not None}
    return {**row, **scaled, "scale": _scaled_range(row, scale)}


def score_text(row: dict[str, Any], scale: float) -> tuple[str, str]:
    """A label and a score with its interval."""
    if row["value"] is None:
        return _label(row), "undefined"
    factor = _factor(row, scale)
    # As many digits as 0-1 has with four: 12.87 for 0.1287.
    digits = min(max(4 - round(math.log10(factor)), 0), 12)
    text = f"{row['value'] * factor:.{digits}f}"
    if row["ci_low"] is not None:
        text += f" [{row['ci_low'] * factor:.{digits}f}, {row['ci_high'] * factor:.{digits}f}]"
    return _label(row), text


def _label(row: dict[str, Any]) -> str:
    return make_metric_label(row["metric"], row["signature"])


def make_metric_label(metric: str, signature: str) -> str:
    """The name for people, such as BLEU-4, BLEU-4[char]; that of a combination is its own."""
    if signature.startswith(f"metric:{SUM}|"):
        return metric
    name, bracket, track = metric.partition("[")
    if name == "bleu":
        order = re.search(r"\|n:(\d+)", signature)
        label = f"BLEU-{order[1]}" if order else "BLEU"
    else:
        label = make_metric(name, {}).label
    return f"{label}{bracket}{track}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines in which the cells of a column stand under each other."""
    widths = [max(width(cell) for cell in column) for column in zip(*rows)]
    return [
        "  ".join(c + " " * (w - width(c)) for c, w in zip(cells, widths)).rstrip()
        for cells in rows
    ]


def width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
