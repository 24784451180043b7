"""Test which systems may be the best: comparisons of each candidate with all of its rivals.

Call `candidates` with the t statistics of all pairs; it returns p-values, and the lead beyond which a rival excludes a
candidate. Pairs are in the order of `np.triu_indices`.

A system is excluded where some rival leads it by more than rivals of a best system would: of a system that is the best,
no other truly leads, so that it is excluded with the level's probability at most, whichever it is. Bars of candidates
need no correction for one another, since only the best one's can err. With them the distance of every system from the
best is bounded at the same level. Source: Hsu 1981, 1984; Edwards and Hsu 1983 (pairs of unequal precision).

A lead is held against the largest |t| of the candidate's comparisons, to either side, where Hsu's bars are of one side:
of equal systems whose scores are skewed and differ in spread, errors go to one side, and bars of one side exclude a
best system in up to twice the level (`docs/promises.md`). Bars of both sides cost little power.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.studentized_range import EPSILON, SimulatedFamily, StudentFamily, TFamily, upper
from simlab.types import Bools, Floats


class Candidates(NamedTuple):
    """Tests of each system as a candidate for the best, `[system]`.

    `p_value` is that of its being a best one. `lead[candidate, rival]` is by how many standard errors the rival came
    out better (-inf for the candidate itself), `bar[candidate, rival]` the lead beyond which the candidate is excluded.
    """

    p_value: Floats
    bar: Floats
    lead: Floats

    @property
    def excluded(self) -> Bools:
        """True of systems that are not the best."""
        return np.asarray((self.lead > self.bar).any(-1))

    def bound_gaps_to_best(self, gap: Floats, error: Floats) -> Floats:
        """Return how far each system is behind the best at most, `[system]`, all at once.

        `gap[candidate, rival]` is by how much the rival came out better, `error[candidate, rival]` its standard error,
        infinite where two systems cannot be compared.
        """
        n, may, known = len(self.p_value), ~self.excluded, np.isfinite(error)
        most = np.where(known, np.where(known, gap, 0.0) + self.bar.T * np.where(known, error, 0.0), np.inf)
        # Only systems that may be the best bound how far others are behind it.
        most = np.where(may & ~np.eye(n, dtype=bool), most, -np.inf).max(1)
        return np.where(may & (may.sum() == 1), 0.0, np.maximum(most, 0.0))


def lay_out_leads(t: Floats, n_systems: int) -> Floats:
    """Lay t of pairs, first less second, out as leads of rivals, `[..., candidate, rival]`; -inf on the diagonal.

    >>> lay_out_leads(np.array([2.0]), 2).tolist()
    [[-inf, -2.0], [2.0, -inf]]
    """
    first, second = np.triu_indices(n_systems, 1)
    lead = np.full((*t.shape[:-1], n_systems, n_systems), -np.inf)
    lead[..., first, second] = -t
    lead[..., second, first] = t
    return lead


def candidates(family: TFamily, direction: Floats, n_systems: int, level: float) -> Candidates:
    """Test each system's being the best; `direction[pair]` is +1 where the first came out better, -1 the second.

    `family` holds |t| of all pairs (`size`), with their degrees of freedom or with |t| in simulated studies of equal
    systems (`studentized_range`). `level` is the probability with which a best system is excluded at most.
    """
    lead = lay_out_leads(family.size * direction, n_systems)
    bar = bars(family, n_systems, level)
    if isinstance(family, StudentFamily):
        return Candidates(_sidak(family, lead), bar, lead)
    largest = np.sort(_largest_statistics(family, n_systems))
    beyond = [largest.shape[1] - np.searchsorted(of, one) for of, one in zip(largest, lead.max(1), strict=True)]
    # The study itself counts as one of the simulated ones: the p-value stays valid and is never 0.
    return Candidates((1 + np.array(beyond)) / (1 + largest.shape[1]), bar, lead)


def bars(family: TFamily, n_systems: int, level: float) -> Floats:
    """Return the lead in standard errors beyond which a rival excludes a candidate, `[candidate, rival]`."""
    from scipy.special import stdtrit

    if isinstance(family, SimulatedFamily):
        each = upper(np.sort(_largest_statistics(family, n_systems)), level)
        return np.repeat(each[:, None], n_systems, 1)
    freedom = _make_symmetric(family.freedom, n_systems)
    # Sidak's share of the level for each of a candidate's n - 1 comparisons, split between both sides.
    return np.asarray(stdtrit(freedom, (1 + (1 - level) ** (1 / (n_systems - 1))) / 2))


def _largest_statistics(family: SimulatedFamily, n_systems: int) -> Floats:
    """Return the largest |t| of each candidate's comparisons, `[candidate, study]`."""
    first, second = np.triu_indices(n_systems, 1)
    return np.stack([family.null[:, (first == k) | (second == k)].max(1) for k in range(n_systems)])


def _sidak(family: StudentFamily, lead: Floats) -> Floats:
    """Return p-values as if the comparisons of a candidate were independent, which is conservative (Sidak 1967)."""
    from scipy.special import stdtr

    n = len(lead)
    least = 2 * stdtr(_make_symmetric(family.freedom, n), -np.maximum(lead, 0.0)).min(1)
    return np.asarray(-np.expm1((n - 1) * np.log1p(-np.minimum(least, 1 - EPSILON))))


def _make_symmetric(of_pair: Floats, n_systems: int) -> Floats:
    first, second = np.triu_indices(n_systems, 1)
    laid = np.ones((n_systems, n_systems))
    laid[first, second] = laid[second, first] = of_pair
    return laid
