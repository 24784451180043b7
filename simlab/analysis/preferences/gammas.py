"""Turn normal numbers into gamma variates of any shape: a polynomial for each shape, between exact quantiles.

The cube root of a gamma quantile, centred and scaled as Wilson and Hilferty have it, is smooth in the normal number and
in 1 / sqrt(shape). So it is fitted in the first at 14 Chebyshev points of the second, and interpolated between them: to
1e-3 of a standard deviation for a shape of 1, 1e-5 for one of 5, with no special function left.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtr

from simlab.types import Floats

FARTHEST = 5.0
"""Largest normal number, either way; one in two millions is beyond."""

_DEGREE = 9
_NODES = 14
_ANGLES = (np.arange(_NODES) + 0.5) * np.pi / _NODES
_AT = (1 - np.cos(_ANGLES)) / 2
_WEIGHTS = (-1.0) ** np.arange(_NODES) * np.sin(_ANGLES)


def curves(shape: Floats) -> Floats:
    """Return the polynomial of each shape of at least 1: `[..., degree]`, for `gammas`."""
    x = np.asarray(shape, float)[..., None] ** -0.5
    root = np.matmul(_shares(x), _fitted()) * x / 3
    root[..., 0] += 1
    return np.asarray(np.cbrt(shape)[..., None] * root)


def gammas(curve: Floats, normal: Floats) -> Floats:
    """Return variates at normal numbers within FARTHEST; what comes in is overwritten. Single precision."""
    curve = curve.astype(np.float32)
    value = normal * curve[..., -1]
    for k in range(_DEGREE - 1, 0, -1):
        value += curve[..., k]
        value *= normal
    value += curve[..., 0]
    np.multiply(value, value, out=normal)
    return np.multiply(normal, value, out=normal)


def slopes(curve: Floats, normal: Floats) -> tuple[Floats, Floats]:
    """Return variates and their derivatives by the normal number, one of each for a curve."""
    value, slope = np.zeros_like(normal), np.zeros_like(normal)
    for k in range(_DEGREE, -1, -1):
        slope = slope * normal + value
        value = value * normal + curve[..., k]
    return value**3, 3 * value**2 * slope


@functools.cache
def _fitted() -> Floats:
    """Fit the scaled root at each node, closest where most of the law is: `[node, degree]`."""
    x = FARTHEST * np.cos((np.arange(400) + 0.5) * np.pi / 400)
    shape = _AT[:, None] ** -2
    quantile = np.where(x < 0, gammaincinv(shape, ndtr(x)), gammainccinv(shape, ndtr(-x)))
    root = (np.cbrt(quantile / shape) - 1) * 3 * np.sqrt(shape)
    return np.polynomial.polynomial.polyfit(x, root.T, _DEGREE, w=np.exp(-(x**2) / 16) + 1e-3).T


def _shares(x: Floats) -> Floats:
    """Return by how much each node counts at x (barycentric interpolation: Berrut and Trefethen 2004)."""
    away = x - _AT
    hit = np.abs(away) < 1e-9
    share = _WEIGHTS / np.where(hit, 1.0, away)
    share /= share.sum(-1, keepdims=True)
    return np.where(hit.any(-1, keepdims=True), hit, share)
