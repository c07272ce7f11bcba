"""Many tests at once: p-values adjusted so that one false rejection among them stays rare."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p: Sequence[float | None]) -> list[float | None]:
    """The p-values of one family, adjusted by Holm's step-down method (1979), in the same order.

    Of m tests the smallest p is multiplied by m, the next by m - 1, ...; none is below one before
    it, none above 1. None is no test: it stays None and does not count in m.
    Raises ValueError for a p outside of 0 to 1.
    """
    tested = [(value, place) for place, value in enumerate(p) if value is not None]
    for value, place in tested:
        if not 0 <= value <= 1:
            raise ValueError(f"p-value {place} is {value}, not between 0 and 1")
    adjusted: list[float | None] = [None] * len(p)
    largest = 0.0
    for rank, (value, place) in enumerate(sorted(tested)):
        largest = max(largest, min(1.0, (len(tested) - rank) * value))
        adjusted[place] = largest
    return adjusted
