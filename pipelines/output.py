"""The folder of a run: when it may be taken, and how --overwrite empties it without touching
anything that is not ours."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import stat
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.errors import OutputError
from transforms import files, folder, stores

_NAMED = 5
"""How many foreign names a message has."""

_ENOUGH = 1000
"""Foreign names after which a folder is not searched any further."""

_CLAIM = ".liangchi-claim-"

_PATIENCE_SECONDS = 2.0
"""How long a run waits for another that takes the same folder of a store to give up."""

_WILDCARDS = re.compile(r"[*?\[]")


def check_apart(what: str, output: str, inputs: Iterable[str]) -> None:
    """Refuse an output folder that is an input, holds one, or lies where inputs are looked for.

    inputs: files, folders and patterns. Raises OutputError.
    """
    ours = _real(output)
    for given in inputs:
        theirs = _real(given)
        fixed = _fixed(theirs)
        where = None
        if ours == theirs:
            where = "is the same as"
        elif _is_below(fixed, ours):
            where = "lies above"
        elif theirs == fixed:
            where = "lies below" if _is_below(ours, theirs) else None
        elif any(_matches(theirs, f"{ours}/{name}") for name in _EXAMPLES):
            where = "would be found by"
        if where:
            raise OutputError(
                f"--{what} {output}: {where} the input {given}.\n"
                "Expected a folder apart from all inputs, so that no run reads its own output or "
                "replaces what it reads. Name another one."
            )


_EXAMPLES = (
    folder.SCORES,
    f"{folder.SEGMENTS}/{folder.part(0, 1)}",
    f"{folder.REJECTED}/{folder.part(0, 1)}",
    folder.MANIFEST,
    folder.SCORES_CSV,
)


def _real(path: str) -> str:
    """The path without links, as far as it has no wildcards."""
    path = files.absolute(path)
    if not files.is_local(path):
        return path
    fixed = _fixed(path)
    return os.path.realpath(fixed).rstrip("/") + path[len(fixed.rstrip("/")) :]


def _fixed(path: str) -> str:
    """The folders of a pattern before its first wildcard; a path without any as it is."""
    if files.is_local(path) and os.path.exists(path):
        return path
    parts = path.split("/")
    magic = next((i for i, part in enumerate(parts) if _WILDCARDS.search(part)), len(parts))
    return "/".join(parts[:magic])


def _is_below(path: str, above: str) -> bool:
    return path == above or path.startswith(above.rstrip("/") + "/")


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern finds a path: * stops at /, ** does not."""
    parts = re.split(r"(\*\*|\*|\?|\[[^\]]*\])", pattern)
    kinds = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    regex = "".join(
        kinds.get(p) or ("[^/]" if p.startswith("[") and p.endswith("]") else re.escape(p))
        for p in parts
    )
    return re.fullmatch(regex, path, re.DOTALL) is not None


def claim(output: str, overwrite: bool = False, token: str = "") -> None:
    """Take a folder for a run: it must be new or empty, or with ``overwrite`` hold nothing but
    what a run of ours left, and no other process may be writing into it. Of runs that start
    together at most one gets it. Raises OutputError, StoreError.

    token: the run's, kept in the marker, so that its last writer sees if the folder was taken from
    it. On a disk the folder is held until ``release``, or the end of this process.
    """
    path = files.absolute(output)
    state = f"a run is complete if {folder.MANIFEST} exists"
    marker = json.dumps({"product": folder.PRODUCT, "state": state, "run": token}).encode()
    try:
        held = files.listing(path)
        if held and not overwrite:
            raise _holds(output, path, held)
        if files.is_local(path):
            _claim_here(output, path, marker, bool(held))
        else:
            _claim_in_store(output, path, marker, bool(held), token or uuid.uuid4().hex)
    except OSError as error:
        raise OutputError(f"--output {output}: cannot be written: {error}") from error


def _holds(output: str, path: str, held: Sequence[str]) -> OutputError:
    more = f" and {len(held) - 1} more" if len(held) > 1 else ""
    what = replace = ""
    if folder.MARKER in held or folder.MANIFEST in held:
        replace = ", or replace the run in it by --overwrite"
        what = " (a run that is complete)"
        if folder.MANIFEST not in held:
            what = " (a run that was stopped, or is going on)"
            if files.is_local(path):
                going_on = _is_locked(files.join(path, folder.MARKER))
                what = " (a run that is going on)" if going_on else " (a run that was stopped)"
    return OutputError(
        f"--output {output}: the folder already holds {held[0]!r}{more}{what}.\n"
        "Expected a new or empty folder, so that runs never mix. "
        f"Name another one{replace}."
    )


