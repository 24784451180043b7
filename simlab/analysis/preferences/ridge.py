"""Draw from the posterior of a pair whose metric is known in part, or whose raters err: importance sampling again.

Make a `RidgeModel` of counts (symbols as in `reversal`), call `proposals` for each row's peak, then `sums`; or `draws`.
A row is a pair of systems.

There the weights of the reversed model are not bounded: what is known of mu's columns beforehand weighs p by
`prod p^(1 - colsums(prior))`. But in its coordinates (log-ratios of q, log-ratios of the rows nu) the posterior has one
peak of hardly bent contours, even where it is a thin ridge in (p, mu). So points are those of a Student law there, at
the peak and with its curvature, weighted by the ratio of the densities.

With `A = rowsums(N + prior) + m`, raters R, human ratings beyond the metric's `e = n - colsums(N)`:
`log f = A log q + N log(nu R') + prior log nu + e log(R p) - (colsums(prior) - 1) log p`, Jacobians included.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, ndtri

from simlab.analysis.preferences import reversal
from simlab.analysis.preferences.reversal import LATTICE, REPLICATES, SUMS, kept_outcomes
from simlab.rng import stream
from simlab.types import Array, Floats

LATTICES = tuple(32 * n for n in reversal.LATTICES)
"""Points per replicate: as many more as there are lines."""

_FREEDOM = 6.0
"""Degrees of freedom of the Student law: tails of the posterior fall exponentially, its own do not."""

_STEPS = 40
# Central differences are off by its square, 1e-8, and rounding over it is less: a proposal needs no more.
_STRIDE = 1e-4
_WIDEST = 5.0
"""Largest standard deviation of a coordinate in the proposal, where the data say nothing about it."""

_GOOD, _ROUNDS = 0.35, 3
"""Effective share of draws below which a proposal is fitted anew to its own draws, so often at most."""

_BATCH = 16
"""Rows whose points are turned into draws at once: as many as fit into the cache."""


@dataclass(frozen=True, slots=True)
class RidgeModel:
    """Counts and priors, row by row, of the outcomes that the metric has.

    `reach[row, outcome]` is A above, `joint[row, outcome, human]` N, `prior[row, outcome, oracle]`, `rest[row, human]`
    e, `rater[human, oracle]` R.
    """

    reach: Floats
    joint: Floats
    prior: Floats
    rest: Floats
    rater: Floats

    @classmethod
    def build(
        cls,
        human: Floats,
        confusion: Floats,
        metric: Floats,
        prior: Floats | None,
        rater: Floats | None,
        *,
        two_outcomes: bool,
    ) -> RidgeModel:
        """Lay out counts `[row, ...]`; no prior is a uniform one, no rater an oracle."""
        kept = kept_outcomes(confusion.shape[1], two_outcomes=two_outcomes)
        before = np.ones_like(confusion) if prior is None else prior
        known = np.eye(3) if rater is None else rater
        joint, before = confusion[:, kept], before[:, kept]
        reach = (joint + before).sum(2) + metric[:, kept]
        return cls(reach, joint, before, human - confusion.sum(1), known)

    def select_rows(self, rows: Array | slice) -> RidgeModel:
        """Keep some rows."""
        return RidgeModel(self.reach[rows], self.joint[rows], self.prior[rows], self.rest[rows], self.rater)


@dataclass(frozen=True, slots=True)
class Peak:
    """Mode of each row's posterior `[row, coordinate]`, and a root of its covariance there."""

    at: Floats
    root: Floats


