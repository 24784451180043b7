"""End a campaign on a clock where its money does, and say what ended it and when."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simlab.studies.clock_checks import FLAT
from simlab.studies.money import NAN, Prices
from simlab.types import (
    ALL_CAME,
    DEADLINE,
    DROPPED_OUT,
    EXCLUDED,
    HANDED_IN,
    MONEY,
    NOBODY,
    Bools,
    Ints,
    Log,
)

SECONDS = 3600.0


def paid_for(prices: Prices, log: Log, money: float | None, calibration: int) -> tuple[Log, float | None]:
    """Cut a log at the first payment that the money does not cover; say when that was (None: it covers all)."""
    if money is None:
        return log, None
    arrived = np.isfinite(log.arrived)
    answer = np.where(calibrates(log, calibration), prices.calibration, prices.answer)
    entry = np.where(log.fate == DROPPED_OUT, 0.0, answer + prices.hour * log.seconds / SECONDS)
    hour = np.concatenate([log.arrived[arrived], log.ended])
    amount = np.concatenate([np.full(int(arrived.sum()), prices.rater), entry]) * (1 + prices.fee)
    order = np.argsort(hour, kind="stable")
    spent = np.cumsum(amount[order])
    over = np.flatnonzero(spent > money * (1 + 1e-12))
    if not len(over):
        return log, None
    first = order[over[0]]
    paid, n_people = order[: over[0]], int(arrived.sum())
    taken_on = np.flatnonzero(arrived)[paid[paid < n_people]]
    kept = np.sort(paid[paid >= n_people]) - n_people
    return _until(log, kept, taken_on, float(hour[first])), float(hour[first])


def calibrates(log: Log, calibration: int) -> Bools:
    """Tell which entries are calibration ratings, which are the first tasks."""
    return (log.task >= 0) & (log.task < calibration)


def _until(log: Log, kept: Ints, taken_on: Ints, end: float) -> Log:
    """Keep some entries of a log, and people who were taken on; who was excluded only later has not been excluded."""
    fate = np.where((log.fate == EXCLUDED) & (log.left[log.person] > end), HANDED_IN, log.fate)
    gone = log.left <= end
    flat = {name: getattr(log, name)[kept] for name in FLAT if name != "fate"}
    left, why = np.where(gone, log.left, NAN), np.where(gone, log.why, 0)
    arrived = np.full(len(log.arrived), NAN)
    arrived[taken_on] = log.arrived[taken_on]
    return replace(log, **flat, fate=fate[kept], left=left, why=why, arrived=arrived)


def ending(deadline: float | None, log: Log, ran_out: float | None, *, all_came: bool) -> tuple[int, float]:
    """Say what ended a campaign, and at which hour."""
    last = float(log.ended[-1]) if len(log.ended) else 0.0
    if all_came:
        return ALL_CAME, last
    if ran_out is not None:
        return MONEY, ran_out
    if log.stopped and deadline is not None:
        return DEADLINE, deadline
    return NOBODY, max(last, float(np.nanmax(log.left, initial=0.0, where=~np.isnan(log.left))))


def turns(seat: Ints) -> Ints:
    """Count for each person who sat in their seat before them."""
    order = np.argsort(seat, kind="stable")
    turn = np.empty(len(seat), np.int64)
    turn[order] = np.arange(len(seat)) - np.searchsorted(seat[order], seat[order])
    return turn
