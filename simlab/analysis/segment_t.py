"""Test pairs of systems by t over segments, as if each were drawn on its own: what is often done, and errs.

It takes segments of a document, and ratings by the same rater, for independent. simlab counts how often it errs; it is
not offered as an analysis.
"""

from __future__ import annotations

import numpy as np

from simlab.types import Floats, Ints

FEWEST = 2
"""Segments from which a spread is known."""

ROUNDING = 1e-12
"""Share of the largest score, and of squares, up to which means are equal and squares are 0."""


def segment_t(score: Floats, system: Ints, item: Ints, n_systems: int) -> Floats:
    """Return the two-sided `p_value[..., pair]` of paired t tests over the segments that both systems have.

    `score[..., k]` is a rating of `item[k]` of `system[k]`, the axes before it are studies of one design; several
    ratings of an output are averaged. 1 where a pair shares fewer than two segments, or does not differ. Sums over the
    segments of pairs are products of matrices, `[study, system, system]`.
    """
    from scipy.special import stdtr

    studies = score.reshape(-1, len(system))
    cell, n_items = item * n_systems + system, int(item.max(initial=-1)) + 1
    count = np.bincount(cell, minlength=n_items * n_systems)
    # Squares of what lies around 0 lose fewer digits.
    level = studies.mean(1, keepdims=True)
    total = np.stack([np.bincount(cell, weights=one, minlength=len(count)) for one in studies - level])
    mean = (total / np.maximum(count, 1)).reshape(-1, n_items, n_systems)
    came = (count > 0).reshape(n_items, n_systems).astype(float)
    first, second = np.triu_indices(n_systems, 1)
    n = (came.T @ came)[first, second]
    by_system = np.swapaxes(mean, 1, 2)
    sums, squares = by_system @ came, by_system**2 @ came
    products = (by_system @ mean)[:, first, second]
    size = np.maximum(n, 1)
    centre = (sums[:, first, second] - sums[:, second, first]) / size
    whole = squares[:, first, second] + squares[:, second, first] - 2 * products
    left = whole - size * centre**2
    variance = np.where(left > ROUNDING * whole, left, 0.0) / np.maximum(n - 1, 1) / size
    known = (n >= FEWEST) & (np.abs(centre) > ROUNDING * np.abs(studies).max(1, initial=0.0)[:, None])
    t = np.divide(np.abs(centre), np.sqrt(variance), out=np.full_like(centre, np.inf), where=variance > 0)
    p_value = np.where(known, 2 * stdtr(np.maximum(n - 1, 1), -t), 1.0)
    return np.asarray(p_value.reshape(*score.shape[:-1], -1))
