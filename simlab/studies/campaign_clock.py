"""Simulate a campaign on a clock, where people take time to answer, and end it when its time or money runs out.

Call `bind_clock(config, question)` once per cell for the `Clock` (None: the cell has none), then `carry_out` with the
`Tasks` of each campaign, which returns `ClockedAnswers`: the answers that came (task and part, as the kind of study
numbers them), from whom and when, in the order in which they came. `lapses` returns for each answer the one whose value
it repeats: its own, or another of a person who does not look. `ClockedAnswers.settled` goes into
`Collected.paid`, `ClockedAnswers.log` into `Collected.known["log"]`. A protocol that asks for more as answers come
gives `more`; a platform that decides who takes which task gives `choose`. The clock has random numbers of its own, so
that answers and deals are the same with and without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simlab.design.collection.people import cumulate_effort, lay_out_week, moment
from simlab.formulas import normalized_entropy
from simlab.parts import bind, is_own, name_of
from simlab.rng import stream
from simlab.studies.clock_checks import FLAT, CampaignTasks, name_failures, refuse_misfit
from simlab.studies.money import (
    NAN,
    MoneyLimits,
    Prices,
    bill,
    deadline_hours,
    has_clock,
    limit,
    read_money_limits,
    read_prices,
    settle_account,
    start_of,
)
from simlab.types import (
    ALL_CAME,
    DEADLINE,
    DROPPED_OUT,
    EXCLUDED,
    HANDED_IN,
    MONEY,
    NOBODY,
    Bools,
    Chances,
    Floats,
    Hears,
    InputError,
    Ints,
    Log,
    More,
    Next,
    Place,
    Speeds,
    Tasks,
    Work,
    World,
)

SECONDS = 3600.0
KEYS = ("seconds_per_answer", "rater_sd", "hours_a_day", "days_a_week", "day_begins", "crew_size")
"""Keys of a clock from which `check_deadline` works out the expected hours; a clock without them is not checked.
"""


class Clock(NamedTuple):
    """Clock of a cell: the part that knows how people work, prices, and the deadline of a campaign.

    `deadline` is in hours from the start (None: there is none), `written_deadline` the key as it was written; the start
    is on `weekday` at `of_day`, see `Work`. `name` is the part's; `own` says that it is simlab's, which ends;
    `replaces`, who comes when somebody leaves.
    """

    carry: Callable[[Chances, Work], Log]
    name: str
    own: bool
    seed: int
    limits: MoneyLimits
    written_deadline: str | None
    prices: Prices
    replaces: str
    deadline: float | None
    weekday: int
    of_day: float | None


class ClockedAnswers(NamedTuple):
    """Answers of a campaign: flat arrays, one entry per answer that counts, in the order in which they came.

    `part[k]` counts within `task[k]`, `at[k]` is in hours from the start, `lapsed[k]`: given without looking.
    `turn[person]` people sat in `seat[person]` before. The `log` has all events until the campaign ended at hour `end`;
    `ended_by` is a code such as `MONEY`. `hours` of work and the amount `paid` are of all people together; `planned`
    answers were asked for in all, `lost` ones were void or abandoned and not given again.
    """

    task: Ints
    part: Ints
    person: Ints
    at: Floats
    lapsed: Bools
    seat: Ints
    turn: Ints
    log: Log
    ended_by: int
    end: float
    hours: float
    paid: float
    planned: int
    lost: int

    @property
    def settled(self) -> dict[str, float]:
        """Return the entries of `Collected.paid` for this campaign: its ratings, their cost, and the account."""
        account = settle_account(
            planned=self.planned,
            used=len(self.task),
            lost=self.lost,
            ended_by=self.ended_by,
            hours=self.hours,
            days=self.end / 24,
        )
        return {"ratings": len(self.task), "cost": self.paid, **account}


def bind_clock(config: Mapping[str, Any], question: str) -> Clock | None:
    """Bind the clock of a cell; None where it has none."""
    if not has_clock(config):
        return None
    section, budget = config["design"]["collection"], config["budget"]
    start = start_of(budget)
    return Clock(
        carry=bind(section, config.get("plugins", ())),
        name=name_of(section),
        own=is_own(section),
        seed=config["seed"],
        limits=read_money_limits(budget),
        written_deadline=budget.get("deadline"),
        prices=read_prices(budget, question),
        replaces=str(section.get("replacement", "none")),
        deadline=deadline_hours(budget),
        weekday=0 if start is None else start.weekday(),
        of_day=None if start is None else start.hour + start.minute / 60 + start.second / 3600,
    )


def carry_out(
    clock: Clock,
    place: Place,
    tasks: Tasks,
    *,
    seats: int | None,
    n_systems: int,
    more: More | None = None,
    hears: Hears | None = None,
    choose: Next | None = None,
    strangers: bool = True,
    speeds: Speeds | None = None,
    calibration: int = 0,
    beside: float = 0.0,
) -> ClockedAnswers:
    """Let people work at tasks until all is done, nobody is left, or the time or the money has run out.

    `seats` people work at once (None: as many as the clock has); `more`, `hears`, `choose`, `strangers` and `speeds`
    are those of `Work`. The first `calibration` tasks are calibration ratings, which have a price of their own;
    `beside` is an amount that is paid first.
    Raises InputError where the part's log cannot be, DesignFailure where chance left nobody.
    """
    planned = CampaignTasks(tasks, more)
    work = Work(
        tasks=tasks,
        seats=seats,
        deadline=clock.deadline,
        more=None if more is None else planned.request_more_tasks,
        hears=hears,
        choose=choose,
        strangers=strangers,
        weekday=clock.weekday,
        of_day=clock.of_day,
        speeds=speeds,
    )
    chances = Chances(
        stream(clock.seed, *place.of_pool, "people"),
        stream(clock.seed, *place.of_study, "clock"),
    )
    with nullcontext() if clock.own else name_failures(clock.name):
        log = clock.carry(chances, work)
    refuse_misfit(clock.name, log, planned, clock.deadline)
    money = limit(clock.limits, n_systems)
    log, ran_out = cut_unpaid(clock.prices, log, None if money is None else money - beside, calibration)
    carried = _collect_answers(clock, log, planned, ran_out, calibration)
    return carried._replace(paid=carried.paid + beside)


def _collect_answers(
    clock: Clock, log: Log, planned: CampaignTasks, ran_out: float | None, calibration: int
) -> ClockedAnswers:
    answers = log.task >= 0
    came = answers & (log.fate == HANDED_IN)
    state = np.zeros(planned.n_answers, np.int8)
    state[planned.number(log, answers & ~came)] = 1
    # Written last: an answer that was void and was given again counts as one that came.
    state[planned.number(log, came)] = 2
    ended_by, end = ending(clock.deadline, log, ran_out, all_came=bool((state == 2).all()))
    on_board = log.arrived <= end
    # Void answers are paid like others; one that its person left amid is not.
    handed = log.fate != DROPPED_OUT
    for_calibration = int((handed & mark_calibration(log, calibration)).sum())
    paid = bill(
        clock.prices,
        answers=int(handed.sum()) - for_calibration,
        calibration=for_calibration,
        hours=float(log.seconds[handed].sum()) / SECONDS,
        raters=int(on_board.sum()),
    )
    return ClockedAnswers(
        task=log.task[came],
        part=log.part[came],
        person=log.person[came],
        at=log.ended[came],
        lapsed=log.lapsed[came],
        seat=log.seat,
        turn=count_predecessors(log.seat),
        log=log,
        ended_by=ended_by,
        end=end,
        hours=float(log.seconds.sum()) / SECONDS,
        paid=paid,
        planned=planned.n_answers,
        lost=int(np.count_nonzero(state == 1)),
    )


def load_entropy(carried: ClockedAnswers, person: Ints) -> float:
    """Return the normalised entropy of the loads of all people of a campaign, 1 where equal; NaN without answers.

    `person[k]` gave the k-th answer that counts.
    """
    load = np.bincount(person, minlength=len(carried.seat))
    # Adding 0.0 turns -0.0 into 0.0.
    return normalized_entropy(load) + 0.0 if len(person) else NAN


def lapses(clock: Clock, place: Place, person: Ints, lapsed: Bools) -> Ints:
    """Return the index of the answer that each one repeats: its own, or, of a lapse, another of the same person.

    `person[k]` gave answer k, `lapsed[k]` marks lapses; a lapse of somebody with no other answer repeats itself.
    """
    whose = np.arange(len(person))
    where = np.flatnonzero(lapsed)
    if not len(where):
        return whose
    order = np.argsort(person, kind="stable")
    first = np.searchsorted(person[order], person[where])
    n = np.searchsorted(person[order], person[where], side="right") - first
    rank = np.empty(len(person), np.int64)
    rank[order] = np.arange(len(person))
    chance = stream(clock.seed, *place.of_study, "clock", "lapses").random(len(person))[where]
    # One of the n - 1 others; alone, their own.
    step = 1 + np.floor(chance * np.maximum(n - 1, 1)).astype(np.int64)
    whose[where] = order[first + (rank[where] - first + step) % n]
    return whose


def cut_unpaid(prices: Prices, log: Log, money: float | None, calibration: int) -> tuple[Log, float | None]:
    """Return a log up to the first payment that `money` does not cover, and the hour of that (None: all is covered).

    The first `calibration` tasks have a price of their own.
    """
    if money is None:
        return log, None
    arrived = np.isfinite(log.arrived)
    answer = np.where(mark_calibration(log, calibration), prices.calibration, prices.answer)
    entry = np.where(log.fate == DROPPED_OUT, 0.0, answer + prices.hour * log.seconds / SECONDS)
    hour = np.concatenate([log.arrived[arrived], log.ended])
    amount = np.concatenate([np.full(int(arrived.sum()), prices.rater), entry]) * (1 + prices.fee)
    order = np.argsort(hour, kind="stable")
    spent = np.cumsum(amount[order])
    # Sums of prices miss the money by rounding.
    over = np.flatnonzero(spent > money * (1 + 1e-12))
    if not len(over):
        return log, None
    first = order[over[0]]
    paid, n_people = order[: over[0]], int(arrived.sum())
    taken_on = np.flatnonzero(arrived)[paid[paid < n_people]]
    kept = np.sort(paid[paid >= n_people]) - n_people
    return _cut_log(log, kept, taken_on, float(hour[first])), float(hour[first])


def mark_calibration(log: Log, calibration: int) -> Bools:
    """Mark which entries are calibration ratings, which are the first tasks."""
    return (log.task >= 0) & (log.task < calibration)


def _cut_log(log: Log, kept: Ints, taken_on: Ints, end: float) -> Log:
    """Keep some entries of a log, and people who were taken on; who was excluded only later has not been excluded."""
    fate = np.where((log.fate == EXCLUDED) & (log.left[log.person] > end), HANDED_IN, log.fate)
    gone = log.left <= end
    flat = {name: getattr(log, name)[kept] for name in FLAT if name != "fate"}
    left, why = np.where(gone, log.left, NAN), np.where(gone, log.why, 0)
    arrived = np.full(len(log.arrived), NAN)
    arrived[taken_on] = log.arrived[taken_on]
    return replace(log, **flat, fate=fate[kept], left=left, why=why, arrived=arrived)


def ending(deadline: float | None, log: Log, ran_out: float | None, *, all_came: bool) -> tuple[int, float]:
    """Return the code of what ended a campaign, such as `MONEY`, and the hour; `ran_out`: the hour of no more money."""
    last = float(log.ended[-1]) if len(log.ended) else 0.0
    if all_came:
        return ALL_CAME, last
    if ran_out is not None:
        return MONEY, ran_out
    if log.stopped and deadline is not None:
        return DEADLINE, deadline
    return NOBODY, max(last, float(np.nanmax(log.left, initial=0.0, where=~np.isnan(log.left))))


def count_predecessors(seat: Ints) -> Ints:
    """Count the people who sat in each person's seat before them, `[person]`, given `seat[person]`."""
    order = np.argsort(seat, kind="stable")
    turn = np.empty(len(seat), np.int64)
    turn[order] = np.arange(len(seat)) - np.searchsorted(seat[order], seat[order])
    return turn