def peaks(model: RidgeModel) -> Peak:
    """Climb to the peak of each row by Newton's steps, each as long as it helps."""
    y = _start(model)
    height = _log_density(model, y)
    damping = np.full(len(y), 1e-3)
    open_ = np.arange(len(y))
    for _ in range(_STEPS):
        part = model.select_rows(open_)
        slope = _gradient(part, y[open_])
        size, turn = np.linalg.eigh(-_curvature(part, y[open_]))
        along = (turn.swapaxes(1, 2) @ slope[:, :, None])[:, :, 0]
        # Absolute curvatures make every step lead uphill, even where the density is not concave.
        step = (turn @ (along / (np.abs(size) + damping[open_, None]))[:, :, None])[:, :, 0]
        step *= np.minimum(1.0, 3.0 / np.maximum(np.abs(step).max(1), 1e-12))[:, None]
        tried = _log_density(part, y[open_] + step)
        # At the peak a step may lose by rounding alone, and must then count as taken.
        better = tried >= height[open_] - 1e-9
        y[open_[better]] += step[better]
        height[open_[better]] = tried[better]
        damping[open_] *= np.where(better, 0.2, 10.0)
        open_ = open_[~(better & (np.abs(step).max(1) < 1e-3))]
        if not len(open_):
            break
    size, turn = np.linalg.eigh(-_curvature(model, y))
    return Peak(y, turn / np.sqrt(np.maximum(size, _WIDEST**-2))[:, None, :])


def proposals(model: RidgeModel, seed: int) -> Peak:
    """Return peaks, with mean and covariance of weighted draws in their place where contours are bent or cut off."""
    peak = peaks(model)
    share = np.zeros(len(peak.at))
    trial, open_ = peak, np.arange(len(peak.at))
    for _ in range(_ROUNDS + 1):
        fitted, reached = _fit_proposal(model.select_rows(open_), trial, seed)
        better = reached > share[open_]
        share[open_[better]] = reached[better]
        peak.at[open_[better]], peak.root[open_[better]] = trial.at[better], trial.root[better]
        again = better & (reached < _GOOD)
        open_, trial = open_[again], Peak(fitted.at[again], fitted.root[again])
        if not len(open_):
            break
    return peak


def _fit_proposal(model: RidgeModel, peak: Peak, seed: int) -> tuple[Peak, Floats]:
    """Fit a proposal to weighted draws from another one; return it, and the effective share of these draws `[row]`."""
    point, log_g = _points(0, seed, 0, peak.at.shape[1])
    at, root, share = np.empty_like(peak.at), np.empty_like(peak.root), np.empty(len(peak.at))
    for start in range(0, len(at), _BATCH):
        part = slice(start, start + _BATCH)
        _, log_f = _draws(model.select_rows(part), Peak(peak.at[part], peak.root[part]), point)
        log_w = log_f - log_g
        w = np.exp(log_w - log_w.max(1, keepdims=True))
        w /= w.sum(1, keepdims=True)
        share[part] = 1 / (w**2).sum(1) / w.shape[1]
        mean = _times(w, point.T)
        away = point[None] - mean[:, :, None]
        spread = (away * w[:, None]) @ away.swapaxes(1, 2)
        # Few draws may know too little: a part of the old spread stays.
        kept = 0.9 * spread + 0.1 * np.eye(len(point))
        at[part] = peak.at[part] + (peak.root[part] @ mean[:, :, None])[:, :, 0]
        root[part] = peak.root[part] @ np.linalg.cholesky(kept)
    return Peak(at, root), share


