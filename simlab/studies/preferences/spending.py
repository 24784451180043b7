"""Limit a campaign of comparisons to its money: with the first batch that it does not pay in full, collecting ends.

`most_annotations` returns the most comparisons that a bound study pays, `accounts` the account of each campaign.
"""

from __future__ import annotations

import math

import numpy as np

from simlab.design.protocol import find_last_looks
from simlab.studies.money import bill, count_payable, find_limit, settle_account
from simlab.studies.preferences.preparing import PreparedPreferences
from simlab.types import Bools, InputError, Ints
from simlab.types.collection import ALL_CAME, DECIDED, MONEY


def most_annotations(prepared: PreparedPreferences, n_systems: int) -> int | None:
    """Return the most comparisons of a campaign, all pairs together, by design and money; None: no limit."""
    limit, paid = prepared.budget.annotations, count_affordable(prepared, n_systems)
    return limit if paid == math.inf else int(min(paid, math.inf if limit is None else limit))


def count_affordable(prepared: PreparedPreferences, n_systems: int) -> float:
    """Count the comparisons that the money pays; inf where it has no limit, or a clock says when it ends."""
    money = find_limit(prepared.limits, n_systems) if prepared.cuts else None
    return math.inf if money is None else count_payable(prepared.prices, money.amount)


def accounts(prepared: PreparedPreferences, stop: Bools, cost: Ints, order: Ints, end: Ints) -> list[dict[str, float]]:
    """Return an account (`settle_account`) of each campaign, its pairs collected up to looks `end[campaign, pair]`.

    It is empty where no money limits the study. See `find_last_looks` for `stop`, `cost` and `order`. Planned are the
    comparisons that a protocol asks for without limits of money: all that `annotations` allow in whole batches.
    """
    if not prepared.cuts:
        return [{} for _ in end]
    used, limit = _sum_to(cost, end), prepared.budget.annotations
    without_money = find_last_looks(stop, cost, limit, order)
    # Where annotations ran out, rules that ended some pairs had left these batches for the others.
    ran_out, came = np.any(_open(stop, without_money), axis=1), _sum_to(cost, without_money)
    planned = np.where(ran_out, came, np.maximum(came, count_requests(cost, limit, order)))
    money: Bools = np.any(_open(stop, end), axis=1)
    return [
        settle_account(planned=int(p), used=int(u), lost=0, ended_by=ALL_CAME if u == p else MONEY if m else DECIDED)
        for p, u, m in zip(planned, used, money, strict=True)
    ]


def count_requests(cost: Ints, annotations: int | None, order: Ints) -> Ints:
    """Count the comparisons asked for if no rule ends a pair, `[campaign]`: whole batches up to `annotations`."""
    return _sum_to(cost, find_last_looks(np.zeros(cost.shape, bool), cost, annotations, order))


def _sum_to(cost: Ints, end: Ints) -> Ints:
    """Count the comparisons of all pairs up to their looks, `[campaign]`."""
    return np.asarray(np.take_along_axis(np.cumsum(cost, axis=2), end[:, :, None], axis=2)[:, :, 0].sum(1))


def _open(stop: Bools, end: Ints) -> Bools:
    """Mark which pairs neither a rule nor the last look had ended, `[campaign, pair]`."""
    ended = np.take_along_axis(stop, end[:, :, None], axis=2)[:, :, 0]
    return np.asarray(~ended & (end < stop.shape[2] - 1))


def refuse_unpaid(prepared: PreparedPreferences, n_systems: int) -> None:
    """Raise InputError for money that does not pay a batch of every pair; the message has the least that would."""
    money, pairs = find_limit(prepared.limits, n_systems), n_systems * (n_systems - 1) // 2
    if money is None:
        return
    batch = prepared.budget.batch_size
    least = bill(prepared.prices, answers=pairs * batch)
    if money.amount < least * (1 - 1e-12):
        raise InputError(
            f"{money.setting} does not pay one batch of {batch} comparisons (budget.batch_size) of each of {pairs} "
            f"pairs; the least that would is {money.format_least(least)}; raise it, or lower budget.batch_size"
        )


def cut_said(prepared: PreparedPreferences, n_systems: int, n_items: int) -> list[str]:
    """Return a sentence on how far the money reaches; nothing where it pays all that could be asked."""
    money, paid = find_limit(prepared.limits, n_systems), count_affordable(prepared, n_systems)
    per_pair = min(prepared.budget.annotations_per_pair, n_items)
    wanted = n_systems * (n_systems - 1) // 2 * per_pair
    wanted = min(wanted, wanted if prepared.budget.annotations is None else prepared.budget.annotations)
    if money is None or paid >= wanted:
        return []
    return [f"{money.setting} pays {int(paid):,} of {wanted:,} comparisons, in whole batches; a rule may need fewer"]
