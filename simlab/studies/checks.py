"""Check the keys of a cell (one config) against each other and against its first world, before anything is run.

`check` takes a config, makes all checks and returns the `Shape` of its worlds (numbers of systems, documents, items,
raters); `describe_scope` returns lines of text on what one answer covers and how many answers are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.messages import show
from simlab.studies.kind import Shape
from simlab.studies.kinds import identify_kind
from simlab.studies.money import deadline_hours, has_clock, limit, read_money_limits, read_prices, start_of
from simlab.studies.read_only import notice_writing
from simlab.studies.worlds import draw_world
from simlab.types import RATE, InputError, World

OF_THE_WORLD = ("seconds_per_answer", "rater_sd", "screen_sd")
"""Keys of a clock that are null where they are those of the world."""
CLOCKS = "choose design.collection=team, experts or crowd"
LONGEST = 20
"""Most letters in the name of a currency: it stands behind every amount."""


@np.errstate(all="ignore")
def describe_scope(config: Mapping[str, Any]) -> list[str]:
    """Return lines of text on the first world: the extent of an answer, the number asked for, and how money cuts it."""
    return identify_kind(config).covers(config, draw_world(config, 0))


@np.errstate(all="ignore")
@notice_writing()
def check(config: Mapping[str, Any]) -> Shape:
    """Return the shape of a cell's worlds; raise InputError where its keys contradict each other or its world."""
    kind = identify_kind(config)
    check_money(config, kind.question)
    world = draw_world(config, 0)
    last = [config.get(key, 1) - 1 for key in ("pools", "document_draws")]
    if any(last):
        draw_world(config, 0, *last)
    if not kind.accepts(world):
        offered = " or ".join(sorted(world.answers))
        raise InputError(
            f"question={kind.question}: outputs of this world are there to {offered}; choose other raters or systems"
        )
    check_speeds(config, world)
    return kind.check(config, world)


def check_speeds(config: Mapping[str, Any], world: World) -> None:
    """Raise InputError where keys of the clock are null, so taken from the world, and the world has no speeds."""
    clock = config["design"].get("collection") or {}
    wanted = [key for key in OF_THE_WORLD if key in clock and clock[key] is None]
    if wanted and world.speeds is None:
        raise InputError(
            f"design.collection.{wanted[0]}=null: this world says nothing of how fast people work; fit one to a table"
            " with times (simlab fit), or choose design.collection=experts, crowd or team"
        )


def check_money(config: Mapping[str, Any], question: str) -> None:
    """Raise InputError for a wrong deadline, start or currency, hourly pay without a clock, or money without prices."""
    budget = config.get("budget", {})
    start_of(budget)
    deadline_hours(budget)
    _check_names(budget)
    if not has_clock(config):
        _refuse_hours(budget, question)
    _refuse_free(config, budget, question)


def _check_names(budget: Mapping[str, Any]) -> None:
    currency = budget.get("currency")
    if currency is not None and not (0 < len(currency) <= LONGEST and currency.isprintable() and currency.strip()):
        raise InputError(
            f"budget.currency={show(currency, 30)} must be a name such as EUR, of {LONGEST} letters at most"
        )


def _refuse_hours(budget: Mapping[str, Any], question: str) -> None:
    """Raise InputError for prices per hour or person, a deadline and a start where no clock counts hours."""
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
    """Raise InputError for a limit of money where all prices are 0."""
    if limit(read_money_limits(budget), 1) is None or any(read_prices(budget, question)[:-1]):
        return
    key = next(key for key in ("total", "per_system", "cost") if budget.get(key) is not None)
    raise InputError(
        f"budget.{key}={budget[key]:.12g}: with prices of 0 no money is ever spent; set a price such as "
        f"budget.price_per_rating, or budget.{key}=null"
    )
