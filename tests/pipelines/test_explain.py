"""``liangchi explain``: the hand count of one example is what the run stored."""

from __future__ import annotations

import contextlib
import io
import math
import os
from pathlib import Path

import harness
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines import command, explain

REFERENCES: list[tuple[str, list[str | None]]] = [
    ("e0", ["the cat sat on the mat", "there is a cat on the mat"]),
    ("e1", ["a dog ran", "the dog ran away from the cat", None, "a dog"]),
    ("e2", ["on the mat"]),
    ("e3", ["", "a"]),
    ("e4", ["the the the", "cat"]),
]
HYPOTHESES: list[tuple[str | None, str | None, int | None, str | None]] = [
    ("e0", "s", 0, "the the the cat on the mat"),
    ("e0", "s", 1, "there is a cat"),
    ("e0", "t", 0, "the cat sat on the mat"),
    ("e1", "s", 0, "a dog ran away"),
    ("e1", "s", 0, "a dog ran away"),  # collapses
    ("e1", "t", 0, "zebra"),
    ("e2", "s", 0, "on the mat on the mat on the mat"),
    ("e2", "t", 0, None),
    ("e3", "s", 0, ""),
    ("e3", "t", 0, "a"),
    ("e4", "s", 0, "the the the the"),
    ("e4", "t", 3, "cat the"),
]
FLAGS = ("--tokenizer", "none", "--bootstrap", 0, "--partitions", 3, "--max_rejected", 1)


