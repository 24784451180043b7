"""Refuse keys of money and time that contradict each other, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.messages import shown
from simlab.studies.money import deadline_hours, limit, on_a_clock, prices_of, start_of
from simlab.types import RATE, InputError

CLOCKS = "choose design.collection=team, experts or crowd"
LONGEST = 20
"""Letters of the name of a currency: it stands behind every amount."""


def check_money(config: Mapping[str, Any], question: str) -> None:
    """Raise InputError for a deadline that is none, prices that nobody can be paid by, and two names for one amount."""
    budget = config.get("budget", {})
    start_of(budget)
    deadline_hours(budget)
    _check_names(budget)
    if not on_a_clock(config):
        _refuse_hours(budget, question)
    _refuse_free(config, budget, question)


def _check_names(budget: Mapping[str, Any]) -> None:
    currency = budget.get("currency")
    if currency is not None and not (0 < len(currency) <= LONGEST and currency.isprintable() and currency.strip()):
        raise InputError(
            f"budget.currency={shown(currency, 30)} must be a name such as EUR, of {LONGEST} letters at most"
        )


def _refuse_hours(budget: Mapping[str, Any], question: str) -> None:
    """Refuse what is paid, or over, by the hour where nobody has hours."""
    for key in ("deadline", "start"):
        if budget.get(key) is not None:
            raise InputError(
                f"budget.{key}={budget[key]} needs a clock, and design.collection=none has none; {CLOCKS}, or set "
                f"budget.{key}=null"
            )
    keys = ("price_per_hour",) if question == RATE else ("price_per_hour", "price_per_rater")
    for key in keys:
        if budget.get(key):
            what = "hours" if key == "price_per_hour" else "who works"
            raise InputError(
                f"budget.{key}={budget[key]:.12g} needs a clock: with design.collection=none nobody knows {what}; "
                f"{CLOCKS}, or set budget.{key}=0"
            )


def _refuse_free(config: Mapping[str, Any], budget: Mapping[str, Any], question: str) -> None:
    """Refuse money that is never spent."""
    if limit(budget, 1) is None or any(prices_of(budget, question)[:-1]):
        return
    key = next(key for key in ("total", "per_system", "cost") if budget.get(key) is not None)
    raise InputError(
        f"budget.{key}={budget[key]:.12g}: with prices of 0 no money is ever spent; set a price such as "
        f"budget.price_per_rating, or budget.{key}=null"
    )
