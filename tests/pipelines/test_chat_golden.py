"""The chat example: stored results of the product itself, and those of its peers.

golden/chat.json is made by golden/make_golden.py, which names tools and versions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pytest

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "chat.json").read_text(encoding="utf-8")
)
SYSTEMS = ("beam", "greedy", "sampling")


@pytest.fixture(scope="module")
def by_tokenizer(
    chat: harness.Ran, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, harness.Output]:
    """The example cut by each tokenizer that a peer has."""
    folder = tmp_path_factory.mktemp("tokenizers")
    outputs = {"jieba": chat.fine()}
    for name in ("zh", "char"):
        flags = ("--tokenizer", name, "--metrics", "bleu", "--bootstrap", 0)
        outputs[name] = harness.run(harness.CHAT_INPUTS, folder / name, *flags).fine()
    return outputs


def check_scores(output: harness.Output) -> None:
    """Values are the stored ones to the bit, ends of intervals to 1e-12."""
    assert len(output.scores) == len(GOLDEN["scores"]) == 126
    for row, stored in zip(output.scores, GOLDEN["scores"]):
        *key, value, low, high = stored
        assert [row[k] for k in ("system", "slice", "slice_value", "metric")] == key
        assert repr(row["value"]) == value, key
        ends = [row["ci_low"], row["ci_high"]]
        assert ends == pytest.approx([float(low), float(high)], rel=1e-12, abs=0), key


def test_the_file_names_tools_versions_and_command() -> None:
    assert GOLDEN["made_by"] == "python tests/pipelines/golden/make_golden.py"
    assert GOLDEN["tools"] == {"sacrebleu": "2.6.0", "pycocoevalcap": "1.2", "jieba": "0.42.1"}
    signatures = {row["signature"] for row in GOLDEN["bleu"].values()}
    assert len(signatures) == 3
    assert all("nrefs:3" in s and "version:2.6.0" in s for s in signatures)


def test_integers_of_the_segments_are_the_stored_ones(chat: harness.Ran) -> None:
    assert harness.integer_digests(chat.fine().segments) == GOLDEN["integers"]


def test_scores_and_intervals_are_the_stored_ones(chat: harness.Ran) -> None:
    check_scores(chat.fine())


def test_another_width_of_the_processors_instructions_gives_the_same(tmp_path: Path) -> None:
    there = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    environment = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(there),
        "OPENBLAS_CORETYPE": "Nehalem",
    }
    output = harness.run_process(
        harness.CHAT_INPUTS, tmp_path / "out", *harness.BASE_FLAGS, environment=environment
    ).fine()
    assert harness.integer_digests(output.segments) == GOLDEN["integers"]
    check_scores(output)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("tokenizer", ["jieba", "zh", "char"])
def test_bleu_equals_sacrebleus(
    by_tokenizer: Mapping[str, harness.Output], tokenizer: str, system: str
) -> None:
    expected = GOLDEN["bleu"][f"{tokenizer}/{system}"]
    output = by_tokenizer[tokenizer]
    value = output.score(system, "bleu")["value"]
    assert 100 * value == pytest.approx(expected["score"], rel=1e-9, abs=0)
    segments = output.segments
    chosen = segments.filter(np.array(segments.column("system").to_pylist()) == system)

    def total(name: str) -> int:
        return sum(chosen.column(name).to_pylist())

    assert total("bleu_hypothesis_length") == expected["hypothesis_length"]
    assert total("bleu_reference_length") == expected["reference_length"]
    assert [total(f"bleu_matches_{n}") for n in range(1, 5)] == expected["matches"]
    assert [total(f"bleu_ngrams_{n}") for n in range(1, 5)] == expected["ngrams"]


@pytest.mark.parametrize("system", ["beam", "greedy"])
def test_cider_d_equals_pycocoevalcaps(chat: harness.Ran, system: str) -> None:
    value = chat.fine().score(system, "cider_d")["value"]
    assert value == pytest.approx(GOLDEN["cider_d"][f"jieba/{system}"], rel=0, abs=1e-6)


def test_the_table_of_the_three_systems_counts_what_is_in_the_example(chat: harness.Ran) -> None:
    for system, segments in (("beam", 240), ("greedy", 240), ("sampling", 720)):
        for metric in ("bleu", "cider_d"):
            row = chat.fine().score(system, metric)
            found = (row["examples"], row["segments"], row["units"], row["missing"], row["note"])
            assert found == (240, segments, 240, 0, "")
