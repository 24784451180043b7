"""Bet on the next output: e-processes that are exact with a metric, for a test set or for the population behind it.

A step is an output, or a document where outputs come in documents. With y what raters say of it (+1, 0, -1; of a
document the sum), g what the metric says, and the coefficient a and the stake l chosen from earlier steps alone,

    X_t = (y_t - mu_t) - a_t (g_t - h_t),    E_t = mean over stakes of prod_s (1 + l_s X_s).

*Population*: mu_t = 0, and h_t is the mean over further outputs that the metric alone has seen, fresh ones at each
step; a mean over all of them would be known in advance, and X_t would not have mean 0 given the past. *Test set*:
outputs are drawn without replacement, mu_t is what the mean of those left must be if that of all is 0, and h_t the
metric's mean over those left. Either way X_t has mean 0 given the past, exactly, if neither system is better, so that
E is a test martingale; if the first is worse, bets that it is better lose on average. Sources: Ville 1939; Waudby-Smith
and Ramdas 2020 (sampling without replacement), 2024 (betting).
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from simlab.analysis.preferences.steps import Estimand, Steps, Unit, before, expected, steps_of, trail_of
from simlab.types import Array, Bools, Evidence, Floats, Ints

STAKES = {1.5: 0.2, 2.7: 0.4, 4.5: 0.3, 9.0: 0.1}
"""Stakes in units of 1 / sqrt(planned steps x variance of X), and how much of the wealth is bet with each: 2.7 finds
most by the planned end, larger ones end early where systems differ much. The plan tunes them; the promise holds beyond
it, too."""

MOST = 0.9
"""The share of its wealth that a bet may lose at one step."""

_VARIANCE, _STEPS = 0.4, 5.0
"""What stands for the variance of X and of g - h before anything was seen, and how many steps it is worth."""


def exact_bets(evidence: Evidence, *, estimand: Estimand, use_metric: bool, unit: Unit) -> tuple[Floats, Floats]:
    """Return log e-values `[row, look]` of bets that the first system is better, and of bets that it is worse.

    Raises InputError where outputs are not known one by one, or the metric has not seen those that it takes.
    """
    trail = trail_of(evidence)
    steps = steps_of(trail, int(evidence.annotations[-1]), unit)
    done = (steps.read[:, :, None] <= evidence.annotations).sum(1)
    centre = np.clip(_left_to_come(steps), -1, 1) if estimand == "test_set" else np.zeros_like(steps.y)
    u = steps.g - expected(steps, trail, estimand, unit) if use_metric else np.zeros_like(steps.y)
    # What is left to expect of a step that nobody takes has no bounds.
    y, u = (np.where(steps.size > 0, values, 0.0) for values in (steps.y - centre, u))
    better, worse = _log_wealth(y, u, 1 + np.abs(centre), steps.planned, done)
    if estimand == "test_set":
        better = np.where(_certain(steps.y, steps, done), np.inf, better)
        worse = np.where(_certain(-steps.y, steps, done), np.inf, worse)
    return better, worse


def both_ways(better: Floats, worse: Floats) -> tuple[Floats, Array]:
    """Average bets either way to one log e-value, and say which of them is ahead: +1, 0, -1."""
    return np.asarray(np.logaddexp(better, worse) - np.log(2)), np.asarray(
        (better > worse) * 1 - (better < worse), np.int8
    )


def _left_to_come(steps: Steps) -> Floats:
    """Return the mean of the steps not taken yet if that of all is 0."""
    left = steps.available[:, None] - np.arange(steps.y.shape[1])
    return np.asarray(-before(steps.y) / np.maximum(left, 1))


def _log_wealth(y: Floats, u: Floats, reach: Floats, planned: Ints, done: Ints) -> tuple[Floats, Floats]:
    """Return the logarithm of what bets on either side have made by each look: `[row, look]`.

    `y` lies within `reach`, and `u`, what the metric says beyond what was to be expected, within 2. A coefficient that
    leaves no room for the stake is cut: with few steps the stake matters more than what the metric explains.
    """
    best = before(y * u) / (before(u**2) + _VARIANCE * _STEPS)
    variance = (_VARIANCE * _STEPS + before((y - best * u) ** 2)) / (_STEPS + np.arange(y.shape[1]))
    better: list[Floats] = []
    worse: list[Floats] = []
    for stake, share in STAKES.items():
        wanted = stake / np.sqrt(planned[:, None] * variance)
        room = np.maximum(MOST / wanted - reach, 0) / 2
        a = np.clip(best, -room, room)
        bet = np.minimum(wanted, MOST / (reach + 2 * np.abs(a)))
        for side, logs in ((1, better), (-1, worse)):
            log = np.pad(np.cumsum(np.log1p(side * bet * (y - a * u)), axis=1), ((0, 0), (1, 0)))
            logs.append(np.log(share) + np.take_along_axis(log, done, axis=1))
    return np.asarray(logsumexp(np.stack(better), axis=0)), np.asarray(logsumexp(np.stack(worse), axis=0))


def _certain(y: Floats, steps: Steps, done: Ints) -> Bools:
    """Say at which looks the steps not taken yet cannot make up for the lead any more."""
    lead = np.take_along_axis(np.pad(np.cumsum(y, axis=1), ((0, 0), (1, 0))), done, axis=1)
    return np.asarray(lead > steps.available[:, None] - done + 1e-9)
