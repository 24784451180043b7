"""Draw from the posterior of a pair without a chain: quasi-random importance sampling of the reversed model.

p are the probabilities that one system wins, draws and loses against another; mu[c, c'] is that of the metric's outcome
c given the true one c', n, N and m are the counts of `posterior`. Call `proposal` for A, then `sums` (weighted sums for
theta and moments of p) or `draws`. A row is a pair.

`J[c, c'] = mu[c, c'] p[c']` is the joint probability of metric outcome c and oracle outcome c'. Metric ratings alone
see only its row sums q. So under a Dirichlet(A) on J the posterior is exact: `q ~ Dirichlet(rowsums(A) + m)` and rows
`nu_c ~ Dirichlet(A_c)` are independent, `J = q nu`. The model's own prior differs by the weight
`prod p^(n + 1 - colsums(A)) prod mu^(N + 1 - A)`, bounded since A is chosen so that no exponent is negative.

A row of J is three gammas, stretched by a fourth: `V_c = g_c (1 + h_c / sum g_c)`, `g_c ~ Gamma(A_c)`,
`h_c ~ Gamma(m_c)`; J is V over its sum, which neither weights nor the order of p> and p< need. Each gamma is a function
of a normal number. Theta asks on which side of a surface these numbers lie, which points tell poorly: so there are
lines (`lay_lines`) that cross it, along which p> grows and p< falls.

On a line that crosses the surface, weight and height over it are smooth functions of one standard normal number t. A
few Gauss-Hermite points give the weight as a Hermite series, `w(t) = sum c_k He_k(t)`; the height crosses 0 once, at
t*, and `E[w 1(t > t*)] = c_0 Phi(-t*) + phi(t*) sum c_k He_(k-1)(t*)`. Source of the idea: Griewank, Kuo, Leovey and
Sloan 2018 (preintegration).

The cube root of a gamma quantile, centred and scaled as Wilson and Hilferty have it, is smooth in the normal number and
in 1 / sqrt(shape); below a shape of 1 so is the shape times the quantile's logarithm, in the shape. Each is fitted in
the normal number at Chebyshev points of the other, and interpolated between them: to 1e-3 of a standard deviation for a
shape of 1, 1e-5 for one of 5, with no special function left.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import hermite_e
from scipy.special import gamma, gammainccinv, gammaincinv, gammaln, log_ndtr, ndtr, ndtri

from simlab.rng import stream
from simlab.types import Array, Floats

REPLICATES = 8
"""Random shifts of the lattice; their spread is the error."""
LATTICES = (4, 16, 32, 64, 128, 256)
"""Lines per replicate, coarse to fine."""
_DRAWS = 128
"""Draws per replicate where draws are wanted."""
_AT_ONCE = 2048
"""Lines that are followed at once: as many as fit into the cache."""
_CENTRES = 2
_LONGEST = 512
# Nine gammas of J and three of the metric's ratings, one normal number each.
_DIMENSIONS = 12
# First components of an embedded rank-1 lattice for up to 2^20 points (Cools, Kuo and Nuyens 2006).
LATTICE = (
    *(1, 182667, 469891, 498753, 110745, 446247, 250185, 118627, 245333, 283199, 408519),
    *(391023, 246327, 126539, 399185, 461527, 300343, 69681, 516695, 436179, 106383),
)
SUMS = 11
_SINGLE: Any = np.float32
POINTS = 6
"""Points on a line."""
_T, _SHARE = hermite_e.hermegauss(POINTS)
_SHARE = _SHARE / _SHARE.sum()
_SERIES = (hermite_e.hermevander(_T, POINTS - 1) * _SHARE[:, None]).T / gamma(np.arange(1, POINTS + 1))[:, None]
_POLYNOMIAL = np.linalg.inv(np.vander(_T, increasing=True))
_EDGES = np.array([-6.0, *_T, 6.0], np.float32)
_SERIES, _POLYNOMIAL = _SERIES.astype(np.float32), _POLYNOMIAL.astype(np.float32)
_STEPS = 2
FARTHEST = 5.0
"""Largest normal number, either way; one in two millions is beyond."""
_DEGREE = 9
_NODES = 14
_ANGLES = (np.arange(_NODES) + 0.5) * np.pi / _NODES
_AT = (1 - np.cos(_ANGLES)) / 2
_WEIGHTS = (-1.0) ** np.arange(_NODES) * np.sin(_ANGLES)


class ReversalDraws(NamedTuple):
    """Draws of p, not normalised, a list of three `[row, point, line]`, weights, and the logarithm of their scale."""

    p: list[Floats]
    weight: Floats
    scale: Floats


def kept_outcomes(n_outcomes: int, *, two_outcomes: bool) -> list[int]:
    """List the outcomes of a metric that there are: all, or those on either side of the draw.

    >>> kept_outcomes(5, two_outcomes=True)
    [0, 1, 3, 4]
    """
    return [k for k in range(n_outcomes) if not two_outcomes or k != n_outcomes // 2]


def proposal(human: Floats, confusion: Floats, *, two_outcomes: bool) -> Floats:
    """Choose `A[row, metric outcome, oracle outcome]`, close to the counts and never above them by more than 1.

    A column with counts adds one pseudo-count to every cell but its largest: weights are then that cell of mu, and for
    three outcomes 1 / p. That has a finite variance, and wastes less than weights that are bounded. A column without
    counts spreads one pseudo-count evenly. Columns with more counts than human ratings (confusion counts from
    elsewhere) are scaled down, since p would be weighted without bound.
    """
    rows = np.isin(np.arange(confusion.shape[1]), kept_outcomes(confusion.shape[1], two_outcomes=two_outcomes))
    k = int(rows.sum())
    largest = np.where(rows[:, None], confusion, -1.0).argmax(1)[:, None]
    known = (confusion.sum(1) > 0) & (human > 0)
    extra = np.repeat(np.where(known, 1.0, 1.0 / k)[:, None], len(rows), axis=1)
    np.put_along_axis(extra, largest, np.where(known, 0.0, 1.0 / k)[:, None], 1)
    a = np.where(rows[:, None], confusion + extra, 0.0)
    most = human + np.where(known, k - 1, 1)
    return np.asarray(a * np.minimum(1.0, (most / a.sum(1))[:, None]))


def sums(
    human: Floats, confusion: Floats, metric: Floats, a: Floats, lattice: int, seed: int, chunk: int = 0
) -> tuple[Floats, Floats]:
    """Return weighted sums `[row, replicate, 11]` and the logarithm of their scale `[row]` on a lattice of lines.

    `a` comes from `proposal`, `lattice` is an index of `LATTICES`, `chunk` numbers independent shifts of the lattice.
    Sums over lines of their weight w, of w^2, of the weight u on the side where p> > p<, of u^2 and u w, and of the
    weighted means of p and of p squared. Rows give the same bits in any company.
    """
    n = LATTICES[lattice]
    each = min(n, _LONGEST)
    normal = _lattice(n, seed, lattice, chunk)
    total, scale = np.zeros((len(a), REPLICATES, SUMS)), np.full(len(a), -np.inf)
    for alike in _batch_rows(human, confusion, metric, a):
        curve = curves(_shapes(alike))
        up = _steepest_direction(alike, curve)
        for start in range(0, normal.shape[1], _LONGEST):
            point = normal[alike.cells][:, start : start + _LONGEST]
            for part in alike.parts(_AT_ONCE // point.shape[1]):
                batch = alike.select_rows(part)
                drawn = _weigh_draws(batch, _draw_joint(batch, curve[:, part], lay_lines(point, up[:, part])))
                more = np.zeros((len(batch.rows), REPLICATES, SUMS))
                first = start // n
                more[:, first : first + point.shape[1] // each] = sum_lines(drawn.p, drawn.weight, each)
                at = batch.rows
                total[at], scale[at] = add_weighted_sums(total[at], scale[at], more, drawn.scale)
    return total, scale


def add_weighted_sums(total: Floats, scale: Floats, more: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Add weighted sums `[row, replicate, 11]` that are on other scales `[row]`."""
    top = np.maximum(scale, other)
    # Sums of squared weights change with the square of the scale.
    power = np.array([1, 2, 1, 2, 2, *[1] * 6])
    mine, theirs = (np.exp(power * (one - top)[:, None, None]) for one in (scale, other))
    return total * mine + more * theirs, top


