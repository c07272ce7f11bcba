"""Checkpoints in the order of their steps."""

from __future__ import annotations

import itertools
from typing import Any

from scoring.series import Checkpoint, best, checkpoint, ordered, series, successive, to_best


def score(name: str, value: float | None, **more: str) -> dict[str, Any]:
    of_slice = {"slice": "overall", "slice_value": "", "metric": "m"}
    return {**of_slice, "system": name, "value": value, "ci_low": None, "ci_high": None, **more}


def difference(one: str, other: str, value: float | None) -> dict[str, Any]:
    row = score(one, None)
    del row["value"]
    return {**row, "baseline": other, "difference": value, "p_value": 0.5}


def test_a_name_may_hold_the_mark_a_step_may_not() -> None:
    assert Checkpoint("a@b", "10").name == "a@b@10"
    assert checkpoint("a@b@10") == Checkpoint("a@b", "10")


def test_steps_go_by_their_numbers_and_words_behind_them() -> None:
    names = ["m@1000", "m@900", "m@final", "m@best", "m@1e3", "n@2", "m@nan"]
    assert ordered(names) == {
        "m": ["m@900", "m@1000", "m@1e3", "m@best", "m@final", "m@nan"],
        "n": ["n@2"],
    }
    assert successive(["m@3", "m@1", "m@2", "n@1"]) == [("m@2", "m@1"), ("m@3", "m@2")]


def test_the_best_is_the_first_of_equals_and_never_undefined() -> None:
    scores = [score("m@2", 0.5), score("m@1", 0.5), score("m@3", None), score("n@1", None)]
    assert best(scores) == {("m", "overall", "", "m"): "m@1"}
    assert to_best(scores) == [("m", "m@2", "m@1"), ("m", "m@3", "m@1")]


def made(values: list[float | None], falls: int) -> list[dict[str, Any]]:
    names = [f"m@{i}" for i in range(len(values))]
    previous = [
        difference(names[i], names[i - 1], None if None in pair else pair[1] - pair[0])  # type: ignore[operator]
        for i, pair in enumerate(itertools.pairwise(values), 1)
    ]
    scores = [score(n, v) for n, v in zip(names, values)]
    beside = [difference(one, top, -1.0) for _, one, top in to_best(scores)]
    return series(scores[::-1], previous, beside, {}, falls)


def test_falls_are_counted_in_a_row_and_the_first_stop_is_marked() -> None:
    rows = made([1, 2, 1, 2, 1, 0.5, 0.2, 3, 2, 1], 2)
    assert [row["step"] for row in rows] == [str(i) for i in range(10)]
    assert [row["falls"] for row in rows] == [0, 0, 1, 0, 1, 2, 3, 0, 1, 2]
    assert [row["step"] for row in rows if row["stop"]] == ["5"]
    assert [row["step"] for row in rows if row["is_best"]] == ["7"]
    assert rows[0]["previous_difference"] is None
    assert rows[7]["best_difference"] is None
    assert rows[6]["best_difference"] == -1.0
    assert not any(row["stop"] for row in made([1, 2, 1, 2, 1], 2))


def test_an_undefined_step_is_no_fall() -> None:
    rows = made([2, None, 1, 0.5], 1)
    assert [row["falls"] for row in rows] == [0, 0, 0, 1]
