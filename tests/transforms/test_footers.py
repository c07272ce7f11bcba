"""Footers that would end the process are refused first; all others are left to pyarrow."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transforms.importers import footers, parquet
from transforms.importers.base import BadFile, Column

COLUMNS = [Column("example_id", ("example_id",), "id"), Column("text", ("text",), "text")]


def written(table: pa.Table, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def split(data: bytes) -> tuple[bytes, bytes]:
    """(what is before the footer, the footer)"""
    length = int.from_bytes(data[-8:-4], "little")
    return data[: -8 - length], data[-8 - length : -8]


RAGGED = pa.table(
    {
        "example_id": pa.array(["a", "b", None]),
        "number": pa.array([1, 2, 3], pa.int32()),
        "lists": pa.array([["a"], [], None], pa.list_(pa.string())),
        "deep": pa.array([[[1]], [[]], None], pa.list_(pa.list_(pa.int64()))),
        "struct": pa.array([{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}]),
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int8())),
        "flag": pa.array([True, None, False]),
        "real": pa.array([0.5, None, 1.5]),
        "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
        "text": pa.array(["量尺", None, "x"]).dictionary_encode(),
    }
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 1},
        {"version": "1.0", "data_page_version": "2.0", "compression": "none"},
        {"write_page_index": True, "write_page_checksum": True},
        {"store_schema": False, "write_statistics": False, "use_dictionary": False},
    ],
)
@pytest.mark.parametrize("table", [RAGGED, RAGGED.slice(0, 0), RAGGED.select(["flag"])])
def test_what_pyarrow_writes_is_fine(table: pa.Table, options: dict[str, object]) -> None:
    footers.check(split(written(table, **options))[1])


def test_the_columns_of_a_schema_have_the_levels_that_pyarrow_says() -> None:
    data = written(RAGGED)
    leaves = footers._leaves(footers._Reader(split(data)[1]).footer().schema)
    schema = pq.ParquetFile(pa.BufferReader(data)).schema
    found = [schema.column(i) for i in range(len(schema))]
    assert [(leaf.definition, leaf.repetition) for leaf in leaves] == [
        (column.max_definition_level, column.max_repetition_level) for column in found
    ]
    assert [leaf.is_text for leaf in leaves] == [c.physical_type == "BYTE_ARRAY" for c in found]


def test_a_footer_of_more_columns_than_the_schema_or_cut_off_is_damaged() -> None:
    footer = split(written(RAGGED))[1]
    for end in range(0, len(footer) - 1, 7):
        with pytest.raises(ValueError):
            footers.check(footer[:end])
    with pytest.raises(ValueError, match="damaged"):
        footers.check(b"\x19\xfc\xff\xff\xff\xff\x0f")  # a list of four thousand million


def survives(path: Path, files: Iterable[bytes]) -> list[str]:
    """What becomes of a child that inspects these files one after the other, each at the path."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:  # pragma: no cover
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        for data in files:
            signal.alarm(60)
            os.write(theirs, inspected(path, data))
        os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        said = [("fine", "bad file", "traceback")[each] for each in pipe.read()]
    _, status = os.waitpid(child, 0)
    return [*said, f"signal {os.WTERMSIG(status)}"] if os.WIFSIGNALED(status) else said


def inspected(path: Path, data: bytes) -> bytes:
    try:
        path.write_bytes(data)
        parquet.inspect(str(path), "hypotheses", COLUMNS, ())
        return b"\0"
    except BadFile:
        return b"\1"
    except BaseException:
        return b"\2"


def test_a_child_that_is_ended_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = written(pa.table({"example_id": ["a"], "text": ["x"]}))
    path = tmp_path / "f.parquet"
    assert survives(path, [good, b"", good]) == ["fine", "bad file", "fine"]
    monkeypatch.setattr(parquet, "inspect", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    assert survives(path, [good, good]) == [f"signal {signal.SIGKILL.value}"]


def test_no_damage_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    # Before footers were looked at, one in 800 of these did.
    table = pa.table({"example_id": ["a", "b"], "text": ["x", "y"], "n": pa.array([1, 2])})
    before, footer = split(written(table, row_group_size=1))
    rng = np.random.default_rng(5)
    files = []
    for _ in range(400):
        damaged = bytearray(footer)
        for _ in range(random.Random(int(rng.integers(2**32))).randint(1, 2)):
            damaged[rng.integers(len(damaged))] = rng.integers(256)
        files.append(before + damaged + len(damaged).to_bytes(4, "little") + b"PAR1")
    seen = Counter(survives(tmp_path / "f.parquet", files))
    assert set(seen) == {"fine", "bad file"}
    assert seen.total() == 400
    assert min(seen.values()) > 20


def test_levels_that_the_schema_has_not_are_refused_where_pyarrow_would_end_the_process(
    tmp_path: Path,
) -> None:
    before, footer = split(written(pa.table({"example_id": ["a"], "text": ["x"]})))
    # The column's repetition_type: from optional to required, which is a level less.
    place = footer.rindex(b"\x25", 0, footer.index(b"\x18\x0aexample_id")) + 1
    assert footer[place] == 2
    damaged = footer[:place] + b"\x00" + footer[place + 1 :]
    with pytest.raises(ValueError, match="the size statistics of a column are damaged"):
        footers.check(damaged)
    path = tmp_path / "f.parquet"
    data = before + damaged + len(damaged).to_bytes(4, "little") + b"PAR1"
    assert survives(path, [data]) == ["bad file"]
    with pytest.raises(BadFile, match="cannot be read as Parquet: the size statistics"):
        parquet.inspect(str(path), "hypotheses", COLUMNS, ())


def test_an_encrypted_column_is_refused() -> None:
    # A footer of one column: schema, one row group, whose chunk has crypto_metadata (field 8).
    schema = b"\x29\x2c" + b"\x48\x01r\x15\x02\x00" + b"\x15\x0c\x25\x02\x18\x01c\x00"
    plain = b"\x29\x1c" + b"\x19\x1c" + b"\x00" + b"\x00"
    footers.check(schema + plain + b"\x00")
    encrypted = b"\x29\x1c" + b"\x19\x1c" + b"\x8c\x00\x00" + b"\x00"
    with pytest.raises(ValueError, match="a column is encrypted"):
        footers.check(schema + encrypted + b"\x00")
