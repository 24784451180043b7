"""Lay judgements out as `[system, n]`."""

from __future__ import annotations

import numpy as np

from simlab.types import Floats, Seen


def laid_out(seen: Seen, metric: Floats | None, n_systems: int) -> tuple[Floats, Floats | None]:
    """Return judgements `y[system, n]`, NaN where none came, and what the metric says of the same outputs."""
    n = int(seen.item.max(initial=-1)) + 1 if metric is None else metric.shape[1]
    y = np.full(n_systems * n, np.nan)
    y[seen.unit * n + seen.item] = seen.value
    return y.reshape(n_systems, n), metric