def inputs(folder: Path) -> harness.Inputs:
    return harness.write_inputs(
        folder,
        harness.hypotheses_table(HYPOTHESES),
        harness.references_table(REFERENCES, topic=["x", "y", "x", None, "y"]),
        shards=2,
        shuffle=3,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run on the inputs, which nobody changes."""
    folder = tmp_path_factory.mktemp("explained")
    return harness.run(inputs(folder / "in"), folder / "out", *FLAGS).fine().folder


def called(*arguments: object) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of ``liangchi explain``."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command.main(["explain", *map(str, arguments)])
    return code, out.getvalue(), err.getvalue()


def check_as_stored(run: Path, example_id: str) -> explain.Example:
    """Every number of the explanation equals what the run stored, and adds up by hand."""
    example = explain.load(str(run), example_id, lambda text: None)
    assert example.changes == ()
    stored = [r for r in harness.Output(run).segments.to_pylist() if r["example_id"] == example_id]
    keys = [(row["system"], row["sample"]) for row in stored]
    assert [(h.system, h.sample) for h in example.hypotheses] == keys
    for hypothesis, row in zip(example.hypotheses, stored):
        assert hypothesis.stored == row
        assert hypothesis.differences == ()
        assert {**hypothesis.statistics, **hypothesis.scores}.items() <= row.items()
        assert (hypothesis.filled, len(hypothesis.cuts["main"].tokens)) == (
            row["missing"],
            row["hypothesis_tokens"],
        )
        for name, count in hypothesis.counts.items():
            score = row[name]
            if isinstance(count, explain.BleuCount):
                check_bleu(hypothesis, count, row)
            elif isinstance(count, explain.CiderCount):
                means = count.means
                assert score == pytest.approx(10 * sum(means) / len(means), abs=1e-8)
                for similarities, mean in zip(count.similarities, means):
                    assert sum(similarities) / len(similarities) == pytest.approx(mean, abs=1e-12)
            else:
                assert score is None
    return example


def check_bleu(
    hypothesis: explain.Hypothesis, count: explain.BleuCount, row: dict[str, object]
) -> None:
    orders = hypothesis.cuts["main"].orders
    for order in orders[: len(count.precisions)]:
        n = order.order
        assert order.matched == row[f"bleu_matches_{n}"] == sum(g.clipped for g in order.own)
        assert order.total == row[f"bleu_ngrams_{n}"] == sum(g.count for g in order.own)
    assert count.hypothesis_length == row["bleu_hypothesis_length"]
    assert count.reference_length == row["bleu_reference_length"]
    used = [(w, p) for w, p in zip(count.weights, count.precisions) if w > 0]
    value = 0.0
    if (
        any(o.matched for o in hypothesis.cuts["main"].orders)
        and used
        and all(p > 0 for _, p in used)
    ):
        value = count.brevity * math.exp(sum(w * math.log(p) for w, p in used))
    assert row["bleu"] == pytest.approx(value, rel=1e-12, abs=1e-15)


SETTINGS = [
    (),
    ("--metrics", "bleu", "cider_d", "cider", "--smoothing", "floor"),
    ("--metrics", "bleu", "--weights", 0.4, 0, 0.6, "--smoothing", "add-k"),
    ("--smoothing", "none", "--slices", "topic", "--resample_by", "topic"),
    ("--tokenizer", "char", "--missing", "skip"),
    ("--metrics", "cider_d", "--partitions", 1),
]


@pytest.mark.parametrize("flags", SETTINGS)
def test_every_number_is_as_stored(tmp_path: Path, flags: tuple[object, ...]) -> None:
    run = harness.run(inputs(tmp_path / "in"), tmp_path / "out", *FLAGS, *flags).output.folder
    for example_id, references in REFERENCES:
        example = check_as_stored(run, example_id)
        assert list(example.references) == [r for r in references if r is not None]


def test_the_hand_count_of_a_small_example(run: Path) -> None:
    example = check_as_stored(run, "e0")
    assert example.weighed["main"].documents == 5
    hypothesis = example.hypotheses[0]
    assert hypothesis.cuts["main"].tokens == ("the", "the", "the", "cat", "on", "the", "mat")
    unigrams, bigrams = hypothesis.cuts["main"].orders[:2]
    found = {g.text: (g.count, g.in_references, g.clipped, g.frequency) for g in unigrams.own}
    assert found == {
        "the": (4, (2, 1), 2, 4),
        "cat": (1, (1, 1), 1, 3),
        "on": (1, (1, 1), 1, 2),
        "mat": (1, (1, 1), 1, 2),
    }
    weights = {g.text: g.weight for g in unigrams.own}
    assert weights["the"] == pytest.approx(math.log(5 / 4), abs=1e-11)
    assert [(g.text, g.clipped) for g in bigrams.own] == [
        ("the the", 0),
        ("the cat", 1),
        ("cat on", 1),
        ("on the", 1),
        ("the mat", 1),
    ]
    assert {g.text for g in bigrams.others} == {"cat sat", "sat on", "there is", "is a", "a cat"}
    assert (unigrams.matched, unigrams.total) == (5, 7)
    count = hypothesis.counts["bleu"]
    assert isinstance(count, explain.BleuCount)
    assert (count.hypothesis_length, count.reference_length, count.brevity) == (7, 7, 1.0)
    assert count.precisions == pytest.approx((5 / 7, 4 / 6, 2 / 5, 1 / 4))
    # 7 tokens against 6 and 7: bigrams differ by 1 and by 0.
    cider = hypothesis.counts["cider_d"]
    assert isinstance(cider, explain.CiderCount)
    assert cider.penalties == pytest.approx((math.exp(-1 / 72), 1.0), abs=1e-11)


def test_the_table_that_the_run_saved_or_used_is_used_again(tmp_path: Path) -> None:
    given, table = inputs(tmp_path / "in"), tmp_path / "table"
    saving = harness.run(
        given, tmp_path / "saving", *FLAGS, "--save_document_frequencies", table
    ).fine()
    example = check_as_stored(saving.folder, "e0")
    assert (example.weighed["main"].table, example.weighed["main"].documents) == (str(table), 5)

    # Other references, weighed by the same table.
    other = harness.write_inputs(
        tmp_path / "other",
        harness.hypotheses_table([("n", "s", 0, "the cat on the mat")]),
        harness.references_table([("n", ["the cat sat on the mat"])]),
    )
    using = harness.run(other, tmp_path / "using", *FLAGS, "--document_frequencies", table).fine()
    example = check_as_stored(using.folder, "n")
    assert (example.weighed["main"].table, example.weighed["main"].documents) == (str(table), 5)

    # Gone: what was saved can be counted again.
    for path in table.iterdir():
        path.unlink()
    example = check_as_stored(saving.folder, "e0")
    assert example.weighed["main"].table == "counted again from the references"


def test_references_that_are_refused_or_collapse_count_as_in_the_run(tmp_path: Path) -> None:
    references = [*REFERENCES, REFERENCES[0], ("e9", ["the mat"]), ("e9", ["the cat"])]
    given = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([*HYPOTHESES, ("e9", "s", 0, "the cat")]),
        harness.references_table(references),
        shards=3,
    )
    run = harness.run(given, tmp_path / "out", *FLAGS).output.folder
    assert check_as_stored(run, "e0").weighed["main"].documents == 5
    code, out, err = called(run, "e9")
    assert (code, out) == (2, "")
    assert err.startswith("liangchi: example 'e9' was not scored.\n")
    assert err.count("contradicting_duplicates") == 2
    assert "no_reference" in err


def test_what_is_printed(run: Path) -> None:
    row = next(r for r in harness.Output(run).segments.to_pylist() if r["example_id"] == "e0")
    code, out, err = called(run, "e0", "--system", "s", "--sample", 0)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "example e0"
    assert "reference 2  there is a cat on the mat" in lines
    assert "             7 tokens: there / is / a / cat / on / the / mat" in lines
    assert "== s, sample 0 ==" in lines
    assert "s, sample 1" not in out
    assert f"BLEU-4 {row['bleu']:.6f}  (as stored)" in lines
    assert f"CIDEr-D {row['cider_d']:.6f}  (as stored)" in lines
    assert "  brevity penalty 1.0000: 7 tokens, reference 2 is closest with 7" in lines
    assert "1-grams: 5 of 7 matched" in lines
    the = next(line for line in lines if line.startswith("  matched") and " the " in line)
    assert the.split() == ["matched", "the", "4", "2", "1", "2", "4", "0.2231"]
    missed = [line.split()[1:3] for line in lines if line.startswith("  missed")]
    assert ["the", "the"] in missed
    assert "CHANGED" not in out
    code, out, _ = called(run, "e2", "--system", "t")
    assert code == 0
    assert "missing: scored as an empty text\nno token\n" in out


def test_all_systems_and_samples_are_shown_unless_some_are_named(run: Path) -> None:
    heads = [line for line in called(run, "e0")[1].splitlines() if line.startswith("== ")]
    assert heads == ["== s, sample 0 ==", "== s, sample 1 ==", "== t, sample 0 =="]
    code, out, err = called(run, "e0", "--system", "u")
    assert (code, out) == (2, "")
    assert "There are: s 0, s 1, t 0." in err
    assert called(run, "e0", "--sample", 7)[0] == 2


def test_long_lists_are_cut_and_the_rest_is_counted(run: Path) -> None:
    short = called(run, "e0", "--system", "t", "--limit", 1)[1]
    assert "... 4 more matched, 2 more only in references (--limit 0 shows all)" in short
    whole = called(run, "e0", "--system", "t", "--limit", 0)[1]
    assert "more matched" not in whole
    assert len(whole.splitlines()) > len(short.splitlines()) + 10


def test_an_unknown_id_is_said_to_be_unknown(run: Path, tmp_path: Path) -> None:
    code, out, err = called(run, "e00")
    assert (code, out) == (2, "")
    assert "example 'e00' was not scored.\nNo row has this id." in err
    code, _, err = called(tmp_path, "e0")
    assert (code, "no finished run" in err) == (2, True)


def replace_text(folder: Path, old: str, new: str) -> None:
    for path in folder.glob("*.parquet"):
        table = harness.read_parquet(path)
        texts = [new if text == old else text for text in table.column("text").to_pylist()]
        index = table.column_names.index("text")
        pq.write_table(table.set_column(index, "text", pa.array(texts, pa.string())), path)


def test_inputs_that_were_changed_are_told_from_those_of_the_run(tmp_path: Path) -> None:
    given = inputs(tmp_path / "in")
    run = harness.run(given, tmp_path / "out", *FLAGS).fine().folder
    replace_text(given.hypotheses, "the cat sat on the mat", "the cat sat on the hat")
    code, out, _ = called(run, "e0", "--system", "t")
    assert code == 0
    assert "CHANGED: the run stored other values of " in out
    assert "bleu_matches_1" in out
    assert "(stored: 1.000000)" in out
    # Others are as they were.
    assert "CHANGED: the run stored" not in called(run, "e1", "--system", "t")[1]

    more = harness.hypotheses_table([("e0", "t", 9, "a cat")])
    pq.write_table(more, given.hypotheses / "more.parquet")
    out = called(run, "e0", "--system", "t")[1]
    assert f"CHANGED: {given.hypotheses / 'more.parquet'} is new since the run" in out
    assert "CHANGED: the run stored no scores for this text" in out
    table = harness.read_parquet(given.references / "part-00000-of-00002.parquet")
    pq.write_table(table.slice(0, 1), given.references / "part-00000-of-00002.parquet")
    out = called(run, "e0")[1] + called(run, "e0")[2]
    assert f"{given.references / 'part-00000-of-00002.parquet'} was changed" in out or (
        "its inputs do not give it any more" in out
    )


def test_inputs_that_are_gone_are_asked_for(tmp_path: Path) -> None:
    given = inputs(tmp_path / "in")
    run = harness.run(given, tmp_path / "out", *FLAGS).fine().folder
    os.rename(given.references, tmp_path / "moved")
    code, out, err = called(run, "e0")
    assert (code, out) == (2, "")
    assert str(given.references) in err
    assert "they must be where they were" in err


def test_relative_paths_are_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs(tmp_path / "in")
    monkeypatch.chdir(tmp_path)
    flags = ["--hypotheses", "in/hypotheses/*.parquet", "--references", "in/references"]
    table = ("--save_document_frequencies", "table")
    run = harness.run(flags, Path("out"), *FLAGS, *table).fine().folder.absolute()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert check_as_stored(run, "e0").weighed["main"].table == str(tmp_path / "table")


def test_the_query_is_shown_where_there_is_one_and_moves_nothing(tmp_path: Path) -> None:
    # Two rows that are equal for the run, but not in the query.
    references = harness.references_table(
        [*REFERENCES, REFERENCES[0]], query=["猫在哪？", None, "c", "d", "e", "猫在哪儿？"]
    )
    given = harness.write_inputs(tmp_path / "in", harness.hypotheses_table(HYPOTHESES), references)
    run = harness.run(given, tmp_path / "out", *FLAGS).fine().folder
    assert check_as_stored(run, "e0").query == "猫在哪？"
    assert "query        猫在哪？\n" in called(run, "e0")[1]
    assert "query  " not in called(run, "e1")[1]


def test_nothing_in_the_data_reaches_the_terminal_unescaped(tmp_path: Path) -> None:
    nasty = "\x1b[31m红\x07 [bold]x[/bold] \u202ey \x9b"
    given = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([("e\x1b[2J", "s\x1b]0;x\x07", 0, nasty), ("f", "s", 0, "a")]),
        harness.references_table([("e\x1b[2J", [nasty, "a\nb"]), ("f", ["a b c d e"])]),
    )
    run = harness.run(given, tmp_path / "out", *FLAGS).fine().folder
    code, out, _ = called(run, "e\x1b[2J")
    assert code == 0
    assert {c for c in out if not c.isprintable()} == {"\n"}
    assert "[bold]x[/bold]" in out
    _, _, err = called(run, "e\x1b[2K")
    assert {c for c in err if not c.isprintable()} == {"\n"}


def test_the_example_data_can_be_explained(chat: harness.Ran) -> None:
    code, out, err = called(chat.fine().folder, "alarms-01", "--system", "greedy")
    assert (code, err) == (0, "")
    assert "query        明早七点叫我起床\n" in out
    assert out.count("(as stored)") == 2
    assert "CHANGED" not in out
    example = check_as_stored(chat.output.folder, "weather-03")
    assert [h.sample for h in example.hypotheses if h.system == "sampling"] == [0, 1, 2]
