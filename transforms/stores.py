"""Object stores (s3://, gs://, ...) by Beam's filesystems: files found, read and written.

A file appears in a store whole or not at all, when it is complete; so nothing is ever renamed
there, which would be a copy. Credentials come by the clouds' own chains. What was run against real
servers, who tries again and for how long: docs/storage.md.
"""

from __future__ import annotations

import copy
import errno
import io
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from schemas.errors import StoreError, UnavailableError

S3 = "s3"

_DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds before a file is written again that the store did not take."""

_NO_CREDENTIALS = re.compile(
    r"credential|anonymous caller|provided token|profile .* not be found", re.IGNORECASE
)
_HELP = {
    "s3": "environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE), ~/.aws, or the "
    "role of the machine",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, or the account "
    "of the machine",
}


def use(beam_arguments: Sequence[str]) -> None:
    """Reach stores by these options of Beam from now on, in this process."""
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import PipelineOptions

    FileSystems.set_options(PipelineOptions(list(beam_arguments)))


def check(path: str) -> None:
    """Ask for one name in the bucket of a path, so that what stands in the way is known at once.

    Beam's own requests go on trying for ten minutes where there are no credentials, and take a
    bucket that does not exist for an empty one. Raises FileNotFoundError, PermissionError,
    StoreError.
    """
    filesystem = _filesystem(path)
    bucket, _, name = path.partition("://")[2].partition("/")
    with _plain(path, _NO_BUCKET):
        if _scheme(path) == S3:
            _client(filesystem).client.list_objects_v2(Bucket=bucket, Prefix=name, MaxKeys=1)
        elif _scheme(path) == "gs":
            found = filesystem._gcsIO().client.list_blobs(bucket, prefix=name, max_results=1)
            next(iter(found), None)


def match(pattern: str) -> list[str]:
    """The files that a pattern names, or the one of that name. Raises as ``check`` does."""
    if not set("*?[") & set(pattern):
        try:
            size(pattern)
        except FileNotFoundError:
            return []
        return [pattern]
    filesystem = _filesystem(pattern)
    with _plain(pattern):
        return [entry.path for entry in filesystem.match([pattern])[0].metadata_list]


def below(folder: str) -> list[str]:
    """The files below a folder. Raises as ``check`` does."""
    # Not by a pattern: the folder's name may have characters that mean something in one.
    filesystem, prefix = _filesystem(folder), folder.rstrip("/") + "/"
    with _plain(folder, _NO_BUCKET):
        if _scheme(folder) == S3:
            names = [name for name, _ in _s3(filesystem).list_files(prefix)]
        else:
            names = [entry.path for entry in filesystem._list(prefix)]
        return [name for name in names if name != prefix]


def size(path: str) -> int:
    """The bytes of a file, by one request. Raises as ``check`` does."""
    filesystem = _filesystem(path)
    with _plain(path):
        if _scheme(path) == S3:
            return int(_s3(filesystem).size(path))
        return int(filesystem.size(path))


def open_bytes(path: str) -> io.BufferedIOBase:
    """The file's bytes as they are. It and what it reads raise as ``check`` does."""
    from apache_beam.io.filesystem import CompressionTypes

    filesystem = _filesystem(path)
    with _plain(path):
        if _scheme(path) == S3:
            return _File(path, _s3(filesystem).open(path, "rb"))
        plain = CompressionTypes.UNCOMPRESSED
        return _File(path, filesystem.open(path, compression_type=plain))


def write(path: str, data: bytes) -> None:
    """Write a file whole, over one of its name; again if the store does not take it.

    Raises as ``check`` does.
    """
    for delay in (*_DELAYS, None):
        try:
            _write(path, data)
            return
        except UnavailableError:
            # Google's client has tried for minutes already.
            if delay is None or _scheme(path) != S3:
                raise
            time.sleep(delay * random.uniform(0.5, 1))  # noqa: S311


