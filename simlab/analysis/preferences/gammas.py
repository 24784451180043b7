"""Turn normal numbers into gamma variates of any shape: a polynomial for each shape, between exact quantiles.

The cube root of a gamma quantile, centred and scaled as Wilson and Hilferty have it, is smooth in the normal number and
in 1 / sqrt(shape); below a shape of 1 so is the shape times the quantile's logarithm, in the shape. Each is fitted in
the normal number at Chebyshev points of the other, and interpolated between them: to 1e-3 of a standard deviation for a
shape of 1, 1e-5 for one of 5, with no special function left.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import gammainccinv, gammaincinv, gammaln, log_ndtr, ndtr

from simlab.types import Floats

FARTHEST = 5.0
"""Largest normal number, either way; one in two millions is beyond."""

_DEGREE = 9
_NODES = 14
_ANGLES = (np.arange(_NODES) + 0.5) * np.pi / _NODES
_AT = (1 - np.cos(_ANGLES)) / 2
_WEIGHTS = (-1.0) ** np.arange(_NODES) * np.sin(_ANGLES)


def curves(shape: Floats) -> Floats:
    """Return the polynomial of each shape above 0 `[..., degree]`: of the cube root; below 1 of the logarithm."""
    shape = np.asarray(shape, float)[..., None]
    large, small = _fitted()
    x = np.maximum(shape, 1.0) ** -0.5
    root = _mixed(_shares(x), large) * x / 3
    root[..., 0] += 1
    if not (shape < 1).any():
        return np.asarray(np.cbrt(shape) * root)
    log = _mixed(_shares(np.minimum(shape, 1.0)), small) / shape
    return np.where(shape < 1, log, np.cbrt(shape) * root)


def _mixed(share: Floats, fitted: Floats) -> Floats:
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
def _fitted() -> tuple[Floats, Floats]:
    """Fit roots and logarithms at each node, closest where most of the law is: `[node, degree]`."""
    x = FARTHEST * np.cos((np.arange(400) + 0.5) * np.pi / 400)
    shape = _AT[:, None] ** -2
    root = (np.cbrt(_quantile(shape, x) / shape) - 1) * 3 * np.sqrt(shape)
    # Far down the law is a power of the quantile, which may be too small a number.
    power = (log_ndtr(x) + gammaln(_AT[:, None] + 1)) / _AT[:, None]
    log = np.where(power < -25, power, np.log(np.maximum(_quantile(_AT[:, None], x), 1e-300)))
    weight = np.exp(-(x**2) / 16) + 1e-3
    large, small = (
        np.asarray(np.polynomial.polynomial.polyfit(x, one.T, _DEGREE, w=weight).T)
        for one in (root, _AT[:, None] * log)
    )
    return large, small


def _quantile(shape: Floats, x: Floats) -> Floats:
    return np.asarray(np.where(x < 0, gammaincinv(shape, ndtr(x)), gammainccinv(shape, ndtr(-x))))


def _shares(x: Floats) -> Floats:
    """Return by how much each node counts at x (barycentric interpolation: Berrut and Trefethen 2004)."""
    away = x - _AT
    hit = np.abs(away) < 1e-9
    share = _WEIGHTS / np.where(hit, 1.0, away)
    share /= share.sum(-1, keepdims=True)
    return np.asarray(np.where(hit.any(-1, keepdims=True), hit, share))
