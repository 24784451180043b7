"""Return the words for axes, their values and measures as a reader of figures would say them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simlab.messages import word

if TYPE_CHECKING:
    import xarray as xr

AXIS_LABELS = {
    "documents": "documents per study",
    "ratings_per_item": "ratings per item",
    "load_entropy": "load entropy of the raters (normalised)",
    "grouping": "item grouping",
    "decision": "decision rule",
    "metric": "automatic metric",
    "pool_size": "raters",
    "batch_size": "annotations of a pair between two looks",
    "annotations_per_pair": "annotations per pair, at most",
    "sharpness": "sharpness of the metric (0: knows nothing, 1: as given)",
    "n_outputs": "outputs rated by the metric",
    "systems_n_systems": "systems",
    "systems_difference": "true difference of win and loss rate",
    "n_human": "human ratings of each system",
    "n_metric": "metric ratings of each system",
    "n_calibration": "outputs rated by both, to estimate rho and eta",
    "alpha": "share of adequate outputs (alpha)",
    "system_concentration": "concentration of rho and eta around their means",
    "accuracy": "accuracy of the metric (rho = eta)",
    "system_sd": "spread of the metric's rates between systems (logits)",
    "human_ratings": "human judgements of each system",
    "per_system": "price of each system's evaluation (per system, not in all)",
    "correlation": "correlation of metric and human score (rho)",
    "gamma": "noise of a judgement over spread of outputs, as variances (gamma)",
}
"""Labels of axes by their names; others are their names with blanks."""
NAMES = {
    "decision": "decision rule",
    "n_outputs": "outputs rated by\nthe metric",
    "systems_n_systems": "systems",
    "systems_difference": "true difference",
    "n_human": "human ratings",
    "n_metric": "metric ratings",
    "n_calibration": "calibration outputs",
    "accuracy": "accuracy",
    "calibration_ratings": "outputs rated by both",
    "sharing": "how the metric errs",
    "system_concentration": "rho and eta of systems:\nconcentration",
    "alpha": "alpha",
    "human_ratings": "human judgements",
    "correlation": "correlation (rho)",
    "gamma": "gamma",
}
"""What is short enough for the title of a panel or of a legend."""
VALUE_LABELS = {
    ("load_entropy", "null"): "balanced",
    ("normalization", "none"): "unnormalised",
    ("normalization", "mean"): "means",
    ("normalization", "error"): "errors",
    ("normalization", "zscore"): "z-scores",
    ("systems", "english_german"): "English-German",
    ("systems", "english_chinese"): "English-Chinese",
    ("assignment", "as_dealt"): "task queues",
    ("assignment", "one_stream"): "one stream",
    ("assignment", "dynamic"): "by current rank",
    ("decision", "anytime"): "anytime-valid",
    ("decision", "bayes"): "Bayes",
    ("decision", "dashboard"): "dashboard, every look",
    ("decision", "dashboard_end"): "dashboard, at the end",
    ("decision", "significance"): "each pair alone",
    ("decision", "holm"): "Holm",
    ("decision", "max_t"): "max-T",
    ("decision", "betting"): "anytime-valid bets",
    ("decision", "fixed"): "fixed (one look)",
    ("decision", "human_only"): "human ratings only",
    ("decision", "naive"): "naive (metric alone)",
    ("decision", "naive_width"): "naive looks",
    ("decision", "fixed_width"): "level shared among looks",
    ("decision", "betting_width"): "bets",
    ("decision", "ppi_width"): "bets with the metric",
    ("estimator", "sample_mean"): "human judgements only",
    ("estimator", "ppi"): "PPI++",
    ("estimator", "binary"): "posterior, rho and eta known",
    ("estimator", "binary_calibrated"): "posterior, rho and eta estimated",
    ("system_concentration", "null"): "all the same",
    ("sharing", "own"): "own",
    ("sharing", "joint"): "the same (joint)",
    ("sharing", "partial"): "alike (partial)",
    ("test", "permutation"): "permutation (these raters)",
    ("test", "by_rater"): "t by rater (other raters)",
    ("test", "two_way"): "two-way (other raters, documents)",
    ("test", "rater_flips"): "flips of raters (other raters)",
    ("test", "crossed_flips"): "flips of raters, documents (others)",
    ("test", "mixed_model"): "mixed model (others)",
    ("test", "moderated"): "moderated mixed model (others)",
    ("metric", "mu_matrix"): "mixture matrix",
    ("metric", "none"): "no metric",
    ("column", "none"): "no metric",
    ("column", "ideal"): "ideal metric",
    ("metric", "scalar"): "scalar scores",
}
"""Words for values, by the name of the axis and the value as it is typed."""


def describe_drawn(laws: Mapping[str, str]) -> list[str]:
    """State in a line, or none, which keys worlds draw, and by which laws.

    >>> describe_drawn({"raters.leniency_sd": "uniform(0.1,0.5)"})
    ['each world draws raters.leniency_sd by uniform(0.1,0.5)']
    """
    draws = [f"{key} by {law}" for key, law in laws.items()]
    return [f"each world draws {', '.join(draws)}"] if draws else []


def axis_label(name: str) -> str:
    """Return the label of an axis."""
    return AXIS_LABELS.get(name, name.replace("_", " "))


def shorten_axis_name(name: str) -> str:
    """Return the name of an axis where room is scarce."""
    return NAMES.get(name, name.replace("_", " "))


def value_label(name: str, value: object) -> str:
    """Return the words for a value of the axis `name`.

    >>> value_label("metric", "none"), value_label("batch_size", 10.0)
    ('no metric', '10')
    """
    return VALUE_LABELS.get((name, word(value)), word(value).replace("_", " "))


def measured_axis(dataset: xr.Dataset, measure: str) -> str:
    """Return the label of an axis of a measure: its name, and of money the currency."""
    currency = read_currency(dataset) if dataset[measure].attrs.get("units") == "currency" else None
    label = measure_label(dataset, measure)
    return f"{label}, {currency}" if currency else label


def read_currency(dataset: xr.Dataset) -> str | None:
    """Return the name of the money in which the prices of a store are; None where it has none, or several."""
    named = json.loads(str(dataset.attrs.get("config", "{}"))).get("budget", {}).get("currency")
    return named if isinstance(named, str) and named.strip() else None


def measure_label(dataset: xr.Dataset, measure: str) -> str:
    """Return the name of a measure, as its store has it."""
    return str(dataset[measure].attrs.get("label", measure.replace("_", " ")))
