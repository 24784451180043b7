"""Normalise the sums of documents as `analysis.normalization` does single ratings: a factor and a shift per rater."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from simlab.fitting.backtest.sums import Picked
from simlab.types import Floats

NEGLIGIBLE = 1e-12
"""Variances are differences of sums of squares here, whose rounding is this small beside the mean square."""


def totals(picked: Picked, name: str) -> Floats:
    """Return normalised totals `[world, document, system]`; several ratings of an output are averaged."""
    value = picked.value
    if name != "none":
        factor, shift = NORMALIZERS[name](picked)
        at = slice(None), picked.rater
        value = factor[at] * value
        if shift is not None:
            value += shift[at] * picked.segments[:, None]
    return np.asarray(value.mean(axis=3).transpose(0, 2, 1))


def _mean(picked: Picked) -> tuple[Floats, None]:
    count, total = _count(picked), _per_rater(picked, picked.value)
    target = total.sum(1, keepdims=True) / count.sum()
    return np.divide(target * count, total, out=np.ones_like(total), where=total != 0), None


def _error(picked: Picked) -> tuple[Floats, None]:
    level, _ = _mean(picked)
    total, errors = level * _per_rater(picked, picked.value), _per_rater(picked, picked.errors)
    scaled = (errors * total).sum(1, keepdims=True)
    share = np.divide(total.sum(1, keepdims=True), scaled, out=np.zeros_like(scaled), where=scaled != 0)
    return np.where(scaled == 0, level, level * errors * share), None


def _zscore(picked: Picked) -> tuple[Floats, Floats]:
    count = _count(picked)
    mean, square = (_per_rater(picked, one) / np.maximum(count, 1) for one in (picked.value, picked.square))
    variance = (square - mean**2) * count / np.maximum(count - 1, 1)
    usable = (count > 1) & (variance > NEGLIGIBLE * square)
    factor = np.divide(1.0, np.sqrt(np.maximum(variance, 0)), out=np.zeros_like(variance), where=usable)
    return factor, -mean * factor


NORMALIZERS: Mapping[str, Callable[[Picked], tuple[Floats, Floats | None]]] = {
    "mean": _mean,
    "error": _error,
    "zscore": _zscore,
}


def _per_rater(picked: Picked, value: Floats) -> Floats:
    """Add up what each rater gave, `[world, rater]`."""
    mine = picked.rater.ravel()[:, None] == np.arange(picked.n_raters)
    return np.asarray(value.reshape(len(value), -1) @ mine.astype(float))


def _count(picked: Picked) -> Floats:
    """Count the ratings of single segments that each rater gave."""
    each = np.broadcast_to(picked.segments[:, None], picked.rater.shape)
    return np.asarray(np.bincount(picked.rater.ravel(), weights=each.ravel(), minlength=picked.n_raters), float)
