"""Correct preferences for the order of presentation: some raters prefer the output shown first.

The place of a system is first or second. `join_orders` and `match_orders` merge votes given in both orders,
`contributions` corrects those of uneven pairs, `list_followers` finds raters who answer by place.

With systems i and j equal and b the preference for the first place, votes average b where i stands first and -b where j
does. So the mean over votes is no difference of systems unless both stood first as often; the mean of the two means is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from simlab.analysis.preferences.strengths import distances, fit
from simlab.analysis.preferences.votes import Votes
from simlab.analysis.sign_test import exact
from simlab.types import Bools, Floats, Ints

BY_DESIGN = 0.9
"""Share of outputs that nobody in particular compared several times, as often in either order, from which on that is
taken for the design: somebody asked in both orders."""

NEARLY_ALL = 0.9
"""Share of answers for one place from which on answers are called those of the place."""

EVEN = 2.5
"""Standard deviations of fair coins up to which a system is taken to have stood first by chance."""

OFTEN, UNLIKELY = 10, 0.001
"""Fewest answers of a rater who is reported, and the p-value of as many for one place below which a rater is."""


class BothOrders(NamedTuple):
    """Votes of which those on the same outputs in both orders by the same rater are one.

    `n_repeated` counts outputs that a rater compared in both orders, `flipped` those whose answers are not the same:
    they are left out of `votes`. In `design` they are left in, so that its raters and items do not depend on answers.
    """

    votes: Votes
    n_repeated: int
    flipped: int
    design: Votes


class Follower(NamedTuple):
    """A rater (-1: nobody in particular) with `n` answers of which the share `share` is for one place.

    `first`: it is the first place. `chance` is the share that the strengths of the systems let expect.
    """

    rater: int
    first: bool
    n: int
    share: float
    chance: float


class Orders(NamedTuple):
    """Order of the systems in each pair's votes, `[pair]`.

    `one_way`: the same system always stood first, so that its wins are not told from those of the place. `uneven`: one
    stood first more often than chance has it.
    """

    one_way: Bools
    uneven: Bools


def join_orders(votes: Votes) -> BothOrders:
    """Join a rater's two votes on the same outputs in both orders to one: the answer if it is the same twice.

    If systems are exchangeable, a pair of answers is as likely as the one that the exchange makes of it, so that an
    answer kept is a fair coin however much raters prefer a place; answers that go with the place say nothing of the
    systems. Votes of nobody in particular are joined where the table looks as if somebody asked in both orders.
    """
    if votes.place is None:
        return BothOrders(votes, 0, 0, votes)
    known = (votes.place != 0) & (votes.item >= 0)
    cell = _cells(votes, known)
    n_cells = int(cell.max(initial=-1)) + 1
    sides = [known & (votes.place == side) for side in (1, -1)]
    ahead = np.stack([np.bincount(cell[side], votes.value[side], n_cells) for side in sides])
    n = np.stack([np.bincount(cell[side], minlength=n_cells) for side in sides])
    both = np.asarray((n > 0).all(0))
    nobody = np.zeros(n_cells, bool)
    nobody[cell[known & (votes.rater < 0)]] = True
    repeated = nobody & (n.sum(0) > 1)
    if repeated.any() and np.mean((n[0] == n[1])[repeated]) < BY_DESIGN:
        both &= ~nobody
    answer = np.sign(ahead)
    same = answer[0] == answer[1]
    inside = known & both[cell]
    # Votes that are not joined have a number of their own, so that each of them is kept as its own earliest.
    _, earliest = np.unique(np.where(inside, cell, n_cells + np.arange(len(cell))), return_index=True)
    kept = ~inside
    kept[earliest] = True
    value = np.where(inside, answer[0][cell], votes.value).astype(np.int64)
    place = np.where(inside, 0, votes.place)
    joined = replace(votes, value=value, place=place)
    left = joined.select_votes(kept & (~inside | same[cell]))
    return BothOrders(left, int(both.sum()), int((both & ~same).sum()), joined.select_votes(kept))


def _cells(votes: Votes, known: Bools) -> Ints:
    """Number votes so that those of a rater (or of nobody in particular) on the same outputs agree; 0: not `known`."""
    key = np.zeros(len(known), np.int64)
    for column in (votes.pair, votes.item, votes.rater):
        # Nobody in particular is -1, hence one more.
        _, key = np.unique(key * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)
    return np.asarray(np.where(known, key, 0))


def match_orders(votes: Votes) -> Votes:
    """Join the k-th vote in one order with the k-th in the other where these are uneven: the answer if it is the same.

    What is joined stands where the later one came; a rest without a partner is left out. Each answer that is kept is a
    fair coin where systems are equal, whatever a place is worth, so that evidence may be gathered vote by vote.
    """
    orders = known_orders(votes)
    if votes.place is None or not (orders.uneven | orders.one_way).any():
        return votes
    place, kept = votes.place.copy(), np.ones(len(votes.pair), bool)
    for pair in np.flatnonzero(orders.uneven | orders.one_way):
        first, second = (np.flatnonzero((votes.pair == pair) & (votes.place == side)) for side in (1, -1))
        n = min(len(first), len(second))
        kept[first], kept[second] = False, False
        late = np.maximum(first[:n], second[:n])
        kept[late] = votes.value[first[:n]] == votes.value[second[:n]]
        place[late] = 0
    return replace(votes, place=place).select_votes(kept)


def systems_at_one_place(votes: Votes) -> Bools:
    """Mark the systems that always stood first, or always second, where the place is known: `[system]`."""
    n, lead = _places_of_systems(votes)
    return np.asarray((n > 0) & (np.abs(lead) == n))


def are_places_balanced(votes: Votes) -> bool:
    """True if each system stood first about as often as second: preferences for a place then cancel in a table."""
    n, lead = _places_of_systems(votes)
    return not bool((np.abs(lead) > EVEN * np.sqrt(np.maximum(n, 1))).any())


def _places_of_systems(votes: Votes) -> tuple[Ints, Ints]:
    """Count each system's votes, and how many more times it stood first than second: `[system]`."""
    place = np.zeros_like(votes.pair) if votes.place is None else votes.place
    first, second = (index[votes.pair] for index in np.triu_indices(votes.n_systems, 1))
    n = np.bincount(first, minlength=votes.n_systems) + np.bincount(second, minlength=votes.n_systems)
    lead = np.bincount(first, place, votes.n_systems) - np.bincount(second, place, votes.n_systems)
    return n, np.asarray(lead, np.int64)


