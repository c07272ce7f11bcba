"""Settings that cannot be used are refused when they are made, and named."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from schemas import tables
from schemas.configuration import Bootstrap, Evaluation
from schemas.errors import ConfigurationError, UserError


def test_the_defaults_are_those_of_the_command() -> None:
    made = Evaluation(("h",), ("r",), "out")
    assert made.metrics == ("bleu", "cider_d")
    assert (made.preset, made.tokenizer) == ("raw", None)
    assert (made.smoothing, made.missing) == ("exp", "empty")
    assert made.weights == (0.25,) * 4
    assert made.bootstrap == Bootstrap(1000, 0.95, 12345, None)


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"hypotheses": ()}, "hypotheses"),
        ({"references": ()}, "references"),
        ({"output": ""}, "output"),
        ({"metrics": ()}, "metrics"),
        ({"metrics": ("bleu", "bleu")}, "metrics"),
        ({"missing": "none"}, "missing"),
        ({"slices": ("a", "a")}, "slices"),
        ({"slices": ("overall",)}, "slices"),
        ({"slices": ("references",)}, "slices"),
        ({"systems": ("s", "s")}, "systems"),
        ({"partitions": 0}, "partitions"),
        ({"partitions": 100_001}, "partitions"),
        ({"replicate_groups": 0}, "replicate_groups"),
        ({"max_rejected": -0.1}, "max_rejected"),
        ({"max_rejected": float("nan")}, "max_rejected"),
        ({"max_characters": 0}, "max_characters"),
        (
            {"document_frequencies": "a", "save_document_frequencies": "b"},
            "save_document_frequencies",
        ),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(changed: dict[str, Any], key: str) -> None:
    good: dict[str, Any] = {"hypotheses": ("h",), "references": ("r",), "output": "out"}
    Evaluation(**good)
    with pytest.raises(ConfigurationError, match=f"^{key} = .*: expected ") as error:
        Evaluation(**{**good, **changed})
    assert error.value.key == key
    assert isinstance(error.value, UserError)


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"replicates": -1}, "bootstrap"),
        ({"replicates": 1_000_001}, "bootstrap"),
        ({"confidence": 0.0}, "confidence"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": float("inf")}, "confidence"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
    ],
)
def test_a_bootstrap_that_cannot_be_made_is_named(changed: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        Bootstrap(**changed)
    assert error.value.key == key


def test_the_largest_and_smallest_settings_are_taken() -> None:
    assert Bootstrap(0, 1e-9, 0).replicates == 0
    assert Bootstrap(10**6, 0.999999, 2**63 - 1).seed == 2**63 - 1
    made = Evaluation(("h",), ("r",), "out", partitions=100_000, max_rejected=1.0)
    assert made.partitions == 100_000


def test_every_column_of_every_table_has_a_doc_string() -> None:
    segments = tables.segments_schema(["topic"], ["bleu"], ["bleu_matches_1"])
    schemas = [tables.SCORES, tables.REPLICATES, tables.REJECTED, tables.FREQUENCIES, segments]
    for schema in schemas:
        assert schema.metadata[b"liangchi.version"] == b"1"
        assert all(len(field.metadata[b"doc"]) > 5 for field in schema)
        assert len(set(schema.names)) == len(schema.names)
    assert tables.SCORES.names == [
        *("run_id", "system", "slice", "slice_value", "metric", "value", "ci_low", "ci_high"),
        *("ci_level", "ci_method", "units", "examples", "segments", "missing", "signature"),
        *("scale", "note"),
    ]
    assert segments.field("slice_topic").type == pa.string()
    assert segments.field("bleu").type == pa.float64()
    assert segments.field("bleu_matches_1").type == pa.int64()
