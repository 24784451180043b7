"""Say how long raters take for a segment, from the times that a table of ratings has."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from simlab.tables.held import Ratings
from simlab.types import Floats

MAX_SECONDS = 24 * 3600.0
FEWEST = 5
"""A rater with fewer timed segments gets no speed of their own."""


def speeds(ratings: Ratings) -> dict[str, dict[str, float | int]]:
    """Return each rater's speed: seconds per segment are taken to be lognormal, fitted by the moments of logarithms.

    Ratings without a time, and with one of more than a day, are left out, and so are raters who took no time
    for half their ratings or more: they scored documents in one go. A table without times gives {}.
    """
    timed = (ratings.seconds > 0) & (ratings.seconds <= MAX_SECONDS)
    logs = np.log(ratings.seconds, where=timed, out=np.zeros(len(timed)))
    own = {name: logs[timed & (ratings.rater == rater)] for rater, name in enumerate(ratings.rater_names)}
    at_once = np.bincount(ratings.rater[ratings.seconds == 0], minlength=ratings.n_raters)
    one_by_one = {name for rater, name in enumerate(ratings.rater_names) if at_once[rater] < len(own[name])}
    return {name: _lognormal(own[name]) for name in sorted(one_by_one) if len(own[name]) >= FEWEST}


def _lognormal(logs: Floats) -> dict[str, float | int]:
    return {
        "median_seconds": float(f"{math.exp(logs.mean()):.4g}"),
        "log_sd": float(f"{logs.std(ddof=1):.4g}"),
        "segments": len(logs),
    }


def mean_seconds(speed: Mapping[str, float]) -> float:
    """Return the mean seconds per segment of a lognormal speed."""
    return speed["median_seconds"] * math.exp(speed["log_sd"] ** 2 / 2)
