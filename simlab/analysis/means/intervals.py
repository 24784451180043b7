"""Add confidence intervals to means of judgements that are independent or come in documents, and test differences.

`estimate_from_judgements` and `estimate_from_documents` take `Judged` (judgements `y[row, n]`; a row is a system) and
return `Estimates` with the `kind` of interval asked for; `pair_errors` and `two_sided_p_values` test pairs of systems.
`wilson` and `clopper_pearson` take an observed share of `n` judgements; n need not be whole: judgements that are not
independent, or that exhaust a test set, count as another number of independent ones.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri, stdtr, stdtrit

from simlab.analysis.means.bootstrap import bootstrap_interval, document_bootstrap
from simlab.analysis.means.documents import LEAST_LEFT, DocumentMean, Totals, document_mean, totals
from simlab.analysis.means.estimates import (
    Finite,
    IntervalBounds,
    MeanEstimate,
    Rest,
    add_standard_error,
    check_at_least,
    check_level,
    reject,
)
from simlab.types import Bools, Estimates, Floats, InputError, Judged

OfMean: TypeAlias = Literal["normal", "t", "bootstrap", "bootstrap_t"]
Kind: TypeAlias = Literal["by_scale", "normal", "t", "wilson", "clopper_pearson", "bootstrap", "bootstrap_t"]
RESAMPLED = ("bootstrap", "bootstrap_t")
PUBLISHED = ("normal", "bootstrap")
"""Intervals beside which differences are judged by a z test, as papers do; beside all others by a t test."""
SYMMETRIC = ("normal", "t", "bootstrap")
"""Intervals that cover less than they say where judgements are skewed."""
STUDENTS = ("t", "bootstrap_t")
COCHRAN = 25
"""Symmetric 95 % intervals miss more than 6 % where n is less than this times the squared skewness of the values
averaged. Source: Cochran 1977, section 2.15."""


def wilson(value: ArrayLike, n: ArrayLike, level: float = 0.05) -> IntervalBounds:
    """Give score intervals: all shares that a z test of the observed one does not reject.

    With alpha from .01 to .99 and at least 20 judgements they cover at least .89 at the level .05, .95 on average; for
    a share below .2 / n (or so far below 1) they dip to .84. Source: Wilson 1927; Brown, Cai and DasGupta 2001.

    Raises InputError for shares outside [0, 1], no judgements, or a level that is none.

    >>> [round(float(bound), 3) for bound in wilson(1.0, 20)]
    [0.839, 1.0]
    """
    share, size = _check_share(value, n, level)
    z2 = ndtri(level / 2) ** 2
    stretch = z2 / size
    centre = (share + stretch / 2) / (1 + stretch)
    half = np.sqrt(stretch * (share * (1 - share) + stretch / 4)) / (1 + stretch)
    # Rounding must not shut out the share itself where it is 0 or 1.
    return IntervalBounds(np.where(share <= 0, 0.0, centre - half), np.where(share >= 1, 1.0, centre + half))


def clopper_pearson(value: ArrayLike, n: ArrayLike, level: float = 0.05) -> IntervalBounds:
    """Give exact intervals: they cover at least `1 - level` at any share, and often more.

    Raises InputError as `wilson`. Source: Clopper and Pearson 1934.

    >>> [round(float(bound), 3) for bound in clopper_pearson(1.0, 20)]
    [0.832, 1.0]
    """
    share, size = _check_share(value, n, level)
    seen, unseen = share * size, (1 - share) * size
    # Where nothing was seen the lower bound is 0; the function is asked about something, and not heard.
    low = np.where(seen > 0, betaincinv(np.where(seen > 0, seen, 1.0), unseen + 1, level / 2), 0.0)
    high = np.where(unseen > 0, betaincinv(seen + 1, np.where(unseen > 0, unseen, 1.0), 1 - level / 2), 1.0)
    return IntervalBounds(low, high)


OF_SHARES = {"wilson": wilson, "clopper_pearson": clopper_pearson}


def choose_interval(kind: Kind, judged: Judged) -> Kind:
    """Return the kind of interval: `by_scale` is replaced by wilson for shares, t for scores.

    Raises InputError for a share's interval where scores are judged.
    """
    if kind == "by_scale":
        return "wilson" if judged.binary else "t"
    if kind in OF_SHARES and not judged.binary:
        raise InputError(
            f"analysis.estimator.interval={kind} is one of shares, and scores are judged; choose t or bootstrap_t, or "
            "set raters.scale=binary"
        )
    return kind


def estimate_from_judgements(
    rng: np.random.Generator,
    mean: MeanEstimate,
    judged: Judged,
    kind: Kind,
    level: float,
    *,
    lost: int = 1,
    g: Floats | None = None,
    slope: Floats | None = None,
) -> Estimates:
    """Add intervals to the means of judgements that are independent.

    Estimating `mean` has taken `lost` degrees of freedom. `g` are the metric's scores, `slope` their known coefficient
    (None: it was tuned); both None without a metric.

    Raises InputError for a bootstrap of a finite test set.
    """
    n, left = judged.y.shape[1], _share_left(judged)
    if kind in STUDENTS and g is not None and slope is None:
        mean = _stretch_residuals(mean, g, judged)
    if kind in RESAMPLED:
        _refuse_finite(judged, kind)
        rest = None if judged.rest is None or g is None else Rest(*judged.rest)
        bounds = bootstrap_interval(rng, judged.y, g, rest, slope, level=level, studentise=kind == "bootstrap_t")
    elif kind in OF_SHARES:
        bounds = _share_interval(kind, mean.value, np.full(len(judged.y), float(n)), left, level)
    else:
        bounds = _symmetric_interval(mean.value, mean.se, kind, n - lost, level)
    influence, own = mean.influence, mean.metric_se
    if judged.test_set is not None:
        # Differences of systems are paired by these values, so they bear the correction for the finite set, too.
        influence = influence * np.sqrt(left)
        own = np.sqrt(own**2 + judged.annotator_variance / judged.test_set)
    freedom = None if kind in PUBLISHED else np.full(len(judged.y), float(n - lost))
    skewed = is_too_skewed(mean.influence) if kind in SYMMETRIC else None
    return Estimates(
        mean.value, mean.se, bounds.low, bounds.high, influence, own, freedom=freedom, skewed=skewed
    )  # fmt: skip


def estimate_from_documents(
    rng: np.random.Generator,
    judged: Judged,
    kind: Kind,
    level: float,
    *,
    g: Floats | None = None,
    slope: Floats | float | None = 0.0,
) -> Estimates:
    """Estimate the means of judgements whose outputs come in documents; see `document_mean`.

    A `slope` of None is tuned, 0 leaves the metric's scores `g` out. Raises InputError for too few documents, and a
    bootstrap of a finite test set.
    """
    of = _totals(judged, g)
    finite = None if judged.test_set is None else Finite(judged.test_set, judged.annotator_variance)
    estimate = document_mean(of, slope, finite)
    if kind in RESAMPLED:
        _refuse_finite(judged, kind)
        bounds = document_bootstrap(rng, of, slope, studentise=kind == "bootstrap_t", level=level)
    elif kind in OF_SHARES:
        bounds = _share_interval(
            kind, estimate.value, _effective_number(of, estimate, level), _share_left(judged), level
        )
    else:
        bounds = _symmetric_interval(estimate.value, estimate.se, kind, estimate.freedom, level)
    noise = np.zeros_like(estimate.value) if judged.test_set is None else judged.annotator_variance / judged.test_set
    return Estimates(
        estimate.value,
        estimate.se,
        bounds.low,
        bounds.high,
        own=np.sqrt(noise),
        by_document=estimate.contribution * np.sqrt(_share_left(judged)),
        freedom=None if kind in PUBLISHED else estimate.freedom,
        skewed=is_too_skewed(estimate.contribution, of.n > 0) if kind in SYMMETRIC else None,
    )


def _stretch_residuals(estimate: MeanEstimate, g: Floats, judged: Judged) -> MeanEstimate:
    """Let each residual count as much as its judgement does in an estimate whose slope is tuned.

    It is stretched by what the slope took from it, `(1 - h)^-1/2` (HC2), h its leverage in g and mean: one judgement
    less for all alike, as beside normal intervals, is too little where an outlier of g draws the slope to itself. And
    it bears the weight `1 - (gbar - gbar of all) (g - gbar) / s_g^2` that its judgement has in the estimate, since the
    slope is not known. Source: MacKinnon and White 1985; Särndal, Swensson and Wretman 1989.
    """
    n, mean = g.shape[1], g.mean(1, keepdims=True)
    centred = g - mean
    square = (centred**2).sum(1, keepdims=True)
    known = square > 0
    leverage = 1 / n + np.divide(centred**2, square, out=np.zeros_like(centred), where=known)
    off = mean if judged.rest is None else (mean - judged.rest[1][:, None]) * judged.rest[0] / (n + judged.rest[0])
    weight = 1 - n * off * np.divide(centred, square, out=np.zeros_like(centred), where=known)
    # The published residuals are stretched alike, by (n - 1) / (n - 2), and their variance has ddof 1.
    alike = np.sqrt((n - 2) / n / np.maximum(1 - leverage, LEAST_LEFT))
    finite = None if judged.test_set is None else Finite(judged.test_set, judged.annotator_variance)
    return add_standard_error(
        estimate.value, estimate.coefficient, estimate.influence * alike * weight, estimate.metric_se, finite
    )


def _totals(judged: Judged, g: Floats | None) -> Totals:
    if judged.document is None:
        raise ValueError("judgements that are independent come in no documents")
    parts = None if g is None else judged.parts
    if parts is None and g is not None and judged.rest is not None:
        raise InputError("judged outputs come in documents, and those that only the metric rates in none; give parts")
    return totals(judged.y, g, judged.document, None if parts is None else (parts.document, parts.n, parts.total))


def _effective_number(of: Totals, mean: DocumentMean, level: float) -> Floats:
    """Return `effective_number` of each row; the correction for a finite test set is not part of it."""
    error = np.sqrt((mean.contribution**2).sum(1))
    return effective_number(mean.value, error, of.n.sum(1), (of.n > 0).sum(1), mean.freedom, level)


def _share_interval(kind: Kind, value: Floats, n: Floats, left: float, level: float) -> IntervalBounds:
    """Give a share's interval; Wilson's is shortened where only the share `left` of a test set was not judged."""
    # Clopper and Pearson's remains that of a population, and so covers at least what it says.
    if kind == "wilson" and left < 1:
        # The finite population correction shrinks the variance by the share left, which is n enlarged by its inverse.
        n = n / max(left, 1e-9)
    return OF_SHARES[kind](np.clip(value, 0.0, 1.0), n, level)


def _symmetric_interval(value: Floats, se: Floats, kind: Kind, freedom: Floats | float, level: float) -> IntervalBounds:
    quantile = -ndtri(level / 2) if kind == "normal" else -stdtrit(freedom, level / 2)
    return IntervalBounds(value - quantile * se, value + quantile * se)


def _share_left(judged: Judged) -> float:
    """Return the share of a finite test set that was not judged; 1 for a population."""
    return 1.0 if judged.test_set is None else 1 - judged.y.shape[1] / judged.test_set


def is_too_skewed(contribution: Floats, judged: Bools | None = None) -> Bools:
    """Mark rows whose contributions to a mean are too skewed for their number by Cochran's rule, `[row]`.

    `contribution[row, k]` is that of each judgement or document; `judged[row, k]` marks those that count (None: all).
    """
    if judged is None:
        n = np.full(len(contribution), contribution.shape[1])
        centred = contribution - contribution.sum(1, keepdims=True) / n[:, None]
    else:
        n = judged.sum(1)
        centred = np.where(judged, contribution - (contribution * judged).sum(1, keepdims=True) / n[:, None], 0.0)
    spread = np.sqrt((centred**2).sum(1) / n)
    # Scaled first: cubes of large scores overflow.
    unit = centred / np.where(spread > 0, spread, 1.0)[:, None]
    return np.asarray(n < COCHRAN * ((unit * unit * unit).sum(1) / n) ** 2)


def _refuse_finite(judged: Judged, kind: Kind) -> None:
    if judged.test_set is not None:
        raise InputError(
            f"analysis.estimator.interval={kind} resamples with replacement, and outputs are judged once each; "
            "set design.replacement=true, systems.test_set=fresh or interval=t"
        )


def effective_number(
    value: Floats, se: Floats, n: ArrayLike, n_documents: ArrayLike, freedom: ArrayLike, level: float
) -> Floats:
    """Return the number of independent judgements that estimate a share as well as n that come in documents.

    `value` is the share, `se` its standard error, with t's degrees of `freedom`; all broadcast.
    The number is `value (1 - value) / se^2`, at most n, shortened by the squared ratio of normal and t quantiles since
    the standard error is known from few documents. A share of 0 or 1 shows no standard error: its documents count.
    Source: Korn and Graubard 1998.
    """
    spread, variance = value * (1 - value), se**2
    known = (spread > 0) & (variance > 0)
    like = np.divide(spread, variance, out=np.zeros_like(spread), where=known)
    shorter = (ndtri(level / 2) / stdtrit(np.asarray(freedom, float), level / 2)) ** 2
    return np.asarray(np.where(known, np.minimum(like * shorter, n), n_documents))


def _check_share(value: ArrayLike, n: ArrayLike, level: float) -> tuple[Floats, Floats]:
    check_level(level)
    share, size = np.broadcast_arrays(np.asarray(value, float), np.asarray(n, float))
    reject(bool(np.any(~((share >= 0) & (share <= 1)))), "value: shares must lie between 0 and 1; correct them")
    check_at_least("n", size, 1e-9)
    return share, size


class PairErrors(NamedTuple):
    """Standard error `se[..., pair]` of differences, and t's degrees of `freedom[..., pair]`; None: z test."""

    se: Floats
    freedom: Floats | None


