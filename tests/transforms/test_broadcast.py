"""Small values sent to every partition."""

from __future__ import annotations

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from transforms import broadcast
from transforms.create import Create
from transforms.packets import Packet


def test_every_partition_gets_the_value_once() -> None:
    value = {"长度": [0.1, 1 / 3, float("inf")], "none": []}
    with beam.Pipeline("FnApiRunner") as root:
        found = (
            root
            | "Value" >> Create([value], dict[str, list[float]])
            | "ToAll" >> broadcast.ToAll("edges", 3)
            | beam.GroupByKey()
            | beam.MapTuple(lambda key, parts: (key, broadcast.from_packets(list(parts), "edges")))
        )
        assert_that(found, equal_to([(partition, value) for partition in range(3)]))


def test_a_value_is_there_once_or_it_is_an_error() -> None:
    one = broadcast.to_packet("systems", ["甲", "乙"])
    assert broadcast.from_packets([Packet("rows"), one], "systems") == ["甲", "乙"]
    for packets in [], [Packet("rows")], [one, one]:
        with pytest.raises(ValueError):
            broadcast.from_packets(packets, "systems")


def test_a_partition_with_values_alone_is_empty() -> None:
    values = [broadcast.to_packet("systems", []), broadcast.to_packet("edges", {})]
    assert not broadcast.has_more(values, "systems", "edges")
    assert broadcast.has_more([*values, Packet("rows")], "systems", "edges")
    assert broadcast.has_more(values, "systems")
