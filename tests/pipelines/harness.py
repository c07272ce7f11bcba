"""Runs of ``liangchi evaluate`` in tests: inputs written in any cut, the run, its tables read back.

Tables are read with ParquetFile.read(use_threads=False): the threads of pyarrow's scanner
(pq.read_table) can outlive the interpreter, which then aborts at exit.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines import command

ROOT = Path(__file__).resolve().parents[2]

PATIENCE = 300.0
"""Seconds that tests wait for another process: many times what a slow machine needs."""

WITH_CLOUDS = {"PYTHONPATH": str(ROOT)}
"""Environment of a process that finds the libraries of the clouds; others do not (tests/start)."""

CHAT = ROOT / "examples" / "chat"

HYPOTHESES = pa.schema(
    [
        ("example_id", pa.string()),
        ("system", pa.string()),
        ("sample", pa.int32()),
        ("text", pa.string()),
    ]
)


@dataclass(frozen=True)
class Inputs:
    """Two folders of Parquet files."""

    hypotheses: Path
    references: Path

    def flags(self) -> list[str]:
        return ["--hypotheses", str(self.hypotheses), "--references", str(self.references)]


CHAT_INPUTS = Inputs(CHAT / "hypotheses", CHAT / "references")

BASE_FLAGS = ("--slices", "domain", "--bootstrap", "300")
"""How the chat example is run for the fixture ``chat`` and for the golden file."""


def hypotheses_table(
    rows: Iterable[tuple[str | None, str | None, int | None, str | None]],
) -> pa.Table:
    """Rows of (example_id, system, sample, text)."""
    names = HYPOTHESES.names
    return pa.Table.from_pylist([dict(zip(names, row)) for row in rows], schema=HYPOTHESES)


def references_table(
    rows: Iterable[tuple[str | None, Sequence[str | None] | None]],
    **columns: Sequence[object],
) -> pa.Table:
    """Rows of (example_id, references) and more columns by name."""
    rows = list(rows)
    return pa.table(
        {
            "example_id": pa.array([name for name, _ in rows], pa.string()),
            "references": pa.array([texts for _, texts in rows], pa.list_(pa.string())),
            **{name: pa.array(values) for name, values in columns.items()},
        }
    )


def write_shards(
    folder: Path,
    table: pa.Table,
    *,
    shards: int = 1,
    row_group_size: int = 1_000_000,
    shuffle: int | None = None,
) -> Path:
    """Write a table as Parquet files, its rows shuffled by that seed and dealt over the shards."""
    folder.mkdir(parents=True)
    order = list(range(len(table)))
    if shuffle is not None:
        random.Random(shuffle).shuffle(order)
    for shard in range(shards):
        part = table.take(pa.array(order[shard::shards], pa.int64()))
        path = folder / f"part-{shard:05d}-of-{shards:05d}.parquet"
        pq.write_table(part, path, row_group_size=row_group_size)
    return folder


def write_inputs(
    folder: Path,
    hypotheses: pa.Table,
    references: pa.Table,
    *,
    shards: int = 1,
    row_group_size: int = 1_000_000,
    shuffle: int | None = None,
) -> Inputs:
    """Both tables, cut alike."""
    made = [
        write_shards(
            folder / name, table, shards=shards, row_group_size=row_group_size, shuffle=shuffle
        )
        for name, table in (("hypotheses", hypotheses), ("references", references))
    ]
    return Inputs(*made)


def read_parquet(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as parquet:
        return parquet.read(use_threads=False)


def read_folder(folder: Path) -> pa.Table:
    """All Parquet files of a folder as one table, in the order of their names."""
    return pa.concat_tables([read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


@dataclass(frozen=True)
class Output:
    """The folder that a run left."""

    folder: Path

    @property
    def manifest(self) -> dict[str, Any]:
        text = (self.folder / "manifest.json").read_text(encoding="utf-8")
        content: dict[str, Any] = json.loads(text)
        return content

    @property
    def counts(self) -> dict[str, Any]:
        counts: dict[str, Any] = self.manifest["counts"]
        return counts

    @property
    def scores(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = read_parquet(self.folder / "scores.parquet").to_pylist()
        return rows

    def score(
        self, system: str, metric: str, name: str = "overall", value: str = ""
    ) -> dict[str, Any]:
        """The one row of the scores of that name."""
        key = (system, metric, name, value)
        (row,) = (
            row
            for row in self.scores
            if (row["system"], row["metric"], row["slice"], row["slice_value"]) == key
        )
        return row

    @property
    def segments(self) -> pa.Table:
        """All files of segments as one table, sorted by example, system and sample."""
        table = read_folder(self.folder / "segments")
        keys = [(name, "ascending") for name in ("example_id", "system", "sample")]
        return table.sort_by(keys)

    @property
    def replicates(self) -> pa.Table:
        return read_parquet(self.folder / "replicates.parquet")

    @property
    def rejected(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = read_folder(self.folder / "rejected").to_pylist()
        return sorted(rows, key=lambda row: (row["table"], row["file"], row["row"]))


@dataclass(frozen=True)
class Ran:
    """A run that is over: its exit code and what it said."""

    code: int
    stdout: str
    stderr: str
    output: Output

    def fine(self) -> Output:
        """The output of a run that ended with 0."""
        assert self.code == 0, self.stderr
        return self.output

    def refused(self) -> str:
        """The message of a run that ended with 2: on one screen, and no traceback."""
        assert self.code == 2, self.stderr
        assert self.stderr.startswith("liangchi: ")
        assert 1 <= len(self.stderr.splitlines()) <= 24
        assert "Traceback" not in self.stderr
        assert not (self.output.folder / "manifest.json").exists()
        return self.stderr

    def below(self) -> Output:
        """The output of a run that ended with 3: tables are written, the reason is said."""
        assert self.code == 3, self.stderr
        assert "liangchi: " in self.stderr
        assert "Traceback" not in self.stderr
        assert self.output.manifest["files"]
        return self.output


def run(inputs: Inputs | Sequence[str], output: Path, *flags: object) -> Ran:
    """Evaluate in this process. inputs: folders, or the flags that name them."""
    arguments = _arguments(inputs, output, flags)
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = command.main(["evaluate", *arguments])
    return Ran(code, stdout.getvalue(), stderr.getvalue(), Output(output))


def command_run(*arguments: str) -> tuple[int, str, str]:
    """Any command in this process: exit code, stdout, stderr."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = command.main(list(arguments))
    return code, stdout.getvalue(), stderr.getvalue()


