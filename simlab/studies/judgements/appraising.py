"""Say what no analyst of judgements can know: what is true of systems, judges and metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.analysis.means.planning import data_efficiency
from simlab.formulas import differences, sign
from simlab.studies.judgements.collecting import Laid
from simlab.studies.judgements.concluding import BASELINE, YOUDEN, enough_for_baseline
from simlab.studies.judgements.outcomes import OUTCOMES, STOPPED
from simlab.studies.judgements.preparing import Prepared
from simlab.studies.outcomes import ADJUSTED, P_VALUE, of_campaigns, unaccounted
from simlab.studies.outcomes import blank as filled
from simlab.types import Array, Campaign, Floats, Outcomes, World
from simlab.world.laws.judgements import Quality, judgements_of, true_means


def appraise(
    prepared: Prepared, world: World, laid: Laid, campaigns: Sequence[Campaign], outcomes: Outcomes
) -> dict[str, Array]:
    """Add nothing: all that is true of a campaign of judgements is true of its world."""
    return {}


def truth(prepared: Prepared, world: World, laid: Laid) -> dict[str, Array]:
    """Say what is true of the population, or of the test set where that is what is judged."""
    law, quality, test_set = judgements_of(world), laid.quality, laid.needs.test_set
    value, fraction = true_means(law), None
    if test_set is not None:
        value = law.mean_of(test_set)
        fraction = None if prepared.design["replacement"] else laid.needs.human / law.contest.n_items
    known = {
        "true_value": value,
        "true_direction": sign(differences(value)),
        "true_gamma": quality.gamma,
        "true_correlation": quality.correlation,
        "true_efficiency": _efficiency(quality, fraction),
        "true_human_rho": quality.human_rho,
        "true_human_eta": quality.human_eta,
    }
    metric = world.metric
    if metric is not None and metric.rho is not None and metric.eta is not None:
        known |= {"true_metric_rho": metric.rho, "true_metric_eta": metric.eta}
    return {name: np.asarray(array)[None] for name, array in known.items()}


def _efficiency(quality: Quality, fraction: float | None) -> Floats:
    """Apply the formula of data efficiency where it has a value: not for a perfect metric without noise."""
    correlation, gamma = quality.correlation, quality.gamma
    if quality.efficiency is not None and fraction is None:
        return quality.efficiency
    known = np.isfinite(correlation) & np.isfinite(gamma)
    rest = 1.0 if fraction is None else 1 - fraction
    known &= rest * (1 - np.where(known, correlation, 0.0) ** 2) + np.where(known, gamma, 0.0) > 1e-12
    efficiency = np.full(len(correlation), np.nan)
    if known.any():
        efficiency[known] = data_efficiency(correlation[known], gamma[known], fraction)
    return efficiency


def blank(prepared: Prepared, world: World, laid: Laid) -> dict[str, Array]:
    """Fill in the outcomes of a campaign that gave, or was given, what cannot be: collecting never fails."""
    n = world.frame.n_systems
    told = enough_for_baseline(laid.needs.human, judgements_of(world).contest.documents.size)
    lacking = () if told else BASELINE
    lacking = (*lacking, *(ADJUSTED if prepared.multiplicity == "none" else ()))
    lacking = (*lacking, *(() if prepared.rates and world.metric is not None else YOUDEN))
    if prepared.stops is None:
        lacking = (*lacking, *STOPPED)
    elif not prepared.tests:
        lacking = (*lacking, *P_VALUE)
    names = tuple(name for name in of_campaigns(OUTCOMES) if name not in lacking)
    names = unaccounted(names, accounted=prepared.accounted, load=prepared.clock is not None)
    return filled(OUTCOMES, names, {"system": n, "pair": n * (n - 1) // 2})