def check_deadline(clock: Clock, world: World, *, answers: float, of: str, seats: int | None) -> None:
    """Raise InputError for a deadline by which the fewest `answers` that make a campaign cannot be expected.

    `of` names the answers in the message; `seats` people work at once (None: the clock's crew). The expectation is that
    of people who all work from the first shift on, neither tire nor leave, and finish together. Clocks of plug-ins are
    not checked.
    """
    keys = getattr(clock.carry, "keywords", {})
    if clock.deadline is None or not clock.own or not all(key in keys for key in KEYS):
        return
    hours = _expect_hour(clock, keys, world, answers / (seats or keys["crew_size"]))
    if hours is not None and clock.deadline < hours:
        raise InputError(
            f"budget.deadline={clock.written_deadline}: until then people cannot be expected to have {of}, even if "
            f"all worked from the first shift on; the least that would do is {math.ceil(hours * 10) / 10:g}h"
        )


def _expect_hour(clock: Clock, keys: Mapping[str, Any], world: World, each: float) -> float | None:
    """Return the hour at which everybody can be expected to have given so many answers; None: nobody knows how fast."""
    speeds = world.speeds
    seconds = keys["seconds_per_answer"] or (speeds and speeds.seconds_per_answer)
    spread = speeds.rater_sd if keys["rater_sd"] is None and speeds else keys["rater_sd"]
    if seconds is None or spread is None:
        return None
    # Of people whose times are lognormal with mean 1, the mean of what they do in an hour is exp(spread ** 2).
    effort = each * seconds / 3600 / math.exp(spread**2)
    begins = 0.0 if clock.of_day is None else keys["day_begins"] - clock.of_day
    shifts = lay_out_week(clock.weekday, keys["hours_a_day"], keys["days_a_week"])
    return begins + moment(shifts, cumulate_effort(shifts, -begins) + effort, ends=True).hour
