"""Declare what studies of judgements conclude."""

from __future__ import annotations

from collections.abc import Mapping

from simlab.studies.outcomes import ACCOUNT, ADJUSTED, COMMON, LOAD, NAN, P_VALUE
from simlab.types import Outcome

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
