"""Measure the right and wrong verdicts of studies of preferences, their intervals, and the human work that they take.

Each measure takes the outcomes of a cell (arrays by name, `[campaign, pair]`; truths are `[world, pair]`) and returns
an `Estimate`: a value, and the influence of each world or campaign on it, from which its error follows. Verdicts are
compared with the truth, or with the full human evaluation: all human ratings of the data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simlab.measures import errors
from simlab.measures.jackknife import ratio_over_campaigns, repeat_by_campaign, unknown_estimate
from simlab.types import Array, Bools, Estimate, Outcomes

Judge = Callable[[Array, Array], Bools]


def correct(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs with the verdict of all human ratings. Source: Deriu et al. 2023, section 1."""
    return _share_of_pairs(outcomes, "reference_verdict", lambda verdict, reference: verdict == reference)


def inversion(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs declared different in the direction opposite to the full human evaluation's."""
    return _share_of_pairs(outcomes, "reference_verdict", lambda verdict, reference: verdict * reference < 0)


def omission(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs that the full human evaluation tells apart and the campaign does not."""
    return _share_of_pairs(outcomes, "reference_verdict", lambda verdict, reference: (verdict == 0) & (reference != 0))


def insertion(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs that the campaign tells apart and the full human evaluation does not."""
    return _share_of_pairs(outcomes, "reference_verdict", lambda verdict, reference: (verdict != 0) & (reference == 0))


def correct_true(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs whose verdict is the truth."""
    return _share_of_pairs(outcomes, "true_direction", lambda verdict, truth: verdict == truth)


def inversion_true(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs declared different in the direction opposite to the truth."""
    return _share_of_pairs(outcomes, "true_direction", lambda verdict, truth: verdict * truth < 0)


def omission_true(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs that truly differ and are not told apart."""
    return _share_of_pairs(outcomes, "true_direction", lambda verdict, truth: (verdict == 0) & (truth != 0))


def insertion_true(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs that are truly equal and declared different (of all pairs; see `false_positive`)."""
    return _share_of_pairs(outcomes, "true_direction", lambda verdict, truth: (verdict != 0) & (truth == 0))


def false_positive(outcomes: Outcomes) -> Estimate:
    """Estimate `simlab.measures.errors.false_positive`, by the name that folders know it by."""
    return errors.false_positive(outcomes)


def family_wise_error(outcomes: Outcomes) -> Estimate:
    """Estimate `simlab.measures.errors.family_wise_error`, by the name that folders know it by."""
    return errors.family_wise_error(outcomes)


def kld(outcomes: Outcomes) -> Estimate:
    """Average over pairs the Kullback-Leibler divergence of what the campaign estimates from the human evaluation.

    `sum p_mean log(p_mean / reference_p)` in nats; `p_mean` is the posterior mean after the campaign, `reference_p`
    the shares in the full human evaluation, half a count added to each outcome of pairs where one never occurs (see
    `kld_smoothed`). Source: Deriu et al. 2023, section 6.
    """
    if not {"p_mean", "reference_p"} <= outcomes.keys():
        return unknown_estimate()
    p, q = outcomes["p_mean"], outcomes["reference_p"]
    terms = np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / q), 0.0)
    return ratio_over_campaigns(outcomes, terms.sum(2).sum(1), np.full(len(p), p.shape[1]))


def kld_smoothed(outcomes: Outcomes) -> Estimate:
    """Estimate the share of pairs whose full human evaluation lacks an outcome, so that `kld` needs smoothing."""
    if "reference_smoothed" not in outcomes:
        return unknown_estimate()
    smoothed = outcomes["reference_smoothed"]
    return ratio_over_campaigns(outcomes, smoothed.sum(1), np.full(len(smoothed), smoothed.shape[1]))


def annotation_fraction(outcomes: Outcomes) -> Estimate:
    """Estimate the annotations collected over those of the full human evaluation (pairs times outputs)."""
    if "ratings_possible" not in outcomes:
        return unknown_estimate()
    return ratio_over_campaigns(outcomes, outcomes["ratings_used"], outcomes["ratings_possible"])


def item_rating_fraction(outcomes: Outcomes) -> Estimate:
    """Estimate the single outputs that raters had to read over all: where scores are compared, this is the work."""
    if "item_ratings_possible" not in outcomes:
        return unknown_estimate()
    return ratio_over_campaigns(outcomes, outcomes["item_ratings_used"], outcomes["item_ratings_possible"])


def coverage(outcomes: Outcomes) -> Estimate:
    """Estimate how often intervals hold the truth: of the probabilities of win, draw and loss, or of systems' means."""
    if {"low", "true_value"} <= outcomes.keys():
        value = repeat_by_campaign(outcomes, "true_value")
        inside = (outcomes["low"] <= value) & (value <= outcomes["high"])
        return ratio_over_campaigns(outcomes, inside.mean(axis=1), np.ones(len(inside)))
    if not {"p_low", "true_p"} <= outcomes.keys():
        return unknown_estimate()
    truth = repeat_by_campaign(outcomes, "true_p")
    covered = (outcomes["p_low"] <= truth) & (truth <= outcomes["p_high"])
    return ratio_over_campaigns(outcomes, covered.mean(axis=(1, 2)), np.ones(len(covered)))


def order_agreement(outcomes: Outcomes) -> Estimate:
    """Average Kendall's tau-b between the campaign's partial order and that of the full human evaluation.

    Pairs that an order leaves open are ties in it; campaigns where one of the two orders is empty are left out.
    """
    return _tau(outcomes, "reference_verdict")


def order_agreement_true(outcomes: Outcomes) -> Estimate:
    """Average Kendall's tau-b between the campaign's partial order and the true order."""
    return _tau(outcomes, "true_direction")


def cycles(outcomes: Outcomes) -> Estimate:
    """Estimate the share of campaigns whose verdicts hold a cycle and so are no order."""
    if "cyclic" not in outcomes:
        return unknown_estimate()
    cyclic = outcomes["cyclic"]
    return ratio_over_campaigns(outcomes, cyclic.max(axis=1), np.ones(len(cyclic)))


def _share_of_pairs(outcomes: Outcomes, against: str, judge: Judge) -> Estimate:
    if not {"verdict", against} <= outcomes.keys():
        return unknown_estimate()
    reference = outcomes[against] if against == "reference_verdict" else repeat_by_campaign(outcomes, against)
    judged = judge(outcomes["verdict"].astype(int), reference.astype(int))
    return ratio_over_campaigns(outcomes, judged.sum(1), np.full(len(judged), judged.shape[1]))


def _tau(outcomes: Outcomes, against: str) -> Estimate:
    if not {"verdict", against} <= outcomes.keys():
        return unknown_estimate()
    reference = outcomes[against] if against == "reference_verdict" else repeat_by_campaign(outcomes, against)
    verdict = outcomes["verdict"].astype(float)
    # Tau-b counts of each order only the pairs that it does not leave open.
    weight = np.sqrt(np.abs(verdict).sum(1) * np.abs(reference).sum(1))
    tau = np.divide((verdict * reference).sum(1), weight, out=np.zeros(len(verdict)), where=weight > 0)
    return ratio_over_campaigns(outcomes, tau, weight > 0)
