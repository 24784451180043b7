"""Labels and ranges of performance measures, by name.

`LABELS[measure]` holds its `label`, a text for axes; `measure_range` takes a name and returns the least and greatest
value that the measure can have. `limits` and `order` (how many campaigns are compared at a time) let failed campaigns
be counted as the worst and as the best possible; conditional measures, whose denominators vary, have none. Of a measure
that is `less_is_better` the best design has the least.

Ranges follow from the definitions of measures and are not stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

LABELS: Mapping[str, Mapping[str, Any]] = {
    "srp": {"label": "stable ranking probability (SRP)", "limits": [0, 1], "order": 2},
    "srp_new_documents": {"label": "SRP with new documents", "limits": [0, 1], "order": 2},
    "srp_new_raters": {"label": "SRP with new raters", "limits": [0, 1], "order": 2},
    "srp_new_study": {"label": "SRP with new raters and new documents", "limits": [0, 1], "order": 2},
    "confirmed": {"label": "significant pairs confirmed"},
    "confirmed_new_documents": {"label": "significant pairs confirmed with new documents"},
    "confirmed_new_raters": {"label": "significant pairs confirmed with new raters"},
    "confirmed_new_study": {"label": "significant pairs confirmed with new raters and new documents"},
    "srp_given_any": {"label": "SRP given any significant pair"},
    "srp_disjoint": {"label": "SRP between campaigns that share no rating", "limits": [0, 1]},
    "srp_both_significant": {"label": "SRP with significance in both", "limits": [0, 1], "order": 2},
    "kendall": {"label": "Kendall's tau-b between campaigns", "limits": [-1, 1], "order": 2},
    "pearson": {"label": "Pearson correlation between campaigns", "limits": [-1, 1], "order": 2},
    "significant_share": {"label": "share of significant pairs", "limits": [0, 1]},
    "power": {"label": "power (true differences found)", "limits": [0, 1]},
    "power_from": {"label": "power from the smallest difference on"},
    "power_at": {"label": "power at the smallest difference"},
    "type_s": {"label": "type S error (significant, wrong sign)", "less_is_better": True},
    "best_system_found": {"label": "probability of the right best system", "limits": [0, 1]},
    "correct": {"label": "pairs judged as by all human ratings", "limits": [0, 1]},
    "inversion": {"label": "inversions against all human ratings", "limits": [0, 1], "less_is_better": True},
    "omission": {"label": "omissions against all human ratings", "limits": [0, 1], "less_is_better": True},
    "insertion": {"label": "insertions against all human ratings", "limits": [0, 1], "less_is_better": True},
    "correct_true": {"label": "pairs judged as is true", "limits": [0, 1]},
    "inversion_true": {"label": "inversions of the truth", "limits": [0, 1], "less_is_better": True},
    "omission_true": {"label": "true differences not declared", "limits": [0, 1], "less_is_better": True},
    "insertion_true": {"label": "pairs declared different that are equal", "limits": [0, 1], "less_is_better": True},
    "false_positive": {"label": "truly equal pairs declared different", "less_is_better": True},
    "family_wise_error": {"label": "campaigns with any false claim", "limits": [0, 1], "less_is_better": True},
    "no_wrong_claim": {"label": "campaigns without any false claim", "limits": [0, 1]},
    "kld": {"label": "divergence from all human ratings (KLD, nats)", "less_is_better": True},
    "kld_smoothed": {"label": "pairs smoothed for the KLD", "limits": [0, 1], "less_is_better": True},
    "annotation_fraction": {"label": "annotations used (share of all)", "limits": [0, 1], "less_is_better": True},
    "item_rating_fraction": {"label": "outputs read (share of all)", "limits": [0, 1], "less_is_better": True},
    "coverage": {"label": "coverage of 95 % intervals", "limits": [0, 1]},
    "difference_coverage": {"label": "coverage of the intervals of differences", "limits": [0, 1]},
    "difference_width": {"label": "width of the intervals of differences", "less_is_better": True},
    "joint_difference": {"label": "measurable difference, calibration shared", "less_is_better": True},
    **{
        f"measurable_difference_q{share:02}": {
            "label": f"measurable difference, {share} % quantile",
            "less_is_better": True,
        }
        for share in (5, 50, 95)
    },
    "difference_power": {"label": "how often a given difference is found", "limits": [0, 1]},
    "detectable_difference": {"label": "difference found with the wanted power", "less_is_better": True},
    "bias": {"label": "bias of the systems' means"},
    "rmse": {"label": "root mean squared error of the systems' means", "less_is_better": True},
    "interval_width": {"label": "width of the intervals of the systems' means", "less_is_better": True},
    "measurable_difference": {"label": "measurable difference", "less_is_better": True},
    "data_efficiency": {"label": "data efficiency (by mean squared errors)"},
    "data_efficiency_width": {"label": "data efficiency (by widths of intervals)"},
    "data_efficiency_formula": {"label": "data efficiency (by formula)"},
    "cost_saving": {"label": "share of the price saved"},
    "judgement_fraction": {"label": "judgements used (share of planned)", "limits": [0, 1], "less_is_better": True},
    "judgements_needed": {"label": "judgements of a system until it ends", "less_is_better": True},
    "width_reached": {"label": "intervals as narrow as wanted", "limits": [0, 1]},
    "order_agreement": {"label": "tau-b with the order of all human ratings"},
    "order_agreement_true": {"label": "tau-b with the true order"},
    "cycles": {"label": "campaigns whose verdicts are cyclic", "limits": [0, 1], "less_is_better": True},
    "money": {"label": "money (price of a campaign)", "less_is_better": True},
    "hours": {"label": "hours of work (all people together)", "less_is_better": True},
    "days": {"label": "days until the campaign ends", "less_is_better": True},
    "planned": {"label": "ratings planned"},
    "received": {"label": "ratings that came"},
    "lost": {"label": "ratings lost (drop-out, exclusion)", "less_is_better": True},
    "open": {"label": "ratings left open", "less_is_better": True},
    "documents_finished": {"label": "documents that were rated for every system"},
    "completed_share": {"label": "share of the planned ratings that came", "limits": [0, 1]},
    "load_evenness": {"label": "evenness of the raters' load (entropy)", "limits": [0, 1]},
    "ended_as_planned": {"label": "campaigns that ended as planned", "limits": [0, 1]},
    "ended_by_money": {"label": "campaigns that money ended", "limits": [0, 1], "less_is_better": True},
    "ended_by_deadline": {"label": "campaigns that the deadline ended", "limits": [0, 1], "less_is_better": True},
    "ended_by_nobody": {"label": "campaigns that nobody was left for", "limits": [0, 1], "less_is_better": True},
}
"""`label`, `limits`, `order` and `less_is_better` of each measure, as explained above."""
ACCOUNTS = (
    *("money", "hours", "days", "planned", "received", "lost", "open", "completed_share"),
    *("ended_as_planned", "ended_by_money", "ended_by_deadline", "ended_by_nobody"),
)
"""What campaigns take, and what ended them: measured by default where a study has a clock or a budget for all of it."""
OF_CLOCKS = frozenset(["hours", "days", "ended_by_deadline", "ended_by_nobody"])
"""Measures of `ACCOUNTS` that need campaigns on a clock."""
EMPTINESS = frozenset([
    *("srp", "srp_new_documents", "srp_new_raters", "srp_new_study"),
    *("srp_disjoint", "srp_both_significant", "no_wrong_claim"),
])  # fmt: skip
"""Measures with their best value where a study finds nothing: read them beside a measure of how much it finds."""
BETWEEN = frozenset([
    *("srp", "srp_given_any", "srp_both_significant", "srp_disjoint", "confirmed", "kendall", "pearson"),
])  # fmt: skip
"""Measures that compare campaigns of the same raters on the same documents; `_new_...` names what differs."""
CONFIRMED_ANEW = ("confirmed_new_documents", "confirmed_new_raters", "confirmed_new_study")
FEW_CLUSTERS = 5
"""Clusters (usually worlds) below which equal values tell no error, and the best design is hardly known."""
CONDITIONAL = frozenset([
    *("srp_given_any", "srp_disjoint", "type_s", "false_positive"),
    *("confirmed", *CONFIRMED_ANEW),
])  # fmt: skip
"""Shares whose denominators vary: worlds in which nothing could be counted are left out."""


class ValueRange(NamedTuple):
    """Least and greatest value that a measure can have; None where there is none.

    `chance` False: the value follows from the design and not from chance, so that campaigns which all agree leave no
    uncertainty; else another campaign may still differ.
    """

    least: float | None = None
    greatest: float | None = None
    chance: bool = True


ANY = ValueRange()


SHARE, CORRELATION = ValueRange(0.0, 1.0), ValueRange(-1.0, 1.0)


DESIGNED, COUNT = ValueRange(0.0, 1.0, chance=False), ValueRange(0.0, None, chance=False)


RANGES: Mapping[str, ValueRange] = {
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
    "cost_saving": ValueRange(None, 1.0, chance=False),
    # Means of outcomes.
    **dict.fromkeys(("decided", "significant", "cyclic", "reference_smoothed", "narrow"), SHARE),
    **dict.fromkeys(("p_value", "theta", "load_entropy_reached"), DESIGNED),
    **dict.fromkeys(("true_human_rho", "true_human_eta", "true_metric_rho", "true_metric_eta"), DESIGNED),
    "true_correlation": ValueRange(-1.0, 1.0, chance=False),
    **dict.fromkeys(("cost", "human_cost", "ratings_used", "ratings_possible", "human_count"), COUNT),
    **dict.fromkeys(("item_ratings_used", "item_ratings_possible", "metric_used", "used", "rounds", "judged"), COUNT),
    **dict.fromkeys(("standard_error", "difference_se", "baseline_width", "true_gamma", "true_efficiency"), COUNT),
}
"""Range of each measure that is defined here."""


def measure_range(measure: str, bounds: tuple[float, float] | None = None) -> ValueRange:
    """Return the range of a measure; of one that is not known here (a plug-in's) the bounds that its store names.

    >>> measure_range("srp"), measure_range("mine")
    (ValueRange(least=0.0, greatest=1.0, chance=True), ValueRange(least=None, greatest=None, chance=True))
    """
    return RANGES.get(measure, ANY if bounds is None else ValueRange(*bounds))
