"""Adjust t statistics of many pairs at once, each with degrees of freedom of its own: Tukey, Kramer and Sidak.

A family holds |t| of all pairs: `StudentFamily` takes them as Student's, `SimulatedFamily` compares them with simulated
studies. `max_t` returns adjusted p-values, `claims` the pairs that pass a level.

scipy's `studentized_range` integrates anew for each value; a simulated campaign asks for a hundred pairs at a time, so
that here the law of the range is tabulated once for each number of systems.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from simlab.analysis.multiplicity import FlipFamily
from simlab.formulas import passes
from simlab.types import Bools, Floats, Ints

_NODES, _SPREAD, _TAIL = 241, 9.0, 30.0
"""Nodes over the logarithm of the estimated standard deviation; its range in standard deviations, and to the left."""

_WIDEST, _STEPS = 14.0, 1401
"""The largest |z| that is tabulated, and the number of steps."""


EPSILON = float(np.finfo(float).eps)

ERROR = 1e-3
"""Share of a p-value, at least, by which the tabulated law may err."""


class StudentFamily(NamedTuple):
    """|t| of pairs (`size`) and their degrees of freedom, `[pair]`; 0 and 1 of pairs that cannot be compared.

    `n_systems` are compared in all pairs, or (0) these pairs alone are.
    """

    size: Floats
    freedom: Floats
    n_systems: int

    def p_values(self) -> Floats:
        """Return each pair's own two-sided p-value."""
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(self.freedom, -self.size))

    def max_t(self) -> Floats:
        """Return step-down p-values for all pairs at once.

        The most extreme pair is held against the largest of all pairs, the next against the largest of all but the
        first, and so on. All pairs: the studentized range with each pair's degrees of freedom, conservative where
        systems have errors of unequal size. Fewer: as if these were independent, which is conservative; the smaller of
        both. Source: Tukey 1953; Kramer 1956; Hayter 1984; Sidak 1967; Romano and Wolf 2005 for stepping down.
        """
        order, own = self._order_p_values()
        step = _sidak_steps(own)
        if self.n_systems:
            step = np.minimum(step, self._range_steps(order))
        adjusted = np.empty_like(step)
        adjusted[order] = np.maximum.accumulate(step)
        return adjusted

    def claims(self, level: float) -> Bools:
        """Return which pairs pass a level by `max_t`; the range is worked out only where it decides."""
        order, own = self._order_p_values()
        passed = passes(_sidak_steps(own), level)
        if self.n_systems:
            # A p-value for all pairs is no smaller than the pair's own, but for the error of the table.
            near = np.flatnonzero(~passed & (own <= level * (1 + ERROR)))
            passed[near] = passes(self._range_steps(order[near]), level)
        claimed = np.empty_like(passed)
        claimed[order] = np.logical_and.accumulate(passed)
        return claimed

    def _order_p_values(self) -> tuple[Ints, Floats]:
        """Return pairs in the order of their own p-values, and these."""
        own = self.p_values()
        order = np.argsort(own, kind="stable")
        return order, own[order]

    def _range_steps(self, pairs: Ints) -> Floats:
        return tail(self.size[pairs], self.freedom[pairs], self.n_systems, len(self.size))

    def single_step(self) -> Floats:
        """Return p-values for all pairs at once in a single step, as intervals are."""
        return tail(self.size, self.freedom, self.n_systems, len(self.size))

    def step_down(self) -> Floats:
        """Return `max_t`, which steps down."""
        return self.max_t()

    def keep(self, pairs: Bools) -> StudentFamily:
        """Return the family of the pairs marked by `pairs[pair]`."""
        return StudentFamily(self.size[pairs], self.freedom[pairs], 0) if not pairs.all() else self

    def bar(self, level: float) -> Floats:
        """Return the |t| from which each pair is claimed at a level, `[pair]`."""
        low, high = np.zeros_like(self.size), np.full_like(self.size, 2.0)
        while (beyond := tail(high, self.freedom, self.n_systems, len(high)) > level).any():
            high = np.where(beyond, 2 * high, high)
        for _ in range(50):
            middle = (low + high) / 2
            above = tail(middle, self.freedom, self.n_systems, len(high)) > level
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return high


def _sidak_steps(own: Floats) -> Floats:
    """Return step-down p-values before they are made to rise, from pairs' own in their order."""
    return np.asarray(-np.expm1(np.arange(len(own), 0, -1) * np.log1p(-np.minimum(own, 1 - EPSILON))))


