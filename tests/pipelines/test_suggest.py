"""``liangchi suggest``: its files load where they are meant for, and change what they should."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path

import harness
import pyarrow as pa

from pipelines import command
from scoring.text.token_steps.stop_words import stop_words
from scoring.text.token_steps.synonyms import synonyms
from scoring.text.tokenizers import make_tokenizer
from scoring.text.tokenizers.user_words import read_user_words

NOUNS = "天气电影音乐早饭火车公园老师学校医院超市衣服鞋子苹果香蕉作业会议"
VERBS = "看到喜欢讨论打听告诉忘记记得想起发现介绍"


def drawn(draw: random.Random, words: str) -> str:
    """One of the words of two characters."""
    start = 2 * draw.randrange(len(words) // 2)
    return words[start : start + 2]


def inputs(folder: Path) -> harness.Inputs:
    """Texts with the domain word 青椒土豆丝, the stop word 的 and the synonyms 手机 and 电话."""
    draw = random.Random(7)
    references: list[tuple[str, list[str | None]]] = []
    rows: list[tuple[str | None, str | None, int | None, str | None]] = []
    for i in range(200):
        words = [drawn(draw, of) for of in (NOUNS, VERBS, NOUNS, NOUNS)]
        if i % 10 == 0:
            words.insert(draw.randint(1, 3), "青椒土豆丝")
        text = words[0] + "的" + "".join(words[1:]) + "。"
        other = text
        if i % 25 == 0:
            text, other = text[:-1] + "和手机，好吗", text[:-1] + "和电话，好吗"
        references.append((f"e{i}", [text]))
        rows.append((f"e{i}", "s", 0, other))
    return harness.write_inputs(
        folder, harness.hypotheses_table(rows), harness.references_table(references), shards=2
    )


def called(*arguments: object) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of ``liangchi suggest``."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command.main(["suggest", *map(str, arguments)])
    return code, out.getvalue(), err.getvalue()


def test_what_was_planted_is_found_and_the_files_load(tmp_path: Path) -> None:
    output = tmp_path / "out"
    code, out, err = called(*inputs(tmp_path / "in").flags(), "--output", output)
    assert (code, err) == (0, "")
    assert out.startswith("all 200 examples; ")
    assert out.endswith(f"{output}\n")

    text = pa.array(["我想吃青椒土豆丝和苹果"])
    tokenizer = make_tokenizer("jieba")
    assert "青椒土豆丝" not in tokenizer.tokenize(text).to_lists()[0]
    words, warnings = read_user_words([("words.txt", (output / "words.txt").read_bytes())])
    assert "青椒土豆丝" in [word for word, _ in words.entries]
    assert warnings == ()
    assert "青椒土豆丝" in make_tokenizer("jieba", words).tokenize(text).to_lists()[0]

    assert stop_words(str(output / "stopwords.txt")).words()[0] == "的"
    assert set(synonyms(str(output / "synonyms.json")).words()) == {"手机", "电话"}

    rows = harness.read_parquet(output / "suggestions.parquet").to_pylist()
    planted = {r["word"]: r for r in rows if r["kind"] == "word"}["青椒土豆丝"]
    assert planted["other"].replace("|", "") == "青椒土豆丝" in planted["example"]
    (pair,) = [r for r in rows if r["kind"] == "synonym"]
    assert (pair["count"], pair["other"] in pair["example"], pair["word"] in pair["reference"]) == (
        8,
        True,
        True,
    )


def test_the_same_files_from_every_cut_of_the_data(tmp_path: Path) -> None:
    given = inputs(tmp_path / "in")
    one = [str(p) for p in sorted(given.hypotheses.iterdir())]
    flags = ("--references", given.references, "--examples", 150)
    called("--hypotheses", *one, *flags, "--output", tmp_path / "a")
    called("--hypotheses", *reversed(one), *flags, "--output", tmp_path / "b")
    names = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert names == [
        "stopwords.txt",
        "suggestions.csv",
        "suggestions.parquet",
        "synonyms.json",
        "words.txt",
    ]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_nasty_texts_are_shown_and_commented_on_one_line(tmp_path: Path) -> None:
    nasty = "好的\x1b[31m\n坏\u202e"
    given = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table([(f"e{i}", "s", 0, nasty) for i in range(9)]),
        harness.references_table([(f"e{i}", [f"{nasty}{i}"]) for i in range(9)]),
    )
    code, out, _ = called(*given.flags(), "--output", tmp_path / "out")
    assert code == 0
    assert {c for c in out if not c.isprintable()} == {"\n"}
    listed = stop_words(str(tmp_path / "out" / "stopwords.txt")).words()
    assert {"好", "的", "坏"} <= set(listed)
    json.loads((tmp_path / "out" / "synonyms.json").read_text(encoding="utf-8"))


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "words.txt").write_text("mine")
    code, _, err = called(*inputs(tmp_path / "in").flags(), "--output", tmp_path / "full")
    assert (code, "already holds 'words.txt'" in err) == (2, True)
    assert (tmp_path / "full" / "words.txt").read_text() == "mine"
