"""Files of words, read whole when a recipe is made: their words travel with it to the workers."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scoring import hashing

MOST_BYTES = 16 * 2**20
"""Every worker gets the words with its task; a larger file is not a list of words."""

HERE = Path(__file__).parent


@dataclass(frozen=True)
class WordFile:
    """name: for messages; fingerprint: 16 hexadecimal digits, the hash of its bytes."""

    name: str
    text: str
    fingerprint: str

    def lines(self) -> list[tuple[int, str]]:
        """(number from 1, line without the blanks around it), but for empty lines and comments.

        A comment begins with # and a blank.
        """
        numbered = ((i, line.strip()) for i, line in enumerate(self.text.split("\n"), 1))
        return [(i, line) for i, line in numbered if line and line != "#" and line[:2] != "# "]


def read(path: str | Path) -> WordFile:
    """Read a file in UTF-8. Raises ValueError with what is wrong."""
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise ValueError(
                f"{path}: {size:,} bytes; a file of words may have {MOST_BYTES:,} at most, since "
                "every worker gets all of it"
            )
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}: line {line} is not UTF-8. If the file is GBK: "
            f"iconv -f gb18030 -t utf-8 {path.name} > utf8.txt"
        ) from error
    offsets = np.array([0, len(data)], np.int64)
    fingerprint = int(hashing.hash_bytes(np.frombuffer(data, np.uint8), offsets)[0])
    return WordFile(str(path), text, f"{fingerprint:016x}")


def check_word(word: object, where: str) -> str:
    """The word, if it can be a token. Raises ValueError, naming where it stands."""
    if not isinstance(word, str) or word.split() != [word]:
        raise ValueError(f"{where}: {word!r} cannot be a token: expected one word without blanks")
    return word
