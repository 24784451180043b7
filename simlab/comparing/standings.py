"""Say where each design stands: best, tied with the best, behind it, or marked by what speaks against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from simlab.comparing.differences import Point, inside, mcse, paired, untold

Standing = Literal["best", "tied", "behind", "unknown", "marked", "unranked"]
"""`marked`: not behind the best, and something speaks against it. `unranked`: designs met worlds of their own."""


def rank(points: Sequence[Point], *, less_is_better: bool, barred: Sequence[bool] = ()) -> list[Standing]:
    """Say of each design whether it is best, tied with the best (the interval includes 0), or behind.

    One that is `barred` is not called best or tied: it is marked, unless it is behind anyway. Unknown: the measure has
    no value, or too few clusters to give an error.
    """
    barred = barred or [False] * len(points)
    best = leader(points, less_is_better=less_is_better, barred=barred)
    if barred[best]:
        return ["marked" if np.isfinite(point.value) else "unknown" for point in points]
    return [
        _standing(point, points[best], is_best=k == best, barred=barred[k], less=less_is_better)
        for k, point in enumerate(points)
    ]


def leader(points: Sequence[Point], *, less_is_better: bool, barred: Sequence[bool] = ()) -> int:
    """Return the index of the design with the best value, among those that are not barred if there are any.

    The first, where no design has a value.
    """
    values = np.array([point.value for point in points])
    kept = np.where(np.array(barred or [False] * len(points), bool), np.nan, values)
    values = kept if np.isfinite(kept).any() else values
    if not np.isfinite(values).any():
        return 0
    return int(np.nanargmin(values) if less_is_better else np.nanargmax(values))


def _standing(point: Point, best: Point, *, is_best: bool, barred: bool, less: bool) -> Standing:
    if not np.isfinite(point.value):
        return "unknown"
    if is_best and np.isfinite(mcse(point)) and not untold(point):
        return "best"
    contrast = inside(paired(point, best), point, best, None)
    if not np.isfinite(contrast.low):
        return "unknown"
    if not barred:
        return "tied" if contrast.tie else "behind"
    return "behind" if (contrast.low > 0 if less else contrast.high < 0) else "marked"
