"""The job equals the plain library, number by number, on corpora drawn by Hypothesis."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import harness
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import scoring

SYSTEMS = ("a", "b", "ghost")

Samples = tuple["str | None", ...]


@dataclass(frozen=True)
class Example:
    """references: None for a null list. replies: samples of a and of b. dialogue: its unit."""

    references: tuple[str | None, ...] | None
    replies: tuple[Samples, Samples]
    topic: str | None
    dialogue: str

    @property
    def usable(self) -> bool:
        return any(text is not None for text in self.references or ())


@dataclass(frozen=True)
class Setting:
    """How the corpus is evaluated."""

    missing: str
    named: bool  # systems are named, "ghost" among them
    by_dialogue: bool
    seed: int


def texts() -> st.SearchStrategy[str]:
    """Over few words, so that n-grams repeat; some empty, some of blanks only."""
    words = st.lists(st.sampled_from(["好", "a", "b", "的"]), max_size=8)
    cut = st.builds(lambda parts, blank: blank.join(parts), words, st.sampled_from(" \u3000"))
    return cut | st.sampled_from(["", " ", "\u3000\n", "a a a a a a"])


def examples() -> st.SearchStrategy[Example]:
    some = st.lists(texts() | st.none(), min_size=1, max_size=6)
    none: st.SearchStrategy[list[str | None] | None] = st.sampled_from([None, []])
    full: st.SearchStrategy[list[str]] = st.lists(texts(), min_size=1, max_size=6)
    references = st.one_of(full, some, none)
    samples = st.lists(texts() | st.none(), max_size=3).map(tuple)
    return st.builds(
        Example,
        references.map(lambda drawn: None if drawn is None else tuple(drawn)),
        st.tuples(samples, samples),
        st.sampled_from(["x", "y", "", None]),
        st.sampled_from(["d1", "d2", "d3"]),
    )


CORPORA = st.lists(examples(), min_size=1, max_size=14).filter(
    # At least one example to score, and at least one system: without, the job ends with 3.
    lambda corpus: any(one.usable for one in corpus) and any(any(one.replies) for one in corpus)
)
SETTINGS = st.builds(
    Setting,
    st.sampled_from(["empty", "skip"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**63 - 1),
)

TWELVE = [
    Example(
        ("好 的 a b a"[: 3 + i % 7], None, f"a b {i % 4}"),
        (("好 的 a b a"[: 1 + i % 9],), ("a b a b", f"{i % 3} b")),
        "x" if i % 3 else "y",
        f"d{i}",
    )
    for i in range(12)
]


def by_job(folder: Path, corpus: Sequence[Example], setting: Setting) -> harness.Ran:
    hypotheses = [
        (f"id{i}", system, number, text)
        for i, one in enumerate(corpus)
        for system, samples in zip(SYSTEMS, one.replies)
        for number, text in enumerate(samples)
    ]
    references = harness.references_table(
        [(f"id{i}", one.references) for i, one in enumerate(corpus)],
        topic=[one.topic for one in corpus],
        dialogue=[one.dialogue for one in corpus],
    )
    inputs = harness.write_inputs(
        folder / "in",
        harness.hypotheses_table(hypotheses),
        references,
        shards=2,
        row_group_size=5,
        shuffle=setting.seed % 1000,
    )
    flags = ["--tokenizer", "none", "--metrics", "bleu", "cider_d", "cider", "--slices", "topic"]
    flags += ["--bootstrap", "10", "--seed", str(setting.seed), "--missing", setting.missing]
    flags += ["--partitions", "3", "--max_rejected", "1"]
    flags += ["--systems", *SYSTEMS] if setting.named else []
    flags += ["--resample_by", "dialogue"] if setting.by_dialogue else []
    return harness.run(inputs, folder / "out", *flags)


def by_library(corpus: Sequence[Example], setting: Setting) -> tuple[scoring.Score, ...]:
    occur = {s for one in corpus for s, samples in zip(SYSTEMS, one.replies) if samples}
    usable = [(f"id{i}", one) for i, one in enumerate(corpus) if one.usable]
    result = scoring.evaluate(
        {
            system: [list(one.replies[number]) if number < 2 else None for _, one in usable]
            for number, system in enumerate(SYSTEMS)
            if setting.named or system in occur
        },
        [one.references or () for _, one in usable],
        metrics=[scoring.Bleu(), scoring.Cider(), scoring.Cider(clip_and_penalise=False)],
        tokenizer="none",
        bootstrap=10,
        seed=setting.seed,
        ids=[name for name, _ in usable],
        slices={"topic": [one.topic for _, one in usable]},
        units=[one.dialogue for _, one in usable] if setting.by_dialogue else None,
        missing=setting.missing,
    )
    return result.scores


# Without shrinking: hundreds of runs would take minutes.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]


@settings(max_examples=2, phases=PHASES)
@given(corpus=CORPORA, setting=SETTINGS)
@example(corpus=TWELVE, setting=Setting("empty", True, False, 1))
@example(corpus=TWELVE, setting=Setting("skip", False, True, 2))
def test_the_job_equals_the_library(corpus: list[Example], setting: Setting) -> None:
    check_equal(corpus, setting)


@pytest.mark.slow
@settings(max_examples=20, phases=PHASES)
@given(corpus=CORPORA, setting=SETTINGS)
def test_the_job_equals_the_library_on_many_corpora(
    corpus: list[Example], setting: Setting
) -> None:
    check_equal(corpus, setting)


def check_equal(corpus: list[Example], setting: Setting) -> None:
    """Scores, intervals and counts are equal to the bit, and every lost row is accounted for."""
    with tempfile.TemporaryDirectory() as folder:
        ran = by_job(Path(folder), corpus, setting)
        assert ran.code in (0, 3), ran.stderr
        rows, counts, rejected = ran.output.scores, ran.output.counts, ran.output.rejected
    expected = by_library(corpus, setting)
    names = list(scoring.Score.__dataclass_fields__)
    found = {
        tuple(row[k] for k in names[:4]): {name: repr(row[name]) for name in names} for row in rows
    }
    assert len(found) == len(rows) == len(expected)
    for score in expected:
        key = (score.system, score.slice, score.slice_value, score.metric)
        assert found[key] == {name: repr(getattr(score, name)) for name in names}

    refused = {f"id{i}" for i, one in enumerate(corpus) if not one.usable}
    of_references = [row for row in rejected if row["table"] == "references"]
    assert {row["example_id"] for row in of_references} == refused
    assert {row["reason"] for row in of_references} <= {"no_references"}
    of_hypotheses = [row for row in rejected if row["table"] == "hypotheses"]
    assert {row["reason"] for row in of_hypotheses} <= {"no_reference"}
    lost = sum(len(samples) for one in corpus if not one.usable for samples in one.replies)
    assert len(of_hypotheses) == lost == counts.get("hypotheses.refused", 0)


def test_the_examples_above_have_intervals_slices_and_absent_systems() -> None:
    # So that the comparison is one of numbers, not of nulls.
    scores = by_library(TWELVE, Setting("empty", True, False, 1))
    assert {score.slice_value for score in scores} == {"", "x", "y"}
    assert {score.missing for score in scores if score.system == "ghost"} == {12, 8, 4}
    whole = [score for score in scores if score.slice == "overall" and score.system != "ghost"]
    assert len(whole) == 6
    assert all((score.ci_low or 0) < (score.value or 0) for score in whole)
