"""Binary human and metric ratings: posteriors of alpha, measurable differences, and the ratings that one takes.

alpha is the share of a system's outputs that are adequate. This module only gathers public functions of the package
`adequacy`: all that a user of von Däniken et al. 2022 needs.
"""

from simlab.analysis.adequacy.grid import PUBLISHED, DrawnDifferences, drawn_differences, measurable_grid
from simlab.analysis.adequacy.inverse import Mix, RatingPrices, find_cheapest_mix, find_smallest_number
from simlab.analysis.adequacy.joint_power import joint_detectable_difference, joint_power
from simlab.analysis.adequacy.measurable_difference import (
    Among,
    Joint,
    Measurable,
    approximate_power,
    detectable_difference,
    joint_difference,
    measurable_difference,
)
from simlab.analysis.adequacy.plans import Plan
from simlab.analysis.adequacy.posterior import AlphaPosterior, alpha_posterior
from simlab.analysis.adequacy.thresholds import best_threshold, rates_at_threshold, tuned_threshold

__all__ = [
    "PUBLISHED",
    "AlphaPosterior",
    "Among",
    "DrawnDifferences",
    "Joint",
    "Measurable",
    "Mix",
    "Plan",
    "RatingPrices",
    "alpha_posterior",
    "approximate_power",
    "best_threshold",
    "detectable_difference",
    "drawn_differences",
    "find_cheapest_mix",
    "find_smallest_number",
    "joint_detectable_difference",
    "joint_difference",
    "joint_power",
    "measurable_difference",
    "measurable_grid",
    "rates_at_threshold",
    "tuned_threshold",
]
