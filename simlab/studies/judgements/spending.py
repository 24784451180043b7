"""Limit a study of judgements to its money: metric and calibration are paid first, judgements with what is left.

Money is `per_system`, which decides how many judgements are planned (`count_planned`), or `total`, that of all systems
together, which cuts these (`count_paid`). `Beside` holds the numbers that are paid first. `account_of` returns the
account of a campaign, `cut_said` sentences on what was cut.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from simlab.studies.judgements.preparing import PreparedJudgements
from simlab.studies.money import bill, count_payable, find_limit, settle_account
from simlab.types import InputError
from simlab.types.collection import ALL_CAME, DECIDED, MONEY


class Beside(NamedTuple):
    """Numbers that are paid beside judgements: outputs that the metric rates, and calibration ratings.

    `metric` counts the outputs of each of the `systems`, `calibration` the ratings of all systems together.
    """

    systems: int
    metric: int
    calibration: int

    def price(self, prepared: PreparedJudgements, human: int = 0) -> float:
        """Return the cost of a whole study with `human` judgements of each system."""
        return bill(
            prepared.prices,
            answers=human * self.systems,
            metric_calls=self.systems * self.metric,
            calibration=self.calibration,
        )


def count_planned(prepared: PreparedJudgements, beside: Beside) -> int:
    """Return the judgements of each system that are planned: `human_ratings`, or as many as `per_system` pays.

    On a clock nobody knows beforehand who comes and how many hours they take: `per_system` asks for as many as prices
    per answer alone would let it pay, and money ends them. Where only hours are paid, `human_ratings` are planned.
    Raises InputError where that pays none, or would pay any number of them.
    """
    each, timed = prepared.limits.per_system, prepared.clock is not None
    if timed:
        _refuse_metric(prepared, beside)
    if each is None or (timed and prepared.prices.answer == 0):
        return int(prepared.budget.human_ratings)
    return _count_payable(prepared, beside, each * beside.systems)


def _refuse_metric(prepared: PreparedJudgements, beside: Beside) -> None:
    """Raise InputError for money that is gone once the metric is paid, before anybody works."""
    money = find_limit(prepared.limits, beside.systems)
    if money is not None and money.amount <= bill(
        prepared.prices, answers=0, metric_calls=beside.systems * beside.metric
    ):
        refuse(prepared, beside, 1)


def count_paid(prepared: PreparedJudgements, beside: Beside) -> int:
    """Return the judgements of each system that are asked for: those planned, or as many of them as `total` pays."""
    planned, total = count_planned(prepared, beside), prepared.limits.total
    # Sums of prices miss the money by rounding.
    if total is None or not prepared.cuts or beside.price(prepared, planned) <= total * (1 + 1e-12):
        return planned
    return min(planned, _count_payable(prepared, beside, total))


def _count_payable(prepared: PreparedJudgements, beside: Beside, amount: float) -> int:
    """Count the judgements of each system that an amount of money for all systems together pays."""
    left = (amount - beside.price(prepared)) / beside.systems
    if prepared.prices.answer == 0:
        raise InputError(
            f"{_describe_limit(prepared, beside)}: judgements that cost nothing use up no money; "
            "set budget.price_per_judgement"
        )
    human = count_payable(prepared.prices, left)
    if human < 1:
        refuse(prepared, beside, 1)
    return int(min(human, math.inf))


def refuse(prepared: PreparedJudgements, beside: Beside, human: int) -> None:
    """Raise InputError: the money does not pay `human` judgements of each system; name the least amount that would."""
    money = find_limit(prepared.limits, beside.systems)
    least = "" if money is None else money.format_least(beside.price(prepared, human))
    what = "one judgement" if human == 1 else f"the {human} judgements that analysis.estimator needs"
    raise InputError(
        f"{_describe_limit(prepared, beside)} does not pay {what} of each system once metric and calibration are paid; "
        f"the least that would is {least}; raise it, or lower budget.metric_ratings or calibration_ratings"
    )


def _describe_limit(prepared: PreparedJudgements, beside: Beside) -> str:
    money = find_limit(prepared.limits, beside.systems)
    return "" if money is None else money.setting


def account_of(
    prepared: PreparedJudgements, beside: Beside, requested: int, used: int, *, open_: bool
) -> dict[str, float]:
    """Return the account of a campaign, as `settle_account` does; empty unless money limits it.

    It asked for `requested` judgements of each system and used `used` of all systems together. Money ended it where
    `total` pays fewer than were planned: what `per_system` pays is what is planned. `open_` says whether there is a
    system that no rule had ended.
    """
    if not prepared.cuts:
        return {}
    planned = count_planned(prepared, beside)
    short = used < planned * beside.systems
    ended_by = ALL_CAME if not short else MONEY if open_ and requested < planned else DECIDED
    in_all = planned * beside.systems + beside.calibration
    return settle_account(planned=in_all, used=used + beside.calibration, lost=0, ended_by=ended_by)


def cut_said(prepared: PreparedJudgements, beside: Beside) -> list[str]:
    """Return how the money cuts judgements; nothing where it pays all that were planned."""
    money, planned, paid = (
        find_limit(prepared.limits, beside.systems),
        *(count(prepared, beside) for count in (count_planned, count_paid)),
    )
    if money is None or not prepared.cuts:
        return []
    if paid < planned:
        return [f"{money.setting} pays {paid:,} of {planned:,} judgements of each system"]
    if prepared.limits.per_system is not None:
        return [f"{money.setting} pays {paid:,} judgements of each system, whatever budget.human_ratings says"]
    return []
