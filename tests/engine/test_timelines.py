"""One campaign laid out as it went: stretches of work, what came of them, nights, and whom they belong to."""

from __future__ import annotations

import numpy as np
import pytest
from logs_of_work import CONFIGS, collected, log

from simlab.engine.timelines import CAME, LEFT_OFF, OF_CONTROL, VOID, Timeline, nights, timeline
from simlab.types import COMPARE, JUDGE, RATE, InputError


def stretches(line: Timeline) -> list[tuple[str, int, float, float]]:
    return [
        (line.people[row], int(what), float(begin), float(end))
        for row, what, begin, end in zip(line.row, line.what, line.begin, line.end, strict=True)
    ]


def test_answers_of_a_task_are_one_stretch_and_a_rest_divides_it() -> None:
    found = stretches(timeline(CONFIGS[RATE], collected()))
    assert found == [
        ("ada", CAME, 0.0, 1.0),
        ("ada", CAME, 7.75, 8.0),
        ("ada", CAME, 24.0, 24.75),
        ("ada", OF_CONTROL, 24.75, 25.25),
        ("bob", LEFT_OFF, 1.0, 1.5),
        ("bob (2)", CAME, 26.0, 27.0),
        ("eve", VOID, 2.0, 3.0),
    ]


def test_all_the_work_is_drawn_and_no_other() -> None:
    line = timeline(CONFIGS[RATE], collected())
    assert float((line.end - line.begin).sum()) == pytest.approx(float(log().seconds.sum()) / 3600)


def test_people_stand_in_the_order_of_their_seats() -> None:
    line = timeline(CONFIGS[RATE], collected())
    assert line.people == ["ada", "bob", "bob (2)", "eve"]
    assert line.left.tolist() == pytest.approx([np.nan, 1.5, np.nan, 3.0], nan_ok=True)
    assert line.why.tolist() == [0, 1, 0, 2]


def test_nights_are_when_nobody_works_for_hours() -> None:
    line = timeline(CONFIGS[RATE], collected())
    assert line.nights == [(3.0, 7.75), (8.0, 24.0), (27.0, 48.0)]
    assert nights(np.array([0.0, 1.0]), np.array([1.0, 3.0]), 3.0) == []


@pytest.mark.parametrize(
    ("question", "names"), [(RATE, ["0", "1", "2"]), (COMPARE, ["A : B", "A : C", "B : C"]), (JUDGE, ["A", "B", "C"])]
)
def test_tasks_are_named_by_what_came_of_them(question: str, names: list[str]) -> None:
    line = timeline(CONFIGS[question], collected(question))
    assert dict(zip(line.task.tolist(), line.about, strict=True)) == {**dict(enumerate(names)), 3: "", -1: ""}


def test_the_end_is_told() -> None:
    line = timeline(CONFIGS[RATE], collected())
    assert (line.stop, line.deadline, line.ended_by, line.currency, line.answers) == (48.0, 48.0, 3, "EUR", "ratings")


def test_a_study_without_a_clock_is_refused_in_a_line() -> None:
    with pytest.raises(InputError, match=r"^design.collection=none: this study has no clock.*; run it with .*$"):
        timeline(CONFIGS[RATE], collected(clock=False))