def sums(model: RidgeModel, peak: Peak, lattice: int, seed: int, chunk: int = 0) -> tuple[Floats, Floats]:
    """Return weighted sums `[row, replicate, 11]` and the logarithm of their scale `[row]`; see `reversal.sums`."""
    n_rows, dimensions = peak.at.shape
    point, log_g = _points(lattice, seed, chunk, dimensions)
    total, scale = np.empty((n_rows, REPLICATES, SUMS)), np.empty(n_rows)
    step = max(_BATCH * LATTICES[0] // LATTICES[lattice], 1)
    for start in range(0, n_rows, step):
        part = slice(start, start + step)
        p, log_f = _draws(model.select_rows(part), Peak(peak.at[part], peak.root[part]), point)
        log_w = log_f - log_g
        scale[part] = log_w.max(1)
        w = np.exp(log_w - scale[part, None])
        above, square = p[0] > p[2], w * w
        columns = [w, square, w * above, square * above, square * above]
        columns += [*(w * one for one in p), *(w * one * one for one in p)]
        total[part] = np.stack([column.reshape(len(w), REPLICATES, -1).sum(2) for column in columns], axis=2)
    return total, scale


def draws(model: RidgeModel, lattice: int, seed: int) -> tuple[Floats, Floats]:
    """Return draws `p[row, outcome, draw]` with their weights `[row, draw]` (largest 1) on a lattice of points."""
    peak = proposals(model, seed)
    point, log_g = _points(lattice, seed, 0, peak.at.shape[1])
    p, log_f = _draws(model, peak, point)
    log_w = log_f - log_g
    return np.stack(p, axis=1), np.exp(log_w - log_w.max(1, keepdims=True))


@functools.lru_cache(maxsize=12)
def _points(lattice: int, seed: int, chunk: int, dimensions: int) -> tuple[Floats, Floats]:
    """Lay points of the Student law `[coordinate, point]`, a shifted lattice for each replicate, and their density."""
    shift = stream(seed, "analysis", "ridge", lattice, chunk).random((dimensions + 1, REPLICATES, 1))
    grid = np.arange(LATTICES[lattice]) / LATTICES[lattice]
    unit = (np.array(LATTICE[: dimensions + 1])[:, None, None] * grid + shift) % 1.0
    unit = np.clip(unit.reshape(dimensions + 1, -1), 1e-12, 1 - 1e-12)
    # Twice a gamma number is a chi-squared one: normal numbers over its root are Student's.
    spread = np.sqrt(_FREEDOM / (2 * gammaincinv(_FREEDOM / 2, unit[-1])))
    point = ndtri(unit[:-1]) * spread
    return point, -(_FREEDOM + dimensions) / 2 * np.log1p((point**2).sum(0) / _FREEDOM)


def _draws(model: RidgeModel, peak: Peak, point: Floats) -> tuple[list[Floats], Floats]:
    """Turn points into p, a list of three `[row, point]`, and the log density of each; loops keep arrays flat."""
    # Exponentials of log-ratios, and products of them, must stay finite.
    y = np.clip(peak.at[:, :, None] + peak.root @ point, -250, 250)
    n_rows = model.reach.shape[1]
    log_q, q = _simplex(y[:, : n_rows - 1])
    log_f = sum(model.reach[:, c, None] * log_q[c] for c in range(n_rows))
    p: list[Floats] = [np.zeros_like(q[0]) for _ in range(3)]
    perfect = bool((model.rater == np.eye(3)).all())
    for c in range(n_rows):
        start = n_rows - 1 + 2 * c
        log_nu, nu = _simplex(y[:, start : start + 2])
        power = model.prior[:, c] + (model.joint[:, c] if perfect else 0.0)
        for k in range(3):
            p[k] += q[c] * nu[k]
            log_f = log_f + power[:, k, None] * log_nu[k]
        if not perfect:
            log_f = log_f + _rater_log_likelihood(model.rater, model.joint[:, c], nu)
    power = 1 - model.prior.sum(1) + (model.rest if perfect else 0.0)
    for k in range(3):
        log_f = log_f + power[:, k, None] * np.log(np.maximum(p[k], 1e-300))
    return p, np.asarray(log_f if perfect else log_f + _rater_log_likelihood(model.rater, model.rest, p))


def _rater_log_likelihood(rater: Floats, count: Floats, p: list[Floats]) -> Floats:
    """Return the log likelihood `[row, point]` of answers `count[row, human]` of raters who err, given p."""
    total = np.zeros_like(p[0])
    for h in np.flatnonzero(count.any(0)):
        heard = sum(rater[h, k] * p[k] for k in range(3))
        total += count[:, h, None] * np.log(np.maximum(heard, 1e-300))
    return total


def _simplex(y: Floats) -> tuple[list[Floats], list[Floats]]:
    """Return the components of a simplex `[row, point]` and their logarithms; the last is the base of the ratios."""
    e = [np.exp(one) for one in y.swapaxes(0, 1)]
    total: Floats = np.asarray(1 + sum(e))
    log_total: Floats = np.log(total)
    logs = [*(one - log_total for one in y.swapaxes(0, 1)), -log_total]
    return logs, [*(one / total for one in e), np.asarray(1 / total)]


def _start(model: RidgeModel) -> Floats:
    """Return starting coordinates `[row, coordinate]`: p and mu as counts and priors have each by itself."""
    marginal = np.maximum(model.joint.sum(1) + model.rest, 0.0) + 1
    column = model.joint + model.prior
    j = column / column.sum(1, keepdims=True) * (marginal / marginal.sum(1, keepdims=True))[:, None]
    nu, log_q = np.log(j / j.sum(2, keepdims=True)), np.log(model.reach)
    ratios = [log_q[:, :-1] - log_q[:, -1:], (nu[:, :, :-1] - nu[:, :, -1:]).reshape(len(j), -1)]
    return np.concatenate(ratios, axis=1)


def _parts(model: RidgeModel, y: Floats) -> tuple[Floats, Floats, Floats]:
    n_rows = model.reach.shape[-1]
    q = _softmax(y[..., : n_rows - 1])
    nu = _softmax(y[..., n_rows - 1 :].reshape(*y.shape[:-1], n_rows, 2))
    return q, nu, np.maximum((q[..., None] * nu).sum(-2), 1e-300)


def _softmax(y: Floats) -> Floats:
    full = np.concatenate([y, np.zeros((*y.shape[:-1], 1))], axis=-1)
    e = np.exp(full - full.max(-1, keepdims=True))
    return np.asarray(np.maximum(e / e.sum(-1, keepdims=True), 1e-300))


def _times(rows: Floats, matrix: Floats) -> Floats:
    """Multiply each row by a matrix, by itself: last digits do not hang on how many rows there are."""
    return np.asarray(np.matmul(rows[..., None, :], matrix)[..., 0, :])


def _log_density(model: RidgeModel, y: Floats) -> Floats:
    q, nu, p = _parts(model, y)
    value = (model.reach * np.log(q)).sum(-1) + (model.prior * np.log(nu)).sum((-1, -2))
    value += (model.joint * np.log(np.maximum(nu @ model.rater.T, 1e-300))).sum((-1, -2))
    value += (model.rest * np.log(np.maximum(_times(p, model.rater.T), 1e-300))).sum(-1)
    return np.asarray(value - ((model.prior.sum(-2) - 1) * np.log(p)).sum(-1))


def _gradient(model: RidgeModel, y: Floats) -> Floats:
    """Differentiate the log density by the coordinates `y[..., row, coordinate]`."""
    q, nu, p = _parts(model, y)
    heard = np.maximum(_times(p, model.rater.T), 1e-300)
    by_p = _times(model.rest / heard, model.rater) - (model.prior.sum(-2) - 1) / p
    of_q = model.reach + q * (nu @ by_p[..., None])[..., 0]
    by_nu = (model.joint / np.maximum(nu @ model.rater.T, 1e-300)) @ model.rater + q[..., None] * by_p[..., None, :]
    of_nu = model.prior + nu * by_nu
    slopes = [_reduce_derivatives(of_q, q), _reduce_derivatives(of_nu, nu).reshape(*y.shape[:-1], -1)]
    return np.concatenate(slopes, axis=-1)


def _reduce_derivatives(of: Floats, share: Floats) -> Floats:
    """Go from derivatives by logarithms of shares to those by log-ratios; the base has none."""
    return np.asarray((of - share * of.sum(-1, keepdims=True))[..., :-1])


def _curvature(model: RidgeModel, y: Floats) -> Floats:
    """Differentiate the gradient: `[row, coordinate, coordinate]`, symmetric."""
    moved = _STRIDE * np.eye(y.shape[-1])[:, None, :]
    curvature = (_gradient(model, y + moved) - _gradient(model, y - moved)) / (2 * _STRIDE)
    by_row = np.moveaxis(curvature, 1, 0)
    return np.asarray((by_row + by_row.swapaxes(1, 2)) / 2)
