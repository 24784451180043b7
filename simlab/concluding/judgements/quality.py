"""Estimate a metric's quality for each system, and shares of adequate outputs from its labels, which err.

rho and eta are the probabilities that the metric calls adequate outputs adequate, and others inadequate. Call
`binarise_metric` for its labels, then `youden` (rho + eta - 1) and `posteriors` (shares); of scores `correlations`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.adequacy.joint import AdequacyCounts
from simlab.analysis.adequacy.shared_rates import youden_index
from simlab.analysis.means.metric_gain import fisher_bounds, spread_of
from simlab.analysis.sharing import FEWEST as FEWEST_TO_POOL
from simlab.analysis.sharing import estimate_with_joint_rates, estimate_with_own_rates, estimate_with_partial_rates
from simlab.answers.standings import Estimated, Interval, MetricQuality
from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.fitting_metrics import rates
from simlab.fitting_metrics.confusion import design_effect
from simlab.types import Bools, Estimates, Floats

FEWEST = 3
"""Least number of outputs, or documents, for a correlation."""


class Binary(NamedTuple):
    """A binary metric: `says[output]`, adequate (1) or not (0; NaN: no score), and notes on its threshold."""

    says: Floats
    threshold: float
    notes: tuple[str, ...]


def binarise_metric(evidence: OutputEvidence, name: str, threshold: float | None) -> Binary | None:
    """Return the metric's labels, adequate or not by a threshold on its scores; None where no threshold can be used.

    `threshold` None: the one by which the labels agree best with the humans'.
    """
    score = evidence.metrics[name]
    both: Bools = np.isfinite(score) & evidence.rated
    if both.sum() < 2:
        return None
    if threshold is None and np.isin(score[np.isfinite(score)], (0.0, 1.0)).all():
        # Between 0 and 1 there is one cut only: choosing it flatters nothing.
        threshold = 0.5
    cut = (
        _choose_threshold(evidence, name, both)
        if threshold is None
        else _use_threshold(evidence, name, both, threshold)
    )
    if cut is None:
        return None
    says = np.where(np.isfinite(score), (cut.sign * score > cut.sign * cut.threshold).astype(float), np.nan)
    return Binary(says, cut.threshold, (cut.note,))


class _Cut(NamedTuple):
    """A threshold, whether a metric says adequate above it (sign 1) or below, and how it was chosen."""

    threshold: float
    sign: int
    note: str


def _use_threshold(evidence: OutputEvidence, name: str, both: Bools, threshold: float) -> _Cut:
    """Take a threshold as given; what is adequate less often above it than below is adequate below it."""
    if _youden(evidence.metrics[name][both] > threshold, evidence.human[both]) < 0:
        note = f"{name} says adequate below {threshold:g}: above it, outputs are adequate less often than below"
        return _Cut(threshold, -1, note)
    return _Cut(threshold, 1, f"{name} says adequate above {threshold:g}")


def _choose_threshold(evidence: OutputEvidence, name: str, both: Bools) -> _Cut | None:
    """Choose the threshold that tells human labels best, and say by how much that flatters the metric."""
    g, y = evidence.metrics[name][both], evidence.human[both]
    cuts = {sign: rates.best_threshold(sign * g, y) for sign in (1, -1)}
    gaps = {sign: _youden(sign * g > cut, y) for sign, cut in cuts.items() if cut is not None}
    if not gaps:
        return None
    sign = max(gaps, key=lambda side: gaps[side])
    threshold = sign * float(cuts[sign] or 0.0)
    optimism = rates.threshold_bias(sign * g, y, evidence.document[both])
    note = (
        f"{name} says adequate {'above' if sign > 0 else 'below'} {threshold:g}, the threshold that tells these labels "
        f"best; chosen on them, rho + eta is about {optimism:.2f} too high"
    )
    return _Cut(threshold, sign, note)


def _youden(says: Bools, adequate: Floats) -> float:
    if adequate.sum() == 0 or (1 - adequate).sum() == 0:
        # Without both kinds of labels nothing says which way round a metric is.
        return 0.0
    return float(says @ adequate / adequate.sum() - says @ (1 - adequate) / (1 - adequate).sum())


def calibration(evidence: OutputEvidence, says: Floats) -> Floats:
    """Count labelled outputs, `[system, 4]`: adequate ones called so, all adequate ones, others called so, all others.

    `says[output]` are the metric's labels. Counts are divided by the design effect of documents, so that they stand for
    independent outputs.
    """
    both: Bools = np.isfinite(says) & evidence.rated
    s, y, system = says[both], evidence.human[both], evidence.system[both]
    n = len(evidence.system_names)
    counts = np.stack([np.bincount(system, w, n) for w in (s * y, y, (1 - s) * (1 - y), 1 - y)], axis=1)
    effect = [_effect(evidence, both, s, weight) for weight in (y, 1 - y)]
    return np.asarray(counts / np.array([effect[0], effect[0], effect[1], effect[1]]))


def _effect(evidence: OutputEvidence, both: Bools, says: Floats, weight: Floats) -> float:
    document = evidence.document[both]
    return design_effect(
        np.stack([np.bincount(document, w, evidence.n_documents) for w in (weight * says, weight * (1 - says))], axis=1)
    )


def youden(evidence: OutputEvidence, says: Floats, level: float) -> tuple[list[MetricQuality], Interval]:
    """Return rho + eta - 1 of each system that has both kinds of labels, and how far systems differ in it."""
    counted = calibration(evidence, says)
    known = (counted[:, 1] > 0) & (counted[:, 3] > 0)
    if not known.any():
        return [], Interval(value=np.nan, low=np.nan, high=np.nan)
    value, low, high = youden_index(counted[known], False, level)
    tp, p, tn, n = counted[known].T
    # Means and variances of Beta posteriors under uniform priors: never 0 where all labels agree.
    rho, eta = (tp + 1) / (p + 2), (tn + 1) / (n + 2)
    se = np.sqrt(rho * (1 - rho) / (p + 3) + eta * (1 - eta) / (n + 3))
    names = [name for name, there in zip(evidence.system_names, known, strict=True) if there]
    rated = [MetricQuality.build(name, *(float(x[k]) for x in (value, low, high))) for k, name in enumerate(names)]
    return rated, Interval.build(*spread_of(value, se, level))


def correlations(evidence: OutputEvidence, name: str, level: float) -> tuple[list[MetricQuality], Interval]:
    """Return the correlation of human and metric scores in each system, and how far systems differ in it.

    Errors are those of Fisher's transform, by a jackknife over documents.
    """
    score = evidence.metrics[name]
    both: Bools = np.isfinite(score) & evidence.rated
    rated, z, errors = [], [], []
    for k, system in enumerate(evidence.system_names):
        of = both & (evidence.system == k)
        correlation = _correlation(evidence.human[of], score[of], evidence.document[of])
        if correlation is not None:
            rated.append((system, correlation[0], correlation[1]))
            # Fisher's transform is infinite at a perfect correlation.
            z.append(np.arctanh(np.clip(correlation[0], -0.999999, 0.999999)))
            errors.append(correlation[1])
    value, se = np.array([row[1] for row in rated]), np.array(errors)
    low, high = fisher_bounds(value, se, level)
    names = [
        MetricQuality(system=row[0], value=row[1], low=float(low[k]), high=float(high[k]))
        for k, row in enumerate(rated)
    ]
    # Spread is told on the scale of correlations, whose error is that of the transform times 1 - r^2.
    return names, Interval.build(*spread_of(value, se * (1 - value**2), level))


def _correlation(y: Floats, g: Floats, document: np.ndarray) -> tuple[float, float] | None:
    """Return a correlation and the error of its transform; None where too little varies."""
    index = np.unique(document, return_inverse=True)[1]
    if len(y) < FEWEST or index.max() + 1 < FEWEST or np.ptp(y) == 0 or np.ptp(g) == 0:
        return None
    # Centred first: differences of raw moments lose all digits where means are far from 0.
    y, g = (y - y.mean()) / y.std(), (g - g.mean()) / g.std()
    moments = np.stack([np.bincount(index, w) for w in (np.ones(len(y)), y, g, y * y, g * g, y * g)])
    whole = moments.sum(1)
    # A moment without a document is the whole less its own, so that the jackknife needs no loop.
    left = whole[:, None] - moments
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.arctanh(np.clip(_pearson(left), -0.999999, 0.999999))
    z = z[np.isfinite(z)]
    n = len(z)
    if n < FEWEST:
        return None
    return float(_pearson(whole)), float(np.sqrt((n - 1) / n * ((z - z.mean()) ** 2).sum()))


def _pearson(moments: Floats) -> Floats:
    n, y, g, yy, gg, yg = moments
    covariance, vy, vg = yg - y * g / n, yy - y * y / n, gg - g * g / n
    return np.asarray(covariance / np.sqrt(vy * vg))


def posteriors(evidence: OutputEvidence, says: Floats, level: float) -> tuple[list[Estimated], tuple[str, ...]]:
    """Return each system's share of adequate outputs by three methods, and notes on a method that was left out.

    Posteriors take rho and eta as joint (the same for all systems), as each system's own, and as partially pooled.
    `says[output]` are the metric's labels. Outputs with human labels count as such, never among the metric's own.
    """
    counts, counted = _counts(evidence, says), calibration(evidence, says)
    by_method = {
        "joint": estimate_with_joint_rates(counts, counted.sum(0), True, level),
        "own": estimate_with_own_rates(counts, counted, True, level),
    }
    notes: tuple[str, ...] = ()
    n = len(evidence.system_names)
    if n >= FEWEST_TO_POOL:
        by_method["partial"] = estimate_with_partial_rates(counts, counted, True, level)
    else:
        notes = (f"partial pooling of rho and eta needs {FEWEST_TO_POOL} systems, and {n} are here",)
    return [
        estimate for method, estimates in by_method.items() for estimate in _list_estimates(method, evidence, estimates)
    ], notes


def _list_estimates(method: str, evidence: OutputEvidence, estimates: Estimates) -> list[Estimated]:
    bounds = zip(estimates.value, estimates.low, estimates.high, strict=True)
    return [
        Estimated.build(method, name, *(float(x) for x in row))
        for name, row in zip(evidence.system_names, bounds, strict=True)
    ]


def _counts(evidence: OutputEvidence, says: Floats) -> AdequacyCounts:
    rated = evidence.rated
    alone: Bools = np.isfinite(says) & ~rated
    human, metric = (
        _count_effective_outputs(evidence, there, value) for there, value in ((rated, evidence.human), (alone, says))
    )
    return AdequacyCounts(*human, *metric)


def _count_effective_outputs(evidence: OutputEvidence, there: Bools, value: Floats) -> tuple[Floats, Floats]:
    """Return positive outputs and outputs `[system]`, divided by the design effect of documents."""
    systems, width = len(evidence.system_names), evidence.n_documents
    at = (evidence.system * width + evidence.document)[there]
    n, total = (np.bincount(at, w, systems * width).reshape(systems, width) for w in (None, value[there]))
    size = n.sum(1)
    # The .5 of a system without outputs is never used: its size, by which it is multiplied, is 0.
    share = np.divide(total.sum(1), size, out=np.full(systems, 0.5), where=size > 0)
    clusters = (n > 0).sum(1)
    square = ((total - n * share[:, None]) ** 2).sum(1) * clusters / np.maximum(clusters - 1, 1)
    expected = size * share * (1 - share)
    # An effect below 1 would count more outputs than were rated.
    effect = np.maximum(1.0, np.divide(square, expected, out=np.ones(systems), where=expected > 0))
    return share * size / effect, size / effect
