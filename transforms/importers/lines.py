"""Files of lines: opened, unpacked and cut, with bounded memory whatever is in them.

A line ends at \\n or \\r\\n and nowhere else (str.splitlines would also cut at U+2028, U+0085 and
more, and shift every line after it). A last line without an end counts.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from transforms import files
from transforms.importers.base import BadFile, first_line

CHUNK_BYTES = 1 << 22

MOST_UNPACKED_BYTES = 1 << 30
MOST_UNPACKED_RATIO = 100
"""A .gz may unpack to the larger of 1 GiB and 100 times its size; text packs 3 to 20 times."""

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Counted:
    """What a file of lines holds. bytes: unpacked."""

    lines: int
    bytes: int


def is_packed(path: str) -> bool:
    """Whether the file is gzip, whatever its name says. Raises OSError."""
    with files.open_bytes(path) as raw:
        return bool(raw.read(2) == _GZIP)


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """The file's bytes, unpacked if they are gzip, whatever its name says. Raises BadFile."""
    try:
        with files.open_bytes(path) as raw:
            if is_packed(path):
                yield gzip.GzipFile(fileobj=raw)
            else:
                yield raw
    except (OSError, EOFError, zlib.error) as error:
        raise BadFile(
            path,
            f"cannot be read: {first_line(error)}.",
            "Expected a complete file; write it again or leave it out.",
        ) from error


def chunks(path: str, size: int) -> Iterator[bytes]:
    """The unpacked bytes in pieces. size: of the file as it is; bounds what a .gz may unpack to.

    Raises BadFile if the file cannot be read or unpacks to more.
    """
    most = max(MOST_UNPACKED_BYTES, MOST_UNPACKED_RATIO * size)
    total = 0
    with opened(path) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            total += len(chunk)
            if total > most and total > size:
                raise BadFile(
                    path,
                    f"a file of {size:,} bytes that unpacks to more than {most:,}.",
                    "Expected text, which packs 3 to 20 times. If it is what it should be, unpack "
                    "it or write Parquet.",
                )
            if total == len(chunk):
                if chunk[:2] in _UTF_16:
                    raise BadFile(path, "the text is UTF-16.", "Expected UTF-8.")
                chunk = chunk.removeprefix(_BOM)
            yield chunk


def count(path: str) -> Counted:
    """Read the whole file to count it. Raises BadFile if it cannot be read or is empty."""
    size = files.size(path)
    total = lines = 0
    last = b"\n"
    for chunk in chunks(path, size):
        total += len(chunk)
        lines += chunk.count(b"\n")
        last = chunk[-1:] or last
    if not total:
        raise BadFile(path, "the file is empty.", "Expected a line for every row.")
    return Counted(lines + (last != b"\n"), total)


def batches(path: str, longest: int) -> Generator[list[bytes | None], None, None]:
    """The lines, a few MB at a time. None: a line of more than ``longest`` bytes, not kept."""
    pieces: list[bytes] = []
    held = 0
    skipping = False
    for chunk in chunks(path, files.size(path)):
        head, end, tail = chunk.rpartition(b"\n")
        if end:
            lines: list[bytes | None] = []
            lines += b"".join([*pieces, head, end]).replace(b"\r\n", b"\n").split(b"\n")[:-1]
            first = lines[0]
            if skipping or (first is not None and len(first) > longest):
                lines[0] = None
            yield lines
            pieces, held, skipping = [], 0, False
        if not skipping:
            pieces.append(tail)
            held += len(tail)
        if held > longest:
            pieces, held, skipping = [], 0, True
    if skipping:
        yield [None]
    elif held:
        yield [b"".join(pieces)]


def longest_line(max_characters: int) -> int:
    """The bytes that a line of JSON or text may have: enough for several texts of the longest."""
    return max(1 << 24, 16 * max_characters)
