"""Test pairs of systems by t over segments, as if each were drawn on its own: what is often done, and errs.

It takes segments of a document, and ratings by the same rater, for independent. simlab counts how often it errs; it is
not offered as an analysis.
"""

from __future__ import annotations

import numpy as np

from simlab.types import Floats, Ints

FEWEST = 2
"""Segments from which a spread is known."""


def segment_t(score: Floats, system: Ints, item: Ints, n_systems: int) -> Floats:
    """Return the two-sided `p_value[pair]` of paired t tests over the segments that both systems have.

    `score[k]` is a rating of `item[k]` of `system[k]`; several ratings of an output are averaged. 1 where a pair shares
    fewer than two segments, or does not differ.
    """
    from scipy.special import stdtr

    mean = _means(score, system, item, n_systems)
    first, second = np.triu_indices(n_systems, 1)
    gap = mean[:, first] - mean[:, second]
    came = np.isfinite(gap)
    n = came.sum(0)
    enough = n >= FEWEST
    size = np.maximum(n, 1)
    centre = np.where(came, gap, 0.0).sum(0) / size
    variance = np.where(came, (gap - centre) ** 2, 0.0).sum(0) / np.maximum(n - 1, 1) / size
    t = np.divide(np.abs(centre), np.sqrt(variance), out=np.full_like(centre, np.inf), where=variance > 0)
    known = enough & (np.abs(centre) > 0)
    p_value = np.where(np.isfinite(t), 2 * stdtr(np.maximum(n - 1, 1), -np.where(np.isfinite(t), t, 0.0)), 0.0)
    return np.asarray(np.where(known, p_value, 1.0))


def _means(score: Floats, system: Ints, item: Ints, n_systems: int) -> Floats:
    """Average the ratings of each output: `[item, system]`, NaN where there is none."""
    cell = item * n_systems + system
    size = (int(item.max(initial=-1)) + 1) * n_systems
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, weights=score, minlength=size)
    mean = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
    return np.asarray(mean.reshape(-1, n_systems))
