"""Correct ratings of some segments by what a metric says of all: control variates on segment scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simlab.types import Floats, Ints, Seen


def corrected(seen: Seen, metric: Floats) -> Seen:
    """Subtract from each rating what the metric explains of it, and add what it says of all segments of the system.

    `metric[system, item]` scores all segments. One slope is estimated for all systems from the ratings seen, within
    systems: `a = sum (y - ybar) (g - gbar) / sum (g - gbar)^2`. A rating y becomes `y - a (g - mean of g over all
    segments)`, so that a system's mean over segments is corrected by control variates with a plug-in coefficient.
    Source: Chaganty, Mussmann and Liang 2018, algorithm 1.
    """
    said = metric[seen.system, seen.item]
    y, g = (_within(values, seen.system, len(metric)) for values in (seen.value, said))
    variation = float(g @ g)
    slope = float(y @ g) / variation if variation > 0 else 0.0
    return replace(seen, value=seen.value - slope * (said - metric.mean(1)[seen.system]))


def _within(values: Floats, group: Ints, n: int) -> Floats:
    """Subtract the mean of each value's group."""
    count = np.maximum(np.bincount(group, minlength=n), 1)
    return np.asarray(values - (np.bincount(group, weights=values, minlength=n) / count)[group])
