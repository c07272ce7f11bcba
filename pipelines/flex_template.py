"""Dataflow's flex template: its parameters are our settings. Started in the launcher's image it
runs the command; ``python -m pipelines.flex_template --metadata`` prints
runners/dataflow/metadata.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from pipelines import settings

NOT_IN_TEMPLATE = frozenset({"beam", "plan", "print", "scale", "quiet", "log_json"})
"""Parameters of Beam stand by themselves; the others are for a terminal."""

IMAGE = "sdk_container_image"

_REGEXES = {
    bool: "^(true|false)$",
    int: "^-?[0-9]+$",
    float: "^-?[0-9.]+(e-?[0-9]+)?$",
}


def arguments(given: Sequence[str]) -> list[str]:
    """The flags of the command for ``--name=value`` as the launcher gives them.

    Several values of a setting are separated by commas.
    """
    flags: list[str] = []
    for argument in given:
        name, _, value = argument.removeprefix("--").partition("=")
        setting = settings.BY_KEY.get(name)
        if setting is not None and setting.kind is bool:
            flags.append(f"--{name}" if value == "true" else f"--no-{name}")
        elif setting is not None and setting.several:
            flags += [f"--{name}", *value.split(",")]
        else:
            flags.append(argument)
    return flags


def metadata() -> dict[str, Any]:
    """What the template's users see."""
    parameters = [
        _parameter(s) for s in settings.SETTINGS if s.flag and s.key not in NOT_IN_TEMPLATE
    ]
    image = {
        "name": IMAGE,
        "label": "Image of the workers",
        "helpText": "the image of runners/image, in a registry that the workers reach",
        "isOptional": False,
        "paramType": "TEXT",
    }
    return {
        "name": "liangchi evaluate",
        "description": "Scores generated text: corpus BLEU, CIDEr-D and others, with intervals",
        "parameters": [*parameters, image],
    }


def _parameter(setting: settings.Setting) -> dict[str, Any]:
    more = " (several: separated by commas)" if setting.several else ""
    found: dict[str, Any] = {
        "name": setting.key,
        "label": setting.key.replace("_", " ").capitalize() + more,
        "helpText": setting.said,
        "isOptional": not setting.needed,
        "paramType": "TEXT",
    }
    if setting.choices and not setting.several:
        found["regexes"] = [f"^({'|'.join(setting.choices)})$"]
    elif setting.kind in _REGEXES and not setting.several:
        found["regexes"] = [_REGEXES[setting.kind]]
    return found


def main() -> None:
    """Print the metadata, or run the command on Dataflow with the template's parameters."""
    if sys.argv[1:] == ["--metadata"]:
        sys.stdout.write(json.dumps(metadata(), indent=1, ensure_ascii=False) + "\n")
        return
    from pipelines import command

    sys.argv = ["liangchi", "evaluate", *arguments(sys.argv[1:]), "--runner=dataflow"]
    sys.exit(command.main())


if __name__ == "__main__":
    main()
