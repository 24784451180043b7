"""Bootstrap intervals of mean judgements, with or without a metric, and the data efficiency that they show.

`y[..., n]` are human judgements of n outputs, `g[..., n]` a metric's scores of the same; leading axes are rows, each
with a mean of its own. `bootstrap_interval` resamples judgements, `document_bootstrap` whole documents. Data efficiency
is the number of judgements without the metric that do as much as one with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from simlab.analysis.means.documents import Totals
from simlab.analysis.means.estimates import (
    IntervalBounds,
    Moments,
    Rest,
    check_level,
    check_pairs,
    mean_from_moments,
    reject,
    variance_from_moments,
)
from simlab.types import Bools, Floats

CHUNK = 2**21
"""Numbers held per moment while rows are resampled."""
N, Y, G, N_ALL, G_ALL = range(5)


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
) -> IntervalBounds:
    """Give percentile bootstrap intervals of the rows of `y[..., n]`, or with `studentise` bootstrap-t ones.

    Without g of the sample mean, with it of control variates, with `rest` (outputs that only the metric scored) of
    PPI++ (the same estimator), the metric's `coefficient` estimated anew in each resample unless it is given. Estimates
    are functions of four moments, so a resample is a row of counts and all rows' resamples are matrix products; rows
    share the counts (each interval is right by itself; differences between rows are paired). The rest's mean is drawn
    from its normal law.

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
    judged, metric = check_pairs(y, np.zeros_like(y, float) if g is None else g, 3)
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
        values, errors = _resample(rows[0][at], rows[1][at], draws, some, given, squares=studentise)
        if studentise:
            # The data are the resample in which each judgement counts once and the rest's mean has no noise.
            whole = np.full((1, n), 1 / n), np.zeros(1)
            value, error = _resample(rows[0][at], rows[1][at], whole, some, given, squares=True)
            bounds.append(
                np.array([studentised_bounds(*row, level) for row in zip(value, error, values, errors, strict=True)]).T
            )
        else:
            bounds.append(np.quantile(values, [level / 2, 1 - level / 2], axis=1))
    low, high = np.concatenate(bounds, axis=1).reshape(2, *shape)
    return IntervalBounds(low, high)


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
    judged, metric = check_pairs(y, g, max(sizes))
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
    """Return the mean of all K judgements of each output, `ratings[..., output, K]` (NaN = gap): the least noisy human.

    It keeps `sigma_a^2 / K` of the annotators' noise. Raises InputError where an output has no rating.
    """
    given = _ratings(ratings, 1)
    return np.asarray(np.nanmean(given, axis=-1))


def perfect_metric(ratings: ArrayLike, judge: int) -> Floats:
    """Return the mean of all judgements but those of `judge`, standardised: the honest stand-in for a perfect metric.

    Leave-one-out: free of the noise of the judgement `ratings[..., judge]` that it is to predict, but with its own
    `sigma_a^2 / (K - 1)`, so it falls short of `(1 + gamma) / gamma`. Raises InputError where an output has no other
    rating, or all are equal.
    """
    return _standardise(np.nanmean(_ratings(np.delete(np.asarray(ratings, float), judge, axis=-1), 1), axis=-1))


def simulate_perfect_metric(ratings: ArrayLike) -> Floats:
    """Return the mean of all K judgements, standardised: the published stand-in for a perfect metric.

    It contains the noise of the judgement that it predicts, so the data efficiency exceeds the cap
    `(1 + gamma) / gamma` by up to K / (K - 1). Raises InputError where an output has no rating, or all are equal.
    """
    return _standardise(noiseless_judgements(ratings))


def studentised_bounds(value: Floats, variance: Floats, values: Floats, variances: Floats, level: float) -> Floats:
    """Return the bounds `[2]` of a bootstrap-t interval: estimate and squared standard error, of data and resamples.

    Resamples that show no error, such as those of one judgement again and again, are left out.
    """
    shows = variances > 1e-12 * variance
    if not shows.any():
        return np.repeat(value, 2)
    t = (values[shows] - value) / np.sqrt(variances[shows])
    # Quantiles change sides: a resample far above the estimate says that the truth may lie far below it.
    return np.asarray(value - np.quantile(t, [1 - level / 2, level / 2]) * np.sqrt(variance))


