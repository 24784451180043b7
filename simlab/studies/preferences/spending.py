"""Hold a campaign of comparisons to its money: with the first batch that it does not pay in full, collecting ends."""

from __future__ import annotations

import math

import numpy as np

from simlab.studies.money import bill, binding, payable, settled
from simlab.studies.preferences.preparing import Prepared
from simlab.types import Bools, Evidence, InputError, Ints
from simlab.types.collection import ALL_CAME, DECIDED, MONEY


def most_annotations(prepared: Prepared, n_systems: int) -> int | None:
    """Return how many comparisons a campaign has at most: as many as are asked for, and paid; None: no limit."""
    asked, paid = prepared.budget["annotations"], affordable(prepared, n_systems)
    return asked if paid == math.inf else int(min(paid, math.inf if asked is None else asked))


def affordable(prepared: Prepared, n_systems: int) -> float:
    """Count the comparisons that the money pays; inf where it has no limit, or a clock says when it ends."""
    money = binding(prepared.budget, n_systems) if prepared.cuts else None
    return math.inf if money is None else payable(prepared.prices, money.amount)


def accounts(prepared: Prepared, n_systems: int, evidence: Evidence, stop: Bools, end: Ints) -> list[dict[str, float]]:
    """Account for campaigns whose pairs were collected up to the looks `end[campaign, pair]`; nothing without limits.

    `stop[campaign, pair]` says whether a rule ended a pair there.
    """
    if not prepared.cuts:
        return [{} for _ in end]
    total = evidence.human.sum(-1).reshape(*end.shape, -1)
    used = np.take_along_axis(total, end[:, :, None], axis=2)[:, :, 0].sum(1)
    asked = prepared.budget["annotations"]
    planned = np.minimum(total[:, :, -1].sum(1), math.inf if asked is None else asked).astype(int)
    money_first = affordable(prepared, n_systems) < (math.inf if asked is None else asked)
    open_ = np.any(~stop & (end < total.shape[2] - 1), axis=1)
    return [
        settled(planned=int(p), used=int(u), lost=0, ended_by=_ended_by(bool(o) and money_first, short=u < p))
        for p, u, o in zip(planned, used, open_, strict=True)
    ]


def _ended_by(money: bool, *, short: bool) -> int:
    return MONEY if money else DECIDED if short else ALL_CAME


def refuse_unpaid(prepared: Prepared, n_systems: int) -> None:
    """Raise InputError for money that does not pay a batch of every pair; say the least that would."""
    money, pairs = binding(prepared.budget, n_systems), n_systems * (n_systems - 1) // 2
    if money is None:
        return
    batch = prepared.budget["batch_size"]
    least = bill(prepared.prices, answers=pairs * batch)
    if money.amount < least * (1 - 1e-12):
        raise InputError(
            f"{money.said} does not pay one batch of {batch} comparisons (budget.batch_size) of each of {pairs} pairs; "
            f"the least that would is {money.least(least)}; raise it, or lower budget.batch_size"
        )


def cut_said(prepared: Prepared, n_systems: int, n_items: int) -> list[str]:
    """Say how far the money reaches; nothing where it pays all that could be asked."""
    money, paid = binding(prepared.budget, n_systems), affordable(prepared, n_systems)
    per_pair = min(prepared.budget["annotations_per_pair"], n_items)
    wanted = n_systems * (n_systems - 1) // 2 * per_pair
    wanted = min(wanted, wanted if prepared.budget["annotations"] is None else prepared.budget["annotations"])
    if money is None or paid >= wanted:
        return []
    return [f"{money.said} pays {int(paid):,} of {wanted:,} comparisons, in whole batches; a rule may need fewer"]
