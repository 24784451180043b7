"""Let nobody be asked for more than they can: seats with much work go to those who can do much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simlab.concluding.assigning.people import Person
from simlab.concluding.assigning.seating import Seated
from simlab.messages import legible, several
from simlab.types import Floats, InputError, Ints, World

HOUR = 3600.0
MOST_NAMED = 3


def seconds_of(config: Mapping[str, Any], world: World) -> float | None:
    """Return what a rating takes on average, in seconds, as the study's clock says; None where it has none."""
    told = config["design"].get("collection", {}).get("seconds_per_answer")
    if told is None and world.speeds is not None:
        return world.speeds.seconds_per_answer
    return None if told is None else float(told)


def within(seated: Seated, loads: Ints, seconds: float | None) -> Seated:
    """Return raters in seats whose `loads`, in ratings, they can do; who sits where stays where that is well.

    Raters who were matched by name keep their seats. Raises InputError, with how much is over, where that cannot be.
    """
    able = _able(seated.people, seconds)
    if bool(np.all(loads <= able)):
        return seated
    everybody = (*seated.people, *seated.spare)
    if seated.by_name:
        _refuse(seated.people, loads, able)
    able = _able(everybody, seconds)
    # Who can do most takes the seat with the most work: if that does not fit, nothing does.
    best = np.argsort(-able, kind="stable")[: len(loads)]
    chosen = np.empty(len(loads), np.int64)
    chosen[np.argsort(-loads, kind="stable")] = best
    if not np.all(loads <= able[chosen]):
        _refuse([everybody[k] for k in chosen], loads, able[chosen])
    people = tuple(everybody[k] for k in chosen)
    spare = tuple(one for one in everybody if one not in people)
    frame = replace(seated.frame, rater_names=tuple(one.name for one in people))
    return seated._replace(frame=frame, people=people, spare=spare)


def _able(people: Sequence[Person], seconds: float | None) -> Floats:
    hours = [math.inf if seconds is None else one.hours * HOUR / seconds for one in people]
    return np.floor(np.minimum([one.cap for one in people], hours))


def _refuse(people: Sequence[Person], loads: Ints, able: Floats) -> None:
    over = np.maximum(loads - able, 0).astype(int)
    worst = np.argsort(-over, kind="stable")[:MOST_NAMED]
    named = [
        f"{legible(people[k].name, 30)} {loads[k]:,} for at most {able[k]:,.0f}" for k in worst.tolist() if over[k]
    ]
    more = f" and {int((over > 0).sum()) - len(named)} more" if int((over > 0).sum()) > len(named) else ""
    raise InputError(
        f"{several(int(over.sum()), 'rating')} over what raters can do, whoever sits where: {', '.join(named)}{more}; "
        "raise cap or hours, find more raters and plan for them, or plan for fewer documents"
    )
