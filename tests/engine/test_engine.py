"""What is run, what is run again, and what happens to what goes wrong."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_studies
import numpy as np
import pytest

from simlab.effort import current_effort, use_effort
from simlab.engine import ledger, preparing
from simlab.engine import run as engine
from simlab.engine.addresses import Address, unpack
from simlab.engine.dispatch import WORKER_DIED
from simlab.engine.forecast import forecast
from simlab.engine.preparing import prepare
from simlab.engine.progress import progress
from simlab.types import InputError, Place


def run(sweep: fake_studies.Sweep, folder: Path, block: str = "block", jobs: int = 1) -> engine.RunSummary:
    return engine.run(
        sweep, folder, jobs, block=getattr(fake_studies, block), check=fake_studies.check, quiet=True
    )  # fmt: skip


def blocks(folder: Path) -> list[Address]:
    with ledger.reading(folder) as book:
        return [row.block.address for row in book.blocks()]


def test_the_same_sweep_again_has_nothing_to_do(tmp_path: Path) -> None:
    first = run(fake_studies.sweep(), tmp_path)
    assert (first.cells, first.blocks, first.campaigns) == (2, 12, 40)
    again = run(fake_studies.sweep(), tmp_path)
    assert (again.blocks, again.campaigns) == (0, 0)
    assert again.failed_designs == first.failed_designs == {"no such deal": 4}


@pytest.mark.parametrize(
    ("larger", "campaigns"),
    [({"worlds": 3}, 20), ({"studies": 13}, 12), ({"documents": (10, 20, 30)}, 20), ({"documents": (30,)}, 20)],
)
def test_more_runs_only_what_is_missing(tmp_path: Path, larger: dict, campaigns: int) -> None:
    run(fake_studies.sweep(), tmp_path)
    before = blocks(tmp_path)
    assert run(fake_studies.sweep(**larger), tmp_path).campaigns == campaigns
    assert set(before) <= set(blocks(tmp_path))


def test_less_runs_nothing(tmp_path: Path) -> None:
    run(fake_studies.sweep(), tmp_path)
    assert run(fake_studies.sweep((20,), worlds=1, studies=5), tmp_path).blocks == 0


def test_another_block_size_continues_within_the_gaps(tmp_path: Path) -> None:
    run(fake_studies.sweep(studies=6, block=4), tmp_path)
    run(fake_studies.sweep(studies=13, block=5), tmp_path)
    first = [(at.first, at.count) for at in blocks(tmp_path)[:4]]
    assert first == [(0, 4), (4, 2), (6, 5), (11, 2)]


def test_a_worker_meets_all_designs_of_a_world_in_a_row(tmp_path: Path) -> None:
    with ledger.open_to_write(tmp_path) as book:
        job = prepare(fake_studies.sweep(), fake_studies.check)
        tasks = engine.list_missing(fake_studies.sweep(), book, engine.fit_in(job, book)[1])
    assert [task.address.world for task in tasks] == [0] * 6 + [1] * 6


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_block_that_raises_is_kept_and_tried_again(tmp_path: Path, jobs: int) -> None:
    summary = run(fake_studies.sweep(), tmp_path, "raising", jobs)
    assert [(failure.address, failure.reason) for failure in summary.failures] == [
        ("documents=10, world 1, studies 4 to 7", "ZeroDivisionError: by zero"),
        ("documents=20, world 1, studies 4 to 7", "ZeroDivisionError: by zero"),
    ]
    assert summary.campaigns == 40
    again = run(fake_studies.sweep(), tmp_path)
    assert again.blocks == 2
    assert again.failures == ()


def test_a_block_that_kills_its_worker_is_found(tmp_path: Path) -> None:
    summary = run(fake_studies.sweep(), tmp_path, "deadly", 2)
    assert [failure.address for failure in summary.failures] == ["documents=20, world 1, studies 4 to 7"]
    assert summary.failures[0].reason.startswith(WORKER_DIED)
    with ledger.reading(tmp_path) as book:
        assert sum(row.block.address.count for row in book.blocks()) == 40


def test_a_block_of_the_wrong_length_fails(tmp_path: Path) -> None:
    def short(*address):
        found = fake_studies.block(*address)
        return replace(found, arrays=found.arrays | {"cost": found.arrays["cost"][1:]})

    summary = engine.run(fake_studies.sweep((10,)), tmp_path, 1, block=short, check=fake_studies.check, quiet=True)
    assert summary.failures[0].reason == "ValueError: the block returned 3 rows of cost, not 4"


@pytest.mark.parametrize("jobs", [1, 2])
def test_blocks_compute_on_one_thread(tmp_path: Path, jobs: int) -> None:
    run(fake_studies.sweep(), tmp_path, "counting_threads", jobs)
    with ledger.reading(tmp_path) as book:
        costs = {cost for row in book.blocks() for cost in unpack(row.block.payload)["cost"].tolist()}
    assert costs == {1.0}


def test_a_full_disk_ends_the_run_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(book: ledger.Ledger, block: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(ledger.Ledger, "record", full)
    with pytest.raises(InputError, match=r"ledger\.sqlite: database or disk is full"):
        run(fake_studies.sweep(), tmp_path, jobs=2)
    monkeypatch.undo()
    assert run(fake_studies.sweep(), tmp_path, jobs=2).blocks == 12


def test_a_cell_that_contradicts_itself_stops_the_sweep_before_anything_is_written(tmp_path: Path) -> None:
    def check(config):
        if config["design"]["documents"] > 10:
            raise InputError("design.documents=20 exceeds the 15 documents of this world")
        return fake_studies.check(config)

    with pytest.raises(InputError, match="exceeds"):
        engine.run(fake_studies.sweep(), tmp_path / "out", 1, block=fake_studies.block, check=check)
    assert not (tmp_path / "out").exists()


def test_outcomes_that_are_too_large_are_refused(tmp_path: Path) -> None:
    huge = fake_studies.sweep(worlds=2**10, studies=2**15, block=2**10)
    with pytest.raises(InputError, match=r"engine\.outcomes=false"):
        run(huge, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_outcomes_that_the_disk_does_not_take_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = fake_studies.sweep(range(4000), worlds=2**5, studies=2**10, block=2**10)
    monkeypatch.setattr(preparing, "free_disk", lambda folder: 7 * 2**30)
    with pytest.raises(
        InputError, match=r"4,000 cells .* GiB, more than the 7.0 that are free there; .*outcomes=false"
    ):
        run(many, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    job = preparing.prepare(many, fake_studies.check)
    monkeypatch.setattr(preparing, "free_disk", lambda folder: 2**50)
    preparing.refuse_too_large(many, job, tmp_path)


def test_a_torn_block_is_run_again(tmp_path: Path) -> None:
    run(fake_studies.sweep(), tmp_path)
    fake_studies.tear(tmp_path)
    again = run(fake_studies.sweep(), tmp_path)
    assert (again.torn, again.blocks) == (1, 1)


def _buys(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    """Buy a rating of each document."""
    paid = np.full(len(places), config["design"]["documents"])
    return fake_studies.Block({"ratings_used": paid, "cost": 0.5 * paid, "estimate": np.zeros((len(places), 3))})


def _buys_slowly(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    time.sleep(0.02)
    return _buys(config, places)


def test_a_forecast_says_what_a_run_would_do(tmp_path: Path) -> None:
    sweep = fake_studies.sweep()
    parts = {"block": fake_studies.slow, "check": fake_studies.check}
    new = forecast(sweep, tmp_path / "out", 2, **parts)
    assert (new.cells, new.campaigns, new.blocks_missing, new.campaigns_missing) == (2, 40, 12, 40)
    assert 0.2 <= new.seconds < 20
    assert "one study timed here in each of 2 of 2 cells" in new.how
    assert not (tmp_path / "out").exists()
    run(fake_studies.sweep((10,)), tmp_path / "out")
    half = forecast(sweep, tmp_path / "out", 2, **parts)
    assert (half.campaigns, half.campaigns_missing) == (40, 20)
    with pytest.raises(InputError, match="seed=1 there, seed=2 asked"):
        forecast(fake_studies.sweep(seed=2), tmp_path / "out", 2, **parts)


def test_a_forecast_looks_at_the_whole_sweep(tmp_path: Path) -> None:
    """What a campaign buys is said of all cells, also of those that are stored."""
    parts = {"block": _buys, "check": fake_studies.check}
    run(fake_studies.sweep((10, 40)), tmp_path / "out")
    for documents, how in (((10, 40), "nothing is missing"), ((20, 10, 40), "in each of 1 of 1 cells")):
        found = forecast(fake_studies.sweep(documents), tmp_path / "out", 1, **parts)
        assert how in found.how
        assert sorted(one.ratings for one in found.purchases) == sorted(documents)


def test_a_forecast_without_patience_looks_at_the_ends_of_axes(tmp_path: Path) -> None:
    with use_effort(current_effort()._replace(timing_seconds=0.3)):
        found = forecast(
            fake_studies.sweep(range(10, 1010)), tmp_path / "out", 1, block=_buys_slowly, check=fake_studies.check
        )
    bought = {one.ratings for one in found.purchases}
    assert 1009 in bought
    assert len(bought) < found.cells


def test_progress_writes_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(40, quiet=False) as advance:
        for _ in range(10):
            advance(4)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("40 of 40 campaigns (100%), ")
    assert captured.err.count("\n") == 1
    with progress(40, quiet=True) as advance:
        advance(40)
    assert capsys.readouterr().err == ""


def test_planning_imports_nothing_heavy() -> None:
    heavy = "{'xarray', 'zarr', 'scipy.stats', 'jax', 'pandas'}"
    code = f"import simlab, simlab.engine.forecast, simlab.studies.checks, sys; print({heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_fits_by_joblib_in_the_same_session_do_not_meet_the_workers_of_a_sweep(tmp_path: Path) -> None:
    from joblib import Parallel, delayed

    for k in range(2):
        engine.run(
            fake_studies.sweep(), tmp_path / str(k), 2, block=fake_studies.block, check=fake_studies.check, quiet=True
        )
        assert Parallel(n_jobs=2)(delayed(abs)(n) for n in (-1, -2, -3)) == [1, 2, 3]
