"""How long a sweep still takes is told from recent blocks, cell by cell; no test waits for it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from simlab.engine.addresses import Address, Finished
from simlab.engine.progress import Remaining

WORLDS, STUDIES, WORKERS = 40, 10, 2
SECONDS = {"cheap": 0.01, "dear": 3.0, "middling": 0.2}
"""What a campaign takes in each cell: world by world, cell by cell, as blocks are handed out."""
WARM_UP = 60.0


def block(cell: str, world: int, seconds: float) -> Finished:
    return Finished(Address(cell, world, 0, STUDIES), seconds=seconds)


def carried_out(took: Mapping[str, float], blocks: int) -> tuple[Remaining, list[Finished]]:
    """Carry out the first blocks of a sweep on a made clock; each worker's first one also imports and compiles."""
    order = [(cell, world) for world in range(WORLDS) for cell in took]
    done = [
        block(cell, world, STUDIES * took[cell] + (WARM_UP if k < WORKERS else 0.0))
        for k, (cell, world) in enumerate(order[:blocks])
    ]
    remaining = Remaining(dict.fromkeys(took, WORLDS * STUDIES), WORKERS)
    for one in done:
        remaining.record_blocks([one])
    return remaining, done


def truth(took: Mapping[str, float], blocks: int) -> float:
    order = [cell for _ in range(WORLDS) for cell in took]
    return sum(STUDIES * took[cell] for cell in order[blocks:]) / WORKERS


def by_rate(done: list[Finished]) -> float:
    """Forecast as a rate of campaigns so far does."""
    campaigns = sum(one.address.count for one in done)
    elapsed = sum(one.seconds for one in done) / WORKERS
    return (WORLDS * STUDIES * len(SECONDS) - campaigns) * elapsed / campaigns


@pytest.mark.parametrize("blocks", [7, 8, 9, 20, 100])
def test_what_is_left_is_told_within_a_quarter(blocks: int) -> None:
    remaining, _ = carried_out(SECONDS, blocks)
    assert remaining.seconds() == pytest.approx(truth(SECONDS, blocks), rel=0.25)


def test_a_rate_of_campaigns_so_far_would_be_ten_times_off() -> None:
    """The negative control: a minute of warm-up in cells that take milliseconds."""
    quick = {cell: seconds / 20 for cell, seconds in SECONDS.items()}
    remaining, done = carried_out(quick, 6)
    assert by_rate(done) > 10 * truth(quick, 6)
    assert remaining.seconds() == pytest.approx(truth(quick, 6), rel=0.25)


def test_a_cell_without_a_block_counts_as_the_mean_of_the_others() -> None:
    remaining = Remaining({"a": 10, "b": 10, "c": 10}, 1)
    assert remaining.seconds() is None
    remaining.record_blocks(
        [Finished(Address("a", 0, 0, 10), seconds=10.0), Finished(Address("b", 0, 0, 5), seconds=15.0)]
    )
    assert remaining.seconds() == pytest.approx(5 * 3.0 + 10 * 2.0)


def test_blocks_that_were_given_up_are_counted_and_teach_nothing() -> None:
    remaining = Remaining({"a": 20}, 1)
    remaining.record_blocks([Finished(Address("a", 0, 0, 10), reason="worker died")])
    assert remaining.seconds() is None
    remaining.record_blocks([Finished(Address("a", 1, 0, 5), seconds=5.0)])
    assert remaining.seconds() == pytest.approx(5.0)