def draws(human: Floats, confusion: Floats, metric: Floats, a: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return draws `p[row, outcome, draw]` with their weights `[row, draw]` (largest 1); `a` comes from `proposal`."""
    normal = _lattice(_DRAWS, seed, 0, 0)
    size = normal.shape[1]
    p, weight = (np.empty(shape, _SINGLE) for shape in ((len(a), 3, size), (len(a), size)))
    for alike in _batch_rows(human, confusion, metric, a):
        for batch in map(alike.select_rows, alike.parts(_AT_ONCE // 256)):
            everywhere = np.repeat(normal[batch.cells][:, None, None], len(batch.rows), axis=1)
            drawn = _weigh_draws(batch, _draw_joint(batch, curves(_shapes(batch)), everywhere))
            total = drawn.p[0] + drawn.p[1] + drawn.p[2]
            p[batch.rows] = np.stack([(one / total)[:, 0] for one in drawn.p], axis=1)
            weight[batch.rows] = drawn.weight[:, 0] / drawn.weight[:, 0].max(1, keepdims=True)
    return p, weight


@functools.lru_cache(maxsize=12)
def _lattice(n: int, seed: int, lattice: int, chunk: int) -> Floats:
    """Shift a lattice for each replicate: normals `[12, point]`."""
    shift = stream(seed, "analysis", "lattice", lattice, chunk).random((_DIMENSIONS, REPLICATES, 1))
    unit = (np.array(LATTICE[:_DIMENSIONS])[:, None, None] * (np.arange(n) / n) + shift) % 1.0
    # The normal numbers of these ends are -4.75 and 4.75, within FARTHEST, up to which curves are fitted.
    unit = np.clip(unit, 1e-6, 1 - 1e-6).reshape(_DIMENSIONS, -1)
    return np.asarray(ndtri(unit), np.float32)


class _Batch(NamedTuple):
    """Some `rows` with their counts: shapes `a`, `metric`, and powers of p and mu that weigh draws.

    `kept` are the metric's outcomes that there are. `easy`: a column is weighed by one cell of mu, and by 1 / p where
    there are three outcomes: without a logarithm.
    """

    rows: Array
    kept: Array
    a: Floats
    metric: Floats
    p_power: Floats
    mu_power: Floats
    easy: bool

    @property
    def cells(self) -> Array:
        """Number the gammas that are drawn: the nine of A, and the three of the metric's ratings."""
        return np.append((3 * self.kept[:, None] + np.arange(3)).ravel(), 9 + self.kept)

    def parts(self, size: int) -> Iterator[slice]:
        """List the parts that are drawn at once."""
        return (slice(start, start + size) for start in range(0, len(self.rows), size))

    def select_rows(self, part: slice) -> _Batch:
        """Keep a part of the rows."""
        names = ("rows", "a", "metric", "p_power", "mu_power")
        return self._replace(**{name: getattr(self, name)[part] for name in names})


def _batch_rows(human: Floats, confusion: Floats, metric: Floats, a: Floats) -> Iterator[_Batch]:
    """Sort rows by whether they are easy to weigh."""
    p_power = human + 1 - a.sum(1)
    mu_power = np.where(a > 0, confusion + 1 - a, 0.0)
    kept = np.flatnonzero(a.any((0, 2)))
    one_cell = ((mu_power == 1).sum(1) == 1) & (mu_power.sum(1) == 1)
    easy = (p_power == 2 - len(kept)).all(1) & one_cell.all(1)
    for kind in (True, False):
        rows = np.flatnonzero(easy == kind)
        if len(rows):
            powers = p_power[rows].astype(_SINGLE), mu_power[rows][:, kept].astype(_SINGLE)
            yield _Batch(rows, kept, a[rows][:, kept], metric[rows][:, kept], *powers, kind)


def _shapes(batch: _Batch) -> Floats:
    """Return shapes of the gammas of V `[cell, row]`: A metric outcome by metric outcome, then its ratings."""
    # What the metric never said adds nothing, whatever is drawn for it.
    shape = np.concatenate([batch.a.reshape(len(batch.rows), -1), np.maximum(batch.metric, 1.0)], axis=1)
    return np.ascontiguousarray(shape.T)


def _steepest_direction(batch: _Batch, curve: Floats) -> Floats:
    """Return the direction in which p> - p< grows fastest, `[cell, row]`, where it is 0 (nearly)."""
    k, n = len(batch.kept), len(batch.rows)
    shape = _shapes(batch)
    there = (batch.metric.T > 0).astype(float)
    at = np.zeros((4 * k, n))
    for _ in range(_CENTRES):
        value, slope = slopes(curve, shape, at)
        g, h = value[: 3 * k].reshape(k, 3, n), value[3 * k :] * there
        total = g.sum(1)
        lead, stretch = g[:, 0] - g[:, 2], 1 + h / total
        by_all = -lead * h / total**2
        by_g = np.stack([by_all + stretch, by_all, by_all - stretch], axis=1)
        up = slope * np.concatenate([by_g.reshape(3 * k, n), lead / total * there])
        steep = np.sqrt((up**2).sum(0))
        up /= steep
        at += up * np.clip(-(lead * stretch).sum(0) / steep, -2, 2)
        at = up * (up * at).sum(0)
    return np.asarray(up)


def _draw_joint(batch: _Batch, curve: Floats, normal: Floats) -> Floats:
    """Draw V `[metric outcome, oracle outcome, row, point, line]`, or its logarithm where one is needed."""
    k = len(batch.kept)
    value = values(curve[:, :, None, None], normal)
    g, h = value[: 3 * k].reshape(k, 3, *value.shape[1:]), value[3 * k :]
    # Curves give cube roots of gammas, which are cubed here in place.
    h *= h * h
    h *= (batch.metric.T > 0)[..., None, None]
    if batch.easy:
        g *= g * g
        h /= g[:, 0] + g[:, 1] + g[:, 2]
        h += 1
        g *= h[:, None]
        return g
    small = (batch.a < 1).transpose(1, 2, 0)[..., None, None]
    log_g = np.where(small, g, 3 * np.log(np.where(small, 1, g)))
    top = log_g.max(1)
    log_sum = top + np.log(np.exp(log_g - top[:, None]).sum(1))
    with np.errstate(divide="ignore"):
        return np.asarray(log_g + (np.logaddexp(log_sum, np.log(h)) - log_sum)[:, None])


def _weigh_draws(batch: _Batch, joint: Floats) -> ReversalDraws:
    """Turn draws of V (`joint`) into p with importance weights."""
    if batch.easy:
        return _weigh_easy_draws(batch, joint)
    top = joint.max((0, 1))
    # Single precision has no normal number below 1e-38, and p must keep a finite logarithm.
    p = [np.maximum(np.exp(joint[:, k] - top).sum(0), 1e-37) for k in range(3)]
    p_power, mu_power = batch.p_power[..., None, None], batch.mu_power[..., None, None]
    log_w = -p_power.sum(1) * np.log(p[0] + p[1] + p[2])
    for k in range(3):
        log_p = np.log(p[k])
        log_w += p_power[:, k] * log_p
        for c in range(len(joint)):
            power = mu_power[:, c, k]
            log_w += np.where(power > 0, power * (joint[c, k] - top - log_p), 0)
    scale = np.maximum(log_w.max((1, 2)), -1e30)
    return ReversalDraws(p, np.exp(log_w - scale[:, None, None]), scale.astype(float))


def _weigh_easy_draws(batch: _Batch, joint: Floats) -> ReversalDraws:
    rows = np.arange(len(batch.rows))
    p = [joint[:, k].sum(0) for k in range(3)]
    largest = batch.mu_power.argmax(1)
    weight = np.ones_like(p[0])
    total = p[0] + p[1] + p[2]
    for k in range(3):
        weight *= joint[largest[:, k], k, rows]
        weight /= p[k]
        if len(batch.kept) == 3:
            weight *= total
            weight /= p[k]
    return ReversalDraws(p, weight, np.zeros(len(rows)))


def lay_lines(normal: Floats, up: Floats) -> Floats:
    """Lay lines through normals `[cell, line]` along unit vectors `[cell, row]`: `[cell, row, point, line]`."""
    up = up.astype(np.float32)
    level = np.matmul(np.ascontiguousarray(up.T)[:, None], normal)
    along = _T.astype(np.float32)[:, None] - level
    points = up[..., None, None] * along
    points += normal[:, None, None]
    return np.asarray(np.clip(points, -FARTHEST, FARTHEST))


def sum_lines(p: list[Floats], weight: Floats, n: int) -> Floats:
    """Sum over each n lines: see `reversal.sums`; `p[outcome][row, point, line]`, not normalised: `[row, part, 11]`."""
    rows, _, n_lines = weight.shape
    series = np.matmul(_SERIES, weight)
    columns = np.empty((rows, 11, n_lines), np.float32)
    columns[:, 0] = whole = series[:, 0]
    columns[:, 2] = above = _integrate_above(series, np.log(p[0] / p[2]))
    columns[:, 1], columns[:, 3], columns[:, 4] = whole * whole, above * above, above * whole
    total = p[0] + p[1] + p[2]
    shares = weight * _SHARE.astype(np.float32)[:, None]
    for k, density in enumerate(p):
        share = density / total
        by_p = shares * share
        columns[:, 5 + k] = by_p.sum(1)
        by_p *= share
        columns[:, 8 + k] = by_p.sum(1)
    part = np.repeat(np.eye(n_lines // n, dtype=np.float32), n, axis=0)
    return np.asarray(np.matmul(columns, part).swapaxes(1, 2), float)


def _integrate_above(series: Floats, height: Floats) -> Floats:
    """Integrate a series `[row, term, line]` where the height `[row, point, line]` is above 0: `[row, line]`."""
    t = _crossing(height)
    rest, before, term = series[:, 1].copy(), np.ones_like(t), t
    for k in range(2, POINTS):
        rest += series[:, k] * term
        before, term = term, t * term - (k - 1) * before
    rest *= np.exp(-0.5 * t * t) * np.float32((2 * np.pi) ** -0.5)
    rest += series[:, 0] * ndtr(-t)
    # The series is cut off, but a part of a weight is neither negative nor more than the whole.
    return np.clip(rest, 0, series[:, 0], out=rest)


def _crossing(height: Floats) -> Floats:
    """Find where a height that grows along a line crosses 0: Newton's steps, kept between the points around it."""
    terms = np.matmul(_POLYNOMIAL, height)
    below = (height <= 0).sum(1)
    low, high = _EDGES[below], _EDGES[below + 1]
    steep = np.maximum(terms[:, 1], 1e-30)
    t = np.clip(-terms[:, 0] / steep, low, high)
    # Newton's step must not divide by a slope near 0: a tenth of that in the middle is the least.
    steep *= 0.1
    for _ in range(_STEPS):
        value, slope = terms[:, -1], np.zeros_like(t)
        for k in range(POINTS - 2, -1, -1):
            slope = slope * t + value
            value = value * t + terms[:, k]
        t = np.clip(t - value / np.maximum(slope, steep), low, high)
    return np.asarray(t)


def curves(shape: Floats) -> Floats:
    """Return the polynomial of each shape above 0 `[..., degree]`: of the cube root; below 1 of the logarithm."""
    shape = np.asarray(shape, float)[..., None]
    large, small = _fit_roots()
    x = np.maximum(shape, 1.0) ** -0.5
    root = _mix_series(_shares(x), large) * x / 3
    root[..., 0] += 1
    if not (shape < 1).any():
        return np.asarray(np.cbrt(shape) * root)
    log = _mix_series(_shares(np.minimum(shape, 1.0)), small) / shape
    return np.where(shape < 1, log, np.cbrt(shape) * root)


def _mix_series(share: Floats, fitted: Floats) -> Floats:
    # One by one, so that a shape has the same bits in any company.
    return np.asarray(np.matmul(np.ascontiguousarray(share)[..., None, :], fitted)[..., 0, :])


def values(curve: Floats, normal: Floats) -> Floats:
    """Evaluate polynomials `[..., degree]` at normal numbers within FARTHEST. Single precision."""
    curve = curve.astype(np.float32)
    value = normal * curve[..., -1]
    for k in range(_DEGREE - 1, 0, -1):
        value += curve[..., k]
        value *= normal
    value += curve[..., 0]
    return value


def slopes(curve: Floats, shape: Floats, normal: Floats) -> tuple[Floats, Floats]:
    """Return variates and their derivatives by the normal number, one of each for a curve."""
    value, slope = np.zeros_like(normal), np.zeros_like(normal)
    for k in range(_DEGREE, -1, -1):
        slope = slope * normal + value
        value = value * normal + curve[..., k]
    small = np.exp(np.where(shape < 1, value, 0.0))
    return np.where(shape < 1, small, value**3), np.where(shape < 1, small, 3 * value**2) * slope


@functools.cache
def _fit_roots() -> tuple[Floats, Floats]:
    """Fit roots and logarithms at each node, closest where most of the law is: `[node, degree]`."""
    x = FARTHEST * np.cos((np.arange(400) + 0.5) * np.pi / 400)
    shape = _AT[:, None] ** -2
    root = (np.cbrt(_quantile(shape, x) / shape) - 1) * 3 * np.sqrt(shape)
    # Far down the law is a power of the quantile, which may be too small a number.
    power = (log_ndtr(x) + gammaln(_AT[:, None] + 1)) / _AT[:, None]
    log = np.where(power < -25, power, np.log(np.maximum(_quantile(_AT[:, None], x), 1e-300)))
    weight = np.exp(-(x**2) / 16) + 1e-3
    large, small = (
        np.asarray(np.polynomial.polynomial.polyfit(x, curve.T, _DEGREE, w=weight).T)
        for curve in (root, _AT[:, None] * log)
    )
    return large, small


def _quantile(shape: Floats, x: Floats) -> Floats:
    # Each tail has its own function, since 1 - ndtr(x) has no digits left far up.
    return np.asarray(np.where(x < 0, gammaincinv(shape, ndtr(x)), gammainccinv(shape, ndtr(-x))))


def _shares(x: Floats) -> Floats:
    """Return by how much each node counts at x (barycentric interpolation: Berrut and Trefethen 2004)."""
    away = x - _AT
    hit = np.abs(away) < 1e-9
    share = _WEIGHTS / np.where(hit, 1.0, away)
    share /= share.sum(-1, keepdims=True)
    return np.asarray(np.where(hit.any(-1, keepdims=True), hit, share))
