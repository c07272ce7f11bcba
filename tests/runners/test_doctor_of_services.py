"""``liangchi doctor`` on a job service: with a worker pool, and with none where it should be."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import harness
import pytest
import services

from pipelines import command, doctor


def examined(job: str, pool: str, output: Path) -> tuple[int, str]:
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout):
        code = command.main(
            [
                *("doctor", "--runner=portable", f"--job_endpoint={job}"),
                *("--environment_type=EXTERNAL", f"--environment_config={pool}"),
                *harness.CHAT_INPUTS.flags(),
                *("--output", str(output)),
            ]
        )
    return code, stdout.getvalue()


def test_the_workers_of_a_pool_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "JOB_SECONDS", harness.PATIENCE)
    with services.job_service(tmp_path) as job:
        with services.worker_pool(tmp_path) as pool:
            code, said = examined(job, pool, tmp_path / "out")
            assert code == 0, said
            assert f"{job} answers" in said
            assert "the same versions, code and dictionary as here" in said
            assert "can write to the output" in said
        # The pool is gone.
        monkeypatch.setattr(doctor, "JOB_SECONDS", 10)
        code, said = examined(job, pool, tmp_path / "out")
        assert code == 2, said
        assert "WRONG  workers" in said
    assert not (tmp_path / "out").exists()