class SimulatedFamily(NamedTuple):
    """|t| of pairs (`size`), degrees of freedom, `[pair]`, and |t| in studies of equal systems, `null[study, pair]`."""

    size: Floats
    freedom: Floats
    null: Floats

    def p_values(self) -> Floats:
        """Return each pair's own two-sided p-value, by Student's t."""
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(self.freedom, -self.size))

    def max_t(self) -> Floats:
        """Return p-values for all pairs at once: in a single step, as intervals are."""
        largest = np.sort(self.null.max(1))
        # Studies that come out just as far count as beyond, since searchsorted takes the place before equal values.
        beyond = len(largest) - np.searchsorted(largest, self.size)
        return np.asarray((1 + beyond) / (1 + len(largest)))

    def claims(self, level: float) -> Bools:
        """Return which pairs pass a level by `max_t`."""
        return passes(self.max_t(), level)

    def single_step(self) -> Floats:
        """Return `max_t`, which is in a single step."""
        return self.max_t()

    def step_down(self) -> Floats:
        """Return p-values by stepping down: pairs already claimed no longer raise the bar for the rest."""
        return FlipFamily(self.size, self.null, every=False, slack=0.0).max_t()

    def keep(self, pairs: Bools) -> SimulatedFamily:
        """Return the family of some of its pairs."""
        if pairs.all():
            return self
        return SimulatedFamily(self.size[pairs], self.freedom[pairs], self.null[:, pairs])

    def bar(self, level: float) -> Floats:
        """Return the |t| beyond which each pair is claimed at a level, `[pair]`; infinite where studies are too few."""
        return np.full(len(self.size), upper(np.sort(self.null.max(1)), level))


def upper(ordered: Floats, level: float) -> Floats:
    """Return the value that a statistic must exceed for p <= level; `ordered[..., study]` are sorted simulated ones."""
    # A whole number may come out just below itself in binary.
    reached = math.floor(level * (1 + ordered.shape[-1]) + EPSILON)
    return np.asarray(ordered[..., -reached] if reached else np.full(ordered.shape[:-1], np.inf))


TFamily: TypeAlias = StudentFamily | SimulatedFamily
"""t statistics of all pairs, compared with Student's law or with simulated studies."""


def tail(size: Floats, freedom: Floats, n_systems: int, n_pairs: int) -> Floats:
    """Return P(some |t| of the family exceeds `size`), elementwise; all t have the degrees `freedom`.

    The family is all pairs of `n_systems`, or with `n_systems` 0 `n_pairs` independent pairs.
    """
    grid, beyond = _tabulate_largest(n_systems, n_pairs)
    df = np.asarray(freedom, float)[:, None]
    spread = 1 / np.sqrt(2 * df)
    # To the left the density falls only as e^(df x), so that few degrees of freedom need 30 / df more.
    low = -(_SPREAD * spread + _TAIL / df)
    x = low + (_SPREAD * spread - low) * np.linspace(0, 1, _NODES)
    # log s of a standard deviation with df degrees of freedom has a density proportional to this.
    density = np.exp(df * x - df / 2 * np.expm1(2 * x))
    exceeded = np.interp(np.asarray(size, float)[:, None] * np.exp(x), grid, beyond)
    return np.asarray(np.clip((density * exceeded).sum(1) / density.sum(1), 0.0, 1.0))


@lru_cache(maxsize=64)
def _tabulate_largest(n_systems: int, n_pairs: int) -> tuple[Floats, Floats]:
    """Tabulate P(largest |z| > z) of all pairs of systems, or of so many independent pairs (`n_systems` 0)."""
    from scipy.special import ndtr

    z = np.linspace(0, _WIDEST, _STEPS)
    if n_systems == 0:
        return z, np.asarray(-np.expm1(n_pairs * np.log1p(-np.minimum(2 * ndtr(-z), 1 - EPSILON))))
    u = np.linspace(-_WIDEST, _WIDEST, 1201)
    phi = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    range_ = np.sqrt(2) * z[:, None]
    within = n_systems * phi * (ndtr(u + range_) - ndtr(u)) ** (n_systems - 1)
    # For smooth functions that vanish at both ends the trapezoid rule is all but exact.
    inside = np.trapezoid(within, u, axis=1)
    return z, np.clip(1 - inside, 0.0, 1.0)