def known_orders(votes: Votes) -> Orders:
    """Mark the pairs in which places are known and one system stood first always, or too often.

    Up to one standard deviation of fair coins a place is called even: there the sign test of votes as they are stays
    within .001 of its level of .05 whatever a place is worth, since what it adds to the mean it takes from the spread.
    """
    nothing = np.zeros(votes.n_pairs, bool)
    if votes.place is None:
        return Orders(nothing, nothing)
    n = np.bincount(votes.pair, minlength=votes.n_pairs)
    lead = np.abs(np.bincount(votes.pair, votes.place, votes.n_pairs))
    placed = np.bincount(votes.pair, np.abs(votes.place), votes.n_pairs)
    return Orders((n > 0) & (lead == n), lead > np.sqrt(placed))


def contributions(votes: Votes) -> tuple[Floats, Floats]:
    """Return what each vote adds to a pair's wins less losses at equal places, and what it weighs: `[vote]`.

    Of pairs in uneven order the regression of the vote on the place is taken off twice: off the vote as it is where
    systems are equal (a score test with the place's worth restricted), and off the system that is first (Frisch and
    Waugh 1933). Total over weight is then half the sum of the mean in either order; both are 0 in one order alone.
    """
    value, weight = votes.value.astype(float), np.ones(len(votes.pair))
    uneven = known_orders(votes).uneven
    if votes.place is None or not uneven.any():
        return value, weight
    place = votes.place.astype(float)
    square = np.maximum(np.bincount(votes.pair, place**2, votes.n_pairs), 1.0)
    lead = np.bincount(votes.pair, place, votes.n_pairs) / square
    worth = np.bincount(votes.pair, place * value, votes.n_pairs) / square
    changed = uneven[votes.pair]
    left = 1 - lead[votes.pair] * place
    value = np.where(changed, left * (value - worth[votes.pair] * place), value)
    return value, np.where(changed, left**2, weight)


