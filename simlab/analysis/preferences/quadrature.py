"""Integrate the posterior of a pair over the simplex where the metric's (or the raters') errors are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simlab.types import Floats


class Care(NamedTuple):
    """Say how carefully to integrate: nodes each way, and how far (in logarithms) below the maximum to go."""

    nodes: int
    depth: float = 40.0


FINE, FINE_CHECK = Care(64), Care(44)
QUICK, QUICK_CHECK = Care(20, 26.0), Care(14, 26.0)
"""For a posterior, and for a first decision; the second of each says how far off the first may be."""

_BATCH = 32
"""Rows that are integrated at once: as many as fit into the cache."""

_GOLDEN = (np.sqrt(5) - 1) / 2


def moments(forms: Floats, powers: Floats, care: Care) -> Floats:
    """Integrate `prod_i (forms_i . p)^powers_i` over the simplex: theta, mean and second moments of p `[row, 7]`.

    `forms[row, i, outcome]` are non-negative, `powers[row, i]` not negative, so the logarithm is concave. The outer
    variable is `d = p> - p<`, split at 0 where the indicator of theta jumps, the inner one `s = p=`; both run over what
    lies within `care.depth` of the maximum.
    """
    low, high = _range(lambda d: _profile(forms, powers, d)[1], *_ends(len(forms)), care.depth)
    parts = [slice(start, start + _BATCH) for start in range(0, len(forms), _BATCH)]
    return np.concatenate([_moments(forms[part], powers[part], low[part], high[part], care) for part in parts])


def _moments(forms: Floats, powers: Floats, low: Floats, high: Floats, care: Care) -> Floats:
    """Integrate rows whose d matters between `low[row]` and `high[row]`."""
    nodes, depth = care
    split = np.clip(0.0, low, high)
    node, weight = np.polynomial.legendre.leggauss(nodes)
    unit, share = (node + 1) / 2, weight / 2
    edges = [(low, split), (split, high)]
    d = np.concatenate([a[:, None] + (b - a)[:, None] * unit for a, b in edges], axis=1)
    outer = np.concatenate([(b - a)[:, None] * share for a, b in edges], axis=1)
    s, inner = _inner_nodes(forms, powers, d, unit, share, depth)
    log_l = _log_density(forms[:, None, None], powers[:, None, None], d[:, :, None], s)
    w = np.exp(log_l - log_l.max((1, 2), keepdims=True)) * inner * outer[:, :, None]
    w /= _total(w)[:, None, None]
    p = [(1 - s + d[:, :, None]) / 2, s, (1 - s - d[:, :, None]) / 2]
    theta = _total(w[:, nodes:])
    first = [_total(w * one) for one in p]
    second = [_total(w * one**2) for one in p]
    return np.stack([theta, *first, *second], axis=1)


def _total(w: Floats) -> Floats:
    # Row by row, so that a row has the same bits in any company.
    return np.asarray(np.ascontiguousarray(w).reshape(len(w), -1).sum(1))


def _log_density(forms: Floats, powers: Floats, d: Floats, s: Floats) -> Floats:
    """Evaluate the log density; `forms[..., i, outcome]` and `powers[..., i]` broadcast against d and s."""
    value = (
        forms[..., 0] * ((1 - s + d) / 2)[..., None]
        + forms[..., 1] * s[..., None]
        + forms[..., 2] * ((1 - s - d) / 2)[..., None]
    )
    return np.asarray(np.where(powers > 0, powers * np.log(np.maximum(value, 1e-300)), 0.0).sum(-1))


def _profile(forms: Floats, powers: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Maximise over s at each `d[row]`; return where, and the maximum."""
    return _maximise(lambda s: _log_density(forms, powers, d, s), np.zeros_like(d), 1 - np.abs(d))


def _inner_nodes(
    forms: Floats, powers: Floats, d: Floats, unit: Floats, share: Floats, depth: float
) -> tuple[Floats, Floats]:
    """Place nodes in s, with weights, for each `d[row, node]`."""
    f, k = forms[:, None], powers[:, None]
    low, high = _range(lambda s: _log_density(f, k, d, s), np.zeros_like(d), 1 - np.abs(d), depth)
    return low[..., None] + (high - low)[..., None] * unit, (high - low)[..., None] * share


def _ends(n: int) -> tuple[Floats, Floats]:
    return np.full(n, -1.0), np.full(n, 1.0)


def _maximise(f: Callable[[Floats], Floats], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Find the maximum of concave functions by golden sections."""
    a, b = low, high
    # To a millionth of the interval: the narrowest peak that counts of 10^9 allow is wider.
    for _ in range(30):
        left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        up = f(left) < f(right)
        a, b = np.where(up, left, a), np.where(up, b, right)
    at = (a + b) / 2
    return at, f(at)


def _range(f: Callable[[Floats], Floats], low: Floats, high: Floats, depth: float) -> tuple[Floats, Floats]:
    """Find an interval hardly wider than that on which a concave function lies within `depth` of its maximum."""
    at, top = _maximise(f, low, high)
    ends = []
    for end in (low, high):
        inside, outside = at, end
        for _ in range(24):
            middle = (inside + outside) / 2
            near = f(middle) >= top - depth
            inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
        ends.append(outside)
    return ends[0], ends[1]
