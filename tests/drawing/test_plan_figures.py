"""The figure of a plan shows what designs give for their money, the target, and the advice."""

from __future__ import annotations

from pathlib import Path

import made_plans as made
import pytest

from simlab.answers.plan import StudyPlan
from simlab.drawing.figures import files
from simlab.drawing.reports.answers.plan import report
from simlab.drawing.reports.answers.plan_tables import front
from simlab.drawing.reports.static import plot_report
from simlab.drawing.reports.terms import Chart


@pytest.fixture(scope="module")
def plan() -> StudyPlan:
    return made.answered()


def chart(plan: StudyPlan) -> Chart:
    found = front(plan)
    assert found is not None
    return found


def test_each_kind_of_design_has_a_colour_and_the_advice_is_marked(plan: StudyPlan) -> None:
    (axes,) = plot_report(report(plan)).axes
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"side by side, x 1", "side by side, x 2", "advice (fresh worlds)"} <= set(names)
    assert len([name for name in names if " x " in name]) == 5
    assert axes.get_xlabel() == "cost, EUR (budget: 2,000)"
    (star,) = [one for one in chart(plan).marks if one.line == "advice (fresh worlds)"]
    assert (star.x, star.y) == (640, plan.figures["power"].value)


def test_what_lies_beyond_the_limits_says_so() -> None:
    late = made.answered(made.wanted(deadline="5d"), clock=400)
    beyond = [one for one in chart(late).marks if one.note.endswith("beyond the limits")]
    assert len(beyond) == sum(not one.within for one in late.front) > 5


def test_without_a_budget_or_a_currency_none_is_named() -> None:
    assert chart(made.answered(made.wanted(money=None, currency=None))).x == "cost"


def test_where_nothing_reaches_the_target_the_best_is_marked() -> None:
    names = {one.line for one in chart(made.answered(made.wanted(power=0.99, money=900.0))).marks}
    assert "the best (fresh worlds)" in names


def test_the_same_answer_gives_the_same_file(plan: StudyPlan, tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        files.write(lambda: plot_report(report(plan)), tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


@pytest.mark.parametrize("value", [0.785, 0.83])
def test_no_advice_that_is_called_reached_lies_below_the_line(plan: StudyPlan, value: float) -> None:
    power = plan.figures["power"].model_copy(update={"value": value, "low": value - 0.02, "high": value + 0.02})
    near = plan.model_copy(update={"measures": {**plan.measures, "power": power}})
    assert value >= (chart(near).target or 0) == pytest.approx(0.78 if value < 0.8 else 0.8)
    assert chart(near.model_copy(update={"reached": False})).target == 0.8
