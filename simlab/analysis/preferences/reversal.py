"""Draw from the posterior of a pair without a chain: quasi-random importance sampling of the reversed model.

`J[c, c'] = mu[c, c'] p[c']` is the joint probability of metric outcome c and oracle outcome c'. Metric ratings alone
see only its row sums q. So under a Dirichlet(A) on J the posterior is exact: `q ~ Dirichlet(rowsums(A) + m)` and rows
`nu_c ~ Dirichlet(A_c)` are independent, `J = q nu`. The model's own prior differs by the weight
`prod p^(n + 1 - colsums(A)) prod mu^(N + 1 - A)`, bounded since A is chosen so that no exponent is negative.

A row of J is three gammas, stretched by a fourth: `V_c = g_c (1 + h_c / sum g_c)`, `g_c ~ Gamma(A_c)`,
`h_c ~ Gamma(m_c)`; J is V over its sum, which neither weights nor the order of p> and p< need. Each gamma is a function
of a normal number. Theta asks on which side of a surface these numbers lie, which points tell poorly: so there are
lines (module `lines`) that cross it, along which p> grows and p< falls.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from simlab.analysis.preferences import lines
from simlab.analysis.preferences.gammas import curves, slopes, values
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
_DIMENSIONS = 12
# First components of an embedded rank-1 lattice for up to 2^20 points (Cools, Kuo and Nuyens 2006).
LATTICE = (
    *(1, 182667, 469891, 498753, 110745, 446247, 250185, 118627, 245333, 283199, 408519),
    *(391023, 246327, 126539, 399185, 461527, 300343, 69681, 516695, 436179, 106383),
)
SUMS = 11
_SINGLE: Any = np.float32


class Drawn(NamedTuple):
    """Hold p, not normalised, a list of three `[row, point, line]`, weights, and the logarithm of their scale."""

    p: list[Floats]
    weight: Floats
    scale: Floats


def proposal(human: Floats, confusion: Floats, *, two_outcomes: bool) -> Floats:
    """Choose `A[row, metric outcome, oracle outcome]`, close to the counts and never above them by more than 1.

    A column with counts adds one pseudo-count to every cell but its largest: weights are then that cell of mu, and for
    three outcomes 1 / p. That has a finite variance, and wastes less than weights that are bounded. A column without
    counts spreads one pseudo-count evenly. Columns with more counts than human ratings (confusion counts from
    elsewhere) are scaled down, since p would be weighted without bound.
    """
    rows = np.array([True, not two_outcomes, True])
    k = int(rows.sum())
    largest = np.where(rows[:, None], confusion, -1.0).argmax(1)[:, None]
    known = (confusion.sum(1) > 0) & (human > 0)
    extra = np.repeat(np.where(known, 1.0, 1.0 / k)[:, None], 3, axis=1)
    np.put_along_axis(extra, largest, np.where(known, 0.0, 1.0 / k)[:, None], 1)
    a = np.where(rows[:, None], confusion + extra, 0.0)
    most = human + np.where(known, k - 1, 1)
    return np.asarray(a * np.minimum(1.0, (most / a.sum(1))[:, None]))


def sums(
    human: Floats, confusion: Floats, metric: Floats, a: Floats, lattice: int, seed: int, chunk: int = 0
) -> tuple[Floats, Floats]:
    """Return weighted sums `[row, replicate, 11]` and the logarithm of their scale `[row]` on a lattice of lines.

    Sums over lines of their weight w, of w^2, of the weight u on the side where p> > p<, of u^2 and u w, and of the
    weighted means of p and of p squared. Rows give the same bits in any company.
    """
    n = LATTICES[lattice]
    each = min(n, _LONGEST)
    normal = _lattice(n, seed, lattice, chunk)
    total, scale = np.zeros((len(a), REPLICATES, SUMS)), np.full(len(a), -np.inf)
    for alike in _alike(human, confusion, metric, a):
        curve = curves(_shapes(alike))
        up = _upwards(alike, curve)
        for start in range(0, normal.shape[1], _LONGEST):
            point = normal[alike.cells][:, start : start + _LONGEST]
            for part in alike.parts(_AT_ONCE // point.shape[1]):
                batch = alike.of(part)
                drawn = _weighed(batch, _joint(batch, curve[:, part], lines.through(point, up[:, part])))
                more = np.zeros((len(batch.rows), REPLICATES, SUMS))
                first = start // n
                more[:, first : first + point.shape[1] // each] = lines.summed(drawn.p, drawn.weight, each)
                at = batch.rows
                total[at], scale[at] = added(total[at], scale[at], more, drawn.scale)
    return total, scale


def added(total: Floats, scale: Floats, more: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Add weighted sums `[row, replicate, 11]` that are on other scales `[row]`."""
    top = np.maximum(scale, other)
    power = np.array([1, 2, 1, 2, 2, *[1] * 6])
    mine, theirs = (np.exp(power * (one - top)[:, None, None]) for one in (scale, other))
    return total * mine + more * theirs, top


