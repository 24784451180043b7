"""Adjust p-values of many pairs of systems for their number (multiple testing).

Functions take and return `p_value[pair]`; a difference is found where the adjusted p-value is at most the level.
`FlipFamily` adjusts from statistics under flips of signs, which know how pairs depend on each other.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from simlab.types import Bools, Floats, Ints

Multiplicity: TypeAlias = Literal["none", "holm", "max_t", "bh"]
"""none: each pair by itself; holm, max_t: any false claim at most with the level's probability; bh: the share of false
claims among all is at most the level on average."""


class FlipFamily(NamedTuple):
    """Statistics of a test by flips, of all pairs at once.

    `observed[pair]` is the statistic, `null[pattern, pair]` the same under each pattern of flips; `every`: all patterns
    are there, the one that flips nothing among them; statistics that differ by at most `slack` are equal. `add_one`
    False: the observed pattern is not counted among drawn ones, as in published tests.
    """

    observed: Floats
    null: Floats
    every: bool
    slack: Floats | float
    add_one: bool = True

    def p_values(self) -> Floats:
        """Return each pair's own p-value."""
        return self._share(np.count_nonzero(self.null >= self.observed - self.slack, axis=0))

    def max_t(self) -> Floats:
        """Return the step-down p-values of the largest statistic.

        The most extreme pair is held against the largest of all pairs under each pattern, the next against the largest
        of all but the first, and so on: what is already found no longer raises the bar. The least p-value does not
        depend on the number of pairs. Source: Romano and Wolf 2005, algorithm 4.1; Westfall and Young 1993.
        """
        order = np.argsort(-self.observed, kind="stable")
        largest = np.maximum.accumulate(self.null[:, order[::-1]], axis=1)[:, ::-1]
        step = self._share(np.count_nonzero(largest >= (self.observed - self.slack)[order], axis=0))
        # A pair is never claimed before one with a more extreme statistic.
        return _restore_order(np.maximum.accumulate(step), order)

    def single_step(self) -> Floats:
        """Return p-values of the largest statistic of all pairs, in a single step."""
        largest = self.null.max(axis=1, initial=0.0)[:, None]
        return self._share(np.count_nonzero(largest >= self.observed - self.slack, axis=0))

    def step_down(self) -> Floats:
        """Return `max_t`, which steps down."""
        return self.max_t()

    def keep(self, pairs: Bools) -> FlipFamily:
        """Return the family of some of its pairs."""
        slack = self.slack[pairs] if isinstance(self.slack, np.ndarray) else self.slack
        return self._replace(observed=self.observed[pairs], null=self.null[:, pairs], slack=slack)

    def _share(self, extreme: Ints) -> Floats:
        n = len(self.null)
        # Drawn patterns leave out the one observed, which counts as one of them; published tests have b / B instead.
        return np.asarray((extreme + 1) / (n + 1) if self.add_one and not self.every else extreme / n)


def holm(p_value: Floats) -> Floats:
    """Keep the probability of any false claim below the level, whatever the dependence.

    The k-th smallest of m p-values is multiplied by m - k + 1. Source: Holm 1979.
    """
    order = np.argsort(p_value, kind="stable")
    step = np.minimum(p_value[order] * np.arange(len(p_value), 0, -1), 1.0)
    return _restore_order(np.maximum.accumulate(step), order)


def bh(p_value: Floats) -> Floats:
    """Keep the expected share of false claims below the level, for independent or positively dependent pairs.

    The k-th smallest of m p-values is multiplied by m / k. Source: Benjamini and Hochberg 1995.
    """
    order = np.argsort(-p_value, kind="stable")
    n = len(p_value)
    step = np.minimum(p_value[order] * (n / np.arange(n, 0, -1)), 1.0)
    return _restore_order(np.minimum.accumulate(step), order)


def adjust_p_values(p_value: Floats, multiplicity: Literal["holm", "bh"]) -> Floats:
    """Adjust p-values by one of the rules that need nothing else."""
    return {"holm": holm, "bh": bh}[multiplicity](p_value)


def _restore_order(values: Floats, order: Ints) -> Floats:
    placed = np.empty_like(values)
    placed[order] = values
    return placed
