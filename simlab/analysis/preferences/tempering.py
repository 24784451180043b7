"""Sample the posterior of a pair where importance sampling is too thin: tempered sequential Monte Carlo.

Call `sample` on a `TemperedPair`; it returns theta, the posterior P(p> > p<), and moments of p, per replicate. Symbols
are those of `reversal`.

Particles begin as exact draws of the reversed model with a bounded proposal and are led to the posterior by small
steps. They move in the coordinates (log-ratios of q, log-ratios of the rows nu): there the metric's ratings touch q
alone, so the ridge that is thin and bent in (p, mu) is straight. Source: Del Moral, Doucet and Jasra 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from simlab.rng import stream
from simlab.types import Floats

REPLICATES = 16
_PARTICLES = 256
"""Few particles that move often: the influence of their start fades with moves, not with particles."""

_MOVES = 12
_SETTLING = 400
_ROUND = 160
_MOST_ROUNDS = 60
"""Moves per step towards the posterior, moves at it before and in each round of counting, and rounds at most."""
_KEPT = 0.6
"""Share of the effective sample that a step towards the posterior keeps."""


@dataclass(frozen=True, slots=True)
class TemperedPair:
    """Counts of one pair, `human[3]`, `confusion[m, 3]`, `metric[m]`, and the proposal `a[m, 3]` of `reversal`.

    `rater[human, oracle]` is the raters' confusion, `rows` are the outcomes that the metric has, and
    `prior[metric outcome, oracle outcome]` pseudo-counts of the metric's errors; 1: a uniform prior.
    """

    human: Floats
    confusion: Floats
    metric: Floats
    a: Floats
    rater: Floats
    rows: tuple[int, ...]
    prior: Floats

    def log_target(self, j: Floats, q: Floats, nu: Floats) -> Floats:
        """Return the log posterior of joint probabilities `j[..., row, outcome]` in the particles' coordinates."""
        rows = list(self.rows)
        p = j.sum(-2)
        metric_law = j @ self.rater.T
        log_l = xlogy(self.confusion[rows], metric_law).sum((-1, -2))
        log_l += xlogy(self.human - self.confusion.sum(0), p @ self.rater.T).sum(-1)
        before = self.prior[rows]
        log_l += xlogy(before - 1, j).sum((-1, -2)) - xlogy(before.sum(0) - len(rows), p).sum(-1)
        return np.asarray(log_l - (len(rows) - 1) * np.log(p).sum(-1) + self._add_common_density(q, nu))

    def log_proposal(self, j: Floats, q: Floats, nu: Floats) -> Floats:
        """Return the log density of the draws that particles begin as."""
        return np.asarray(
            ((self.a[list(self.rows)] - 1) * np.log(np.maximum(j, 1e-300))).sum((-1, -2))
            + self._add_common_density(q, nu)
        )

    def _add_common_density(self, q: Floats, nu: Floats) -> Floats:
        """Add the metric's likelihood and the Jacobian from j to the coordinates."""
        # dj = prod q^2 dq dnu, and each simplex in log-ratios adds the product of its components.
        log_q = np.log(q)
        metric: Floats = (xlogy(self.metric[list(self.rows)], q)).sum(-1)
        return np.asarray(metric + 3 * log_q.sum(-1) + np.log(nu).sum((-1, -2)))


def sample(pair: TemperedPair, targets: tuple[float, float], level: float, seed: int) -> Floats:
    """Return per replicate the means of 1[p> > p<], p and p^2: `[replicate, 7]`.

    `targets` are standard errors of theta: sampling goes on until it is at most the first, or the second where theta is
    within .02 of level / 2 or 1 - level / 2, or `_MOST_ROUNDS` have passed.
    """
    rng = stream(seed, "analysis", "tempering")
    x = _begin(rng, pair)
    log_g, log_f = _densities(pair, x)
    reached = 0.0
    while reached < 1:
        step = _step(log_f - log_g, 1 - reached)
        reached += step
        x, log_g, log_f = _resample(rng, step * (log_f - log_g), x, log_g, log_f)
        for _ in range(_MOVES):
            x, log_g, log_f = _move(rng, pair, reached, x, log_g, log_f)
    for _ in range(_SETTLING):
        x, log_g, log_f = _move(rng, pair, 1.0, x, log_g, log_f)
    total = np.zeros((REPLICATES, 7))
    for done in range(1, _MOST_ROUNDS + 1):
        for _ in range(_ROUND):
            x, log_g, log_f = _move(rng, pair, 1.0, x, log_g, log_f)
            total += _record(x, pair)
        means: Floats = total / (done * _ROUND)
        theta, error = means[:, 0].mean(), means[:, 0].std(ddof=1) / np.sqrt(REPLICATES)
        near = min(abs(theta - level / 2), abs(theta - 1 + level / 2)) < 0.02
        if done >= 2 and error <= 0.8 * targets[int(near)]:
            break
    return means


def _split(x: Floats, n_rows: int) -> tuple[Floats, Floats, Floats]:
    """Return j, q and nu at log-ratio coordinates `x[..., k]`; the last component of each simplex is the base."""
    q = _simplex(x[..., : n_rows - 1])
    nu = _simplex(x[..., n_rows - 1 :].reshape(*x.shape[:-1], n_rows, 2))
    return q[..., None] * nu, q, nu


