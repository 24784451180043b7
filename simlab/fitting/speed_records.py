"""Write what a table says of speeds as plain numbers: for the file of a world, and for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from simlab.answers.fit import Speeds
from simlab.answers.records import read_record
from simlab.fitting.hours import hours_again
from simlab.fitting.speeds import KEPT, FittedSpeeds, Span
from simlab.tables.times import CUTS

SPANS = ("seconds_per_answer", "median_seconds", "rater_sd", "login_sd", "screen_sd")


def content(fitted: FittedSpeeds) -> dict[str, Any]:
    """Return what the file of a world says: the rule, what was there, estimates, and a draw for each world."""
    draws = fitted.draws[:KEPT].T.tolist()
    names = ("log_mean", "rater_sd", "login_sd")
    drawn = {name: [_short(value) for value in column] for name, column in zip(names, draws, strict=True)}
    return {**_summary(fitted), "draws": drawn}


def speeds(fitted: FittedSpeeds, raters: Mapping[str, Mapping[str, float]]) -> Speeds:
    """Return the same as an answer, with the hours that the same work would take other people, and each rater's."""
    again = hours_again(fitted)
    held = {
        **_summary(fitted),
        "logins_left_out": fitted.left_out,
        "logins_split": fitted.sittings,
        "hours_again": {name: _short(value) for name, value in again._asdict().items()},
        "raters": {name: dict(speed) for name, speed in raters.items()},
    }
    return read_record(Speeds, held, "speeds")


def _summary(fitted: FittedSpeeds) -> dict[str, Any]:
    times, worked = fitted.times, fitted.worked
    mean, error = fitted.law.log_mean
    cuts = sorted({*CUTS, fitted.cut})
    return {
        "rule": times.rule,
        "cut": fitted.cut,
        "hours": [{"cut": cut, "hours": _short(times.hours(cut))} for cut in cuts],
        "people": len(set(worked.person.tolist())),
        "logins": len(worked.person),
        "answers": len(times.gap),
        "answers_per_screen": _short(fitted.screens.answers),
        **{name: _span(getattr(fitted, name)) for name in SPANS},
        "log_mean": _short(mean),
        "log_mean_se": _short(error),
    }


def _span(one: Span) -> dict[str, float]:
    return {name: _short(value) for name, value in one._asdict().items() if math.isfinite(value)}


def _short(value: float) -> float:
    return float(f"{value:.5g}")
