"""Tell how certain the difference of each two systems' means is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from simlab.types import Estimates, Floats


class PairErrors(NamedTuple):
    """Hold the standard error `se[..., pair]` of differences, and t's degrees of `freedom[..., pair]`; None: z test."""

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
            apart = _apart(estimates.influence)
            paired = apart.var(-1, ddof=1) / apart.shape[-1]
        elif estimates.by_document is not None:
            paired = (_apart(estimates.by_document) ** 2).sum(-1)
        if paired is not None:
            paired = paired + estimates.own[..., first] ** 2 + estimates.own[..., second] ** 2
    if paired is None:
        return PairErrors(np.sqrt(variance), _welch(estimates, variance))
    freedom = estimates.freedom
    both = None if freedom is None else np.minimum(freedom[..., first], freedom[..., second])
    return PairErrors(np.sqrt(paired), both)


def _apart(contribution: Floats) -> Floats:
    """Subtract what each judgement, or document, contributes, pair by pair: `[..., system, k]` to `[..., pair, k]`."""
    first, second = np.triu_indices(contribution.shape[-2], 1)
    # Taken, not indexed: sums over the last axis keep their order only where memory does.
    return np.asarray(np.take(contribution, first, axis=-2) - np.take(contribution, second, axis=-2))


def two_sided(gap: Floats, errors: PairErrors) -> Floats:
    """Return p-values of differences `gap[..., pair]`: 0 for a difference without an error, 1 for none."""
    known = errors.se > 0
    z = np.divide(np.abs(gap), errors.se, out=np.where(gap != 0, np.inf, 0.0), where=known)
    if errors.freedom is None:
        return np.asarray(2 * ndtr(-z))
    # Of a t that is infinite the function knows no tail.
    finite = np.isfinite(z)
    return np.where(finite, 2 * stdtr(errors.freedom, -np.where(finite, z, 0.0)), 0.0)


def quantile(probability: float, errors: PairErrors) -> Floats:
    """Return the quantile of the test's law by which errors become bounds: normal or t, `[..., pair]`."""
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
