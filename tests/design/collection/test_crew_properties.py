"""What holds of every crew: nobody works before they come or after they left, and no answer comes twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from working_crews import worked

from simlab.studies.clock_checks import CampaignTasks, refuse_misfit
from simlab.types import CONTROL, DROPPED_OUT, EXCLUDED, HANDED_IN, DesignFailure, Log, Tasks, Work

KEYS = st.fixed_dictionaries(
    {
        "arrival_hours": st.sampled_from([0.0, 5.0]),
        "hours_a_day": st.sampled_from([2.0, 7.5, 24.0]),
        "days_a_week": st.integers(1, 7),
        "shift_spread": st.sampled_from([0.0, 10.0]),
        "seconds_per_answer": st.sampled_from([30.0, 900.0]),
        "rater_sd": st.sampled_from([0.0, 0.6]),
        "screen_sd": st.sampled_from([0.0, 0.8]),
        "most_answers": st.none() | st.integers(5, 40),
        "fatigue": st.sampled_from([0.0, 0.2]),
        "pause_every": st.none() | st.just(45.0),
        "pause": st.sampled_from([0.0, 10.0]),
        "lapse_rate": st.sampled_from([0.0, 0.1]),
        "lapse_per_hour": st.sampled_from([0.0, 0.1]),
        "drop_out": st.sampled_from([0.0, 0.05, 1.0]),
        "replacement": st.sampled_from(["none", "colleagues", "newcomers"]),
        "replacement_hours": st.sampled_from([0.0, 30.0]),
        "control_share": st.sampled_from([0.0, 0.2]),
        "control_pass": st.sampled_from([0.8, 1.0]),
        "control_failures": st.none() | st.integers(0, 3),
    }
)


@st.composite
def works(draw: st.DrawFn) -> Work:
    """Draw tasks of all sorts: dealt or not, apart, with somebody barred, that wait."""
    n, seats = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    streamed, barred, apart, waits = (draw(st.booleans()) for _ in range(4))
    seat = np.full(n, -1) if streamed else rng.integers(0, seats, n)
    may = rng.random((n, seats)) < 0.7
    may[np.arange(n), np.maximum(seat, 0)] = True
    tasks = Tasks(
        size=rng.integers(1, 9, n),
        seat=seat,
        may=may if barred else None,
        # Of tasks that are dealt, none of one person's are apart.
        apart=np.arange(n) // 2 if apart and streamed else None,
        ready=rng.exponential(20.0, n) if waits else None,
    )
    return Work(
        tasks,
        seats,
        deadline=draw(st.none() | st.sampled_from([3.0, 30.0, 400.0])),
        weekday=draw(st.integers(0, 6)),
        of_day=draw(st.none() | st.sampled_from([0.0, 15.0])),
    )


def carried_out(work: Work, keys: dict[str, Any], seed: int) -> Log | None:
    try:
        return worked(work, seed=seed, **keys)
    except DesignFailure:
        return None


@settings(max_examples=150, deadline=None)
@given(works(), KEYS, st.integers(0, 100))
def test_what_every_log_keeps_to(work: Work, keys: dict[str, Any], seed: int) -> None:
    log = carried_out(work, keys, seed)
    if log is None:
        assert keys["replacement"] == "newcomers"
        return
    refuse_misfit("crew", log, CampaignTasks(work.tasks, None), work.deadline)
    check_people(log, keys)
    check_days(work, log, keys)
    check_answers(work, log, keys)


def check_people(log: Log, keys: dict[str, Any]) -> None:
    for person in range(len(log.seat)):
        mine = log.person == person
        if not mine.any():
            continue
        # One thing at a time, in as much time as it takes at least.
        assert (log.began[mine][1:] >= log.ended[mine][:-1] - 1e-6).all()
        assert (log.seconds[mine] <= 3600 * (log.ended - log.began)[mine] + 1e-3).all()
        assert log.began[mine].min() >= log.arrived[person] - 1e-9
        if keys["most_answers"] is not None:
            assert (log.task[mine & (log.fate != DROPPED_OUT)] != CONTROL).sum() <= keys["most_answers"]
    gone = ~np.isnan(log.left)
    assert ((log.why != 0) == gone).all()
    if keys["replacement"] != "newcomers":
        assert len(log.seat) == len(np.unique(log.seat))


def check_days(work: Work, log: Log, keys: dict[str, Any]) -> None:
    """Hold an hour of the calendar against the longest day that anybody has."""
    start = 0.0 if work.of_day is None else work.of_day
    for hours in (log.began, log.ended):
        time = hours + start
        day = np.floor((time - 1e-6) / 24) if hours is log.ended else np.floor((time + 1e-6) / 24)
        if keys["shift_spread"] == 0 and keys["hours_a_day"] < 24:
            assert (((work.weekday + day) % 7) < keys["days_a_week"]).all()
            assert (time - 24 * day <= keys["hours_a_day"] + 1e-6).all()


def check_answers(work: Work, log: Log, keys: dict[str, Any]) -> None:
    answers = log.task != CONTROL
    begins = np.cumsum(work.tasks.size) - work.tasks.size
    number = begins[log.task] + log.part
    came = np.bincount(number[answers & (log.fate == HANDED_IN)], minlength=work.tasks.size.sum())
    assert came.max(initial=0) <= 1
    if keys["drop_out"] == 0 and keys["control_share"] == 0:
        assert (log.fate == HANDED_IN).all()
    for person in np.unique(log.person[log.fate == EXCLUDED]):
        assert (log.fate[(log.person == person) & answers] == EXCLUDED).all()
    untroubled = keys["drop_out"] == 0 and keys["control_share"] == 0 and keys["most_answers"] is None
    if untroubled and work.deadline is None and work.tasks.may is None and work.tasks.apart is None:
        assert (came == 1).all()


@settings(max_examples=25, deadline=None)
@given(works(), KEYS, st.integers(0, 100))
def test_the_same_chances_give_the_same_log(work: Work, keys: dict[str, Any], seed: int) -> None:
    first, again = carried_out(work, keys, seed), carried_out(work, keys, seed)
    if first is None or again is None:
        assert first is again
        return
    for name in ("task", "part", "person", "began", "ended", "seconds", "lapsed", "fate", "left"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