def _simplex(ratio: Floats) -> Floats:
    full = np.concatenate([ratio, np.zeros((*ratio.shape[:-1], 1))], axis=-1)
    e = np.exp(full - full.max(-1, keepdims=True))
    return np.asarray(np.maximum(e / e.sum(-1, keepdims=True), 1e-290))


def _begin(rng: np.random.Generator, pair: TemperedPair) -> Floats:
    """Draw particles from the proposal, as log-ratios `[replicate, particle, coordinate]`."""
    a = pair.a[list(pair.rows)]
    shape = (REPLICATES, _PARTICLES)
    log_q = _log_gamma(rng, a.sum(1) + pair.metric[list(pair.rows)], shape)
    log_nu = _log_gamma(rng, a, shape)
    parts = [log_q[..., :-1] - log_q[..., -1:], *(r[..., :-1] - r[..., -1:] for r in np.moveaxis(log_nu, -2, 0))]
    return np.concatenate(parts, axis=-1)


def _log_gamma(rng: np.random.Generator, shape: Floats, size: tuple[int, ...]) -> Floats:
    """Draw logarithms of gammas, of shapes far below 1, too."""
    full = (*size, *shape.shape)
    # Gamma(s) is Gamma(s + 1) U^(1 / s); by logarithms, since draws of tiny shapes underflow.
    return np.asarray(np.log(rng.standard_gamma(shape + 1.0, full)) + np.log(rng.random(full)) / shape)


def _densities(pair: TemperedPair, x: Floats) -> tuple[Floats, Floats]:
    where = _split(x, len(pair.rows))
    return pair.log_proposal(*where), pair.log_target(*where)


def _step(difference: Floats, left: float) -> float:
    """Find the largest step that keeps the wanted share of the effective sample."""

    def share(step: float) -> float:
        w = np.exp(step * (difference - difference.max()))
        return float(w.sum() ** 2 / (w**2).sum() / w.size)

    if share(left) >= _KEPT:
        return left
    low, high = 0.0, left
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) >= _KEPT else (low, middle)
    # A step of 0 would never reach the posterior.
    return max(low, 1e-6)


def _resample(rng: np.random.Generator, log_w: Floats, *arrays: Floats) -> tuple[Floats, ...]:
    """Draw each replicate's particles anew by their weights, systematically."""
    w = np.exp(log_w - log_w.max(1, keepdims=True))
    edges = np.cumsum(w, axis=1) / w.sum(1, keepdims=True)
    marks = (np.arange(log_w.shape[1]) + rng.random((len(log_w), 1))) / log_w.shape[1]
    chosen = np.stack([np.searchsorted(e, m) for e, m in zip(edges, marks, strict=True)])
    chosen = np.minimum(chosen, log_w.shape[1] - 1)
    return tuple(array[np.arange(len(log_w))[:, None], chosen] for array in arrays)


def _move(
    rng: np.random.Generator, pair: TemperedPair, reached: float, x: Floats, log_g: Floats, log_f: Floats
) -> tuple[Floats, Floats, Floats]:
    """Propose a step of each particle along the difference of two others of its replicate, scaled at random.

    Half of the particles move, along differences of the other half, which stands still: the step does not depend on
    where the particle is, so acceptance is Metropolis's. Source: ter Braak 2006.
    """
    n, k = x.shape[1], x.shape[2]
    moving, still = np.split(rng.permutation(n), 2)
    first = rng.integers(0, len(still), (len(x), len(moving)))
    second = (first + rng.integers(1, len(still), first.shape)) % len(still)
    rows = np.arange(len(x))[:, None]
    # The scale that ter Braak 2006 has for k coordinates.
    base = 2.38 / np.sqrt(2 * k)
    scale = base * np.exp(rng.normal(-0.1, 0.7, (*first.shape, 1)))
    at = x[:, moving]
    # A little noise leaves every place within reach, whichever directions the other particles span.
    proposed = at + scale * (x[rows, still[first]] - x[rows, still[second]]) + 1e-4 * rng.standard_normal(at.shape)
    new_g, new_f = _densities(pair, proposed)
    old = (1 - reached) * log_g[:, moving] + reached * log_f[:, moving]
    new = (1 - reached) * new_g + reached * new_f
    accept = np.log(rng.random(old.shape)) < new - old
    x, log_g, log_f = x.copy(), log_g.copy(), log_f.copy()
    x[:, moving] = np.where(accept[..., None], proposed, at)
    log_g[:, moving] = np.where(accept, new_g, log_g[:, moving])
    log_f[:, moving] = np.where(accept, new_f, log_f[:, moving])
    return x, log_g, log_f


def _record(x: Floats, pair: TemperedPair) -> Floats:
    p = _split(x, len(pair.rows))[0].sum(-2)
    above = (p[..., 0] > p[..., 2]).mean(1)
    return np.concatenate([above[:, None], p.mean(1), (p**2).mean(1)], axis=1)
