"""Resample judgements: percentile intervals of means, and the data efficiency that they show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from simlab.analysis.means.checks import check_level, paired, reject
from simlab.analysis.means.estimates import Interval, Moments, Rest, mean_from_moments, variance_from_moments
from simlab.types import Floats

CHUNK = 2**21
"""Numbers held per moment while rows are resampled."""


def bootstrap_interval(
    rng: np.random.Generator,
    y: ArrayLike,
    g: ArrayLike | None = None,
    rest: Rest | None = None,
    coefficient: ArrayLike | None = None,
    *,
    level: float = 0.05,
    resamples: int = 1000,
    studentise: bool = False,
) -> Interval:
    """Give percentile bootstrap intervals of the rows of `y[..., n]`, or with `studentise` bootstrap-t ones.

    Without g of the sample mean, with it of control variates, with `rest` of PPI++ (the same estimator), the
    coefficient estimated anew in each resample unless it is given. Estimates are functions of four moments, so a
    resample is a row of counts and all rows' resamples are matrix products; rows share the counts (each interval is
    right by itself; differences between rows are paired). The rest's mean is drawn from its normal law.

    Bootstrap-t takes the quantiles of `(resampled estimate - estimate) / resampled standard error`: it follows a skewed
    law, where percentiles cover less than normal intervals do. Source: Efron 1981; Hall 1988.

    Raises InputError where shapes clash, values are not finite, there are fewer than 3 judgements or 2 resamples, or
    0 < level < 1 fails.

    >>> bounds = bootstrap_interval(np.random.default_rng(1), np.tile([0.0, 1.0], 50), level=0.2)
    >>> round(float(bounds.low), 2), round(float(bounds.high), 2)
    (0.44, 0.56)
    """
    check_level(level)
    reject(resamples < 2, f"resamples={resamples} is below 2; 1000 give stable intervals")
    judged, metric = paired(y, np.zeros_like(y, float) if g is None else g, 3)
    n, shape = judged.shape[-1], judged.shape[:-1]
    draws = rng.multinomial(n, np.full(n, 1 / n), size=resamples) / n, rng.standard_normal(resamples)
    known = _column(0.0 if g is None else coefficient, shape)
    left = None if rest is None else [_column(part, shape) for part in rest]
    rows = judged.reshape(-1, n), metric.reshape(-1, n)
    step = max(1, CHUNK // resamples)
    bounds = []
    for at in (slice(first, first + step) for first in range(0, len(rows[0]), step)):
        some = None if left is None else Rest(*(part[at] for part in left if part is not None))
        given = None if known is None else known[at]
        values, errors = _resampled(rows[0][at], rows[1][at], draws, some, given, squares=studentise)
        if studentise:
            whole = np.full((1, n), 1 / n), np.zeros(1)
            value, error = _resampled(rows[0][at], rows[1][at], whole, some, given, squares=True)
            bounds.append(
                np.array([studentised(*row, level) for row in zip(value, error, values, errors, strict=True)]).T
            )
        else:
            bounds.append(np.quantile(values, [level / 2, 1 - level / 2], axis=1))
    low, high = np.concatenate(bounds, axis=1).reshape(2, *shape)
    return Interval(low, high)


def empirical_data_efficiency(
    rng: np.random.Generator,
    y: ArrayLike,
    g: ArrayLike,
    rest: Rest | None = None,
    *,
    sizes: Sequence[int],
    level: float = 0.2,
    resamples: int = 1000,
) -> Floats:
    """Return how many times fewer judgements the metric makes necessary, as bootstrap intervals show: `[..., size]`.

    The squared width of the sample mean's interval over that of control variates, both from the first n judgements of
    each row, for each n of `sizes`. Average over the last axis for the published number. Source: Chaganty et al. 2018,
    section 5 (80 % intervals).

    Raises InputError as `bootstrap_interval`, and where a size exceeds the judgements or an interval has no width.
    """
    judged, metric = paired(y, g, max(sizes))
    ratios = []
    for n in sizes:
        seed = int(rng.integers(2**63))
        widths = []
        # The same resamples for both: their noise cancels in the ratio.
        for some in (None, metric[..., :n]):
            again = np.random.default_rng(seed)
            bounds = bootstrap_interval(again, judged[..., :n], some, rest, level=level, resamples=resamples)
            widths.append(bounds.high - bounds.low)
        reject(bool(np.any(widths[1] <= 0)), "y: an interval has no width; judge outputs that differ")
        ratios.append((widths[0] / widths[1]) ** 2)
    return np.stack(ratios, axis=-1)


def noiseless_judgements(ratings: ArrayLike) -> Floats:
    """Return the mean of all K judgements `ratings[..., output, K]` (NaN = gap): the nearest to noiseless humans.

    It keeps `sigma_a^2 / K` of the annotators' noise. Raises InputError where an output has no rating.
    """
    given = _ratings(ratings, 1)
    return np.asarray(np.nanmean(given, axis=-1))


def perfect_metric(ratings: ArrayLike, judge: int) -> Floats:
    """Return what the others than `judge` say on average: the honest stand-in for a perfect metric, standardised.

    Leave-one-out: free of the noise of the judgement `ratings[..., judge]` that it is to predict, but with its own
    `sigma_a^2 / (K - 1)`, so it falls short of `(1 + gamma) / gamma`. Raises InputError where an output has no other
    rating, or all are equal.
    """
    return _standardised(np.nanmean(_ratings(np.delete(np.asarray(ratings, float), judge, axis=-1), 1), axis=-1))


def perfect_metric_published(ratings: ArrayLike) -> Floats:
    """Return the mean of all K judgements, standardised: the published stand-in for a perfect metric.

    It contains the noise of the judgement that it predicts, so the data efficiency exceeds the cap
    `(1 + gamma) / gamma` by up to K / (K - 1). Raises InputError where an output has no rating, or all are equal.
    """
    return _standardised(noiseless_judgements(ratings))


def studentised(value: Floats, variance: Floats, values: Floats, variances: Floats, level: float) -> Floats:
    """Return the bounds `[2]` of a bootstrap-t interval: estimate and squared standard error, of data and resamples.

    Resamples that show no error, such as those of one judgement again and again, are left out.
    """
    shows = variances > 1e-12 * variance
    if not shows.any():
        return np.repeat(value, 2)
    t = (values[shows] - value) / np.sqrt(variances[shows])
    return np.asarray(value - np.quantile(t, [1 - level / 2, level / 2]) * np.sqrt(variance))


def _resampled(
    y: Floats,
    g: Floats,
    draws: tuple[Floats, Floats],
    rest: Rest | None,
    coefficient: Floats | None,
    *,
    squares: bool = False,
) -> tuple[Floats, Floats]:
    """Return estimates `[row, resample]`, and if asked their squared standard errors.

    Draws are shares `[resample, n]` and normal numbers for the rest's mean.
    """
    counts, noise = draws
    centre, shift = y.mean(-1, keepdims=True), np.zeros((len(y), 1)) if rest is None else g.mean(-1, keepdims=True)
    # Moments about the means: an offset of y or g would cost digits.
    y, g = y - centre, g - shift
    moments = Moments(y @ counts.T, g @ counts.T, (y * g) @ counts.T, (g * g) @ counts.T)
    if rest is not None:
        n, mean, variance = (np.asarray(part, float) for part in rest)
        rest = Rest(n, mean - shift + np.sqrt(variance / n) * noise, variance)
    values = np.asarray(centre + mean_from_moments(moments, y.shape[-1], rest, coefficient))
    if not squares:
        return values, values
    return values, variance_from_moments(moments, (y * y) @ counts.T, y.shape[-1], rest, coefficient)


def _column(value: ArrayLike | None, shape: tuple[int, ...]) -> Floats | None:
    """Lay one number, or one per row, out as a column over all rows."""
    return None if value is None else np.broadcast_to(np.asarray(value, float), shape).reshape(-1, 1)


def _ratings(ratings: ArrayLike, least: int) -> Floats:
    given = np.asarray(ratings, float)
    reject(
        given.ndim < 2 or bool(np.any(np.isfinite(given).sum(-1) < least)),
        f"ratings: an output has fewer than {least} rating(s) left; leave such outputs out",
    )
    return given


def _standardised(score: Floats) -> Floats:
    spread = score.std(-1, keepdims=True)
    reject(bool(np.any(spread == 0)), "ratings: all outputs score the same; a constant metric predicts nothing")
    return np.asarray((score - score.mean(-1, keepdims=True)) / spread)
