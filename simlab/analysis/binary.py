"""Binary human and metric ratings: posteriors of alpha, measurable differences, and what a wanted one takes.

All that a user of von Däniken et al. 2022 needs, gathered from the rooms in which it is worked out.
"""

from simlab.analysis.adequacy.grid import PUBLISHED, Drawn, drawn_differences, measurable_grid
from simlab.analysis.adequacy.inverse import Mix, Prices, cheapest_mix, smallest
from simlab.analysis.adequacy.joint_power import joint_detectable, joint_power
from simlab.analysis.adequacy.measurable_difference import (
    Among,
    Joint,
    Measurable,
    detectable_difference,
    joint_difference,
    measurable_difference,
    power_of,
)
from simlab.analysis.adequacy.plans import Plan
from simlab.analysis.adequacy.posterior import Posterior, alpha_posterior
from simlab.analysis.adequacy.thresholds import at_threshold, best_threshold, tuned_threshold

__all__ = [
    "PUBLISHED",
    "Among",
    "Drawn",
    "Joint",
    "Measurable",
    "Mix",
    "Plan",
    "Posterior",
    "Prices",
    "alpha_posterior",
    "at_threshold",
    "best_threshold",
    "cheapest_mix",
    "detectable_difference",
    "drawn_differences",
    "joint_detectable",
    "joint_difference",
    "joint_power",
    "measurable_difference",
    "measurable_grid",
    "power_of",
    "smallest",
    "tuned_threshold",
]
