"""Errors that are the caller's to mend. They are shown as they are, without a traceback."""

from __future__ import annotations


class UserError(Exception):
    """What was found, where, what was expected and what to do, in a few lines."""


class ConfigurationError(UserError):
    """A setting that cannot be used."""

    def __init__(self, key: str, value: object, expected: str) -> None:
        super().__init__(f"{key} = {value!r}: expected {expected}")
        self.key = key


class InputError(UserError):
    """Files that cannot be read as what they should be."""


class OutputError(UserError):
    """A place that cannot be written to."""


class StoreError(UserError):
    """An object store that cannot be used as it should."""


class UnavailableError(StoreError):
    """A store or a service that does not answer now, or asks for patience, after all tries."""
