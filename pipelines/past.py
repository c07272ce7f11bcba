"""What a finished run was told, read back from its manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from schemas.configuration import Bootstrap, Comparison, Evaluation, Track
from schemas.errors import InputError, UserError
from transforms import files


def configuration(run: str, manifest: Mapping[str, Any]) -> Evaluation:
    """The configuration of a run, its paths as they are found from anywhere."""
    try:
        given = dict(manifest["configuration"])
        bootstrap = Bootstrap(**given.pop("bootstrap"))
        given["tracks"] = [
            Track(**{k: _tuples(v) for k, v in _with_files(manifest, track).items()})
            for track in given.get("tracks", [])
        ]
        comparison = {k: _tuples(v) for k, v in given.pop("comparison").items()}
        given["comparison"] = Comparison(**comparison)
        given = _with_files(manifest, given)
        known = {field.name for field in fields(Evaluation)}
        strange = sorted(set(given) - known)
        if strange:
            raise TypeError(f"this version does not know {', '.join(strange)}")
        for key in ("hypotheses", "references"):
            given[key] = [at(manifest, pattern) for pattern in given[key]]
        if given.get("document_frequencies"):
            given["document_frequencies"] = at(manifest, given["document_frequencies"])
        # Where rows go must be as it was; nothing is written.
        given |= {"partitions": manifest["partitions"], "save_document_frequencies": None}
        return Evaluation(bootstrap=bootstrap, **{k: _tuples(v) for k, v in given.items()})
    except (KeyError, TypeError, ValueError, AttributeError, UserError) as error:
        raise InputError(
            f"{run}: the configuration in its manifest cannot be used: {error}.\n"
            f"The run was made by liangchi {manifest.get('versions', {}).get('liangchi', '?')}; "
            "use that version, or run it again."
        ) from error


def _with_files(manifest: Mapping[str, Any], recipe: dict[str, Any]) -> dict[str, Any]:
    """Settings of a recipe with the files that they name as they are found from anywhere."""
    made = dict(recipe)
    if made.get("user_dictionaries"):
        made["user_dictionaries"] = [at(manifest, path) for path in made["user_dictionaries"]]
    for key in ("steps", "after"):
        if made.get(key):
            made[key] = [
                _FILE_OF_SPEC.sub(lambda found: at(manifest, found[0]), spec) for spec in made[key]
            ]
    return made


_FILE_OF_SPEC = re.compile(r"(?<=[:,]file=).+?(?=,[a-z_]+=|$)", re.DOTALL)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def at(manifest: Mapping[str, Any], path: str) -> str:
    """A path as the run was given it, which may be relative to where the run was started."""
    if not files.is_local(path):
        return path
    return str(Path(manifest.get("working_directory", "."), Path(path).expanduser()))
