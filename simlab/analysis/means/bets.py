"""Bet on the mean of judgements, with a metric too: a confidence sequence that holds at all looks at once.

Against a mean m a gambler multiplies the capital by `1 + l (x - m)`, another by `1 - l (x - m)`; neither stake l knows
what comes. If m is the mean given all that came before, no capital is expected to grow, and one reaches `2 / level`
with at most half the level's probability (Ville). Source: Waudby-Smith and Ramdas 2024, theorem 3.

With a metric x is `y - a (g - r)`: g what it says of the judged output, r what it says of others on average, so that x
has the mean of y whatever a is. The slope a is that of the judgements before, known when x comes; what x can be at most
and at least follows from it. Source: Csillag, Struchiner and Goedert 2025 (prediction-powered e-values) bet so on a
known mean of g; fresh outputs at each step in its place keep the bets exact where it is not known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.types import Floats

STEPS = 16
"""Bisections of a bound, rounded outwards to 1.5e-5 of the scale."""
UNTIL_SLOPE = 10
"""Judgements before a metric is believed at all."""


class Bets(NamedTuple):
    """Hold what is bet on, `[n]`: `x`, the `least` and `most` that it could have been, and the `stake`."""

    x: Floats
    least: Floats
    most: Floats
    stake: Floats

    def until(self, n: int) -> Bets:
        """Return the first n bets."""
        return Bets(*(part[:n] for part in self))


class Metric(NamedTuple):
    """Hold what a metric says: `g[n]` of judged outputs, `other[n]` of others on average, all within the `scale`.

    `noise` is the variance of `other` over that of g (0: it is known).
    """

    g: Floats
    other: Floats
    scale: tuple[float, float]
    noise: float


def on_judgements(y: Floats, low: float, high: float, level: float) -> Bets:
    """Bet on judgements `y[n]` from `low` to `high`."""
    ends = np.full(y.shape, low), np.full(y.shape, high)
    return Bets(y, *ends, _stake(_before(y**2) - _before(y) ** 2, high - low, level))


def with_metric(y: Floats, metric: Metric, low: float, high: float, level: float) -> Bets:
    """Bet on judgements less what the metric lets expect of them."""
    g = metric.g - sum(metric.scale) / 2
    variance, covariance = _before(g**2) - _before(g) ** 2, _before(y * g) - _before(y) * _before(g)
    slope = _slopes(covariance, (1 + metric.noise) * variance)
    left = _before(y**2) - _before(y) ** 2 - 2 * slope * covariance + slope**2 * (1 + metric.noise) * variance
    above, below = (np.abs(slope) * apart for apart in _most_apart(metric))
    up, down = np.where(slope > 0, below, above), np.where(slope > 0, above, below)
    x = y - slope * (metric.g - metric.other)
    return Bets(x, low - down, high + up, _stake(np.maximum(left, 0.0), high - low, level))


def interval(bets: Bets, level: float, low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest mean, from `low` to `high`, that no bet so far has refuted.

    Capitals fall, or rise, with the mean that they bet against, so that bisection finds where they reach `2 / level`;
    what was refuted remains so.
    """
    least = _bound(bets, 2 / level, low, high, up=True)
    # Where nothing is left, no more than the level's probability of tables being so, the interval is a point.
    return least, max(least, _bound(bets, 2 / level, high, low, up=False))


def _bound(bets: Bets, goal: float, refuted: float, held: float, *, up: bool) -> float:
    """Find where means cease to be refuted; the end of the scale itself where none is."""
    for _ in range(STEPS):
        middle = (refuted + held) / 2
        refuted, held = (middle, held) if _won(bets, middle, up=up) >= goal else (refuted, middle)
    return refuted


def _won(bets: Bets, mean: float, *, up: bool) -> float:
    """Return the largest capital so far of the gambler who bets that x is above, or below, a mean."""
    room, gap = (mean - bets.least, bets.x - mean) if up else (bets.most - mean, mean - bets.x)
    # Half of what could ruin: a judgement at the other end of the scale leaves half of the capital.
    stake = np.minimum(bets.stake, 0.5 / np.maximum(room, 1e-300))
    factor = 1 + stake * gap
    # What is won beyond all numbers is enough; what is lost beyond them stays lost, which errs on the safe side.
    with np.errstate(over="ignore", under="ignore"):
        return float(np.cumprod(factor).max(initial=1.0))


def _stake(variance: Floats, width: float, level: float) -> Floats:
    """Bet as the spread so far suggests, taking it for half the scale at first."""
    t = np.arange(1, len(variance) + 1)
    spread = (0.25 * width**2 + (t - 1) * variance) / t
    return np.asarray(np.sqrt(2 * np.log(2 / level) / (np.maximum(spread, 1e-12 * width**2) * t * np.log1p(t))))


def _slopes(covariance: Floats, variance: Floats) -> Floats:
    """Return the slope before each judgement; 0 as long as few have come, or the metric says one thing."""
    told = (variance > 1e-12) & (np.arange(len(variance)) >= UNTIL_SLOPE)
    return np.divide(covariance, variance, out=np.zeros_like(variance), where=told)


def _most_apart(metric: Metric) -> tuple[Floats, Floats]:
    """Return by how much g can exceed the others, and fall short of them, `[n]`."""
    low, high = metric.scale
    if metric.noise > 0:
        apart = np.full(metric.g.shape, high - low)
        return apart, apart
    return high - metric.other, metric.other - low


def _before(x: Floats) -> Floats:
    """Average what came before each judgement, `[n]`; 0 before the first."""
    return np.asarray((np.cumsum(x) - x) / np.maximum(np.arange(len(x)), 1))
