"""Say how far raters rank systems alike."""

from __future__ import annotations

import numpy as np

from simlab.fitting.mqm.pilot import Pilot
from simlab.types import Floats

MAX_CELLS, MAX_RATER_PAIRS = 20_000_000, 500


def agreement(pilot: Pilot) -> tuple[float, float]:
    """Average Kendall's tau-b between rater pairs: per document, and over all documents they share.

    Only documents of which both rated every output count; NaN where there are none. Source: Riley et al. 2024, table 2.
    """
    shape = pilot.n_raters, pilot.n_documents, pilot.n_systems
    if np.prod(shape) > MAX_CELLS:
        return float("nan"), float("nan")
    cell = np.ravel_multi_index((pilot.rater, pilot.document[pilot.item], pilot.system), shape)
    total = np.bincount(cell, weights=pilot.score, minlength=int(np.prod(shape))).reshape(shape).round(6)
    size = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    full = (size == np.bincount(pilot.document, minlength=pilot.n_documents)[:, None]).all(2)
    single, shared = [], []
    for a, b in np.argwhere(np.tril(full.astype(float) @ full.T, -1) > 0)[:MAX_RATER_PAIRS]:
        both = full[a] & full[b]
        single.append(_mean(kendall_tau(total[a, both], total[b, both])))
        shared.append(kendall_tau(total[a, both].sum(0).round(6), total[b, both].sum(0).round(6)).item())
    return _mean(np.array(single)), _mean(np.array(shared))


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
