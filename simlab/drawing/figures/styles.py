"""Give each line of a figure its style, and each point its interval on the scale that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simlab.comparing.contrasts import Point, margin, mcse
from simlab.types import Floats

# Okabe and Ito's colours without their yellow, which is faint on white; dark and light ones alternate.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v")
DASHES = ("-", "--", "-.", ":")


def style(k: int, named: str) -> dict[str, Any]:
    """Return colour, marker and name of the k-th line; no two of 35 look alike."""
    return {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)], "label": named}


def dashes(k: int) -> str:
    """Return how the k-th line is dashed."""
    return DASHES[k % len(DASHES)]


def estimates(points: Sequence[Point], scale: str = "linear") -> tuple[Floats, Floats, Floats]:
    """Return values with the bounds of their 95 % t intervals, as they are shown on a scale.

    On logarithmic scales the half-width h of a value v becomes h / v (delta method), so that an interval stays finite
    where v - h is negative; what is not positive is NaN there. `neg_log` gives the negative natural logarithm.
    """
    values = np.array([point.value for point in points])
    half = np.array([margin(point.clusters) * mcse(point) for point in points])
    if scale == "linear":
        return values, values - half, values + half
    positive = np.where(values > 0, values, np.nan)
    logs, relative = np.log(positive), half / positive
    if scale == "neg_log":
        return -logs, -logs - relative, -logs + relative
    # Beyond e^20 nothing is drawn anyway.
    factor = np.exp(np.minimum(relative, 20.0))
    return positive, positive / factor, positive * factor


def bars(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return what error bars reach below and above values; none where no error is known."""
    reach: Floats = np.nan_to_num(np.array([values - low, high - values]))
    return reach


def limits(shown: tuple[float, float], values: Floats, scale: str = "linear") -> tuple[float, float]:
    """Keep intervals of few clusters from drowning the values: a share is shown between 0 and 1.

    `values` are those shown. On a logarithmic scale the intervals get as much room as the values take, or a factor e.
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
