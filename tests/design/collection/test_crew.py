"""Who does what, and when: small crews of which one can say what they must do."""

from __future__ import annotations

import numpy as np
import pytest
from working_crews import dealt, one_stream, worked

from simlab.types import (
    CONTROL,
    DID_THEIRS,
    DROPPED_OUT,
    EXCLUDED,
    FAILED_CONTROLS,
    HANDED_IN,
    LEFT,
    DesignFailure,
    InputError,
    Speeds,
    Tasks,
    Work,
)


def test_people_do_their_own_in_its_order_one_after_the_other() -> None:
    log = worked(Work(dealt([2, 1, 3], [0, 1, 0]), seats=2))
    assert log.task.tolist() == [0, 1, 0, 2, 2, 2]
    assert log.part.tolist() == [0, 0, 1, 0, 1, 2]
    assert log.person.tolist() == [0, 1, 0, 0, 0, 0]
    np.testing.assert_allclose(log.ended, [1, 1, 2, 3, 4, 5])
    np.testing.assert_allclose(log.ended - log.began, 1)
    np.testing.assert_allclose(log.seconds, 3600)
    assert (log.fate == HANDED_IN).all()
    assert not log.stopped


def test_shifts_and_weekends_are_no_work() -> None:
    log = worked(Work(dealt([6], [0]), seats=1, weekday=4), hours_a_day=2.0, days_a_week=5)
    np.testing.assert_allclose(log.ended, [1, 2, 73, 74, 97, 98])
    np.testing.assert_allclose(log.began, [0, 1, 72, 73, 96, 97])
    np.testing.assert_allclose(log.seconds, 3600)


def test_a_campaign_that_starts_at_noon_waits_for_the_shift_of_the_morning_after() -> None:
    log = worked(Work(dealt([2], [0]), seats=1, of_day=12.0), day_begins=9.0, hours_a_day=4.0)
    np.testing.assert_allclose(log.ended, [1.0, 22.0])


def test_one_stream_goes_to_whoever_is_free() -> None:
    log = worked(Work(one_stream(7), seats=None), crew_size=3)
    np.testing.assert_allclose(np.sort(log.ended), [1, 1, 1, 2, 2, 2, 3])
    assert sorted(np.bincount(log.person).tolist()) == [2, 2, 3]


def test_who_takes_what_can_be_chosen() -> None:
    log = worked(Work(one_stream(5), seats=1, choose=lambda seat, tasks, hour: len(tasks) - 1))
    assert log.task.tolist() == [4, 3, 2, 1, 0]


def test_tasks_wait_until_they_are_ready() -> None:
    log = worked(Work(one_stream(2, ready=np.array([5.0, 2.5])), seats=1))
    assert log.task.tolist() == [1, 0]
    np.testing.assert_allclose(log.began, [2.5, 5.0])


def test_what_follows_from_what_was_handed_in() -> None:
    asked = []

    def more(tasks: np.ndarray, hour: float) -> Tasks | None:
        asked.append((tasks.tolist(), hour))
        return one_stream(1) if len(asked) < 3 else None

    log = worked(Work(one_stream(1), seats=1, more=more))
    assert log.task.tolist() == [0, 1, 2]
    assert asked == [([0], 1.0), ([1], 2.0), ([2], 3.0)]


def test_tasks_apart_go_to_different_people_who_may() -> None:
    may = np.array([[True, True, False]] * 4)
    log = worked(Work(Tasks(np.ones(4, int), np.full(4, -1), may, np.array([0, 0, 1, 1])), seats=3))
    doers = [set(log.person[np.isin(log.task, pair)].tolist()) for pair in ([0, 1], [2, 3])]
    assert doers == [{0, 1}, {0, 1}]


def test_what_somebody_leaves_goes_to_a_colleague_as_a_whole() -> None:
    log = worked(Work(dealt([50, 50], [0, 1]), seats=2), seed=2, drop_out=0.02)
    gone = np.flatnonzero(log.why == LEFT)
    assert len(gone) == 1
    lost = log.fate == DROPPED_OUT
    assert lost.sum() == 1
    came = log.fate == HANDED_IN
    assert came.sum() == 100
    task = int(log.task[lost][0])
    by_colleague = came & (log.task == task) & (log.person != gone[0])
    assert log.part[by_colleague].tolist() == list(range(int(log.part[lost][0]), 50))
    # They did their own first.
    assert log.began[by_colleague].min() >= log.ended[(log.task == 1 - task) & came].max() - 1e-9
    assert (log.ended[log.person == gone[0]] <= log.left[gone[0]] + 1e-9).all()


def test_who_is_replaced_by_nobody_leaves_a_gap() -> None:
    log = worked(Work(dealt([50, 50], [0, 1]), seats=2), seed=2, drop_out=0.02, replacement="none")
    assert (log.fate == HANDED_IN).sum() < 100
    assert not log.stopped


