"""`simlab backtest --advice papers`: each advice beside its alternative, with an error, and a reason where it fails."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simlab.answers.backtest import BacktestPapers
from simlab.answers.records import read_record
from simlab.cli import answer
from simlab.commands.backtest import BacktestOptions, _read_metric, judge_papers, plan_backtest
from simlab.drawing.reports.answers.backtest_papers import report
from simlab.drawing.reports.terms import ReportTable
from simlab.drawing.text import tables
from simlab.fitting.backtest import papers
from simlab.fitting.backtest.execution import BacktestRun
from simlab.fitting.backtest.papers import AdviceSetting, ArmMeasures
from simlab.rng import stream
from simlab.types import Floats, World
from simlab.world.segment_metrics import agreed_quality
from tests.pilots import Truth, pilot, write

EVERY = AdviceSetting(30, same=True)
USUAL = Truth()


def judged(effects: list[float], source: str = "recorded", found: float = 0.5) -> papers.AdviceTest:
    pairs = [(ArmMeasures(0.5 + one, found), ArmMeasures(0.5, found)) for one in effects]
    return papers.judge("grouping", source, "published", EVERY, pairs, 36.0, 1000)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("effects", "verdict"),
    [
        ([0.2, 0.25, 0.3, 0.22], "holds"),
        ([-0.2, -0.25, -0.3, -0.22], "turned round"),
        ([0.2, -0.25, 0.3, -0.22], "not known here"),
        ([0.0, 0.0, 0.0, 0.0], "not known here"),
    ],
)
def test_a_verdict_is_what_the_interval_over_parts_says(effects: list[float], verdict: str) -> None:
    one = judged(effects)
    assert one.verdict == verdict
    assert one.effect == pytest.approx(np.mean(effects))
    assert one.error == pytest.approx(np.std(effects, ddof=1) / 2)
    assert one.high - one.effect == pytest.approx(3.182446 * one.error)
    assert one.hours == pytest.approx(10)


def test_what_claims_no_more_than_chance_is_no_evidence_of_stability() -> None:
    one = judged([0.2, 0.25, 0.3, 0.22], found=0.05)
    assert one.verdict == "not known here"
    assert "no more than chance" in one.reason


def test_more_worlds_of_one_draw_make_the_law_no_surer() -> None:
    """Worlds of a draw share what is not known of the law: its spread stays; scatter by itself averages out."""
    rng = stream(3, "effects")
    shared = np.repeat(0.1 + 0.1 * rng.standard_normal(200), 2)
    alone = 0.1 + 0.1 * rng.standard_normal(400)
    assert judged(list(shared), "fitted").error == pytest.approx(0.1, rel=0.15)
    assert judged(list(alone), "fitted").error < 0.04


def _table(place: Path, n_documents: int, truth: Truth = USUAL, ratings: int = 2, n_raters: int = 3) -> Path:
    made = pilot(stream(5, "papers"), truth, n_systems=4, n_documents=n_documents, ratings=ratings, n_raters=n_raters)
    write(made, place / "t.csv")
    return place / "t.csv"


def test_what_a_table_does_not_allow_is_said(tmp_path: Path) -> None:
    plan = plan_backtest(_table(tmp_path, 30), BacktestOptions(law="gaussian"))
    parts = papers.cut_parts(plan)
    assert [part.frame.n_documents for part in parts] == [6] * 5
    assert papers.find_setting(parts, "grouping") == AdviceSetting(6, same=True)
    assert "which takes 12 in each of 5 parts" in str(papers.find_setting(parts, "documents"))
    assert "fewer than 24 documents" in str(papers.find_setting([], "grouping"))
    one = plan_backtest(_table(tmp_path, 30, ratings=1), BacktestOptions(law="gaussian"))
    assert papers.find_setting([one.world], "documents") == papers.ONE_RATER
    assert papers.find_setting([one.world], "grouping") == AdviceSetting(20, same=False)


@pytest.mark.parametrize(("n_documents", "said"), [(10, "too small"), (30, "one person rated everything")])
def test_a_table_on_which_nothing_can_be_tried_is_refused(
    tmp_path: Path, n_documents: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _table(tmp_path, n_documents, ratings=1, n_raters=1) if n_documents == 30 else _table(tmp_path, 4)
    assert answer(["backtest", str(file), "--advice", "papers", "--law", "gaussian", "--jobs", "1"]) == 2
    err = capsys.readouterr().err
    assert "none of it can be tried" in err
    assert said in err


def _judged(file: Path, amount: papers.Amount, monkeypatch: pytest.MonkeyPatch) -> BacktestPapers:
    monkeypatch.setattr(papers, "QUICK", amount)
    return judge_papers(file, BacktestOptions(quick=True, law="gaussian", jobs=1), quiet=True)


def _is_whole(found: BacktestPapers) -> None:
    assert read_record(BacktestPapers, json.loads(tables.write_tables(found, "json"))) == found
    assert {one.advice for one in found.records} == {*papers.ADVICE}
    assert {one.verdict for one in found.records if one.advice == "metric"} == {"cannot be tried"}
    side = next(one for one in found.records if one.advice == "grouping" and one.source == "recorded")
    # Raters who differ by 15 points: without grouping, systems are told apart by who was met.
    assert side.effect > 0.1
    told = " ".join(report(found).answer)
    assert "Side by side: " in told
    assert "A metric as control variate: cannot be tried on this table, because no metric is named" in told
    assert "--price X" in " ".join(table.caption for table in _tables(found))


def _tables(found: BacktestPapers) -> list[ReportTable]:
    return [block for section in report(found).sections for block in section.blocks if isinstance(block, ReportTable)]


def test_an_answer_has_every_advice_and_reads_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick version: fitted worlds are the table itself, and the published test is the only one."""
    monkeypatch.setattr(papers, "draw_worlds", lambda plan, draws, metric: [plan.world] * (2 * draws))
    amount = papers.Amount(2, {"published": 6}, {"published": 4})
    found = _judged(_table(tmp_path, 24, Truth(leniency=15.0)), amount, monkeypatch)
    assert len(found.records) == 2 * 5
    _is_whole(found)


