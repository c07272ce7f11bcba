"""Make chat.json: what a run on the chat example gives, and what the peers say of the same texts.

    python tests/pipelines/golden/make_golden.py

Run it only when the example's texts, a definition or a tool's version changes; then read the
difference. "peers" does not use the product at all.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jieba
from pycocoevalcap.cider.cider_scorer import CiderScorer
from sacrebleu.metrics.bleu import BLEU

HERE = Path(__file__).resolve().parent
for folder in (HERE.parents[2], HERE.parent):
    sys.path.insert(0, str(folder))

# E402: run by hand, this file finds the harness and the rooms by the folders above.
import harness  # noqa: E402

COMMAND = "python tests/pipelines/golden/make_golden.py"
SYSTEMS = ("beam", "greedy", "sampling")


def read_source() -> list[dict[str, Any]]:
    """The lines from which the example's Parquet files are made, sorted by id."""
    lines = [
        json.loads(line)
        for path in sorted((harness.CHAT / "source").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").split("\n")
        if line
    ]
    return sorted(lines, key=lambda line: str(line["id"]))


def rows_of(lines: Sequence[dict[str, Any]], system: str) -> list[tuple[str, list[str]]]:
    """(hypothesis, references) of every sample of a system."""
    return [
        (text, list(line["references"].values()))
        for line in lines
        for text in (line[system] if isinstance(line[system], list) else [line[system]])
    ]


def bleu_of(rows: Sequence[tuple[str, list[str]]], tokenize: str) -> dict[str, Any]:
    """sacrebleu's corpus score with its counts; every example has the same number of references."""
    metric = BLEU(tokenize=tokenize)
    streams = [list(stream) for stream in zip(*(references for _, references in rows))]
    score = metric.corpus_score([text for text, _ in rows], streams)
    return {
        "score": score.score,
        "hypothesis_length": score.sys_len,
        "reference_length": score.ref_len,
        "matches": score.counts,
        "ngrams": score.totals,
        "signature": str(metric.get_signature()),
    }


def cider_of(rows: Sequence[tuple[str, list[str]]]) -> float:
    """pycocoevalcap's CIDEr-D; document frequencies are those of these rows' references."""
    scorer = CiderScorer(n=4, sigma=6.0)
    for text, references in rows:
        scorer += (text, references)
    return float(scorer.compute_score()[0])


def ask_peers(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """BLEU by system and tokenizer, and CIDEr-D of the systems with one reply to a query."""
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True

    def words(text: str) -> str:
        return " ".join(" ".join(tokenizer.cut(text)).split())

    bleu: dict[str, Any] = {}
    cider_d = {}
    for system in SYSTEMS:
        raw = rows_of(lines, system)
        cut = [(words(text), [words(r) for r in references]) for text, references in raw]
        bleu[f"jieba/{system}"] = bleu_of(cut, "none")
        for tokenize in ("zh", "char"):
            bleu[f"{tokenize}/{system}"] = bleu_of(raw, tokenize)
        if len(raw) == len(lines):
            cider_d[f"jieba/{system}"] = cider_of(cut)
    return {"bleu": bleu, "cider_d": cider_d}


def run_product() -> dict[str, Any]:
    """The integers as digests, the floats in full."""
    with tempfile.TemporaryDirectory() as folder:
        output = harness.run(harness.CHAT_INPUTS, Path(folder) / "out", *harness.BASE_FLAGS).fine()
        keys = ("system", "slice", "slice_value", "metric", "value", "ci_low", "ci_high")
        return {
            "integers": harness.integer_digests(output.segments),
            "scores": [
                [repr(row[k]) if isinstance(row[k], float) else row[k] for k in keys]
                for row in output.scores
            ],
        }


def main() -> None:
    product = run_product()
    peers = ask_peers(read_source())
    tools = ("sacrebleu", "pycocoevalcap", "jieba")
    header = {
        "made_by": COMMAND,
        "tools": {tool: version(tool) for tool in tools},
        "python": sys.version.split()[0],
        "product": f"liangchi evaluate (the chat example) {' '.join(harness.BASE_FLAGS)}",
    }
    parts = [f'"{key}": {json.dumps(value)}' for key, value in header.items()]
    for key, values in {**product, **peers}.items():
        # One entry a line, so that a change can be read.
        if isinstance(values, dict):
            rows = [f'"{k}": {json.dumps(v, ensure_ascii=False)}' for k, v in values.items()]
            parts.append(f'"{key}": {{\n' + ",\n".join(rows) + "\n}")
        else:
            rows = [json.dumps(v, ensure_ascii=False) for v in values]
            parts.append(f'"{key}": [\n' + ",\n".join(rows) + "\n]")
    (HERE / "chat.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
