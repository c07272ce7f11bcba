"""Runs on the chat example that several tests compare theirs with."""

from __future__ import annotations

from functools import lru_cache

import harness
import pytest
from apache_beam.transforms import core

# To warn of a function that both yields and returns a value, Beam reads the source of each at every
# step that is made of it. Here the same graph is built hundreds of times.
_check = lru_cache(1000)(core._check_fn_use_yield_and_return)
core._check_fn_use_yield_and_return = lambda function: _check(
    getattr(function, "__func__", function)
)


@pytest.fixture(scope="session")
def chat(tmp_path_factory: pytest.TempPathFactory) -> harness.Ran:
    """The chat example with slices by domain and 300 replicates."""
    output = tmp_path_factory.mktemp("chat") / "out"
    return harness.run(harness.CHAT_INPUTS, output, *harness.BASE_FLAGS)
