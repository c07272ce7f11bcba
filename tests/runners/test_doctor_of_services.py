"""``liangchi doctor`` on a job service: with a worker pool, and with none where it should be."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import harness
import pytest
import services

from pipelines import command, doctor, evaluation
from schemas.errors import UnavailableError
from transforms import folder


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
            assert "the same versions, code, dictionary and tokenizer as here" in said
            assert "can write to the output" in said
            # A pool takes no jobs, though it speaks the same protocol.
            code, said = examined(pool, pool, tmp_path / "out")
            assert code == 2, said
            assert f"WRONG  job endpoint  {pool}: what answers there takes no jobs" in said
            with pytest.raises(UnavailableError, match="takes no jobs"):
                evaluation.open_pipeline([f"--job_endpoint={pool}"], pytest.fail)
        # The pool is gone.
        code, said = examined(job, pool, tmp_path / "out")
        assert code == 2, said
        assert re.search(rf"WRONG  workers +nobody answers at \S+:{pool.split(':')[1]},", said)
        # A run says the same.
        ran = harness.run(
            harness.CHAT_INPUTS,
            tmp_path / "out",
            *("--runner=portable", f"--job_endpoint={job}"),
            *("--environment_type=EXTERNAL", f"--environment_config={pool}"),
        )
        assert (ran.code, ran.stdout) == (4, "")
        assert "nobody answers at" in ran.stderr
        assert not (tmp_path / "out" / folder.MANIFEST).exists()
