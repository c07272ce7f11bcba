"""Wrong calls and wrong data: what is said, with which code, and that nothing scores silently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import harness
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines import command, options

FLAGS = ("--tokenizer", "none", "--bootstrap", 0, "--metrics", "bleu")
BOTH = (*FLAGS, "--metrics", "bleu", "cider_d")


def pair(
    folder: Path,
    hypotheses: Sequence[tuple[str | None, str | None, int | None, str | None]],
    references: Sequence[tuple[str | None, Sequence[str | None] | None]],
) -> harness.Inputs:
    return harness.write_inputs(
        folder, harness.hypotheses_table(hypotheses), harness.references_table(references)
    )


@pytest.fixture
def inputs(tmp_path: Path) -> harness.Inputs:
    """Two examples of which nothing is wrong."""
    return pair(
        tmp_path / "in",
        [("e0", "s", 0, "a b c d"), ("e1", "s", 0, "b c d e")],
        [("e0", ["a b c d"]), ("e1", ["b c d f"])],
    )


# Wrong calls


@pytest.mark.parametrize("which", ["hypotheses", "references"])
def test_a_pattern_that_matches_nothing_is_an_error(
    inputs: harness.Inputs, tmp_path: Path, which: str
) -> None:
    flags = [*inputs.flags(), f"--{which}", str(tmp_path / "nothing" / "*.parquet")]
    message = harness.run(flags, tmp_path / "out", *FLAGS).refused()
    assert f"--{which}" in message
    assert "nothing/*.parquet: matches no file" in message
    assert not (tmp_path / "out").exists()


def test_one_of_several_patterns_that_matches_nothing_is_an_error(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    flags = ["--hypotheses", str(inputs.hypotheses), str(tmp_path / "more"), *inputs.flags()[2:]]
    message = harness.run(flags, tmp_path / "out", *FLAGS).refused()
    assert str(tmp_path / "more") in message


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def of_text(path: Path) -> None:
    path.write_text('{"example_id": "e0"}\n' * 10, encoding="utf-8")


@pytest.mark.parametrize("damage", [truncated, emptied, of_text])
def test_a_file_that_is_no_whole_parquet_file_is_an_error(
    inputs: harness.Inputs, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    # Among good ones, which must not hide it.
    for name in ("a.parquet", "z.parquet"):
        good = inputs.references / "part-00000-of-00001.parquet"
        (inputs.references / name).write_bytes(good.read_bytes())
    bad = inputs.references / "z.parquet"
    damage(bad)
    message = harness.run(inputs, tmp_path / "out", *FLAGS).refused()
    assert f"{bad}: cannot be read as Parquet" in message
    assert not (tmp_path / "out").exists()


def test_a_missing_column_is_named_with_the_nearest_there_is(tmp_path: Path) -> None:
    table = harness.hypotheses_table([("e0", "s", 0, "a")])
    renamed = table.rename_columns(["exampleid", "system", "sample", "text"])
    inputs = harness.write_inputs(
        tmp_path / "in", renamed, harness.references_table([("e0", ["a"])])
    )
    message = harness.run(inputs, tmp_path / "out", *FLAGS).refused()
    assert "need one column 'example_id'" in message
    assert "Did you mean 'exampleid'?" in message


def test_a_missing_column_of_a_slice_is_named(inputs: harness.Inputs, tmp_path: Path) -> None:
    message = harness.run(inputs, tmp_path / "out", *FLAGS, "--slices", "topic").refused()
    assert "'topic'" in message
    message = harness.run(inputs, tmp_path / "out", *FLAGS, "--resample_by", "dialog").refused()
    assert "'dialog'" in message


@pytest.mark.parametrize(
    ("table", "column", "values", "expected"),
    [
        ("references", "references", ["a"], "list<string>"),
        ("references", "references", [[1]], "list<string>"),
        ("references", "example_id", [1.5], "string or integer"),
        ("hypotheses", "text", [7], "string"),
        ("hypotheses", "text", [["a"]], "string"),
        ("hypotheses", "system", [1], "string"),
        ("hypotheses", "sample", ["first"], "integer"),
        ("hypotheses", "sample", [0.0], "integer"),
    ],
)
def test_a_column_of_another_type_is_named_with_both_types(
    tmp_path: Path, table: str, column: str, values: list[object], expected: str
) -> None:
    made = {
        "hypotheses": harness.hypotheses_table([("e0", "s", 0, "a")]),
        "references": harness.references_table([("e0", ["a"])]),
    }
    wrong = pa.array(values)
    index = made[table].column_names.index(column)
    made[table] = made[table].set_column(index, column, wrong)
    inputs = harness.write_inputs(tmp_path / "in", made["hypotheses"], made["references"])
    message = harness.run(inputs, tmp_path / "out", *FLAGS).refused()
    found = str(wrong.type).split("<")[0]
    assert f"column '{column}' of the {table} is {found}" in message
    assert f"expected {expected}." in message


@pytest.mark.parametrize(
    ("flag", "nearest"),
    [
        ("--tokeniser", "--tokenizer"),
        ("--boot", "--bootstrap"),
        ("--resampleby", "--resample_by"),
        ("--direct_num_worker", "--direct_num_workers"),
    ],
)
def test_an_unknown_flag_is_an_error_that_names_the_nearest(
    inputs: harness.Inputs, tmp_path: Path, flag: str, nearest: str
) -> None:
    for given in ((flag, "1"), (f"{flag}=1",)):
        message = harness.run(inputs, tmp_path / "out", *FLAGS, *given).refused()
        assert repr(given[0]) in message
        assert f"Did you mean {nearest}?" in message


def test_an_unknown_runner_is_an_error_and_takes_no_folder(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    message = harness.run(inputs, tmp_path / "out", *FLAGS, "--runner=NoSuchRunner").refused()
    assert "NoSuchRunner" in message
    assert not (tmp_path / "out").exists()


def test_what_stands_behind_two_dashes_goes_to_the_runner_unchecked(
    inputs: harness.Inputs,
) -> None:
    arguments = [*inputs.flags(), "--output", "out", "--direct_num_workers=2"]
    behind = ["--anything", "--seed", "9", "--", "x"]
    call = options.parse([*arguments, "--", *behind])
    assert call.beam == ["--direct_num_workers=2", *behind]
    assert call.config.bootstrap.seed == 12345
    with pytest.raises(options.UsageError, match="unknown argument '--anything'"):
        options.parse([*arguments, *behind[:1]])


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--weights", "0.5", "0.4"], ["sum 1", "0.9"]),
        (["--weights", "1.5", "-0.5"], ["-0.5"]),
        (["--weights", "half"], ["half"]),
        (["--tokenizer", "words"], ["'words'", "zh, zh-fixed, 13a"]),
        (["--metrics", "blue"], ["'blue'", "bleu, cider_d, cider"]),
        (["--metrics", "bleu", "bleu"], ["metrics", "no name twice"]),
        (["--smoothing", "add"], ["add-k"]),
        (["--smoothing", "exp", "--smoothing_value", "1"], ["takes no value"]),
        (["--bootstrap", "-1"], ["bootstrap", "0 to 1,000,000"]),
        (["--bootstrap", "many"], ["many"]),
        (["--confidence", "95"], ["confidence", "95"]),
        (["--confidence", "nan"], ["confidence", "nan"]),
        (["--seed", "-1"], ["seed", "-1"]),
        (["--missing", "drop"], ["drop", "skip"]),
        (["--partitions", "0"], ["partitions", "1 to 100,000"]),
        (["--replicate_groups", "0"], ["replicate_groups", "1 to 1000"]),
        (["--max_rejected", "2"], ["max_rejected", "0 to 1"]),
        (["--slices", "example_id"], ["slices", "example_id"]),
        (["--systems", "s", "s"], ["systems", "no name twice"]),
        (
            ["--document_frequencies", "a", "--save_document_frequencies", "b"],
            ["save_document_frequencies"],
        ),
        (["--metrics", "bleu", "--save_document_frequencies", "b"], ["cider_d"]),
    ],
)
def test_a_value_that_cannot_be_used_is_named(
    inputs: harness.Inputs, tmp_path: Path, flags: list[str], says: list[str]
) -> None:
    message = harness.run(inputs, tmp_path / "out", *flags).refused()
    assert all(part in message for part in says), message
    assert not (tmp_path / "out").exists()


def test_flags_that_must_be_there_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["evaluate", "--hypotheses", "x"]) == 2
    said = capsys.readouterr().err
    assert "--references" in said
    assert "--output" in said
    assert command.main(["compile"]) == 2
    assert "unknown command 'compile'" in capsys.readouterr().err


# Wrong data


def test_equal_rows_collapse_and_are_counted_once(tmp_path: Path) -> None:
    hypotheses = [("e0", "s", 0, "a b c d"), ("e1", "s", 0, "b c d e")]
    references: list[tuple[str, list[str]]] = [("e0", ["a b c d"]), ("e1", ["b c d f"])]
    once = pair(tmp_path / "once", hypotheses, references)
    often = pair(tmp_path / "often", hypotheses * 3, references * 2)
    outputs = [
        harness.run(i, tmp_path / f"out{n}", *FLAGS, "--partitions", 2).fine()
        for n, i in enumerate((once, often))
    ]
    assert outputs[0].scores == outputs[1].scores
    assert outputs[0].segments.to_pylist() == outputs[1].segments.to_pylist()
    assert outputs[1].counts["hypotheses.collapsed"] == 4
    assert outputs[1].counts["references.collapsed"] == 2


def test_rows_that_contradict_each_other_are_refused_and_count_as_missing(tmp_path: Path) -> None:
    inputs = pair(
        tmp_path / "in",
        [("e0", "s", 0, "a"), ("e0", "s", 0, "b"), ("e0", "s", 0, "a"), ("e1", "s", 0, "a")],
        [("e0", ["a"]), ("e1", ["a"])],
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS).below()
    assert [row["row"] for row in output.rejected] == [0, 1, 2]
    assert {row["reason"] for row in output.rejected} == {"contradicting_duplicates"}
    row = output.score("s", "bleu")
    assert (row["examples"], row["segments"], row["missing"]) == (2, 2, 1)


def test_references_that_contradict_each_other_are_refused_with_their_hypotheses(
    tmp_path: Path,
) -> None:
    inputs = pair(
        tmp_path / "in",
        [("e0", "s", 0, "a"), ("e1", "s", 0, "a")],
        [("e0", ["a"]), ("e0", ["a", "b"]), ("e1", ["a"])],
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS).below()
    assert [(row["table"], row["reason"]) for row in output.rejected] == [
        ("hypotheses", "no_reference"),
        ("references", "contradicting_duplicates"),
        ("references", "contradicting_duplicates"),
    ]
    assert output.score("s", "bleu")["examples"] == 1


def test_null_and_empty_ids_are_refused(tmp_path: Path) -> None:
    inputs = pair(
        tmp_path / "in",
        [(None, "s", 0, "a"), ("", "s", 0, "a"), ("e0", "s", 0, "a")],
        [(None, ["a"]), ("", ["a"]), ("e0", ["a"])],
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS).below()
    assert [(row["table"], row["row"], row["reason"]) for row in output.rejected] == [
        ("hypotheses", 0, "no_id"),
        ("hypotheses", 1, "no_id"),
        ("references", 0, "no_id"),
        ("references", 1, "no_id"),
    ]
    assert output.score("s", "bleu")["examples"] == 1


def test_a_null_text_is_a_missing_output_and_an_empty_one_is_not(tmp_path: Path) -> None:
    inputs = pair(
        tmp_path / "in",
        [("e0", "null", 0, None), ("e1", "null", 0, "a b c d"), ("e0", "empty", 0, "")]
        + [("e1", "empty", 0, "a b c d")],
        [("e0", ["a b c d"]), ("e1", ["a b c d"])],
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS).fine()
    null, empty = (output.score(system, "bleu") for system in ("null", "empty"))
    assert (null["missing"], empty["missing"]) == (1, 0)
    # By default a missing output counts as an empty one, so the scores are equal.
    assert null["value"] == empty["value"] > 0
    assert (null["examples"], null["segments"]) == (2, 2)
    assert output.counts["hypotheses.null"] == 1
    assert not output.rejected

    skipped = harness.run(inputs, tmp_path / "skip", *FLAGS, "--missing", "skip").fine()
    null = skipped.score("null", "bleu")
    assert (null["examples"], null["segments"], null["missing"], null["value"]) == (1, 1, 1, 1.0)
    assert skipped.score("empty", "bleu")["value"] == empty["value"]


def test_missing_error_ends_with_3_after_the_tables_are_written(tmp_path: Path) -> None:
    inputs = pair(
        tmp_path / "in",
        [("e0", "s", 0, "a b c d"), ("e1", "s", 0, "a b"), ("e0", "t", 0, "a b c d")],
        [("e0", ["a b c d"]), ("e1", ["a b"])],
    )
    ran = harness.run(inputs, tmp_path / "out", *FLAGS, "--missing", "error")
    assert ran.below().score("t", "bleu")["missing"] == 1
    assert "t: no output for 1 examples (--missing error)" in ran.stderr
    assert "s: no output" not in ran.stderr
    assert ran.stdout.splitlines()[-1] == str(tmp_path / "out")
    complete = ["--systems", "s", "--missing", "error"]
    assert harness.run(inputs, tmp_path / "fine", *FLAGS, *complete).code == 0


def test_a_system_that_is_named_and_not_there_is_missing_everywhere(
    inputs: harness.Inputs, tmp_path: Path
) -> None:
    flags = (*FLAGS, "--systems", "s", "ghost")
    output = harness.run(inputs, tmp_path / "out", *flags).fine()
    row = output.score("ghost", "bleu")
    assert (row["value"], row["missing"], row["segments"]) == (0.0, 2, 2)
    assert {r["system"] for r in output.scores} == {"s", "ghost"}
    skip = harness.run(inputs, tmp_path / "skip", *flags, "--missing", "skip").fine()
    row = skip.score("ghost", "bleu")
    assert (row["value"], row["missing"], row["segments"]) == (None, 2, 0)
    assert row["note"] == "undefined: no segments"


def test_systems_that_are_not_named_are_left_out_and_counted(tmp_path: Path) -> None:
    inputs = pair(tmp_path / "in", [("e0", "s", 0, "a"), ("e0", "t", 0, "a")], [("e0", ["a"])])
    output = harness.run(inputs, tmp_path / "out", *FLAGS, "--systems", "t").fine()
    assert {row["system"] for row in output.scores} == {"t"}
    assert output.counts["hypotheses.not_selected"] == 1
    assert not output.rejected


def test_three_references_in_one_row_do_not_score_three_rows_of_other_ids(tmp_path: Path) -> None:
    texts = ["a b c d", "b c d e", "c d e f"]
    inputs = pair(
        tmp_path / "in",
        [(f"e{i}", "s", 0, text) for i, text in enumerate(texts)],
        [("e", texts)],
    )
    ran = harness.run(inputs, tmp_path / "out", *FLAGS)
    output = ran.below()
    assert [row["reason"] for row in output.rejected] == ["no_reference"] * 3
    assert [row["example_id"] for row in output.rejected] == ["e0", "e1", "e2"]
    row = output.score("s", "bleu")
    assert (row["value"], row["examples"], row["missing"]) == (0.0, 1, 1)
    assert "3 of 3 rows of hypotheses were refused" in ran.stderr
    assert "refused 3" in ran.stdout


def check_nothing_scored(ran: harness.Ran, systems: list[str]) -> None:
    output = ran.below()
    assert "nothing was scored" in ran.stderr
    names = [(row["metric"], row["system"]) for row in output.scores]
    assert names == [(m, s) for m in ("bleu", "cider_d") for s in systems]
    for row in output.scores:
        assert row["slice"] == "overall"
        assert row["value"] is row["ci_low"] is row["ci_high"] is None
        assert (row["examples"], row["segments"]) == (0, 0)
        assert row["note"] == "undefined: no segments"


@pytest.mark.parametrize("slices", [(), ("--slices", "topic"), ("--resample_by", "topic")])
def test_if_nothing_can_be_scored_the_scores_are_null_with_the_reason(
    tmp_path: Path, slices: tuple[str, ...]
) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([("e0", "s", 0, "a")]),
        harness.references_table([("e0", [None]), ("e1", [])], topic=["x", "y"]),
    )
    flags = ("--tokenizer", "none", "--bootstrap", 8, *slices)
    ran = harness.run(inputs, tmp_path / "out", *flags)
    check_nothing_scored(ran, ["s"])
    assert "undefined" in ran.stdout
    # Rows without a replicate value: 8 of each score, all null.
    values = ran.output.replicates.column("value")
    assert values.null_count == len(values)


def test_files_without_rows_are_nothing_to_score(tmp_path: Path) -> None:
    inputs = pair(tmp_path / "in", [], [])
    check_nothing_scored(harness.run(inputs, tmp_path / "out", *BOTH, "--systems", "s"), ["s"])


@pytest.mark.parametrize("bootstrap", [0, 8])
def test_hypotheses_without_rows_and_no_system_named_are_nothing_to_score(
    tmp_path: Path, bootstrap: int
) -> None:
    inputs = pair(tmp_path / "in", [], [("e0", ["a"])])
    flags = ("--tokenizer", "none", "--bootstrap", bootstrap)
    check_nothing_scored(harness.run(inputs, tmp_path / "out", *flags), [])


def test_cider_d_of_one_example_is_null_with_the_reason_and_right_with_a_saved_table(
    tmp_path: Path,
) -> None:
    texts = ["a b c d", "a c d e", "e f g h"]
    many = pair(
        tmp_path / "many",
        [(f"e{i}", "s", 0, "a b c d") for i in range(3)],
        [(f"e{i}", [text]) for i, text in enumerate(texts)],
    )
    one = pair(tmp_path / "one", [("e0", "s", 0, "a b c d")], [("e0", [texts[0]])])
    row = harness.run(one, tmp_path / "out", *BOTH).fine().score("s", "cider_d")
    assert row["value"] is row["ci_low"] is None
    assert row["note"] == "undefined: document frequencies of fewer than 2 examples"

    harness.run(many, tmp_path / "m", *BOTH, "--save_document_frequencies", tmp_path / "t").fine()
    flags = (*BOTH, "--document_frequencies", tmp_path / "t")
    row = harness.run(one, tmp_path / "frozen", *flags).fine().score("s", "cider_d")
    # The identical text; every n-gram of it has a weight above 0.
    assert row["value"] == pytest.approx(10, abs=1e-6)
    only = harness.run(one, tmp_path / "only", *FLAGS, "--metrics", "cider_d")
    only.below()
    assert "no score is defined" in only.stderr


@pytest.mark.parametrize(("share", "code"), [(0, 3), (0.0999, 3), (0.1, 0), (1, 0)])
def test_more_refused_rows_than_max_rejected_allows_end_with_3(
    tmp_path: Path, share: float, code: int
) -> None:
    rows = [*((f"e{i}", "s", 0, "a") for i in range(9)), (None, "s", 0, "a")]
    references = [(f"e{i}", ["a"]) for i in range(9)]
    inputs = pair(tmp_path / "in", rows, references)
    ran = harness.run(inputs, tmp_path / "out", *FLAGS, "--max_rejected", share)
    assert ran.code == code
    assert ("1 of 10 rows of hypotheses were refused" in ran.stderr) == (code == 3)
    assert ran.output.score("s", "bleu")["segments"] == 9


def test_texts_longer_than_allowed_and_bad_utf8_are_refused_and_the_rest_scored(
    tmp_path: Path,
) -> None:
    text = pa.array([b"a b c d", b"a b \xff", ("a " * 60_000).encode(), "好".encode()])
    table = pa.table(
        {
            "example_id": [f"e{i}" for i in range(4)],
            "system": ["s"] * 4,
            "text": text.view(pa.string()),
        }
    )
    inputs = harness.write_inputs(
        tmp_path / "in", table, harness.references_table([(f"e{i}", ["a b"]) for i in range(4)])
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS, "--max_rejected", 1).fine()
    assert [(r["row"], r["reason"]) for r in output.rejected] == [
        (1, "invalid_utf8"),
        (2, "too_long"),
    ]
    row = output.score("s", "bleu")
    assert (row["examples"], row["missing"]) == (4, 2)


def test_ids_that_are_integers_join_with_their_decimals_and_any_string_encoding_is_read(
    tmp_path: Path,
) -> None:
    plain = pair(
        tmp_path / "plain",
        [("7", "s", 0, "a b c d"), ("-8", "s", 0, "b")],
        [("7", ["a b c x"]), ("-8", ["b"])],
    )
    hypotheses = pa.table(
        {
            "example_id": pa.array([7, -8], pa.int64()),
            "system": pa.array(["s", "s"]).dictionary_encode(),
            "sample": pa.array([0, None], pa.uint8()),
            "text": pa.array(["a b c d", "b"], pa.large_string()),
        }
    )
    references = pa.table(
        {
            "example_id": pa.array(["7", "-8"]).dictionary_encode(),
            "references": pa.array([["a b c x"], ["b"]], pa.large_list(pa.large_string())),
        }
    )
    encoded = harness.write_inputs(tmp_path / "encoded", hypotheses, references)
    outputs = [
        harness.run(i, tmp_path / f"out{n}", *FLAGS, "--partitions", 2).fine()
        for n, i in enumerate((plain, encoded))
    ]
    harness.check_same_bytes(*outputs)
    assert 0 < outputs[0].score("s", "bleu")["value"] < 1


def test_files_that_differ_in_optional_columns_and_encodings_are_read_together(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "hypotheses"
    folder.mkdir()
    first = harness.hypotheses_table([("e0", "s", 0, "a b c d"), ("e0", "s", 1, "b c d a")])
    second = pa.table(
        {
            "text": pa.array(["x"]).dictionary_encode(),
            "note": pa.array([1]),
            "system": pa.array(["s"], pa.large_string()),
            "example_id": pa.array([1]),
        }
    )
    pq.write_table(first, folder / "1.parquet")
    pq.write_table(second, folder / "2.parquet")
    references = harness.references_table([("e0", ["a b c d"]), ("1", ["x"])])
    harness.write_shards(tmp_path / "references", references)
    inputs = harness.Inputs(folder, tmp_path / "references")
    output = harness.run(inputs, tmp_path / "out", *FLAGS).fine()
    row = output.score("s", "bleu")
    assert (row["examples"], row["segments"], row["missing"]) == (2, 3, 0)


def test_null_lists_of_references_keep_their_neighbours_apart(tmp_path: Path) -> None:
    lists = [["a", "b"], None, ["c", "d"], [None, "e"], [], ["f"]]
    inputs = pair(
        tmp_path / "in",
        [(f"e{i}", "s", 0, text) for i, text in enumerate("bxcexf")],
        [(f"e{i}", texts) for i, texts in enumerate(lists)],
    )
    output = harness.run(inputs, tmp_path / "out", *FLAGS, "--max_rejected", 1).fine()
    refused = [r["example_id"] for r in output.rejected if r["table"] == "references"]
    assert refused == ["e1", "e4"]
    rows = output.segments.to_pylist()
    found = [(r["example_id"], r["references"], r["bleu_matches_1"]) for r in rows]
    assert found == [("e0", 2, 1), ("e2", 2, 1), ("e3", 1, 1), ("e5", 1, 1)]


def test_hidden_files_in_folders_are_left_alone(inputs: harness.Inputs, tmp_path: Path) -> None:
    for name in (".part.parquet", "_SUCCESS", "_temporary/part.parquet"):
        path = inputs.hypotheses / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    output = harness.run(inputs, tmp_path / "out", *FLAGS).fine()
    assert output.counts["hypotheses.read"] == 2


@pytest.mark.parametrize("name", ["run[1]", "run*", "a b", "夜"])
def test_a_folder_of_any_name_is_read(tmp_path: Path, name: str) -> None:
    inputs = pair(tmp_path / name, [("e0", "s", 0, "a")], [("e0", ["a"])])
    output = harness.run(inputs, tmp_path / "out", *FLAGS).fine()
    assert output.counts["hypotheses.scored"] == 1


def test_a_file_named_twice_is_read_once(inputs: harness.Inputs, tmp_path: Path) -> None:
    folder = str(inputs.hypotheses)
    flags = ["--hypotheses", folder, f"{folder}/*.parquet", f"{folder}/part-00000-of-00001.parquet"]
    output = harness.run([*flags, *inputs.flags()[2:]], tmp_path / "out", *FLAGS).fine()
    assert output.counts["hypotheses.read"] == 2


def test_a_thousand_systems_are_enough_and_more_are_a_wrong_column(tmp_path: Path) -> None:
    inputs = harness.write_inputs(
        tmp_path / "in",
        pa.table(
            {
                "example_id": ["a"] * 1001,
                "system": [f"s{i}" for i in range(1001)],
                "text": ["好"] * 1001,
            }
        ),
        pa.table({"example_id": ["a"], "references": [["好"]]}),
    )
    said = harness.run(inputs, tmp_path / "out", "--bootstrap", 0).refused()
    assert "more than 1,000 systems" in said
    assert "--columns system=" in said
