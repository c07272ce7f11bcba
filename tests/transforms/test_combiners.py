"""Every CombineFn keeps the contract of combiner_contract.py; so does a broken one not."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from combiner_contract import Equal, check_combiner

import transforms
from scoring.data_report import tally
from scoring.references import TypeCounts
from scoring.samples import WORST, Spread, merge
from transforms import data
from transforms.data import TallyFn
from transforms.packets import Packet
from transforms.reference_types import TypesFn, packet_of
from transforms.samples import SpreadFn, to_packet
from transforms.scores import SumFn, sums_packet
from transforms.slices import NUMBERS, SampleFn, TopFn, Tops, sample_of
from transforms.tokens import SystemsFn


def same_packet(one: Packet, other: Packet) -> bool:
    return one.encode() == other.encode()


def sums(seed: int) -> Packet:
    values = np.random.default_rng(seed).integers(0, 2**61, (3, 2, 4))
    won = np.random.default_rng(seed).integers(0, 2**61, (2, 6))
    return sums_packet(("topic", "天气"), ["a", "b"], {"sums": values, "outcomes": won})


def is_equal(one: object, other: object) -> bool:
    return one == other


def tops(seed: int) -> Tops:
    """The most frequent values of one bucket; counts tie on purpose."""
    draw = np.random.default_rng(seed)
    values = [f"{seed}/{n}" for n in range(12)]
    top = [[value, int(draw.integers(1, 4))] for value in values]
    return {
        "topic": {"distinct": 20, "examples": 30, "top": top},
        f"only {seed}": {"distinct": 1, "examples": 1, "top": top[:1]},
    }


def numbers(seed: int) -> Packet:
    """Numbers of two columns; examples come back, some with other numbers."""
    draw = np.random.default_rng(seed)
    ids = pa.array([f"e{n}" for n in draw.integers(0, 40, 30)])
    values = {name: pa.array(draw.integers(0, 3, 30)).cast(pa.string()) for name in "ab"}
    rows = pa.table({"example_id": ids, **values})
    return sample_of(rows, "references", ["a", "b"] if seed % 2 else ["a"])


def spread_of(seed: int) -> Packet:
    """The spread of some queries with several samples; ranges tie on purpose."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, 30))
    found = {
        "system": draw.integers(0, 2, n),
        "metric": draw.integers(0, 2, n),
        "range": draw.integers(1, 4, n),
        "example_id": [f"{seed}/{i}" for i in range(n)],
        "samples": np.full(n, 2),
        "variance": draw.integers(0, 9, n),
        "lowest": np.zeros(n),
        "highest": np.ones(n),
    }
    indices = np.unique(draw.integers(0, 5, 3))
    part = Spread(
        draw.integers(0, 2**40, (2, 2, 4)),
        indices,
        draw.integers(0, 2**40, (len(indices), 2, 3)),
        draw.integers(0, 9, 2),
        pa.table(found).cast(WORST),
    )
    return to_packet(merge([part]), ["a", "b"])


def tallied(seed: int, rows: int = 40) -> Packet:
    """Counts of some texts; values stand in several of them."""
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 2 * rows, rows)
    return data.to_packet(tally([(draw.integers(0, 3, rows), 2, values, 1)]))


def types(seed: int) -> Packet:
    """Counts of three of five types."""
    draw = np.random.default_rng(seed)
    names = tuple(sorted(draw.choice(list("ABCDE"), 3, replace=False).tolist()))
    matched, references = draw.integers(0, 99, (2, 4)), draw.integers(1, 99, 3)
    return packet_of(TypeCounts(names, matched, references))


CASES: list[tuple[type[beam.CombineFn], Sequence[Any], Equal]] = [
    (SumFn, [sums(seed) for seed in range(8)], same_packet),
    (SumFn, [sums(0)], same_packet),
    (SumFn, [], same_packet),
    (SystemsFn, [["b"], [], ["a", "b"], ["好"], ["a"], ["c", "a"]], is_equal),
    (SystemsFn, [], is_equal),
    (TypesFn, [types(seed) for seed in range(8)], same_packet),
    (TypesFn, [], same_packet),
    (TopFn, [tops(seed) for seed in range(8)], is_equal),
    (TopFn, [{}, tops(0), {}], is_equal),
    (TallyFn, [tallied(seed) for seed in range(8)], same_packet),
    (TallyFn, [tallied(seed, 9_000) for seed in range(8)], same_packet),
    (TallyFn, [], same_packet),
    (SpreadFn, [spread_of(seed) for seed in range(8)], same_packet),
    (SpreadFn, [], same_packet),
    (SampleFn, [numbers(seed) for seed in range(8)], same_packet),
    (SampleFn, [Packet(NUMBERS), numbers(0)], same_packet),
]


