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
import pyarrow.compute as pc

from scoring import hashing

MOST_FREQUENT = 10**12
"""Far more than all words of jieba's dictionary together (6e7)."""

_LINE = re.compile(r"(.+?)(?: ([0-9]+))?(?: [a-z]+)?")
_LETTERS, _DIGITS = "a-zA-Z", "0-9"
# Whatever else is in a text, jieba cuts it out before it looks for words.
_CUT_OUT = re.compile(rf"[^\u4e00-\u9fd5{_LETTERS}{_DIGITS}+#&._%\-]")
_RUN = re.compile(rf"[{_LETTERS}]+|[{_DIGITS}]+")
_LONG_RUN = rf"[{_LETTERS}]{{2}}|[{_DIGITS}]{{2}}"


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


def can_be_found(word: str) -> bool:
    """Whether jieba can find the word in a text: it has no character that is always cut out."""
    return not _CUT_OUT.search(word)


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
    elif len(word) == 1 and _RUN.fullmatch(word):
        found.append(
            f"{word!r} is a single letter or digit: it makes cutting about 15 times slower"
        )
    if frequency == 0:
        found.append(f"{word!r} has frequency 0, which takes it out of the dictionary")
    return found


class Guard:
    """Keeps user words from cutting a run of letters or of digits (``ens`` in license, ``5G`` in
    15G), which jieba itself would do."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = frozenset(w for w in words if _RUN.match(w[0]) or _RUN.match(w[-1]))
        # Runs of words: that are the word, that it begins with, that it ends with.
        self._whole: dict[str, list[str]] = {}
        self._first: dict[str, list[str]] = {}
        self._last: dict[str, list[str]] = {}
        for word in self.words:
            runs = list(_RUN.finditer(word))
            if runs[0].span() == (0, len(word)):
                self._whole.setdefault(word, []).append(word)
                continue
            if runs[0].start() == 0:
                self._first.setdefault(runs[0][0], []).append(word)
            if runs[-1].end() == len(word):
                self._last.setdefault(runs[-1][0], []).append(word)
        self._longest = max(map(len, self._whole), default=0)

    def forbids(self, text: str, start: int, end: int) -> bool:
        """Whether ``text[start:end]`` is a user word that would cut a run at one of its ends."""
        return text[start:end] in self.words and (_inside(text, start) or _inside(text, end))

    def concerns(self, texts: pa.Array) -> list[int]:
        """The numbers of the texts in which there is something to forbid, ascending; perhaps of
        some others, but of few."""
        if not self.words:
            return []
        likely = pc.indices_nonzero(pc.match_substring_regex(texts, _LONG_RUN))
        strings: list[str] = texts.take(likely).to_pylist()
        within = {run: self._within(run) for run in set(_RUN.findall("\n".join(strings)))}
        if not any(within.values()):
            return []
        return [
            number
            for number, text in zip(likely.to_pylist(), strings)
            if any(word in text for run in _RUN.findall(text) for word in within[run])
        ]

    def _within(self, run: str) -> list[str]:
        """The words that may cut this run of letters or digits."""
        size = len(run)
        found: list[str] = []
        for start in range(size):
            for end in range(start + 1, min(size, start + self._longest) + 1):
                if end - start < size:
                    found += self._whole.get(run[start:end], ())
            if start:
                found += self._first.get(run[start:], ())
                found += self._last.get(run[:start], ())
        return found


def _inside(text: str, place: int) -> bool:
    """Whether a run of letters or of digits goes on across this place."""
    around = text[max(place - 1, 0) : place + 1]
    return len(around) == 2 and place > 0 and bool(_RUN.fullmatch(around))
