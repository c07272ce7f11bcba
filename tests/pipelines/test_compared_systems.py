"""Systems compared within a run: the job gives what the library gives, whatever it is cut into."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pytest

from scoring.comparisons import Comparisons, adjusted
from scoring.library import evaluate

TAILS = [(1 - 0.95) / 2, 1 - (1 - 0.95) / 2]
FLAGS = ("--slices", "domain", "--bootstrap", "200", "--trials", "600", "--metrics", "bleu")


def rows(output: harness.Output, name: str = "comparisons") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = harness.read_parquet(
        output.folder / f"{name}.parquet"
    ).to_pylist()
    return found


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> harness.Ran:
    folder = tmp_path_factory.mktemp("compared") / "out"
    return harness.run(
        harness.CHAT_INPUTS, folder, *FLAGS, "--pairs", "all", "--difference", "0.02"
    )


def test_the_job_compares_as_the_library_does(compared: harness.Ran) -> None:
    output = compared.fine()
    hypotheses = harness.read_folder(harness.CHAT / "hypotheses").to_pylist()
    references = harness.read_folder(harness.CHAT / "references").to_pylist()
    ids = sorted(row["example_id"] for row in references)
    of_id = {row["example_id"]: row for row in references}
    texts: dict[str, dict[str, list[str]]] = {}
    for row in sorted(hypotheses, key=lambda r: r["sample"] or 0):
        texts.setdefault(row["system"], {}).setdefault(row["example_id"], []).append(row["text"])
    from scoring.metrics.bleu import Bleu

    expected = evaluate(
        {system: [of_example.get(i) for i in ids] for system, of_example in texts.items()},
        [of_id[i]["references"] for i in ids],
        metrics=(Bleu(),),
        ids=ids,
        bootstrap=200,
        slices={"domain": [of_id[i]["domain"] for i in ids]},
        comparisons=Comparisons(every_pair=True, trials=600, difference=0.02),
    ).differences
    found = rows(output)
    wanted = adjusted([dataclasses.asdict(d) for d in expected], (), 0.05)
    keys = ("slice", "slice_value", "system", "baseline", "test")
    order = {tuple(row[k] for k in keys): row for row in wanted}
    assert len(order) == len(found) == len(wanted)
    for row in found:
        other = order[tuple(row[k] for k in keys)]
        assert {k: row[k] for k in other} == other
    assert all(row["draws"] == 1200 for row in found)
    assert all(row["wins"] + row["losses"] + row["ties"] == row["examples"] for row in found)
    assert all(row["signature"].startswith("metric:bleu|") for row in found)
    assert all("|tests:bootstrap+randomisation,trials=600" in row["signature"] for row in found)


@pytest.mark.parametrize(
    "more",
    [("--partitions", 5), ("--replicate_groups", 3), ("--direct_runner_bundle_repeat", 1)],
    ids=lambda more: str(more[0]),
)
def test_the_same_bytes(compared: harness.Ran, tmp_path: Path, more: tuple[object, ...]) -> None:
    flags = (*FLAGS, "--pairs", "all", "--difference", "0.02", *more)
    other = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    harness.check_same_bytes(compared.output, other)
    for name in ("comparisons.parquet", "comparisons.csv", "ranking.parquet", "ranking.csv"):
        assert (compared.output.folder / name).read_bytes() == (other.folder / name).read_bytes()


def test_replicates_and_scores_are_those_of_a_run_without(
    compared: harness.Ran, tmp_path: Path
) -> None:
    plain = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *FLAGS).fine()
    harness.check_same_bytes(compared.output, plain)
    assert not (plain.folder / "comparisons.parquet").exists()


def test_an_interval_is_that_of_the_saved_replicates(compared: harness.Ran) -> None:
    table = compared.output.replicates.to_pylist()
    values: dict[tuple[str, str, str], list[float]] = {}
    for row in table:
        key = (row["system"], row["slice"], row["slice_value"])
        values.setdefault(key, []).append(row["value"])
    checked = 0
    for row in rows(compared.output):
        key = (row["slice"], row["slice_value"])
        one = np.array(values[(row["system"], *key)], float)
        other = np.array(values[(row["baseline"], *key)], float)
        moved = (one - other)[~np.isnan(one - other)]
        assert (row["ci_low"], row["ci_high"]) == tuple(np.quantile(moved, TAILS))
        checked += 1
    assert checked == 21 * 3 * 2


def test_it_is_printed_and_can_be_shown_as_json(compared: harness.Ran) -> None:
    assert "greedy - beam" in compared.stdout
    assert "beam 0.4641 > greedy 0.2807 > sampling 0.1291" in compared.stdout
    again = harness.command_output("show", str(compared.output.folder), "--print", "json")
    content = json.loads(again)
    assert len(content["comparisons"]) == len(rows(compared.output))
    assert {row["cluster"] for row in content["ranking"]} == {1, 2, 3}
    text = harness.command_output("show", str(compared.output.folder), "--print", "markdown")
    assert "| greedy - beam |" in text


def test_a_baseline_is_compared_with_every_other(tmp_path: Path) -> None:
    flags = (*FLAGS, "--baseline", "greedy", "--tests", "randomisation")
    output = harness.run(harness.CHAT_INPUTS, tmp_path / "out", *flags).fine()
    overall = [row for row in rows(output) if row["slice"] == "overall"]
    assert [(row["system"], row["baseline"], row["test"]) for row in overall] == [
        ("beam", "greedy", "randomisation"),
        ("sampling", "greedy", "randomisation"),
    ]
    assert not (output.folder / "ranking.parquet").exists()


def test_a_baseline_that_is_not_there_is_named(tmp_path: Path) -> None:
    message = harness.run(harness.CHAT_INPUTS, tmp_path / "out", "--baseline", "gredy").refused()
    assert "--baseline gredy" in message and "did you mean 'greedy'?" in message


def test_systems_that_share_some_examples_are_compared_on_those(tmp_path: Path) -> None:
    texts = [f"今天 天气 很 好 {i}" for i in range(40)]
    references = harness.references_table((f"e{i:02}", [f"今天 天气 好 {i}"]) for i in range(40))
    given = [(f"e{i:02}", "a", 0, texts[i]) for i in range(30)]
    given += [(f"e{i:02}", "b", 0, texts[i][3:]) for i in range(10, 40)]
    inputs = harness.write_inputs(tmp_path / "in", harness.hypotheses_table(given), references)
    flags = ("--tokenizer", "none", "--missing", "skip", "--pairs", "all", "--metrics", "bleu")
    output = harness.run(inputs, tmp_path / "out", *flags, "--partitions", 3).fine()
    found = rows(output)
    assert {row["examples"] for row in found} == {20}
    assert all("20 examples that both have" in row["note"] for row in found)
    both = harness.write_inputs(
        tmp_path / "both",
        harness.hypotheses_table([row for row in given if "e10" <= row[0] < "e30"]),
        references,
    )
    alone = rows(harness.run(both, tmp_path / "alone", *flags).fine())
    compared = ("difference", "ci_low", "ci_high", "p_value", "wins", "losses", "ties")
    assert [[row[k] for k in compared] for row in found] == [
        [row[k] for k in compared] for row in alone
    ]


def test_slices_of_few_units_keep_the_p_of_swaps_alone(tmp_path: Path) -> None:
    sizes = {"one": 1, "two": 2, "five": 5, "twelve": 12}
    of = [name for name, size in sizes.items() for _ in range(size)]
    words = ["a", "b", "c", "d", "e", "f", "g", "h"]
    inputs = harness.write_inputs(
        tmp_path / "in",
        harness.hypotheses_table(
            [
                (f"e{i:02d}", system, 0, " ".join([*words[: 4 + (i + k) % 5], "x"]))
                for i in range(len(of))
                for k, system in enumerate("ab")
            ]
        ),
        harness.references_table(
            [(f"e{i:02d}", [" ".join(words)]) for i in range(len(of))], kind=of
        ),
    )
    flags = ("--tokenizer", "none", "--metrics", "bleu", "--bootstrap", 100, "--trials", 500)
    output = harness.run(
        inputs, tmp_path / "out", *flags, "--slices", "kind", "--baseline", "a"
    ).fine()
    rows = harness.read_parquet(output.folder / "comparisons.parquet").to_pylist()
    found = {(row["slice_value"], row["test"]): row for row in rows if row["slice"] == "kind"}
    assert len(found) == 8
    for (name, test), row in found.items():
        few = sizes[name] < 10
        assert row["units"] == row["examples"] == sizes[name]
        assert row["wins"] + row["losses"] + row["ties"] == sizes[name]
        assert (row["ci_low"] is None) == (row["ci_high"] is None) == few
        assert (row["p_value"] is None) == (few and test == "bootstrap")
        expected = f"too few units ({sizes[name]} < 10)" if few else "few units (12)"
        assert expected in row["note"]
    # One example: swapped or not, the difference is as large.
    assert found["one", "randomisation"]["p_value"] == 1
