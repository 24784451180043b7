"""Estimate how uncertain each system's mean is by itself: other documents, and other raters where these are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.types import Bools, Floats, Ints, Rated


class Means(NamedTuple):
    """Hold each system's `mean`, the standard `error` of it, and t's `freedom` (0: nothing is known of the error)."""

    mean: Floats
    error: Floats
    freedom: Floats


def means(rated: Rated, *, raters_drawn: bool) -> Means:
    """Estimate means over the documents that a system has in full, with cluster-robust errors.

    With raters taken as drawn the variance is the largest of by rater, by document, and both less what they share; with
    raters as given it is that by document (Cameron, Gelbach and Miller 2011). Each is stretched by n / (n - 1), with as
    many raters as loads amount to, `1 / sum share^2`.
    """
    came = ~np.isnan(rated.total)[rated.document, rated.system]
    weight = np.where(came, rated.share, 0.0)
    size = np.bincount(rated.system, weights=weight, minlength=rated.n_systems)
    per = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    mean = np.bincount(rated.system, weights=weight * rated.value, minlength=rated.n_systems) * per
    share = weight * per[rated.system]
    residual = share * (rated.value - mean[rated.system])
    documents = _by(rated.document, rated, share, residual, came)
    if not raters_drawn:
        return Means(np.where(size > 0, mean, np.nan), np.sqrt(documents[0]), documents[1])
    raters = _by(rated.rater, rated, share, residual, came)
    cells = _by(rated.rater * rated.n_documents + rated.document, rated, share, residual, came)
    # What is not known is infinite, and infinite less infinite is not a number, which is left out.
    with np.errstate(invalid="ignore"):
        both = raters[0] + documents[0] - cells[0]
    variance = np.fmax(np.fmax(raters[0], documents[0]), np.where(np.isnan(both), 0.0, both))
    freedom = np.minimum(raters[1], documents[1])
    return Means(np.where(size > 0, mean, np.nan), np.sqrt(variance), freedom)


def _by(label: Ints, rated: Rated, share: Floats, residual: Floats, came: Bools) -> tuple[Floats, Floats]:
    """Return variances and degrees of freedom of systems' means, clusters being ratings with the same label."""
    _, at = np.unique(label, return_inverse=True)
    shape = (int(at.max(initial=-1)) + 1, rated.n_systems)
    cell = at * rated.n_systems + rated.system
    parts, loads = (
        np.bincount(cell, weights=np.where(came, of, 0.0), minlength=shape[0] * shape[1]).reshape(shape)
        for of in (residual, share)
    )
    squares = (loads**2).sum(0)
    n = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
    few = n < 1 + 1e-9
    stretch = np.divide(n, n - 1, out=np.full_like(n, np.inf), where=~few)
    variance = (parts**2).sum(0)
    return np.where(few, np.inf, variance * np.where(few, 1.0, stretch)), np.where(few, 0.0, n - 1)
