"""Every mutant of mutants.py turns some test red."""

from __future__ import annotations

from pathlib import Path

import mutants
import pytest

PARTS = 6


def test_every_mutant_fits_the_sources() -> None:
    for mutant in mutants.MUTANTS:
        mutant.check(mutants.ROOT)
        assert mutant.old != mutant.new
    assert len({mutant.name for mutant in mutants.MUTANTS}) == len(mutants.MUTANTS) >= 14


def test_a_mutant_that_no_longer_fits_is_noticed() -> None:
    first = mutants.MUTANTS[0]
    gone = mutants.Mutant("gone", first.path, "this is not in the sources", "x", first.tests)
    often = mutants.Mutant("often", first.path, "import", "x", first.tests)
    for mutant in (gone, often):
        with pytest.raises(ValueError, match="should occur once"):
            mutant.check(mutants.ROOT)


def test_a_mutant_is_applied_to_a_copy_alone_and_taken_back(tmp_path: Path) -> None:
    mutant = mutants.MUTANTS[0]
    copy = mutants.copy_tree(tmp_path / "copy")
    path, original = copy / mutant.path, mutants.ROOT / mutant.path
    before = original.read_bytes()
    assert path.read_bytes() == before
    with mutant.applied(copy):
        assert mutant.new in path.read_text(encoding="utf-8")
        assert original.read_bytes() == before
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="copies"), mutant.applied(mutants.ROOT):
        pass


def test_every_mutant_is_in_one_part_with_those_of_the_same_file() -> None:
    parts = mutants.parts(PARTS)
    assert len(parts) == PARTS and all(parts)
    assert sorted(m.name for part in parts for m in part) == sorted(m.name for m in mutants.MUTANTS)
    files = [{mutant.tests[0] for mutant in part} for part in parts]
    assert sum(map(len, files)) == len(set.union(*files))


# In parts, so that several processes can share them (pytest -n).
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_mutant_is_killed(part: int) -> None:
    outcomes = list(mutants.run_mutants(mutants.parts(PARTS)[part], processes=1))
    assert outcomes
    assert [outcome.name for outcome in outcomes if not outcome.killed] == []
