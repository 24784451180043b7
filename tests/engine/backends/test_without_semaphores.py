"""Where the system gives out no semaphores one process goes without, and several are refused in a line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import fake_studies
import joblib.externals.loky.backend.synchronize  # noqa: F401
import pytest

from simlab.engine import ledger, run
from simlab.engine.addresses import Address
from simlab.engine.backends import local
from simlab.engine.dispatch import WORKER_DIED
from simlab.engine.forecast import forecast
from simlab.engine.pools import SEMAPHORES, NoSemaphores


@pytest.fixture(params=[errno.ENOSPC, pytest.param(errno.EROFS, marks=pytest.mark.slow)])
def why(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Have no semaphores: Linux says so when it cannot make their files."""
    why = os.strerror(request.param)

    class Refused:
        def __init__(self, *_: object, **__: object) -> None:
            raise OSError(request.param, why)

    local._let_go()
    # The module is known to its neighbours only: a name beside it hides it from an import.
    semaphores = sys.modules["joblib.externals.loky.backend.synchronize"]
    monkeypatch.setattr(semaphores, "_SemLock", Refused)
    yield why.lower()
    local._let_go()


def kept(folder: Path) -> list[tuple[Address, bytes]]:
    with ledger.reading(folder) as book:
        return sorted(((row.block.address, row.block.payload) for row in book.blocks()), key=str)


def carry_out(folder: Path, jobs: int = 1, name: str = "block") -> run.Summary:
    block = getattr(fake_studies, name)
    return run.run(fake_studies.sweep(), folder, jobs, block=block, check=fake_studies.check, quiet=True)


def test_one_process_computes_the_same(tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert carry_out(tmp_path / "without").campaigns == 40
    monkeypatch.undo()
    assert carry_out(tmp_path / "with").campaigns == 40
    assert kept(tmp_path / "without") == kept(tmp_path / "with")


def test_several_processes_are_refused(tmp_path: Path, why: str) -> None:
    with pytest.raises(NoSemaphores, match=f"^{SEMAPHORES}: {why}; .*(free some space|make it writable).*--jobs 1"):
        carry_out(tmp_path, 2)


@pytest.mark.parametrize("why", [errno.ENOSPC], indirect=True)
@pytest.mark.slow
def test_a_block_that_kills_its_process_is_known(tmp_path: Path, why: str) -> None:
    summary = carry_out(tmp_path, name="deadly")
    assert [failure.address for failure in summary.failures] == ["documents=20, world 1, studies 4 to 7"]
    assert summary.failures[0].reason.startswith(WORKER_DIED)
    assert sum(row[0].count for row in kept(tmp_path)) == 40


def test_a_forecast_says_why_it_timed_nothing(tmp_path: Path, why: str) -> None:
    found = forecast(fake_studies.sweep(), tmp_path / "o", 1, block=fake_studies.block, check=fake_studies.check)
    assert found.at_least
    assert SEMAPHORES in found.how
