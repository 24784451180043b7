"""Work, effort and the calendar: three scales that follow from each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlab.design.collection.people import Shifts, cumulate_effort, effort_for_work, lay_out_shifts, moment, moments


def week(
    weekday: int = 0,
    hours: float = 8.0,
    days: int = 5,
    pause_every: float | None = None,
    pause: float = 0.0,
    drift: float = 0.0,
) -> Shifts:
    return lay_out_shifts(
        weekday, hours_a_day=hours, days_a_week=days, pause_every=pause_every, pause=pause, drift=drift
    )


WEEKS = st.builds(
    week,
    st.integers(0, 6),
    st.floats(0.25, 24.0),
    st.integers(1, 7),
    st.none() | st.floats(0.1, 12.0),
    st.floats(0.0, 3.0),
    st.sampled_from([0.0, 0.05, 0.7]),
)


def test_a_week_of_work_from_monday_on() -> None:
    plain = week()
    assert moment(plain, 3.0, ends=True)[:2] == (3.0, 3.0)
    assert moment(plain, 8.0, ends=True).hour == 8.0
    assert moment(plain, 8.0, ends=False).hour == 24.0
    assert moment(plain, 41.0, ends=True).hour == 7 * 24 + 1.0
    assert moment(week(weekday=5), 1.0, ends=True).hour == 49.0


def test_pauses_take_time_and_no_work() -> None:
    paused = week(pause_every=1.0, pause=0.25)
    assert moment(paused, 2.5, ends=True)[:2] == (3.0, 2.5)
    assert moment(paused, 1.0, ends=True).hour == 1.0
    assert moment(paused, 1.0, ends=False).hour == 1.25
    # Six hours and pauses are over after 7.5 of 8 hours, so half an hour is left.
    assert paused.work == 6.5


def test_who_tires_takes_longer_until_a_rest() -> None:
    tiring = week(drift=np.log(2.0), pause_every=1.0, pause=0.0)
    # An hour's work at a pace that halves in it: the integral of 2 ** -x.
    effort = 0.5 / np.log(2.0)
    assert moment(tiring, effort, ends=True).work == pytest.approx(1.0)
    assert moment(tiring, 3 * effort, ends=True).work == pytest.approx(3.0)
    assert effort_for_work(tiring, 3.0) == pytest.approx(3 * effort)


@given(WEEKS, st.floats(0.0, 500.0), st.booleans())
def test_many_efforts_at_once_are_what_each_is(shifts: Shifts, effort: float, ends: bool) -> None:
    one = moment(shifts, effort, ends=ends)
    many = moments(shifts, np.array([effort, 0.0]), ends=ends)
    np.testing.assert_allclose([column[0] for column in many], one, rtol=1e-9, atol=1e-7)


@given(WEEKS, st.floats(0.001, 200.0))
def test_scales_lead_back_to_where_one_was(shifts: Shifts, effort: float) -> None:
    at = moment(shifts, effort, ends=True)
    assert cumulate_effort(shifts, at.hour) == pytest.approx(effort, rel=1e-6, abs=1e-6)
    assert effort_for_work(shifts, at.work) == pytest.approx(effort, rel=1e-6, abs=1e-6)
    # Nobody works before a shift begins, or faster than time goes by.
    assert at.hour >= at.work - 1e-9
    assert at.work >= effort - 1e-9


@given(WEEKS, st.lists(st.floats(0.0, 100.0), min_size=2, max_size=20))
def test_time_goes_forward(shifts: Shifts, efforts: list[float]) -> None:
    hours, work, _ = moments(shifts, np.sort(efforts), ends=True)
    assert (np.diff(hours) >= -1e-7).all()
    assert (np.diff(work) >= -1e-7).all()
    begun = moments(shifts, np.sort(efforts), ends=False)[0]
    assert (begun >= hours - 1e-7).all()


@given(WEEKS, st.floats(0.01, 100.0))
def test_work_is_done_in_shifts_only(shifts: Shifts, effort: float) -> None:
    hour = moment(shifts, effort, ends=True).hour
    day, time = divmod(hour - 1e-9, 24.0)
    assert int(day) % 7 in shifts.days
    assert time <= shifts.full * (shifts.block + shifts.pause) + shifts.last + 1e-6
