"""Whatever stands in files and settings: an error of the user or rows that are all accounted for,
never a traceback."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import harness
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pipelines import options
from pipelines.config import config
from pipelines.settings import SETTINGS
from schemas.configuration import Evaluation
from schemas.errors import UserError
from transforms import accounts, read, sources
from transforms.sources import HYPOTHESES, REFERENCES

MAX = 20
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WORDS = st.sampled_from(["", "a", "e0", "e1", "一 二", "\n", "\u2028", "\x00", "<PAD>", "x" * 21])
TEXTS = WORDS | ANY_TEXT


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="liangchi-fuzz-") as name:
        yield Path(name)


def check_files(hypotheses: Path, references: Path, **more: Any) -> None:
    """Read both as the job does: every row comes out, is refused, or nothing is read at all."""
    try:
        inputs = sources.inspect(
            Evaluation((str(hypotheses),), (str(references),), "out", max_characters=MAX, **more)
        )
    except UserError as error:
        assert str(error).strip()
        return
    rows = read.Rows(3, more.get("slices", ()), MAX, (), ("<PAD>",))
    for split in inputs.splits():
        try:
            elements = list(read._Read(rows).process(split))
        except UserError:
            continue  # damage that only reading finds
        onward = 0
        counts: Counter[str] = Counter()
        rejected = 0
        for element in elements:
            _, packet = getattr(element, "value", element)
            if packet.kind == split.table:
                onward += len(packet.tables[read.ROWS])
                packet.tables[read.ROWS].validate(full=True)
            elif packet.kind == accounts.ACCOUNT:
                counts.update(packet.meta["counts"])
                rejected += len(packet.tables.get("rejected", ()))
        table = split.table
        assert counts[f"{table}.read"] == onward + counts[f"{table}.refused"]
        assert counts[f"{table}.refused"] == rejected
        assert set(counts) <= {
            n for n in counts if n.startswith((table, "system.", "microseconds."))
        }
        of_file = sum(f.rows for f in inputs.files if f.table == table)
        if inputs.files[0].columns.format == "parquet":
            assert counts[f"{table}.read"] == of_file


# JSON

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.integers(-1, 2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
NAMES = ("id", "example_id", "system", "text", "responses", "references", "sample")
MORE_NAMES = ("reference_types", "context", "query", "topic")
LISTS = st.lists(TEXTS | st.none(), max_size=3)
TURNS = st.lists(TEXTS | st.builds(dict, role=TEXTS, content=TEXTS) | JSON, max_size=3)
LIKELY = st.fixed_dictionaries(
    {"id": TEXTS | st.integers(), "system": TEXTS},
    optional={"text": TEXTS, "responses": LISTS, "context": TURNS, "topic": JSON, "sample": JSON},
)
OBJECT = st.dictionaries(st.sampled_from(NAMES + MORE_NAMES), JSON | LISTS | TURNS, max_size=8)


def as_bytes(value: Any, ascii_only: bool) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only).encode()


JSON_LINE = (
    st.builds(as_bytes, LIKELY | LIKELY | OBJECT | JSON, st.booleans())
    | st.binary(max_size=12)
    | st.builds(
        lambda line, n: line[:n], st.builds(as_bytes, LIKELY, st.booleans()), st.integers(0, 60)
    )
    | st.sampled_from(
        [b'{"id": "a", "system": "s", "text": "\\ud83d"}', b"", b"[[", b'{"id": 1e999}']
    )
)


@settings(max_examples=350, suppress_health_check=SLOW)
@given(
    st.lists(JSON_LINE, max_size=6),
    st.lists(JSON_LINE, max_size=4),
    st.booleans(),
    st.sampled_from([(), ("topic",), ("query", "topic")]),
    st.integers(0, 9),
)
@example([b"\n"], [b'{"id": "a", "responses": ["\\ude00"], "reference_types": null}'], True, (), 1)
def test_lines_of_json(
    hypotheses: list[bytes],
    references: list[bytes],
    packed: bool,
    slices: tuple[str, ...],
    alone: int,
) -> None:
    if alone != 7:  # a row without which most files were refused as a whole
        good = {"id": "e0", "system": "s", "text": "a", "topic": 1, "sample": 0}
        hypotheses = [*hypotheses, as_bytes(good, True)]
        good = {"id": "e0", "responses": ["a", None], "topic": "x", "context": ["a"]}
        references = [*references, as_bytes(good, True)]
    with folder() as place:
        paths = []
        for name, lines in (("h", hypotheses), ("r", references)):
            path = place / (f"{name}.jsonl.gz" if packed else f"{name}.jsonl")
            data = b"\n".join(lines)
            path.write_bytes(gzip.compress(data, 1) if packed else data)
            paths.append(path)
        check_files(paths[0], paths[1], slices=slices)


@settings(max_examples=150, suppress_health_check=SLOW)
@given(st.lists(JSON_LINE, max_size=6))
def test_every_line_of_json_that_is_not_blank_is_a_row(lines: list[bytes]) -> None:
    from transforms.importers import jsonl
    from transforms.importers.base import Column, Columns, Part

    with folder() as place:
        path = place / "h.jsonl"
        path.write_bytes(b"\n".join(lines))
        read_columns = (
            Column("example_id", ("example_id", "id"), "id"),
            Column("system", ("system",), "text"),
            Column("text", ("text",), "text"),
            Column("sample", ("sample",), "number"),
            Column("responses", ("responses",), "texts"),
        )
        text = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        found = text.count(b"\n") + (not text.endswith(b"\n") and text != b"")
        part = Part(str(path), Columns("jsonl", read_columns), (0,), 0, ((found, len(text)),))
        try:
            imported = list(jsonl.read(HYPOTHESES, part, MAX))
        except UserError:
            assert path.read_bytes()[:2] in (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff")
            return
    found = {row for one in imported for row in one.rows.column("\0row").to_pylist()}
    whole = b"\n".join(lines).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert found == {n for n, line in enumerate(whole) if line.strip()}


# Lines of text


@settings(max_examples=150, suppress_health_check=SLOW)
@given(
    st.lists(st.binary(max_size=6) | ANY_TEXT.map(str.encode), min_size=1, max_size=4),
    st.integers(1, 3),
    st.booleans(),
)
def test_lines_of_text(lines: list[bytes], columns: int, equal: bool) -> None:
    with folder() as place:
        (place / "o.txt").write_bytes(b"\n".join(lines))
        (place / "refs").mkdir()
        for n in range(columns):
            data = b"\r\n".join(lines[::-1] if equal else lines[n:])
            (place / "refs" / f"{n}.txt").write_bytes(data)
        check_files(place / "o.txt", place / "refs")


# Parquet

STRINGS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
SCALARS = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.int8(), st.integers(-128, 127)),
    (pa.float64(), st.floats()),
    (pa.float16(), st.floats(width=16)),
    (pa.bool_(), st.booleans()),
    (pa.binary(), st.binary(max_size=3)),
    (pa.date32(), st.dates()),
    (pa.null(), st.none()),
    *((type_, TEXTS) for type_ in STRINGS),
]
COLUMN_TYPES = [
    *SCALARS,
    *(
        (pa.list_(t), st.lists(v | st.none(), max_size=3))
        for t, v in SCALARS
        if t != pa.string_view()
    ),
    (pa.large_list(pa.large_string()), st.lists(TEXTS | st.none(), max_size=3)),
    (pa.list_(pa.string(), 2), st.lists(TEXTS | st.none(), min_size=2, max_size=2)),
    (pa.struct([("a", pa.string())]), st.fixed_dictionaries({"a": TEXTS})),
    (pa.map_(pa.string(), pa.string()), st.lists(st.tuples(TEXTS, TEXTS), max_size=2)),
]


@st.composite
def any_table(draw: st.DrawFn, likely: dict[str, list[Any]]) -> pa.Table:
    """A table with the columns of which one or more may be missing or of any type."""
    n = draw(st.integers(0, 5))
    made = {}
    for name, types in likely.items():
        # Not 0, of which Hypothesis is too fond.
        if draw(st.integers(0, 59)) == 41:
            continue
        usual = draw(st.integers(0, 29)) != 17
        type_, values = draw(st.sampled_from(types if usual else COLUMN_TYPES))
        column = draw(st.lists(values | st.none(), min_size=n, max_size=n))
        made[name] = pa.array(column, type_)
    table = pa.table(made) if made else pa.table({"x": pa.nulls(n)})
    if (
        n
        and "text" in made
        and draw(st.booleans())
        and table.schema.field("text").type == pa.string()
    ):
        broken = pa.array([b"\xff" if i == 0 else b"ok" for i in range(n)], pa.binary())
        table = table.set_column(table.column_names.index("text"), "text", broken.view(pa.string()))
    return table


TEXT_TYPES = [(type_, TEXTS) for type_ in STRINGS]
ID_TYPES = [*TEXT_TYPES, SCALARS[0], SCALARS[1]]
LIST_TYPES = [
    (pa.list_(pa.string()), LISTS),
    (pa.list_(pa.dictionary(pa.int8(), pa.string())), LISTS),
    (pa.large_list(pa.large_string()), LISTS),
]
HYPOTHESIS_COLUMNS = {
    "example_id": ID_TYPES,
    "system": TEXT_TYPES,
    "text": TEXT_TYPES,
    "sample": SCALARS[:3],
}
REFERENCE_COLUMNS = {
    "example_id": ID_TYPES,
    "references": LIST_TYPES,
    "reference_types": LIST_TYPES,
    "topic": [s for s in SCALARS if s[0] not in (pa.binary(), pa.date32())],
}


@settings(max_examples=250, suppress_health_check=SLOW)
@given(any_table(HYPOTHESIS_COLUMNS), any_table(REFERENCE_COLUMNS), st.integers(1, 6))
def test_tables_of_any_type(hypotheses: pa.Table, references: pa.Table, group: int) -> None:
    with folder() as place:
        for name, table in (("h", hypotheses), ("r", references)):
            pq.write_table(table, place / f"{name}.parquet", row_group_size=group)
        check_files(place / "h.parquet", place / "r.parquet", slices=("topic",))


def good_files() -> tuple[bytes, bytes]:
    made = []
    for table in (
        harness.hypotheses_table([(f"e{n}", "s", 0, f"text {n}") for n in range(30)]),
        harness.references_table([(f"e{n}", [f"text {n}", None]) for n in range(30)]),
    ):
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, row_group_size=10, compression="zstd")
        made.append(sink.getvalue().to_pybytes())
    return made[0], made[1]


GOOD = good_files()


@settings(max_examples=200, suppress_health_check=SLOW)
@given(
    st.integers(0, 1),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
    st.integers(0, 10**6) | st.none(),
    st.booleans(),
)
def test_damaged_parquet(
    which: int, changes: list[tuple[int, int]], cut: int | None, skip: bool
) -> None:
    data = [bytearray(part) for part in GOOD]
    damaged = data[which]
    for place, value in changes:
        damaged[place % len(damaged)] = value
    if cut is not None:
        del damaged[cut % len(damaged) :]
    with folder() as place_:
        for name, part in zip("hr", data):
            (place_ / name).mkdir()
            (place_ / name / "a.parquet").write_bytes(part)
        (place_ / "hr"[which] / "b.parquet").write_bytes(GOOD[which])
        check_files(place_ / "h", place_ / "r", skip_bad_files=skip)


# Settings

FLAGS = [f"--{setting.key}" for setting in SETTINGS if setting.flag]
VALUES = (
    TEXTS
    | st.sampled_from(
        ["0", "1", "-1", "0.5", "nan", "inf", "1e999", "9" * 5000, "text=a", "=", "--"]
    )
    | st.sampled_from(["--no-overwrite", "--runner", "-x", "--config", "char", "exp", "bleu", "%s"])
)


def check_settings(arguments: list[str], program: str) -> None:
    try:
        if program == "config":
            printed = config(arguments)
        else:
            call = options.parse(arguments, program)
    except UserError as error:
        assert str(error).strip()
        return
    if program == "config":
        with folder() as place:
            (place / "c.toml").write_text(printed, encoding="utf-8")
            assert config(["--config", str(place / "c.toml")]) == printed
    else:
        # As text, for NaN is not itself.
        assert repr(call) == repr(options.call(options.values(arguments, program)))


@settings(max_examples=250, suppress_health_check=SLOW)
@given(
    st.lists(st.tuples(st.sampled_from(FLAGS), st.lists(VALUES, max_size=3)), max_size=5),
    st.sampled_from(["evaluate", "score", "config"]),
    st.booleans(),
)
def test_flags(drawn: list[tuple[str, list[str]]], program: str, needed: bool) -> None:
    arguments = ["--hypotheses", "h", "--references", "r", "--output", "o"] if needed else []
    arguments += [part for flag, values in drawn for part in (flag, *values)]
    if "-h" in arguments:
        return
    check_settings(arguments, program)


TOML_VALUE = st.recursive(
    st.sampled_from(
        ['"a"', "1", "0.5", "true", "nan", "-inf", "2026-01-01", '""', "9" * 400, "'''x'''"]
    )
    | TEXTS.map(lambda text: json.dumps(text)),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(
            st.sampled_from(["text", "a", '"references.example_id"']), inner, max_size=2
        ).map(lambda items: "{" + ", ".join(f"{k} = {v}" for k, v in items.items()) + "}")
    ),
    max_leaves=4,
)
KEYS = st.sampled_from([setting.key for setting in SETTINGS]) | st.sampled_from(
    ["x", "columns.text"]
)
TOML = st.dictionaries(KEYS, TOML_VALUE, max_size=5).map(
    lambda items: "\n".join(f"{key} = {value}" for key, value in items.items())
)


@settings(max_examples=250, suppress_health_check=SLOW)
@given(
    TOML.map(str.encode) | st.binary(max_size=30) | ANY_TEXT.map(str.encode),
    st.sampled_from(["evaluate", "score", "config"]),
)
def test_configuration_files(data: bytes, program: str) -> None:
    with folder() as place:
        (place / "c.toml").write_bytes(data)
        arguments = ["--config", str(place / "c.toml")]
        check_settings(
            [*arguments, "--hypotheses", "h", "--references", "r", "--output", "o"], program
        )


# The whole command

ROW = st.tuples(
    st.sampled_from(["e0", "e1", "e2", "", None]) | TEXTS,
    st.sampled_from(["s", "t", None]) | TEXTS,
    st.integers(-1, 2) | st.none(),
    TEXTS | st.none(),
)
REFERENCE_ROW = st.tuples(
    st.sampled_from(["e0", "e1", "e2", "", None]) | TEXTS, LISTS | st.none(), TEXTS | st.none()
)


@settings(max_examples=12, suppress_health_check=SLOW, deadline=None)
@given(
    st.lists(ROW, max_size=8),
    st.lists(REFERENCE_ROW, max_size=6),
    st.sampled_from(["empty", "skip", "error"]),
    st.sampled_from(["none", "jieba"]),
    st.sampled_from([(), ("--systems", "s"), ("--slices", "topic")]),
    st.booleans(),
)
def test_rows_through_the_command(
    hypotheses: list[tuple[Any, ...]],
    references: list[tuple[Any, ...]],
    missing: str,
    tokenizer: str,
    more: tuple[str, ...],
    as_json: bool,
) -> None:
    with folder() as place:
        if as_json:
            names = ("id", "system", "sample", "text")
            made = {
                "h": [dict(zip(names, row)) for row in hypotheses],
                "r": [dict(zip(("id", "responses", "topic"), row)) for row in references],
            }
            for name, rows in made.items():
                text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                (place / f"{name}.jsonl").write_text(text or "\n", encoding="utf-8", newline="\n")
            given_files = ["--hypotheses", str(place / "h.jsonl")]
            given_files += ["--references", str(place / "r.jsonl")]
        else:
            inputs = harness.write_inputs(
                place / "in",
                harness.hypotheses_table(hypotheses),
                harness.references_table(
                    [(name, texts) for name, texts, _ in references],
                    topic=pa.array([topic for _, _, topic in references], pa.string()),
                ),
            )
            given_files = inputs.flags()
        flags = ("--missing", missing, "--tokenizer", tokenizer, "--bootstrap", 4)
        limits = ("--max_characters", MAX, "--null_text", "<PAD>")
        ran = harness.run(given_files, place / "out", *flags, *limits, *more)
        if ran.code == 2:
            ran.refused()  # all rows of a file may be wrong
            assert as_json
            return
        assert ran.code in (0, 3), ran.stderr
        output = ran.output
        counts = output.counts
        assert counts.get("hypotheses.read", 0) == len(hypotheses)
        assert counts.get("references.read", 0) == len(references)
        refused = Counter(row["table"] for row in output.rejected)
        for table in (HYPOTHESES, REFERENCES):
            assert counts.get(f"{table}.refused", 0) == refused[table]
        fates = ("scored", "collapsed", "refused", "null", "not_selected")
        total = sum(counts.get(f"hypotheses.{fate}", 0) for fate in fates)
        assert total == len(hypotheses)
        places = [(row["table"], row["row"]) for row in output.rejected]
        assert len(set(places)) == len(places)
