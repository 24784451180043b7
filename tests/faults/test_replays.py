"""A sample of finished studies is carried out again: what does not come again is no result."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_studies
import numpy as np
import pytest
from small_studies import judgement_study, preference_study, study

from simlab.engine import ledger
from simlab.engine import run as engine
from simlab.engine.addresses import Address, Finished, unpack
from simlab.engine.continuation import cell_key
from simlab.engine.replays import ONE_IN, difference, name_study, replay_block, sample
from simlab.engine.workers import BlockFunction, BlockTask, work
from simlab.studies.blocks import run_block
from simlab.types import Place

COUNT = itertools.count()


def drifting(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    """Give other bits with each call, the least that can be told."""
    found = fake_studies.block(config, places)
    last = np.nextafter(found.arrays["estimate"], np.inf) if next(COUNT) % 2 else found.arrays["estimate"]
    return replace(found, arrays=found.arrays | {"estimate": last})


def own_generator(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    found = fake_studies.block(config, places)
    return replace(found, arrays=found.arrays | {"p_value": np.random.default_rng().random((len(places), 3))})


def run(folder: Path, block: BlockFunction, jobs: int = 1, **changes: Any) -> engine.RunSummary:
    sweep = fake_studies.sweep(**changes)
    return engine.run(sweep, folder, jobs, block=block, check=fake_studies.check, quiet=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_generator_of_its_own_is_noticed(tmp_path: Path, jobs: int) -> None:
    summary = run(tmp_path, own_generator, jobs)
    (failure,) = summary.failures
    assert "gave another p_value when it was carried out again: a part draws from a generator" in failure.reason
    # The same command tries again; what is sound in the meantime stays.
    again = run(tmp_path, fake_studies.block, jobs)
    assert (again.blocks, again.failures) == (1, ())


def test_the_last_bit_is_noticed(tmp_path: Path) -> None:
    (failure,) = run(tmp_path, drifting, documents=(10,), worlds=1, studies=3).failures
    assert "gave another estimate" in failure.reason


def test_a_study_that_fails_alone_is_noticed(tmp_path: Path) -> None:
    def never_alone(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
        if len(places) == 1:
            raise ZeroDivisionError("alone")
        return fake_studies.block(config, places)

    (failure,) = run(tmp_path, never_alone).failures
    assert "failed when it was carried out again: ZeroDivisionError: alone" in failure.reason


def test_sound_blocks_are_kept_as_they_are(tmp_path: Path) -> None:
    """Negative control, failed designs among the studies: all of them come again."""
    assert run(tmp_path, fake_studies.block, studies=30).failures == ()
    with ledger.reading(tmp_path) as book:
        rows = list(book.blocks())
    config = fake_studies.sweep(studies=30).cells()
    configs = {cell_key(cell.config): cell.config for cell in config}
    for row in rows:
        at = row.block.address
        for k in range(at.count):
            alone = work(fake_studies.block, configs[at.cell], name_study(at, k))
            assert difference(row.block, alone) is None


def tasks(cells: int, worlds: int, blocks: int, count: int = 50) -> list[BlockTask]:
    addresses = itertools.product(range(cells), range(worlds), range(blocks))
    return [BlockTask(Address(f"{cell:032x}", world, count * k, count), {}) for cell, world, k in addresses]


@pytest.mark.parametrize(("cells", "worlds", "blocks"), [(1, 1, 1), (1, 40, 10), (24, 5, 1), (200, 3, 2), (3, 10, 7)])
def test_a_sample_is_small_spread_over_cells_and_always_the_same(
    cells: int, worlds: int, blocks: int, tmp_path: Path
) -> None:
    every = tasks(cells, worlds, blocks)
    with ledger.open_to_write(tmp_path) as book:
        chosen = sample(every, book)
        assert chosen == sample(every[::-1], book)
    campaigns = 50 * len(every)
    assert len(chosen) == -(-campaigns // ONE_IN) == len({task.address for task in chosen})
    assert len(chosen) <= 0.02 * campaigns
    of_cell = Counter(task.address.cell for task in chosen)
    assert len(of_cell) == min(cells, len(chosen))
    assert max(of_cell.values()) - min(of_cell.values()) <= 1
    if worlds >= 10:
        assert len({task.address.world for task in chosen}) > 1


def test_blocks_that_failed_are_not_carried_out_again(tmp_path: Path) -> None:
    every = tasks(2, 1, 1)
    with ledger.open_to_write(tmp_path) as book:
        book.record([Finished(every[0].address, reason="it failed")])
        assert sample(every, book) == [every[1]]
        book.record([Finished(every[1].address, reason="it failed")])
        assert sample(every, book) == []


def test_a_block_is_withdrawn_as_a_whole(tmp_path: Path) -> None:
    run(tmp_path, fake_studies.block)
    with ledger.open_to_write(tmp_path) as book:
        before = [row.block for row in book.blocks()]
        book.withdraw(before[3].address, "no reason")
        after = [row.block for row in book.blocks()]
        assert book.block(before[0].address) == before[0]
        assert book.block(replace(before[0].address, first=77)) is None
    assert [block.address for block in after] == [block.address for block in before]
    assert [block.reason for block in after] == ["no reason" if k == 3 else "" for k in range(len(before))]
    assert run(tmp_path, fake_studies.block).blocks == 1


STUDIES = {
    "rate": study(),
    "design fails": study(load_entropy=0.9, load_tolerance=0.0004, load_tries=1),
    "compare": preference_study(annotations=100),
    "judge": judgement_study(),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_of_any_kind_comes_again_alone_and_with_nothing_kept(name: str) -> None:
    at = Address("cell", 1, 0, 5)
    held = work(run_block, STUDIES[name], at)
    assert not held.failed
    assert (len(held.failures) > 0) == (name == "design fails")
    for k in range(at.count):
        assert difference(held, replay_block(run_block, STUDIES[name], name_study(at, k))) is None
    assert replay_block(run_block, STUDIES[name], at) == held
    # Negative control: another study is another.
    other = replay_block(run_block, STUDIES[name], replace(name_study(at, 1), world=0))
    assert difference(held, other) is not None


def test_a_world_that_is_drawn_otherwise_each_time_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process keeps of a world would hide it: the replay draws it anew."""
    from simlab.world import systems

    held = work(run_block, study(), Address("cell", 0, 0, 3))
    lognormal = systems.draw_lognormal
    monkeypatch.setattr(systems, "draw_lognormal", lambda rng, sd, shape: lognormal(np.random.default_rng(), sd, shape))
    again = replay_block(run_block, study(), Address("cell", 0, 1, 1))
    assert "gave another" in (difference(held, again) or "")
    assert unpack(again.payload)["true_value"].tolist() != unpack(held.payload)["true_value"].tolist()


def test_a_run_that_was_killed_before_its_sample_owes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks are there, so that the same command has nothing to run; what does not come again is noticed still."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(engine, "withdraw_what_does_not_come_again", killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, own_generator)
    again = run(tmp_path, own_generator)
    assert again.blocks == 0
    assert [one for one in again.failures if "when it was carried out again" in one.reason]
