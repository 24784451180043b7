"""Draw from the posterior of a pair without a chain: quasi-random importance sampling of the reversed model.

`J[c, c'] = mu[c, c'] p[c']` is the joint probability of metric outcome c and oracle outcome c'. Metric ratings alone
see only its row sums q. So under a Dirichlet(A) on J the posterior is exact: `q ~ Dirichlet(rowsums(A) + m)` and rows
`nu_c ~ Dirichlet(A_c)` are independent, `J = q nu`. The model's own prior differs by the weight
`prod p^(n + 1 - colsums(A)) prod mu^(N + 1 - A)`, bounded since A is chosen so that no exponent is negative.

Gammas are Marsaglia and Tsang's transform of a normal, with their probability of acceptance as a further weight in
place of rejection: a point of a lattice is then turned into a draw by arithmetic alone, the same for every row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from simlab.rng import stream
from simlab.types import Floats

REPLICATES = 16
"""Random shifts of the lattice; their spread is the error."""

LATTICES = (64, 256, 512, 1024, 2048, 4096)
"""Points per replicate, coarse to fine."""

_VOLUME = REPLICATES * LATTICES[-1]
_DIMENSIONS = 21
# First components of an embedded rank-1 lattice for up to 2^20 points (Cools, Kuo and Nuyens 2006).
LATTICE = (
    *(1, 182667, 469891, 498753, 110745, 446247, 250185, 118627, 245333, 283199, 408519),
    *(391023, 246327, 126539, 399185, 461527, 300343, 69681, 516695, 436179, 106383),
)
SUMS = 9


def proposal(human: Floats, confusion: Floats, *, two_outcomes: bool) -> Floats:
    """Choose `A[row, metric outcome, oracle outcome]`, close to the counts and never above them by more than 1.

    Each column adds one pseudo-count to the confusion counts in all: 1 in every cell but the largest, which loses the
    rest, where that count can spare it; else spread evenly. Columns with more counts than human ratings
    (confusion counts from elsewhere) are scaled down, since p would be weighted without bound.
    """
    rows = np.array([True, not two_outcomes, True])
    k = int(rows.sum())
    largest = np.where(rows[:, None], confusion, -1.0).argmax(1)[:, None]
    spare = np.take_along_axis(confusion, largest, 1) >= k - 1
    extra = np.where(spare, 1.0, 1.0 / k) * np.ones((1, 3, 1))
    at_largest = np.where(spare, 2.0 - k, 1.0 / k)
    np.put_along_axis(extra := np.array(np.broadcast_to(extra, confusion.shape)), largest, at_largest, 1)
    a = np.where(rows[:, None], confusion + extra, 0.0)
    total = a.sum(1, keepdims=True)
    return np.asarray(a * np.minimum(1.0, (human[:, None] + 1) / total))


def sums(
    human: Floats, confusion: Floats, metric: Floats, a: Floats, lattice: int, seed: int, chunk: int = 0
) -> tuple[Floats, Floats]:
    """Return weighted sums `[row, replicate, 9]` and the logarithm of their scale `[row]` on a lattice of points.

    The sums are of the weights, of their squares, of the weights where p> > p<, of p and of p squared. Rows are padded
    to batches of one size, so that a row gives the same bits in any company.
    """
    kernel, points = _compiled(), _points(lattice, seed, chunk)
    batch = _VOLUME // (REPLICATES * LATTICES[lattice])
    p_power = human + 1 - a.sum(1)
    mu_power = np.where(a > 0, confusion + 1 - a, 0.0)
    total, scale = np.empty((len(a), REPLICATES, SUMS)), np.empty(len(a))
    for start in range(0, len(a), batch):
        part = slice(start, start + batch)
        padded = [_pad(array[part], batch) for array in (a, metric, p_power, mu_power)]
        n = len(a[part])
        parts = kernel(*padded, *points)
        total[part], scale[part] = np.asarray(parts[0])[:n], np.asarray(parts[1])[:n]
    return total, scale


def draws(
    human: Floats, confusion: Floats, metric: Floats, a: Floats, lattice: int, seed: int
) -> tuple[Floats, Floats]:
    """Return draws `p[row, draw, outcome]` with their weights `[row, draw]` (largest 1) on a lattice of points."""
    kernel, points = _compiled_draws(), _points(lattice, seed, 0)
    batch = _VOLUME // (REPLICATES * LATTICES[lattice])
    p_power = human + 1 - a.sum(1)
    mu_power = np.where(a > 0, confusion + 1 - a, 0.0)
    parts = []
    for start in range(0, len(a), batch):
        part = slice(start, start + batch)
        padded = [_pad(array[part], batch) for array in (a, metric, p_power, mu_power)]
        p, weight = kernel(*padded, *points)
        n = len(a[part])
        parts.append((np.asarray(p)[:, :n].reshape(3, n, -1), np.asarray(weight)[:n].reshape(n, -1)))
    p = np.concatenate([one[0] for one in parts], axis=1).transpose(1, 2, 0)
    return p.astype(float), np.concatenate([one[1] for one in parts]).astype(float)


def _pad(array: Floats, size: int) -> Floats:
    # Padding repeats the last row: any valid row will do.
    return np.concatenate([array, np.repeat(array[-1:], size - len(array), axis=0)]).astype(np.float32)


@functools.lru_cache(maxsize=12)
def _points(lattice: int, seed: int, chunk: int) -> tuple[Any, Any]:
    """Lay a shifted lattice for each replicate: normals `[12, replicate, point]`, log uniforms `[9, ...]`."""
    import jax.numpy as jnp

    shift = stream(seed, "analysis", "lattice", lattice, chunk).random((_DIMENSIONS, REPLICATES, 1))
    grid = np.arange(LATTICES[lattice]) / LATTICES[lattice]
    unit = (np.array(LATTICE)[:, None, None] * grid + shift) % 1.0
    unit = np.clip(unit, 1e-12, 1 - 1e-12)
    return jnp.asarray(ndtri(unit[:12]), jnp.float32), jnp.asarray(np.log(unit[12:]), jnp.float32)


def _weighted(a: Any, m: Any, p_power: Any, mu_power: Any, normal: Any, log_uniform: Any) -> tuple[Any, Any]:
    """Turn points into draws: p, a list of three `[row, replicate, point]`, and log weights."""
    import jax.numpy as jnp

    log_w: Any = 0.0
    log_q, log_nu = [], []
    for c in range(3):
        drawn = [_log_gamma(a[:, c, k], normal[3 * c + k], log_uniform[3 * c + k]) for k in range(3)]
        log_nu.append(_log_shares([g for g, _ in drawn]))
        total, w = _log_gamma(a[:, c].sum(1) + m[:, c], normal[9 + c], None)
        absent = (a[:, c].sum(1) == 0)[:, None, None]
        log_q.append(jnp.where(absent, -jnp.inf, total))
        log_w = log_w + sum(one for _, one in drawn) + jnp.where(absent, 0.0, w)
    log_q = _log_shares(log_q)
    p = []
    for k in range(3):
        log_j = [log_q[c] + log_nu[c][k] for c in range(3)]
        p.append(sum(jnp.exp(one) for one in log_j))
        log_p = jnp.log(jnp.maximum(p[k], 1e-37))
        log_w = log_w + p_power[:, k, None, None] * log_p
        for c in range(3):
            power = mu_power[:, c, k, None, None]
            log_w = log_w + jnp.where(power > 0, power * (log_j[c] - log_p), 0.0)
    return p, log_w


def _log_gamma(shape: Any, x: Any, log_u: Any | None) -> tuple[Any, Any]:
    """Return log gamma draws `[row, replicate, point]` and their log weights; a shape of 0 gives no mass.

    Marsaglia and Tsang 2000: `d (1 + x / sqrt(9 d))^3`, `d = shape - 1/3`; below 1 by `Gamma(shape + 1) U^(1/shape)`.
    """
    import jax.numpy as jnp

    boost = (shape < 1) if log_u is not None else jnp.zeros_like(shape, bool)
    d = (jnp.where(boost, shape + 1, jnp.maximum(shape, 1.0)) - 1 / 3)[:, None, None]
    t = x / jnp.sqrt(9 * d)
    inside = t > -0.999
    log1 = jnp.log1p(jnp.where(inside, t, 0.0))
    # d (3 log(1 + t) - 3 t + 1.5 t^2 - t^3); where t is small this cancels, and the series takes over.
    series = t**4 * (-0.75 + t * (0.6 + t * (-0.5 + t * (3 / 7 + t * (-0.375 + t / 3)))))
    exact = 3 * log1 - 3 * t + 1.5 * t**2 - t**3
    log_w = jnp.where(inside, d * jnp.where(jnp.abs(t) < 0.12, series, exact), -jnp.inf)
    log_g = jnp.log(d) + 3 * log1
    if log_u is None:
        return log_g, log_w
    log_g = log_g + jnp.where(boost, 1 / jnp.maximum(shape, 1e-6), 0.0)[:, None, None] * log_u
    none = (shape == 0)[:, None, None]
    return jnp.where(none, -jnp.inf, log_g), jnp.where(none, 0.0, log_w)


def _log_shares(parts: list[Any]) -> list[Any]:
    """Divide by the sum, in logarithms; all parts may be nothing."""
    import jax.numpy as jnp

    top = jnp.maximum(jnp.maximum(parts[0], parts[1]), parts[2])
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    total = top + jnp.log(sum(jnp.exp(part - top) for part in parts))
    total = jnp.where(jnp.isfinite(total), total, 0.0)
    return [part - total for part in parts]


@functools.cache
def _compiled() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def kernel(*arrays: Any) -> Any:
        p, log_w = _weighted(*arrays)
        scale = log_w.max((1, 2))
        w = jnp.exp(log_w - scale[:, None, None])
        columns = [w, w * w, w * (p[0] > p[2]), *(w * p_k for p_k in p), *(w * p_k * p_k for p_k in p)]
        return jnp.stack([column.sum(2) for column in columns], axis=2), scale

    return kernel


@functools.cache
def _compiled_draws() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def kernel(*arrays: Any) -> Any:
        p, log_w = _weighted(*arrays)
        return jnp.stack(p), jnp.exp(log_w - log_w.max((1, 2), keepdims=True))

    return kernel
