"""Give the interval that is asked for, of judgements that are independent or come in documents."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri, stdtrit

from simlab.analysis.means.bootstrap import bootstrap_interval
from simlab.analysis.means.document_bootstrap import document_bootstrap
from simlab.analysis.means.documents import LEAST_LEFT, DocumentMean, Totals, document_mean, totals
from simlab.analysis.means.estimates import Finite, Interval, MeanEstimate, Rest, with_error
from simlab.analysis.means.shares import clopper_pearson, effective_number, wilson
from simlab.types import Bools, Estimates, Floats, InputError, Judged

OfMean: TypeAlias = Literal["normal", "t", "bootstrap", "bootstrap_t"]
Kind: TypeAlias = Literal["by_scale", "normal", "t", "wilson", "clopper_pearson", "bootstrap", "bootstrap_t"]

OF_SHARES = {"wilson": wilson, "clopper_pearson": clopper_pearson}
RESAMPLED = ("bootstrap", "bootstrap_t")
PUBLISHED = ("normal", "bootstrap")
"""Intervals beside which differences are judged by a z test, as papers do; beside all others by a t test."""
SYMMETRIC = ("normal", "t", "bootstrap")
"""Intervals that cover less than they say where judgements are skewed."""

STUDENTS = ("t", "bootstrap_t")
COCHRAN = 25
"""Symmetric 95 % intervals miss more than 6 % where n is less than so many times the squared skewness of what is
averaged. Source: Cochran 1977, section 2.15."""


def chosen_for(kind: Kind, judged: Judged) -> Kind:
    """Return the interval that suits what is judged, where that is asked.

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


def of_judgements(
    rng: np.random.Generator,
    found: MeanEstimate,
    judged: Judged,
    kind: Kind,
    level: float,
    *,
    lost: int = 1,
    g: Floats | None = None,
    slope: Floats | None = None,
) -> Estimates:
    """Add intervals to the means of judgements that are independent; the estimate has `lost` degrees of freedom.

    Raises InputError for a bootstrap of a finite test set.
    """
    n, left = judged.y.shape[1], _left(judged)
    if kind in STUDENTS and g is not None and slope is None:
        found = _stretched(found, g, judged)
    if kind in RESAMPLED:
        _refuse_finite(judged, kind)
        rest = None if judged.rest is None or g is None else Rest(*judged.rest)
        bounds = bootstrap_interval(rng, judged.y, g, rest, slope, level=level, studentise=kind == "bootstrap_t")
    elif kind in OF_SHARES:
        bounds = _of_share(kind, found.value, np.full(len(judged.y), float(n)), left, level)
    else:
        bounds = _symmetric(found.value, found.se, kind, n - lost, level)
    influence, own = found.influence, found.metric_se
    if judged.test_set is not None:
        influence = influence * np.sqrt(left)
        own = np.sqrt(own**2 + judged.annotator_variance / judged.test_set)
    freedom = None if kind in PUBLISHED else np.full(len(judged.y), float(n - lost))
    skewed = too_skewed(found.influence) if kind in SYMMETRIC else None
    return Estimates(
        found.value, found.se, bounds.low, bounds.high, influence, own, freedom=freedom, skewed=skewed
    )  # fmt: skip


def of_documents(
    rng: np.random.Generator,
    judged: Judged,
    kind: Kind,
    level: float,
    *,
    g: Floats | None = None,
    slope: Floats | float | None = 0.0,
) -> Estimates:
    """Estimate the means of judgements whose outputs come in documents; see `document_mean`.

    A slope of None is tuned, 0 leaves the metric out. Raises InputError for too few documents, and a bootstrap of a
    finite test set.
    """
    of = _totals(judged, g)
    finite = None if judged.test_set is None else Finite(judged.test_set, judged.annotator_variance)
    found = document_mean(of, slope, finite)
    if kind in RESAMPLED:
        _refuse_finite(judged, kind)
        bounds = document_bootstrap(rng, of, slope, studentise=kind == "bootstrap_t", level=level)
    elif kind in OF_SHARES:
        bounds = _of_share(kind, found.value, _effective(of, found, level), _left(judged), level)
    else:
        bounds = _symmetric(found.value, found.se, kind, found.freedom, level)
    noise = np.zeros_like(found.value) if judged.test_set is None else judged.annotator_variance / judged.test_set
    return Estimates(
        found.value,
        found.se,
        bounds.low,
        bounds.high,
        own=np.sqrt(noise),
        by_document=found.contribution * np.sqrt(_left(judged)),
        freedom=None if kind in PUBLISHED else found.freedom,
        skewed=too_skewed(found.contribution, of.n > 0) if kind in SYMMETRIC else None,
    )


def _stretched(found: MeanEstimate, g: Floats, judged: Judged) -> MeanEstimate:
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
    return with_error(found.value, found.coefficient, found.influence * alike * weight, found.metric_se, finite)


def _totals(judged: Judged, g: Floats | None) -> Totals:
    if judged.document is None:
        raise ValueError("judgements that are independent come in no documents")
    parts = None if g is None else judged.parts
    if parts is None and g is not None and judged.rest is not None:
        raise InputError("judged outputs come in documents, and those that only the metric rates in none; give parts")
    return totals(judged.y, g, judged.document, None if parts is None else (parts.document, parts.n, parts.total))


def _effective(of: Totals, found: DocumentMean, level: float) -> Floats:
    """Count the independent judgements that tell as much; what a finite test set leaves to draw is left out here."""
    error = np.sqrt((found.contribution**2).sum(1))
    return effective_number(found.value, error, of.n.sum(1), (of.n > 0).sum(1), found.freedom, level)


def _of_share(kind: Kind, value: Floats, n: Floats, left: float, level: float) -> Interval:
    """Give a share's interval; of a finite test set Wilson's only, which hardly any judgement more makes certain."""
    # Clopper and Pearson's remains that of a population, and so covers at least what it says.
    if kind == "wilson" and left < 1:
        n = n / max(left, 1e-9)
    return OF_SHARES[kind](np.clip(value, 0.0, 1.0), n, level)


def _symmetric(value: Floats, se: Floats, kind: Kind, freedom: Floats | float, level: float) -> Interval:
    quantile = -ndtri(level / 2) if kind == "normal" else -stdtrit(freedom, level / 2)
    return Interval(value - quantile * se, value + quantile * se)


def _left(judged: Judged) -> float:
    """Return the share of a finite test set that was not judged; 1 for a population."""
    return 1.0 if judged.test_set is None else 1 - judged.y.shape[1] / judged.test_set


def too_skewed(contribution: Floats, judged: Bools | None = None) -> Bools:
    """Say where what was averaged is too skewed for its number by Cochran's rule; `judged` says what counts."""
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
