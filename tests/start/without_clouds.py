"""Lets Beam find no libraries of the clouds, as where liangchi is installed without its extras.

Beam imports all that are installed, as it is imported itself: half of the time in which a process
starts.
"""

import sys

_LIBRARIES = ("google.cloud", "google.api_core", "google.auth", "boto3", "azure")


class _Absent:
    """A finder that ends the search for some modules."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name in _LIBRARIES:
            raise ModuleNotFoundError(f"No module named {name!r} (tests/start)", name=name)


sys.meta_path.insert(0, _Absent)
