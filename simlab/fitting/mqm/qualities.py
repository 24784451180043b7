"""Turn what systems score into what the law says of them: minor errors go with quality less than scores do.

Margins are of scores, so their errors are errors of scores. A system's quality is the power that its major errors go
with; where minor errors hardly go with it, qualities are further apart than scores.
"""

from __future__ import annotations

import numpy as np

from simlab.types import Floats

STEPS, CLOSE = 40, 1e-6
MOST = 8.0
"""Logarithms of qualities lie no further than that from the average."""


def qualities(score: Floats, sharpness: Floats, minor_sharpness: float, points: Floats) -> Floats:
    """Return `log(system_mean)[system]` whose mean scores over raters are `exp(score)`, by Newton's method.

    `points[kind, rater]` are the points that minor and major errors of an average system add up to. Scores of 0 points
    of any kind are the average quality's; the level of what is returned is that of the scores.
    """
    power = np.stack([minor_sharpness * sharpness, sharpness]).ravel()
    share = (points / points.sum()).ravel()
    level = score.mean()
    x = score - level
    for _ in range(STEPS):
        terms = share * np.exp(np.multiply.outer(x, power))
        total = terms.sum(1)
        slope = np.maximum((terms * power).sum(1) / total, 0.05)
        step = np.clip((score - level - np.log(total)) / slope, -1, 1)
        # An average quality of 0 is what the law means by a system's relative quality.
        level, x = level + (x + step).mean() * float(slope.mean()), x + step
        x = np.clip(x - x.mean(), -MOST, MOST)
        if np.abs(step).max() < CLOSE:
            break
    return np.asarray(level + x)


def minor_power(slope: float, minor_points: float) -> float:
    """Return the power of quality that minor errors go with, from their slope on scores.

    With a share `a` of points in minor errors scores go with the power `a m + 1 - a` of quality, so that the slope of
    minor errors on scores is `m / (a m + 1 - a)`.

    >>> minor_power(1.0, 0.4), round(minor_power(0.5, 0.5), 3)
    (1.0, 0.333)
    """
    return float(np.clip(slope, 0, None) * (1 - minor_points) / max(1 - minor_points * slope, 0.05))
