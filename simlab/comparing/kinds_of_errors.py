"""Count the right, missed, inverted and false claims of campaigns about each pair of systems.

A pair is two systems, a campaign one simulated study. `count_errors_in_cell` takes a store and the position of a cell
and returns the shares. Where campaigns live in several worlds the systems of one world are not those of another; so
systems are told apart by their place in the true order of their world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simlab.formulas import systems_of_pairs
from simlab.measures.errors import claims
from simlab.measures.jackknife import mark_successes, ratio_over_campaigns, repeat_by_campaign
from simlab.store.opening import outcome_names, outcomes_of_cell
from simlab.types import Array, Bools, Estimate, Floats, Ints, Outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

KINDS = ("found", "missed", "wrong way round", "false claim", "rightly no claim")
"""Kinds of claims about a pair: the first three where its systems truly differ, the others where they do not."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Shares of a cell's campaigns that make each kind of claim about each pair: `shares[kind, pair]`.

    The kinds are those of `KINDS`. `first[pair]` and `second[pair]` are the places of a pair in the true order of the
    `systems`, a number (0: best); `n` campaigns were carried out, in `worlds` worlds. `means[kind]` is the mean over
    pairs, with its error.
    """

    systems: int
    first: Ints
    second: Ints
    shares: Floats
    n: int
    worlds: int
    means: tuple[Estimate, ...]


def has_claims_and_truth(dataset: xr.Dataset) -> bool:
    """True if a store keeps the claims of campaigns about pairs, and the true directions of these."""
    names = set(outcome_names(dataset))
    return "true_direction" in names and ("verdict" in names or {"significant", "direction"} <= names)


def count_errors_in_cell(dataset: xr.Dataset, position: Sequence[int]) -> Kinds | None:
    """Return the shares of claims, pair by pair, in a cell of a store; None where no campaign was carried out.

    `position` has an index for each axis of the store.
    """
    return kinds(outcomes_of_cell(dataset, position))


def kinds(outcomes: Outcomes) -> Kinds | None:
    """Return the shares of claims, pair by pair; systems go by their place in the true order of their world.

    `outcomes` are the arrays of one cell by name, `[campaign, ...]`. None where no campaign succeeded.
    """
    ok = mark_successes(outcomes)
    if not ok.any():
        return None
    truth, claim = repeat_by_campaign(outcomes, "true_direction")[ok], claims(outcomes)[ok]
    n = systems_of_pairs(truth.shape[1])
    first, second = np.triu_indices(n, 1)
    shares = np.zeros((len(KINDS), len(first)))
    for world in np.unique(truth, axis=0):
        own = (truth == world).all(1)
        shares[:, _number_pairs_by_truth(world, n)] += _count_world_claims(world, claim[own])
    worlds = len(np.unique(outcomes["world"][ok]))
    return Kinds(n, first, second, shares / len(truth), len(truth), worlds, _means(outcomes))


def _means(outcomes: Outcomes) -> tuple[Estimate, ...]:
    """Estimate the share of pairs of each kind: means over campaigns, with errors of what these are replicated over."""
    shares = _kinds(repeat_by_campaign(outcomes, "true_direction"), claims(outcomes)).mean(2)
    return tuple(ratio_over_campaigns(outcomes, of_kind, np.ones_like(of_kind)) for of_kind in shares)


def order(truth: Array, n: int) -> Ints:
    """Order `n` systems by how many others they truly beat, less those that truly beat them; best first.

    `truth[pair]` is 1 where the first system of a pair is better, -1 where the second is, 0 where they are equal.

    >>> order(np.array([-1, -1, 0]), 3).tolist()
    [1, 2, 0]
    """
    first, second = np.triu_indices(n, 1)
    lead = np.bincount(first, truth, n) - np.bincount(second, truth, n)
    # Systems that are truly equal keep their order, so that a pair has the same place in all campaigns.
    placed: Ints = np.argsort(-lead, kind="stable")
    return placed


def _number_pairs_by_truth(truth: Array, n: int) -> Ints:
    """Return, for each pair of systems, the place of the pair of their places in the true order."""
    # The argsort of an order is its inverse: from systems to places.
    rank = np.argsort(order(truth, n))
    pairs = np.zeros((n, n), int)
    first, second = np.triu_indices(n, 1)
    pairs[first, second] = np.arange(len(first))
    ends = np.sort(rank[np.stack([first, second])], axis=0)
    placed: Ints = pairs[ends[0], ends[1]]
    return placed


def _count_world_claims(truth: Array, claim: Array) -> Ints:
    """Count the claims of the campaigns of one world: `[kind, pair]`."""
    counted: Ints = _kinds(truth, claim).sum(1)
    return counted


def _kinds(truth: Array, claim: Array) -> Bools:
    """Mark of which kind each claim is: `[kind, campaign, pair]`."""
    differ = truth != 0
    correct, none = (claim == truth) & differ, claim == 0
    return np.stack([correct, none & differ, (claim == -truth) & differ, ~none & ~differ, none & ~differ])
