"""The data report against a count text by text, and its warnings."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import data_report
from scoring.data_report import Figure, Tally, Track, count_texts, figures, merge, warnings
from scoring.joining import Joined, join
from scoring.text.recipe import TextRecipe
from scoring.text.tokenizers import make_tokenizer
from scoring.text.tokens import HasDictionary

RECIPES = [TextRecipe(make_tokenizer("none")), TextRecipe(make_tokenizer("char"))]
ALL = 2**64

Row = tuple[str, str, int, str | None]
References = dict[str, list[str]]

TEXTS = st.text(alphabet="好这這 aé7😂\ufffd\u200b。", max_size=6) | st.sampled_from(
    ["好的", "a b"]
)
IDS = st.sampled_from([f"e{i}" for i in range(8)])


@st.composite
def data(draw: st.DrawFn) -> tuple[list[Row], References]:
    references = draw(st.dictionaries(IDS, st.lists(TEXTS, min_size=1, max_size=3), min_size=1))
    keys = draw(st.sets(st.tuples(IDS, st.sampled_from("st"), st.integers(0, 1)), max_size=12))
    rows = [(*key, draw(TEXTS)) for key in sorted(keys) if key[0] in references]
    return rows, references


def joined(rows: list[Row], references: References) -> Joined:
    columns = list(zip(*rows)) or [(), (), (), ()]
    types = {"example_id": pa.string(), "system": pa.string(), "sample": pa.int32()}
    types |= {"text": pa.string()}
    hypotheses = pa.table(
        {name: pa.array(column, t) for (name, t), column in zip(types.items(), columns)}
    )
    other = {"example_id": list(references), "references": list(references.values())}
    schema = pa.schema({"example_id": pa.string(), "references": pa.list_(pa.string())})
    return join(hypotheses, pa.table(other, schema=schema), ["s", "t"])


def counted(rows: list[Row], references: References, limit: int = ALL) -> Tally:
    found = joined(rows, references)
    return count_texts(found.examples, found.texts, RECIPES, limit)


def by_name(tally: Tally) -> dict[tuple[int, int | None, str], Figure]:
    return {(f.source, f.track, f.measure): f for f in figures(tally, 2, 2)}


def same(one: Tally, other: Tally) -> bool:
    columns = zip((one.place, one.value, one.count), (other.place, other.value, other.count))
    return all(np.array_equal(a, b) for a, b in columns)


@given(data())
def test_figures_are_those_of_a_count_text_by_text(drawn: tuple[list[Row], References]) -> None:
    rows, references = drawn
    found = by_name(counted(rows, references))
    sides: list[list[tuple[str, str]]] = [
        [(name, text) for name, texts in references.items() for text in texts],
        *([(i, text or "") for i, system, _, text in rows if system == own] for own in "st"),
    ]
    for source, side in enumerate(sides):
        texts = [text for _, text in side]
        whole = "".join(texts)

        def check(measure: str, count: int, of: int, track: int | None = None) -> None:
            figure = found[source, track, measure]  # noqa: B023
            assert (measure, figure.count, figure.of) == (measure, count, of)
            assert figure.value == (count / of if of else None)

        check("texts", len(texts), len(texts))
        check("empty_texts", texts.count(""), len(texts))
        check("characters", len(whole), len(texts))
        check("cjk", sum(c in "好这這的" for c in whole), len(whole))
        check("latin", sum(c in "abé" for c in whole), len(whole))
        check("digits", whole.count("7"), len(whole))
        check("emoji", whole.count("😂"), len(whole))
        check("blanks", whole.count(" "), len(whole))
        check("invisible", whole.count("\u200b"), len(whole))
        check("traditional", whole.count("這"), whole.count("這") + whole.count("这"))
        check("texts_with_emoji", sum("😂" in t for t in texts), len(texts))
        check("texts_with_replacement", sum("\ufffd" in t for t in texts), len(texts))
        of_text = defaultdict(set)
        for example, text in side:
            of_text[text].add(example)
        sizes = [len(examples) for examples in of_text.values()]
        check("distinct_texts", len(sizes), sum(sizes))
        check("repeated_texts", sum(n for n in sizes if n > 1), sum(sizes))
        check("most_repeated", max(sizes, default=0), sum(sizes))
        for track, recipe in enumerate(RECIPES):
            cut = recipe.tokenize(pa.array(texts, pa.string())).to_lists()
            lengths = [len(tokens) for tokens in cut]
            check("tokens", sum(lengths), len(texts), track)
            check("one_token", lengths.count(1), len(texts), track)
            check("no_token", lengths.count(0), len(texts), track)
            check("characters_a_token", sum(len(t) for c in cut for t in c), sum(lengths), track)
            for percent in data_report.QUANTILES:
                value = found[source, track, f"tokens_p{percent}"].value
                rank = max(math.ceil(percent * len(lengths) / 100), 1)
                assert value == (sorted(lengths)[rank - 1] if lengths else None)


@given(data(), st.integers(1, 4))
def test_parts_add_up(drawn: tuple[list[Row], References], parts: int) -> None:
    rows, references = drawn
    tallies = []
    for part in range(parts):
        own = {i: texts for i, texts in references.items() if int(i[1:]) % parts == part}
        tallies.append(counted([row for row in rows if row[0] in own], own))
    assert same(merge(tallies), counted(rows, references))


def test_the_sample_does_not_depend_on_the_cut() -> None:
    references = {f"e{i}": [f"好{i}"] for i in range(400)}
    rows: list[Row] = [(f"e{i}", "s", 0, f"a{i % 9}") for i in range(400)]
    whole = counted(rows, references, ALL // 4)
    parts = [
        counted(rows[i::4], {f"e{j}": references[f"e{j}"] for j in range(i, 400, 4)}, ALL // 4)
        for i in range(4)
    ]
    assert same(merge(parts), whole)
    texts = by_name(whole)[0, None, "texts"]
    assert texts.of == 400
    assert texts.count is not None
    assert 70 < texts.count < 130
    # All are searched for U+FFFD.
    assert by_name(whole)[1, None, "texts_with_replacement"].of == 400


def test_missing_outputs_are_no_texts() -> None:
    found = by_name(
        counted([("e1", "s", 0, "a"), ("e2", "s", 0, None)], {"e1": ["b"], "e2": ["c"]})
    )
    assert found[1, None, "texts"].of == 1
    assert found[2, None, "texts"].of == 0
    assert found[2, None, "characters_p50"].value is None


def test_long_texts_are_rounded_down_by_less_than_a_five_hundredth() -> None:
    lengths = np.array([0, 1, 1023, 1024, 1025, 99_999, 100_000], np.int64)
    rounded = data_report._rounded(lengths)
    assert rounded[:4].tolist() == [0, 1, 1023, 1024]
    assert (rounded <= lengths).all()
    assert (lengths - rounded <= lengths / 512).all()


MAIN = Track("main", "jieba", (), overlaps=False, bleu=True)


def warned(
    references: list[str], texts: list[str], track: Track = MAIN, tokenizer: str = "jieba"
) -> list[str]:
    rows: list[Row] = [(f"e{i}", "s", 0, text) for i, text in enumerate(texts)]
    found = joined(rows, {f"e{i}": [text] for i, text in enumerate(references)})
    recipe = TextRecipe(make_tokenizer(tokenizer))
    total = count_texts(found.examples, found.texts, [recipe], ALL)
    return warnings(figures(total, 2, 1), ["s", "t"], [replace(track, tokenizer=tokenizer)])


PLAIN = [f"这是第{i}个问题的回答，我们来看看。" for i in range(12)]
OTHER = [f"那我们就说说第{i}个问题吧。" for i in range(12)]


def test_fine_data_give_no_warning() -> None:
    assert warned(PLAIN, OTHER) == []
    assert warned(["The cat sat on the mat."] * 12, [f"A dog {i} ran." for i in range(12)]) == []


@pytest.mark.parametrize(("tokenizer", "is_uncut"), [("13a", True), ("none", True), ("zh", False)])
def test_chinese_that_is_not_cut(tokenizer: str, is_uncut: bool) -> None:
    said = warned(PLAIN, OTHER, tokenizer=tokenizer)
    assert [s.startswith(f"--tokenizer {tokenizer} leaves Chinese uncut") for s in said] == (
        [True] * is_uncut
    )
    cut = [" ".join(text) for text in PLAIN]
    assert warned(cut, [" ".join(text) for text in OTHER], tokenizer=tokenizer) == []


def test_two_scripts() -> None:
    other = [f"那我們就說說第{i}個問題吧。" for i in range(12)]
    (said,) = warned(PLAIN, other)
    assert said.startswith("system s writes traditional characters, the references simplified ones")
    assert "t2s" in said
    (said,) = warned(other, PLAIN)
    assert "writes simplified characters, the references traditional" in said
    assert warned(PLAIN, other, replace(MAIN, steps=("nfc", "t2s[1.4.2]"))) == []
    assert warned(other, other[::-1]) == []


def test_tokens_that_overlap_where_bleu_counts_them() -> None:
    (said,) = warned(PLAIN, OTHER, replace(MAIN, overlaps=True))
    assert "overlap" in said
    assert warned(PLAIN, OTHER, replace(MAIN, overlaps=True, bleu=False)) == []


def test_references_of_one_token() -> None:
    (said,) = warned(["谢谢", "可以", *PLAIN[2:]], OTHER)
    assert said.startswith("2 of 12 references are one token (jieba)")
    assert warned(["可以", *PLAIN[1:]], OTHER) == []


def test_texts_that_were_damaged() -> None:
    said = warned(PLAIN, ["\ufffd好", "你好世界".encode().decode("gb18030"), *OTHER[2:]])
    assert ["U+FFFD" in s for s in said] == [True, False]
    assert said[0].startswith("system s: 1 of 12 texts hold U+FFFD")
    assert said[1].startswith("system s: 1 of 12 texts look like UTF-8 that was read as GBK")


def test_one_text_for_everything() -> None:
    (said,) = warned(PLAIN, [*OTHER[:8], *["抱歉，我不知道。"] * 4])
    assert said.startswith("system s: gives one and the same text for 4 of 12 examples")
    assert warned(PLAIN, [*OTHER[:10], *["抱歉，我不知道。"] * 2]) == []


def test_words_that_are_not_in_the_dictionary() -> None:
    tokenizer = make_tokenizer("jieba")
    assert isinstance(tokenizer, HasDictionary)
    assert tokenizer.known(pa.array(["你好", "仙仙仙眩", "机器"])).tolist() == [True, False, True]
    found = joined([("e1", "s", 0, "a 7。")], {"e1": ["杭研大厦", "你好 abc"]})
    total = count_texts(found.examples, found.texts, [TextRecipe(tokenizer)], ALL)
    of = {(f.source, f.measure): f for f in figures(total, 1, 1)}
    # 杭研 is made by the model; abc and punctuation are not asked for.
    assert (of[0, "unknown_words"].count, of[0, "unknown_words"].of) == (1, 3)
    assert (1, "unknown_words") not in of


def test_values_of_a_tally_are_sorted_and_distinct() -> None:
    found = data_report.tally([(1, 2, np.array([5, 3, 5]), 1), (0, 2, 7, 4), (0, 2, 8, 0)])
    assert found.value.tolist() == [7, 3, 5]
    assert found.count.tolist() == [4, 1, 2]
    assert Counter(found.place.tolist()) == {2: 1, 2**20 + 2: 2}
    assert len(merge([]).place) == 0
