"""Check how predictions are held against real studies: splits, parts of tables, records, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import made_predictions
import numpy as np
import pytest

from simlab.answers.backtest import Prediction
from simlab.cli import answer
from simlab.commands import backtest as commands
from simlab.commands.backtest import BacktestOptions
from simlab.fitting.backtest import planning
from simlab.fitting.backtest.campaigns import MEASURES, campaigns, measure_worlds, sums
from simlab.fitting.backtest.designs import (
    BacktestDesign,
    deal_studies,
    designs,
    list_normalizations,
    repeatable_design,
)
from simlab.fitting.backtest.execution import NO_TRUTH, BacktestRun, compare, observe, predict, summarize_errors
from simlab.fitting.backtest.law_choice import choose_law
from simlab.fitting.backtest.planning import (
    QUICK,
    PredictionSource,
    PredictionTask,
    SimulationSize,
    flatten_ratings,
    select_documents,
    sources,
    split_documents,
    tasks,
)
from simlab.fitting.laws import laws
from simlab.fitting.mqm import MQM
from simlab.rng import stream
from simlab.types import RATE, InputError, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import make_world, table

TINY = replace(QUICK, worlds=4, per_set=6, observed_per_set=10, own=True)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(table(None))


def test_a_split_takes_documents_from_every_bucket(world: World) -> None:
    first, again, other = (split_documents(world, 0.5, split, 0) for split in (0, 0, 1))
    assert first.sum() == 15
    assert (first == again).all()
    assert (first != other).any()
    assert set(np.bincount(world.frame.bucket[first], minlength=10)) == {1, 2}


def test_a_part_keeps_its_documents_ratings(world: World) -> None:
    kept = split_documents(world, 0.5, 0, 0)
    part = select_documents(world, kept)
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
        tasks(world, share, 1, QUICK)


def test_designs_that_a_table_does_not_allow_are_left_out(world: World) -> None:
    assert len(designs(world, (3,), (1,))) == 3
    assert {design.ratings_per_item for design in designs(world, (3,), (1, 4))} == {1}


def test_who_cannot_ask_anybody_else_asks_about_other_documents(world: World) -> None:
    """All three raters of an output are asked: studies of the same documents would be one study."""
    three = repeatable_design(world, BacktestDesign("ungrouped", 20, 3))
    assert three is not None
    assert three.repetition == "other documents"
    assert repeatable_design(world, BacktestDesign("ungrouped", 30, 3)) is None
    assert repeatable_design(world, BacktestDesign("ungrouped", 30, 2)) == BacktestDesign("ungrouped", 30, 2)
    asked = deal_studies(world, three, seed=0, sets=2, per_set=3)
    assert len({tuple(documents) for documents in asked.document.tolist()}) == 6
    said = campaigns(sums([world]), asked, ("none",))["none"]
    assert said.claim.shape[:3] == (1, 1, 6)
    assert np.isfinite(measure_worlds(said)["srp"].error[0])


def test_normalisations_that_make_no_sense_for_a_scale_are_left_out(world: World) -> None:
    ratings = fixed_ratings(world)
    assert ratings is not None
    assert list_normalizations(world) == ("none", "mean", "error", "zscore")
    unmarked = world.replace_answers(RATE, replace(ratings, errors=np.full_like(ratings.errors, -1)))
    assert list_normalizations(unmarked) == ("none", "mean", "zscore")
    points = replace(unmarked, frame=replace(world.frame, lower_is_better=False))
    assert list_normalizations(points) == ("none", "zscore")


def planned(world: World, size: SimulationSize = TINY) -> BacktestRun:
    return BacktestRun(world, MQM, table(None), 0.5, size, 0)


@pytest.mark.slow
def test_records_have_all_axes(world: World) -> None:
    wanted = tasks(world, 0.5, 2, TINY)
    assert {(task.target, task.source.method) for task in wanted} == {
        *(("all", method) for method in ("fit", "naive")),
        *(("held_out", method) for method in ("fit", "own", "naive")),
    }
    assert sources(wanted) == [PredictionSource(split, method) for split in (0, 1) for method in ("fit", "own")]
    plan, task = planned(world), PredictionTask(PredictionSource(0, "naive"), "all")
    records = list(compare(plan, task, predict(plan, task, ()), observe(plan, 0, "all")))
    assert len(records) == 3 * 4 * len(MEASURES)
    assert all(record.low <= record.predicted <= record.high or record.low == record.high for record in records)
    assert {record.documents for record in records} == {30}


@pytest.mark.slow
def test_power_is_predicted_and_never_observed_on_a_real_table(world: World) -> None:
    plan, task = planned(world), PredictionTask(PredictionSource(0, "naive"), "all")
    records = list(compare(plan, task, predict(plan, task, ()), observe(plan, 0, "all")))
    power = [record for record in records if record.measure == "power"]
    assert all(np.isfinite(record.predicted) and np.isnan(record.observed) for record in power)
    assert {record.unknown for record in power} == {NO_TRUTH}
    assert not {row.measure for row in summarize_errors(records)} & {"power"}


def test_ratings_laid_out_flat_are_those_of_the_world(world: World) -> None:
    flat, ratings = flatten_ratings(world, table(None)), fixed_ratings(world)
    assert ratings is not None
    assert len(flat.score) == np.isfinite(ratings.value).sum()
    assert flat.score.sum() == np.nansum(ratings.value)
    assert (flat.n_systems, flat.n_documents, flat.n_raters) == (10, 30, 10)


def stable(world: World, design: BacktestDesign, per_set: int) -> float:
    asked = deal_studies(world, design, seed=1, sets=1, per_set=per_set)
    return float(measure_worlds(campaigns(sums([world]), asked, ("none",))["none"])["srp"].value[0])


def test_studies_without_noise_are_stable_and_pure_noise_is_not(world: World) -> None:
    """Two controls of the machinery: a world in which all raters say the same, and one that holds nothing but noise."""
    design = BacktestDesign("ungrouped", 30, 1)
    ratings = fixed_ratings(world)
    assert ratings is not None
    mean = np.broadcast_to(np.nanmean(ratings.value, axis=2, keepdims=True), ratings.value.shape)
    same = world.replace_answers(RATE, replace(ratings, value=mean))
    assert stable(same, design, 20) == 1.0
    noise = world.replace_answers(RATE, replace(ratings, value=stream(1).random(mean.shape)))
    assert stable(noise, design, 40) < 0.9


def record(predicted: float, low: float, high: float, observed: float = 0.8) -> Prediction:
    interval = {"low": low, "high": high, "judged_low": low, "judged_high": high}
    return made_predictions.prediction(predicted=predicted, observed=observed, **interval)


def test_the_summary_counts_intervals_that_hold() -> None:
    (row,) = summarize_errors([record(0.7, 0.6, 0.75), record(0.9, 0.7, 1.0), record(0.9, 0.7, 1.0, float("nan"))])
    assert (row.mae, row.bias, row.coverage, row.n) == pytest.approx((0.1, 0.0, 0.5, 2))


@pytest.mark.slow
@pytest.mark.usefixtures("short_effort")
def test_the_command_gives_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    least = replace(TINY, worlds=3, sets=2, per_set=4, observed_sets=2, observed_per_set=6, own=False)
    monkeypatch.setattr("simlab.commands.backtest.QUICK", least)
    words = ["backtest", "--quick", "--splits", "2", "--jobs", "1", "--format", "json"]
    assert answer([*words, "--plot", str(tmp_path / "b.svg")]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["read"]["used"] == 3120
    rows = found["records"]
    assert {"grouping", "normalization", "documents", "measure", "predicted", "low", "high", "observed"} <= set(rows[0])
    assert {row["split"] for row in rows} == {0, 1}
    assert {row["observed"] for row in rows if row["measure"] == "power"} == {None}
    assert "steps (100%)" in said.err
    assert (tmp_path / "b.svg").stat().st_size > 1000
    assert answer(["backtest", "--pilot-share", "1.5"]) == 2
    assert answer(["backtest", "--plot", "x.bmp"]) == 2


def test_ratings_by_one_are_held_against_other_documents(tmp_path: Path) -> None:
    """Nobody else rated an output, so that studies of all documents, which --quick has, cannot be repeated."""
    rows = [f"S{s},d{d},{(7 * s + 3 * d) % 40}" for s in range(3) for d in range(18)]
    (tmp_path / "one.csv").write_text("\n".join(["system,document,score", *rows]))
    plan = commands.plan_backtest(tmp_path / "one.csv", BacktestOptions(quick=True))
    found = designs(plan.world, plan.size.thirds, plan.size.ratings_per_item)
    assert {(one.documents, one.repetition) for one in found} == {(6, "other documents"), (12, "other documents")}
    assert len(planning.tasks(plan.world, 0.5, 1, plan.size)) == 4
    assert commands.plan_backtest(None, BacktestOptions(quick=True)).size == QUICK


def test_sizes_are_used(world: World) -> None:
    assert planning.steps(TINY, "fitted") == planning.A_FIT
    assert planning.steps(planning.FULL, "predicted") > planning.steps(QUICK, "predicted")


def test_preferences_give_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The header of a table says that it holds preferences; what their own backtest finds is told as of ratings."""
    one = made_predictions.prediction(target="held_out", observed=0.85)
    monkeypatch.setattr("simlab.fitting.preferences.backtest.predict_split", lambda *_: [one])
    lines = [f"i{item},A,B,{'ab'[item % 2]}" for item in range(40)]
    (tmp_path / "p.csv").write_text("\n".join(["item,system_a,system_b,winner", *lines]) + "\n")
    words = ["backtest", str(tmp_path / "p.csv"), "--splits", "1", "--jobs", "1", "--format", "json"]
    assert answer(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["read"]["used"], found["read"]["systems"]) == (40, 2)
    assert (found["law"], found["splits"]) == ("preference", 1)
    assert found["records"] == [one.serialise()]
    assert answer([*words, "--law", "gaussian"]) == 2
    assert "leave the law out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("law", "said"),
    [("gausian", "did you mean gaussian"), ("binary", "exactly 2 different scores"), ("mqm", None), ("auto", None)],
)
def test_the_law_is_the_one_that_is_asked_for_or_the_first_that_the_table_allows(law: str, said: str | None) -> None:
    if said is None:
        assert choose_law(laws(), table(None), law).name == "mqm"
        return
    with pytest.raises(InputError, match=said):
        choose_law(laws(), table(None), law)
