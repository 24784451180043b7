"""Poison one block: it is ended, tried again, counted as failed with its reason; all others are what they were."""

from __future__ import annotations

import time
from pathlib import Path

import fake_studies
import pytest

from simlab.engine import ledger
from simlab.engine.continuation import cell_key
from simlab.engine.run import RunSummary
from simlab.store import filling
from simlab.store.verifying import verify

LIMITS = {"retries": 1, "block_seconds": None, "worker_memory": None}
ENDS_WITHIN_SECONDS = 300.0


def fill(folder: Path, block: str, jobs: int = 2) -> RunSummary:
    return filling.fill(
        fake_studies.sweep(limits=LIMITS | fake_studies.OWN_LIMITS.get(block, {})),
        folder,
        fake_studies.MEASURES,
        jobs,
        labels=fake_studies.LABELS,
        block=getattr(fake_studies, block),
        check=fake_studies.check,
        quiet=True,
    )


def held(folder: Path) -> dict[str, bytes]:
    with ledger.reading(folder) as book:
        return {f"{row.block.address.cell} {row.block.address}": row.block.payload for row in book.blocks()}


QUICK = [("deadly", 1)]
SLOW = [("short", 1), ("hanging", 2), ("eating", 1)]
EVERY = [(poison, jobs) for poison in fake_studies.POISONS for jobs in (1, 2)]


@pytest.mark.parametrize(
    ("poison", "jobs"),
    [
        *QUICK,
        *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW),
        *(pytest.param(*case, marks=pytest.mark.long) for case in EVERY if case not in QUICK + SLOW),
    ],
)
def test_a_poisoned_block_costs_itself_only(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], poison: str, jobs: int
) -> None:
    began = time.monotonic()
    summary = fill(tmp_path, poison, jobs)
    assert time.monotonic() - began < ENDS_WITHIN_SECONDS
    # No traceback, no dump of a crash: what is to be said is the reason.
    assert capfd.readouterr() == ("", "")
    assert [(one.address, one.reason) for one in summary.failures] == [
        ("documents=20, world 1, studies 4 to 7", fake_studies.POISONS[poison])
    ]
    fill(tmp_path / "sound", "block")
    damaged, sound = held(tmp_path), held(tmp_path / "sound")
    assert damaged.keys() == sound.keys()
    assert [name for name in sound if sound[name] != damaged[name]] == [name for name in damaged if not damaged[name]]
    assert len([name for name in damaged if not damaged[name]]) == 1
    assert fill(tmp_path, "block").blocks == 1
    assert fake_studies.digest(tmp_path) == fake_studies.digest(tmp_path / "sound")
    assert verify(tmp_path, fake_studies.MEASURES).problems == ()


def test_limits_leave_no_word_in_what_a_folder_is() -> None:
    limited, free = fake_studies.sweep(limits=fake_studies.OWN_LIMITS["eating"]), fake_studies.sweep()
    for one, other in zip(limited.cells(), free.cells(), strict=True):
        assert cell_key(one.config) == cell_key(other.config)