def pair_errors(estimates: Estimates, *, shared: bool) -> PairErrors:
    """Return the errors of differences of means: paired by judgement, or by document, where inputs are `shared`.

    Estimates are of systems `[..., system]`, of one campaign or of many. Degrees of freedom of two samples are Welch's;
    of pairs those of the system that has fewer.
    """
    first, second = np.triu_indices(estimates.value.shape[-1], 1)
    variance = estimates.sd[..., first] ** 2 + estimates.sd[..., second] ** 2
    paired = None
    if shared and estimates.own is not None:
        if estimates.influence is not None:
            apart = _subtract_pairwise(estimates.influence)
            paired = apart.var(-1, ddof=1) / apart.shape[-1]
        elif estimates.by_document is not None:
            paired = (_subtract_pairwise(estimates.by_document) ** 2).sum(-1)
        if paired is not None:
            paired = paired + estimates.own[..., first] ** 2 + estimates.own[..., second] ** 2
    if paired is None:
        return PairErrors(np.sqrt(variance), _welch(estimates, variance))
    freedom = estimates.freedom
    both = None if freedom is None else np.minimum(freedom[..., first], freedom[..., second])
    return PairErrors(np.sqrt(paired), both)


def _subtract_pairwise(contribution: Floats) -> Floats:
    """Subtract what each judgement, or document, contributes, pair by pair: `[..., system, k]` to `[..., pair, k]`."""
    first, second = np.triu_indices(contribution.shape[-2], 1)
    # Taken, not indexed: sums over the last axis keep their order only where memory does.
    return np.asarray(np.take(contribution, first, axis=-2) - np.take(contribution, second, axis=-2))


