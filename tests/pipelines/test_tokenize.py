"""``liangchi tokenize``: what is printed of a text on its way through a recipe."""

from __future__ import annotations

import contextlib
import io
import json

import pytest

from pipelines import command
from pipelines.tokenize import marked


def called(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    """The exit code, stdout and stderr of ``liangchi tokenize``."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("sys.stdin", io.StringIO(stdin))
        code = command.main(["tokenize", *arguments])
    return code, out.getvalue(), err.getvalue()


def test_steps_that_change_something_are_shown_with_their_change() -> None:
    code, out, err = called("Ａ①好", "--steps", "nfc", "nfkc", "--tokenizer", "char")
    assert (code, err) == (0, "")
    assert out == (
        "recipe  nfc+nfkc/char\n\n"
        "text       Ａ①好\n"
        "nfkc       [-Ａ①-]{+A1+}好\n"
        "           A1好\n"
        "tokens     3: A / 1 / 好\n"
        "no change  nfc\n\n"
    )


def test_letters_that_look_alike_are_spelled_out() -> None:
    pieces = [("same", "caf"), ("gone", "e\u0301"), ("new", "\u00e9")]
    assert marked(pieces) == "caf[-e\u0301 (U+0065 U+0301)-]{+\u00e9 (U+00E9)+}"


def test_why_two_texts_do_not_match() -> None:
    code, out, _ = called("我 在 家", "--against", "我 在 学校", "--tokenizer", "none")
    assert code == 0
    assert "1-grams: 2 shared, 1 only in text, 1 only in against\n" in out
    assert "  shared   我 | 在\n  text     家\n  against  学校\n" in out
    assert "2-grams: 1 shared, 1 only in text, 1 only in against\n  shared   我 在\n" in out
    assert "4-grams: 0 shared, 0 only in text, 0 only in against\n" in out


def test_lines_of_stdin_where_no_text_is_given() -> None:
    _, out, _ = called("--tokenizer", "char", stdin="好的\n你\n")
    assert "tokens  2: 好 / 的\n" in out
    assert "tokens  1: 你\n" in out


def test_json_has_the_same() -> None:
    flags = ("--steps", "nfkc", "--tokenizer", "char", "--json", "--against", "A\x07")
    code, out, _ = called("Ａ", "①", *flags)
    assert code == 0
    one, two = map(json.loads, out.splitlines())
    assert one["recipe"] == "nfkc/char"
    assert one["steps"] == [{"step": "nfkc", "text": "A"}]
    assert (one["tokens"], two["tokens"]) == (["A"], ["1"])
    assert one["against"]["text"] == "A\x07"
    assert one["ngrams"][0] == {"order": 1, "shared": {"A": 1}, "text": {}, "against": {"\x07": 1}}


@pytest.mark.parametrize("more", [(), ("--json",), ("--against", "\x1b[31m\u202e")])
def test_control_characters_are_shown_and_not_obeyed(more: tuple[str, ...]) -> None:
    code, out, _ = called("\x1b[2J\u202e\u200b\x9b好", "--steps", "nfkc", *more)
    assert code == 0
    assert {c for c in out if not c.isprintable()} == {"\n"}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--tokenizer", "nothing"), "no tokenizer is called 'nothing'"),
        (("--steps", "nothing"), "no step is called 'nothing'"),
        (("--preset", "nothing"), "no preset is called 'nothing'"),
        (("--nothing",), "--nothing"),
    ],
)
def test_a_recipe_that_cannot_be_made_is_refused(flags: tuple[str, ...], said: str) -> None:
    code, out, err = called("好", *flags)
    assert (code, out) == (2, "")
    assert said in err
