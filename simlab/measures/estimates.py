"""Measure how well studies of single judgements estimate the systems' means, and how many judgements a metric saves.

Each measure takes the outcomes of a cell (arrays by name, `[campaign, system]`; truths are `[world, system]`) and
returns an `Estimate`: a value, and the influence of each world or campaign on it, from which its error follows.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Gt, Lt
from scipy.special import ndtri

from simlab.measures.jackknife import mark_successes, ratio_over_campaigns, repeat_by_campaign, unknown_estimate
from simlab.types import Array, Estimate, Outcomes


def bias(outcomes: Outcomes) -> Estimate:
    """Estimate by how much estimates exceed the truth, averaged over systems."""
    if not {"standard_error", "true_value"} <= outcomes.keys():
        return unknown_estimate()
    return _mean(outcomes, outcomes["estimate"] - repeat_by_campaign(outcomes, "true_value"))


def rmse(outcomes: Outcomes) -> Estimate:
    """Estimate the root mean squared error of the estimates, over systems and campaigns."""
    if not {"standard_error", "true_value"} <= outcomes.keys():
        return unknown_estimate()
    square = _mean(outcomes, (outcomes["estimate"] - repeat_by_campaign(outcomes, "true_value")) ** 2)
    root = float(np.sqrt(square.value))
    # The influence of a root, by the delta method.
    influence = square.influence / (2 * root) if root > 0 else 0 * square.influence
    return Estimate(root, influence, square.cluster, square.n)


def interval_width(outcomes: Outcomes) -> Estimate:
    """Average the width of the intervals of the systems' means."""
    if "standard_error" not in outcomes:
        return unknown_estimate()
    return _mean(outcomes, outcomes["high"] - outcomes["low"])


def difference_coverage(outcomes: Outcomes) -> Estimate:
    """Estimate how often the intervals of differences between two systems' means hold the true difference.

    Every pair of a campaign counts; they share systems, and the error is that of worlds.
    """
    if not {"difference_low", "true_value"} <= outcomes.keys():
        return unknown_estimate()
    value = repeat_by_campaign(outcomes, "true_value")
    first, second = np.triu_indices(value.shape[1], 1)
    apart = value[:, first] - value[:, second]
    inside = (outcomes["difference_low"] <= apart) & (apart <= outcomes["difference_high"])
    return ratio_over_campaigns(outcomes, inside.sum(1), np.full(len(inside), inside.shape[1]))


def difference_width(outcomes: Outcomes) -> Estimate:
    """Average the width of the intervals of differences between two systems' means."""
    if "difference_low" not in outcomes:
        return unknown_estimate()
    return _mean(outcomes, outcomes["difference_high"] - outcomes["difference_low"])


def measurable_difference(outcomes: Outcomes, *, level: Annotated[float, Gt(0), Lt(1)]) -> Estimate:
    """Average `z(1 - level/2) sqrt(2) s`, s the standard error of a system's estimate.

    Two systems measured alike differ measurably if their estimates are that far apart, which a true difference of this
    size is in about half of the studies. Source: von Däniken et al. 2022, section 4.
    """
    if "standard_error" not in outcomes:
        return unknown_estimate()
    return _mean(outcomes, float(ndtri(1 - level / 2)) * np.sqrt(2) * outcomes["standard_error"])


def data_efficiency(outcomes: Outcomes) -> Estimate:
    """Estimate how many judgements without a metric are worth one with it: the ratio of the mean squared errors.

    Both estimators see the same judgements of the same campaigns. `data_efficiency_formula` is its expectation in
    large samples. Source: Chaganty et al. 2018, section 3.3.
    """
    if not {"baseline", "true_value"} <= outcomes.keys():
        return unknown_estimate()
    truth = repeat_by_campaign(outcomes, "true_value")
    without, with_metric = ((outcomes[name] - truth) ** 2 for name in ("baseline", "estimate"))
    return ratio_over_campaigns(outcomes, without.sum(1), with_metric.sum(1))


def data_efficiency_width(outcomes: Outcomes) -> Estimate:
    """Estimate data efficiency from what a study sees: the ratio of the mean squared widths of intervals."""
    if not {"baseline_width", "high"} <= outcomes.keys():
        return unknown_estimate()
    width = outcomes["high"] - outcomes["low"]
    return ratio_over_campaigns(outcomes, (outcomes["baseline_width"] ** 2).sum(1), (width**2).sum(1))


def data_efficiency_formula(outcomes: Outcomes) -> Estimate:
    """Give `(1 + gamma) / (1 - rho^2 + gamma)` at the true gamma and rho, a mean over systems and worlds.

    From a finite test set without replacement both variances of outputs shrink by the share that is judged.
    Source: Chaganty et al. 2018, section 3.3; finite test sets: see `simlab.analysis.control_variates`.
    """
    if "true_efficiency" not in outcomes:
        return unknown_estimate()
    return _mean(outcomes, repeat_by_campaign(outcomes, "true_efficiency"))


def judgement_fraction(outcomes: Outcomes) -> Estimate:
    """Estimate the judgements that were collected until a rule ended judging, over those that the budget would pay."""
    if "judgements_planned" not in outcomes:
        return unknown_estimate()
    return ratio_over_campaigns(outcomes, outcomes["judged"].sum(1), outcomes["judgements_planned"])


def judgements_needed(outcomes: Outcomes) -> Estimate:
    """Average the judgements of a system at which a rule ended judging it, or the budget did."""
    if "judged" not in outcomes:
        return unknown_estimate()
    return _mean(outcomes, outcomes["judged"].astype(float))


def width_reached(outcomes: Outcomes) -> Estimate:
    """Estimate how often intervals became as narrow as wanted before the budget was spent."""
    if "narrow" not in outcomes:
        return unknown_estimate()
    return _mean(outcomes, outcomes["narrow"].astype(float))


def cost_saving(outcomes: Outcomes) -> Estimate:
    """Estimate the share of the price that a metric saves at equal mean squared error.

    Human judgements alone would cost the data efficiency times what they cost here; see `data_efficiency`.
    """
    efficiency = data_efficiency(outcomes)
    if not np.isfinite(efficiency.value):
        return efficiency
    ok = mark_successes(outcomes)
    paid, human = outcomes["cost"][ok].sum(), outcomes["human_cost"][ok].sum()
    if human == 0:
        return unknown_estimate()
    share = float(paid / human)
    # Delta method in the efficiency alone: the share of the price was paid, and is taken as known.
    slope = share / efficiency.value**2
    return Estimate(1 - share / efficiency.value, slope * efficiency.influence, efficiency.cluster, efficiency.n)


def _mean(outcomes: Outcomes, by_system: Array) -> Estimate:
    """Average over systems that have a value, and over campaigns."""
    known = np.isfinite(by_system)
    if not known.any():
        return unknown_estimate()
    return ratio_over_campaigns(outcomes, np.where(known, by_system, 0.0).sum(1), known.sum(1))
