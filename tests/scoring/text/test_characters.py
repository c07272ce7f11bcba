"""Classes of characters, and texts in the wrong encoding."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.text import characters
from scoring.text.characters import (
    CLASSES,
    SIMPLIFIED,
    TRADITIONAL,
    count_classes,
    mojibake,
)


@cache
def class_of(character: str) -> int:
    """Looked up one by one."""
    (row,) = count_classes(pa.array([character]))
    (number,) = np.flatnonzero(row)
    return int(number)


@given(st.lists(st.text(max_size=8)))
def test_every_character_is_counted_once(texts: list[str]) -> None:
    counts = count_classes(pa.array(texts, pa.string()))
    assert counts.shape == (len(texts), CLASSES)
    expected = np.zeros((len(texts), CLASSES), np.int64)
    for i, text in enumerate(texts):
        for character in text:
            expected[i, class_of(character)] += 1
    assert (counts == expected).all()


@pytest.mark.parametrize(
    ("name", "examples"),
    [
        ("HAN", "好々〇㐀𠮷豈"),
        ("HAN_SIMPLIFIED", "这们国说"),
        ("HAN_TRADITIONAL", "這們國說"),
        ("KANA", "あアーｱ"),
        ("HANGUL", "한ㄱ"),
        ("LATIN", "aZāẑ"),
        ("LATIN_1_LETTER", "éÀÿ"),
        ("DIGIT", "09"),
        ("WIDE_LETTER", "Ａｚ"),
        ("WIDE_DIGIT", "０９"),
        ("EMOJI", "😂🛵❤🇨🫂"),
        ("BLANK", " \t\n\u3000\u00a0"),
        ("INVISIBLE", "\u200b\ufeff\u202e\x07"),
        ("REPLACEMENT", "\ufffd"),
        ("OTHER", "。，.!！★☆ω"),
    ],
)
def test_classes(name: str, examples: str) -> None:
    assert {class_of(c) for c in examples} == {getattr(characters, name)}


def test_blanks_are_those_of_python_and_letters_are_letters() -> None:
    points = [chr(p) for p in range(0x3400) if p != 0]
    counts = count_classes(pa.array(points))
    blank = counts[:, characters.BLANK] == 1
    assert [c.isspace() for c in points] == blank.tolist()
    for name, kind in (("LATIN", "L"), ("LATIN_1_LETTER", "L"), ("DIGIT", "Nd")):
        of_class = [c for c, n in zip(points, counts[:, getattr(characters, name)]) if n]
        assert of_class
        assert all(unicodedata.category(c).startswith(kind) for c in of_class)


def test_pairs_exist_in_one_script_only() -> None:
    assert len(SIMPLIFIED) == len(TRADITIONAL) >= 200
    assert len({*SIMPLIFIED, *TRADITIONAL}) == 2 * len(SIMPLIFIED)
    for simplified, traditional in zip(SIMPLIFIED, TRADITIONAL):
        simplified.encode("gb2312")
        traditional.encode("big5")
        with pytest.raises(UnicodeEncodeError):
            simplified.encode("big5")
        with pytest.raises(UnicodeEncodeError):
            traditional.encode("gb2312")


def found(*texts: str) -> list[bool]:
    array = pa.array(texts, pa.large_string())
    result: list[bool] = mojibake(array, count_classes(array)).tolist()
    return result


def test_texts_in_the_wrong_encoding_are_found() -> None:
    texts = ["你好世界", "好的，我马上就到。", "明早七点的闹钟，已设好。", "中文"]
    for encoding in ("gb18030", "latin-1"):
        wrong = [text.encode().decode(encoding, "ignore") for text in texts]
        whole = [w for w, t in zip(wrong, texts) if w.encode(encoding) == t.encode()]
        assert len(whole) >= 2
        assert all(found(*whole))


@given(st.lists(st.text(alphabet="好的我马上就到。今天会下雨abc é½", max_size=10), min_size=1))
def test_clean_texts_are_not(texts: list[str]) -> None:
    assert not any(found(*texts))
