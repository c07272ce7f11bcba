"""Makes the Parquet files of the chat example from source/*.jsonl: python examples/chat/make.py

240 queries over 20 topics, each with three references of three types (A answers directly, B offers
options, C answers with feeling), and the replies of three systems: beam, greedy, and sampling with
three samples a query. All texts are our own writing.
"""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
HYPOTHESIS_SHARDS = 4
REFERENCE_SHARDS = 2

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


def main() -> None:
    lines = [
        json.loads(line)
        for path in sorted((HERE / "source").glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    hypotheses = [
        {"example_id": line["id"], "system": system, "sample": sample, "text": text}
        for line in lines
        for system in ("beam", "greedy", "sampling")
        for sample, text in enumerate(
            line[system] if isinstance(line[system], list) else [line[system]]
        )
    ]
    references = [
        {
            "example_id": line["id"],
            "query": line["query"],
            "references": list(line["references"].values()),
            "reference_types": list(line["references"]),
            "domain": line["domain"],
        }
        for line in lines
    ]
    write("hypotheses", hypotheses, HYPOTHESES, HYPOTHESIS_SHARDS)
    write("references", references, REFERENCES, REFERENCE_SHARDS)


def write(name: str, rows: list[dict[str, object]], schema: pa.Schema, shards: int) -> None:
    """Deal the rows over the shards, so that no shard holds a topic or a system alone."""
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    for shard in range(shards):
        table = pa.Table.from_pylist(rows[shard::shards], schema=schema)
        path = folder / f"part-{shard:05d}-of-{shards:05d}.parquet"
        pq.write_table(table, path, compression="zstd")
    print(f"{folder}: {len(rows)} rows", file=sys.stderr)


if __name__ == "__main__":
    main()