def _write(path: str, data: bytes) -> None:
    from apache_beam.io.filesystem import CompressionTypes

    filesystem = _filesystem(path)
    with _plain(path):
        if _scheme(path) == S3:
            # Beam's writer takes three requests, tries none of them again, and goes on sending
            # when it is collected as garbage after a failure.
            bucket, _, name = path.partition("://")[2].partition("/")
            _client(filesystem).client.put_object(Bucket=bucket, Key=name, Body=data)
            return
        with filesystem.create(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            file.write(data)


def delete(paths: Sequence[str]) -> None:
    """Delete files. Raises as ``check`` does."""
    from apache_beam.io.filesystem import BeamIOError

    if not paths:
        return
    filesystem = _filesystem(paths[0])
    with _plain(paths[0]):
        if _scheme(paths[0]) == S3:
            done = _s3(filesystem).delete_paths(list(paths))
            failed = {path: error for path, error in done.items() if error is not None}
            if failed:
                raise BeamIOError("not deleted", failed)
        else:
            filesystem.delete(list(paths))


def _scheme(path: str) -> str:
    return path.partition("://")[0]


def _filesystem(path: str) -> Any:
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.value_provider import RuntimeValueProvider

    if FileSystems._pipeline_options is None and RuntimeValueProvider.runtime_options is None:
        use([])
    try:
        return FileSystems.get_filesystem(path)
    except ValueError as error:
        scheme = _scheme(path)
        extra = {"s3": "aws", "gs": "gcp"}.get(scheme)
        hint = (
            f"Install it: pip install 'liangchi[{extra}]'" if extra else "Expected s3:// or gs://"
        )
        raise StoreError(f"{path}: no file system for {scheme}:// is here.\n{hint}.") from error


_lock = threading.Lock()
_shared: tuple[Any, Any] | None = None


def _client(filesystem: Any) -> Any:
    """The one client of S3 of this process: to make one takes a third of a second."""
    from apache_beam.io.aws.clients.s3 import boto3_client

    global _shared
    options = filesystem._options
    with _lock:
        if _shared is None or _shared[0] is not options:
            if boto3_client.boto3 is None:
                raise StoreError("s3:// needs boto3.\nInstall it: pip install 'liangchi[aws]'.")
            _shared = options, boto3_client.Client(options)
        return _shared[1]


def _s3(filesystem: Any) -> Any:
    """Beam's S3IO on that client, with a place of its own in a stream of its own."""
    from apache_beam.io.aws import s3io

    return s3io.S3IO(client=copy.copy(_client(filesystem)))


class _File(io.BufferedIOBase):
    """A file of Beam's that raises errors of ours."""

    def __init__(self, path: str, file: Any) -> None:
        self._path, self._file = path, file

    def read(self, size: int | None = -1, /) -> bytes:
        with _plain(self._path):
            return bytes(self._file.read(-1 if size is None else size))

    def seek(self, offset: int, whence: int = 0, /) -> int:
        with _plain(self._path):
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def _plain(path: str, absent: str = "there is no such file") -> Iterator[None]:
    """Errors of Beam, boto and Google's client as ours. absent: what a 404 means."""
    try:
        yield
    except (StoreError, MemoryError):
        raise
    except Exception as error:
        raise _meaning(path, error, absent) from error


_NO_BUCKET = "there is no such bucket"


def _meaning(path: str, error: Exception, absent: str) -> Exception:
    causes = list(_causes(error))
    code = next((c for c in map(_code, causes) if c is not None), None)
    said = _said(causes[-1])
    if code == 404 or any(isinstance(c, FileNotFoundError) for c in causes):
        what = _NO_BUCKET if "NoSuchBucket" in said else absent
        return FileNotFoundError(errno.ENOENT, what, path)
    if _NO_CREDENTIALS.search(said):
        place = _HELP.get(_scheme(path), "the store's own chain")
        return StoreError(
            f"{path}: the store wants credentials: {said}.\nExpected them where the cloud's own "
            f"tools find them: {place}. On a cluster the workers need them too."
        )
    if code in (401, 403):
        return PermissionError(errno.EACCES, f"the store refuses it ({said})", path)
    if code in (408, 429) or code is None or code >= 500:
        return UnavailableError(
            f"{path}: the store does not answer as it should, after several tries: {said}.\n"
            "Try again later; if it never answers, look at its address (--s3_endpoint_url, "
            "AWS_ENDPOINT_URL) and at the network."
        )
    return StoreError(f"{path}: the store refuses it: {said}.")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it carries, the innermost last."""
    yield error
    details = getattr(error, "exception_details", None)
    inner = list(details.values()) if isinstance(details, dict) else []
    for one in inner[:1]:
        if isinstance(one, BaseException):
            yield from _causes(one)


def _code(error: BaseException) -> int | None:
    """The status of HTTP that an error of boto, Google or Beam has."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        found = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        found = getattr(error, "code", None) or getattr(response, "status_code", None)
    found = 403 if found == "AccessDenied" else found  # of one file of many that are deleted
    return int(found) if isinstance(found, int) else None


def _said(error: BaseException) -> str:
    text = str(error.args[0]) if len(error.args) == 2 else str(error)
    return (text.splitlines() or [type(error).__name__])[0].strip().rstrip(".")
