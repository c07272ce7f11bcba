"""User dictionaries in jieba's format: read once, carried to the workers by value.

A line is ``WORD``, ``WORD FREQUENCY`` or ``WORD FREQUENCY TAG`` (微信支付 100 n), in UTF-8. Several
files are one list, one after the other; of a word that occurs again the last line counts. A word
without a frequency gets the one with which jieba would cut it as a whole; 0 takes a word out. Tags
move no boundary and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from scoring import hashing

MOST_FREQUENT = 10**12
"""Far more than all words of jieba's dictionary together (6e7)."""

_LINE = re.compile(r"(.+?)(?: ([0-9]+))?(?: [a-z]+)?")
_LETTERS, _DIGITS = "a-zA-Z", "0-9"
# Whatever else is in a text, jieba cuts it out before it looks for words.
_CUT_OUT = re.compile(rf"[^\u4e00-\u9fd5{_LETTERS}{_DIGITS}+#&._%\-]")
_RUN = re.compile(rf"[{_LETTERS}]+|[{_DIGITS}]+")


@dataclass(frozen=True)
class UserWords:
    """Words and their frequencies (None: to be chosen), in the order of the lines.

    content: a hash of them, which alone makes two lists equal.
    """

    entries: tuple[tuple[str, int | None], ...] = field(compare=False, repr=False)
    content: str

    @classmethod
    def of(cls, entries: Iterable[tuple[str, int | None]]) -> UserWords:
        listed = tuple(entries)
        flat = [text for word, f in listed for text in (word, "" if f is None else str(f))]
        lists = pa.array([flat], pa.list_(pa.string()))
        return cls(listed, f"{int(hashing.hash_lists(lists)[0]):016x}")


@dataclass(frozen=True)
class LineWarning:
    """What a line of a dictionary does other than its author may think."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.message}"


def read_user_words(
    files: Sequence[tuple[str, bytes]],
) -> tuple[UserWords, tuple[LineWarning, ...]]:
    """The words of several files (name, bytes), and what to tell about their lines.

    Raises ValueError, with file and line, for what is not UTF-8 or cannot be a frequency.
    """
    entries: list[tuple[str, int | None]] = []
    warnings: list[LineWarning] = []
    seen: dict[str, tuple[int | None, str]] = {}
    for file, data in files:
        for number, raw in enumerate(data.split(b"\n"), 1):
            try:
                line = raw.strip().decode("utf-8").lstrip("\ufeff")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{file}, line {number}: no UTF-8 ({error.reason}). Save the file as UTF-8."
                ) from error
            matched = _LINE.fullmatch(line)
            if not matched:
                continue  # an empty line
            word = matched[1]
            frequency = None if matched[2] is None else int(matched[2])
            if frequency is not None and frequency > MOST_FREQUENT:
                raise ValueError(
                    f"{file}, line {number}: frequency {frequency}; expected 0 to {MOST_FREQUENT}"
                )
            messages = _about(word, frequency)
            before, where = seen.get(word, (frequency, ""))
            if before != frequency:
                messages.append(f"{word!r} has another frequency in {where}; this line counts")
            warnings += [LineWarning(file, number, message) for message in messages]
            seen[word] = (frequency, f"{file}, line {number}")
            entries.append((word, frequency))
    return UserWords.of(entries), tuple(warnings)


def _about(word: str, frequency: int | None) -> list[str]:
    found = []
    if outside := _CUT_OUT.search(word):
        if outside[0].isspace():
            found.append(
                f"{word!r} holds a blank and is never found; expected WORD, WORD FREQUENCY or "
                "WORD FREQUENCY TAG, with one blank between them and a tag in small letters"
            )
        else:
            found.append(f"{word!r} holds {outside[0]!r}, where text is always cut: never found")
    if frequency == 0:
        found.append(f"{word!r} has frequency 0, which takes it out of the dictionary")
    return found


def can_cut_a_run(word: str) -> bool:
    """Whether the word begins or ends with letters or digits, so that jieba would let it cut a
    longer run of them (``ens`` in license, ``5G`` in 15G). Here it never does."""
    return bool(word) and bool(_RUN.match(word[0]) or _RUN.match(word[-1]))


def cuts_a_run(text: str, start: int, end: int) -> bool:
    """Whether a word at ``text[start:end]`` cuts a run of letters or of digits."""
    return _inside(text, start) or _inside(text, end)


def _inside(text: str, place: int) -> bool:
    around = text[max(place - 1, 0) : place + 1]
    return len(around) == 2 and place > 0 and bool(_RUN.fullmatch(around))
