"""Estimate alpha, the share of adequate outputs, of several systems that humans and a metric rated, and differences.

rho and eta are the probabilities that the metric calls adequate outputs adequate, and others inadequate. There is a
function for each option of `sharing`: they are known, each system has an estimate of its own, one estimate serves all
(its error cancels in differences), or estimates are related. All return `Estimates`: mean, standard deviation and
interval of alpha `[system]`, and differences of pairs where systems share rates. `counts` are `[system]`, `calibration`
is `[system, 4]`, or `[4]` where it serves all: TP, P, TN, N (of P adequate outputs the metric called TP adequate, of N
others TN inadequate). Intervals hold with probability 1 - `level`.
"""

from __future__ import annotations

import numpy as np

from simlab.analysis.adequacy.joint import AdequacyCounts
from simlab.analysis.adequacy.partial_rates import partial_rates
from simlab.analysis.adequacy.posterior import alpha_posterior
from simlab.analysis.adequacy.shared_rates import (
    Inferred,
    contrasts,
    infer_mixtures,
    quantile_of_points,
    shared_rates,
    youden,
    youden_index,
)
from simlab.types import Contrasts, Estimates, Floats, InputError, KnownRates, Youden

FEWEST = 6
"""Systems from which a spread of rho and eta between them can be learned."""


def check_sharing(quality: str, sharing: str, youden_bound: float, alpha_slope_sd: float, n_systems: int) -> None:
    """Raise InputError for options that do not go together, and for too few systems."""
    if sharing != "own" and quality == "known":
        raise InputError(
            f"analysis.estimator.sharing={sharing} shares what is estimated, and quality=known takes rho and eta for "
            "known; set analysis.estimator.quality=estimated or sharing=own"
        )
    if youden_bound > 0 and sharing != "joint":
        raise InputError(
            f"analysis.estimator.youden_bound={youden_bound:g} says how wrong sharing=joint may be; set it to 0 with "
            f"sharing={sharing}"
        )
    if alpha_slope_sd > 0 and sharing != "partial":
        raise InputError(
            f"analysis.estimator.alpha_slope_sd={alpha_slope_sd:g} says how rates may depend on alpha with "
            f"sharing=partial; set it to 0 with sharing={sharing}"
        )
    if sharing == "partial" and n_systems < FEWEST:
        raise InputError(
            f"analysis.estimator.sharing=partial learns from {n_systems} systems how metrics differ between them; "
            f"it needs {FEWEST}: take joint or own"
        )


def estimate_with_known_rates(counts: AdequacyCounts, rates: KnownRates, level: float) -> Estimates:
    """Estimate each alpha by its posterior given rho and eta."""
    rho, eta = rates
    posterior = alpha_posterior(*counts, rho=rho, eta=eta, level=level)
    known = np.full(len(counts.n), rho + eta - 1)
    return Estimates(posterior.mean, posterior.sd, posterior.low, posterior.high, youden=Youden(known, known, known))


def estimate_with_own_rates(counts: AdequacyCounts, calibration: Floats, constrain: bool, level: float) -> Estimates:
    """Estimate each alpha by its posterior given its own `calibration[system, 4]`, as published.

    The estimate of rho + eta - 1 rests on the calibration alone.
    """
    tp, p, tn, n = calibration.T
    posterior = alpha_posterior(*counts, calibration=(tp, p, tn, n), constrain=constrain, level=level)
    quality = Youden(*youden_index(calibration, constrain, level))
    return Estimates(posterior.mean, posterior.sd, posterior.low, posterior.high, youden=quality)


def estimate_with_joint_rates(
    counts: AdequacyCounts, calibration: Floats, constrain: bool, level: float, youden_bound: float = 0.0
) -> Estimates:
    """Estimate all alphas together by their joint posterior, rho and eta the same for all systems.

    Where rates may differ between two systems all the same, rho and eta together by `youden_bound` (the sum of both
    differences, each without its sign, which rho + eta then differs by at most), the metric's rate of adequate outputs
    shifts by up to that times alpha (only rho differs) or 1 - alpha (only eta does), and the difference of alphas by
    the larger of both over rho + eta - 1: the interval is widened by it on both sides.
    """
    rates = shared_rates(counts, calibration, constrain)
    posterior = infer_mixtures(rates.weight, rates.mean, rates.variance, level)
    quality = youden(rates, level)
    first, second = np.triu_indices(len(counts.n), 1)
    farther = np.maximum(posterior.mean, 1 - posterior.mean)
    beside = youden_bound * np.maximum(farther[first], farther[second]) / max(abs(quality[0]), 1e-9)
    # Differences of shares lie between -1 and 1, so that 2 on either side already says nothing.
    apart, p_value = contrasts(rates.weight, rates.mean, rates.variance, level, np.minimum(beside, 2.0))
    return Estimates(
        *_cut_tails(posterior),
        contrasts=Contrasts(*apart, p_value),
        youden=Youden(*(np.full(len(counts.n), value) for value in quality)),
    )


def estimate_with_partial_rates(
    counts: AdequacyCounts, calibration: Floats, constrain: bool, level: float, alpha_slope_sd: float = 0.0
) -> Estimates:
    """Estimate all alphas together, rho and eta being alike as far as the systems themselves show.

    `calibration[system, 4]` is each system's own. With `alpha_slope_sd` the logits of rho and eta may also rise or fall
    with the logit of alpha; that takes some tens of times as long.
    """
    posterior = partial_rates(counts, calibration, constrain, alpha_slope_sd)
    apart, p_value = contrasts(np.full(posterior.mean.shape[1], 1.0), posterior.mean, posterior.variance, level)
    each = [infer_mixtures(own.weight, own.mean[None], own.variance[None], level) for own in posterior.own]
    points = [
        [quantile_of_points(p, own.weight, own.youden) for own in posterior.own] for p in (level / 2, 1 - level / 2)
    ]
    quality = np.array([own.weight @ own.youden for own in posterior.own])
    return Estimates(
        *_cut_tails(Inferred(*(np.concatenate(column) for column in zip(*each, strict=True)))),
        contrasts=Contrasts(*apart, p_value),
        youden=Youden(quality, *(np.array(bound) for bound in points)),
    )


def _cut_tails(inferred: Inferred) -> Inferred:
    """Cut the tails of normal laws off that no share reaches."""
    return inferred._replace(low=np.clip(inferred.low, 0, 1), high=np.clip(inferred.high, 0, 1))
