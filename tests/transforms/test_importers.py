"""Importers yield the same tables whatever the format; lines are cut where they end; dialogues."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import tables
from schemas.configuration import Bootstrap, Evaluation
from schemas.errors import ConfigurationError, InputError
from transforms import files, importers, read, slices, sources
from transforms.importers import dialogue, jsonl, lines, parquet
from transforms.importers.base import BadFile, Column, Columns, Imported, Part
from transforms.packets import Packet
from transforms.sources import HYPOTHESES, REFERENCES

LONG = 1000


def evaluation(hypotheses: object, references: object, **more: Any) -> Evaluation:
    as_tuple = [
        tuple(map(str, given)) if isinstance(given, (list, tuple)) else (str(given),)
        for given in (hypotheses, references)
    ]
    return Evaluation(*as_tuple, "out", **more)


def rows_of(inputs: sources.Inputs, table: str) -> list[dict[str, Any]]:
    """All rows as the importers yield them."""
    return [
        row
        for split in inputs.splits()
        if split.table == table
        for part in split.parts
        for imported in importers.read(table, part, LONG)
        for row in imported.rows.to_pylist()
    ]


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the place where they stand."""
    return [{k: v for k, v in row.items() if k not in (tables.FILE, tables.ROW)} for row in rows]


# Lines

LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)


@given(
    st.lists(LINE, min_size=1, max_size=8),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.integers(1, 9),
    st.booleans(),
)
def test_lines_are_cut_at_line_feeds_whatever_the_chunks(
    texts: list[str], end: bytes, ended: bool, chunk: int, packed: bool
) -> None:
    texts = [text.rstrip("\r") for text in texts]
    data = end.join(text.encode() for text in texts) + (end if ended else b"")
    expected = [text.encode() for text in texts]
    if not ended and not texts[-1]:
        expected.pop()  # nothing stands behind the last end of a line
    if expected and expected[0].startswith(b"\xef\xbb\xbf"):
        expected[0] = expected[0][3:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK_BYTES", chunk if chunk > 2 else 1 << 20)
        path = _write(gzip.compress(data) if packed else data)
        found = [line for batch in lines.batches(path, 10_000) for line in batch]
        assert found == expected
        if expected:
            assert lines.count(path).lines == len(expected)


_FOLDER: list[Path] = []


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    _FOLDER[:] = [tmp_path_factory.mktemp("files")]


def _write(data: bytes) -> str:
    path = _FOLDER[0] / "file"
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("chunk", [3, 7, 1 << 20])
def test_lines_that_are_too_long_are_not_kept_and_lose_no_other(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(lines, "CHUNK_BYTES", chunk)
    path = _write(b"ab\n" + b"x" * 50 + b"\r\n\ncd\n" + b"y" * 50)
    found = [line for batch in lines.batches(path, 8) for line in batch]
    # In one chunk a line that is whole needs no bound: it is there already.
    assert [f if f is None or len(f) < 9 else None for f in found] == [
        b"ab",
        None,
        b"",
        b"cd",
        None,
    ]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        ("文".encode("utf-16"), "UTF-16"),
        # Without a time: processes that share the tests must name them alike.
        (gzip.compress(b"a\n" * 999, mtime=0)[:-9], "cannot be read"),
        (b"\x1f\x8bnonsense", "cannot be read"),
        (gzip.compress(b"", mtime=0), "empty"),
    ],
)
def test_files_of_lines_that_cannot_be_read_are_bad(data: bytes, says: str) -> None:
    with pytest.raises(BadFile, match=says):
        lines.count(_write(data))


def test_what_a_gz_may_unpack_to_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_UNPACKED_BYTES", 1 << 20)
    monkeypatch.setattr(lines, "MOST_UNPACKED_RATIO", 10)
    with pytest.raises(BadFile, match="unpacks to more than 1,048,576"):
        lines.count(_write(gzip.compress(bytes(2 << 20))))
    # Several members one after the other are one file.
    assert lines.count(_write(gzip.compress(b"a\n") + gzip.compress(b"b"))).lines == 2
    # A file that is not packed is as large as it is.
    assert lines.count(_write(b"a\n" * (1 << 20))).lines == 1 << 20


# Dialogues


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([], None),
        (["用户：在吗"], "在吗"),
        (["用户：在吗", "助手：在", "用户：借我橡皮", "助手：稍等"], "借我橡皮"),
        (["用户: 半角", "助手: 也行"], "半角"),
        (["助手：你好"], None),
        (["你好", "你好呀", "借我橡皮"], "借我橡皮"),
        (["User: hi", "Assistant: hello"], "hi"),
        ([{"role": "user", "content": "在吗"}, {"role": "assistant", "content": "在"}], "在吗"),
        ([{"role": "system", "content": "你是助手"}], None),
        (["用户说：不是前缀", "用户：是"], "是"),
    ],
)
def test_the_query_is_the_last_turn_of_the_user(turns: list[object], expected: str | None) -> None:
    assert dialogue.query(turns) == expected