def two_sided_p_values(gap: Floats, errors: PairErrors) -> Floats:
    """Return p-values of differences `gap[..., pair]`: 0 for a difference without an error, 1 for none."""
    known = errors.se > 0
    z = np.divide(np.abs(gap), errors.se, out=np.where(gap != 0, np.inf, 0.0), where=known)
    if errors.freedom is None:
        return np.asarray(2 * ndtr(-z))
    # Of a t that is infinite the function knows no tail.
    finite = np.isfinite(z)
    return np.where(finite, 2 * stdtr(errors.freedom, -np.where(finite, z, 0.0)), 0.0)


def quantile(probability: float, errors: PairErrors) -> Floats:
    """Return the quantile, normal or t, by which standard errors are multiplied to become bounds, `[..., pair]`."""
    if errors.freedom is None:
        return np.full(errors.se.shape, ndtri(probability))
    return np.asarray(stdtrit(errors.freedom, probability))


def _welch(estimates: Estimates, variance: Floats) -> Floats | None:
    if estimates.freedom is None:
        return None
    first, second = np.triu_indices(estimates.value.shape[-1], 1)
    own = estimates.sd**4 / estimates.freedom
    spread = own[..., first] + own[..., second]
    # Without any spread nothing depends on it.
    return np.divide(variance**2, spread, out=np.ones_like(spread), where=spread > 0)
