"""Worlds are carried out until errors are as small as they are wanted, whoever interrupts that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_studies
import pytest

from simlab.commands.launch import judge_soundness
from simlab.comparing.contrasts import compare
from simlab.config.precision_targets import parse_until
from simlab.engine import ledger
from simlab.engine.addresses import Address
from simlab.engine.backends.local import Local
from simlab.store import filling
from simlab.store.opening import measures_of, open_filled
from simlab.store.query import records, select
from simlab.store.verifying import verify
from simlab.types import UNRUN, InputError

TARGET = "mean=.12"


def sweep(precision: str = TARGET, at_most: str | None = None, **sizes: Any) -> fake_studies.Sweep:
    until = parse_until(precision, at_most, None)
    assert until is not None
    return replace(fake_studies.sweep(**sizes), until=replace(until, studies=sizes.get("studies")))


def fill(wanted: fake_studies.Sweep, folder: Path, jobs: int = 1) -> Any:
    return filling.fill(
        wanted,
        folder,
        fake_studies.MEASURES,
        jobs,
        block=fake_studies.block,
        check=fake_studies.check,
        labels=fake_studies.LABELS,
        quiet=True,
    )


def blocks(folder: Path) -> set[Address]:
    with ledger.reading(folder) as book:
        return {row.block.address for row in book.blocks()}


def sizes(folder: Path) -> Mapping[str, int]:
    with ledger.reading(folder) as book:
        return {
            cell: len(book.read_requested_sizes().studies_by_world(cell)) for cell in book.read_requested_sizes().sizes
        }


def test_cells_have_at_least_thirty_worlds_and_the_error_that_was_asked(tmp_path: Path) -> None:
    fill(sweep("mean=10"), tmp_path)
    assert set(sizes(tmp_path).values()) == {30}
    with open_filled(tmp_path) as dataset:
        first = float(dataset["mean_mcse"].max())
    wanted = f"mean={first / 1.2:.6f}"
    fill(sweep(wanted), tmp_path)
    with open_filled(tmp_path) as dataset:
        assert float(dataset["mean_mcse"].max()) <= first / 1.2 + 1e-6
        assert [row["reached"] for row in records(dataset, ["mean"])] == [True, True]
    assert max(sizes(tmp_path).values()) > 30
    assert verify(tmp_path, fake_studies.MEASURES).problems == () or all(
        "no such deal" in line for line in verify(tmp_path, fake_studies.MEASURES).problems
    )


def test_the_same_again_has_nothing_to_do(tmp_path: Path) -> None:
    fill(sweep(), tmp_path)
    again = fill(sweep(), tmp_path)
    assert again.blocks == 0


@pytest.mark.slow
def test_two_jobs_and_an_end_on_the_way_come_to_the_same_campaigns(tmp_path: Path) -> None:
    fill(sweep(studies=5), tmp_path / "one")
    fill(sweep(studies=5), tmp_path / "two", jobs=2)
    assert blocks(tmp_path / "one") == blocks(tmp_path / "two")
    cut = fill(sweep(at_most="200", studies=5), tmp_path / "cut")
    assert any("--at-most 200 campaigns are there" in line for line in cut.notes)
    with ledger.reading(tmp_path / "cut") as book:
        assert book.shortfall() == (200, 200)
    fill(sweep(studies=5), tmp_path / "cut")
    assert blocks(tmp_path / "cut") == blocks(tmp_path / "one")
    assert fake_studies.digest(tmp_path / "cut") == fake_studies.digest(tmp_path / "one")


def test_ctrl_c_on_the_way_changes_no_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(sweep(studies=5), tmp_path / "one")
    seen, results = [], Local.results

    def interrupted(*arguments: Any, **more: Any) -> Any:
        for finished in results(*arguments, **more):
            seen.append(finished)
            # A quick machine is done with a round in two bundles.
            if len(seen) == 2:
                raise KeyboardInterrupt
            yield finished

    with monkeypatch.context() as patched:
        patched.setattr(Local, "results", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fill(sweep(studies=5), tmp_path / "two")
    with ledger.reading(tmp_path / "two") as book:
        there, wanted = book.shortfall()
    assert there < wanted
    fill(sweep(studies=5), tmp_path / "two")
    assert fake_studies.digest(tmp_path / "two") == fake_studies.digest(tmp_path / "one")


def test_time_that_is_over_leaves_whole_worlds(tmp_path: Path) -> None:
    cut = fill(sweep("mean=.0001", "0.5s", studies=5), tmp_path)
    assert any("--at-most 0.5 s is over; the same command goes on" in line for line in cut.notes)
    with ledger.reading(tmp_path) as book:
        there, wanted = book.shortfall()
        declared = book.declaration() or {}
    assert there == wanted > 0
    assert declared["until"] == {"precision": {"mean": 0.0001}, "seconds": 0.5}
    with open_filled(tmp_path) as dataset:
        assert not any(row["reached"] for row in records(dataset, ["mean"]))
        assert json.loads(dataset.attrs["sweep"])["until"] == declared["until"]


def test_too_few_campaigns_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--at-most 3: the first world of 2 cells takes 10 campaigns; raise it"):
        fill(sweep(at_most="3", studies=5), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_difference_is_measured_between_neighbours(tmp_path: Path) -> None:
    fill(sweep("mean:difference=.25", studies=5), tmp_path)
    with open_filled(tmp_path) as dataset:
        assert [row["reached"] for row in records(dataset, ["mean"])] == [True, True]
        first, second = compare(dataset, by="documents", measure="mean", baseline=10)
        assert first.contrast is None
        assert second.contrast is not None
        assert second.contrast.mcse <= 0.25
        # Of a cell alone its neighbours are known still.
        alone = select(dataset, {"documents": [20]})
        assert [row["reached"] for row in records(alone, ["mean"])] == [True]
        assert measures_of(alone) == measures_of(dataset)
        neighbourless = dataset.isel(documents=[1])
        assert [row["reached"] for row in records(neighbourless, ["mean"])] == [None]


def test_what_cannot_be_told_is_no_reservation_and_what_is_lacking_is_one(tmp_path: Path) -> None:
    fill(sweep("mean:difference=.25", "60", documents=(10, 20, 30), studies=3), tmp_path)
    with open_filled(tmp_path) as dataset:
        held = dataset.load()
    assert (held["status"] == 0).all()
    assert judge_soundness(held) == 3
    # Cells that nobody carried out have no neighbours, and are none.
    held["status"][1:] = UNRUN
    held["mean_influence"][1:] = float("nan")
    assert [row["reached"] for row in records(held, ["mean"])] == [None] * 3
    assert judge_soundness(held) == 0
