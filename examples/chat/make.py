"""Makes the example data from source/*.jsonl and warts.jsonl: python examples/chat/make.py

examples/chat (Parquet): 240 queries over 20 topics, each with three references of three types (A
answers directly, B offers options, C answers with feeling), and the replies of three systems: beam,
greedy, and sampling with three samples a query.

examples/chat-real (Parquet, and the same rows as JSONL): all that, and what real dumps have beside
it; warts.jsonl says in its field why what each row is there for. All texts are our own writing.
"""

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
REAL = HERE.parent / "chat-real"
HYPOTHESIS_SHARDS = 4
REFERENCE_SHARDS = 2

SYSTEMS = ("beam", "greedy", "sampling")

HYPOTHESES = pa.schema(
    [
        ("example_id", pa.string()),
        ("system", pa.string()),
        ("sample", pa.int32()),
        ("text", pa.string()),
    ]
)
REFERENCES = pa.schema(
    [
        ("example_id", pa.string()),
        ("query", pa.string()),
        ("references", pa.list_(pa.string())),
        ("reference_types", pa.list_(pa.string())),
        ("domain", pa.string()),
    ]
)

Line = dict[str, Any]


def main() -> None:
    sources = sorted((HERE / "source").glob("*.jsonl"))
    lines = [line for path in sources for line in read(path)]
    warts = read(HERE / "warts.jsonl")
    write(HERE, lines)
    write(REAL, [*lines, *warts])
    write_jsonl(REAL / "jsonl", [*lines, *warts])


def read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def replies(line: Line) -> Iterable[tuple[str, Any]]:
    """(system, its reply or list of replies), some of them twice."""
    for system in SYSTEMS:
        for given in (line, line.get("again", {})):
            if system in given:
                yield system, given[system]


def reply(given: Any) -> str | None:
    """A reply; one that did not stop is written as what it repeats."""
    return given["repeat"] * given["times"] if isinstance(given, dict) else given


def reference_rows(line: Line) -> Iterable[Line]:
    context = line.get("context") or [f"用户：{line['query']}"]
    of_user = [turn.removeprefix("用户：") for turn in context if turn.startswith("用户：")]
    for key in ("references", "other_references"):
        if key in line:
            yield {
                "example_id": line["id"],
                "context": context,
                "query": of_user[-1],
                "references": list(line[key].values()),
                "reference_types": list(line[key]),
                "domain": line["domain"],
            }


def write(folder: Path, lines: list[Line]) -> None:
    """The rows as Parquet."""
    hypotheses = [
        {"example_id": line["id"], "system": system, "sample": sample, "text": reply(text)}
        for line in lines
        for system, given in replies(line)
        for sample, text in enumerate(given if isinstance(given, list) else [given])
    ]
    references = [row for line in lines for row in reference_rows(line)]
    write_shards(folder / "hypotheses", hypotheses, HYPOTHESES, HYPOTHESIS_SHARDS)
    write_shards(folder / "references", references, REFERENCES, REFERENCE_SHARDS)


def write_shards(folder: Path, rows: list[Line], schema: pa.Schema, shards: int) -> None:
    """Deal the rows over the shards, so that no shard holds a topic or a system alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for shard in range(shards):
        table = pa.Table.from_pylist(rows[shard::shards], schema=schema)
        path = folder / f"part-{shard:05d}-of-{shards:05d}.parquet"
        pq.write_table(table, path, compression="zstd")
    print(f"{folder}: {len(rows)} rows", file=sys.stderr)


def write_jsonl(folder: Path, lines: list[Line]) -> None:
    """The rows as JSON, one object a line: samples as a list, the dialogue for the query."""
    folder.mkdir(parents=True, exist_ok=True)
    hypotheses = [
        {"id": line["id"], "system": system, "responses": [reply(text) for text in given]}
        if isinstance(given, list)
        else {"id": line["id"], "system": system, "text": reply(given)}
        for line in lines
        for system, given in replies(line)
    ]
    references = [
        {
            "id": row["example_id"],
            "context": row["context"],
            "responses": row["references"],
            "reference_types": row["reference_types"],
            "domain": row["domain"],
        }
        for line in lines
        for row in reference_rows(line)
    ]
    (folder / "references.jsonl").write_bytes(as_lines(references))
    # Without a time in it, so that the same rows make the same bytes.
    (folder / "hypotheses.jsonl.gz").write_bytes(gzip.compress(as_lines(hypotheses), mtime=0))


def as_lines(rows: list[Line]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")


if __name__ == "__main__":
    main()
