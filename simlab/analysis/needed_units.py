"""Estimate how many more units (documents, raters or votes) settle an open comparison of two systems.

It is settled by a claim, of whatever sign, with a probability of .80. Effects that the data so far allow are averaged
over. `count_needed_units` adds units to the study, `count_units_of_new_study` starts a new one; both take an
`ObservedEstimate` and return `NeededUnits`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simlab.types import Floats

POWER = 0.80
DRAWS = 99
STEPS = 160
PARTS = 49
"""Quantiles: `DRAWS` of the true difference, `PARTS` of an estimated error; numbers of units are tried on `STEPS`."""

NORMAL_FROM = 1_000.0
"""Degrees of freedom from which on an error counts as known."""


class NeededUnits(NamedTuple):
    """Median and quartiles (`low`, `high`) of the number of units needed; inf: beyond the limit."""

    median: float
    low: float
    high: float


class ObservedEstimate(NamedTuple):
    """An estimated difference, `value`, from `n` units, with its variance and the bar for a claim.

    The variance is `noise`, which more units shrink, plus `lasting`, which they do not. `bar` is the number of standard
    errors by which an estimate must differ from 0 to be claimed.
    """

    value: float
    noise: float
    lasting: float
    bar: float
    n: float


def count_needed_units(seen: ObservedEstimate, limit: float) -> NeededUnits:
    """Return how many more units it takes until a claim, of either sign, is made with a probability of .80.

    The estimate from infinitely many units has, given what was seen, the law N(value, noise). For each of its quantiles
    the least number, up to `limit`, is found after which the estimate, of old and new units, is beyond the bar with
    that probability. That is exact if the noise is normal and the bar stays as it is. What was seen was not claimed: an
    estimate beyond the bar, which flips may hold to a higher one, lies at it.
    """
    from scipy.special import ndtr, ndtri

    if not (np.isfinite(seen.bar) and np.isfinite(seen.noise) and seen.n > 0):
        return NeededUnits(np.inf, np.inf, np.inf)
    more = np.unique(np.round(np.geomspace(1, limit, STEPS)))
    end = seen.value + np.sqrt(seen.noise) * ndtri((np.arange(DRAWS) + 0.5) / DRAWS)
    whole = seen.n + more
    mean = (seen.n * seen.value + end[:, None] * more) / whole
    # Only new units are still to vary: what the old ones brought is given.
    error = np.sqrt(seen.noise * seen.n * more) / whole
    least = abs(seen.value) / np.sqrt(seen.noise + seen.lasting) if seen.noise > 0 else 0.0
    bar = max(seen.bar, float(least)) * np.sqrt(seen.lasting + seen.noise * seen.n / whole)
    with np.errstate(divide="ignore", invalid="ignore"):
        claims = ndtr((mean - bar) / error) + ndtr((-mean - bar) / error)
    settled = claims >= POWER
    number = np.where(settled.any(1), more[settled.argmax(1)], np.inf)
    return NeededUnits(*(_quantile(number, share) for share in (0.5, 0.25, 0.75)))


def count_units_of_new_study(seen: ObservedEstimate, limit: float) -> NeededUnits:
    """Return how many units a new study needs to make a claim, of whatever sign, with a probability of .80, by itself.

    The data seen give the law of the difference, as in `count_needed_units`, and are then left out. `limit` is the
    largest number tried.
    """
    from scipy.special import ndtr, ndtri

    if not (np.isfinite(seen.bar) and np.isfinite(seen.noise) and seen.n > 0 and seen.noise > 0):
        return NeededUnits(np.inf, np.inf, np.inf)
    number = np.unique(np.round(np.geomspace(1, limit, STEPS)))
    end = np.abs(seen.value + np.sqrt(seen.noise) * ndtri((np.arange(DRAWS) + 0.5) / DRAWS))
    ratio = end[:, None] / np.sqrt(seen.lasting + seen.noise * seen.n / number)
    settled = ndtr(ratio - seen.bar) + ndtr(-ratio - seen.bar) >= POWER
    least = np.where(settled.any(1), number[settled.argmax(1)], np.inf)
    return NeededUnits(*(_quantile(least, share) for share in (0.5, 0.25, 0.75)))


def _quantile(number: Floats, share: float) -> float:
    """Return a quantile of numbers, some of which may be infinite."""
    return float(np.sort(number)[int(share * len(number))])


def least_detectable_difference(bar: float, error: float, freedom: float = math.inf) -> float:
    """Return the difference that is claimed with a probability of .80 in another study like this one.

    A claim takes `bar` standard errors, `error` is this study's. With few degrees of freedom (`freedom`) both studies'
    errors are uncertain, so that the probability is averaged over them.
    """
    # Rounded, so that pairs and studies that hardly differ share a root.
    return _errors_to_claim(float(f"{bar:.4g}"), float(f"{freedom:.3g}")) * error


@lru_cache(maxsize=4096)
def _errors_to_claim(bar: float, freedom: float) -> float:
    """Return how many estimated standard errors a difference must be to be claimed with a probability of .80."""
    from scipy.optimize import brentq
    from scipy.special import chdtri, ndtr, ndtri

    if freedom >= NORMAL_FROM:
        return float(bar + ndtri(POWER))
    spread = np.sqrt(chdtri(freedom, (np.arange(PARTS) + 0.5) / PARTS) / freedom)
    bound = bar * spread

    def excess_power(size: float) -> float:
        return float(ndtr(size * spread[:, None] - bound).mean()) - POWER

    most = bar + 1.0
    while excess_power(most) < 0:
        most *= 2
    return float(brentq(excess_power, 0.0, most))
