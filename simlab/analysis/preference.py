"""Posteriors of preferences: a pair of systems compared by humans and a metric.

All that a user of Deriu et al. 2023 needs, gathered from the rooms in which it is worked out.
"""

from simlab.analysis.preferences.partial_order import PartialOrder, cyclic, partial_order
from simlab.analysis.preferences.posterior import Posterior, posterior_summary, win_decisions, win_posterior

__all__ = [
    "PartialOrder",
    "Posterior",
    "cyclic",
    "partial_order",
    "posterior_summary",
    "win_decisions",
    "win_posterior",
]