def test_newcomers_sit_down_in_the_same_seat_later() -> None:
    keys = {"drop_out": 0.05, "replacement": "newcomers", "replacement_hours": 7.0}
    log = worked(Work(dealt([50, 50], [0, 1]), seats=2), seed=3, **keys)
    assert (log.fate == HANDED_IN).sum() == 100
    assert len(log.seat) > 2
    for person in range(2, len(log.seat)):
        before = max(k for k in range(person) if log.seat[k] == log.seat[person])
        assert log.arrived[person] == pytest.approx(log.left[before] + 7.0)
    assert (log.seat[log.person] == np.array([0, 1])[log.task]).all()


def test_nobody_stays() -> None:
    keys = {"drop_out": 100.0, "replacement": "newcomers"}
    with pytest.raises(DesignFailure, match="nobody stays"):
        worked(Work(dealt([50], [0]), seats=1), **keys)


def test_who_fails_control_items_is_excluded_and_what_they_said_is_done_again() -> None:
    keys = {"control_share": 0.5, "control_pass": 0.5, "control_failures": 0}
    log = worked(Work(dealt([4, 4, 4, 4], [0, 0, 1, 1]), seats=2), seed=1, **keys)
    out = np.flatnonzero(log.why == FAILED_CONTROLS)
    assert len(out)
    said = np.isin(log.person, out) & (log.task != CONTROL)
    assert (log.fate[said] == EXCLUDED).all()
    assert (log.fate[~said & (log.task != CONTROL)] == HANDED_IN).all()
    for person in out:
        theirs = log.lapsed[(log.person == person) & (log.task == CONTROL)]
        assert theirs.any()
        assert log.left[person] == log.ended[log.person == person].max()


def test_a_control_item_for_every_other_answer() -> None:
    log = worked(Work(dealt([3, 5], [0, 0]), seats=1), control_share=0.5)
    assert (log.task == CONTROL).sum() == 4
    # They close a task, and take as long as an answer.
    np.testing.assert_allclose(log.ended, np.arange(1, 13))
    assert log.task.tolist() == [0, 0, 0, -1, 1, 1, 1, 1, 1, -1, -1, -1]


def test_nobody_gives_more_answers_than_one_person_may() -> None:
    log = worked(Work(dealt([5, 5], [0, 1]), seats=3), most_answers=4)
    assert np.bincount(log.person).tolist() == [4, 4, 2]
    assert log.why.tolist() == [DID_THEIRS, DID_THEIRS, 0]


def test_a_deadline_stops_everybody() -> None:
    log = worked(Work(dealt([5, 5], [0, 1]), seats=2, deadline=2.5))
    assert log.ended.tolist() == [1, 1, 2, 2]
    assert log.stopped


def test_a_deadline_after_the_end_stops_nobody() -> None:
    log = worked(Work(dealt([2, 2], [0, 1]), seats=2, deadline=50.0))
    assert len(log.task) == 4
    assert not log.stopped


def test_who_tires_takes_longer_and_lapses_more() -> None:
    keys = {"seconds_per_answer": 36.0, "fatigue": 0.5, "lapse_per_hour": 0.05, "hours_a_day": 8.0}
    log = worked(Work(dealt([3000], [0]), seats=1), **keys)
    within = log.on_task + log.seconds / 3600 < 8
    middle = log.on_task + log.seconds / 7200
    np.testing.assert_allclose(log.seconds[within], 36.0 * 1.5 ** middle[within], rtol=0.01)
    early, late = log.on_task < 2, log.on_task > 6
    assert log.lapsed[late].mean() > log.lapsed[early].mean() + 0.1
    share = log.lapsed.mean()
    assert share == pytest.approx((0.05 * log.on_task).mean(), abs=5 * np.sqrt(share / len(log.lapsed)))


def test_answers_of_a_screen_take_equally_long() -> None:
    screen = np.repeat(np.arange(4), [3, 2, 4, 1])
    log = worked(Work(Tasks(np.array([5, 5]), np.array([0, 0]), screen=screen), seats=1), screen_sd=0.8)
    of_screen = [np.unique(np.round(log.seconds[screen == k], 6)) for k in range(4)]
    assert [len(values) for values in of_screen] == [1, 1, 1, 1]
    assert len(np.unique(np.concatenate(of_screen))) == 4


def test_speeds_of_a_fitted_world() -> None:
    unknown = {"seconds_per_answer": None, "rater_sd": None, "screen_sd": None}
    speeds = Speeds(seconds_per_answer=120.0, rater_sd=0.0, login_sd=0.0, screen_sd=0.0, cut=300.0)
    log = worked(Work(dealt([3], [0]), seats=1, speeds=speeds), **unknown)
    np.testing.assert_allclose(log.seconds, 120.0)
    with pytest.raises(InputError, match=r"seconds_per_answer=null takes the speeds of a fitted world"):
        worked(Work(dealt([3], [0]), seats=1), **unknown)
