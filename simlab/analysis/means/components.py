"""Estimate variance components of judgements: between outputs, between annotators of an output, and the metric's share.

Call `variance_components` with repeated ratings of outputs, and `variance_component_errors` for standard errors. f is
an output's expected judgement, g the metric's score of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simlab.analysis.means.estimates import reject
from simlab.types import Floats


class VarianceComponents(NamedTuple):
    """Variances of rows: `sigma_f^2`, `sigma_a^2`, `gamma = sigma_a^2 / sigma_f^2` and `rho = Cov(f, g) / sigma_f`.

    Source: Chaganty et al. 2018.

    The fields are in this order; `correlation` is NaN without a metric. Where errors are returned, the fields are the
    standard errors of all four.
    """

    signal_variance: Floats
    annotator_variance: Floats
    gamma: Floats
    correlation: Floats


class OutputSums(NamedTuple):
    """Sums of each output `[..., output]`: number of ratings, their mean, squares within, and the metric."""

    n_ratings: Floats
    mean: Floats
    within: Floats
    metric: Floats


def variance_components(ratings: ArrayLike, g: ArrayLike | None = None) -> VarianceComponents:
    """Estimate variance components from repeated `ratings[..., output, k]` (NaN = gap, so counts may differ).

    One-way random effects by analysis of variance: unbiased for both variances, hence `sigma_f^2` may come out below 0
    (then gamma is infinite and rho NaN). `g[..., output]` is the metric of the outputs, standardised over the large
    set. rho is disattenuated: the covariance of output means with g is that of f with g, free of the annotators'
    noise, which only sigma_f must be freed of; so it is not confined to [-1, 1]. Outputs without ratings are left out.

    Raises InputError where fewer than 2 outputs are rated, none twice, or all ratings of a row are equal: the
    components are not identified. Source: Searle, Casella and McCulloch 1992, section 3.6; Chaganty et al. 2018.

    >>> variance_components([[1.0, 1.2], [2.0, 2.2], [3.0, 3.2]]).gamma.round(4)
    np.float64(0.0202)
    """
    outputs = _outputs(ratings, g)
    point = _components(outputs, np.ones((1, outputs.mean.shape[-1])))
    return VarianceComponents(*(part[..., 0] for part in point))


def variance_component_errors(
    rng: np.random.Generator, ratings: ArrayLike, g: ArrayLike | None = None, *, resamples: int = 500
) -> VarianceComponents:
    """Return bootstrap standard errors of the variance components: outputs are resampled with all their ratings.

    Infinite for gamma and rho where a resample leaves no variance between outputs: the pilot is too small to say. For
    very unequal numbers of repeats an error of `annotator_variance` is infinite where a resample holds no repeat.
    Raises InputError as `variance_components`.
    """
    outputs = _outputs(ratings, g)
    n = outputs.mean.shape[-1]
    counts = rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(float)
    return VarianceComponents(*(_spread(part) for part in _components(outputs, counts)))


def _outputs(ratings: ArrayLike, g: ArrayLike | None) -> OutputSums:
    given = np.asarray(ratings, float)
    reject(given.ndim < 2, f"ratings: shape {given.shape} has no axis for repeats; give [..., output, repeat]")
    rated = np.isfinite(given)
    count = rated.sum(-1).astype(float)
    reject(bool(np.any((count > 0).sum(-1) < 2)), "ratings: fewer than 2 outputs are rated; rate more of them")
    reject(
        bool(np.any(count.max(-1) < 2)), "ratings: no output is rated twice, so gamma is not identified; add repeats"
    )
    # About the row's mean: an offset of the scale would cost digits.
    row_mean = np.nanmean(given, axis=(-2, -1), keepdims=True)
    value = np.where(rated, given - row_mean, 0.0)
    reject(
        bool(np.any(np.ptp(np.where(rated, given, row_mean), axis=(-2, -1)) == 0)),
        "ratings: all are equal, so gamma is not identified; use a finer scale or more outputs",
    )
    mean = value.sum(-1) / np.maximum(count, 1)
    within = (np.where(rated, value - mean[..., None], 0.0) ** 2).sum(-1)
    metric = np.full_like(mean, np.nan) if g is None else np.asarray(g, float)
    reject(
        metric.shape != mean.shape or (g is not None and not np.isfinite(metric).all()),
        f"g: must hold a finite number for each output, shape {mean.shape}; give the metric of every output",
    )
    return OutputSums(count, mean, within, metric)


def _components(outputs: OutputSums, weight: Floats) -> VarianceComponents:
    """Return components `[..., resample]` when output i is there `weight[resample, i]` times."""
    count, mean, within, metric = outputs
    rated = (count > 0).astype(float)
    n_outputs, n, n_squared = rated @ weight.T, count @ weight.T, count**2 @ weight.T
    total = (count * mean) @ weight.T
    between = (count * mean**2) @ weight.T - total**2 / n
    by_output = (rated * mean) @ weight.T / n_outputs, (rated * metric) @ weight.T / n_outputs
    product = (rated * mean * metric) @ weight.T / n_outputs
    with np.errstate(divide="ignore", invalid="ignore"):
        annotator = (within @ weight.T) / (n - n_outputs)
        # Unequal numbers of ratings are worth so many each (Searle, Casella and McCulloch 1992).
        repeats = (n - n_squared / n) / (n_outputs - 1)
        signal = (between / (n_outputs - 1) - annotator) / repeats
        gamma = np.where(signal > 0, annotator / signal, np.inf)
        # The covariance has ddof 1 as the variances have, so that rho does not shrink with few outputs.
        covariance = (product - by_output[0] * by_output[1]) * n_outputs / (n_outputs - 1)
        correlation = np.where(signal > 0, covariance / np.sqrt(np.abs(signal)), np.nan)
    return VarianceComponents(signal, annotator, gamma, correlation)


def _spread(draws: Floats) -> Floats:
    finite = np.isfinite(draws)
    spread = np.where(finite, draws, 0.0).std(-1, ddof=1)
    # All missing means that there was no metric, some that the data cannot tell.
    missing = np.where(np.isnan(draws).all(-1), np.nan, np.inf)
    return np.asarray(np.where(finite.all(-1), spread, missing))
