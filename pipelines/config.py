"""``liangchi config``: print the settings in force as a configuration file."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines import options, settings

_HEAD = """# Settings of liangchi evaluate, for --config FILE. Flags win over the file.
# Lines that begin with # are not set.

"""


def config(arguments: Sequence[str]) -> str:
    """What is printed. Raises UsageError, ConfigurationError."""
    found = options.values(arguments, "config")
    # What is not there yet cannot be wrong; all the rest is checked.
    absent = {"hypotheses": ("-",), "references": ("-",), "output": "-"}
    options.call({key: value or absent.get(key, value) for key, value in found.items()})
    return _HEAD + settings.toml(found)
