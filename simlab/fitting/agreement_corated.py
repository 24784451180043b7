"""Hold each rater against the others who rated the same outputs: leniency, sharpness, time taken, controls failed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtrit

from simlab.answers.agreement import RaterBesideOthers
from simlab.fitting.agreement_coefficients import Rated, pairable, rated
from simlab.fitting.agreement_hours import mean_time
from simlab.tables.held import Ratings
from simlab.tables.times import CUT
from simlab.types import Bools, Floats, Ints


def compare_with_others(ratings: Ratings, cut: float = CUT) -> tuple[RaterBesideOthers, ...]:
    """Describe every rater who rated anything; time between answers is cut at `cut` seconds."""
    held = pairable(rated(ratings))
    total = np.bincount(held.output, held.score)
    count = np.bincount(held.output)
    others = (total[held.output] - held.score) / np.maximum(count[held.output] - 1, 1)
    sign = -1 if ratings.lower_is_better else 1
    there = np.flatnonzero(np.bincount(ratings.rater, minlength=ratings.n_raters)).tolist()
    times = {} if ratings.times is None else ratings.times.by_person(cut)
    return tuple(_compare(ratings, rater, held, others, sign, times) for rater in there)


def _compare(
    ratings: Ratings, rater: int, held: Rated, others: Floats, sign: int, times: Mapping[str, Floats]
) -> RaterBesideOthers:
    own = held.rater == rater
    document = np.unique(held.document[held.output[own]], return_inverse=True)[1]
    failures = _failures(ratings, rater)
    numbers = (
        int(own.sum()),
        int(document.max(initial=-1)) + 1,
        *mean_by_cluster(sign * (held.score[own] - others[own]), document),
        *slope_by_cluster(others[own], held.score[own], document),
        *mean_time(times.get(ratings.rater_names[rater])),
        *failures,
        *share_interval(*failures),
    )
    _, *names = RaterBesideOthers.model_fields
    fields: dict[str, Any] = dict(zip(names, numbers, strict=True))
    return RaterBesideOthers(rater=ratings.rater_names[rater], **fields)


def mean_by_cluster(value: Floats, cluster: Ints) -> tuple[float, float, float]:
    """Return a mean and its 95 % interval, by t over clusters; NaN for what cannot be told.

    The variance is that of a ratio of sums over clusters (Cochran 1977, section 9A.2).
    """
    if not len(value):
        return math.nan, math.nan, math.nan
    mean = float(value.mean())
    return _with_interval(mean, np.bincount(cluster, value - mean) / len(value))


def slope_by_cluster(x: Floats, y: Floats, cluster: Ints) -> tuple[float, float, float]:
    """Return the slope of y on x and its 95 % interval, robust to clusters; NaN for what cannot be told.

    Source: Liang and Zeger 1986, with the correction clusters / (clusters - 1) and t with as many degrees of freedom.
    """
    spread = float(((x - x.mean()) ** 2).sum()) if len(x) > 2 else 0.0
    if spread <= 0:
        return math.nan, math.nan, math.nan
    along = x - x.mean()
    slope = float(along @ y) / spread
    residual = y - y.mean() - slope * along
    return _with_interval(slope, np.bincount(cluster, along * residual) / spread)


def _with_interval(value: float, influence: Floats) -> tuple[float, float, float]:
    """Return an estimate with the interval that the influence of each cluster gives it."""
    n = len(influence)
    if n < 2:
        return value, math.nan, math.nan
    reach = float(stdtrit(n - 1, 0.975)) * math.sqrt(n / (n - 1) * float((influence**2).sum()))
    return value, value - reach, value + reach


def _failures(ratings: Ratings, rater: int) -> tuple[int, int]:
    """Return how many control items a rater met, and how many of them were failed."""
    if ratings.controls is None:
        return 0, 0
    failed: Bools = ratings.controls.failed[ratings.controls.rater == rater]
    return len(failed), int(failed.sum())


def share_interval(n: int, k: int) -> tuple[float, float, float]:
    """Return k of n as a share with its exact 95 % interval (Clopper and Pearson 1934); NaN for 0 of 0."""
    if not n:
        return math.nan, math.nan, math.nan
    low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
    return k / n, low, float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
