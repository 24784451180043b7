"""The figure of one campaign: its rows, marks, lines across and words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from logs_of_work import CONFIGS, collected

from simlab.drawing.figures import timeline
from simlab.drawing.figures.timeline import MOST_PEOPLE
from simlab.engine import timelines
from simlab.engine.timelines import Timeline
from simlab.types import COMPARE, RATE
from simlab.types.collection import ALL_CAME, MONEY


def line(question: str = RATE) -> Timeline:
    return timelines.timeline(CONFIGS[question], collected(question))


def labels(figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_rows_are_people_and_what_occurs_is_explained() -> None:
    figure = timeline.draw(line(), "world 0, study 1")
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["ada", "bob", "bob (2)", "eve"]
    assert axes.get_xlabel() == "hours from the start, nights and weekends included"
    said = labels(figure)
    assert {
        "came",
        "control items",
        "dropped out",
        "excluded: failed control items",
        "nobody at work",
        "deadline",
    } <= set(said)
    assert "money spent" not in said
    assert (
        "world 0, study 1\n6 of 8 ratings came, 2 lost, 0 open; 12.50 EUR, 5.0 h of work, 2.0 days"
        in axes.get_title("left")
    )
    assert "in place of somebody" in figure.get_supxlabel()


def test_what_does_not_occur_is_not_explained() -> None:
    calm = replace(line(), what=np.zeros(7, int), why=np.zeros(4, int), nights=[], deadline=None, ended_by=ALL_CAME)
    assert labels(timeline.draw(calm, "x")) == ["came", "there from here on", "end"]


def test_the_end_of_the_money_is_a_line_across() -> None:
    figure = timeline.draw(replace(line(), ended_by=MONEY, stop=30.0, deadline=36.0), "x")
    across = {float(held.get_xdata()[0]) for held in figure.axes[0].lines}
    assert across == {30.0, 36.0}
    assert "money spent" in labels(figure)


def test_a_deadline_far_away_is_named_and_leaves_the_room_to_the_work() -> None:
    figure = timeline.draw(replace(line(), stop=40.0, deadline=400.0, ended_by=ALL_CAME), "x")
    assert figure.axes[0].get_xlim()[1] < 60
    assert "the deadline, 16.7 days after the start" in figure.get_supxlabel().replace("\n", " ")


def test_of_many_people_those_are_shown_who_worked_most() -> None:
    n = MOST_PEOPLE + 20
    begin = np.zeros(n)
    many = replace(
        line(),
        people=[f"p{k}" for k in range(n)],
        seat=np.arange(n),
        row=np.arange(n),
        begin=begin,
        end=np.arange(n) / 10,
        what=np.zeros(n, int),
        task=np.arange(n),
        about=[""] * n,
        arrived=begin,
        left=begin * np.nan,
        why=np.zeros(n, int),
    )
    figure = timeline.draw(many, "x")
    assert next(tick.get_text() for tick in figure.axes[0].get_yticklabels()) == "p20"
    assert f"the {MOST_PEOPLE} of {n} people who worked most" in figure.get_supxlabel().replace("\n", " ")


def test_who_had_not_come_has_no_row() -> None:
    held = line()
    late = replace(held, arrived=np.where(held.seat == 2, 99.0, held.arrived), row=np.where(held.row == 3, 0, held.row))
    figure = timeline.draw(late, "x")
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["ada", "bob", "bob (2)"]
    assert "who had not come when it ended is left out (1)" in figure.get_supxlabel().replace("\n", " ")


def test_campaigns_of_days_are_drawn_in_days() -> None:
    assert timeline.draw(replace(line(), stop=60.0, deadline=None), "x").axes[0].get_xlabel().startswith("days")


@pytest.mark.parametrize("question", [COMPARE])
def test_pairs_are_named_by_their_systems(question: str) -> None:
    figure = timeline.draw(line(question), "x")
    assert "comparisons" in figure.axes[0].get_title("left")
    assert "numbers in bars are pairs of systems" in figure.get_supxlabel().replace("\n", " ")


def test_few_systems_have_colours_of_their_own() -> None:
    held = line(COMPARE)
    again = [np.concatenate([column] * 4) for column in (held.row, held.begin, held.end, held.what, held.task)]
    row, begin, end, what, task = again
    short = replace(held, row=row, begin=begin, end=end, what=what, task=task, about=list(held.about) * 4)
    assert labels(timeline.draw(short, "x"))[:3] == ["came: A : B", "came: A : C", "came: B : C"]
    assert "colours are pairs of systems" in timeline.draw(short, "x").get_supxlabel().replace("\n", " ")