def fisher_p_values_of_places(votes: Votes) -> Floats:
    """Return two-sided p-values of Fisher's exact test, `[pair]`, of whether the first wins as often whoever is first.

    If systems are equal it does, whatever a place is worth. Ties are left out. What both orders agree on has no place:
    it is held to the sign test, and the smaller of both p-values counts twice. Source: Fisher 1935 (given all margins
    the wins of the first place in one of the two orders have a hypergeometric law).
    """
    place = np.zeros_like(votes.value) if votes.place is None else votes.place
    wins = {
        (side, won): np.bincount(votes.pair[(place == side) & (votes.value == won)], minlength=votes.n_pairs)
        for side in (1, -1, 0) for won in (1, -1)
    }  # fmt: skip
    # Columns are wins and losses of the first place: in the second order those of the second system.
    p_value = fisher_p_values(wins[1, 1], wins[1, -1], wins[-1, -1], wins[-1, 1])
    free = np.stack([wins[0, 1], np.zeros_like(wins[0, 1]), wins[0, -1]], axis=1)
    there = free.any(1)
    return np.where(there, np.minimum(2 * np.minimum(p_value, exact(free)), 1.0), p_value)


def fisher_p_values(a: Ints, b: Ints, c: Ints, d: Ints) -> Floats:
    """Return the p-values of Fisher's exact test of tables of counts ((a, b), (c, d)), `[table]`.

    >>> one = (np.array([5]), np.array([0]), np.array([0]), np.array([5]))
    >>> fisher_p_values(*one).round(4).tolist()
    [0.0079]
    """
    row, column, total = (a + b)[:, None], (a + c)[:, None], (a + b + c + d)[:, None]
    k = np.arange(int(row.max(initial=0)) + 1)
    possible = (k <= np.minimum(row, column)) & (k >= np.maximum(0, row + column - total))
    inside = np.where(possible, k, np.maximum(0, row + column - total))
    log = binomial(row, inside) + binomial(total - row, column - inside) - binomial(total, column)
    chance = np.where(possible, np.exp(log), 0.0)
    observed = np.take_along_axis(chance, a[:, None], axis=1)
    # Tables as likely as the observed one count, whatever rounding makes of them.
    return np.asarray(np.minimum(np.where(chance <= observed * (1 + 1e-7), chance, 0.0).sum(1), 1.0))


def binomial(n: Ints, k: Ints) -> Floats:
    """Return the logarithm of n over k."""
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def list_followers(votes: Votes) -> list[Follower]:
    """List raters whose answers go with the place in nearly all comparisons, and more often than systems let expect."""
    from scipy.special import bdtrc

    if votes.place is None:
        return []
    decided = votes.select_votes((votes.value != 0) & (votes.place != 0))
    if decided.place is None or not len(decided.pair):
        return []
    apart = distances(fit(decided.counts(), decided.n_systems).value)[decided.pair]
    expected = 1 / (1 + np.exp(-apart * decided.place))
    wins = decided.value * decided.place > 0
    raters, own = np.unique(decided.rater, return_inverse=True)
    n = np.bincount(own)
    won_first, expected_first = np.bincount(own, wins) / n, np.bincount(own, expected) / n
    first = won_first >= 0.5
    share = np.where(first, won_first, 1 - won_first)
    chance = np.where(first, expected_first, 1 - expected_first)
    # bdtrc of k - 1 is the chance of k or more.
    likely = bdtrc(np.round(share * n) - 1, n, chance)
    followers = np.flatnonzero((n >= OFTEN) & (share >= NEARLY_ALL) & (likely < UNLIKELY)).tolist()
    return [Follower(int(raters[k]), bool(first[k]), int(n[k]), float(share[k]), float(chance[k])) for k in followers]
