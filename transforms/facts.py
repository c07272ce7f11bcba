"""What a worker is: versions, hashes of code and dictionaries, what it sees of the files. Asked by
``liangchi doctor`` in a job of one element."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from importlib.resources import files as resources
from pathlib import Path

import apache_beam as beam
from apache_beam.metrics import Metrics

from scoring.text.recipe import TextRecipe
from transforms import files

NAMESPACE = "liangchi.doctor"

DISTRIBUTIONS = ("liangchi", "apache-beam", "numpy", "pyarrow", "jieba")

_ROOMS = ("pipelines", "transforms", "scoring", "schemas", "runners")

MEMORY, READ, WROTE = "memory", "read", "wrote"


def of_this_process() -> dict[str, str]:
    """What must be the same here and on every worker, by name."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    found["code of liangchi"] = _code()
    found["dictionary of jieba"] = _hash(resources("jieba").joinpath("dict.txt").read_bytes())
    return found


def _code() -> str:
    """A hash of all modules of the rooms, by their names."""
    home = Path(__file__).resolve().parents[1]
    paths = sorted(path for room in _ROOMS for path in (home / room).rglob("*.py"))
    return _hash(*(f"{p.relative_to(home)}\n".encode() + p.read_bytes() for p in paths))


def _hash(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part)
    return whole.hexdigest()[:16]


def memory() -> int | None:
    """Bytes that this process may take at most: of its container, or free on its machine."""
    found = []
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = _text(path).strip()
        if text.isdecimal():
            found.append(int(text))
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            found.append(int(line.split()[1]) * 1024)
    return min(found, default=None)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


def of_recipe(name: str) -> str:
    """What the signature of a track's recipe is called among facts."""
    return f"recipe of {name}"


def tell(
    _: bytes, inputs: Sequence[str], probe: str | None, recipes: Mapping[str, TextRecipe]
) -> None:
    """Tell of this worker in names of counters: of all that a job has, every runner brings these
    back. inputs: files to open; probe: a file to write; recipes: what texts will be cut by, whose
    signatures name the versions of packages and the hashes of models that this worker has."""
    told = of_this_process()
    told |= {of_recipe(name): recipe.signature() for name, recipe in recipes.items()}
    told[MEMORY] = str(memory() or "")
    for path in inputs:
        with files.open_bytes(path) as file:
            file.read(16)
    told[READ] = str(len(inputs))
    if probe is not None:
        files.write_bytes(probe, os.path.basename(probe).encode())
        told[WROTE] = probe
    for name, value in told.items():
        Metrics.counter(NAMESPACE, f"{name}={value}").inc()


def told(result: beam.runners.runner.PipelineResult) -> dict[str, set[str]]:
    """What the workers of a finished job told, by name; several values if they differ."""
    query = beam.metrics.MetricsFilter().with_namespace(NAMESPACE)
    found: dict[str, set[str]] = {}
    for counter in result.metrics().query(query)["counters"]:
        name, _, value = counter.key.metric.name.partition("=")
        found.setdefault(name, set()).add(value)
    return found
