"""Say which outputs are adequate where that is a bound on a human score, and the score is noisy but repeated."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.fitting_metrics.confusion import by_system
from simlab.fitting_metrics.correlations import noise_within
from simlab.fitting_metrics.humans import Adequacy, worth
from simlab.formulas import threshold_rates
from simlab.tables.judged import Outputs
from simlab.types import Bools, Floats, Ints


class _Known(NamedTuple):
    """Hold what the ratings of outputs say: `mean` and `sd` of the score above the bound, and its `deviation`.

    The deviation is that of the output's mean rating from its system's; `kept` is the share of it that is no noise.
    """

    mean: Floats
    sd: Floats
    deviation: Floats
    kept: Floats


def adequacy_of_scores(outputs: Outputs, adequate_from: float, sign: int) -> Adequacy | None:
    """Estimate alphas and the errors of raters from repeated scores; outputs are adequate from a true score.

    An output's score is normal within its system, and so is the noise of a rating: what `raters=judges` is made of.
    Near the bound raters err more often than far from it, so that their errors are no constants. What an output's
    ratings say of it is drawn towards its system's mean as far as they are noise. None where repeats do not tell.
    """
    rated: Bools = np.asarray(np.isfinite(outputs.human).any(1))
    human, system = sign * outputs.human[rated], outputs.system[rated]
    variances = noise_within(human, system)
    if variances is None:
        return None
    signal, noise = variances
    known = _known(human, system, sign * adequate_from, signal, noise)
    alpha, counts = _alphas(known, system, len(outputs.system_names))
    rho, eta = _rater_rates(alpha, signal / (signal + noise))
    return Adequacy(
        outputs.system_names,
        alpha,
        counts,
        probability=_among(rated, ndtr(known.mean / known.sd)),
        human_rho=rho,
        human_eta=eta,
        repeated=True,
        symmetric=False,
        item_agreement=_agreement(by_system(outputs, _among(rated, known.deviation)), signal),
        noise=math.sqrt(noise / signal),
        position=np.stack([_among(rated, known.mean), _among(rated, known.sd)]),
    )


def _known(human: Floats, system: Ints, bound: float, signal: float, noise: float) -> _Known:
    mean = np.nanmean(human, axis=1)
    centre = (np.bincount(system, mean) / np.maximum(np.bincount(system), 1))[system]
    kept = signal / (signal + noise / np.isfinite(human).sum(1))
    sd = np.sqrt(np.maximum(signal * (1 - kept), 1e-12 * signal))
    return _Known(centre + kept * (mean - centre) - bound, sd, mean - centre, kept)


def _alphas(known: _Known, system: Ints, n_systems: int) -> tuple[Floats, Floats]:
    """Return `alpha[system]`, and `counts[system, 2]` of independent outputs that would tell it as well."""
    alpha, counts = np.full(n_systems, 0.5), np.zeros((n_systems, 2))
    z = known.mean / known.sd
    weight, slope = ndtr(z), (1 - known.kept) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / known.sd
    for k in np.unique(system):
        of = system == k
        alpha[k] = float(weight[of].mean())
        # The system's mean, towards which all its outputs are drawn, is an estimate, too.
        counts[k] = worth(alpha[k], weight[of] + float(slope[of].mean()) * known.deviation[of])
    return alpha, counts


def _rater_rates(alpha: Floats, reliability: float) -> tuple[float, float]:
    """Return how often a single rating is on the right side of the bound, averaged over systems."""
    finite, follows = np.clip(alpha, 1e-6, 1 - 1e-6), math.sqrt(reliability)
    rho, eta = threshold_rates(follows, finite, -ndtri(finite) * follows)
    return float(rho.mean()), float(eta.mean())


def _among(rated: Bools, value: Floats) -> Floats:
    """Lay values of rated outputs out among all, NaN for the others."""
    laid = np.full(len(rated), np.nan)
    laid[rated] = value
    return laid


def _agreement(deviation: Floats, signal: float) -> float:
    """Return the correlation of the scores of two systems' outputs for the same item, free of noise, in [0, .99]."""
    first, second = np.triu_indices(len(deviation), 1)
    rated = np.isfinite(deviation)
    both = float((rated[first] & rated[second]).sum())
    laid = np.where(rated, deviation, 0.0)
    return min(max(float((laid @ laid.T)[first, second].sum()) / both / signal, 0.0), 0.99) if both else math.nan
