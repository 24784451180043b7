"""Check how predictions are held against real studies: splits, parts of tables, records, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simlab.cli import answer
from simlab.fitting import backtest, studies
from simlab.fitting.backtest import QUICK, Record, Size
from simlab.fitting.studies import Design, part_of, stable_shares
from simlab.rng import stream
from simlab.types import RATE, InputError, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import recorded

TINY = replace(QUICK, worlds=4, per_set=6, observed_per_set=10, own=True)


@pytest.fixture(scope="module")
def world() -> World:
    return recorded(stream(0), path=None, sha256=None, names=None)


def test_a_split_takes_documents_from_every_bucket(world: World) -> None:
    first, again, other = (backtest.split_documents(world, 0.5, split, 0) for split in (0, 0, 1))
    assert first.sum() == 15
    assert (first == again).all()
    assert (first != other).any()
    assert set(np.bincount(world.frame.bucket[first], minlength=10)) == {1, 2}


def test_a_part_keeps_its_documents_ratings(world: World) -> None:
    kept = backtest.split_documents(world, 0.5, 0, 0)
    part = part_of(world, kept)
    assert part.frame.n_documents == 15
    of_part = fixed_ratings(part)
    assert of_part is not None
    ratings = fixed_ratings(world)
    assert ratings is not None
    items = kept[world.frame.document]
    np.testing.assert_array_equal(of_part.value, ratings.value[:, items])
    assert set(part.frame.document) == set(range(15))
    assert part.frame.rater_names == world.frame.rater_names


@pytest.mark.parametrize(("share", "said"), [(0.0, "between 0 and 1"), (1.0, "between 0 and 1"), (0.9, "leaves 3")])
def test_shares_that_leave_nothing_are_refused(world: World, share: float, said: str) -> None:
    with pytest.raises(InputError, match=said):
        backtest.tasks(world, share, 1, QUICK, 0)


def test_designs_that_a_table_does_not_allow_are_left_out(world: World) -> None:
    assert len(backtest.designs(world, QUICK)) == 3
    four = replace(QUICK, ratings_per_item=(1, 4))
    assert {design.ratings_per_item for design in backtest.designs(world, four)} == {1}


def test_records_have_all_axes(world: World) -> None:
    tasks = backtest.tasks(world, 0.5, 1, TINY, 0)
    assert {(task.target, task.method) for task in tasks} == {
        *(("all", method) for method in ("fit", "naive")),
        *(("held_out", method) for method in ("fit", "own", "naive")),
    }
    records = backtest.carry_out(tasks[1])
    assert len(records) == 3 * 4
    assert all(record.low <= record.predicted <= record.high or record.low == record.high for record in records)
    assert {record.documents for record in records} == {30}


def test_studies_without_noise_are_stable_and_pure_noise_is_not(world: World) -> None:
    """Two controls of the machinery: a world in which all raters say the same, and one that holds nothing but noise."""
    design = Design("ungrouped", 30, 1)
    ratings = fixed_ratings(world)
    assert ratings is not None
    mean = np.broadcast_to(np.nanmean(ratings.value, axis=2, keepdims=True), ratings.value.shape)
    same = world.answering(RATE, replace(ratings, value=mean))
    assert stable_shares(same, design, ("none",), seed=1, sets=1, per_set=20)["none"][0] == 1.0
    noise = world.answering(RATE, replace(ratings, value=stream(1).random(mean.shape)))
    assert stable_shares(noise, design, ("none",), seed=1, sets=1, per_set=40)["none"][0] < 0.9


def test_the_summary_counts_intervals_that_hold() -> None:
    def record(predicted: float, low: float, high: float) -> Record:
        return Record(0, "all", "fit", "ungrouped", "none", 30, 1, predicted, low, high, 0.8, 0.01, low, high)

    row = backtest.summary([record(0.7, 0.6, 0.75), record(0.9, 0.7, 1.0)])[0]
    assert (row["mae"], row["bias"], row["coverage"], row["n"]) == pytest.approx((0.1, 0.0, 0.5, 2))


def test_the_command_gives_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backtest, "QUICK", TINY)
    monkeypatch.setattr("simlab.fitting.mqm.fast.ROUNDS", (30, 40))
    words = ["backtest", "--quick", "--jobs", "1", "--format", "json", "--plot", str(tmp_path / "b.svg")]
    assert answer(words) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"grouping", "normalization", "documents", "predicted", "low", "high", "observed"} <= set(rows[0])
    assert (tmp_path / "b.svg").stat().st_size > 1000
    assert answer(["backtest", "--pilot-share", "1.5"]) == 2
    assert answer(["backtest", "--plot", "x.bmp"]) == 2


def test_sizes_are_used(world: World) -> None:
    assert isinstance(TINY, Size)
    assert studies.possible(world, Design("system_balanced", 30, 3))
    assert not studies.possible(world, Design("system_balanced", 30, 4))
