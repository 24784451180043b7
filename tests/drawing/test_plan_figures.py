"""The figure of a plan shows what designs give for their money, the target, the budget and the advice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_plans as made
import numpy as np
import pytest

from simlab.answers.plan import StudyPlan
from simlab.drawing.figures import files, plan


@pytest.fixture(scope="module")
def answer() -> StudyPlan:
    return made.answered()


def drawn(answer: StudyPlan) -> tuple[Any, Any, list[str]]:
    figure = files.write(lambda: plan.draw(answer), None)
    (axes,) = figure.axes
    return figure, axes, [text.get_text() for text in figure.legends[0].get_texts()]


def test_each_kind_of_design_has_a_line_and_the_advice_is_marked(answer: StudyPlan) -> None:
    _, axes, names = drawn(answer)
    kinds = ["side by side, one rating per output", "side by side, 2 ratings per output"]
    assert set(kinds) <= set(names)
    assert len([name for name in names if "per output" in name]) == 5
    assert {"wanted: 0.8", "the budget", "advice (fresh worlds)"} <= set(names)
    assert axes.get_xlabel() == "cost of a study, EUR"
    assert axes.get_ylabel() == "share found of differences\nof 2 points or more"
    star = next(line for line in axes.lines if line.get_marker() == "*")
    assert star.get_ydata()[0] == pytest.approx(answer.figures["power"].value)
    assert star.get_xdata()[0] == pytest.approx(640)


def test_lines_are_told_apart_without_colour(answer: StudyPlan) -> None:
    _, axes, _ = drawn(answer)
    lines = [line for line in axes.lines if "per output" in line.get_label()]
    assert lines[0].get_label() == "side by side, one rating per output"
    styles = {(line.get_marker(), line.get_linestyle()) for line in lines}
    assert len({line.get_color() for line in lines}) == len(styles) == len(lines) == 5


def test_what_lies_beyond_the_limits_is_hollow() -> None:
    found = made.answered(made.wanted(deadline="5d"), clock=400)
    _, axes, _ = drawn(found)
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    late = [point for point in found.front if not point.within]
    assert sum(len(line.get_xdata()) for line in hollow) == len(late) > 5


def test_bars_stay_between_0_and_1() -> None:
    found = made.answered(made.wanted(power=0.9, money=5000.0))
    _, axes, _ = drawn(found)
    reached = np.concatenate(
        [one.get_paths()[k].vertices for one in axes.collections for k in range(len(one.get_paths()))]
    )
    assert reached[:, 1].min() >= 0
    assert reached[:, 1].max() <= 1
    low, high = axes.get_ylim()
    assert low >= -0.02
    assert high <= 1.02


def test_without_a_budget_or_a_currency_none_is_drawn() -> None:
    _, axes, names = drawn(made.answered(made.wanted(money=None, currency=None)))
    assert "the budget" not in names
    assert axes.get_xlabel() == "cost of a study, in the unit of its prices"


def test_where_nothing_reaches_the_target_the_best_is_marked() -> None:
    _, axes, names = drawn(made.answered(made.wanted(power=0.99, money=900.0)))
    assert "best within the limits (fresh worlds)" in names
    assert axes.get_ylim()[1] > 0.99


def test_of_many_kinds_those_near_the_advice_have_colours(answer: StudyPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MOST_LINES", 2)
    figure, axes, names = drawn(answer)
    assert names.count("other designs") == 1
    assert len([line for line in axes.lines if line.get_color() == plan.FAINT]) == 3
    assert "have colours" in figure.get_supxlabel()


def test_the_same_answer_gives_the_same_file(answer: StudyPlan, tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        files.write(lambda: plan.draw(answer), tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


@pytest.mark.parametrize("value", [0.785, 0.83])
def test_no_star_that_is_called_reached_lies_below_the_line(answer: StudyPlan, value: float) -> None:
    power = answer.figures["power"].model_copy(update={"value": value, "low": value - 0.02, "high": value + 0.02})
    near = answer.model_copy(update={"measures": {**answer.measures, "power": power}})
    _, axes, names = drawn(near)
    star = next(line for line in axes.lines if line.get_marker() == "*")
    line = next(line for line in axes.lines if line.get_label().startswith("wanted"))
    assert star.get_ydata()[0] == value >= line.get_ydata()[0] == pytest.approx(0.78 if value < 0.8 else 0.8)
    assert ("wanted: 0.8, less the margin of 0.02" in names) is (value < 0.8)
    _, axes, _ = drawn(near.model_copy(update={"reached": False}))
    line = next(line for line in axes.lines if line.get_label().startswith("wanted"))
    assert line.get_ydata()[0] == 0.8
