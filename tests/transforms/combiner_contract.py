"""What Beam may do to a CombineFn, done to it: any order, any split, accumulators that travel."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable, Sequence
from typing import Any

import apache_beam as beam

Equal = Callable[[Any, Any], bool]


def check_combiner(
    combiner: beam.CombineFn,
    inputs: Sequence[Any],
    equal: Equal,
    *,
    trials: int = 25,
    seed: int = 1,
) -> Any:
    """Combine the inputs in many ways that Beam allows; every way must give the same.

    Checked: order and split of the inputs; accumulators encoded and decoded by their coder in
    between, several times; empty accumulators among them; merging in groups, once and again;
    ``compact``; a combiner that is pickled. Inputs, and accumulators other than the first that is
    merged into, must not change. Returns what comes out.
    """
    kept = copy.deepcopy(list(inputs))
    expected = _in_a_row(combiner, inputs)
    choose = random.Random(seed)
    for _ in range(trials):
        own = pickle.loads(pickle.dumps(combiner))
        coder = own.get_accumulator_coder()
        shuffled = list(inputs)
        choose.shuffle(shuffled)
        accumulators = [
            _travel(coder, _accumulate(own, part), choose.randrange(3))
            for part in _split(shuffled, choose)
        ]
        for _ in range(choose.randrange(3)):
            accumulators.insert(
                choose.randrange(len(accumulators) + 1), _travel(coder, own.create_accumulator(), 1)
            )
        while len(accumulators) > 1:
            at = choose.randrange(len(accumulators) - 1)
            size = choose.randint(2, len(accumulators) - at)
            group = accumulators[at : at + size]
            others = copy.deepcopy(group[1:])
            merged = own.merge_accumulators(iter(group))
            assert _all_equal(own, others, group[1:], equal), "an accumulator was changed"
            accumulators[at : at + size] = [_travel(coder, merged, choose.randrange(2))]
        found = own.extract_output(own.compact(accumulators[0]))
        assert equal(found, expected), f"{found} is not {expected}"
        assert len(kept) == len(inputs)
        assert all(map(equal, inputs, kept)), "an input was changed"
    return expected


def _in_a_row(combiner: beam.CombineFn, inputs: Sequence[Any]) -> Any:
    return combiner.extract_output(_accumulate(combiner, inputs))


def _accumulate(combiner: beam.CombineFn, inputs: Sequence[Any]) -> Any:
    accumulator = combiner.create_accumulator()
    for element in inputs:
        accumulator = combiner.add_input(accumulator, element)
    return accumulator


def _travel(coder: beam.coders.Coder, accumulator: Any, times: int) -> Any:
    for _ in range(times):
        accumulator = coder.decode(coder.encode(accumulator))
    return accumulator


def _split(inputs: Sequence[Any], choose: random.Random) -> list[Sequence[Any]]:
    cuts = sorted(choose.randrange(len(inputs) + 1) for _ in range(choose.randrange(6)))
    return [inputs[a:b] for a, b in zip([0, *cuts], [*cuts, len(inputs)])]


def _all_equal(
    combiner: beam.CombineFn, one: Sequence[Any], other: Sequence[Any], equal: Equal
) -> bool:
    outputs = [[combiner.extract_output(copy.deepcopy(a)) for a in side] for side in (one, other)]
    return all(map(equal, *outputs))
