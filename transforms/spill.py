"""What passes between stages, in a file: where all workers are on this machine, a runner is given
where a packet lies instead of its bytes.

Beam's local runner holds what passes between two stages in memory, some of it three times. Prism
sends a stage all of its input as one message, of which gRPC and Beam hold four copies and more.
"""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
import threading
from collections.abc import Iterator
from functools import lru_cache

PLACE = "LIANGCHI_SPILL"
"""The variable of the environment that names the file, for this process and those it starts."""

LEAST_BYTES = 1024
"""Smaller packets stay as they are: a runner puts as much around each."""

LEFT_BYTES = 1_000_000_000
"""So much of a disk is left to others."""

# What stands for a packet: 0, with which no packet starts; its start in the file; its size.
_REFERENCE = struct.Struct("<IQQ")
_ZERO = bytes(4)


@contextlib.contextmanager
def opened() -> Iterator[None]:
    """While this is open, packets of this process and of those that it starts go to a file in the
    folder for temporary files.

    The file has no name: it is gone with this process, however that ends. Other processes find it
    by ``/proc``; where a system has none, or no place for the file, all is as without.
    """
    before = os.environ.get(PLACE)
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile(prefix="liangchi-"))
            place = f"/proc/{os.getpid()}/fd/{file.fileno()}"
            _file(place)
        except OSError:
            yield
            return
        os.environ[PLACE] = place
        try:
            yield
        finally:
            del os.environ[PLACE]
            if before is not None:
                os.environ[PLACE] = before
            # Whoever still reads or writes keeps the file open for as long.
            _of_process.cache_clear()


def put(data: bytes) -> bytes:
    """What stands for the bytes of a packet: they themselves where they go to no file."""
    place = os.environ.get(PLACE)
    if place is None or len(data) < LEAST_BYTES:
        return data
    # A disk that is full, say: then they are held in memory.
    with contextlib.suppress(OSError):
        start = _file(place).append(data)
        if start is not None:
            return _REFERENCE.pack(0, start, len(data))
    return data


def get(data: bytes) -> bytes:
    """The bytes of a packet. Raises RuntimeError if their file is not to be had."""
    if not data.startswith(_ZERO):
        return data
    place = os.environ.get(PLACE)
    if place is None:
        raise RuntimeError(f"a packet lies in a file of another process ({PLACE} is not set)")
    _, start, size = _REFERENCE.unpack(data)
    return _file(place).read(start, size)


def size(data: bytes) -> int:
    """How many bytes are stood for."""
    return int(_REFERENCE.unpack(data)[2]) if data.startswith(_ZERO) else len(data)


class _File:
    """A file to which several processes append."""

    def __init__(self, place: str) -> None:
        # Opened anew, by each process for itself: the position after a write is its own.
        self._file = open(place, "rb+", buffering=0, opener=_appending)  # noqa: SIM115
        self._writing = threading.Lock()

    def append(self, data: bytes) -> int | None:
        """Where the data start; None if there is no room for them."""
        descriptor = self._file.fileno()
        disk = os.fstatvfs(descriptor)
        if disk.f_bavail * disk.f_frsize < LEFT_BYTES + len(data):
            return None
        with self._writing:
            written = os.write(descriptor, data)
            end = os.lseek(descriptor, 0, os.SEEK_CUR)
        return end - written if written == len(data) else None

    def read(self, start: int, size: int) -> bytes:
        data = os.pread(self._file.fileno(), size, start)
        if len(data) != size:
            raise RuntimeError(f"of a packet of {size} bytes its file has {len(data)}")
        return data


def _appending(place: str, flags: int) -> int:
    return os.open(place, flags | os.O_APPEND)


def _file(place: str) -> _File:
    # A forked process would share the position after a write: it opens the file for itself.
    return _of_process(place, os.getpid())


@lru_cache(1)
def _of_process(place: str, process: int) -> _File:
    return _File(place)
