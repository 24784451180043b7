"""Carry out sweeps whose worlds have several pools and draws of documents: grow, interrupt, check and replay them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import simlab
from simlab.commands.replay import carry_out
from simlab.engine import ledger
from simlab.engine.ledger import FILE
from simlab.store.verifying import verify
from simlab.types import InputError

SMALL = ("systems.n_documents=21", "systems.n_segments=50", "systems.n_systems=4", "design.documents=12", "worlds=2")
NAMES = ("world", "pool", "draw", "study")


def run(folder: Path, *more: str) -> xr.Dataset:
    simlab.run(*SMALL, *more, out=folder, jobs=1)
    return simlab.open_results(folder)


def by_place(dataset: xr.Dataset) -> dict[tuple[int, ...], bytes]:
    none = np.zeros(dataset.sizes["replicate"], int)
    places = zip(*(dataset[name].values if name in dataset else none for name in NAMES), strict=True)
    estimates = dataset["estimate"].values
    return {tuple(map(int, place)): row.tobytes() for place, row in zip(places, estimates, strict=True)}


def test_each_pool_meets_each_draw_of_documents(tmp_path: Path) -> None:
    dataset = run(tmp_path / "o", "pools=2", "document_draws=3", "studies=4")
    assert len(by_place(dataset)) == 2 * 2 * 3 * 4
    counts = Counter(place[:3] for place in by_place(dataset))
    assert set(counts.values()) == {4}
    assert {(pool, draw) for _, pool, draw in counts} == {(pool, draw) for pool in range(2) for draw in range(3)}


@pytest.mark.slow
def test_a_folder_grows_by_pools_and_draws_and_keeps_its_bits(tmp_path: Path) -> None:
    before = by_place(run(tmp_path / "o", "studies=3"))
    grown = by_place(run(tmp_path / "o", "studies=5", "pools=2"))
    at_once = by_place(run(tmp_path / "p", "studies=5", "pools=2"))
    assert before.items() <= grown.items()
    assert grown == at_once
    # Asked for less, a folder stays what it is.
    assert by_place(run(tmp_path / "o", "studies=3")) == grown


def test_the_same_bits_for_any_number_of_jobs(tmp_path: Path) -> None:
    words = (*SMALL, "pools=2", "document_draws=2", "studies=3")
    simlab.run(*words, out=tmp_path / "one", jobs=1)
    simlab.run(*words, out=tmp_path / "two", jobs=2)
    assert by_place(simlab.open_results(tmp_path / "one")) == by_place(simlab.open_results(tmp_path / "two"))


@pytest.mark.slow
def test_what_is_lost_of_a_pool_is_missed_and_computed_again(tmp_path: Path) -> None:
    folder = tmp_path / "o"
    whole = by_place(run(folder, "pools=2", "studies=3"))
    with sqlite3.connect(folder / FILE) as database:
        database.execute("DELETE FROM blocks WHERE pool = 1 AND world = 1")
    database.close()
    with ledger.reading(folder) as book:
        assert book.shortfall() == (9, 12)
    assert any("world 1, pool 1, studies 0 to 2" in problem for problem in verify(folder).problems)
    assert by_place(run(folder, "pools=2", "studies=3")) == whole


def test_a_declaration_that_is_lost_is_written_anew_from_the_blocks(tmp_path: Path) -> None:
    folder = tmp_path / "o"
    whole = by_place(run(folder, "pools=2", "document_draws=2", "studies=3"))
    with sqlite3.connect(folder / FILE) as database:
        database.execute("DELETE FROM meta WHERE key = 'sweep'")
    database.close()
    assert by_place(run(folder, "studies=3")) == whole
    with ledger.reading(folder) as book:
        assert len(book.read_requested_sizes().crossed) == 4


def test_a_campaign_of_a_pool_is_replayed_by_its_address(tmp_path: Path) -> None:
    run(tmp_path / "o", "pools=2", "document_draws=2", "studies=2")
    _, text, code = carry_out(tmp_path / "o", "0.1.1.0.1", plugins=(), debug=False)
    assert code == 0, text
    assert "world 1, pool 1, study 1" in text


def test_a_recorded_table_has_no_other_raters(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pools=2: the raters of a recorded table are there once"):
        simlab.run("systems=recorded", "design.documents=20", "pools=2", out=tmp_path / "o", jobs=1)
    assert not (tmp_path / "o").exists()


def test_other_test_sets_are_refused_where_each_has_a_truth_of_its_own(tmp_path: Path) -> None:
    words = ("question=judge", "systems.test_set=fixed", "budget.metric_ratings=null", "metric=none")
    with pytest.raises(InputError, match="document_draws=2: the truth of a fixed test set is its own"):
        simlab.run(*words, "analysis.estimator=sample_mean", "document_draws=2", out=tmp_path / "o", jobs=1)


@pytest.mark.parametrize(
    ("question", "small"),
    [
        ("compare", ("systems.n_systems=3", "systems.n_items=40", "budget.annotations_per_pair=40")),
        ("judge", ("systems.n_systems=3", "budget.human_ratings=20")),
    ],
    ids=["compare", "judge"],
)
def test_the_other_kinds_are_crossed_too(question: str, small: tuple[str, ...], tmp_path: Path) -> None:
    simlab.run(f"question={question}", *small, "worlds=2", "pools=2", "studies=2", out=tmp_path / "o", jobs=1)
    dataset = simlab.open_results(tmp_path / "o")
    assert dataset.sizes["replicate"] == 8
    assert set(dataset["pool"].values.tolist()) == {0, 1}
