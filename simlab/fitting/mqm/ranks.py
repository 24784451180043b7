"""Say how far raters rank systems alike."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from simlab.fitting.mqm.pilot import Pilot
from simlab.types import Floats, Ints

MAX_CELLS = 20_000_000


def agreement(pilot: Pilot) -> tuple[float, float]:
    """Average Kendall's tau-b between rater pairs: per document, and over all documents they share.

    Only documents of which both rated every output count; NaN where there are none. Source: Riley et al. 2024, table 2.
    """
    layout = pilot.layout
    if np.prod(layout.shape) > MAX_CELLS or not len(layout.by_two.pair):
        return float("nan"), float("nan")
    summed = np.bincount(layout.cell, weights=pilot.score, minlength=int(np.prod(layout.shape)))
    total: Floats = summed.reshape(layout.shape).astype(np.float64).round(6)
    pair, one, other, document = layout.by_two
    first, second = total[one, document], total[other, document]
    shared = sparse.csr_matrix((np.ones(len(pair)), (pair, np.arange(len(pair)))))
    together = kendall_tau((shared @ first).round(6), (shared @ second).round(6))
    return _mean(_mean_by(pair, kendall_tau(first, second))), _mean(together)


def _mean_by(pair: Ints, values: Floats) -> Floats:
    known = np.isfinite(values)
    number = np.bincount(pair[known], minlength=pair[-1] + 1)
    total = np.bincount(pair[known], weights=values[known], minlength=pair[-1] + 1)
    return np.asarray(np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0))


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def kendall_tau(x: Floats, y: Floats) -> Floats:
    """Return Kendall's tau-b of each row of `x[..., unit]` and `y[..., unit]`; NaN where either ranks nothing.

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])).round(3).item()
    0.333
    """
    first, second = np.triu_indices(x.shape[-1], k=1)
    up_x, up_y = np.sign(x[..., first] - x[..., second]), np.sign(y[..., first] - y[..., second])
    untied = np.sqrt(np.abs(up_x).sum(-1) * np.abs(up_y).sum(-1))
    return np.asarray(np.divide((up_x * up_y).sum(-1), untied, out=np.full_like(untied, np.nan), where=untied > 0))
