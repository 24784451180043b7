"""Kill drivers and workers: what is finished stays, what is missing comes again, the store is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fake_studies
import pytest

from simlab.engine import ledger
from simlab.rng import stream
from simlab.store import filling, opening
from simlab.store.verifying import verify
from simlab.types import InputError

DRIVER = str(Path(__file__).parent / "driver.py")
MARK = "SIMLAB_TEST_MARK"
LONGEST_SECONDS = 3.0


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
    _, errors = driver.communicate(timeout=60)
    assert driver.returncode == expected, errors
    return errors


def await_blocks(folder: Path, n: int) -> None:
    """Wait until a driver has made its ledger grow, without opening the ledger."""
    deadline = time.monotonic() + 30
    while not (folder / ledger.FILE).exists() or (folder / ledger.FILE).stat().st_size < 4096 * (10 + n):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def relatives(folder: Path) -> Iterator[int]:
    """Find the processes that descend from a driver, also when it is gone."""
    mark = f"{MARK}={folder}".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environment.read_bytes().split(b"\0"):
                yield int(environment.parent.name)
        except OSError:
            continue


def assert_none_survives(folder: Path) -> None:
    deadline = time.monotonic() + 10
    while list(relatives(folder)):
        assert time.monotonic() < deadline, "workers outlive their driver"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    drive(folder, 1, "block")
    assert verify(folder, fake_studies.MEASURES).problems == ()
    return fake_studies.digest(folder)


def kill_and_resume(kills: int, seed: int, root: Path, undisturbed: dict[str, str]) -> None:
    moments = stream(seed, "moments of death").uniform(0.2, LONGEST_SECONDS, size=kills)
    for k, moment in enumerate(moments):
        folder = root / str(k // 3)
        with driving(folder):
            time.sleep(moment)
        assert_none_survives(folder)
        if k % 3 == 2 or k == kills - 1:
            drive(folder)
            assert fake_studies.digest(folder) == undisturbed
            assert verify(folder, fake_studies.MEASURES).problems == ()
            assert sorted(path.name for path in folder.iterdir()) == ["README.txt", "ledger.sqlite", "results.zarr"]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for survivors in /proc")
def test_killed_drivers_lose_nothing(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    kill_and_resume(3, 1, tmp_path, undisturbed)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for survivors in /proc")
def test_many_killed_drivers_lose_nothing(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    kill_and_resume(20, 2, tmp_path, undisturbed)


def test_finished_blocks_of_a_killed_driver_are_not_run_again(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    with driving(tmp_path):
        await_blocks(tmp_path, 5)
    with ledger.reading(tmp_path) as book:
        rows = list(book.blocks())
    assert all(row.sound for row in rows)
    assert rows
    sweep = fake_studies.sweep((10, 20, 30), worlds=3, studies=20)
    done = filling.fill(
        sweep, tmp_path, fake_studies.MEASURES, 1, labels=fake_studies.LABELS, block=fake_studies.block,
        check=fake_studies.check, quiet=True,
    )  # fmt: skip
    assert done.blocks == 45 - len(rows)
    assert fake_studies.digest(tmp_path) == undisturbed


def test_an_interrupted_driver_leaves_quietly_with_its_workers(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    with driving(tmp_path) as driver:
        await_blocks(tmp_path, 5)
        os.killpg(driver.pid, signal.SIGINT)
        assert finish(driver, 130) == "interrupted\n"
    assert_none_survives(tmp_path)
    with pytest.raises(InputError, match="interrupted"):
        opening.open_results(tmp_path)
    drive(tmp_path)
    assert fake_studies.digest(tmp_path) == undisturbed


def test_a_dead_worker_is_replaced(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    order = tmp_path / "kill"
    order.touch()
    drive(tmp_path / "out", block="deadly_once", SIMLAB_TEST_KILL=str(order))
    assert not order.exists()
    assert fake_studies.digest(tmp_path / "out") == undisturbed


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