def draws(human: Floats, confusion: Floats, metric: Floats, a: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return draws `p[row, outcome, draw]` with their weights `[row, draw]` (largest 1)."""
    normal = _lattice(_DRAWS, seed, 0, 0)
    size = normal.shape[1]
    p, weight = (np.empty(shape, _SINGLE) for shape in ((len(a), 3, size), (len(a), size)))
    for alike in _alike(human, confusion, metric, a):
        for batch in map(alike.of, alike.parts(_AT_ONCE // 256)):
            everywhere = np.repeat(normal[batch.cells][:, None, None], len(batch.rows), axis=1)
            drawn = _weighed(batch, _joint(batch, curves(_shapes(batch)), everywhere))
            total = drawn.p[0] + drawn.p[1] + drawn.p[2]
            p[batch.rows] = np.stack([(one / total)[:, 0] for one in drawn.p], axis=1)
            weight[batch.rows] = drawn.weight[:, 0] / drawn.weight[:, 0].max(1, keepdims=True)
    return p, weight


@functools.lru_cache(maxsize=12)
def _lattice(n: int, seed: int, lattice: int, chunk: int) -> Floats:
    """Shift a lattice for each replicate: normals `[12, point]`."""
    shift = stream(seed, "analysis", "lattice", lattice, chunk).random((_DIMENSIONS, REPLICATES, 1))
    unit = (np.array(LATTICE[:_DIMENSIONS])[:, None, None] * (np.arange(n) / n) + shift) % 1.0
    unit = np.clip(unit, 1e-6, 1 - 1e-6).reshape(_DIMENSIONS, -1)
    return np.asarray(ndtri(unit), np.float32)


class _Batch(NamedTuple):
    """Hold what is drawn of some `rows`, and how it is weighed; of the metric's outcomes those `kept` that there are.

    `easy`: a column is weighed by one cell of mu, and by 1 / p where there are three outcomes: without a logarithm.
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

    def of(self, part: slice) -> _Batch:
        """Keep a part of the rows."""
        names = ("rows", "a", "metric", "p_power", "mu_power")
        return self._replace(**{name: getattr(self, name)[part] for name in names})


def _alike(human: Floats, confusion: Floats, metric: Floats, a: Floats) -> Iterator[_Batch]:
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


def _upwards(batch: _Batch, curve: Floats) -> Floats:
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


def _joint(batch: _Batch, curve: Floats, normal: Floats) -> Floats:
    """Draw V `[metric outcome, oracle outcome, row, point, line]`, or its logarithm where one is needed."""
    k = len(batch.kept)
    value = values(curve[:, :, None, None], normal)
    g, h = value[: 3 * k].reshape(k, 3, *value.shape[1:]), value[3 * k :]
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


def _weighed(batch: _Batch, joint: Floats) -> Drawn:
    """Weigh draws of V."""
    if batch.easy:
        return _weighed_easily(batch, joint)
    top = joint.max((0, 1))
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
    return Drawn(p, np.exp(log_w - scale[:, None, None]), scale.astype(float))


def _weighed_easily(batch: _Batch, joint: Floats) -> Drawn:
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
    return Drawn(p, weight, np.zeros(len(rows)))
