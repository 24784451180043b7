"""Check how a design is named from a pilot and judged on real ratings: candidates, rules, pages, what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import simlab
from simlab.answers.backtest import ADVICE, BEST, BacktestAdvice, JudgedCandidate
from simlab.answers.tables import ReadTable
from simlab.cli import answer
from simlab.commands.backtest import BacktestOptions, judge_advice
from simlab.drawing.reports.answers.backtest_advice import report
from simlab.drawing.reports.text import page
from simlab.fitting.backtest import design_advice
from simlab.fitting.backtest.design_advice import (
    THUMBS,
    AdviceCandidate,
    Worth,
    candidate_by_rule,
    candidates,
    choose_candidate,
    shortfall,
    summarize_rules,
)
from simlab.fitting.backtest.designs import BacktestDesign, list_normalizations
from simlab.fitting.backtest.planning import select_documents, split_documents
from simlab.types import RATE, InputError, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import make_world, table

NAN = float("nan")


@pytest.fixture(scope="module")
def world() -> World:
    """Return half of the built-in table: 15 documents, three raters of each output."""
    whole = make_world(table(None))
    return select_documents(whole, ~split_documents(whole, 0.5, 0, 0))


def seated(world: World, seats: int) -> World:
    """Keep so many raters of each output."""
    ratings = fixed_ratings(world)
    assert ratings is not None
    cut = replace(ratings, value=ratings.value[..., :seats], errors=ratings.errors[..., :seats])
    fewer = replace(world, frame=replace(world.frame, rater=world.frame.rater[..., :seats]))
    return fewer.replace_answers(RATE, cut)


def candidate(
    grouping: str = "ungrouped", documents: int = 14, ratings: int = 1, name: str = "none"
) -> AdviceCandidate:
    return AdviceCandidate(BacktestDesign(grouping, documents, ratings), name)


def test_all_candidates_cost_the_same(world: World) -> None:
    of = candidates(world)
    assert len(of) == len(set(of)) == 3 * 2 * len(list_normalizations(world)) == 24
    assert {one.design.documents * one.design.ratings_per_item for one in of} == {14}
    assert {(one.design.documents, one.design.ratings_per_item) for one in of} == {(14, 1), (7, 2)}
    assert all(candidate_by_rule(of, rule) in of for rule in THUMBS)
    assert candidate_by_rule(of, "half twice") == candidate("pseudo_side_by_side", 7, 2)


def test_studies_that_cannot_be_repeated_alike_are_not_held_against_others(world: World) -> None:
    """With two raters of each output both are asked where two ratings are: a repetition would be the same study."""
    of = candidates(seated(world, 2))
    assert {one.design.ratings_per_item for one in of} == {1}
    assert candidate_by_rule(of, "half twice") is None
    alone = candidates(seated(world, 1))
    assert {(one.design.documents, one.design.repetition) for one in alone} == {(10, "other documents")}


def test_tables_that_leave_nothing_to_choose_are_refused(world: World) -> None:
    few = select_documents(world, split_documents(world, 5 / 15, 0, 0))
    with pytest.raises(InputError, match="5 documents held out allow no two designs of equal cost"):
        candidates(few)


def test_the_largest_gain_among_the_confirmed_is_named() -> None:
    bold, sure, best = candidate(name="zscore"), candidate(), candidate("system_balanced")
    worth = {bold: Worth(0.7, 0.89), sure: Worth(0.4, 0.99), best: Worth(0.5, 0.9)}
    assert choose_candidate(worth) == best
    assert choose_candidate(worth, 0.8) == bold
    assert (
        choose_candidate({one: held._replace(confirmed=0.1 * k) for k, (one, held) in enumerate(worth.items())}) == best
    )
    silent = {sure: Worth(0.0, NAN), bold: Worth(0.1, 0.2)}
    assert choose_candidate(silent) == bold
    assert choose_candidate({sure: Worth(0.0, NAN)}) == sure


def test_a_shortfall_is_that_from_the_best_confirmed_one() -> None:
    bold, sure, best = candidate(name="zscore"), candidate(), candidate("system_balanced")
    worth = {bold: Worth(0.7, 0.89), sure: Worth(0.4, 0.99), best: Worth(0.5, 0.9)}
    assert [shortfall(worth, one) for one in worth] == pytest.approx([0.0, 0.1, 0.0])


def row(split: int, one: AdviceCandidate, share: float, confirmed: float, *rules: str) -> JudgedCandidate:
    return JudgedCandidate(
        split=split,
        grouping=one.design.grouping,
        normalization=one.normalization,
        documents=one.design.documents,
        ratings_per_item=one.design.ratings_per_item,
        repetition=one.design.repetition,
        predicted_significant_share=0.5,
        predicted_confirmed=0.95,
        significant_share=share,
        confirmed=confirmed,
        rules=" ".join(rules),
    )


def page_of(rows: list[JudgedCandidate]) -> str:
    read = ReadTable(used=3120, systems=10, documents=30)
    return page(
        report(
            BacktestAdvice(read=read, law="mqm", pilot_documents=15, rules=summarize_rules(rows), records=tuple(rows))
        )
    )


def test_rules_are_summed_up_over_splits() -> None:
    first, second = candidate("pseudo_side_by_side"), candidate("pseudo_side_by_side", name="zscore")
    rows = [
        row(0, first, 0.5, 0.95, ADVICE, "all once"),
        row(0, second, 0.6, 0.99, BEST),
        row(1, first, 0.4, 0.85, "all once"),
        row(1, second, 0.3, 0.99, ADVICE, BEST),
    ]
    advice, once, best = summarize_rules(rows)
    assert (advice.rule, once.rule, best.rule) == (ADVICE, "all once", BEST)
    assert (advice.shortfall, advice.shortfall_mcse) == pytest.approx((0.05, 0.05))
    assert (once.shortfall, once.kept, once.named[0][1]) == (pytest.approx(0.05), 1, 2)
    assert (best.shortfall, best.significant_share) == pytest.approx((0.0, 0.45))
    one_split = summarize_rules(rows[:2])
    assert math.isnan(one_split[0].shortfall_mcse)
    said = page_of(rows)
    assert said.startswith("Named from 15 of 30 documents, the design tells .050 ± .050 fewer of the pairs apart")
    assert "of 2 designs" in said
    assert "fewer than .9 of the claims" not in said
    unsure = rows[3].model_copy(update={"confirmed": 0.8})
    assert "In 1 of 2 splits fewer than .9 of the claims" in page_of([*rows[:3], unsure])


@pytest.fixture
def _short(short_effort: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit by short chains, and simulate little."""
    least = replace(design_advice.QUICK, worlds=4, sets=2, per_set=4, observed_sets=2, observed_per_set=6)
    monkeypatch.setattr("simlab.fitting.backtest.design_advice.QUICK", least)


