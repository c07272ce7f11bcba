"""A local run that the machine may not hold is told before it starts."""

from __future__ import annotations

from pathlib import Path

import harness
import pytest

from runners import direct


def test_too_little_memory_is_said_before_the_run_and_does_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "_memory_free", lambda: 100_000_000)
    ran = harness.run(harness.CHAT_INPUTS, tmp_path / "out", "--bootstrap", 0)
    ran.fine()
    assert "needs about 0.4 GB of memory" in ran.stderr
    assert "--runner flink" in ran.stderr


def test_enough_memory_is_not_worth_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "_memory_free", lambda: 10**12)
    ran = harness.run(harness.CHAT_INPUTS, tmp_path / "out", "--bootstrap", 0)
    ran.fine()
    assert "memory" not in ran.stderr
