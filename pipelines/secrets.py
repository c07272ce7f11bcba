"""Arguments whose values nobody else should see: left out of reports and of the log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_SECRET = re.compile(r"secret|token|passw|credential|key|connection_string", re.IGNORECASE)

_SHORTEST = 4
"""Characters of a value that is looked for in texts."""

OF_STORES = (
    "--s3_access_key_id",
    "--s3_secret_access_key",
    "--s3_session_token",
    "--azure_connection_string",
)
"""Beam's options that hold credentials."""


def refuse(arguments: Sequence[str]) -> None:
    """Raise UserError for credentials among Beam's options."""
    # Late: the command looks at where the rooms come from before it takes anything from them.
    from schemas.errors import UserError

    for argument in arguments:
        name = argument.partition("=")[0]
        if name in OF_STORES:
            raise UserError(
                f"{name}: credentials are no options: whoever sees the job sees its options.\n"
                "Give them to this machine and to the workers as the cloud's own tools take them: "
                "environment, profile, role\n(docs/storage.md). What must be an option all the "
                "same stands behind --, and is kept out of log and report."
            )


def without_secrets(arguments: Sequence[str]) -> list[str]:
    """The arguments with the values of those that sound secret left out."""
    return [shown for shown, _ in _taken_apart(arguments)]


def values(arguments: Sequence[str]) -> list[str]:
    """The values of those that sound secret, as far as they can be looked for in a text."""
    found = {value for _, value in _taken_apart(arguments) if len(value) >= _SHORTEST}
    return sorted(found, key=lambda value: (-len(value), value))


def _taken_apart(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(the argument as it may be shown, what it hides or '')."""
    hide = False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name.startswith("--"):
            hide = bool(_SECRET.search(name)) and "tokenizer" not in name
            yield (f"{name}=...", value) if hide and equals else (argument, "")
        else:
            yield ("...", argument) if hide else (argument, "")
