"""Kill drivers and workers: what is finished stays, what is missing comes again, the store is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fake_studies
import pytest
from survivors import MARK, assert_gone, needs_proc, relatives

from simlab.engine import ledger
from simlab.engine.run import RunSummary
from simlab.rng import stream
from simlab.store import filling
from simlab.store.verifying import verify
from simlab.types import InputError

DRIVER = str(Path(__file__).parent / "driver.py")
PHASES = ("running", "preparing", "committing", "committing", "writing")
LONGEST_SECONDS = {"preparing": 0.3, "running": 1.5, "committing": 0.01, "writing": 0.4}
BLOCKS = 45


@contextmanager
def driving(folder: Path, jobs: int = 2, block: str = "slow", **environment: str) -> Iterator[subprocess.Popen[str]]:
    driver = subprocess.Popen(
        [sys.executable, "-W", "error", DRIVER, str(folder), str(jobs), block],
        env={**os.environ, MARK: str(folder), **environment},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with driver:
        try:
            yield driver
        finally:
            driver.kill()


def drive(folder: Path, jobs: int = 2, block: str = "slow", **environment: str) -> None:
    with driving(folder, jobs, block, **environment) as driver:
        finish(driver)


def finish(driver: subprocess.Popen[str], expected: int = 0) -> str:
    _, errors = driver.communicate(timeout=600)
    assert driver.returncode == expected, errors
    return errors


def await_blocks(folder: Path, n: int) -> None:
    """Wait until a driver has made its ledger grow, without opening the ledger."""
    deadline = time.monotonic() + 300
    while not (folder / ledger.FILE).exists() or (folder / ledger.FILE).stat().st_size < 4096 * (10 + n):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def complete(folder: Path) -> RunSummary:
    """Carry out here what a driver has left."""
    return filling.fill(
        fake_studies.sweep((10, 20, 30), worlds=3, studies=20),
        folder,
        fake_studies.MEASURES,
        1,
        labels=fake_studies.LABELS,
        block=fake_studies.block,
        check=fake_studies.check,
        quiet=True,
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    complete(folder)
    assert verify(folder, fake_studies.MEASURES).problems == ()
    return fake_studies.digest(folder)


def sound_blocks(folder: Path) -> dict[str, bytes]:
    try:
        with ledger.reading(folder) as book:
            rows = list(book.blocks())
    except InputError as error:
        # Killed before there was anything to keep.
        if "holds no sweep" in str(error):
            return {}
        raise
    assert all(row.sound for row in rows)
    return {f"{row.block.address.cell} {row.block.address}": row.block.payload for row in rows}


def kill(folder: Path, phase: str, delay: float) -> str:
    """Kill a driver some time after it has begun a phase; return the phase that it died in."""
    told = folder.with_suffix(".phase")
    told.write_text("")
    with driving(folder, SIMLAB_TEST_PHASE=str(told)) as driver:
        while told.read_text() != phase and driver.poll() is None:
            time.sleep(0.0005)
        time.sleep(delay)
        if driver.poll() is not None:
            return "done"
    return told.read_text()


def kill_and_resume(kills: int, seed: int, root: Path, undisturbed: dict[str, str]) -> Counter[str]:
    """Kill drivers in each phase, five to a folder, and then let one finish; count the phases that they died in."""
    rng = stream(seed, "moments of death")
    died: Counter[str] = Counter()
    for k in range(kills):
        folder = root / str(k // 5)
        before = sound_blocks(folder)
        # Each folder comes through all phases: who is killed while writing would leave nothing else to be killed in.
        phase = PHASES[k % 5]
        died[kill(folder, phase, float(rng.uniform(0, LONGEST_SECONDS[phase])))] += 1
        assert_gone(folder, [])
        after = sound_blocks(folder)
        assert before.items() <= after.items(), "a finished block was lost or changed"
        if k % 5 == 4 or k == kills - 1:
            complete(folder)
            assert after.items() <= sound_blocks(folder).items()
            assert len(sound_blocks(folder)) == BLOCKS, "a block was lost or doubled"
            assert fake_studies.digest(folder) == undisturbed
            assert verify(folder, fake_studies.MEASURES).problems == ()
            assert sorted(path.name for path in folder.iterdir()) == ["README.txt", "ledger.sqlite", "results.zarr"]
    return died


@pytest.mark.slow
@needs_proc
def test_killed_drivers_lose_nothing(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    kill_and_resume(5, 1, tmp_path, undisturbed)


@pytest.mark.long
@needs_proc
def test_many_killed_drivers_lose_nothing(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    died = kill_and_resume(100, 2, tmp_path, undisturbed)
    # For whoever runs this with -s.
    print(f"died while {dict(died)}")
    assert all(died[phase] >= 5 for phase in set(PHASES)), died


@pytest.mark.parametrize("left", [b"", bytes(512)])
def test_an_empty_journal_of_a_killed_driver_is_cleared_away(tmp_path: Path, left: bytes) -> None:
    complete(tmp_path)
    before = fake_studies.digest(tmp_path)
    journal = tmp_path / f"{ledger.FILE}-journal"
    journal.write_bytes(left)
    complete(tmp_path)
    assert not journal.exists()
    assert fake_studies.digest(tmp_path) == before


def test_finished_blocks_of_a_killed_driver_are_not_run_again(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    with driving(tmp_path):
        await_blocks(tmp_path, 5)
    with ledger.reading(tmp_path) as book:
        rows = list(book.blocks())
    assert all(row.sound for row in rows)
    assert rows
    done = complete(tmp_path)
    assert done.blocks == 45 - len(rows)
    assert fake_studies.digest(tmp_path) == undisturbed


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize(
    ("times", "delay"),
    [(2, 0.7), *(pytest.param(*case, marks=pytest.mark.long) for case in [(1, 0.5), (2, 0.0), (2, 0.2)])],
)
def test_an_interrupted_driver_leaves_quietly_with_its_workers(
    tmp_path: Path, undisturbed: dict[str, str], times: int, delay: float
) -> None:
    """Notebooks have no supervisor: Ctrl-C, also twice, and also while workers are starting."""
    with driving(tmp_path) as driver:
        await_blocks(tmp_path, 0)
        time.sleep(delay)
        known = [driver.pid, *relatives(tmp_path)]
        began = time.monotonic()
        for _ in range(times):
            os.killpg(driver.pid, signal.SIGINT)
            time.sleep(0.1)
        assert finish(driver, 130) == "interrupted\n"
        assert time.monotonic() - began < 60
    assert_gone(tmp_path, known)
    complete(tmp_path)
    assert fake_studies.digest(tmp_path) == undisturbed


@pytest.mark.slow
def test_nothing_depends_on_the_clock_on_the_wall(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    drive(tmp_path, block="jumping", SIMLAB_TEST_CLOCK="1")
    assert fake_studies.digest(tmp_path) == undisturbed


@pytest.mark.slow
def test_of_two_drivers_that_start_at_once_one_is_refused_in_one_line(
    tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    with driving(tmp_path, block="very_slow") as one, driving(tmp_path, block="very_slow") as other:
        deadline = time.monotonic() + 300
        while one.poll() is None and other.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        refused, going = (one, other) if one.poll() is not None else (other, one)
        errors = finish(refused, 2)
        assert errors == f"{tmp_path} is in use by another run; wait until it ends or give another --out\n"
        assert going.poll() is None
    complete(tmp_path)
    assert fake_studies.digest(tmp_path) == undisturbed


@pytest.mark.slow
def test_a_dead_worker_is_replaced(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    order = tmp_path / "kill"
    order.touch()
    drive(tmp_path / "out", block="deadly_once", SIMLAB_TEST_KILL=str(order))
    assert not order.exists()
    assert fake_studies.digest(tmp_path / "out") == undisturbed


@pytest.mark.slow
def test_a_second_driver_is_refused(tmp_path: Path) -> None:
    sweep = fake_studies.sweep((10, 20, 30), worlds=3, studies=20)
    with driving(tmp_path, jobs=1, block="very_slow"):
        await_blocks(tmp_path, 1)
        with pytest.raises(InputError, match="in use by another run"):
            filling.fill(sweep, tmp_path, {}, 1, block=fake_studies.block, check=fake_studies.check, quiet=True)
        with pytest.raises(InputError, match="in use by another run"):
            verify(tmp_path)
    # The lock of a killed driver does not block.
    filling.fill(sweep, tmp_path, {}, 1, block=fake_studies.block, check=fake_studies.check, quiet=True)
    assert verify(tmp_path).problems == ()
