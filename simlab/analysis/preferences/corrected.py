"""Test wins less losses at planned looks, corrected by a metric: a z statistic, and boundaries that spend the level.

The mean of human preferences x (+1, 0, -1) is corrected by the metric's g: `d = mean(x) - c (mean(g) - mean_all(g))`
over the outputs that both rated, against the mean of g over all outputs that the metric rated, `c = Cov(x, g)/Var(g)`:
whatever the metric is like, d is p> - p< on average (control variate; the coefficient that is best makes the looks'
d independent of what is left of the later ones, so that z behaves as a Brownian motion whose clock is information).
Information grows at most as fast as annotations do: boundaries for looks as far apart as annotations are err, if at
all, on the safe side. All of this holds for many ratings; smoothed variances and Student's quantiles help few.
Sources: Lan and DeMets 1983; Armitage, McPherson and Rowe 1969 (integration); Angelopoulos et al. 2023 (PPI++).
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from simlab.analysis.preferences.sequential import Spending, spent_by
from simlab.types import Bools, Evidence, Floats, InputError

_SIGN = np.array([1.0, 0.0, -1.0])
_SMOOTHING = 1 / 3
"""Added to each of nine confusion counts for variances: ten outputs without an error do not say that there is none."""

_GRID = 241
_NOTHING = 1e-14
"""What is spent at a look that nobody could reach is not spent."""


def corrected(evidence: Evidence) -> Floats:
    """Return z of each row at each look: `[row, look]`, with the tails of a normal law; 0 before two annotations.

    Outputs that the metric has not rated count as they are. Raises InputError without a metric.
    """
    total = evidence.metric + evidence.confusion.sum(-1)
    if not total.any():
        raise InputError("decision.metric=correct needs a metric, and metric=none has none; set it to ignore")
    n, n_all = evidence.human.sum(-1), np.maximum(total.sum(-1), 1)
    both = evidence.confusion.sum((-1, -2))
    at, rate = total @ _SIGN / n_all, np.maximum(n, 1)
    x, g = _SIGN[None, :], _SIGN[:, None] - at[..., None, None]
    smooth = evidence.confusion + _SMOOTHING
    weight = smooth / smooth.sum((-1, -2), keepdims=True)
    mean_x, mean_g = (weight * x).sum((-1, -2)), (weight * g).sum((-1, -2))
    variance_g = (weight * g**2).sum((-1, -2)) - mean_g**2
    c = ((weight * x * g).sum((-1, -2)) - mean_x * mean_g) / variance_g
    # Of equal systems residuals have mean 0: squares, not deviations, as in a sign test.
    left = (weight * (x - c[..., None, None] * g) ** 2).sum((-1, -2))
    alone = evidence.human - evidence.confusion.sum(-2)
    d = (evidence.human @ _SIGN - c * (evidence.confusion * g).sum((-1, -2))) / rate
    of_x = (alone[..., 0] + alone[..., 2]) + _SMOOTHING * (alone.sum(-1) > 0)
    variance = (both * left + of_x + c**2 * variance_g * both**2 / n_all) / rate**2
    z = d / np.sqrt(np.maximum(variance, 1e-12))
    few = n < 3
    tail = stdtr(np.maximum(n - 2, 1), -np.abs(z))
    return np.where(few, 0.0, -np.sign(z) * ndtri(np.maximum(tail, 1e-300)))


def corrected_crossed(evidence: Evidence, level: float, spending: Spending) -> Bools:
    """Say at which looks z has crossed a boundary that spends `level` over the planned looks: `[row, look]`."""
    bound = boundaries(tuple(int(n) for n in evidence.annotations), level, spending)
    return np.asarray(np.logical_or.accumulate(np.abs(corrected(evidence)) >= bound, axis=1))


@functools.lru_cache(maxsize=64)
def boundaries(annotations: tuple[int, ...], level: float, spending: Spending) -> Floats:
    """Return what |z| must reach at each look (inf: nothing is to be spent there), two-sided.

    >>> boundaries((0, 1, 2, 3, 4, 5), 0.05, "obrien_fleming").round(2).tolist()
    [inf, 4.38, 3.1, 2.55, 2.25, 2.06]
    """
    share = np.array(annotations) / max(annotations[-1], 1)
    allowed = spent_by(share, level, spending)
    bound = np.full(len(share), np.inf)
    # Brownian motion b(t), z = b / sqrt(t): its density among paths that have not crossed, on a grid.
    place, mass, spent = np.zeros(1), np.ones(1), 0.0
    steps = np.sqrt(np.diff(share))
    for look, step in enumerate(steps, 1):
        spend = allowed[look] - spent
        edge = 12 * np.sqrt(share[look])
        if spend > _NOTHING:
            edge = min(_edge(place, mass, step, spend), edge)
            bound[look] = edge / np.sqrt(share[look])
            spent = allowed[look]
        place, mass = _onwards(place, mass, step, edge, steps[look - 1 : look + 1].min())
    return bound


def _beyond(place: Floats, mass: Floats, step: float, edge: float) -> float:
    return float((mass * (ndtr((place - edge) / step) + ndtr((-edge - place) / step))).sum())


def _edge(place: Floats, mass: Floats, step: float, spend: float) -> float:
    """Find where what lies beyond is what may be spent."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(place, mass, step, middle) > spend else (low, middle)
    return high


def _onwards(place: Floats, mass: Floats, step: float, edge: float, fine: float) -> tuple[Floats, Floats]:
    """Let the motion go on, and keep what stays within the edges: nodes about as close as `fine`, with their mass."""
    reach = min(edge, float(np.abs(place).max()) + 9 * step)
    # Nodes of Gauss and Legendre are at most pi / n of the half width apart; wider than a step they miss what moves.
    node, weight = _nodes(int(np.ceil(np.pi * reach / (_GRID * fine))))
    to = reach * node
    density = np.exp(-(((to[:, None] - place) / step) ** 2) / 2) @ mass / (step * np.sqrt(2 * np.pi))
    return to, density * weight * reach


@functools.lru_cache(maxsize=8)
def _nodes(panels: int) -> tuple[Floats, Floats]:
    """Lay nodes of Gauss and Legendre, with their weights, into equal panels from -1 to 1."""
    node, weight = np.polynomial.legendre.leggauss(_GRID)
    middle = (2 * np.arange(panels) + 1) / panels - 1
    return (middle[:, None] + node / panels).ravel(), np.tile(weight / panels, panels)
