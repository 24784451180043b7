"""Preferences: pairs of systems compared by humans and a metric, their posteriors, and how often a rule errs.

This module only gathers public functions of the package `preferences`: all that a user of Deriu et al. 2023 needs.
"""

from simlab.analysis.preferences.partial_order import PartialOrder, is_on_cycle, partial_order
from simlab.analysis.preferences.posterior import OutcomePosterior, posterior_summary, win_decisions, win_posterior
from simlab.analysis.preferences.sequential import PairClaimRates, claims

__all__ = [
    "OutcomePosterior",
    "PairClaimRates",
    "PartialOrder",
    "claims",
    "is_on_cycle",
    "partial_order",
    "posterior_summary",
    "win_decisions",
    "win_posterior",
]
