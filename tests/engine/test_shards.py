"""Deal the blocks of a sweep out to shards: each to exactly one, evenly, whatever a folder holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlab.engine import ledger, shards
from simlab.engine.forecast import forecast
from simlab.engine.provenance import code_digest
from simlab.engine.run import run
from simlab.engine.shards import Shard, SweepSizes
from simlab.store.verifying import verify
from simlab.types import InputError
from tests import fake_studies as fake

Block = tuple[str, int, int, int]

sizes = st.builds(
    SweepSizes,
    worlds=st.integers(1, 5),
    pools=st.integers(1, 2),
    draws=st.integers(1, 2),
    studies=st.integers(1, 9),
    cells=st.integers(1, 7),
    block=st.integers(1, 4),
)


def dealt(whole: SweepSizes, of: int) -> Counter[int]:
    """Count the blocks of each shard; every study has to be that of exactly one."""
    counts = Counter[int]()
    for place in range(len(list(whole.places()))):
        for cell in range(whole.cells):
            seen = Counter[int]()
            for number in range(1, of + 1):
                for first, count in whole.cut((0, whole.studies), Shard(number, of), place, cell):
                    assert first % whole.block == 0
                    counts[number] += 1
                    seen.update(range(first, first + count))
            assert seen == Counter(range(whole.studies))
    return counts


@given(sizes, st.integers(1, 12))
def test_every_study_is_that_of_exactly_one_shard_and_shards_are_even(whole: SweepSizes, of: int) -> None:
    counts = dealt(whole, of)
    assert max(counts.values()) - min(counts[number] for number in range(1, of + 1)) <= 1


def test_cells_stay_together_only_where_there_are_enough_places() -> None:
    several, few = SweepSizes(4, 1, 1, 10, 3, 5), SweepSizes(1, 1, 1, 10, 3, 5)
    assert {several.owner(place, k, cell, 8) for cell in range(3) for place, k in [(2, 1)]} == {6}
    assert {few.owner(0, 1, cell, 3) for cell in range(3)} == {1, 2, 3}


def test_a_shard_has_other_cells_at_each_place() -> None:
    # Cells differ in what they cost: a shard that always had the same ones would be the last.
    whole = SweepSizes(2, 1, 1, 4, 6, 4)
    mine = [{cell for cell in range(6) if whole.owner(place, 0, cell, 3) == 1} for place in (0, 1)]
    assert mine[0] != mine[1]


def test_what_is_left_of_a_gap_is_cut_where_the_blocks_of_the_whole_sweep_are() -> None:
    whole = SweepSizes(1, 1, 1, 10, 1, 4)
    cut = [list(whole.cut((2, 7), Shard(number, 2), 0, 0)) for number in (1, 2)]
    assert cut == [[(2, 2), (8, 1)], [(4, 4)]]


@pytest.mark.parametrize("text", ["3", "x/y", "3/", "/4", "1.5/2", "-1/4", "", "1/2/3", "\u0663/4"])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="names no shard; write I/N, such as 3/16"):
        shards.read(text)


@pytest.mark.parametrize("text", ["17/16", "0/4", "0/0"])
def test_a_shard_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="they are counted from 1 to"):
        shards.read(text)


def blocks(folder: Path) -> set[Block]:
    with ledger.reading(folder) as book:
        found = [row.block.address for row in book.blocks()]
    assert len(found) == len(set(found))
    return {(at.cell, at.world, at.first, at.count) for at in found}


def shard(folder: Path, number: int, of: int, **changes: int) -> set[Block]:
    run(fake.sweep(**changes), folder, 1, block=fake.block, check=fake.check, quiet=True, shard=Shard(number, of))
    return blocks(folder)


def whole(folder: Path, **changes: int) -> set[Block]:
    run(fake.sweep(**changes), folder, 1, block=fake.block, check=fake.check, quiet=True)
    return blocks(folder)


@pytest.mark.parametrize("of", [2, 5, 9])
def test_shards_together_carry_out_the_blocks_of_a_run(of: int, tmp_path: Path) -> None:
    parts = [shard(tmp_path / str(k), k, of) for k in range(1, of + 1)]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert set.union(*parts) == whole(tmp_path / "whole")


def test_a_folder_takes_another_shard_and_then_all_of_the_sweep(tmp_path: Path) -> None:
    first = shard(tmp_path / "s", 1, 3)
    assert shard(tmp_path / "s", 1, 3) == first
    both = shard(tmp_path / "s", 3, 3)
    assert both == first | shard(tmp_path / "other", 3, 3)
    with ledger.reading(tmp_path / "s") as book:
        assert shards.list_shards(book.read_note("shards", [])) == [Shard(1, 3), Shard(3, 3)]
    assert whole(tmp_path / "s") == whole(tmp_path / "whole")
    with ledger.reading(tmp_path / "s") as book:
        assert book.read_note("shards", []) == []


def test_a_folder_of_a_whole_sweep_stays_one(tmp_path: Path) -> None:
    whole(tmp_path / "s", worlds=1)
    shard(tmp_path / "s", 1, 3, worlds=2)
    with ledger.reading(tmp_path / "s") as book:
        assert book.read_note("shards", []) == []


def test_what_is_missing_of_a_shard_does_not_change_what_is_whose(tmp_path: Path) -> None:
    whole(tmp_path / "s", worlds=1)
    added = shard(tmp_path / "s", 2, 3) - shard(tmp_path / "fresh", 2, 3)
    assert {world for _, world, _, _ in added} == {0}


def test_a_forecast_counts_the_blocks_of_a_shard(tmp_path: Path) -> None:
    foretold = [
        forecast(fake.sweep(), tmp_path / "s", 1, block=fake.block, check=fake.check, shard=Shard(k, 3)).blocks_missing
        for k in range(1, 4)
    ]
    assert foretold == [len(shard(tmp_path / str(k), k, 3)) for k in range(1, 4)]


def test_a_shard_is_checked_for_what_it_should_hold(tmp_path: Path) -> None:
    shard(tmp_path / "s", 2, 3)
    report = verify(tmp_path / "s")
    assert report.problems == ()
    assert report.shards == "shard 2/3"
    with ledger.open_to_write(tmp_path / "s") as book:
        rows = list(book.blocks())
        book.discard(rows[:1])
    assert [line.partition(":")[0] for line in verify(tmp_path / "s").problems] == ["missing"]
    # Negative control: the same blocks in a folder of the whole sweep are far from all.
    with ledger.open_to_write(tmp_path / "s") as book:
        book.note(shards=[])
    assert len(verify(tmp_path / "s").problems) > 2


def test_a_torn_block_of_a_shard_is_found_and_carried_out_again(tmp_path: Path) -> None:
    before = shard(tmp_path / "s", 2, 3)
    fake.tear(tmp_path / "s")
    assert any(line.startswith("torn:") for line in verify(tmp_path / "s").problems)
    assert shard(tmp_path / "s", 2, 3) == before
    assert verify(tmp_path / "s").problems == ()


def test_the_digest_of_the_code_is_noted_with_blocks(tmp_path: Path) -> None:
    shard(tmp_path / "s", 1, 2)
    with ledger.reading(tmp_path / "s") as book:
        assert book.read_note("code", []) == [code_digest()]
