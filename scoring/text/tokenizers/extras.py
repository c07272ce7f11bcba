"""What the tokenizers share that need a package, or a model, beside what is always installed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pyarrow as pa

from scoring.text.tokens import Tokens

_HEXADECIMALS = 16


def versions(extra: str, *packages: str) -> str:
    """``package=version,...`` of an extra of setup.py. Raises ValueError, with the command that
    installs it, if one is not there."""
    try:
        return ",".join(f"{package}={version(package)}" for package in packages)
    except PackageNotFoundError as error:
        raise ValueError(
            f"the tokenizer {extra} needs the package {error.name}, which is not installed: "
            f"pip install 'liangchi[{extra}]', here and on every worker"
        ) from error


def local(model: str) -> str:
    """The path. Raises ValueError if nothing is there: a package would try to download it."""
    if not Path(model).exists():
        raise ValueError(f"no model at {model!r}: expected a file or folder on this disk")
    return model


def model_hash(path: str) -> str:
    """A hash of a model: of its file, or of the names and bytes of all files of its folder.

    Raises ValueError if there is nothing.
    """
    root = Path(local(path))
    files = sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else [root]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(root).as_posix()}\n{file.stat().st_size}\n".encode())
        with file.open("rb") as opened:
            while block := opened.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:_HEXADECIMALS]


def cut_one_by_one(texts: pa.Array, segment: Callable[[str], Iterable[str]]) -> Tokens:
    """The tokens that ``segment`` gives for every text that is not blank.

    One text a call: what a neural model makes of a text can depend on the others of its batch.
    """
    lists = [list(segment(text)) if text.strip() else [] for text in texts.to_pylist()]
    flat = [token for tokens in lists for token in tokens]
    return Tokens.from_flat(flat, np.array([len(tokens) for tokens in lists], np.int64))