@pytest.mark.parametrize("turn", [7, None, ["a"], {"role": "user"}, {"content": "a"}])
def test_turns_of_another_kind_are_an_error(turn: object) -> None:
    with pytest.raises(TypeError):
        dialogue.query([turn])


# The same rows in every format

EXAMPLES = [("e0", ["一 二", "三"], "x"), ("e1", ["四", None], None), ("e2", ["", "六"], "y")]


def written(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Hypotheses of one system and references as Parquet and as JSON."""
    pq.write_table(
        pa.table({"example_id": [e for e, _, _ in EXAMPLES], "text": ["一", "二", ""]}),
        folder / "h.parquet",
    )
    pq.write_table(
        pa.table(
            {
                "example_id": [e for e, _, _ in EXAMPLES],
                "references": [r for _, r, _ in EXAMPLES],
                "topic": [t for _, _, t in EXAMPLES],
            }
        ),
        folder / "r.parquet",
    )
    made = zip(EXAMPLES, ["一", "二", ""])
    (folder / "h.jsonl").write_text(
        "".join(json.dumps({"id": e, "text": t}) + "\n" for (e, _, _), t in made), encoding="utf-8"
    )
    (folder / "r.jsonl.gz").write_bytes(
        gzip.compress(
            "".join(
                json.dumps({"id": e, "responses": r, "topic": t}) + "\n" for e, r, t in EXAMPLES
            ).encode()
        )
    )
    return {
        "parquet": (folder / "h.parquet", folder / "r.parquet"),
        "json": (folder / "h.jsonl", folder / "r.jsonl.gz"),
        "mixed": (folder / "h.jsonl", folder / "r.parquet"),
    }


@pytest.mark.parametrize("kind", ["parquet", "json", "mixed"])
def test_rows_are_the_same_in_every_format(tmp_path: Path, kind: str) -> None:
    config = evaluation(*written(tmp_path)[kind], slices=("topic",), system="s")
    inputs = sources.inspect(config)
    hypotheses = plain(rows_of(inputs, HYPOTHESES))
    assert [(r["example_id"], r["system"], r["text"]) for r in hypotheses] == [
        ("e0", "s", "一"),
        ("e1", "s", "二"),
        ("e2", "s", ""),
    ]
    found = plain(rows_of(inputs, REFERENCES))
    assert [(r["example_id"], r["references"], r["topic"]) for r in found] == EXAMPLES
    assert [r[tables.ROW] for r in rows_of(inputs, REFERENCES)] == [0, 1, 2]


def test_lines_of_text_are_numbered_and_each_file_of_references_is_a_column(tmp_path: Path) -> None:
    n = 12
    for name in ("model.v2.txt", "refs.B", "refs.A"):
        texts = [f"{name[-1]}{i}" for i in range(n)]
        (tmp_path / name).write_text("\n".join(texts), encoding="utf-8")
    config = evaluation(
        tmp_path / "model.v2.txt", [tmp_path / "refs.B", tmp_path / "refs.A"], format="text"
    )
    inputs = sources.inspect(config)
    hypotheses = rows_of(inputs, HYPOTHESES)
    assert [row["example_id"] for row in hypotheses] == [f"{i:02d}" for i in range(1, n + 1)]
    assert {row["system"] for row in hypotheses} == {"model.v2"}
    found = rows_of(inputs, REFERENCES)
    # In the order of the call, not of the names.
    assert [row["references"] for row in found] == [[f"B{i}", f"A{i}"] for i in range(n)]
    assert [row[tables.ROW] for row in found] == list(range(n))
    assert found[0][tables.FILE] == f"{tmp_path}/refs.B, {tmp_path}/refs.A"
    assert [f.rows for f in inputs.files] == [n, n, n]


def test_files_of_lines_of_different_length_are_an_error_with_all_numbers(tmp_path: Path) -> None:
    for name, count in (("o.txt", 3), ("a.txt", 3), ("b.txt", 4)):
        (tmp_path / name).write_text("x\n" * count, encoding="utf-8")
    with pytest.raises(InputError) as error:
        sources.inspect(evaluation(tmp_path / "o.txt", [tmp_path / "a.txt", tmp_path / "b.txt"]))
    said = str(error.value)
    assert "4 lines: " + str(tmp_path / "b.txt") in said
    assert "3 lines: " + str(tmp_path / "o.txt") in said


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"slices": ("topic",)}, "lines of text have no columns"),
        ({"bootstrap": Bootstrap(resample_by="topic")}, "lines of text have no columns"),
        ({"columns": (("text", "t"),)}, "lines of text have no columns"),
    ],
)
def test_what_lines_of_text_cannot_have_is_an_error(
    tmp_path: Path, more: dict[str, Any], says: str
) -> None:
    (tmp_path / "o.txt").write_text("x\n")
    with pytest.raises(ConfigurationError, match=says):
        sources.inspect(evaluation(tmp_path / "o.txt", tmp_path / "o.txt", **more))


def test_systems_of_text_need_names_of_their_own(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "out.txt").write_text("x\n")
    both = [tmp_path / "one" / "out.txt", tmp_path / "two" / "out.txt"]
    with pytest.raises(InputError, match="2 files of hypotheses are called 'out'"):
        sources.inspect(evaluation(both, both[0]))
    with pytest.raises(ConfigurationError, match="one file of hypotheses"):
        sources.inspect(evaluation(both, both[0], system="s"))
    inputs = sources.inspect(evaluation(both[0], both[0], system="s"))
    assert rows_of(inputs, HYPOTHESES)[0]["system"] == "s"


def test_text_and_files_with_ids_do_not_go_together(tmp_path: Path) -> None:
    (tmp_path / "o.txt").write_text("x\n")
    files_of = written(tmp_path)["parquet"]
    with pytest.raises(InputError, match="lines of text have no ids"):
        sources.inspect(evaluation(tmp_path / "o.txt", files_of[1]))


# Folders and names


def test_folders_name_the_system_and_other_columns(tmp_path: Path) -> None:
    for system in ("greedy", "a%3Db", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / "h" / f"system={system}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"example_id": ["e0"], "text": [system]}), folder / "p.parquet")
        (folder / "_SUCCESS").write_bytes(b"")
        (folder / ".p.parquet.crc").write_bytes(b"?")
    folder = tmp_path / "r" / "topic=天气" / "day=1"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"example_id": ["e0"], "references": [["a"]]}), folder / "p.parquet")
    for hypotheses in (tmp_path / "h", tmp_path / "h" / "*" / "*.parquet", tmp_path / "h" / "sys*"):
        if "*" in hypotheses.name and hypotheses.name != "*.parquet":
            with pytest.raises(InputError, match="matches no file"):
                sources.inspect(evaluation(hypotheses, tmp_path / "r"))
            continue
        inputs = sources.inspect(evaluation(hypotheses, tmp_path / "r", slices=("topic",)))
        found = {row["text"]: row["system"] for row in rows_of(inputs, HYPOTHESES)}
        assert found == {"greedy": "greedy", "a%3Db": "a=b", "__HIVE_DEFAULT_PARTITION__": None}
        assert rows_of(inputs, REFERENCES)[0]["topic"] == "天气"


def test_folders_with_wildcards_in_their_names_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "run [1] *"
    folder.mkdir()
    files_of = written(folder)["parquet"]
    assert files.find([str(folder)], "references") == sorted(map(str, folder.iterdir()))
    assert files.find([str(files_of[0])], "references") == [str(files_of[0])]


def test_columns_are_mapped_for_one_table_or_both(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"qid": ["e0"], "model": ["s"], "reply": ["a"], "n": [3]}), tmp_path / "h.parquet"
    )
    pq.write_table(
        pa.table({"id": ["e0"], "answers": [["a"]], "a.b": ["x"], "a": ["y"]}),
        tmp_path / "r.parquet",
    )
    config = evaluation(
        tmp_path / "h.parquet",
        tmp_path / "r.parquet",
        slices=("topic",),
        columns=(
            ("hypotheses.example_id", "qid"),
            ("references.example_id", "id"),
            ("system", "model"),
            ("text", "reply"),
            ("sample", "n"),
            ("references", "answers"),
            ("topic", "a.b"),
        ),
    )
    inputs = sources.inspect(config)
    assert plain(rows_of(inputs, HYPOTHESES)) == [
        {"example_id": "e0", "system": "s", "text": "a", "sample": 3}
    ]
    assert plain(rows_of(inputs, REFERENCES)) == [
        {"example_id": "e0", "references": ["a"], "topic": "x"}
    ]
    wrong = evaluation("h", "r", columns=(("txt", "reply"),))
    with pytest.raises(ConfigurationError, match="did you mean text=reply"):
        sources.inspect(wrong)


def test_names_of_json_can_be_mapped_too(tmp_path: Path) -> None:
    (tmp_path / "h.jsonl").write_text('{"qid": "e0", "m": "s", "out": ["a", "b"], "text": "no"}\n')
    (tmp_path / "r.jsonl").write_text(
        '{"qid": "e0", "gold": ["a"], "turns": ["用户：在吗", "助手：在"]}\n', encoding="utf-8"
    )
    config = evaluation(
        tmp_path / "h.jsonl",
        tmp_path / "r.jsonl",
        slices=("query",),
        columns=(
            ("example_id", "qid"),
            ("system", "m"),
            ("responses", "out"),
            ("references", "gold"),
            ("context", "turns"),
        ),
    )
    inputs = sources.inspect(config)
    found = [(r["sample"], r["text"]) for r in rows_of(inputs, HYPOTHESES)]
    assert found == [(0, "a"), (1, "b")]
    assert rows_of(inputs, REFERENCES)[0]["query"] == "在吗"


def test_a_file_that_is_one_json_document_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    for text, says in (
        ('[\n{"id": 1},\n{"id": 2}\n]\n', "is one JSON document"),
        ('{\n"id": 1\n}\n', "is one JSON document"),
        ("\nnot json\n", "line 2: the line is not JSON: Expecting value"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=says) as error:
            sources.inspect(evaluation(path, path))
        assert "one JSON object a line" in str(error.value)


# Parquet


def dictionary(values: list[str | None], of: int) -> pa.Array:
    texts = [value for value in values if value is not None]
    places = [texts.index(v) if v is not None else None for v in values]
    index = pa.array([places[i % len(values)] for i in range(of)], pa.int32())
    return pa.DictionaryArray.from_arrays(index, pa.array(texts, pa.string()))


@pytest.mark.parametrize("harmless", [0, 1 << 28])
def test_dictionaries_are_unpacked_in_slices_and_what_is_too_long_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harmless: int
) -> None:
    monkeypatch.setattr(parquet, "_HARMLESS_BYTES", harmless)
    monkeypatch.setattr(parquet, "TABLE_BYTES", 100)
    n = 40
    values = ["一" * 8, None, "x" * (LONG + 1), "好" * LONG, ""]
    texts = dictionary(values, n)
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 2, None, *range(3, n)], pa.int32()), dictionary(values, n)
    )
    numbers = [f"e{i}" for i in range(n - 1)]
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"example_id": numbers, "text": texts[: n - 1], "references": lists[: n - 1]}),
        path,
        row_group_size=17,
    )
    columns = Columns(
        "parquet",
        (
            Column("example_id", ("example_id",), "id"),
            Column("text", ("text",), "text"),
            Column("references", ("references",), "texts"),
        ),
    )
    inputs = parquet.inspect(str(path), HYPOTHESES, columns.read, ())
    groups = inputs.row_groups
    part = Part(str(path), inputs.columns, tuple(range(len(groups))), 0, groups)
    imported = list(parquet.read(part, LONG))
    assert len(imported) > 3
    assert [row for one in imported for row in one.rows.column(tables.ROW).to_pylist()] == list(
        range(n - 1)
    )
    ids = [name for one in imported for name in one.rows.column("example_id").to_pylist()]
    assert ids == numbers
    refused, kept = set(), {}
    for one in imported:
        rows = one.rows.to_pylist()
        bad = {int(r) for numbers_of, _, _ in one.refused for r in numbers_of}
        assert {reason for _, reason, _ in one.refused} <= {"too_long"}
        refused |= {rows[i]["example_id"] for i in bad}
        kept |= {row["example_id"]: row for i, row in enumerate(rows) if i not in bad}
    expected = texts.to_pylist(), lists.to_pylist()
    for i, name in enumerate(numbers):
        texts_of = [expected[0][i], *(expected[1][i] or [])]
        assert (name in refused) == any(t and len(t) > LONG for t in texts_of)
        if name in kept:
            assert kept[name]["text"] == expected[0][i]
            assert (kept[name]["references"] or []) == (expected[1][i] or [])


def test_parts_that_are_alike_become_one_table_with_their_refusals() -> None:
    def one(values: list[str], bad: list[int], type_: pa.DataType) -> Imported:
        import numpy as np

        refused = ((np.array(bad, np.int64), "r", "d"),) if bad else ()
        return Imported(pa.table({"a": pa.array(values, type_)}), refused)

    parts = [
        one(["a", "b"], [1], pa.string()),
        one(["c"], [], pa.large_string()),
        one(["d"], [0], pa.string()),
    ]
    plain_ones, large = read.gathered(parts)
    assert plain_ones.rows.column("a").to_pylist() == ["a", "b", "d"]
    assert [rows.tolist() for rows, _, _ in plain_ones.refused] == [[1], [2]]
    assert large.rows.column("a").to_pylist() == ["c"]


# The most frequent values of slices


@given(
    st.lists(st.tuples(st.integers(0, 80), st.integers(1, 5)), max_size=200),
    st.integers(1, 7),
    st.integers(1, 4),
)
def test_the_most_frequent_values_do_not_depend_on_partitions(
    drawn: list[tuple[int, int]], partitions: int, tables_of: int
) -> None:
    values = [f"v{value}" for value, count in drawn for _ in range(count)]
    packets: dict[int, list[Any]] = {}
    for start in range(tables_of):
        ids = pa.nulls(len(values[start::tables_of]), pa.string())
        topics = pa.array(values[start::tables_of], pa.string())
        examples = pa.table({"example_id": ids, "slice topic": topics})
        joined = Packet("tokens", tables={"examples": examples})
        for bucket, packet in slices.values_of((start, joined), partitions):
            packets.setdefault(bucket, []).append(packet)
    most = 30
    of_buckets = (slices._top_of_bucket(item, most) for item in packets.items())
    tops = slices.TopFn(most).merge_accumulators(of_buckets)
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    expected = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    if not values:
        assert tops == {}
        return
    assert tops["topic"]["distinct"] == len(counts)
    assert tops["topic"]["examples"] == len(values)
    assert [tuple(pair) for pair in tops["topic"]["top"]] == expected


def write_texts(path: Path, texts: list[str], group: int = 2) -> None:
    n = len(texts)
    rows = {"example_id": [f"e{i}" for i in range(n)], "system": ["s"] * n, "text": texts}
    pq.write_table(pa.table(rows), path, row_group_size=group)


@pytest.mark.parametrize("texts", [["甲", "乙", "丙"], ["甲", "乙", "丙", "丁丁丁"], ["甲"] * 6])
def test_parquet_that_changes_after_the_run_began_is_no_input(
    tmp_path: Path, texts: list[str]
) -> None:
    path, references = tmp_path / "h.parquet", tmp_path / "r.jsonl"
    write_texts(path, ["甲", "乙", "丙", "丁"])
    references.write_text('{"id": "e0", "responses": ["a"]}\n')
    found = sources.inspect(evaluation(path, references))
    assert len(rows_of(found, HYPOTHESES)) == 4
    if len(texts) == 6:
        write_texts(path, texts, 6)  # the second row group is gone
    else:
        write_texts(path, texts)
    with pytest.raises(BadFile, match="it has changed since the run began"):
        rows_of(found, HYPOTHESES)


@pytest.mark.parametrize("lines_now", [1, 3])
@pytest.mark.parametrize("ending", ["jsonl", "txt"])
def test_lines_that_come_or_go_after_the_run_began_are_no_input(
    tmp_path: Path, ending: str, lines_now: int
) -> None:
    line = '{"id": "e", "system": "s", "responses": ["b"]}\n'
    path, references = (tmp_path / f"{name}.{ending}" for name in "hr")
    for file in path, references:
        file.write_text(line * 2)
    found = sources.inspect(evaluation(path, references))
    assert len(rows_of(found, HYPOTHESES)) == 2
    for file in path, references:
        file.write_text(line * lines_now)
    for table in HYPOTHESES, REFERENCES:
        with pytest.raises(BadFile, match="it has changed since the run began"):
            rows_of(found, table)


def test_numbers_of_lines_sort_as_lines_do() -> None:
    import numpy as np

    from transforms.importers import text

    made = text.ids(np.arange(1000), 4).to_pylist()
    assert made[0] == "0001"
    assert made == sorted(made)


def test_values_of_slices_are_spelled_as_in_parquet(tmp_path: Path) -> None:
    values = [1, 1.5, 1e20, True, "x", None]
    (tmp_path / "r.jsonl").write_text(
        "".join(json.dumps({"id": "e", "responses": ["a"], "t": v}) + "\n" for v in values)
    )
    columns = Columns("jsonl", (Column("t", ("t",), "value"),))
    part = Part(str(tmp_path / "r.jsonl"), columns, (0,), 0, ((len(values), 0),))
    (imported,) = jsonl.read(REFERENCES, part, LONG)
    spelled = pa.array([1.5, 1e20]).cast(pa.string()).to_pylist()
    assert imported.rows.column("t").to_pylist() == ["1", *spelled, "true", "x", None]
