"""Files by Beam's filesystems: found, opened and written the same way on a disk and in a cloud."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.errors import InputError, StoreError, UnavailableError
from transforms import stores

_MAGIC = frozenset("*?[")


def is_local(path: str) -> bool:
    """Whether the path is one of this machine's file system."""
    return "://" not in path


def absolute(path: str) -> str:
    """The path as a worker finds it, whose working directory is another."""
    return str(Path(path).expanduser().absolute()) if is_local(path) else path.rstrip("/")


def join(folder: str, *names: str) -> str:
    """The path of a file below a folder."""
    return "/".join([folder.rstrip("/"), *names])


def find(patterns: Sequence[str], what: str) -> list[str]:
    """The files that the patterns (files, folders, globs) name, each once: pattern by pattern,
    sorted within each.

    Files and folders whose name starts with . or _ are left alone inside folders and globs.
    Raises InputError for a pattern that matches nothing.
    """
    _check_buckets(patterns, what)
    found: dict[str, None] = {}
    for pattern in patterns:
        matched = _match(absolute(pattern)) if pattern else []
        if not matched:
            raise InputError(
                f"--{what} {pattern}: matches no file.\n"
                "Expected files, a folder of them, or a pattern such as 'run/*.parquet' "
                "(in quotes)."
            )
        for path in sorted(matched):
            if not _is_utf8(path):
                raise InputError(f"{path!r}: the name of the file is not UTF-8. Rename it.")
            found[path] = None
    return list(found)


def _check_buckets(patterns: Sequence[str], what: str) -> None:
    """Raise InputError for an object store or bucket that cannot be read."""
    known = set()
    for pattern in patterns:
        bucket = "/".join(pattern.split("/")[:3])
        if is_local(pattern) or bucket in known:
            continue
        known.add(bucket)
        try:
            stores.check(_fixed_part(pattern))
        except (OSError, StoreError) as error:
            message = f"--{what} {pattern}: cannot be read: {error}"
            later = isinstance(error, UnavailableError)
            raise UnavailableError(message) if later else InputError(message) from error


def _is_utf8(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _match(pattern: str) -> list[str]:
    if is_local(pattern) and os.path.isfile(pattern):
        return [pattern]
    if is_local(pattern) and os.path.isdir(pattern):
        return _walk(pattern)
    if not is_local(pattern):
        found = stores.match(pattern)
        if found == [pattern]:
            return found
        base = _fixed_part(pattern)
        if not found:
            base, found = pattern, stores.below(pattern)
        return [path for path in found if not _hidden(path[len(base) :])]
    from apache_beam.io.filesystems import FileSystems

    found = [entry.path for entry in FileSystems.match([pattern])[0].metadata_list]
    return [path for path in found if not _hidden(path[len(_fixed_part(pattern)) :])]


def _walk(folder: str) -> list[str]:
    """The files below a folder of this machine, whatever characters its name has."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _hidden(name)]
        found += [join(place, name) for name in names if not _hidden(name)]
    return found


def _fixed_part(pattern: str) -> str:
    """The folders of a pattern before its first wildcard."""
    parts = pattern.split("/")
    fixed = next((i for i, part in enumerate(parts) if _MAGIC & set(part)), len(parts) - 1)
    return "/".join(parts[:fixed])


def _hidden(path: str) -> bool:
    return any(part.startswith((".", "_")) for part in path.split("/"))


def open_parquet(path: str, dictionaries: Sequence[str] = ()) -> pq.ParquetFile:
    """The file, opened for reading row groups. Raises OSError or pa.ArrowInvalid.

    dictionaries: columns (as in ``path_in_schema``) that stay encoded as dictionaries.
    """
    encoded = list(dictionaries) or None
    if is_local(path):
        return pq.ParquetFile(path, memory_map=True, read_dictionary=encoded)
    return pq.ParquetFile(open_bytes(path), read_dictionary=encoded)


def open_bytes(path: str) -> Any:
    """The file's bytes as they are, for reading from the start. Raises OSError."""
    return open(path, "rb") if is_local(path) else stores.open_bytes(path)


def size(path: str) -> int:
    """The file's bytes, counted as they are. Raises OSError."""
    return os.path.getsize(path) if is_local(path) else stores.size(path)


def read_parquet(path: str) -> pa.Table:
    """The whole of a small file, in this thread.

    Not pyarrow.parquet.read_table: its scanner's threads can outlive the interpreter, which then
    aborts at exit ('terminate called without an active exception', pyarrow 25).
    """
    with open_parquet(path) as parquet:
        return parquet.read(use_threads=False)


def write_parquet(path: str, table: pa.Table) -> dict[str, Any]:
    """Write a table under its final name, whole or not at all; what was written, for the manifest.

    The bytes depend only on the table: one row group for every 100,000 rows, zstd.
    """
    sink = io.BytesIO()
    pq.write_table(
        table, sink, row_group_size=100_000, compression="zstd", store_schema=True, version="2.6"
    )
    return {"path": path, "rows": table.num_rows, "bytes": write_bytes(path, sink.getvalue())}


def write_bytes(path: str, data: bytes) -> int:
    """Write a file whole or not at all; its size.

    On a disk: a temporary file of our own in the same folder, then os.replace, so a reader or a
    killed run never sees half a file. In an object store a file appears only when it is closed.
    """
    if is_local(path):
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".liangchi-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_UMASK)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        return len(data)
    stores.write(path, data)
    return len(data)


def read_bytes(path: str) -> bytes:
    """The content of a file. Raises OSError."""
    if is_local(path):
        return Path(path).read_bytes()
    with stores.open_bytes(path) as file:
        data: bytes = file.read()
        return data


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_UMASK = _read_umask()


def listing(folder: str) -> list[str]:
    """The names of what a folder holds, sorted; none if there is no such folder."""
    if is_local(folder):
        return sorted(os.listdir(folder)) if os.path.exists(folder) else []
    return sorted(path[len(folder.rstrip("/")) + 1 :] for path in stores.below(folder))
