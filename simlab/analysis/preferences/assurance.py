"""Say how many more comparisons settle a pair, over what its effect may be, and which difference would be found.

The effect of an open pair is taken to be normal around what was found: nothing else is known of it. A number of
comparisons settles the pair if a claim comes with 80 % probability. Source: O'Hagan, Stevens and Campbell 2005
(assurance).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.types import Floats

POWER = 0.8
_Z_POWER = 0.8416212335729143
_PARTS = 400
"""Equally likely effects that stand for all."""

_STEPS = 1.02


class Needed(NamedTuple):
    """Hold how many more comparisons an open pair needs: the median and the middle half; infinite beyond a limit."""

    median: float
    low: float
    high: float


def settle(difference: float, sd: float, n: float, critical: float, limit: float) -> Needed:
    """Return how many more settle a pair where `n` comparisons gave `difference` with an error `sd`, at one look.

    A claim needs `critical` standard errors, which shrink with the root of the number of comparisons.

    >>> settle(0.2, 1e-6, 100.0, 2.0, 1e6).median
    1.0
    """
    effect = _effects(difference, sd)
    with np.errstate(divide="ignore", over="ignore"):
        return _summed((critical + _Z_POWER) ** 2 * (sd * np.sqrt(n) / effect) ** 2 - n, limit)


def settle_anytime(
    difference: float, sd: float, n: float, decided: float, log_needed: float, concentration: float, limit: float
) -> Needed:
    """Return the same for a mixture e-process that must exceed e^log_needed; `decided` of all votes are no ties."""
    effect, root = _effects(difference, sd), sd * np.sqrt(n)
    size = np.geomspace(max(n, 1.0), n + limit, int(np.log1p(limit / max(n, 1.0)) / np.log(_STEPS)) + 2)
    lead = effect[:, None] * size - _Z_POWER * root * np.sqrt(size)
    enough = lead >= boundary(size * decided, log_needed, concentration)
    first = np.where(enough.any(1), size[enough.argmax(1)], np.inf)
    return _summed(first - n, limit)


def boundary(decided: Floats | float, log_needed: float, concentration: float) -> Floats:
    """Return how far wins must lead after so many votes that are no ties (normal mixture for the Beta one)."""
    k = 2 * concentration + 1
    return np.asarray(np.sqrt(2 * (decided + k) * (log_needed + np.log((decided + k) / k) / 2)))


def detectable(sd: float, critical: float) -> float:
    """Return the smallest difference that is claimed with 80 % probability at an error `sd`."""
    return float((critical + _Z_POWER) * sd)


def _effects(difference: float, sd: float) -> Floats:
    from scipy.special import ndtri

    return np.asarray(np.abs(difference + sd * ndtri((np.arange(_PARTS) + 0.5) / _PARTS)))


def _summed(more: Floats, limit: float) -> Needed:
    more = np.ceil(np.maximum(more, 1.0))
    more = np.where(more > limit, np.inf, more)
    low, median, high = (float(np.quantile(more, q, method="higher")) for q in (0.25, 0.5, 0.75))
    return Needed(median, low, high)
