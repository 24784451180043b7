"""`simlab backtest --advice papers`: each advice beside its alternative, with an error, and a reason where it fails."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from simlab.answers.backtest import BacktestPapers
from simlab.answers.records import read_record
from simlab.cli import answer
from simlab.commands.backtest import BacktestOptions, judge_papers, planned
from simlab.drawing.reports.answers.backtest_papers import report
from simlab.drawing.text import tables
from simlab.fitting.backtest import papers
from simlab.fitting.backtest.papers import ArmMeasures, Setting
from simlab.rng import stream
from tests.pilots import Truth, pilot, write

EVERY = Setting(30, same=True)
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
    plan = planned(_table(tmp_path, 30), BacktestOptions(law="gaussian"))
    parts = papers.parts_of(plan)
    assert [part.frame.n_documents for part in parts] == [6] * 5
    assert papers.setting_of(parts, "grouping") == Setting(6, same=True)
    assert "which takes 12 in each of 5 parts" in str(papers.setting_of(parts, "documents"))
    assert "fewer than 24 documents" in str(papers.setting_of([], "grouping"))
    one = planned(_table(tmp_path, 30, ratings=1), BacktestOptions(law="gaussian"))
    assert papers.setting_of([one.world], "documents") == papers.ONE_RATER
    assert papers.setting_of([one.world], "grouping") == Setting(20, same=False)


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
    assert {one.advice for one in found.records} == {*papers.ADVICE, "metric"}
    assert {one.verdict for one in found.records if one.advice == "metric"} == {"cannot be tried"}
    side = next(one for one in found.records if one.advice == "grouping" and one.source == "recorded")
    # Raters who differ by 15 points: without grouping, systems are told apart by who was met.
    assert side.effect > 0.1
    told = " ".join(report(found).answer)
    assert "Side by side: " in told
    assert "A metric as control variate: cannot be tried on this table, because" in told


def test_an_answer_has_every_advice_and_reads_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick version: fitted worlds are the table itself, and the published test is the only one."""
    monkeypatch.setattr(papers, "draw_worlds", lambda plan, draws: [plan.world] * (2 * draws))
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
