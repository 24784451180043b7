"""Say between which values performance measures, and means of outcomes, lie.

A range is no attribute of a store: what a measure can be is known of its definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Range(NamedTuple):
    """Hold the least and the greatest value that a measure can have; None where there is none.

    `chance` tells measures of what happens from those of what was designed: where all campaigns agree in a share of
    events, another may still differ; that all collected as much as they should is no estimate.
    """

    least: float | None = None
    greatest: float | None = None
    chance: bool = True


ANY = Range()
SHARE, CORRELATION = Range(0.0, 1.0), Range(-1.0, 1.0)
DESIGNED, COUNT = Range(0.0, 1.0, chance=False), Range(0.0, None, chance=False)

CONFIRMED_ANEW = ("confirmed_new_documents", "confirmed_new_raters", "confirmed_new_study")

RANGES: Mapping[str, Range] = {
    **dict.fromkeys(("srp", "srp_given_any", "srp_disjoint", "srp_both_significant"), SHARE),
    **dict.fromkeys(("srp_new_documents", "srp_new_raters", "srp_new_study"), SHARE),
    **dict.fromkeys(("confirmed", *CONFIRMED_ANEW), SHARE),
    **dict.fromkeys(
        ("significant_share", "power", "power_from", "power_at", "type_s", "best_system_found", "cycles"), SHARE
    ),
    **dict.fromkeys(("coverage", "difference_coverage"), SHARE),
    **dict.fromkeys(("correct", "inversion", "omission", "insertion"), SHARE),
    **dict.fromkeys(("correct_true", "inversion_true", "omission_true", "insertion_true"), SHARE),
    **dict.fromkeys(("false_positive", "family_wise_error", "no_wrong_claim", "kld_smoothed"), SHARE),
    **dict.fromkeys(("kendall", "pearson", "order_agreement", "order_agreement_true"), CORRELATION),
    **dict.fromkeys(("annotation_fraction", "item_rating_fraction", "judgement_fraction"), DESIGNED),
    **dict.fromkeys(("kld", "rmse", "interval_width", "difference_width", "measurable_difference"), COUNT),
    **dict.fromkeys(("joint_difference", "detectable_difference"), COUNT),
    **dict.fromkeys((f"measurable_difference_q{share}" for share in ("05", "50", "95")), COUNT),
    "difference_power": SHARE,
    **dict.fromkeys(("data_efficiency", "data_efficiency_width", "data_efficiency_formula"), COUNT),
    "judgements_needed": COUNT,
    "width_reached": SHARE,
    **dict.fromkeys(("money", "hours", "days", "planned", "received", "lost", "open"), COUNT),
    "load_evenness": DESIGNED,
    "completed_share": SHARE,
    **dict.fromkeys(("ended_as_planned", "ended_by_money", "ended_by_deadline", "ended_by_nobody"), SHARE),
    "cost_saving": Range(None, 1.0, chance=False),
    # Means of outcomes.
    **dict.fromkeys(("decided", "significant", "cyclic", "reference_smoothed", "narrow"), SHARE),
    **dict.fromkeys(("p_value", "theta", "load_entropy_reached"), DESIGNED),
    **dict.fromkeys(("true_human_rho", "true_human_eta", "true_metric_rho", "true_metric_eta"), DESIGNED),
    "true_correlation": Range(-1.0, 1.0, chance=False),
    **dict.fromkeys(("cost", "human_cost", "ratings_used", "ratings_possible", "human_count"), COUNT),
    **dict.fromkeys(("item_ratings_used", "item_ratings_possible", "metric_used", "used", "rounds", "judged"), COUNT),
    **dict.fromkeys(("standard_error", "difference_se", "baseline_width", "true_gamma", "true_efficiency"), COUNT),
}

FEW_CLUSTERS = 5
"""Fewer worlds (or whatever a value is replicated over) tell no error where they agree, and hardly what is best."""

CONDITIONAL = frozenset([
    *("srp_given_any", "srp_disjoint", "type_s", "false_positive"),
    *("confirmed", *CONFIRMED_ANEW),
])  # fmt: skip
"""Shares whose denominators vary: a world in which nothing could be counted says nothing."""


def range_of(measure: str, bounds: tuple[float, float] | None = None) -> Range:
    """Return the range of a measure; of one that is not known here (a plug-in's) the bounds that its store names.

    >>> range_of("srp"), range_of("mine")
    (Range(least=0.0, greatest=1.0, chance=True), Range(least=None, greatest=None, chance=True))
    """
    return RANGES.get(measure, ANY if bounds is None else Range(*bounds))