def command_output(*arguments: str) -> str:
    """What a command prints that ends with 0."""
    code, stdout, stderr = command_run(*arguments)
    assert code == 0, stderr
    return stdout


def run_process(
    inputs: Inputs | Sequence[str],
    output: Path,
    *flags: object,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """Evaluate in a process of its own: ``python -m pipelines.evaluate``."""
    call = [sys.executable, "-m", "pipelines.evaluate", *_arguments(inputs, output, flags)]
    done = subprocess.run(
        call,
        cwd=output.parent,
        env={**process_environment(), **(environment or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    return Ran(done.returncode, done.stdout, done.stderr, Output(output))


def process_environment() -> dict[str, str]:
    """This process' environment, in which Python finds the rooms of this tree first, and no
    libraries of the clouds (tests/start).

    Worker processes inherit it.
    """
    return {**os.environ, "PYTHONPATH": python_path(), "PYTHONDONTWRITEBYTECODE": "1"}


def python_path(*before: Path) -> str:
    """PYTHONPATH of ``process_environment``, behind more folders."""
    return os.pathsep.join(map(str, [*before, ROOT, ROOT / "tests" / "start"]))


def _arguments(inputs: Inputs | Sequence[str], output: Path, flags: Sequence[object]) -> list[str]:
    given = inputs.flags() if isinstance(inputs, Inputs) else list(inputs)
    return [*given, "--output", str(output), *map(str, flags)]


def check_same_bytes(one: Output, other: Output) -> None:
    """Scores and replicates of equal bytes; equal segments, however they are cut into files."""
    for name in ("scores.parquet", "scores.csv", "replicates.parquet", "data.parquet", "data.csv"):
        same = (one.folder / name).read_bytes() == (other.folder / name).read_bytes()
        assert same, f"{name} of {one.folder} and {other.folder} differ"
    assert one.segments.schema == other.segments.schema
    # repr tells every two floats apart, -0.0 from 0.0 too.
    assert repr(one.segments.to_pylist()) == repr(other.segments.to_pylist())
    assert one.manifest["run_id"] == other.manifest["run_id"]
    assert one.counts == other.counts
    assert one.manifest["warnings"] == other.manifest["warnings"]


def integer_digests(segments: pa.Table) -> dict[str, str]:
    """Of every integer column the SHA-256 of its values as little-endian 8-byte integers.

    segments: sorted, see ``Output.segments``. Null counts as -1.
    """
    digests = {}
    for field in segments.schema:
        if not pa.types.is_integer(field.type):
            continue
        values = segments.column(field.name)
        if values.null_count:
            values = values.fill_null(-1)
        width = "<u8" if field.type == pa.uint64() else "<i8"
        data = np.ascontiguousarray(values.to_numpy().astype(width)).tobytes()
        digests[field.name] = hashlib.sha256(data).hexdigest()
    return digests
