"""What every test needs: the rooms and the tests' own helpers importable, steady Hypothesis."""

import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings

_TESTS = Path(__file__).resolve().parent

# Tests are no package (a package tests/scoring would hide the room of that name), so the helpers
# slow_scores.py, scoring/builders.py and pipelines/harness.py are found by path.
for _folder in (_TESTS.parent, _TESTS, _TESTS / "scoring", _TESTS / "pipelines"):
    if str(_folder) not in sys.path:
        sys.path.append(str(_folder))

# No deadline: the machine may be shared, and a first call loads dictionaries.
settings.register_profile("liangchi", deadline=None, max_examples=100)
settings.load_profile("liangchi")

# Under a mutant (mutants.py) a failure is all that is asked for: to shrink it to the smallest
# example takes minutes. Always the same examples, so that no mutant is killed by luck.
settings.register_profile(
    "mutants",
    settings.get_profile("liangchi"),
    phases=(Phase.explicit, Phase.generate),
    derandomize=True,
    database=None,
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests, those that take minutes come first.

    They stay together in the first process, from whose end the others take; so none of them begins
    when the rest is done. First of all those on Flink, so that one process starts one cluster.
    """
    if hasattr(config, "workerinput"):
        items.sort(
            key=lambda item: (
                "flink" not in item.nodeid,
                item.get_closest_marker("slow") is None,
            )
        )
