"""Work out the costs of a campaign, the answers that its money pays, and its deadline, for every kind of study.

Call `read_prices` and `read_money_limits` with a config's `budget`; `bill` returns a cost, `count_payable` a number of
answers, `deadline_hours` hours. Amounts are in the study's currency. People are paid by the answer, by the hour of
work, and once each for being taken on; a platform takes its fee on top. A metric is paid by the call.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple, TypedDict

import numpy as np
from annotated_types import Ge, Gt, Le

from simlab.messages import show
from simlab.types import COMPARE, JUDGE, Array, Collected, InputError
from simlab.types.bounds import Price

Amount = Annotated[float, Gt(0), Le(1e12)]
"""An amount of money that a study may cost."""

NAN = float("nan")

CENT = 1e-9
"""Share of an answer's price that may be missing for it to be paid: absorbs floating-point rounding."""

_SPAN = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)([hd])")
_HOURS = {"h": 1.0, "d": 24.0}


class Money(TypedDict):
    """Keys of money and time that studies of every kind have."""

    total: Amount | None
    per_system: Amount | None
    currency: str | None
    price_per_rating: Price
    price_per_hour: Price
    price_per_rater: Price
    platform_fee: Annotated[float, Ge(0), Le(10)]
    deadline: str | None
    start: str | None


class Prices(NamedTuple):
    """Prices per answer, hour of work, person, call of the metric and calibration rating.

    `fee` is the share that a platform takes on top of what people get.
    """

    answer: float
    hour: float = 0.0
    rater: float = 0.0
    metric_call: float = 0.0
    calibration: float = 0.0
    fee: float = 0.0


def read_prices(budget: Mapping[str, Any], question: str) -> Prices:
    """Read the prices of a study that asks a question; those that are null follow from others."""
    own = {COMPARE: "price_per_comparison", JUDGE: "price_per_judgement"}.get(question, "price_per_rating")
    answer = _read_first(budget, own, "price_per_rating")
    return Prices(
        answer=answer,
        hour=_read_first(budget, "price_per_hour"),
        rater=_read_first(budget, "price_per_rater"),
        metric_call=_read_first(budget, "price_per_metric_call"),
        calibration=_read_first(budget, "price_per_calibration_rating", otherwise=answer),
        fee=_read_first(budget, "platform_fee"),
    )


def _read_first(budget: Mapping[str, Any], *names: str, otherwise: float = 0.0) -> float:
    """Return the first of these keys that has a value."""
    return next((float(budget[name]) for name in names if budget.get(name) is not None), otherwise)


def bill(
    prices: Prices,
    *,
    answers: float,
    hours: float = 0.0,
    raters: float = 0,
    metric_calls: float = 0,
    calibration: float = 0,
) -> float:
    """Add up what is paid for answers (void ones included), hours of work, people, metric and calibration ratings.

    >>> round(bill(Prices(0.5, rater=10.0, fee=0.2), answers=100, raters=3), 2)
    96.0
    """
    # Where both cost the same they are counted together, as they always were: the same bits.
    together = prices.calibration == prices.answer
    for_answers = (answers + calibration * together) * prices.answer + (0 if together else calibration) * (
        prices.calibration
    )
    people = for_answers + hours * prices.hour + raters * prices.rater
    return people * (1 + prices.fee) + metric_calls * prices.metric_call


def reduce_payment(paid: Mapping[str, float], short: int, prices: Prices) -> Mapping[str, float]:
    """Return `paid`, amounts and counts by name, without `short` answers; metric and people stay paid."""
    if not short:
        return paid
    price = bill(prices, answers=short)
    less = {"ratings": short, "cost": price, "human_cost": price, "open": -short}
    return {name: amount - less.get(name, 0) for name, amount in paid.items()}


def count_payable(prices: Prices, money: float) -> float:
    """Count the answers that an amount pays; inf where they cost nothing.

    >>> count_payable(Prices(0.1), 0.3), count_payable(Prices(0.5, fee=0.2), 0.59), count_payable(Prices(0.0), 1.0)
    (3, 0, inf)
    """
    each = prices.answer * (1 + prices.fee)
    return max(math.floor(money / each + CENT), 0) if each else math.inf


class MoneyLimits(NamedTuple):
    """Most that a study may cost in all, and for each system (None: no limit), and the name of the currency."""

    total: float | None = None
    per_system: float | None = None
    currency: str | None = None


def read_money_limits(budget: Mapping[str, Any]) -> MoneyLimits:
    """Read the limits of a study's money from the keys of its budget; one that is missing is none."""
    return MoneyLimits(*(budget.get(key) for key in MoneyLimits._fields))


def limit(limits: MoneyLimits, n_systems: int) -> float | None:
    """Return the most that a whole study may cost: the smaller of `total` and `per_system` times systems; None: any."""
    of_systems = None if limits.per_system is None else limits.per_system * n_systems
    amounts = [amount for amount in (limits.total, of_systems) if amount is not None]
    return min(amounts, default=None)


