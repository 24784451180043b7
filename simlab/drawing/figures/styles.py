"""Give each line of a figure its style, and each point its interval on the scale that is shown.

A scale is linear, log or neg_log (the negative natural logarithm). `style` returns matplotlib's arguments of a line,
`estimates` the arrays of its values and bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from simlab.comparing.differences import Point
from simlab.types import Floats

# Okabe and Ito's colours without their yellow, which is faint on white; dark and light ones alternate.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v")
DASHES = ("-", "--", "-.", ":")
BEYOND = np.exp(-20.0)
"""A bound so far below its value is outside every figure."""


def style(k: int, named: str) -> dict[str, Any]:
    """Return colour, marker and name of the k-th line; no two of 35 look alike."""
    return {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)], "label": named}


def dash_pattern(k: int) -> str:
    """Return matplotlib's pattern of dashes for the k-th line."""
    return DASHES[k % len(DASHES)]


def estimates(points: Sequence[Point], scale: str = "linear") -> tuple[Floats, Floats, Floats]:
    """Return values and the lower and upper bounds of their 95 % intervals, as they are shown on a scale.

    On logarithmic scales what is not positive is NaN; a bound that is not reaches beyond what is drawn. `neg_log` gives
    the negative natural logarithm.
    """
    value, low, high = (np.array([getattr(point, name) for point in points]) for name in ("value", "low", "high"))
    if scale == "linear":
        return value, low, high
    positive = np.where(value > 0, value, np.nan)
    low, high = (np.where(value > 0, bound, np.nan) for bound in (np.fmax(low, positive * BEYOND), high))
    return (positive, low, high) if scale == "log" else (-np.log(positive), -np.log(high), -np.log(low))


def scale_value(value: float, scale: str) -> float:
    """Return a value as it is drawn on a scale (linear, log, neg_log); NaN where it has no place on it."""
    if scale == "linear":
        return value
    return math.nan if value <= 0 else value if scale == "log" else -math.log(value)


def bars(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return the lengths of error bars below and above values, two rows; 0 where no error is known."""
    reach: Floats = np.nan_to_num(np.array([values - low, high - values]))
    return reach


def limits(shown: tuple[float, float], values: Floats, scale: str = "linear") -> tuple[float, float]:
    """Keep intervals of few clusters from drowning the values: a share is shown between 0 and 1.

    `shown` are the limits of the axis so far, `values` those shown. On a logarithmic scale the intervals get as much
    room as the values take, or a factor e.
    """
    (low, high), known = shown, values[np.isfinite(values)]
    if not known.size:
        return shown
    if scale == "linear":
        return max(low, -0.02) if known.min() >= 0 else low, min(high, 1.02) if known.max() <= 1 else high
    logs = np.log(known) if scale == "log" else known
    room = max(float(np.ptp(logs)), 1.0)
    least, most = logs.min() - room, logs.max() + room
    return max(low, np.exp(least) if scale == "log" else least), min(high, np.exp(most) if scale == "log" else most)