@pytest.mark.slow
@pytest.mark.usefixtures("_short")
def test_a_design_is_named_and_judged() -> None:
    answered = judge_advice(None, BacktestOptions(quick=True, splits=1, jobs=1), quiet=True)
    rows = answered.records
    assert len(rows) == 24
    expected = {_named(one): Worth(one.predicted_significant_share, one.predicted_confirmed) for one in rows}
    real = {_named(one): Worth(one.significant_share, one.confirmed) for one in rows}
    by = {rule.rule: _named(one) for rule in answered.rules for one in rows if rule.rule in one.rules}
    assert set(by) == {ADVICE, BEST, *THUMBS}
    assert (by[ADVICE], by[BEST]) == (choose_candidate(expected), choose_candidate(real))
    found = {one.rule: one.shortfall for one in answered.rules}
    assert found == pytest.approx({rule: shortfall(real, one) for rule, one in by.items()})
    assert found["ungrouped"] > 0.05


def _named(one: JudgedCandidate) -> AdviceCandidate:
    return candidate(one.grouping, one.documents, one.ratings_per_item, one.normalization)


@pytest.mark.slow
@pytest.mark.usefixtures("_short")
def test_the_command_writes_a_page_and_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["backtest", "--advice", "pilot", "--quick", "--splits", "2", "--jobs", "1"]
    kept = tmp_path / "advice.json"
    assert answer([*words, "--save", str(kept)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 100
    found = json.loads(kept.read_text(encoding="utf-8"))["answer"]
    assert [one["rule"] for one in found["rules"]] == [ADVICE, *THUMBS, BEST]
    assert {one["split"] for one in found["records"]} == {0, 1}
    plot = tmp_path / "advice.svg"
    assert answer([*words[:-3], "1", "--jobs", "1", "--format", "csv", "--plot", str(plot)]) == 0
    assert plot.stat().st_size > 1000
    assert capsys.readouterr().out.startswith("split,grouping,normalization,documents,ratings_per_item,repetition,")


@pytest.mark.slow
@pytest.mark.usefixtures("_short")
def test_a_notebook_has_the_candidates() -> None:
    held = simlab.backtest(advice="pilot", quick=True, splits=1, jobs=1)
    assert held.sizes == {"candidate": 24}
    advised = held.isel(candidate=["advice" in str(rules).split() for rules in held["rules"].values])
    assert advised.sizes == {"candidate": 1}
    assert 0 < float(advised["significant_share"][0]) < 1
