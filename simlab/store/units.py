"""Units and long names of the variables of a store.

Shares, probabilities and correlations have the unit "1", money is in "currency"; codes, indices and names have none.
`describe_variables` adds both to the attributes of variables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from simlab.analysis import normalization
from simlab.measures.labels import LABELS
from simlab.parts import name_target
from simlab.store.measures import SUFFIXES, Variables

UNITS: Mapping[str, str] = {
    "cost": "currency",
    "human_cost": "currency",
    "work_hours": "hours",
    "campaign_days": "days",
    "money": "currency",
    "hours": "hours",
    "days": "days",
    "documents_finished": "documents",
    "documents_rated": "documents",
    **dict.fromkeys(("planned", "received", "lost", "open"), "answers"),
    "item_ratings_used": "outputs",
    "item_ratings_possible": "outputs",
    "metric_used": "outputs",
    "rounds": "batches",
    "round": "batches",
    "undecided": "pairs",
    "n_systems": "systems",
    "kld": "nat",
    "ess": "draws",
    **dict.fromkeys(
        ("load_entropy_reached", "p_value", "adjusted_p_value", "theta", "r_hat", "p_mean", "p_low", "p_high"), "1"
    ),
    **dict.fromkeys(("reference_p", "true_p", "true_gamma", "true_correlation", "true_efficiency"), "1"),
    **dict.fromkeys(("youden", "youden_low", "youden_high"), "1"),
    **dict.fromkeys(("judged", "judgements_planned"), "judgements"),
    **dict.fromkeys(("true_human_rho", "true_human_eta", "true_metric_rho", "true_metric_eta"), "1"),
}
"""Units that are the same in all kinds of studies; measures that are not listed are shares and the like."""

KEYS: Mapping[str, str] = {
    "design.documents": "documents",
    "design.ratings_per_item": "ratings",
    "budget.batch_size": "comparisons",
    "budget.annotations_per_pair": "comparisons",
    "budget.human_ratings": "judgements",
    "budget.metric_ratings": "outputs",
    "budget.calibration_ratings": "outputs",
    **dict.fromkeys(("budget.total", "budget.per_system", "budget.price_per_rating"), "currency"),
    "systems.n_systems": "systems",
    **dict.fromkeys(("n_human", "n_metric", "n_calibration"), "outputs"),
    **dict.fromkeys(("accuracy", "rho", "eta", "alpha", "level", "power"), "1"),
    **dict.fromkeys(("design.overlap", "design.assignment.decay"), "1"),
    "design.assignment.warm_up": "outputs",
    "design.boost_margin": "points",
    **dict.fromkeys(("design.load_entropy", "metric.correlation", "raters.gamma"), "1"),
}
"""Units of keys that are axes."""

SCOPES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "cost",
            "human_cost",
            "budget_total",
            "ratings_planned",
            "ratings_lost",
            "ratings_open",
            "ratings_used",
            "ratings_possible",
            "metric_used",
            "judgements_planned",
        ),
        "in all",
    ),
    **dict.fromkeys(("item_ratings_used", "item_ratings_possible"), "in all"),
    **dict.fromkeys(("money", "planned", "received", "lost", "open"), "in all"),
    **dict.fromkeys(
        ("per_system", "budget_per_system", "human_count", "human_ratings", "metric_ratings", "judged"), "per system"
    ),
    **dict.fromkeys(("used", "rounds"), "per pair"),
}
"""Scope of numbers and prices (outcomes, axes): one system, one pair, or a whole campaign."""

ANSWERS = frozenset([
    *("ratings_used", "ratings_possible", "human_count", "used", "collected"),
    *("ratings_planned", "ratings_lost", "ratings_open"),
])  # fmt: skip
QUALITY = frozenset([
    *("estimate", "true_value", "low", "high", "standard_error"),
    *("baseline", "baseline_width", "difference_se", "difference_low", "difference_high"),
])  # fmt: skip
OF_STUDIES: Mapping[str, tuple[str, str]] = {
    "human_count": ("ratings", "points"),
    "verdict": ("comparisons", "1"),
    "human_cost": ("judgements", "1"),
}
"""Units of answers and of quality in a store that holds this outcome, which only studies of one sort have."""

KEEP_POINTS = frozenset(name_target(part) for part in (normalization.none, normalization.mean, normalization.error))
"""Normalisations after which scores are still points; standardised scores are not."""


def outcome_unit(name: str, outcomes: Collection[str]) -> str | None:
    """Return the unit of an outcome beside the others that its store holds; None for codes and indices."""
    matches = [units for outcome, units in OF_STUDIES.items() if outcome in outcomes]
    answers, quality = matches[0] if len(matches) == 1 else (None, None)
    if name in ANSWERS:
        return answers
    return quality if name in QUALITY else UNITS.get(name)


def variable_unit(name: str) -> str | None:
    """Return the unit of a coordinate, or of a measure or what stands beside it.

    >>> variable_unit("srp_mcse"), variable_unit("kld_influence"), variable_unit("srp_n"), variable_unit("pair_first")
    ('1', 'nat', 'campaigns', None)
    """
    measure, suffix = next(((name.removesuffix(end), end) for end in SUFFIXES if name.endswith(end)), (name, ""))
    return "campaigns" if suffix == "_n" else UNITS.get(measure, "1" if measure in LABELS else None)


def describe_variable(name: str, about: Mapping[str, Any], unit: str | None) -> dict[str, Any]:
    """Add `long_name`, and `units` where there is one, to the attributes of a variable.

    Truth values are given as 0 and 1: NetCDF knows no others.
    """
    about = {key: int(value) if isinstance(value, bool) else value for key, value in about.items()}
    return {**about, "long_name": about.get("label", name.replace("_", " "))} | ({"units": unit} if unit else {})


def describe_variables(variables: Variables) -> Variables:
    """Add `long_name` and `units` to the attributes of coordinates and measures.

    Of a measure `ancillary_variables` names its error and its campaigns, as the CF conventions have it.
    """
    beside = {
        name: {"ancillary_variables": f"{name}_mcse {name}_n"} for name in variables if f"{name}_mcse" in variables
    }
    return {
        name: (
            dims,
            array,
            describe_variable(name, about, find_unit(name, about) if array.dtype.kind in "iuf" else None)
            | beside.get(name, {}),
        )
        for name, (dims, array, about) in variables.items()
    }


def scopes(names: Collection[str]) -> str:
    """Describe in words whether numbers and prices among `names` are per system or for all; '' without any.

    >>> scopes(["srp", "cost", "per_system"]), scopes(["srp"])
    ('per_system per system; cost in all, all systems together', '')
    """
    words = {"per system": "", "per pair": "", "in all": ", all systems together"}
    named = {scope: [name for name in dict.fromkeys(names) if SCOPES.get(name) == scope] for scope in words}
    return "; ".join(f"{', '.join(of)} {scope}{words[scope]}" for scope, of in named.items() if of)


def is_in_points(configs: Collection[Mapping[str, Any]]) -> bool:
    """True if estimates of studies of ratings are still in points of the raters' scale."""
    parts = (config.get("analysis", {}).get("normalization", {}).get("_target_") for config in configs)
    return all(part in KEEP_POINTS for part in parts)


def find_unit(name: str, about: Mapping[str, Any]) -> str | None:
    """Return the unit of a variable that has these attributes; None for codes, indices and names."""
    return about.get("units") or (KEYS.get(about["key"]) if "key" in about else variable_unit(name))
