"""Clocks of somebody else's that say what cannot be, fail or never end: they are ended, and named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from working_crews import chances, dealt, worked

from simlab.studies import clock_checks
from simlab.studies.campaign_clock import Clock, carry_out, lapses
from simlab.studies.money import MoneyLimits, Prices
from simlab.types import DesignFailure, InputError, Log, Place, Tasks, Work

TASKS = dealt([3, 3, 3], [0, 1, 0], may=np.array([[True, True], [False, True], [True, False]]))


def clock(carry: Any) -> Clock:
    return Clock(
        carry,
        "mine",
        own=False,
        seed=1,
        limits=MoneyLimits(),
        written_deadline=None,
        prices=Prices(1.0),
        replaces="none",
        deadline=None,
        weekday=0,
        of_day=None,
    )


def carried(carry: Any, tasks: Tasks = TASKS, **more: Any) -> Any:
    return carry_out(clock(carry), Place(0), tasks, seats=2, n_systems=2, **more)


def honest(rng: Any, work: Work) -> Log:
    return worked(work)


def test_a_clock_of_ones_own_is_fine() -> None:
    assert len(carried(honest).task) == 9


def changed(**columns: Any) -> Any:
    """Let everybody work, and write something else into the log."""

    def carry(rng: Any, work: Work) -> Log:
        log = worked(work)
        return replace(log, **{name: change(getattr(log, name).copy()) for name, change in columns.items()})

    return carry


def at(place: int, value: Any) -> Any:
    def change(column: np.ndarray) -> np.ndarray:
        column[place] = value
        return column

    return change


@pytest.mark.parametrize(
    ("carry", "words"),
    [
        (changed(task=at(0, 7)), "a task that there is not"),
        (changed(person=at(0, 9)), "who is not among its people"),
        (changed(part=at(0, 3)), "more answers than it asks for"),
        (changed(ended=at(-1, np.nan)), "hours are no numbers"),
        (changed(seconds=at(0, -1.0)), "less than no time"),
        (changed(began=at(0, 2.5)), "ends before it begins"),
        (changed(ended=lambda ended: ended[::-1]), "before it begins|order in which they ended"),
        (changed(arrived=at(0, 0.5)), "before they come"),
        (changed(left=at(0, 1.0)), "after they have left"),
        (changed(part=at(2, 0)), "comes twice"),
        (changed(person=lambda person: np.zeros_like(person)), "may not do"),
        (changed(lapsed=lambda lapsed: lapsed[1:]), "different lengths"),
    ],
)
def test_logs_that_cannot_be_are_refused(carry: Any, words: str) -> None:
    with pytest.raises(InputError, match=rf"design\.collection=mine gives a log in which .*({words})"):
        carried(carry)


def test_a_log_may_not_go_on_after_the_deadline() -> None:
    late = clock(lambda rng, work: worked(replace(work, deadline=None)))._replace(deadline=2.0)
    with pytest.raises(InputError, match="after the deadline"):
        carry_out(late, Place(0), TASKS, seats=2, n_systems=2)


def test_tasks_that_are_for_different_people() -> None:
    apart = Tasks(np.array([1, 1]), np.array([-1, -1]), apart=np.array([0, 0]))
    with pytest.raises(InputError, match="for different people"):
        carried(lambda rng, work: worked(replace(work, tasks=replace(work.tasks, apart=None), seats=1)), apart)


def past(rng: Any, work: Work) -> Log:
    import simpy

    simpy.Environment().timeout(-1)
    return worked(work)


def for_ever(rng: Any, work: Work) -> Log:
    import simpy

    def ticks(env: Any) -> Any:
        while True:
            yield env.timeout(1)

    env = simpy.Environment()
    env.process(ticks(env))
    env.run()
    return worked(work)


def test_a_part_that_schedules_in_the_past_is_named() -> None:
    with pytest.raises(
        InputError, match=r"design\.collection=mine cannot carry .* out \(ValueError: Negative delay -1\)"
    ):
        carried(past)


def test_a_part_that_schedules_for_ever_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_checks, "MOST_SECONDS", 0.2)
    with pytest.raises(InputError, match=r"design\.collection=mine has not carried .* schedules for ever"):
        carried(for_ever)


def test_a_part_that_asks_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_checks, "MOST_ANSWERS", 50)
    with pytest.raises(InputError, match="asks for more than 50 answers"):
        carried(honest, more=lambda tasks, hour: dealt([1], [0]))


def test_what_chance_does_is_the_campaigns_failure() -> None:
    def unlucky(rng: Any, work: Work) -> Log:
        raise DesignFailure("nobody came")

    with pytest.raises(DesignFailure, match="nobody came"):
        carried(unlucky)


def test_what_others_said_in_place_of_a_lapse() -> None:
    person = np.array([0, 0, 0, 1, 2, 2])
    lapsed = np.array([True, False, True, True, False, False])
    whose = lapses(clock(honest), Place(0), person, lapsed)
    assert (person[whose] == person).all()
    np.testing.assert_array_equal(whose[~lapsed], np.flatnonzero(~lapsed))
    assert whose[0] != 0
    assert whose[2] != 2
    # Who answers once has nothing else to say.
    assert whose[3] == 3


def test_chances_are_the_clocks_own() -> None:
    first, again = chances(4), chances(4)
    assert first.people.random() == again.people.random()
