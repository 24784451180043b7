"""Check what the file of a fitted world says of how fast people work."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

# pydantic takes typing's own only from Python 3.12.
from typing_extensions import NotRequired, TypedDict  # noqa: UP035

from simlab.types import InputError, Speeds

Seconds = Annotated[float, Gt(0), Le(1e9)]
LogSpread = Annotated[float, Ge(0), Le(10)]
Count = Annotated[int, Ge(1)]
Column = Annotated[list[LogSpread], MinLen(1), MaxLen(2000)]


class Span(TypedDict):
    """Keys of an estimate and its 90 % interval; where one cluster tells nothing of the error there is none."""

    low: NotRequired[float]
    estimate: float
    high: NotRequired[float]


class AtCut(TypedDict):
    """Keys of the hours of a table at one cut."""

    cut: Seconds
    hours: Annotated[float, Ge(0)]


class Draws(TypedDict):
    """Keys of draws from what is known; each world takes one."""

    log_mean: Annotated[list[Annotated[float, Ge(-20), Le(25)]], MinLen(1), MaxLen(2000)]
    rater_sd: Column
    login_sd: Column


class Timing(TypedDict):
    """Keys of how fast people at large work, under which rule."""

    rule: Literal["ends", "durations"]
    cut: Seconds
    hours: Annotated[list[AtCut], MaxLen(100)]
    people: Count
    logins: Count
    answers: Count
    answers_per_screen: Annotated[float, Gt(0)]
    seconds_per_answer: Span
    median_seconds: Span
    rater_sd: Span
    login_sd: Span
    screen_sd: Span
    log_mean: float
    log_mean_se: Annotated[float, Ge(0)]
    draws: Draws


def speeds_of(timing: Timing | None, where: str) -> tuple[Speeds, ...]:
    """Return the draws of speeds that a file holds; none where it holds none.

    Raises InputError, beginning with `where`, for draws of different lengths.
    """
    if timing is None:
        return ()
    draws, screen_sd, cut = timing["draws"], timing["screen_sd"]["estimate"], timing["cut"]
    if len({len(draws["log_mean"]), len(draws["rater_sd"]), len(draws["login_sd"])}) > 1:
        raise InputError(f"{where}: timing.draws must have as many of log_mean, rater_sd and login_sd")
    each = zip(draws["log_mean"], draws["rater_sd"], draws["login_sd"], strict=True)
    # People at large take the mean of a lognormal, which no draw of a sensible file makes longer than a year.
    return tuple(
        Speeds(min(math.exp(mean + (rater**2 + login**2) / 2), 3e7), rater, login, screen_sd, cut)
        for mean, rater, login in each
    )
