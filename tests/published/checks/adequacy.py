"""Compute what von Däniken et al. 2022 say in words: how accurate a metric, how many ratings, how many settings."""

from __future__ import annotations

import math

from simlab.analysis.binary import PUBLISHED, Plan, find_smallest_number, measurable_difference

TABLE = (0, 10, 100, 1000, 2500, 5000)
"""The numbers of human ratings in table 1."""
ALPHA, ACCURACY = 0.6, 0.7


def least_accuracy(difference: float, n_metric: int) -> float:
    """Return the least accuracy, in whole per cents, of a metric alone that measures a difference."""
    exact = find_smallest_number("accuracy", Plan(0, n_metric, 1.0, 1.0, ALPHA), difference)
    return math.ceil(100 * exact - 1e-9) / 100


def least_human_in_table(difference: float, n_metric: int) -> float:
    """Return the first number of human ratings in table 1 that measures a difference; infinite if none does."""
    for n_human in TABLE:
        if float(measurable_difference(Plan(n_human, n_metric, ACCURACY, ACCURACY, ALPHA)).epsilon) <= difference:
            return n_human
    return math.inf


def settings_of_the_grid() -> float:
    """Count the settings of the published calculator."""
    return math.prod(len(values) for values in PUBLISHED.values())
