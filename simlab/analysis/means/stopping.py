"""Stop judging once the mean is known well enough: intervals that hold at all looks at once.

Judgements `x[..., n]` are independent, lie within known bounds `low` and `high` (one number, or one per row) and share
their mean. Each function gives an interval at every look; all of them together cover the mean with probability
`1 - level`, so one may stop whenever it pleases. With a metric they apply to `y - a g`, a fixed before the first
judgement and g centred on the large set; `range_with_metric` gives its bounds. These are wider than those of y, which
costs more than the metric gains until the interval wanted is narrow.

`empirical_bernstein_looks`, `anytime_bernstein_looks` and `betting_looks` take whole arrays; `bet_on_judgements`,
`bet_with_metric` and `interval` serve one sequence of judgements.

Against a mean m a gambler multiplies the capital by `1 + l (x - m)`, another by `1 - l (x - m)`; neither stake l knows
what comes. If m is the mean given all that came before, no capital is expected to grow, and one reaches `2 / level`
with at most half the level's probability (Ville). Source: Waudby-Smith and Ramdas 2024, theorem 3.

In `bet_with_metric` x is `y - a (g - r)`: g the metric's score of the judged output, r its mean score of others, so
that x has the mean of y whatever a is. The slope a is that of the judgements before, known when x comes; the bounds of
x follow from it. Source: Csillag, Struchiner and Goedert 2025 (prediction-powered e-values) bet so on a known mean of
g; fresh outputs at each step in its place keep the bets exact where it is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simlab.analysis.means.estimates import check_judgements, check_level, reject
from simlab.types import Floats, Ints

STEPS = 16
"""Bisections of a bound, rounded outwards to 1.5e-5 of the scale."""
UNTIL_SLOPE = 10
"""Judgements before a metric is believed at all."""


class Looks(NamedTuple):
    """Bounds at each look, after `n[look]` judgements: `low[..., look]`, `high[..., look]`.

    Bounds are those of all looks so far intersected; where they cross (with less than the level's probability, unless
    an assumption fails) the interval is empty.
    """

    n: Ints
    low: Floats
    high: Floats


def geometric_looks(n: int, growth: float = 1.1) -> Ints:
    """Return looks that lie ever farther apart: each at `growth` times the judgements of the one before, up to n.

    Raises InputError for a growth that does not grow, and fewer than 2 judgements.

    >>> geometric_looks(20, 2.0).tolist()
    [2, 4, 8, 16, 20]
    """
    reject(n < 2 or growth <= 1, f"geometric_looks: n={n} must be at least 2, growth={growth:g} above 1; raise them")
    powers = 2 * growth ** np.arange(np.ceil(np.log(n / 2) / np.log(growth)) + 1)
    return np.unique(np.minimum(np.floor(powers), n).astype(np.int64))


def empirical_bernstein_looks(
    x: ArrayLike, low: ArrayLike, high: ArrayLike, *, level: float = 0.05, looks: Sequence[int] | Ints | None = None
) -> Looks:
    """Give empirical Bernstein intervals at each look, the level spread over looks: `level (p - 1) / p k^-p`, p = 1.1.

    At a look with level d, with V the sample variance and R the range, the radius is
    `sqrt(2 V log(4/d) / n) + 7 R log(4/d) / (3 (n - 1))`. Looks are planned beforehand (default: after each judgement
    from the second); few and late ones, as of `geometric_looks`, lose less.

    Raises InputError where judgements exceed the bounds or looks do not rise within 2 ... n.
    Source: Maurer and Pontil 2009, theorem 4; Mnih, Szepesvari and Audibert 2008 (EBStop, EBGStop).
    """
    unit, at, scale = _prepare_looks(x, low, high, level, looks)
    n = np.arange(1, unit.shape[-1] + 1)
    mean = np.cumsum(unit, axis=-1) / n
    squares = np.cumsum(unit**2, axis=-1) / n
    n, mean, squares = at, mean[..., at - 1], squares[..., at - 1]
    variance = np.maximum(squares - mean**2, 0.0) * n / (n - 1)
    p = 1.1
    log = np.log(4 / (level * (p - 1) / p * np.arange(1, len(n) + 1) ** -p))
    radius = np.sqrt(2 * variance * log / n) + 7 * log / (3 * (n - 1))
    return _intersect_running(n, mean - radius, mean + radius, scale)


def anytime_bernstein_looks(
    x: ArrayLike, low: ArrayLike, high: ArrayLike, *, level: float = 0.05, looks: Sequence[int] | Ints | None = None
) -> Looks:
    """Give the empirical Bernstein confidence sequence with predictable plug-in: valid at any time, no level to spread.

    `sum(l x) / sum(l) +- (log(2/level) + sum(4 (x_i - m_{i-1})^2 psi(l_i))) / sum(l)`, weights l_i from the variance
    seen before judgement i, `psi(l) = (-log(1 - l) - l) / 4`. Looks only say where bounds are given.

    Raises InputError as `empirical_bernstein_looks`. Source: Waudby-Smith and Ramdas 2024, theorem 2, equations 14, 15.
    """
    unit, at, scale = _prepare_looks(x, low, high, level, looks)
    before, bet = _predict_bets(unit, level)
    # psi grows without end towards a bet of 1, so that bets are cut at 1/2.
    bet = np.minimum(bet, 0.5)
    penalty = np.cumsum((unit - before) ** 2 * (-np.log1p(-bet) - bet), axis=-1)
    total = np.cumsum(bet, axis=-1)
    centre = np.cumsum(bet * unit, axis=-1) / total
    radius = (np.log(2 / level) + penalty) / total
    return _pick_looks(at, centre - radius, centre + radius, scale)


def betting_looks(
    x: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    level: float = 0.05,
    looks: Sequence[int] | Ints | None = None,
    grid: int = 500,
) -> Looks:
    """Give the hedged-capital confidence sequence: means against which bets have not yet won `2 / level`.

    A gambler who bets that the mean is above m multiplies the capital by `1 + l (x - m)`, one who bets that it is below
    by `1 - l (x - m)`; l is predictable, cut to 1/2 of what could ruin. Capitals are monotone in m, so the set is an
    interval; m runs over `grid` steps of the range and bounds are rounded outwards. The narrowest of
    the three, at the price of time and memory: rows x grid at each judgement, not rows.

    Raises InputError as `empirical_bernstein_looks`, and for fewer than 2 steps. Source: Waudby-Smith and Ramdas 2024,
    theorem 3, with theta = 1/2.
    """
    unit, at, scale = _prepare_looks(x, low, high, level, looks)
    reject(grid < 2, f"grid={grid} is below 2; 500 rounds bounds to .2 % of the range")
    mean, bet = np.linspace(0.0, 1.0, grid + 1), _predict_bets(unit, level)[1]
    with np.errstate(divide="ignore"):
        most = np.stack([0.5 / mean, 0.5 / (1 - mean)])
    way = np.array([[1.0], [-1.0]])
    capital = np.zeros((*unit.shape[:-1], 2, grid + 1))
    refuted = np.zeros((*unit.shape, 2), np.int64)
    for i in range(unit.shape[-1]):
        stake = way * np.minimum(bet[..., i, None, None], most)
        capital += np.log1p(stake * (unit[..., i, None, None] - mean))
        refuted[..., i, :] = (capital >= np.log(2 / level)).sum(-1)
    # The refuted mean next to the interval is its bound: the exact one lies within.
    low_bound = np.maximum(refuted[..., 0] - 1, 0) / grid
    high_bound = np.minimum(grid + 1 - refuted[..., 1], grid) / grid
    return _pick_looks(at, low_bound, high_bound, scale)


def find_first_narrow_look(looks: Looks, width: ArrayLike) -> Ints:
    """Return the judgements at the first look whose interval is at most `width` wide (one number, or one per row).

    -1 where no look is.

    >>> find_first_narrow_look(Looks(np.array([10, 20]), np.array([0.1, 0.3]), np.array([0.9, 0.6])), 0.4).tolist()
    20
    """
    narrow = looks.high - looks.low <= np.asarray(width, float)[..., None]
    return np.asarray(np.where(narrow.any(-1), looks.n[narrow.argmax(-1)], -1))


def range_with_metric(
    low: float, high: float, metric_low: float, metric_high: float, coefficient: ArrayLike
) -> tuple[Floats, Floats]:
    """Return bounds of `y - a g` from those of y and of g.

    >>> [float(bound) for bound in range_with_metric(0.0, 1.0, -1.0, 2.0, 0.25)]
    [-0.5, 1.25]
    """
    ends = np.asarray(coefficient, float)[..., None] * np.array([metric_low, metric_high])
    return np.asarray(low - ends.max(-1)), np.asarray(high - ends.min(-1))


def _predict_bets(unit: Floats, level: float) -> tuple[Floats, Floats]:
    """Return, before each judgement, the regularised mean so far, and the bet that the variance so far suggests."""
    t = np.arange(1, unit.shape[-1] + 1)
    # One made-up judgement in the middle, with the largest variance on [0, 1], keeps early bets finite and cautious.
    mean = (0.5 + np.cumsum(unit, axis=-1)) / (t + 1)
    variance = (0.25 + np.cumsum((unit - mean) ** 2, axis=-1)) / (t + 1)
    before = np.concatenate([np.full((*unit.shape[:-1], 1), 0.5), mean[..., :-1]], axis=-1)
    spread = np.concatenate([np.full((*unit.shape[:-1], 1), 0.25), variance[..., :-1]], axis=-1)
    return before, np.sqrt(2 * np.log(2 / level) / (spread * t * np.log1p(t)))


def _prepare_looks(
    x: ArrayLike, low: ArrayLike, high: ArrayLike, level: float, looks: Sequence[int] | Ints | None
) -> tuple[Floats, Ints, tuple[Floats, Floats]]:
    """Return judgements scaled to [0, 1], the looks, and (lower bound, range) to scale back."""
    check_level(level)
    judged = check_judgements("x", x, 2)
    least, most = (np.asarray(part, float)[..., None] for part in (low, high))
    reject(bool(np.any(~(most > least))), "high: must exceed low; give the ends of the rating scale")
    # What rounding of y - a g puts outside is put back.
    slack = 1e-9 * (most - least)
    reject(
        bool(np.any((judged < least - slack) | (judged > most + slack))),
        f"x: judgements from {judged.min():g} to {judged.max():g} exceed the bounds; widen low and high",
    )
    n = judged.shape[-1]
    at = np.arange(2, n + 1) if looks is None else np.asarray(looks, np.int64)
    reject(
        len(at) == 0 or bool(np.any(np.diff(at) <= 0)) or at[0] < 2 or at[-1] > n,
        f"looks: must rise from at least 2 to at most {n}, the judgements; correct them",
    )
    return np.clip((judged - least) / (most - least), 0.0, 1.0), at, (least, most - least)


def _pick_looks(at: Ints, low: Floats, high: Floats, scale: tuple[Floats, Floats]) -> Looks:
    """Pick the looks from bounds after every judgement, all of which hold at once."""
    bounds = _intersect_running(at, low, high, scale)
    return Looks(at, bounds.low[..., at - 1], bounds.high[..., at - 1])


def _intersect_running(n: Ints, low: Floats, high: Floats, scale: tuple[Floats, Floats]) -> Looks:
    """Intersect the intervals of all looks so far and scale them back."""
    low = np.maximum.accumulate(np.clip(low, 0.0, 1.0), axis=-1)
    high = np.minimum.accumulate(np.clip(high, 0.0, 1.0), axis=-1)
    return Looks(n, scale[0] + scale[1] * low, scale[0] + scale[1] * high)


class Bets(NamedTuple):
    """Bets on the values `x[n]`: the `least` and `most` that each could have been, and the `stake`, l."""

    x: Floats
    least: Floats
    most: Floats
    stake: Floats

    def take_first(self, n: int) -> Bets:
        """Return the first n bets."""
        return Bets(*(part[:n] for part in self))


class StoppingMetric(NamedTuple):
    """Scores of a metric: `g[n]` of judged outputs, `other[n]` of others on average, all within the `scale`.

    `noise` is the variance of `other` over that of g (0: it is known).
    """

    g: Floats
    other: Floats
    scale: tuple[float, float]
    noise: float


def bet_on_judgements(y: Floats, low: float, high: float, level: float) -> Bets:
    """Bet on judgements `y[n]`, known to lie from `low` to `high`; call `interval` on the bets."""
    ends = np.full(y.shape, low), np.full(y.shape, high)
    return Bets(y, *ends, _stake(_average_before(y**2) - _average_before(y) ** 2, high - low, level))


def bet_with_metric(y: Floats, metric: StoppingMetric, low: float, high: float, level: float) -> Bets:
    """Bet on judgements `y[n]` corrected by the metric, known to lie from `low` to `high` before correction."""
    # The middle of the scale, known beforehand, is taken off: differences of squares far from 0 lose digits.
    g = metric.g - sum(metric.scale) / 2
    variance, covariance = (
        _average_before(g**2) - _average_before(g) ** 2,
        _average_before(y * g) - _average_before(y) * _average_before(g),
    )
    # Judgements are regressed on g - other, whose variance is that of g and of the noisy mean together.
    slope = _slopes(covariance, (1 + metric.noise) * variance)
    left = (
        _average_before(y**2)
        - _average_before(y) ** 2
        - 2 * slope * covariance
        + slope**2 * (1 + metric.noise) * variance
    )
    above, below = (np.abs(slope) * apart for apart in _find_largest_excesses(metric))
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


def _bound(bets: Bets, goal: float, refuted: float, default: float, *, up: bool) -> float:
    """Bisect, from a `refuted` end of the scale to the `default` one, for where means cease to be refuted at `goal`."""
    for _ in range(STEPS):
        middle = (refuted + default) / 2
        refuted, default = (
            (middle, default) if _find_largest_capital(bets, middle, up=up) >= goal else (refuted, middle)
        )
    return refuted


def _find_largest_capital(bets: Bets, mean: float, *, up: bool) -> float:
    """Return the largest capital so far of the gambler who bets that x is above, or below, a mean."""
    room, gap = (mean - bets.least, bets.x - mean) if up else (bets.most - mean, mean - bets.x)
    # Half of what could ruin: a judgement at the other end of the scale leaves half of the capital.
    stake = np.minimum(bets.stake, 0.5 / np.maximum(room, 1e-300))
    factor = 1 + stake * gap
    # What is won beyond all numbers is enough; what is lost beyond them stays lost, which errs on the safe side.
    with np.errstate(over="ignore", under="ignore"):
        return float(np.cumprod(factor).max(initial=1.0))


def _stake(variance: Floats, width: float, level: float) -> Floats:
    """Return the stake at each judgement from the `variance[n]` of earlier ones, shrunk to half the scale `width`."""
    t = np.arange(1, len(variance) + 1)
    spread = (0.25 * width**2 + (t - 1) * variance) / t
    return np.asarray(np.sqrt(2 * np.log(2 / level) / (np.maximum(spread, 1e-12 * width**2) * t * np.log1p(t))))


def _slopes(covariance: Floats, variance: Floats) -> Floats:
    """Return the slope before each judgement; 0 as long as few have come, or the metric says one thing."""
    defined = (variance > 1e-12) & (np.arange(len(variance)) >= UNTIL_SLOPE)
    return np.divide(covariance, variance, out=np.zeros_like(variance), where=defined)


def _find_largest_excesses(metric: StoppingMetric) -> tuple[Floats, Floats]:
    """Return by how much g can exceed the others, and fall short of them, `[n]`."""
    low, high = metric.scale
    if metric.noise > 0:
        apart = np.full(metric.g.shape, high - low)
        return apart, apart
    return high - metric.other, metric.other - low


def _average_before(x: Floats) -> Floats:
    """Average what came before each judgement, `[n]`; 0 before the first."""
    return np.asarray((np.cumsum(x) - x) / np.maximum(np.arange(len(x)), 1))
