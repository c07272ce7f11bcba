"""User dictionaries: what is read, what is said of it, what makes two of them equal."""

from __future__ import annotations

import jieba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.text.tokenizers.user_words import (
    UserWords,
    can_cut_a_run,
    cuts_a_run,
    read_user_words,
)


def read(*files: str | bytes) -> tuple[UserWords, list[str]]:
    named = [
        (f"{number}.txt", file if isinstance(file, bytes) else file.encode())
        for number, file in enumerate(files, 1)
    ]
    words, warnings = read_user_words(named)
    return words, [str(warning) for warning in warnings]


def test_lines_are_read_as_jieba_reads_them() -> None:
    words, warnings = read(
        "\ufeff微信支付 100 n\r\n\r\n  量尺 \nWeChat nz\n二零二四 7\n2024\n#话题# 3"
    )
    assert words.entries == (
        ("微信支付", 100),
        ("量尺", None),
        ("WeChat", None),
        ("二零二四", 7),
        ("2024", None),
        ("#话题#", 3),
    )
    assert warnings == []


@given(st.text(st.sampled_from("微信a9 N\t\u3000#"), max_size=9))
def test_any_line_is_read_as_jieba_reads_it(line: str) -> None:
    words, _ = read(line)
    stripped = line.encode().strip().decode()
    matched = jieba.re_userdict.match(stripped)
    expected = () if not matched else ((matched[1], int(matched[2]) if matched[2] else None),)
    assert words.entries == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("微信 支付 100", "'微信 支付' holds a blank and is never found; expected WORD"),
        ("微信支付\t100", "holds a blank"),
        ("微信支付 100 N", "'微信支付 100 N' holds a blank"),
        ("微信　支付", "holds a blank"),
        ("微信！", "'微信！' holds '！', where text is always cut: never found"),
        ("(微信)", "holds '('"),
        ("café", "holds 'é'"),
        ("𠮷野家", "holds '𠮷'"),
        ("二〇二四", "holds '〇'"),
        ("的 0", "'的' has frequency 0, which takes it out"),
    ],
)
def test_a_line_that_does_something_else_is_named(line: str, message: str) -> None:
    _, warnings = read(f"量尺\n\n{line}\n")
    assert len(warnings) == 1
    assert warnings[0].startswith("1.txt, line 3: ")
    assert message in warnings[0]


def test_of_a_word_in_several_files_the_last_line_counts_and_that_is_said() -> None:
    words, warnings = read("量尺 5\n微信 3\n", "微信 3\n量尺\n")
    assert words.entries == (("量尺", 5), ("微信", 3), ("微信", 3), ("量尺", None))
    assert warnings == [
        "2.txt, line 2: '量尺' has another frequency in 1.txt, line 1; this line counts"
    ]


def test_what_cannot_be_read_is_refused_with_file_and_line() -> None:
    with pytest.raises(ValueError, match=r"2\.txt, line 2: no UTF-8"):
        read("量尺", b"a\n" + "量尺".encode("gbk"))
    with pytest.raises(ValueError, match=r"1\.txt, line 1: frequency 1000000000001; expected 0 to"):
        read("量尺 1000000000001")


def test_lists_are_equal_by_their_content() -> None:
    one, _ = read("量尺 5 n\n微信\n")
    assert one == read("量尺 5\n\n微信 v")[0]
    assert hash(one) == hash(read("量尺 5\n", "微信")[0])
    for other in ("微信\n量尺 5", "量尺 5", "量尺 5\n微信 1", "量尺\n微信 5", "量尺 5\n微信\n微信"):
        assert one != read(other)[0]
    assert one.content == "9fd65c175d070efb"


def kind(character: str) -> str:
    return "a" if character in "ab" else "9" if character in "12" else character


@given(st.text(st.sampled_from("ab12-是"), max_size=9), st.integers(0, 8), st.integers(1, 4))
def test_a_word_cuts_a_run_where_its_kind_goes_on_outside(text: str, start: int, size: int) -> None:
    end = min(start + size, len(text))
    if start >= end:
        return
    word, around = text[start:end], f"。{text}。"
    first = kind(word[0]) in "a9" and kind(around[start]) == kind(word[0])
    last = kind(word[-1]) in "a9" and kind(around[end + 1]) == kind(word[-1])
    assert cuts_a_run(text, start, end) == (first or last)
    if first or last:
        assert can_cut_a_run(word)


def test_words_that_can_cut_a_run() -> None:
    words = ["5G", "量尺", "T恤", "卡拉OK", "+1", "A", "#a#", "C++"]
    assert [w for w in words if can_cut_a_run(w)] == ["5G", "T恤", "卡拉OK", "+1", "A", "C++"]
