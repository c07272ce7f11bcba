"""Credentials: never options, and where they are all the same, in no manifest, log or report."""

from __future__ import annotations

import logging
from pathlib import Path

import harness
import pytest

from pipelines import secrets
from schemas.errors import UserError

SECRET = "hunter2-hunter2"
GIVEN = (f"--s3_secret_access_key={SECRET}", "--s3_session_token", f"{SECRET}-too")
FLAGS = ("--tokenizer", "none", "--bootstrap", 0, "--metrics", "bleu")


@pytest.mark.parametrize("name", secrets.OF_STORES)
def test_credentials_are_no_options(tmp_path: Path, name: str) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(f'beam = ["{name}={SECRET}"]\n', encoding="utf-8")
    for given in ((name, SECRET), (f"{name}={SECRET}",), ("--config", settings)):
        message = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *given).refused()
        assert message.startswith(f"liangchi: {name}: credentials are no options")
        assert SECRET not in message
        assert not (tmp_path / "out").exists()


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_behind_two_dashes_they_are_in_no_file_of_a_run(tmp_path: Path) -> None:
    ran = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *FLAGS, "--log_json", "--", *GIVEN)
    ran.fine()
    assert SECRET.encode() not in everything(tmp_path)
    assert SECRET not in ran.stdout + ran.stderr


def test_nor_in_the_log_nor_in_the_report_of_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        logging.getLogger("boto").error("Authorization: %s", SECRET)
        raise ValueError(f"signed with {SECRET} and {SECRET}-too")

    monkeypatch.setattr("pipelines.evaluation.define_pipeline", fail)
    for more in ((), ("--log_json",)):
        arguments = (*FLAGS, *more, "--overwrite", "--", *GIVEN)
        ran = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *arguments)
        assert ran.code == 1
        assert "signed with ... and ..." in ran.stderr
        assert SECRET not in ran.stdout + ran.stderr
    reports = list(tmp_path.glob("liangchi-report-*.txt"))
    assert len(reports) == 2
    assert "Authorization: ..." in reports[0].read_text(encoding="utf-8")
    assert SECRET.encode() not in everything(tmp_path)


def test_only_values_of_what_sounds_secret_are_hidden() -> None:
    arguments = ["--tokenizer", "jieba", *GIVEN, "--output", "outside", "--password=abc"]
    assert secrets.values(arguments) == [f"{SECRET}-too", SECRET]
    secrets.refuse(arguments[:2])
    with pytest.raises(UserError, match="--s3_session_token"):
        secrets.refuse(["--s3_session_token"])