@pytest.mark.slow
def test_an_answer_of_both_tests_in_fitted_worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = {"published": 6, "default": 1}
    found = _judged(_table(tmp_path, 24, Truth(leniency=15.0)), papers.Amount(2, each, each), monkeypatch)  # type: ignore[arg-type]
    assert len(found.records) == 4 * 5
    _is_whole(found)


def _scored_table(place: Path) -> Path:
    """Write a table with a metric that knows nearly what raters agree on, and one that knows nothing."""
    file = _table(place, 60)
    rng = stream(7, "metrics")
    head, *rows = file.read_text(encoding="utf-8").splitlines()
    outputs: dict[str, list[float]] = {}
    for row in rows:
        outputs.setdefault(",".join(row.split(",")[:2]), []).append(float(row.split(",")[3]))
    said = {name: (np.mean(scores) + rng.normal(), rng.normal()) for name, scores in outputs.items()}
    lines = [
        f"{row},{said[name][0]:.4f},{said[name][1]:.4f}" for row in rows for name in [",".join(row.split(",")[:2])]
    ]
    file.write_text("\n".join([f"{head},good,random", *lines]) + "\n", encoding="utf-8")
    return file


def _effects(file: Path, column: str, test: papers.TestName) -> list[float]:
    """Return how many more of the pairs are told apart with a metric, on each part of the documents."""
    plan = plan_backtest(file, BacktestOptions(law="gaussian"))
    parts = papers.cut_parts(plan, _read_metric(file, column, BacktestOptions().column_overrides, plan))
    setting = papers.find_setting(parts, "metric")
    assert setting == AdviceSetting(6, same=False)
    found = [[papers.measure_arm(part, arm, setting, test, 3, 8) for arm in papers.ADVICE["metric"]] for part in parts]
    return [one.share_separated - other.share_separated for one, other in found]  # type: ignore[union-attr]


def test_a_metric_that_knows_what_raters_agree_on_finds_more_and_one_that_knows_nothing_does_not(
    tmp_path: Path,
) -> None:
    file = _scored_table(tmp_path)
    good, random = (np.array(_effects(file, column, "published")) for column in ("good", "random"))
    assert good.mean() > 3 * good.std(ddof=1) / np.sqrt(len(good))
    assert abs(random.mean()) < 0.05 < good.mean()


def test_fitted_worlds_have_a_metric_as_close_as_that_of_the_table(tmp_path: Path) -> None:
    file = _scored_table(tmp_path)
    plan = plan_backtest(file, BacktestOptions(law="gaussian"))
    told = BacktestOptions().column_overrides
    assert papers.correlate_within_systems(plan.world, _read_metric(file, "good", told, plan)) > 0.95
    assert abs(papers.correlate_within_systems(plan.world, _read_metric(file, "random", told, plan))) < 0.2
    # One that follows half: of its own noise and of what raters agree on.
    quality = agreed_quality(plan.world)
    half = quality + quality.std(axis=1, keepdims=True) * stream(2, "half").standard_normal(quality.shape)
    wanted = papers.correlate_within_systems(plan.world, half)
    worlds = papers.draw_worlds(plan, 2, half)
    found = [papers.correlate_within_systems(world, world.metric) for world in worlds]
    assert np.mean(found) == pytest.approx(wanted, abs=0.1)
    assert all(world.metric is None for world in papers.draw_worlds(plan, 2))


@pytest.mark.slow
def test_a_metric_and_a_price_are_answered_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    amount = papers.Amount(2, {"published": 4}, {"published": 4})
    monkeypatch.setattr(papers, "QUICK", amount)

    def again(plan: BacktestRun, draws: int, metric: Floats) -> list[World]:
        return [replace(plan.world, metric=metric)] * (2 * draws)

    monkeypatch.setattr(papers, "draw_worlds", again)
    options = BacktestOptions(quick=True, law="gaussian", jobs=1, metric="good", price=0.5)
    found = judge_papers(_scored_table(tmp_path), options, quiet=True)
    one = next(one for one in found.records if (one.advice, one.source) == ("metric", "recorded"))
    assert one.verdict != "cannot be tried"
    assert one.money == pytest.approx(0.5 * one.answers)
    assert "money" in {column for table in _tables(found) for column in table.columns}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--metric", "good"], "--metric is of the papers' advice: add --advice papers"),
        (["--price", "1"], "--price is of the papers' advice: add --advice papers"),
        (["--advice", "papers", "--metric", "chrf"], "chrf"),
    ],
)
def test_a_metric_that_is_not_there_and_a_price_without_papers_are_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _table(tmp_path, 30)
    assert answer(["backtest", str(file), "--law", "gaussian", "--jobs", "1", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_built_in_table_has_no_metric(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["backtest", "--advice", "papers", "--metric", "chrf", "--jobs", "1"]) == 2
    assert "give a TABLE with one" in capsys.readouterr().err
