"""Estimate each system's mean from human judgements, with or without a metric: the functions of `analysis.estimator`.

An estimator is called with a random generator and with `Judged`: human judgements `y[row, n]`, the metric's scores of
the same outputs, and of others; a row is a system in a campaign. It returns `Estimates`: mean, standard error and
bounds of an interval, `[row]`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from simlab.analysis.adequacy.joint import AdequacyCounts
from simlab.analysis.adequacy.posterior import alpha_posterior
from simlab.analysis.means import estimates
from simlab.analysis.means.estimates import Finite, Rest
from simlab.analysis.means.intervals import (
    RESAMPLED,
    Kind,
    OfMean,
    choose_interval,
    estimate_from_documents,
    estimate_from_judgements,
)
from simlab.analysis.sharing import (
    check_sharing,
    estimate_with_joint_rates,
    estimate_with_known_rates,
    estimate_with_own_rates,
    estimate_with_partial_rates,
)
from simlab.types import Estimates, Floats, InputError, Judged, KnownRates

Level = Annotated[float, Gt(0), Lt(1)]


def sample_mean(rng: np.random.Generator, judged: Judged, *, interval: Kind, level: Level) -> Estimates:
    """Average the human judgements; the metric is not used.

    `interval`: normal; Student's t; percentiles of a bootstrap (of 1,000 resamples), or of its t; here and below. Of
    shares also wilson and clopper_pearson; `by_scale` is wilson for shares and t for scores. Where outputs come in
    documents, all of them, and conclusions about differences, take documents as the independent units.

    Raises InputError for fewer than 2 judgements (documents), a bootstrap of a finite test set, and an interval of
    shares where scores are judged.
    """
    _check_enough(judged, "sample_mean", 3 if interval in RESAMPLED else 2)
    kind = choose_interval(interval, judged)
    if judged.document is not None:
        return estimate_from_documents(rng, judged, kind, level)
    return estimate_from_judgements(rng, estimates.sample_mean(judged.y, _finite_test_set(judged)), judged, kind, level)


def control_variates(
    rng: np.random.Generator,
    judged: Judged,
    *,
    coefficient: Literal["plug_in", "known"],
    interval: OfMean,
    level: Level,
) -> Estimates:
    """Correct the mean of human judgements by what the metric says of the judged outputs and of all others.

    `coefficient=known`: the true slope of judgements on the metric (unbiased); `plug_in`: estimated from the same
    judgements. Source: Chaganty, Mussmann and Liang 2018, algorithm 1.

    Raises InputError for too few judgements, no metric, or a slope that is not known.
    """
    _check_enough(judged, "control_variates", 3)
    g = _metric(judged, "control_variates")
    slope = judged.slope if coefficient == "known" else None
    if slope is not None and np.isnan(slope).any():
        raise InputError(
            "analysis.estimator.coefficient=known: the true slope on this metric is not known for such raters; "
            "choose plug_in"
        )
    if judged.document is not None:
        return estimate_from_documents(rng, judged, interval, level, g=g, slope=slope)
    rest = None if judged.rest is None else Rest(*judged.rest)
    estimate = estimates.control_variates(judged.y, g, rest, slope, _finite_test_set(judged))
    # A slope that is estimated costs a degree of freedom beside that of the mean.
    return estimate_from_judgements(
        rng, estimate, judged, interval, level, lost=2 if slope is None else 1, g=g, slope=slope
    )


def ppi(rng: np.random.Generator, judged: Judged, *, interval: OfMean, level: Level) -> Estimates:
    """Correct the mean by prediction-powered inference, power-tuned.

    Source: Angelopoulos, Duchi and Zrnic 2023 (PPI++). Needs outputs with the metric's word only: test_set=fresh.

    Raises InputError for fewer than 3 judgements, no metric, or fewer than 2 outputs that only it has seen.
    """
    _check_enough(judged, "ppi", 3)
    g = _metric(judged, "ppi")
    if judged.rest is None or judged.rest[0] < 2:
        raise InputError(
            "analysis.estimator=ppi needs outputs that only the metric rates; raise budget.metric_ratings, with "
            "systems.test_set=fresh"
        )
    if judged.document is not None:
        return estimate_from_documents(rng, judged, interval, level, g=g, slope=None)
    return estimate_from_judgements(
        rng, estimates.ppi(judged.y, g, Rest(*judged.rest)), judged, interval, level, lost=2, g=g
    )


def binary(
    rng: np.random.Generator,
    judged: Judged,
    *,
    quality: Literal["known", "estimated"],
    sharing: Literal["own", "joint", "partial"],
    youden_bound: Annotated[float, Ge(0), Le(2)],
    alpha_slope_sd: Annotated[float, Ge(0), Le(5)],
    constrain: bool,
    level: Level,
) -> Estimates:
    """Infer the share of adequate outputs by its posterior, from binary human and metric ratings together.

    `quality=known`: the metric's rho and eta are taken for known; `estimated`: from the calibration outputs, with
    uniform priors, or with `constrain` such that rho + eta > 1. The value is the posterior mean, `sd` its standard
    deviation. `sharing`: whether rho and eta are each system's `own`, as published, the same for all (`joint`), or
    related (`partial`); see `simlab.analysis.sharing`, also for `youden_bound` and `alpha_slope_sd`.
    Source: von Däniken et al. 2022, section 3.

    Raises InputError for judgements or a metric that do not say adequate or not, where data that using the metric
    takes are missing, and for options that do not go together.
    """
    if not judged.binary:
        raise InputError("analysis.estimator=binary needs judgements that are adequate or not; set raters.scale=binary")
    if judged.document is not None:
        raise InputError(
            "analysis.estimator=binary takes outputs as independent, and those of a document are not "
            "(systems.outputs_per_document, document_agreement); choose analysis.estimator=sample_mean, "
            "control_variates or ppi"
        )
    check_sharing(quality, sharing, youden_bound, alpha_slope_sd, len(judged.y))
    if judged.g is None and sharing != "own":
        raise InputError(
            f"analysis.estimator.sharing={sharing} is about a metric, and metric=none has none; set it to own"
        )
    n_plus, n = judged.y.sum(1), np.full(len(judged.y), float(judged.y.shape[1]))
    if judged.g is None:
        posterior = alpha_posterior(n_plus, n, level=level)
        return Estimates(posterior.mean, posterior.sd, posterior.low, posterior.high)
    if judged.rest is None:
        raise InputError(
            "analysis.estimator=binary takes outputs as drawn from a population; set systems.test_set=fresh"
        )
    m, calls = judged.rest[0], judged.rest[1]
    if not np.isin(np.unique(judged.g), (0.0, 1.0)).all() or not isinstance(judged.nominal, KnownRates):
        raise InputError("analysis.estimator=binary needs a metric that says adequate or not; choose metric=rho_eta")
    # The share of calls is a mean, so that the count that it came from is whole but for rounding.
    counts = AdequacyCounts(n_plus, n, np.round(m * calls), np.full(len(n), float(m)))
    if quality == "known":
        return estimate_with_known_rates(counts, judged.nominal, level)
    if sharing == "own":
        calibration = _count_calibration(judged.calibration, len(n))
        return estimate_with_own_rates(counts, calibration, constrain, level)
    parts = _count_calibration(judged.calibration_parts, len(n))
    if sharing == "partial":
        return estimate_with_partial_rates(counts, parts, constrain, level, alpha_slope_sd)
    return estimate_with_joint_rates(counts, parts.sum(0), constrain, level, youden_bound)


def _count_calibration(calibration: Floats | None, n_systems: int) -> Floats:
    return np.zeros((n_systems, 4)) if calibration is None else calibration


def _check_enough(judged: Judged, name: str, least: int) -> None:
    n = judged.y.shape[1]
    if n < least:
        raise InputError(f"budget.human_ratings={n} is too few for analysis.estimator={name}; it needs {least}")
    documents = n if judged.document is None else min(len(np.unique(row)) for row in judged.document)
    if documents < least:
        raise InputError(f"budget.human_ratings={n} judges outputs of too few documents, {documents}, for "
                         f"analysis.estimator={name}; raise it: {least} documents are needed")  # fmt: skip


def _metric(judged: Judged, name: str) -> Floats:
    if judged.g is None:
        raise InputError(f"analysis.estimator={name} needs a metric; choose metric=correlated or another, or "
                         "analysis.estimator=sample_mean")  # fmt: skip
    return judged.g


def _finite_test_set(judged: Judged) -> Finite | None:
    return None if judged.test_set is None else Finite(judged.test_set, judged.annotator_variance)
