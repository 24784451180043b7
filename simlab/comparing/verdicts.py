"""Compare the verdicts of a campaign on pairs of systems with the full human evaluation.

`matrix` takes one cell of a store of comparisons and returns the arrays that a figure draws. A verdict is 1 where the
first system of a pair is called better, -1 where the second is, 0 where neither is. Source: Deriu et al. 2023, figure
1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simlab.types import OK, Array, Floats, Ints

if TYPE_CHECKING:
    import xarray as xr

DIFFERENT, EQUAL, INVERSION, OMISSION, INSERTION = range(5)
"""Outcomes of comparing a verdict with the reference: the same (a difference, or none), or one of three errors."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Verdicts of a cell about pairs, systems in the order of the full human evaluation.

    `match[pair]` compares the verdict of one campaign (`world`, `study`) with the reference, DIFFERENT to INSERTION;
    `wrong[pair]` is the share of that world's `campaigns` that judge the pair otherwise than all human ratings.
    `better[pair]` and `worse[pair]` are the pair's systems, indices into `names`.
    """

    names: tuple[str, ...]
    better: Ints
    worse: Ints
    match: Ints
    wrong: Floats
    campaigns: int
    world: int
    study: int


def matrix(cell: xr.Dataset) -> Matrix | None:
    """Return the verdicts of the first successful campaign of a cell, and how often others of its world err.

    `cell` is a store with its outcomes, narrowed to one value of each axis. None where no campaign succeeded.
    """
    ran = np.flatnonzero(cell["status"].values == OK)
    if not ran.size:
        return None
    world = cell["world"].values
    # Pairs are the same systems within a world only.
    ran = ran[world[ran] == world[ran[0]]]
    n = int(cell["n_systems"])
    own = np.flatnonzero(cell["pair_second"].values < n)
    ends = np.stack([cell["pair_first"].values[own], cell["pair_second"].values[own]])
    match = matches(cell["verdict"].values[np.ix_(ran, own)], cell["reference_verdict"].values[np.ix_(ran, own)])
    order = _order(ends, cell["reference_p"].values[ran[0], own], n)
    ranks = np.argsort(order)[ends]
    return Matrix(
        tuple(str(name) for name in cell["system"].values[order]),
        ranks.min(0),
        ranks.max(0),
        match[0],
        (match >= INVERSION).mean(0),
        len(ran),
        int(world[ran[0]]),
        int(cell["study"].values[ran[0]]),
    )


def matches(verdict: Array, reference: Array) -> Ints:
    """Compare each verdict with the reference; return DIFFERENT to INSERTION for each.

    >>> matches(np.array([1, 0, -1, 0, 1]), np.array([1, 0, 1, 1, 0])).tolist()
    [0, 1, 2, 3, 4]
    """
    error = np.where(verdict == 0, OMISSION, np.where(reference == 0, INSERTION, INVERSION))
    match: Ints = np.where(verdict == reference, np.where(verdict == 0, EQUAL, DIFFERENT), error)
    return match


def _order(ends: Ints, rates: Floats, n: int) -> Ints:
    """Order `n` systems by wins less losses over all pairs, the best first.

    `ends[2, pair]` are the systems of a pair, `rates[pair, 3]` the shares of its ratings: first wins, tie, second wins.
    """
    lead = np.nan_to_num(rates[:, 0] - rates[:, 2])
    total = np.bincount(ends[0], lead, n) - np.bincount(ends[1], lead, n)
    order: Ints = np.argsort(-total, kind="stable")
    return order
