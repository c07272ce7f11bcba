"""Runs on the chat example that several tests compare theirs with."""

from __future__ import annotations

import harness
import pytest


@pytest.fixture(scope="session")
def chat(tmp_path_factory: pytest.TempPathFactory) -> harness.Ran:
    """The chat example with slices by domain and 300 replicates."""
    output = tmp_path_factory.mktemp("chat") / "out"
    return harness.run(harness.CHAT_INPUTS, output, *harness.BASE_FLAGS)
