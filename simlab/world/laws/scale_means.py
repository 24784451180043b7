"""Work out mean scores on a scale: what raters are expected to write, and what systems are truly worth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from simlab.types import Floats
from simlab.world.laws.scale_effects import Scale, ScaleEffects, first_step, to_scores

_SHARPNESS_NODES, _TAIL_NODES, _TABLE, _REACH = 16, 64, 4001, 12.0
_MOST_LEVELS = 4096
"""Steps that are so fine beside the spread are no steps: the mean differs by less than 1e-4 of a step."""


def truth(effects: ScaleEffects) -> Floats:
    """Return each system's mean score over documents and raters at large: `[system]`, in scores.

    All effects but two are normal, so that the mean of a censored, rounded or cut score has a closed form; over how
    sharp raters are, and over Student tails, it is averaged by quadrature.
    """
    own = (effects.leniency_sd, effects.rater_system_sd, effects.rater_document_sd)
    seen = (effects.document_sd, effects.segment_sd, effects.system_document_sd, effects.output_sd)
    of_rater, of_output = (float(np.square(spreads).sum()) for spreads in (own, seen))
    total = np.zeros(len(effects.system))
    for sharpness, weight in _sharpness_nodes(effects.sharpness_sd):
        mean = effects.mean + sharpness * (effects.system - effects.mean)
        normal_sd = np.sqrt(of_rater + sharpness**2 * of_output)
        total += weight * mean_scores(effects.scale, mean, float(normal_sd), effects.residual_sd)
    return total


def truth_of_pool(effects: ScaleEffects, weight: Floats | None = None) -> Floats:
    """Return each system's mean score over documents and these raters: `[system]`, in scores.

    Raters count as their `weight[rater]` says (None: all alike). What a rater makes of documents is averaged over
    documents; leniency, sharpness and taste are the raters' own.
    """
    own = effects.mean + effects.sharpness * (effects.system[:, None] - effects.mean)
    latent = own + effects.leniency + effects.taste
    seen = (effects.document_sd, effects.segment_sd, effects.system_document_sd, effects.output_sd)
    spread = np.sqrt(effects.rater_document_sd**2 + effects.sharpness**2 * np.square(seen).sum())
    if weight is not None and np.ptp(spread) == 0:
        return np.asarray(mean_scores(effects.scale, latent, float(spread[0]), effects.residual_sd) @ weight)
    by_rater = [
        mean_scores(effects.scale, latent[:, r], float(spread[r]), effects.residual_sd) for r in range(len(spread))
    ]
    return np.asarray(np.average(by_rater, axis=0, weights=weight))


def expected_scores(scale: Scale, latent: Floats, residual_sd: float) -> Floats:
    """Return the mean score of raters who think `latent`, over the residual; same shape.

    Many values are looked up in a table of the function, which is smooth wherever there is a residual.
    """
    if latent.size <= _TABLE or residual_sd == 0:
        return mean_scores(scale, latent, 0.0, residual_sd)
    table = np.linspace(latent.min(), latent.max(), _TABLE)
    return np.asarray(np.interp(latent, table, mean_scores(scale, table, 0.0, residual_sd)))


def mean_scores(scale: Scale, mean: Floats, normal_sd: float, residual_sd: float) -> Floats:
    """Return the mean score of a latent: `mean`, plus a normal part, plus the residual; same shape as `mean`."""
    total = np.zeros(mean.shape)
    for factor, weight in _tail_nodes(scale.tail if residual_sd > 0 else np.inf):
        total += weight * _of_normal(scale, mean, float(np.hypot(normal_sd, residual_sd * factor)))
    return total


def _of_normal(scale: Scale, mean: Floats, sd: float) -> Floats:
    """Return the mean score of a normal latent."""
    if sd == 0:
        return to_scores(scale, mean)
    cuts, values = _levels(scale, mean, sd)
    if values is None:
        return _censored(scale, mean, sd)
    above = ndtr((mean[..., None] - cuts) / sd)
    return np.asarray(values[0] + above @ np.diff(values))


def _levels(scale: Scale, mean: Floats, sd: float) -> tuple[Floats, Floats | None]:
    """Return cuts and the scores between them; None where any number can be a score."""
    if scale.law != "gaussian":
        return scale.thresholds, scale.values
    low = max(scale.low, float(mean.min()) - _REACH * sd)
    high = min(scale.high, float(mean.max()) + _REACH * sd)
    if scale.step == 0 or (high - low) / scale.step > _MOST_LEVELS:
        return np.empty(0), None
    origin = first_step(scale)
    first, last = np.rint((low - origin) / scale.step), np.ceil((high - origin) / scale.step)
    grid = origin + scale.step * np.arange(first, max(first, last) + 1)
    return grid[:-1] + scale.step / 2, np.clip(grid, scale.low, scale.high)


def _censored(scale: Scale, mean: Floats, sd: float) -> Floats:
    """Return the mean of a normal variable that is held between floor and ceiling."""
    kept = mean.astype(float)
    if np.isfinite(scale.low):
        kept = kept + sd * _shortfall((scale.low - mean) / sd)
    if np.isfinite(scale.high):
        kept = kept - sd * _shortfall((mean - scale.high) / sd)
    return kept


def _shortfall(z: Floats) -> Floats:
    """Return the mean of what a standard normal variable falls short of z by."""
    return np.asarray(z * ndtr(z) + np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))


def _sharpness_nodes(sd: float) -> Iterator[tuple[float, float]]:
    """List factors with weights that stand for a lognormal factor of median 1 (Gauss-Hermite)."""
    if sd == 0:
        yield 1.0, 1.0
        return
    z, weight = np.polynomial.hermite_e.hermegauss(_SHARPNESS_NODES)
    factor = np.exp(sd * z)
    yield from zip(factor.tolist(), (weight / weight.sum()).tolist(), strict=True)


def _tail_nodes(tail: float) -> Iterator[tuple[float, float]]:
    """List standard deviations with weights whose mixture of normals is a Student law of standard deviation 1.

    The precision is a gamma variable with mean 1; the density of its logarithm u falls off like exp(tail (u - e^u) / 2)
    on both sides, so that the trapezoidal rule converges fast.
    """
    if np.isinf(tail):
        yield 1.0, 1.0
        return
    right = np.sqrt(140 / tail)
    u = np.linspace(-right - 70 / tail, right, _TAIL_NODES)
    weight = np.exp(tail / 2 * (u - np.exp(u) + 1))
    factor = np.sqrt((tail - 2) / tail) * np.exp(-u / 2)
    yield from zip(factor.tolist(), (weight / weight.sum()).tolist(), strict=True)
