"""Declare the outcomes of studies of judgements; `truth` fills in those that only the world knows.

Call `truth` with the bound study (`prepared`), a world and its layout (`laid`, from `lay`), which returns arrays by
outcome name. `blank` returns the empty outcomes of a campaign that failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simlab.analysis.means.planning import data_efficiency
from simlab.formulas import differences, sign
from simlab.studies.judgements.collecting import JudgingBasis
from simlab.studies.judgements.concluding import BASELINE, YOUDEN, is_enough_for_baseline
from simlab.studies.judgements.preparing import PreparedJudgements
from simlab.studies.outcomes import ACCOUNT, ADJUSTED, COMMON, LOAD, NAN, P_VALUE, of_campaigns, omit_account
from simlab.studies.outcomes import blank as filled
from simlab.types import Array, Campaign, Floats, Outcome, Outcomes, World
from simlab.world.laws.judgements import Quality, require_judgements, true_means

_SYSTEM, _PAIR, _TRUE = ("replicate", "system"), ("replicate", "pair"), ("of_world", "system")
STOPPED: Mapping[str, Outcome] = {
    "judgements_planned": Outcome(
        ("replicate",), "int32", 0, "judgements of all systems that the budget would have paid", low=0
    ),
    "judged": Outcome(_SYSTEM, "int32", 0, "judgements of a system until its rule ended them", low=0),
    "narrow": Outcome(_SYSTEM, "bool", False, "whether the interval is as narrow as wanted"),
}
"""Where a rule of `decision` ends judging."""
OUTCOMES: Mapping[str, Outcome] = {
    **COMMON,
    **P_VALUE,
    **ADJUSTED,
    **LOAD,
    **ACCOUNT,
    "metric_used": Outcome(("replicate",), "int64", 0, "outputs rated by the metric, of all systems together", low=0),
    "human_cost": Outcome(
        ("replicate",), "float64", NAN, "price of the human ratings that estimate, of all systems together", low=0
    ),
    **STOPPED,
    "standard_error": Outcome(_SYSTEM, "float64", NAN, "standard error of the estimate", low=0),
    "low": Outcome(_SYSTEM, "float64", NAN, "lower bound of the estimate's interval"),
    "high": Outcome(_SYSTEM, "float64", NAN, "upper bound of the estimate's interval"),
    "skewed": Outcome(_SYSTEM, "bool", False, "whether judgements are too skewed for their interval"),
    "baseline": Outcome(_SYSTEM, "float64", NAN, "mean of the human judgements alone"),
    "baseline_width": Outcome(_SYSTEM, "float64", NAN, "width of its interval", low=0),
    "difference_se": Outcome(_PAIR, "float64", NAN, "standard error of the difference", low=0),
    "difference_low": Outcome(_PAIR, "float64", NAN, "lower bound of the difference's interval"),
    "difference_high": Outcome(_PAIR, "float64", NAN, "upper bound of the difference's interval"),
    "youden": Outcome(_SYSTEM, "float64", NAN, "rho + eta - 1 of the metric, as estimated", low=-1, high=1),
    "youden_low": Outcome(_SYSTEM, "float64", NAN, "lower bound of its interval", low=-1, high=1),
    "youden_high": Outcome(_SYSTEM, "float64", NAN, "upper bound of its interval", low=-1, high=1),
    "true_gamma": Outcome(
        _TRUE, "float64", NAN, "variance of a judgement's noise over that of outputs", low=0, gap=True
    ),
    "true_correlation": Outcome(
        _TRUE, "float64", NAN, "correlation of metric and human score", low=-1, high=1, gap=True
    ),
    "true_efficiency": Outcome(_TRUE, "float64", NAN, "data efficiency by formula", low=0, gap=True),
    "true_human_rho": Outcome(_TRUE, "float64", NAN, "true positive rate of the raters", low=0, high=1, gap=True),
    "true_human_eta": Outcome(_TRUE, "float64", NAN, "true negative rate of the raters", low=0, high=1, gap=True),
    "true_metric_rho": Outcome(_TRUE, "float64", NAN, "true positive rate of the metric", low=0, high=1),
    "true_metric_eta": Outcome(_TRUE, "float64", NAN, "true negative rate of the metric", low=0, high=1),
}


def appraise(
    prepared: PreparedJudgements, world: World, laid: JudgingBasis, campaigns: Sequence[Campaign], outcomes: Outcomes
) -> dict[str, Array]:
    """Add nothing: all that is true of a campaign of judgements is true of its world."""
    return {}


def truth(prepared: PreparedJudgements, world: World, laid: JudgingBasis) -> dict[str, Array]:
    """Return true values by outcome, `[1, system]` or `[1, pair]`: of a fixed test set, else of the population."""
    law, quality, test_set = require_judgements(world), laid.quality, laid.needs.test_set
    value, fraction = true_means(law), None
    if test_set is not None:
        value = law.system_means(test_set)
        fraction = None if prepared.design.replacement else laid.needs.human / law.contest.n_items
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


def blank(prepared: PreparedJudgements, world: World, laid: JudgingBasis) -> dict[str, Array]:
    """Return empty outcomes, by name, for a campaign that failed, or met a value that cannot be."""
    n = world.frame.n_systems
    enough = is_enough_for_baseline(laid.needs.human, require_judgements(world).contest.documents.size)
    lacking = () if enough else BASELINE
    lacking = (*lacking, *(ADJUSTED if prepared.multiplicity == "none" else ()))
    lacking = (*lacking, *(() if prepared.rates and world.metric is not None else YOUDEN))
    if prepared.stops is None:
        lacking = (*lacking, *STOPPED)
    elif not prepared.tests:
        lacking = (*lacking, *P_VALUE)
    names = tuple(name for name in of_campaigns(OUTCOMES) if name not in lacking)
    names = omit_account(names, accounted=prepared.accounted, load=prepared.clock is not None)
    return filled(OUTCOMES, names, {"system": n, "pair": n * (n - 1) // 2})
