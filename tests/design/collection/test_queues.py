"""Crews against closed forms: a queue with several people, the last of several to finish, what hours cost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from working_crews import IDEAL, dealt, one_stream, worked

from simlab.design.collection.crew import log_of
from simlab.design.collection.floor import ControlRules, Floor, Piles, Rules
from simlab.design.collection.people import Habits, Seats, lay_out_week
from simlab.rng import stream
from simlab.types import Chances, Floats, Log, Work

SERVERS, LOAD, TASKS, QUEUES = 3, 0.8, 1000, 25


def erlang_c(servers: int, load: float) -> float:
    """Return the chance that a task of an M/M/c queue has to wait; `load` is per person."""
    offered = servers * load
    waits = offered**servers / (math.factorial(servers) * (1 - load))
    return waits / (sum(offered**k / math.factorial(k) for k in range(servers)) + waits)


def mean_wait(servers: int, load: float) -> float:
    """Return how long a task waits on average, in units of what one takes."""
    return erlang_c(servers, load) / (servers * (1 - load))


def queue(seed: int, servers: int) -> tuple[Log, Floats]:
    """Let people serve a stream of tasks that come, and take, exponential times."""
    rng = stream(seed, "queue")
    ready = np.cumsum(rng.exponential(1 / (servers * LOAD), TASKS))
    people = Chances(stream(seed, "people"), stream(seed, "clock"))
    seats = Seats(people, servers, Habits(0.0, 0.0, 0.0, 0.0, 0.0))
    piles = Piles(servers, lambda tasks: rng.standard_exponential(len(tasks.size)), None)
    rules = Rules(lay_out_week(0, 24.0, 7), ControlRules(0.0, 1.0, None, 0.0), 0.0, 0.0, "colleagues", 0.0, math.inf)
    floor = Floor(Work(one_stream(TASKS, ready=ready), servers), seats, piles, rules, people.work, people.work)
    floor.run()
    return log_of(people.work, floor, seats.people, piles, deadline=None), ready


def waits(servers: int) -> Floats:
    """Return the mean wait in each of several queues, their beginning, which is empty, left out."""
    means = []
    for seed in range(QUEUES):
        log, ready = queue(seed, servers)
        began = np.empty(TASKS)
        began[log.task] = log.began
        means.append((began - ready)[300:].mean())
    return np.array(means)


def test_how_long_a_task_waits_for_one_of_several_people() -> None:
    means = waits(SERVERS)
    error = means.std(ddof=1) / math.sqrt(QUEUES)
    assert abs(means.mean() - mean_wait(SERVERS, LOAD)) < 3 * error
    # One person fewer is another queue: the test would see it.
    assert abs(means.mean() - mean_wait(SERVERS - 1, LOAD)) > 5 * error


def test_the_last_of_several_to_finish() -> None:
    # Each of five people has one task that takes a lognormal time: the mean of the greatest by quadrature.
    people, sd, campaigns = 5, 0.6, 400
    ends = np.array(
        [
            worked(Work(dealt([1] * people, list(range(people))), seats=people), seed=seed, screen_sd=sd).ended[-1]
            for seed in range(campaigns)
        ]
    )
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    below = np.array([0.5 * math.erfc(-z / math.sqrt(2)) for z in nodes]) ** (people - 1)
    expected = people * (weights * below * np.exp(sd * nodes - sd**2 / 2)).sum() / math.sqrt(2 * math.pi)
    error = ends.std(ddof=1) / math.sqrt(campaigns)
    assert abs(ends.mean() - expected) < 3 * error
    assert ends.mean() > 1 + 5 * error


@pytest.mark.parametrize("keys", [{}, {"hours_a_day": 5.0, "pause_every": 50.0, "pause": 10.0}, {"screen_sd": 1.0}])
def test_what_hours_cost_on_average(keys: dict[str, float]) -> None:
    # Factors of people and screens have mean 1, so 60 answers of a minute each are an hour of work.
    hours = [
        worked(
            Work(dealt([20, 20, 20], [0, 1, 2]), seats=3),
            seed=seed,
            **({"seconds_per_answer": 60.0, "rater_sd": 0.57} | keys),
        ).seconds.sum()
        / 3600
        for seed in range(400)
    ]
    error = np.std(hours, ddof=1) / 20
    assert abs(np.mean(hours) - 1.0) < 3 * error
    tired = worked(Work(dealt([60], [0]), seats=1), seconds_per_answer=60.0, fatigue=1.0).seconds.sum() / 3600
    # An hour's work at a pace that halves each hour: 2 ** x = 1 + ln 2 would take it, x hours of which are needed.
    assert tired == pytest.approx(-math.log2(1 - math.log(2)))


def test_people_leave_at_the_rate_that_is_stated() -> None:
    stayed = [
        np.isnan(worked(Work(dealt([8] * 4, [0, 1, 2, 3]), seats=4), seed=seed, drop_out=0.1, replacement="none").left)
        for seed in range(200)
    ]
    share, expected = np.mean(stayed), math.exp(-0.8)
    error = math.sqrt(expected * (1 - expected) / 800)
    assert abs(share - expected) < 3 * error


def test_ideal_keys_are_all_keys() -> None:
    from simlab.config import compose

    assert set(compose(["design.collection=team"])["design"]["collection"]) == {"_target_", *IDEAL}
