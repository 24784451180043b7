"""Say what campaigns conclude: the dimensions, type and meaning of every outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.types import NO_TWIN

OK, DESIGN_FAILED, BLOCK_FAILED, UNRUN = 0, 1, 2, 3
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Kind:
    """Say what an outcome is: its dimensions after the axes, its type, what fills gaps, and its meaning.

    On the dimension `of_world` an outcome has one row per world (`world` itself is a coordinate of replicates).
    """

    dims: tuple[str, ...]
    dtype: str
    fill: Any
    label: str


OUTCOMES: Mapping[str, Kind] = {
    "status": Kind(("replicate",), "int8", UNRUN, "0 ok, 1 design failed, 2 block failed, 3 not run"),
    "document_set": Kind(("replicate",), "int32", -1, "index of the draw of documents"),
    "ratings_used": Kind(("replicate",), "int32", 0, "ratings asked for"),
    "cost": Kind(("replicate",), "float64", NAN, "price of the ratings"),
    "load_entropy_reached": Kind(("replicate",), "float64", NAN, "normalised entropy of the raters' load"),
    "estimate": Kind(("replicate", "system"), "float64", NAN, "estimated quality"),
    "human_count": Kind(("replicate", "system"), "int32", 0, "ratings of the system"),
    "direction": Kind(("replicate", "pair"), "int8", 0, "+1: the first system is better, -1: the second, 0: equal"),
    "significant": Kind(("replicate", "pair"), "bool", False, "whether the difference is significant"),
    "p_value": Kind(("replicate", "pair"), "float64", NAN, "two-sided p-value"),
    "twin_direction": Kind(("replicate", "pair"), "int8", NO_TWIN, "direction with other raters; -128: not possible"),
    "twin_significant": Kind(("replicate", "pair"), "bool", False, "whether it is significant with other raters"),
    "verdict": Kind(
        ("replicate", "pair"), "int8", 0, "+1: the first system declared better, -1: the second, 0: neither"
    ),
    "decided": Kind(("replicate", "pair"), "bool", False, "whether the decision rule ended collecting"),
    "theta": Kind(("replicate", "pair"), "float64", NAN, "probability that the first system wins more often"),
    "used": Kind(("replicate", "pair"), "int32", 0, "annotations of the pair"),
    "rounds": Kind(("replicate", "pair"), "int32", 0, "batches of the pair"),
    "reference_verdict": Kind(("replicate", "pair"), "int8", 0, "verdict of the full human evaluation"),
    "reference_smoothed": Kind(("replicate", "pair"), "bool", False, "whether some outcome never occurs in it"),
    "p_mean": Kind(("replicate", "pair", "preference"), "float64", NAN, "estimated probability of >, =, <"),
    "p_low": Kind(("replicate", "pair", "preference"), "float64", NAN, "lower bound of its 95 % interval"),
    "p_high": Kind(("replicate", "pair", "preference"), "float64", NAN, "upper bound of its 95 % interval"),
    "reference_p": Kind(("replicate", "pair", "preference"), "float64", NAN, "share in the full human evaluation"),
    "cyclic": Kind(("replicate", "system"), "bool", False, "whether verdicts lead from the system back to itself"),
    "ratings_possible": Kind(("replicate",), "int32", 0, "annotations in the full human evaluation"),
    "item_ratings_used": Kind(("replicate",), "int32", 0, "single outputs that raters had to read"),
    "item_ratings_possible": Kind(("replicate",), "int32", 0, "single outputs in the full human evaluation"),
    "undecided": Kind(("replicate", "round"), "int32", -1, "pairs undecided after a round"),
    "collected": Kind(("replicate", "round"), "int32", -1, "annotations collected up to a round"),
    "metric_used": Kind(("replicate",), "int64", 0, "outputs rated by the metric"),
    "human_cost": Kind(("replicate",), "float64", NAN, "price of the human ratings that estimate"),
    "standard_error": Kind(("replicate", "system"), "float64", NAN, "standard error of the estimate"),
    "low": Kind(("replicate", "system"), "float64", NAN, "lower bound of the estimate's interval"),
    "high": Kind(("replicate", "system"), "float64", NAN, "upper bound of the estimate's interval"),
    "baseline": Kind(("replicate", "system"), "float64", NAN, "mean of the human judgements alone"),
    "baseline_width": Kind(("replicate", "system"), "float64", NAN, "width of its interval"),
    "difference_se": Kind(("replicate", "pair"), "float64", NAN, "standard error of the difference"),
    "true_gamma": Kind(("of_world", "system"), "float64", NAN, "variance of a judgement's noise over that of outputs"),
    "true_correlation": Kind(("of_world", "system"), "float64", NAN, "correlation of metric and human score"),
    "true_efficiency": Kind(("of_world", "system"), "float64", NAN, "data efficiency by formula"),
    "true_human_rho": Kind(("of_world", "system"), "float64", NAN, "true positive rate of the raters"),
    "true_human_eta": Kind(("of_world", "system"), "float64", NAN, "true negative rate of the raters"),
    "true_metric_rho": Kind(("of_world", "system"), "float64", NAN, "true positive rate of the metric"),
    "true_metric_eta": Kind(("of_world", "system"), "float64", NAN, "true negative rate of the metric"),
    "true_p": Kind(("of_world", "pair", "preference"), "float64", NAN, "true probability of >, =, <"),
    "true_value": Kind(("of_world", "system"), "float64", NAN, "true quality"),
    "true_direction": Kind(("of_world", "pair"), "int8", 0, "true direction"),
}
PER_WORLD = frozenset(name for name, kind in OUTCOMES.items() if kind.dims[0] == "of_world")


def _between(first: str, last: str) -> frozenset[str]:
    names = list(OUTCOMES)
    return frozenset(names[names.index(first) : names.index(last) + 1])


_OWN: Mapping[str, frozenset[str]] = {
    "ratings": frozenset(["load_entropy_reached", "human_count", "twin_direction", "twin_significant"]),
    "preferences": _between("verdict", "collected") | {"true_p"},
    "judgements": _between("metric_used", "true_metric_eta"),
}
"""Outcomes that only studies of one kind have."""


def n_rounds(config: Mapping[str, Any]) -> int:
    """Count the looks at which a campaign is followed, look 0 included; 0 where nothing is collected in batches."""
    budget = config.get("budget", {})
    return 1 - (-budget["annotations_per_pair"] // budget["batch_size"]) if "batch_size" in budget else 0


def campaign_bytes(config: Mapping[str, Any], n_systems: int) -> int:
    """Estimate the size of the outcomes of one campaign, uncompressed."""
    sizes = {"replicate": 1, "of_world": 0, "system": n_systems, "pair": n_systems * (n_systems - 1) // 2}
    sizes |= {"preference": 3, "round": n_rounds(config)}
    budget = config.get("budget", {})
    own = "preferences" if "batch_size" in budget else "judgements" if "human_ratings" in budget else "ratings"
    others = frozenset().union(*(names for kind, names in _OWN.items() if kind != own))
    kinds = [kind for name, kind in OUTCOMES.items() if name not in others]
    return 8 + sum(np.dtype(kind.dtype).itemsize * math.prod(sizes[dim] for dim in kind.dims) for kind in kinds)
