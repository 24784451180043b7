"""What was planned stands beside what is found, in the plan's unit; a stranger's plan is held to its form."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import made_conclusions as made
import pytest
from exported_designs import option, patched
from test_plans_followed import SMALL, concluded, export

from simlab import schemas
from simlab.analysis.normalization import spread_within
from simlab.answers.conclude import Conclusion, Control, PlanCompliance, PlannedFigure
from simlab.answers.records import read_record
from simlab.answers.standings import Family
from simlab.cli import answer
from simlab.commands.conclude import page
from simlab.commands.exit_codes import REFUSED
from simlab.concluding.goals import figures, read_goals
from simlab.concluding.looks import record_of
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plan_compliance import reading
from simlab.concluding.plans import read_plan
from simlab.config.studyfile import write

ANSWER: dict[str, Any] = {
    "targets": [{"measure": "power", "least": 0.8, "floor": False}, {"measure": "no_wrong_claim", "least": 0.95}],
    "smallest": {"value": 4.0, "unit": "points", "why": "as given"},
    "sizes": {"documents": 8, "ratings": 45.0, "raters": 6, "hours": 3.0, "money": 22.5, "currency": "EUR"},
    "measures": {"significant_share": {"value": 0.4, "mcse": 0.03}, "money": {"value": 22.5, "mcse": 0.1}},
}


def planned(tmp_path: Path, **changed: Any) -> tuple[Path, Path]:
    """Export a campaign that is analysed in z-scores, and plan its study in a folder; `changed` is its answer."""
    config = patched(SMALL, {"analysis.normalization": option("analysis/normalization", "zscore")})
    table, folder = export(config, tmp_path / "a.csv"), tmp_path / "my"
    folder.mkdir()
    (folder / "study.yaml").write_text(write(config) + "\n", encoding="utf-8")
    named, held = read_plan(folder).digest, {**ANSWER, **changed}
    plan = {"schema": schemas.PLAN, "simlab": "0.2.0", "asked": {}, "digest": named, "answer": held}
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    return table, folder


def told(found: Conclusion) -> dict[str, PlannedFigure]:
    assert found.plan is not None
    return {one.measure: one for one in found.plan.targets}


def test_a_conclusion_in_z_scores_is_told_in_the_unit_of_its_plan(tmp_path: Path) -> None:
    table, folder = planned(tmp_path)
    found = concluded(table, folder, margin=4.0)
    seen = reading(table, ConcludeOptions(), read_plan(folder)).collected.seen
    one, mean = spread_within(seen), float(seen.value.mean())
    (folder / "plan.json").unlink()
    plain = concluded(table, folder, margin=4.0 / one)
    assert (plain.unit, found.unit) == ("standard deviations", "points")
    assert one > 3
    for mine, other in zip(found.pairs, plain.pairs, strict=True):
        assert (mine.p_value, mine.adjusted, mine.direction, mine.verdict, mine.within) == (
            other.p_value, other.adjusted, other.direction, other.verdict, other.within
        )  # fmt: skip
        assert [mine.difference, mine.low, mine.high] == pytest.approx(
            [one * other.difference, one * other.low, one * other.high]
        )
    for system, standard in zip(found.systems, plain.systems, strict=True):
        assert system.system == standard.system
        assert [system.estimate, system.low, system.high] == pytest.approx(
            [mean + one * bound for bound in (standard.estimate, standard.low, standard.high)]
        )
    assert found.about["margin"] == 4.0
    assert any(f"one standard deviation is {one:.3g} points" in note for note in found.notes)


def test_what_was_planned_stands_beside_what_is_found(tmp_path: Path) -> None:
    table, folder = planned(tmp_path)
    found = concluded(table, folder)
    held = told(found)
    claimed = sum(pair.verdict != 0 for pair in found.pairs) / len(found.pairs)
    assert (held["significant_share"].planned, held["significant_share"].planned_mcse) == (0.4, 0.03)
    assert held["significant_share"].found == claimed
    assert (held["smallest_difference"].planned, held["smallest_difference"].unit) == (4.0, "points")
    assert [(held[name].planned, held[name].found) for name in ("documents", "ratings")] == [(8, 8), (45, 45)]
    # What one table cannot tell has a reason; power is one of differences that nobody knows.
    for name in ("power", "no_wrong_claim", "hours", "money"):
        assert math.isnan(held[name].found)
        assert held[name].missing
    assert all(math.isnan(one.found) == bool(one.missing) for one in held.values())
    text = " ".join(page(found).split())
    assert "power .8 not known (true differences are not) no wrong claim .95 " in text
    assert f"documents 8 8 ratings 45 45 raters 6 {found.read['raters']}" in text
    assert "share of pairs claimed .40 ± .03 " in text
    assert "hours 3 not known (no times are told)" in text


def test_hours_are_those_of_a_table_with_times_or_of_a_campaign_on_a_clock(tmp_path: Path) -> None:
    goals = read_goals(ANSWER, "my")
    assert goals is not None
    assert {one.measure: one.found for one in figures(goals, made.rated(), math.nan, 2.5)}["hours"] == 2.5
    _, folder = planned(tmp_path)
    table = tmp_path / "times.csv"
    outputs = [(system, document) for document in range(8) for system in ("system1", "system2", "system3")]
    rows = [f"{system},d{document},r{document % 2},{50 + k % 7},30" for k, (system, document) in enumerate(outputs)]
    table.write_text("\n".join(["system,document,rater,score,seconds", *rows]), encoding="utf-8")
    read = reading(table, ConcludeOptions(), read_plan(folder))
    assert read.hours == pytest.approx(24 * 30 / 3600)


def test_what_is_simulated_is_found_with_its_error_and_money_where_it_is_said() -> None:
    goals = read_goals({**ANSWER, "targets": [*ANSWER["targets"], SRP]}, "my")
    assert goals is not None
    control = Control(
        studies=1000,
        some_claim=0.04,
        some_claim_mcse=0.006,
        promised=0.05,
        uncorrected=0.1,
        uncorrected_mcse=0.01,
        world="a world",
    )
    found = {one.measure: one for one in figures(goals, made.rated(control=control), 21.5)}
    assert (found["no_wrong_claim"].found, found["no_wrong_claim"].found_mcse) == (0.96, 0.006)
    assert (found["money"].found, found["money"].unit, found["money"].planned_mcse) == (21.5, "EUR", 0.1)
    repetition = made.rated().repetition
    assert repetition is not None
    assert found["srp_new_study"].found == repetition.same_sign.new_study.value
    # A plan simulates claims of all pairs; another family has others.
    best = {one.measure: one for one in figures(goals, made.rated(family=Family(name="best", says="")), 21.5)}
    assert math.isnan(best["significant_share"].found)


SRP = {"measure": "srp_new_study", "least": 0.7}


@pytest.mark.parametrize("other", [{"answer": {"documents": 8}}, {"digest": "0" * 64}])
def test_a_plan_without_targets_or_of_another_study_says_none(other: dict[str, Any], tmp_path: Path) -> None:
    table, folder = planned(tmp_path)
    held = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps(held | other))
    found = concluded(table, folder)
    assert (told(found), found.unit) == ({}, "standard deviations")
    assert "What was planned, and what is found" not in page(found)


def test_targets_are_read_back_from_a_kept_answer() -> None:
    targets = [
        PlannedFigure(measure="power", unit="share", planned=0.8, found=math.nan, missing="true differences are not"),
        PlannedFigure(measure="no_wrong_claim", unit="share", planned=0.95, found=0.96, found_mcse=0.006),
        PlannedFigure(measure="money", unit="EUR", planned=22.5, found=21.0, planned_mcse=0.1),
    ]
    found = made.rated(
        plan=PlanCompliance(name="my", digest="3f9c2a7b11", planned=1040, deviations=[], look=1, targets=targets)
    )
    held = found.serialise()["plan"]
    again = read_record(PlanCompliance, held)
    assert repr(again.targets) == repr(tuple(targets))
    assert again.targets[1] == targets[1]


ODD: dict[str, Any] = {
    "no object": "much",
    "no list": {"targets": {"power": 0.8}},
    "no target": {"targets": ["power"]},
    "no measure": {"targets": [{"measure": "power\n\x1b[31m", "least": 0.8}]},
    "no share": {"targets": [{"measure": "kendall", "least": 0.8}]},
    "a measure that is a list": {"targets": [{"measure": ["power"], "least": 0.8}]},
    "beyond": {"targets": [{"measure": "power", "least": 80}]},
    "no number": {"targets": [{"measure": "power", "least": "0.8"}]},
    "truth": {"targets": [{"measure": "power", "least": True}]},
    "not finite": {"smallest": {"value": math.nan, "unit": "points"}},
    "another unit": {"smallest": {"value": 1.0, "unit": "miles\n"}},
    "a unit that is a list": {"smallest": {"value": 1.0, "unit": []}},
    "no smallest": {"smallest": None},
    "sizes": {"sizes": [8]},
    "many": {"sizes": {"documents": 10**400}},
    "below": {"sizes": {"documents": -8}},
    "currency": {"sizes": {"currency": 3}},
    "measures": {"measures": {"significant_share": 0.4}},
    "an error": {"measures": {"significant_share": {"value": 0.4, "mcse": "small"}}},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_a_plan_with_odd_targets_is_refused_in_one_line(
    odd: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, folder = planned(tmp_path, **(odd if isinstance(odd, dict) else {}))
    if not isinstance(odd, dict):
        held = json.loads((folder / "plan.json").read_text())
        (folder / "plan.json").write_text(json.dumps(held | {"answer": odd}))
    assert answer(["conclude", str(table), "--plan", str(folder)]) == REFUSED
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "plan.json" in said.err
    assert "\x1b" not in said.err
    assert not record_of(folder / "study.yaml").exists()