def _resample(
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


def _standardise(score: Floats) -> Floats:
    spread = score.std(-1, keepdims=True)
    reject(bool(np.any(spread == 0)), "ratings: all outputs score the same; a constant metric predicts nothing")
    return np.asarray((score - score.mean(-1, keepdims=True)) / spread)


def document_bootstrap(
    rng: np.random.Generator,
    of: Totals,
    coefficient: ArrayLike | None = 0.0,
    *,
    studentise: bool,
    level: float = 0.05,
    resamples: int = 1000,
) -> IntervalBounds:
    """Give bootstrap intervals of `document_mean`: percentiles, or with `studentise` those of t.

    `of` holds sums per document, `coefficient` is lambda, the metric's coefficient (0: no metric; None: tuned).

    Documents with judgements and those that only the metric has seen are resampled apart, lambda is tuned anew in each
    resample. A resample is a row of counts: the mean and its error are quadratic forms in sums over documents.

    Raises InputError with fewer than 3 judged documents in a row or 2 resamples, or unless 0 < level < 1.
    """
    check_level(level)
    reject(resamples < 2, f"resamples={resamples} is below 2; 1000 give stable intervals")
    least = int((of.n > 0).sum(1).min())
    reject(least < 3, f"{least} documents with judgements are fewer than the 3 needed; judge outputs of more documents")
    slopes = None if coefficient is None else np.broadcast_to(np.asarray(coefficient, float), (len(of.n),))
    bounds = []
    for row in range(len(of.n)):
        parts = _columns(of, row)
        slope = None if slopes is None else float(slopes[row])
        here = _means(parts, np.ones((1, len(parts))), slope, of.n_all is not None)
        there = _resampled_documents(rng, parts, slope, resamples, of.n_all is not None)
        bounds.append(studentised_bounds(*here, *there, level) if studentise else _percentiles(there[0], level))
    low, high = np.array(bounds).T
    return IntervalBounds(low, high)


def _columns(of: Totals, row: int) -> Floats:
    """Lay one row's n, y, g, n_all and g_all out as `[document, 5]`, about its means, so that no digits are lost."""
    n, y, g = of.n[row], of.y[row], of.g[row]
    shift = g.sum() / n.sum() if of.n_all is not None else 0.0
    n_all, g_all = (np.zeros_like(n) if part is None else part[row] for part in (of.n_all, of.g_all))
    return np.stack([n, y, g - shift * n, n_all, g_all - shift * n_all], axis=1)


def _resampled_documents(
    rng: np.random.Generator, parts: Floats, slope: float | None, resamples: int, rest: bool
) -> tuple[Floats, Floats]:
    """Return estimate and squared standard error of each resample, a few at a time: there may be many documents."""
    step = max(1, CHUNK // len(parts))
    moments = [
        _means(parts, _counts(rng, parts[:, N] > 0, min(step, resamples - first)), slope, rest)
        for first in range(0, resamples, step)
    ]
    values, variances = (np.concatenate(part) for part in zip(*moments, strict=True))
    return values, variances


def _counts(rng: np.random.Generator, judged: Bools, resamples: int) -> Floats:
    counts = np.zeros((resamples, len(judged)))
    for part in (judged, ~judged):
        if k := int(part.sum()):
            counts[:, part] = rng.multinomial(k, np.full(k, 1 / k), size=resamples)
    return counts


def _means(parts: Floats, counts: Floats, slope: float | None, rest: bool) -> tuple[Floats, Floats]:
    """Return estimate and squared standard error of each resample.

    `parts[document, 5]` are those of `_columns`, `counts[resample, document]` how often a resample holds a document;
    `slope` is lambda (None: tuned), `rest`: the metric has seen other outputs, too.
    """
    total = counts @ parts
    # All squares that lambda needs are quadratic forms in these sums, so that documents are gone through once.
    products = np.einsum("bc,cij->bij", counts, parts[:, :, None] * parts[:, None, :])
    n, zero = total[:, N], np.zeros(len(total))
    y_mean, g_mean = total[:, Y] / n, total[:, G] / n
    # The delta method: what a document's five sums do to ybar, and below to the difference of both gbars.
    of_y = np.stack([-y_mean / n, 1 / n, zero, zero, zero], axis=1)
    if rest:
        n_all = total[:, N_ALL]
        g_all = total[:, G_ALL] / n_all
        of_g = np.stack([-g_mean / n, zero, 1 / n, g_all / n_all, -1 / n_all], axis=1)
    else:
        g_all = zero
        of_g = np.stack([-g_mean / n, zero, 1 / n, zero, zero], axis=1)
    yg, gg = (np.einsum("bi,bij,bj->b", part, products, of_g) for part in (of_y, of_g))
    yy = np.einsum("bi,bij,bj->b", of_y, products, of_y)
    used = np.divide(yg, gg, out=np.zeros_like(gg), where=gg > 0) if slope is None else np.full(len(gg), slope)
    variance = np.maximum(yy - 2 * used * yg + used**2 * gg, 0.0)
    return y_mean - used * (g_mean - g_all), variance


def _percentiles(values: Floats, level: float) -> Floats:
    return np.quantile(values, [level / 2, 1 - level / 2])
