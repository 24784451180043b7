"""Speeds of people at work, `Speeds`: mean seconds per answer, and its spread between people, logins and screens."""

from __future__ import annotations

from typing import NamedTuple


class Speeds(NamedTuple):
    """Speeds of the people whom a world could ask: one draw from a pilot's posterior.

    `seconds_per_answer` is the mean over people, days and screens; `rater_sd`, `login_sd` and `screen_sd` are standard
    deviations of the logarithm: between people, between the logins (goes) of one, and between the screens of one login
    (a screen is one output with all its segments). Seconds are of work: gaps were cut at `cut` seconds.
    """

    seconds_per_answer: float
    rater_sd: float
    login_sd: float
    screen_sd: float
    cut: float
