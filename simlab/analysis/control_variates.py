"""Means of human judgements that a metric corrects: estimators, intervals, planning, variance components, stopping.

This module only gathers public functions of the package `means`: all that a user of Chaganty et al. 2018 or of
prediction-powered inference needs.
"""

from simlab.analysis.means.bootstrap import (
    bootstrap_interval,
    document_bootstrap,
    empirical_data_efficiency,
    noiseless_judgements,
    perfect_metric,
    simulate_perfect_metric,
)
from simlab.analysis.means.components import VarianceComponents, variance_component_errors, variance_components
from simlab.analysis.means.documents import DocumentMean, Totals, document_mean, totals
from simlab.analysis.means.estimates import (
    Finite,
    IntervalBounds,
    MeanEstimate,
    Rest,
    control_variates,
    difference,
    interval,
    ppi,
    sample_mean,
)
from simlab.analysis.means.intervals import clopper_pearson, effective_number, wilson
from simlab.analysis.means.planning import (
    Split,
    data_efficiency,
    judgements_for_variance,
    judgements_for_width,
    price_of_precision,
    split_budget,
)
from simlab.analysis.means.stopping import (
    Looks,
    anytime_bernstein_looks,
    betting_looks,
    empirical_bernstein_looks,
    find_first_narrow_look,
    geometric_looks,
    range_with_metric,
)

__all__ = [
    "DocumentMean",
    "Finite",
    "IntervalBounds",
    "Looks",
    "MeanEstimate",
    "Rest",
    "Split",
    "Totals",
    "VarianceComponents",
    "anytime_bernstein_looks",
    "betting_looks",
    "bootstrap_interval",
    "clopper_pearson",
    "control_variates",
    "data_efficiency",
    "difference",
    "document_bootstrap",
    "document_mean",
    "effective_number",
    "empirical_bernstein_looks",
    "empirical_data_efficiency",
    "find_first_narrow_look",
    "geometric_looks",
    "interval",
    "judgements_for_variance",
    "judgements_for_width",
    "noiseless_judgements",
    "perfect_metric",
    "ppi",
    "price_of_precision",
    "range_with_metric",
    "sample_mean",
    "simulate_perfect_metric",
    "split_budget",
    "totals",
    "variance_component_errors",
    "variance_components",
    "wilson",
]
