"""Blocks of the same studies are handed out together, as long as that does not take long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import fake_studies
import pytest

from simlab.engine.addresses import Address, Finished
from simlab.engine.block_checks import Fitting
from simlab.engine.dispatch import LONGEST_SECONDS, Bundles
from simlab.engine.workers import BlockLimits, BlockTask, BundleResult, work_together
from simlab.types import Place


def tasks(worlds: int, cells: int, count: int = 50) -> list[BlockTask]:
    return [BlockTask(Address(f"cell {cell}", world, 0, count), {}) for world in range(worlds) for cell in range(cells)]


def dealt(
    whole: Sequence[BlockTask],
    seconds: float,
    jobs: int = 2,
    limits: BlockLimits = BlockLimits(),  # noqa: B008 (frozen)
) -> Iterator[list[BlockTask]]:
    """Deal bundles to workers who take so many seconds a campaign."""
    bundles = Bundles(whole, 2 * jobs, limits)
    while bundle := bundles.take_bundle():
        yield bundle
        finished = tuple(Finished(task.address) for task in bundle)
        bundles.record_times(BundleResult(finished, seconds * sum(one.address.count for one in finished)))


@pytest.mark.parametrize("seconds", [1e-5, 0.002, 1.0])
def test_every_block_is_handed_out_once_in_its_order(seconds: float) -> None:
    whole = tasks(5, 24)
    assert [task for bundle in dealt(whole, seconds) for task in bundle] == whole


def test_the_first_bundle_is_a_block_and_then_cells_of_a_world_stay_together() -> None:
    bundles = list(dealt(tasks(10, 24), 0.002))
    assert len(bundles[0]) == 1
    assert [len(bundle) for bundle in bundles[1:3]] == [23, 24]
    assert all(len({task.address.world for task in bundle}) == 1 for bundle in bundles[:4])


def test_no_bundle_takes_long_and_slow_blocks_are_alone() -> None:
    for bundle in list(dealt(tasks(5, 24), 0.01))[1:]:
        assert sum(task.address.count for task in bundle) * 0.01 <= LONGEST_SECONDS
    assert all(len(bundle) == 1 for bundle in dealt(tasks(5, 24), 1.0))
    strict = dealt(tasks(5, 24, 10), 0.01, limits=BlockLimits(seconds=1.0))
    assert max(len(bundle) for bundle in strict) <= 2


def test_cells_that_take_longest_come_first_once_that_is_known() -> None:
    bundles, order = Bundles(tasks(3, 4, 10), 4, BlockLimits()), []
    while bundle := bundles.take_bundle():
        order += [(task.address.world, task.address.cell) for task in bundle]
        # A campaign of the last cell takes a minute, one of the others a second.
        seconds = {task.address: 60.0 if task.address.cell == "cell 3" else 1.0 for task in bundle}
        finished = tuple(Finished(at, seconds=took * at.count) for at, took in seconds.items())
        bundles.record_times(BundleResult(finished, sum(one.seconds for one in finished)))
    assert sorted(order) == [(world, f"cell {cell}") for world in range(3) for cell in range(4)]
    assert [cell for world, cell in order if world == 0] == [f"cell {cell}" for cell in range(4)]
    assert [cell for world, cell in order if world == 2] == ["cell 3", "cell 0", "cell 1", "cell 2"]


def test_towards_the_end_bundles_get_shorter() -> None:
    last = list(dealt(tasks(2, 24), 0.002))[-1]
    assert sum(task.address.count for task in last) * 0.002 < LONGEST_SECONDS / 4


def test_blocks_carried_out_together_fail_each_for_itself() -> None:
    def blocks(configs: Sequence[Mapping[str, Any]], places: Sequence[Place]) -> list[Any]:
        return [ValueError("no"), *(fake_studies.block(config, places) for config in configs[1:])]

    whole = [BlockTask(Address("c", 0, 0, 4), cell.config) for cell in fake_studies.sweep((10, 20, 30)).cells()]
    fitting = Fitting(fake_studies.block, 3, blocks)
    first, *others = work_together(fitting, whole)
    assert first.reason == "ValueError: no"
    assert [one.payload for one in others] == [
        one.payload for one in work_together(Fitting(fake_studies.block, 3), whole)[1:]
    ]
    short = Fitting(fake_studies.block, 4, blocks)
    assert all("with 3 entries along system, not 4" in one.reason for one in work_together(short, whole)[1:])
