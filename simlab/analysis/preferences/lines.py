"""Integrate along lines through normal numbers: what lies on one side of a surface, without asking point by point.

On a line that crosses the surface, weight and height over it are smooth functions of one standard normal number t. A
few Gauss-Hermite points give the weight as a Hermite series, `w(t) = sum c_k He_k(t)`; the height crosses 0 once, at
t*, and `E[w 1(t > t*)] = c_0 Phi(-t*) + phi(t*) sum c_k He_(k-1)(t*)`. Source of the idea: Griewank, Kuo, Leovey and
Sloan 2018 (preintegration).
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import hermite_e
from scipy.special import gamma, ndtr

from simlab.analysis.preferences.gammas import FARTHEST
from simlab.types import Floats

POINTS = 6
"""Points on a line."""

_T, _SHARE = hermite_e.hermegauss(POINTS)
_SHARE = _SHARE / _SHARE.sum()
_SERIES = (hermite_e.hermevander(_T, POINTS - 1) * _SHARE[:, None]).T / gamma(np.arange(1, POINTS + 1))[:, None]
_POLYNOMIAL = np.linalg.inv(np.vander(_T, increasing=True))
_SERIES, _POLYNOMIAL = _SERIES.astype(np.float32), _POLYNOMIAL.astype(np.float32)
_EDGES = np.array([-6.0, *_T, 6.0], np.float32)
_STEPS = 2


def through(normal: Floats, up: Floats) -> Floats:
    """Lay lines through normals `[cell, line]` along unit vectors `[cell, row]`: `[cell, row, point, line]`."""
    up = up.astype(np.float32)
    level = np.matmul(np.ascontiguousarray(up.T)[:, None], normal)
    along = _T.astype(np.float32)[:, None] - level
    points = up[..., None, None] * along
    points += normal[:, None, None]
    return np.asarray(np.clip(points, -FARTHEST, FARTHEST))


def summed(p: list[Floats], weight: Floats, n: int) -> Floats:
    """Sum over each n lines: see `reversal.sums`; `p[outcome][row, point, line]`, not normalised: `[row, part, 11]`."""
    rows, _, n_lines = weight.shape
    series = np.matmul(_SERIES, weight)
    columns = np.empty((rows, 11, n_lines), np.float32)
    columns[:, 0] = whole = series[:, 0]
    columns[:, 2] = above = _above(series, np.log(p[0] / p[2]))
    columns[:, 1], columns[:, 3], columns[:, 4] = whole * whole, above * above, above * whole
    total = p[0] + p[1] + p[2]
    shares = weight * _SHARE.astype(np.float32)[:, None]
    for k, one in enumerate(p):
        share = one / total
        by_p = shares * share
        columns[:, 5 + k] = by_p.sum(1)
        by_p *= share
        columns[:, 8 + k] = by_p.sum(1)
    part = np.repeat(np.eye(n_lines // n, dtype=np.float32), n, axis=0)
    return np.asarray(np.matmul(columns, part).swapaxes(1, 2), float)


def _above(series: Floats, height: Floats) -> Floats:
    """Integrate a series `[row, term, line]` where the height `[row, point, line]` is above 0: `[row, line]`."""
    t = _crossing(height)
    rest, before, term = series[:, 1].copy(), np.ones_like(t), t
    for k in range(2, POINTS):
        rest += series[:, k] * term
        before, term = term, t * term - (k - 1) * before
    rest *= np.exp(-0.5 * t * t) * np.float32((2 * np.pi) ** -0.5)
    rest += series[:, 0] * ndtr(-t)
    return np.clip(rest, 0, series[:, 0], out=rest)


def _crossing(height: Floats) -> Floats:
    """Find where a height that grows along a line crosses 0: Newton's steps, kept between the points around it."""
    terms = np.matmul(_POLYNOMIAL, height)
    below = (height <= 0).sum(1)
    low, high = _EDGES[below], _EDGES[below + 1]
    steep = np.maximum(terms[:, 1], 1e-30)
    t = np.clip(-terms[:, 0] / steep, low, high)
    steep *= 0.1
    for _ in range(_STEPS):
        value, slope = terms[:, -1], np.zeros_like(t)
        for k in range(POINTS - 2, -1, -1):
            slope = slope * t + value
            value = value * t + terms[:, k]
        t = np.clip(t - value / np.maximum(slope, steep), low, high)
    return np.asarray(t)
