"""What is printed of a run."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import report
from schemas.configuration import Evaluation

SIGNATURES = {"bleu": "metric:bleu|n:2|w:equal", "cider_d": "metric:cider_d|n:4"}


def row(system: str, metric: str = "bleu", **changed: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "system": system,
        "slice": "overall",
        "slice_value": "",
        "metric": metric,
    }
    made |= {"value": 0.12345, "ci_low": 0.1, "ci_high": 0.2, "segments": 1234, "missing": 0}
    return {**made, "signature": SIGNATURES[metric], "note": "", **changed}


def result(rows: list[dict[str, Any]], **counts: int) -> report.Result:
    named = {name.replace("_", ".", 2): n for name, n in counts.items()}
    return report.Result(rows, {"counts": named, "signatures": SIGNATURES})


def config(**changed: Any) -> Evaluation:
    return Evaluation(("h",), ("r",), "out", **changed)


def test_a_line_shows_scores_intervals_and_counts() -> None:
    rows = [row("s"), row("s", "cider_d", value=1.5, ci_low=None, ci_high=None)]
    rows += [row("系统"), row("系统", "cider_d", value=None, missing=2)]
    rows[3]["missing"] = rows[2]["missing"] = 12
    lines = report.table(result(rows, system_refused_s=3)).splitlines()
    assert lines[0] == (
        "s     BLEU-2 0.1235 [0.1000, 0.2000]  CIDEr-D 1.5000     "
        "segments 1,234  missing 0   refused 3"
    )
    # A wide character takes two columns.
    assert lines[1] == (
        "系统  BLEU-2 0.1235 [0.1000, 0.2000]  CIDEr-D undefined  "
        "segments 1,234  missing 12  refused 0"
    )


def test_notes_are_shown_once_with_their_number_and_signatures_once() -> None:
    rows = [row("s", note="few"), row("t", note="few"), row("u", "cider_d", note="none")]
    text = report.table(result(rows))
    assert text.count("note (2 rows) bleu: few") == 1
    assert text.count("note (1 rows) cider_d: none") == 1
    assert text.count("signature metric:bleu|n:2|w:equal\n") == 1


def test_slices_come_in_tables_of_their_own() -> None:
    rows = [row("s"), row("s", slice="domain", slice_value="天气")]
    lines = report.table(result(rows)).splitlines()
    assert lines[1] == ""
    assert lines[2].startswith("s  domain=天气  BLEU-2 0.1235")
    assert "refused" not in lines[2]


ESCAPES = "\x1b[2J\x1b]0;owned\x07"


def test_control_characters_in_names_are_shown_and_not_obeyed() -> None:
    rows = [row(f"s{ESCAPES}"), row("s", slice="x", slice_value=f"a\n{ESCAPES}")]
    rows.append(row("t", note=f"n{ESCAPES}"))
    made = result(rows)
    made.manifest["signatures"] = {"bleu": f"text:{ESCAPES}"}
    text = report.table(made)
    assert {c for c in text if not c.isprintable()} == {"\n"}
    assert r"s\x1b[2J\x1b]0;owned\x07" in text
    assert r"x=a\n\x1b[2J" in text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("量尺 0.5%", "量尺 0.5%"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("\u202e\u200b", r"\u202e\u200b"),
        ("\x9b", r"\x9b"),
        ("a\r\nb\t", r"a\r\nb\t"),
        ("\U000e0001", r"\U000e0001"),
    ],
)
def test_printable(given: str, shown: str) -> None:
    assert report.printable(given) == shown


def test_a_run_has_problems_if_it_is_below_the_limits() -> None:
    fine = result([row("s")], hypotheses_read=100, hypotheses_refused=1)
    assert report.problems(fine, config()) == []
    (said,) = report.problems(fine, config(max_rejected=0.009))
    assert said.startswith("1 of 100 rows of hypotheses were refused")
    (said,) = report.problems(result([row("s", value=None)]), config())
    assert "no score is defined" in said
    (said,) = report.problems(result([row("s", segments=0, value=None)]), config())
    assert "nothing was scored" in said
    # One score that is defined is enough.
    assert report.problems(result([row("s", value=None), row("t")]), config()) == []


def test_missing_outputs_are_a_problem_only_if_they_were_said_to_be() -> None:
    rows = [row(f"s{ESCAPES}", missing=3), row(f"s{ESCAPES}", "cider_d", missing=3), row("t")]
    assert report.problems(result(rows), config()) == []
    assert report.problems(result(rows), config(missing="skip")) == []
    (said,) = report.problems(result(rows), config(missing="error"))
    assert said == r"s\x1b[2J\x1b]0;owned\x07: no output for 3 examples (--missing error)"
