"""Say what would settle open pairs, what was large enough to be found, and what lies within a margin."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

from simlab.analysis.preferences.assurance import (
    boundary,
    detectable,
    detectable_anytime,
    detectable_by_flips,
    detectable_exactly,
    least_wins,
    settle_anytime,
    settle_exactly,
)
from simlab.analysis.preferences.cluster_flips import PRIOR, least_clusters
from simlab.analysis.preferences.fresh import CONCENTRATION
from simlab.analysis.preferences.places import contributions, orders_of
from simlab.analysis.preferences.sequential import mixture_evidence
from simlab.analysis.preferences.strengths import effective
from simlab.analysis.preferences.votes import clusters, own_number
from simlab.analysis.settling import Needed, Seen, needed
from simlab.answers.conclude import More
from simlab.concluding.preferences.claims import Claims, thin
from simlab.concluding.preferences.held import Held
from simlab.messages import several
from simlab.types import Bools

LIMIT = 100_000.0
"""More comparisons of a pair than anybody would buy."""

MOST_SUMMED_UP = 500
"""Votes of a pair up to which what an e-process finds is summed up: work grows with their square."""

LONGEST = 1_000
"""Wins in a row by which any e-process has reached what a family needs."""


def more(held: Held, found: Claims, k: int) -> More | None:
    """Return how many more comparisons settle an open pair with 80 % probability, by the test that speaks.

    Never fewer than it takes for its least p-value. None for a pair that is claimed, that was not compared, or that was
    only compared in one order, which more of the same do not settle.
    """
    of = found.tested
    if found.verdict[k] or not of.n[k] or orders_of(found.votes).one_way[k]:
        return None
    number, least, where = _needed(found, k), *_least(held, found, k)
    median, low, high = (max(one, least) for one in (number.median, number.low, number.high))
    return More(
        unit="comparisons",
        median=median,
        low=low,
        high=high,
        limit=LIMIT,
        per_unit=1.0,
        answers=f"comparisons of these two{where}",
    )


def _least(held: Held, found: Claims, k: int) -> tuple[float, str]:
    """Return the comparisons without which no claim can be made whatever they say, and what else they need."""
    wins, _, losses = found.votes.counts()[k].tolist()
    if found.promise.name == "anytime":
        further = np.arange(LONGEST)
        decided = np.stack([max(wins, losses) + further, 0 * further, min(wins, losses) + 0 * further], axis=1)
        return float(np.argmax(mixture_evidence(decided, CONCENTRATION) >= found.tested.critical_open)), ""
    if found.way == "vote":
        return float(least_wins(wins, losses, _level_of_next(found))), ""
    own = found.votes.where(found.votes.pair == k)
    cluster = np.unique(own_number(own.item if found.way == "item" else own.rater), return_inverse=True)[1]
    total = np.rint(np.bincount(cluster, contributions(own)[0])).astype(np.int64)
    short = least_clusters(total, found.promise.level)
    if not short:
        return 1.0, ""
    unit = held.unit if found.way == "item" else "rater"
    each = len(own.pair) / len(total)
    return short * max(each, 1.0), f" {'on' if unit != 'rater' else 'by'} {several(short, f'further {unit}')} at least"


def _level_of_next(found: Claims) -> float:
    """Return the level at which the next pair is claimed by Holm's step-down."""
    tested = found.family & (found.tested.n > 0) & ~orders_of(found.votes).one_way
    return found.promise.level / max(int(tested.sum()) - int(np.count_nonzero(found.verdict[tested])), 1)


def _needed(found: Claims, k: int) -> Needed:
    of = found.tested
    if found.promise.name == "fixed" and found.way == "vote":
        wins, ties, losses = found.votes.counts()[k].tolist()
        return settle_exactly(max(wins, losses), min(wins, losses), ties, _level_of_next(found), LIMIT)
    # Votes that are all alike have no error of their own; one more that is not must be reckoned with.
    n, sd = float(of.n[k]), max(float(of.sd[k]), 1 / float(of.n[k]))
    difference = float(of.difference[k])
    if found.promise.name == "anytime":
        decided = (float(np.count_nonzero(found.votes.value[found.votes.pair == k])) + 1) / (n + 1)
        return settle_anytime(difference, sd, n, decided, of.critical_open, CONCENTRATION, LIMIT)
    # More comparisons bring more clusters, whose errors are known: the bar is at most that of a normal law.
    known = float(ndtri(1 - _level_of_next(found) / 2))
    return needed(Seen(difference, sd**2, 0.0, min(of.critical_open, known), n), LIMIT)


def detectable_difference(found: Claims) -> float | None:
    """Return the share of wins less losses that a typical pair of such a table is claimed at with 80 % probability.

    Of the test that speaks: the exact sign test at the family's first step, flips of so many clusters, or e-processes.
    """
    of = found.tested
    there = found.family & (of.n > 1) & (of.sd > 0) & ~thin(found)
    if not there.any():
        return None
    sd, n = float(np.median(of.sd[there])), float(np.median(of.n[there]))
    share = float(np.mean(found.votes.value[there[found.votes.pair]] != 0))
    if found.promise.name == "fixed" and found.way == "vote":
        tested = max(int((found.family & (of.n > 0) & ~orders_of(found.votes).one_way).sum()), 1)
        exact = detectable_exactly(round(n * share), found.promise.level / tested)
        return None if exact is None else exact * share
    if found.promise.name == "fixed":
        freedom = _freedom(found, there)
        # Straightened totals of few reach less far than the t law, which is what those of another study are held to.
        least = float(stdtrit(max(freedom, 1.0), 1 - found.promise.level / 2))
        errors = detectable_by_flips(freedom, max(of.critical, least))
        if errors is None:
            return None
        # Votes vary less the further systems are apart: their share of decided ones less the square of a difference.
        variance = np.maximum(share - of.difference[there] ** 2, 1 / of.n[there])
        ratio = errors**2 * float(np.median(of.sd[there] ** 2 / variance))
        size = float(np.sqrt(ratio * share / (1 + ratio)))
    elif n * share <= MOST_SUMMED_UP:
        exact = detectable_anytime(max(round(n * share), 1), of.critical, CONCENTRATION)
        return None if exact is None else exact * share
    else:
        decided = share * n
        size = detectable(sd, 0.0) + float(boundary(decided, of.critical, CONCENTRATION)) / n
    return size if size <= 1 else None


def _freedom(found: Claims, there: Bools) -> float:
    """Return the degrees of freedom of a typical pair's error: of the scarcer of raters and items, and of the others.

    Where there are other pairs they lend it what `PRIOR` says.
    """
    each = clusters(found.votes, found.way)
    worth = [min(effective(one[found.votes.pair == k]) for one in each) for k in np.flatnonzero(there).tolist()]
    return float(np.median(worth)) - 1 + PRIOR * (len(worth) > 1)