_locks: dict[str, int] = {}
"""The open markers of the folders that this process writes into."""


def _claim_here(output: str, path: str, marker: bytes, held: bool) -> None:
    os.makedirs(path, exist_ok=True)
    name = files.join(path, folder.MARKER)
    flags = os.O_RDWR | os.O_NOFOLLOW
    if held and not os.path.lexists(name):
        clear(output)  # says what is wrong, if anything is
        held = False
    try:
        handle = os.open(name, flags if held else flags | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        raise _started_together(output) from None
    try:
        if not _lock(handle):
            raise OutputError(
                f"--output {output}: another run is writing into this folder.\n"
                "Wait until it is over, or stop it; or name another folder."
            )
        if held:
            clear(output)
        os.ftruncate(handle, 0)
        os.pwrite(handle, marker, 0)
        os.fsync(handle)
    except BaseException:
        os.close(handle)
        raise
    _locks[path] = handle


def _started_together(output: str) -> OutputError:
    return OutputError(
        f"--output {output}: another run took this folder at the same moment.\n"
        "Let that one go on, or name another folder."
    )


def _lock(handle: int) -> bool:
    """Lock a file for as long as it is open here; False if another process has locked it.

    Where files cannot be locked (some file systems of networks) nothing is.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _is_locked(name: str) -> bool:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not _lock(handle)
    finally:
        os.close(handle)


def release(output: str) -> None:
    """Let other processes write into a folder again."""
    handle = _locks.pop(files.absolute(output), None)
    if handle is not None:
        os.close(handle)


def _claim_in_store(output: str, path: str, marker: bytes, held: bool, token: str) -> None:
    """A store has no lock, but lists what was written before: who writes a claim and then finds
    no other is alone. Of two that find each other the first by name waits for the other to give
    up."""
    stores.check(path)
    if held:
        clear(output)
    claim = f"{_CLAIM}{token}"
    files.write_bytes(files.join(path, claim), b"")
    try:
        others = _others(path, claim, held)
        if others and all(claim < other for other in others):
            time.sleep(_PATIENCE_SECONDS)
            others = _others(path, claim, held)
        if others:
            raise _started_together(output)
        files.write_bytes(files.join(path, folder.MARKER), marker)
    finally:
        stores.delete([files.join(path, claim)])


def _others(path: str, claim: str, held: bool) -> list[str]:
    """What is in a folder beside a claim; if it was one of a run, what claims it."""
    names = [name for name in files.listing(path) if name != claim]
    return [name for name in names if name.startswith(_CLAIM)] if held else names


def clear(output: str) -> None:
    """Delete what a run of ours left in a folder; the marker stays, for the next run.

    Only files that its manifest names or, if there is none, whose names a run gives, and only if
    our marker is there. If anything else is there nothing is deleted. Raises OutputError, OSError.
    """
    path = files.absolute(output)
    local = files.is_local(path)
    if local and os.path.islink(path):
        raise OutputError(
            f"--output {output}: is a link to {os.path.realpath(path)}, and --overwrite follows "
            "none.\nName the folder itself."
        )
    held = _held(path) if local else _Held(files.listing(path))
    if not (_is_marked(path, held) or _is_barely_claimed(path, held)):
        first = min([*held.files, *held.folders, *held.odd])
        raise OutputError(
            f"--output {output}: --overwrite replaces only what liangchi wrote, but the folder "
            f"holds\n{first!r} and no {folder.MARKER} of ours. Nothing was deleted. "
            "Name another folder."
        )
    complete = folder.MANIFEST in held.files
    named = _named(_json(path, folder.MANIFEST), path) if complete else None
    foreign = sorted(n for n in held.files if not _is_ours(n, named)) + sorted(held.odd)
    foreign += sorted(f"{n}/" for n in held.folders if not _is_our_folder(n, named))
    if foreign:
        names = ", ".join(map(repr, foreign[:_NAMED]))
        more = f" and {len(foreign) - _NAMED:,} more" if len(foreign) > _NAMED else ""
        raise OutputError(
            f"--output {output}: --overwrite replaces only what liangchi wrote, but the folder "
            f"also holds\n{names}{more}. Nothing was deleted. Move that away, or name another "
            "folder."
        )
    # Without a manifest it is no run any more, whatever happens next.
    order = sorted(held.files, key=lambda name: (name != folder.MANIFEST, name))
    if local:
        _delete(path, [n for n in order if n != folder.MARKER], sorted(held.folders, reverse=True))
    else:
        # A store deletes many at once, in any order.
        stores.delete([files.join(path, n) for n in order if n == folder.MANIFEST])
        others = [n for n in order if n not in (folder.MANIFEST, folder.MARKER)]
        stores.delete([files.join(path, n) for n in others])


def _is_marked(path: str, held: _Held) -> bool:
    found = folder.MARKER in held.files
    return found and _json(path, folder.MARKER).get("product") == folder.PRODUCT


def _is_barely_claimed(path: str, held: _Held) -> bool:
    """Whether there is nothing but what a run leaves that ended, or found the disk full, while it
    took the folder: an empty marker, or claims."""
    claims = {name for name in held.files if name.startswith(_CLAIM)}
    others = [*held.folders, *held.odd, *({*held.files} - claims - {folder.MARKER})]
    return not others and all(not files.read_bytes(files.join(path, n)) for n in held.files)


def _is_ours(name: str, named: set[str] | None) -> bool:
    if name == folder.MARKER or name.rpartition("/")[2].startswith(".liangchi-"):
        return folder.is_own(name)
    return folder.is_own(name) if named is None else name in named


def _is_our_folder(name: str, named: set[str] | None) -> bool:
    return name in folder.FOLDERS or any(n.startswith(f"{name}/") for n in named or ())


def _named(manifest: dict[str, Any], path: str) -> set[str]:
    """The files within the folder that its manifest names, itself among them.

    The folder may have been moved since: then a file is named by the end of its path.
    """
    entries = manifest.get("files")
    if "run_id" not in manifest or not isinstance(entries, list):
        return set()
    found = {folder.MANIFEST}
    inside = path.rstrip("/") + "/"
    for entry in entries:
        named = entry.get("path") if isinstance(entry, dict) else None
        if not isinstance(named, str):
            continue
        if named.startswith(inside):
            found.add(named[len(inside) :])
        found |= {tail for tail in _tails(named) if folder.is_own(tail)}
    return found


def _tails(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[-n:]) for n in (1, 2)]


@dataclass
class _Held:
    """What a folder holds, by names relative to it. odd: links and what is no file."""

    files: list[str]
    folders: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)


def _held(path: str) -> _Held:
    held = _Held([])
    waiting = [""]
    while waiting and len(held.odd) < _ENOUGH:
        below = waiting.pop()
        with os.scandir(os.path.join(path, below)) as entries:
            for entry in entries:
                name = os.path.join(below, entry.name)
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISREG(mode):
                    held.files.append(name)
                elif stat.S_ISDIR(mode):
                    held.folders.append(name)
                    waiting.append(name)
                else:
                    held.odd.append(name)
    return held


def _json(path: str, name: str) -> dict[str, Any]:
    """The content of a JSON file, empty if it is none."""
    try:
        content = json.loads(files.read_bytes(files.join(path, name)))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _delete(path: str, names: Sequence[str], folders: Sequence[str]) -> None:
    """Delete files and then empty folders. Every folder is opened without following links, and
    files are deleted in what was opened: nobody can lead the way elsewhere meanwhile."""
    of_folder: dict[str, list[str]] = {}
    for name in names:
        below, _, last = name.rpartition("/")
        of_folder.setdefault(below, []).append(last)
    for below, lasts in of_folder.items():
        with _opened(path, below) as handle:
            for last in lasts:
                os.unlink(last, dir_fd=handle)
    for name in folders:
        below, _, last = name.rpartition("/")
        with _opened(path, below) as handle:
            os.rmdir(last, dir_fd=handle)


@contextlib.contextmanager
def _opened(path: str, below: str) -> Iterator[int]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    handle = os.open(path, flags)
    try:
        for part in filter(None, below.split("/")):
            inner = os.open(part, flags, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)