@pytest.mark.parametrize(("combiner", "inputs", "equal"), CASES)
def test_the_contract_holds(
    combiner: type[beam.CombineFn], inputs: Sequence[Any], equal: Equal
) -> None:
    check_combiner(combiner(), inputs, equal)


def test_every_combiner_of_the_room_has_a_case() -> None:
    for module in pkgutil.iter_modules(transforms.__path__, "transforms."):
        importlib.import_module(module.name)
    found = {cls for cls in subclasses(beam.CombineFn) if cls.__module__.startswith("transforms.")}
    assert found
    assert found == {combiner for combiner, *_ in CASES}
    # Of inputs that differ, not only of none.
    assert found == {combiner for combiner, inputs, _ in CASES if len(inputs) > 2}


def subclasses(cls: type[Any]) -> Iterable[type[Any]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


def test_sums_are_added() -> None:
    total = check_combiner(SumFn(), [sums(1), sums(2)], same_packet)
    for name in ("sums", "outcomes"):
        expected = sums(1).arrays[name] + sums(2).arrays[name]
        assert (total.arrays[name] == expected).all()
    assert total.meta == {"slice": ["topic", "天气"], "systems": ["a", "b"]}


def test_sums_of_two_slices_under_one_key_are_an_error() -> None:
    other = sums_packet(("topic", "工作"), ["a", "b"], {"sums": np.ones((3, 2, 4), np.int64)})
    with pytest.raises(ValueError, match="two slices share one key"):
        check_combiner(SumFn(), [sums(1), other], same_packet)


def test_names_come_out_once_and_sorted() -> None:
    assert check_combiner(SystemsFn(), [["b", "a"], ["c"], ["b"]], is_equal) == ["a", "b", "c"]


class Listing(beam.CombineFn):  # type: ignore[misc]
    """A right combiner, to break in one way after another: the numbers, sorted."""

    def create_accumulator(self) -> list[int]:
        return []

    def add_input(self, accumulator: list[int], element: int) -> list[int]:
        return sorted([*accumulator, element])

    def merge_accumulators(self, accumulators: Iterable[list[int]]) -> list[int]:
        return sorted(number for part in accumulators for number in part)

    def extract_output(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return beam.coders.FastPrimitivesCoder()


class InOrder(Listing):
    """Keeps the order of the inputs."""

    def add_input(self, accumulator: list[int], element: int) -> list[int]:
        return [*accumulator, element]


class TwoOnly(Listing):
    """Forgets the third accumulator and those after it."""

    def merge_accumulators(self, accumulators: Iterable[list[int]]) -> list[int]:
        return sorted([*next(it := iter(accumulators), []), *next(it, [])])


class Greedy(Listing):
    """Empties the accumulators that it merges."""

    def merge_accumulators(self, accumulators: Iterable[list[int]]) -> list[int]:
        total: list[int] = []
        for part in accumulators:
            total += part
            part.clear()
        return sorted(total)


class Shared(Listing):
    """Has one accumulator for all."""

    def __init__(self) -> None:
        self._all: list[int] = []

    def create_accumulator(self) -> list[int]:
        return self._all

    def add_input(self, accumulator: list[int], element: int) -> list[int]:
        accumulator.append(element)
        accumulator.sort()
        return accumulator


class Lossy(Listing):
    """Its coder loses the last number."""

    def get_accumulator_coder(self) -> beam.coders.Coder:
        return LossyCoder()


class Changing(Listing):
    """Changes its inputs."""

    def add_input(self, accumulator: list[int], element: Any) -> list[int]:
        element.append(0)
        return accumulator


class LossyCoder(beam.coders.Coder):  # type: ignore[misc]
    def encode(self, value: list[int]) -> bytes:
        return bytes(value[:-1])

    def decode(self, encoded: bytes) -> list[int]:
        return list(encoded)


def test_a_right_combiner_passes() -> None:
    assert check_combiner(Listing(), [3, 1, 2, 5, 4], is_equal) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("broken", [InOrder, TwoOnly, Greedy, Shared, Lossy])
def test_a_broken_combiner_is_caught(broken: Callable[[], Listing]) -> None:
    with pytest.raises(AssertionError):
        check_combiner(broken(), [3, 1, 2, 5, 4], is_equal)


def test_inputs_that_are_changed_are_caught() -> None:
    with pytest.raises(AssertionError, match="an input was changed"):
        check_combiner(Changing(), [[1], [2]], is_equal)
