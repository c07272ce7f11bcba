"""Make the golden files: what sacrebleu and pycocoevalcap themselves say about fixed texts.

    python tests/scoring/golden/make_golden.py

Run it only when the texts change or a tool's new version is taken on; then read the difference.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import jieba
from pycocoevalcap.cider.cider_scorer import CiderScorer
from sacrebleu.metrics.bleu import BLEU

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[2] / "examples" / "chat" / "source"
COMMAND = "python tests/scoring/golden/make_golden.py"
EXAMPLES_OF_A_DOMAIN = 3

# (references, replies): other numbers of references, empty and odd texts, nothing that matches.
ODD: list[tuple[list[str], list[str]]] = [
    (["量尺"], ["量尺", "", "尺量"]),
    (["好", "好的"], ["好", "好的", "不好"]),
    (["今天天气很好。", "天气好！", "今天 是 晴天"], ["今天天气很好。", "今天，天气很好", "晴"]),
    (["a b c d e f", "a b c"], ["a b c d", "a a a a a a", "f e d c b a"]),
    (["the cat sat on the mat , 3.5 times"], ["the the the the the", "the cat sat on the mat", ""]),
    (["", "x y"], ["", "x", "x y z"]),
    ([" \u3000 "], [" ", "z", "\u2028"]),
    (
        ["价格是1,999.00元—20%off", "价格：１９９９元", "1999元"],
        ["价格是1,999元", "1999 元", "¥1999"],
    ),
    (["“你好…”她说\u200b。"], ["“你好”，她说。", "你好…她说\u200b", "她说你好"]),
    (
        ["&lt;b&gt; Tom &amp; Jerry's well-\nknown 'show'"],
        ["<b> Tom & Jerry's wellknown", "tom", "&"],
    ),
    (["𠀀𠀁かなカナ한글😀👍🏽", "𠀀𠀁かな"], ["𠀀𠀁かなカナ", "😀👍🏽", "𠀁𠀀 なか"]),
    (
        ["一二三四五六七八九十"] * 4 + ["十九八七六五四三二一"],
        ["一二三四五", "十九八七", "五四三二一零"],
    ),
]


def read_examples() -> list[dict[str, Any]]:
    """The first lines of every domain of the chat example, then the odd texts."""
    examples: list[dict[str, Any]] = []
    for path in sorted(SOURCE.glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").split("\n")
        for line in lines[:EXAMPLES_OF_A_DOMAIN]:
            row = json.loads(line)
            references = [row["references"][kind] for kind in "ABC"]
            replies = [row["greedy"], row["beam"], *row["sampling"]]
            examples.append({"id": row["id"], "references": references, "replies": replies})
    for number, (references, replies) in enumerate(ODD):
        examples.append({"id": f"odd-{number:02d}", "references": references, "replies": replies})
    return examples


def make_tracks(examples: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The raw texts, and the texts cut into jieba's words and joined by blanks."""
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True

    def words(texts: Sequence[str]) -> list[str]:
        return [" ".join(" ".join(tokenizer.cut(text)).split()) for text in texts]

    cut = [{key: words(e[key]) for key in ("references", "replies")} for e in examples]
    return {"raw": examples, "words": cut}


def streams(examples: list[dict[str, Any]]) -> Any:
    """References as sacrebleu wants them: the first of every example, the second, ..."""
    most = max(len(e["references"]) for e in examples)
    return [
        [e["references"][i] if i < len(e["references"]) else None for e in examples]
        for i in range(most)
    ]


def bleu_of(examples: list[dict[str, Any]], reply: int, tokenize: str) -> dict[str, Any]:
    """Everything sacrebleu says about one reply to every example."""
    hypotheses = [e["replies"][reply] for e in examples]
    references = streams(examples)
    segments = BLEU(tokenize=tokenize, max_ngram_order=5)._extract_corpus_statistics(
        hypotheses, references
    )
    corpus = []
    smoothings = [("exp", None), ("none", None), ("floor", None), ("add-k", None), ("add-k", 0.5)]
    for (smooth, value), order, effective in product(smoothings, range(1, 6), (False, True)):
        metric = BLEU(
            tokenize=tokenize,
            smooth_method=smooth,
            smooth_value=value,
            max_ngram_order=order,
            effective_order=effective,
        )
        score = metric.corpus_score(hypotheses, references).score
        corpus.append([smooth, value, order, effective, score])
    sentence = BLEU(tokenize=tokenize, effective_order=True)
    return {
        "segment_statistics_order_5": [[int(n) for n in row] for row in segments],
        "corpus_scores": corpus,
        "sentence_scores": [
            sentence.sentence_score(h, e["references"]).score for h, e in zip(hypotheses, examples)
        ],
    }


def cider_of(examples: list[dict[str, Any]], reply: int) -> dict[str, Any]:
    """What pycocoevalcap says about one reply to every example; texts are cut at blanks."""
    scorer = CiderScorer(n=4, sigma=6.0)
    for example in examples:
        scorer += (example["replies"][reply], example["references"])
    corpus, segments = scorer.compute_score()
    return {"corpus": float(corpus), "segments": [float(s) for s in segments]}


def write(name: str, tools: Sequence[str], content: dict[str, Any]) -> None:
    header = {
        "made_by": COMMAND,
        "tools": {tool: version(tool) for tool in tools},
        "python": sys.version.split()[0],
    }
    lines = [f'"{key}": {json.dumps(value)}' for key, value in header.items()]
    for key, values in content.items():
        # One entry a line, so that a change can be read.
        if isinstance(values, dict):
            rows = [f'"{k}": {json.dumps(v, ensure_ascii=False)}' for k, v in values.items()]
            lines.append(f'"{key}": {{\n' + ",\n".join(rows) + "\n}")
        else:
            rows = [json.dumps(v, ensure_ascii=False) for v in values]
            lines.append(f'"{key}": [\n' + ",\n".join(rows) + "\n]")
    (HERE / name).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> None:
    examples = read_examples()
    tracks = make_tracks(examples)
    write("chat_texts.json", ["jieba"], {"examples": examples, "words": tracks["words"]})
    chat = [i for i, e in enumerate(examples) if not e["id"].startswith("odd")]
    odd = [i for i, e in enumerate(examples) if e["id"].startswith("odd")]
    sets = {"chat": chat, "odd": odd, "all": [*chat, *odd]}
    bleu = {}
    for name, (tokenize, track), reply in product(
        ["chat", "odd"],
        [("none", "words"), ("none", "raw"), ("char", "raw"), ("zh", "raw"), ("13a", "raw")],
        range(3),
    ):
        chosen = [tracks[track][i] for i in sets[name]]
        bleu[f"{name}/{track}/{tokenize}/{reply}"] = bleu_of(chosen, reply, tokenize)
    write("sacrebleu.json", ["sacrebleu"], {"bleu": bleu})
    cider = {}
    for (name, rows), reply in product(sets.items(), range(3)):
        words = [tracks["words"][i] for i in rows]
        characters = [
            {key: [" ".join(text) for text in tracks["raw"][i][key]] for key in words[0]}
            for i in rows
        ]
        cider[f"{name}/words/{reply}"] = cider_of(words, reply)
        cider[f"{name}/characters/{reply}"] = cider_of(characters, reply)
    write("pycocoevalcap.json", ["pycocoevalcap"], {"cider_d": cider})


if __name__ == "__main__":
    main()