class Binding(NamedTuple):
    """Limit on the money of a whole study, and the key that sets it: `setting` is `budget.total=500 EUR`.

    `systems` counts those that an amount of the key is divided by: 1 where the key is `total`.
    """

    amount: float
    setting: str
    systems: int
    currency: str

    def format_least(self, amount: float) -> str:
        """Write an amount for a whole study as a value for the key that binds; it is rounded up, to the cent."""
        # Rounded up to the cent, but not for what rounding errors lie above one.
        each = math.ceil(amount / self.systems * 100 - 1e-6) / 100
        return f"{each:,.12g}{self.currency}" + (" per system" if self.systems > 1 else "")


def find_limit(limits: MoneyLimits, n_systems: int) -> Binding | None:
    """Return the limit of a study's money and the key that sets it; None: there is no limit."""
    money, each = limit(limits, n_systems), limits.per_system
    if money is None:
        return None
    currency = f" {limits.currency}" if limits.currency else ""
    if each is None or money == limits.total:
        return Binding(money, f"budget.total={money:.12g}{currency}", 1, currency)
    return Binding(money, f"budget.per_system={each:.12g}{currency}", n_systems, currency)


def find_currency(configs: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of the money in which all of these studies pay; empty where they name none, or several."""
    named = {config.get("budget", {}).get("currency") or "" for config in configs}
    return named.pop() if len(named) == 1 else ""


def start_of(budget: Mapping[str, Any]) -> datetime | None:
    """Return when a campaign starts (a day: at midnight; None: not given); raise InputError for what is no date."""
    start = budget.get("start")
    return None if start is None else _date("start", start)


def deadline_hours(budget: Mapping[str, Any]) -> float | None:
    """Return after how many hours from the start, nights included, a campaign ends; None: never.

    A date is a deadline with its own day, and needs `start`. Raises InputError for what is no deadline, and for one
    that is past before it starts.

    >>> deadline_hours({"deadline": "5d"}), deadline_hours({"deadline": "2026-03-06", "start": "2026-03-02"})
    (120.0, 120.0)
    """
    deadline, start = budget.get("deadline"), start_of(budget)
    if deadline is None:
        return None
    span = _SPAN.fullmatch(deadline)
    hours = float(span[1]) * _HOURS[span[2]] if span else _count_hours(deadline, start)
    if hours <= 0:
        since = f", before budget.start={budget['start']}" if start else ""
        raise InputError(f"budget.deadline={deadline} is past when the campaign starts{since}; set a later one")
    return hours


def _count_hours(deadline: str, start: datetime | None) -> float:
    end = _date("deadline", deadline)
    if start is None:
        raise InputError(
            f"budget.deadline={deadline} is a date, and nobody says when the campaign starts; set budget.start to a "
            "date too, or budget.deadline to hours (36h) or days (5d)"
        )
    # By a day means until it is over.
    end += timedelta(days=1) if len(deadline) == len("2026-03-06") else timedelta()
    return (end - start) / timedelta(hours=1)


def _date(key: str, text: str) -> datetime:
    spans = "hours (36h), days (5d) or " if key == "deadline" else ""
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        date = None
    if date is None or date.tzinfo is not None or not re.match(r"\d{4}-\d\d-\d\d", text):
        what = "deadline" if key == "deadline" else "date"
        raise InputError(
            f"budget.{key}={show(text)} is no {what}; write {spans}a date (2026-03-06, or 2026-03-06T17:00)"
        )
    return date


def has_clock(config: Mapping[str, Any]) -> bool:
    """True if a study is simulated on a clock, with people who come, work and go."""
    return "_target_" in config.get("design", {}).get("collection", {})


def has_account(config: Mapping[str, Any]) -> bool:
    """True if a study accounts for ratings planned, lost and left open: it has a clock, or money that can run out."""
    budget = config.get("budget", {})
    return has_clock(config) or budget.get("total") is not None or budget.get("per_system") is not None


def settle_account(
    *, planned: int, used: int, lost: int, ended_by: int, hours: float = NAN, days: float = NAN
) -> dict[str, float]:
    """Return the account of a campaign: the entries of `Collected.paid` beside its ratings and their cost.

    Each planned rating was used, was lost, or is still open. Hours are those of all people together, days those of
    the calendar; NaN without a clock.
    """
    return {
        "planned": planned,
        "lost": lost,
        "open": planned - used - lost,
        "ended_by": ended_by,
        "hours": hours,
        "days": days,
    }


def account(campaigns: Sequence[Collected]) -> dict[str, Array]:
    """Return the outcomes of accounted campaigns, `[campaign]`; nothing where they are not accounted."""
    paid = [collected.paid for collected in campaigns]
    if not all("planned" in one for one in paid):
        return {}
    people = all("load_entropy" in one for one in paid)
    load = {"load_entropy_reached": np.array([one["load_entropy"] for one in paid])} if people else {}
    return load | {
        "ended_by": np.array([one["ended_by"] for one in paid], np.int8),
        "ratings_planned": np.array([one["planned"] for one in paid], np.int32),
        "ratings_lost": np.array([one["lost"] for one in paid], np.int32),
        "ratings_open": np.array([one["open"] for one in paid], np.int32),
        "work_hours": np.array([one["hours"] for one in paid], np.float64),
        "campaign_days": np.array([one["days"] for one in paid], np.float64),
    }
