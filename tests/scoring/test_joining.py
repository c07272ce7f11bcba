"""The join of a partition against a dictionary of rows; every row is accounted for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import hashing
from scoring.joining import UNKNOWN, Joined, fingerprint, join

# By UTF-16, as Java sorts, the last two would change places.
IDS = ["", "a", "b", "ab", "\uffee", "\U00020000"]
SYSTEMS = ["greedy", "beam", "silent"]

HypothesisRow = tuple[str, str, int, "str | None"]
ReferenceRow = tuple[str, list[str], "str | None", "str | None"]

HYPOTHESES: st.SearchStrategy[list[HypothesisRow]] = st.lists(
    st.tuples(
        st.sampled_from(IDS),
        st.sampled_from(["greedy", "beam", "not asked for"]),
        st.integers(0, 2),
        st.sampled_from(["x", "", "量尺", None]),
    ),
    max_size=12,
)
REFERENCES: st.SearchStrategy[list[ReferenceRow]] = st.lists(
    st.tuples(
        st.sampled_from(IDS),
        st.lists(st.sampled_from(["r", "", "s"]), min_size=1, max_size=2),
        st.sampled_from(["food", None]),
        st.sampled_from(["d1", None]),
    ),
    max_size=6,
)


def tables(
    hypotheses: list[HypothesisRow], references: list[ReferenceRow]
) -> tuple[pa.Table, pa.Table]:
    one = list(zip(*hypotheses)) or [(), (), (), ()]
    other = list(zip(*references)) or [(), (), (), ()]
    return (
        pa.table(
            {
                "example_id": pa.array(one[0], pa.string()),
                "system": pa.array(one[1], pa.string()),
                "sample": pa.array(one[2], pa.int32()),
                "text": pa.array(one[3], pa.string()),
            }
        ),
        pa.table(
            {
                "example_id": pa.array(other[0], pa.string()),
                "references": pa.array(other[1], pa.list_(pa.string())),
                "domain": pa.array(other[2], pa.string()),
                "document": pa.array(other[3], pa.string()),
            }
        ),
    )


@dataclass
class Slow:
    """What the join must give, by plain loops."""

    ids: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    reference_counts: list[int] = field(default_factory=list)
    hypothesis_counts: list[int] = field(default_factory=list)
    # (system, sample, filled) of every hypothesis
    hypotheses: list[tuple[int, int, bool]] = field(default_factory=list)
    absent: list[list[bool]] = field(default_factory=list)
    refused: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def slow_join(
    hypotheses: list[HypothesisRow],
    references: list[ReferenceRow],
    systems: list[str],
    missing: str,
) -> Slow:
    result = Slow()
    refused: dict[tuple[str, str], list[int]] = defaultdict(list)
    by_id: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(references):
        by_id[row[0]].append(number)
    accepted: dict[str, ReferenceRow] = {}
    collapsed = 0
    for name, numbers in by_id.items():
        rows = [references[n] for n in numbers]
        if all((row[1], row[3]) == (rows[0][1], rows[0][3]) for row in rows):
            # There is one domain or none at all, so that they never contradict.
            domain = next((row[2] for row in rows if row[2] is not None), None)
            accepted[name] = (name, rows[0][1], domain, rows[0][3])
            collapsed += len(numbers) - 1
        else:
            refused["references", "contradicting_duplicates"] += numbers
    result.counts = {
        "references.accepted": len(accepted),
        "references.collapsed": collapsed,
        "hypotheses.not_selected": 0,
        "hypotheses.collapsed": 0,
        "hypotheses.null": 0,
        "hypotheses.scored": 0,
    }
    by_key: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for number, (name, system, sample, _) in enumerate(hypotheses):
        if system not in systems:
            result.counts["hypotheses.not_selected"] += 1
        elif name not in accepted:
            refused["hypotheses", "no_reference"].append(number)
        else:
            by_key[name, system, sample].append(number)
    given_texts: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    if orphans := refused.get(("hypotheses", "no_reference")):
        outside = [n for n in orphans if hypotheses[n][0] not in by_id]
        result.counts["hypotheses.outside"] = len(outside)
    for (name, system, sample), numbers in by_key.items():
        texts = [hypotheses[n][3] for n in numbers]
        if any(text != texts[0] for text in texts):
            refused["hypotheses", "contradicting_duplicates"] += numbers
            continue
        result.counts["hypotheses.collapsed"] += len(numbers) - 1
        if texts[0] is None:
            result.counts["hypotheses.null"] += 1
        else:
            result.counts["hypotheses.scored"] += 1
            given_texts[name, system][sample] = texts[0]
    for name in sorted(accepted):
        _, texts_of_references, domain, document = accepted[name]
        result.ids.append(name)
        result.domains.append(UNKNOWN if domain is None else domain)
        result.documents.append(UNKNOWN if document is None else document)
        result.texts += texts_of_references
        result.reference_counts.append(len(texts_of_references))
        absent = []
        before = len(result.hypotheses)
        for system_number, system in enumerate(systems):
            samples = given_texts.get((name, system), {})
            absent.append(not samples)
            for sample in sorted(samples):
                result.hypotheses.append((system_number, sample, False))
                result.texts.append(samples[sample])
            if not samples and missing != "skip":
                result.hypotheses.append((system_number, 0, True))
                result.texts.append("")
        result.hypothesis_counts.append(len(result.hypotheses) - before)
        result.absent.append(absent)
    result.refused = {key: sorted(rows) for key, rows in refused.items()}
    return result


def refused(joined: Joined) -> dict[tuple[str, str], list[int]]:
    return {(r.table, r.reason): sorted(r.rows.tolist()) for r in joined.refusals}


@pytest.mark.parametrize("missing", ["empty", "skip", "error"])
@given(hypotheses=HYPOTHESES, references=REFERENCES, by_document=st.booleans())
def test_the_join_equals_a_dictionary(
    missing: str,
    hypotheses: list[HypothesisRow],
    references: list[ReferenceRow],
    by_document: bool,
) -> None:
    if not by_document:
        references = [(name, texts, domain, None) for name, texts, domain, _ in references]
    slow = slow_join(hypotheses, references, SYSTEMS, missing)
    joined = join(
        *tables(hypotheses, references),
        SYSTEMS,
        missing,
        "document" if by_document else None,
        ["domain"],
    )
    examples = joined.examples
    assert examples.example_id.to_pylist() == slow.ids
    assert len(examples) == len(slow.ids)
    assert examples.slices["domain"].to_pylist() == slow.domains
    units = slow.documents if by_document else slow.ids
    assert examples.units.tolist() == hashing.hash_strings(pa.array(units, pa.string())).tolist()
    assert joined.texts.to_pylist() == slow.texts
    assert examples.layout.references.tolist() == slow.reference_counts
    assert examples.layout.hypotheses.tolist() == slow.hypothesis_counts
    found = zip(examples.system.tolist(), examples.sample.tolist(), examples.filled.tolist())
    assert list(found) == slow.hypotheses
    assert examples.absent.tolist() == slow.absent
    assert refused(joined) == slow.refused
    counts = {name: n for name, n in joined.counts.items() if "fingerprint" not in name}
    assert counts == slow.counts


@given(hypotheses=HYPOTHESES, references=REFERENCES)
def test_every_row_that_came_in_is_accounted_for_once(
    hypotheses: list[HypothesisRow], references: list[ReferenceRow]
) -> None:
    joined = join(*tables(hypotheses, references), SYSTEMS)
    lost = {"hypotheses": 0, "references": 0}
    for refusal in joined.refusals:
        assert len(refusal.rows) == len(set(refusal.rows.tolist())) > 0
        assert refusal.detail
        lost[refusal.table] += len(refusal.rows)
    counts = joined.counts
    parts = ("not_selected", "collapsed", "null", "scored")
    hypotheses_out = sum(counts[f"hypotheses.{part}"] for part in parts)
    assert hypotheses_out + lost["hypotheses"] == len(hypotheses)
    assert counts["references.accepted"] == len(joined.examples)
    references_out = counts["references.accepted"] + counts["references.collapsed"]
    assert references_out + lost["references"] == len(references)
    filled = int(joined.examples.filled.sum())
    assert len(joined.examples.system) == counts["hypotheses.scored"] + filled
    assert filled == int(joined.examples.absent.sum())


@given(
    hypotheses=HYPOTHESES,
    references=REFERENCES,
    random=st.randoms(use_true_random=False),
)
def test_the_order_and_the_chunks_of_rows_do_not_matter(
    hypotheses: list[HypothesisRow], references: list[ReferenceRow], random: object
) -> None:
    expected = join(*tables(hypotheses, references), SYSTEMS, slices=["domain"])
    mixed = list(hypotheses), list(references)
    for rows in mixed:
        random.shuffle(rows)  # type: ignore[attr-defined]
    left, right = tables(*mixed)
    chunked = pa.concat_tables([left.slice(0, 3), left.slice(3)])
    joined = join(chunked, right, SYSTEMS, slices=["domain"])
    assert joined.texts.to_pylist() == expected.texts.to_pylist()
    assert joined.examples.example_id.to_pylist() == expected.examples.example_id.to_pylist()
    assert joined.examples.system.tolist() == expected.examples.system.tolist()
    assert joined.counts == expected.counts  # the fingerprints among them


def test_fingerprints_change_with_any_accepted_row_and_add_up_over_partitions() -> None:
    hypotheses: list[HypothesisRow] = [("a", "beam", 0, "x"), ("b", "beam", 1, "y")]
    references: list[ReferenceRow] = [("a", ["r"], None, None), ("b", ["s", "t"], None, None)]

    def fingerprints(h: list[HypothesisRow], r: list[ReferenceRow]) -> tuple[int, int]:
        counts = join(*tables(h, r), SYSTEMS).counts
        return counts["hypotheses.fingerprint"], counts["references.fingerprint"]

    whole = fingerprints(hypotheses, references)
    parts = [fingerprints(hypotheses[i : i + 1], references[i : i + 1]) for i in range(2)]
    assert tuple(sum(column) % 2**64 for column in zip(*parts)) == whole
    changed: list[list[HypothesisRow]] = [
        [("a", "beam", 0, "x"), ("b", "beam", 1, "z")],
        [("a", "beam", 0, "x"), ("b", "beam", 2, "y")],
        [("a", "beam", 0, "x"), ("b", "greedy", 1, "y")],
        [("a", "beam", 0, "x")],
        [("a", "beam", 0, "y"), ("b", "beam", 1, "x")],
    ]
    seen = {fingerprints(h, references)[0] for h in changed} | {whole[0]}
    assert len(seen) == len(changed) + 1
    cut_elsewhere: list[ReferenceRow] = [references[0], ("b", ["st"], None, None)]
    turned: list[ReferenceRow] = [references[0], ("b", ["t", "s"], None, None)]
    assert len({fingerprints(hypotheses, r)[1] for r in (cut_elsewhere, turned)} | {whole[1]}) == 3


def test_the_fingerprint_takes_units_but_no_slices() -> None:
    left, _ = tables([], [])
    right = pa.table(
        {
            "example_id": pa.array(["x", "y"]),
            "references": pa.array([["r"], ["s", "t"]]),
            **{name: pa.array([name, f"{name}{name}"]) for name in "ab"},
        }
    )
    columns = [hashing.hash_lists(right["references"].chunk(0))]
    columns.append(hashing.hash_strings(right["b"].chunk(0)))
    expected = fingerprint(right["example_id"].chunk(0), hashing.combine(columns))
    for slices in ((), ("a",), ("a", "b")):
        with_unit = join(left, right, [], resample_by="b", slices=slices)
        assert with_unit.counts["references.fingerprint"] == expected


def test_a_null_text_contradicts_an_empty_one() -> None:
    references: list[ReferenceRow] = [("a", ["r"], None, None)]
    hypotheses: list[HypothesisRow] = [("a", "beam", 0, None), ("a", "beam", 0, "")]
    joined = join(*tables(hypotheses, references), ["beam"])
    assert refused(joined) == {("hypotheses", "contradicting_duplicates"): [0, 1]}
    assert joined.examples.absent.tolist() == [[True]]


def test_rows_that_differ_only_in_a_slice_are_equal_and_its_value_is_the_one_they_agree_on() -> (
    None
):
    references: list[ReferenceRow] = [
        *(("a", ["r"], "food", None), ("a", ["r"], None, None), ("a", ["r"], "food", None)),
        *(("b", ["r"], "food", None), ("b", ["r"], "sport", None)),
        ("c", ["r"], None, None),
        *(("d", ["r"], "food", None), ("d", ["other"], "food", None)),
    ]
    joined = join(*tables([], references), [], slices=["domain"])
    assert joined.examples.slices["domain"].to_pylist() == ["food", UNKNOWN, UNKNOWN]
    assert joined.counts["references.collapsed"] == 3
    assert joined.counts["slices.domain.contradicting"] == 1
    assert refused(joined) == {("references", "contradicting_duplicates"): [6, 7]}
    left, right = tables([], references[:1])
    without = join(left, right, []).counts["references.fingerprint"]
    assert join(left, right, [], slices=["domain"]).counts["references.fingerprint"] == without


@given(
    hypotheses=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from(["greedy", "beam", "not asked for"]),
            st.integers(0, 2),
            st.sampled_from(["x", "", None]),
            st.sampled_from(["short", "long", None]),
        ),
        max_size=12,
    ),
    missing=st.sampled_from(["empty", "skip"]),
)
def test_a_column_of_hypotheses_gives_an_example_the_value_that_all_its_rows_have(
    hypotheses: list[tuple[str, str, int, str | None, str | None]], missing: str
) -> None:
    references: list[ReferenceRow] = [(name, ["r"], "food", None) for name in "ab"]
    left, right = tables([row[:4] for row in hypotheses], references)
    left = left.append_column("kind", pa.array([row[4] for row in hypotheses], pa.string()))
    plain = join(left, right, SYSTEMS, missing)
    joined = join(left, right, SYSTEMS, missing, slices=["domain"], hypothesis_slices=["kind"])
    lost = {n for r in joined.refusals if r.table == "hypotheses" for n in r.rows.tolist()}
    expected, contradictions = [], 0
    for name in "ab":
        rows = [row for n, row in enumerate(hypotheses) if n not in lost and row[0] == name]
        kinds = {row[4] for row in rows if row[1] in SYSTEMS} - {None}
        contradictions += len(kinds) > 1
        expected.append(kinds.pop() if len(kinds) == 1 else UNKNOWN)
    assert joined.examples.slices["hypotheses.kind"].to_pylist() == expected
    assert joined.counts.get("slices.hypotheses.kind.contradicting", 0) == contradictions
    # A slice changes nothing else.
    others = {n: c for n, c in joined.counts.items() if not n.startswith("slices.")}
    assert others == plain.counts
    assert joined.texts == plain.texts


def test_no_rows_at_all_join_to_no_examples() -> None:
    joined = join(*tables([], []), SYSTEMS, slices=["domain"])
    assert len(joined.examples) == 0
    assert joined.texts.to_pylist() == []
    assert joined.examples.absent.shape == (0, len(SYSTEMS))
    assert joined.refusals == ()


def test_large_strings_join_as_strings_do() -> None:
    references: list[ReferenceRow] = [("a", ["r"], "food", None)]
    left, right = tables([("a", "beam", 0, "x")], references)
    large = pa.schema(
        [
            ("example_id", pa.large_string()),
            ("system", pa.large_string()),
            ("sample", pa.int64()),
            ("text", pa.large_string()),
        ]
    )
    joined = join(left.cast(large), right, SYSTEMS[:2])
    expected = join(left, right, SYSTEMS[:2])
    assert joined.texts.to_pylist() == expected.texts.to_pylist()
    assert np.array_equal(joined.examples.absent, expected.examples.absent)
    assert joined.counts == expected.counts
