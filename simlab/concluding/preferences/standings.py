"""Estimate strengths and ranks of systems from votes, and the comparisons that would settle open pairs.

`standing` fits strengths (values of systems on one scale) to all votes; `systems` returns shares of wins and ranks.
`count_further_votes` and `detectable_difference` refer to the test that made the claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from simlab.analysis.needed_units import NeededUnits, ObservedEstimate, count_needed_units
from simlab.analysis.preferences.anytime_votes import CONCENTRATION
from simlab.analysis.preferences.assurance import (
    boundary,
    detectable_difference_by_flips,
    find_detectable_lead_by_mixture,
    find_detectable_lead_by_sign_test,
    least_detectable_difference,
    least_wins,
    settle_anytime,
    settle_exactly,
)
from simlab.analysis.preferences.cluster_flips import PRIOR, least_clusters
from simlab.analysis.preferences.places import are_places_balanced, contributions, known_orders, systems_at_one_place
from simlab.analysis.preferences.scales import Dropped, Explained, StrengthScale, drop, explain_scale, quantile, scale
from simlab.analysis.preferences.sequential import mixture_evidence
from simlab.analysis.preferences.strengths import Strengths, contrast_errors, effective_clusters, fit, win_shares
from simlab.analysis.preferences.votes import Votes, Way, choose_way, clusters, own_number, way_of_all
from simlab.answers.standings import Limit, More, Rank, System, rank_limits
from simlab.concluding.possible_ranks import bound_ranks
from simlab.concluding.preferences.claims import PreferenceClaims, thin
from simlab.concluding.preferences.votes import NamedVotes
from simlab.messages import pluralise
from simlab.rng import stream
from simlab.types import Bools, Floats, Ints

LIMIT = 100_000.0
"""Largest number of further comparisons of a pair that is foreseen."""

MOST_SUMMED_UP = 500
"""Votes of a pair up to which what an e-process finds is summed up: work grows with their square."""

LONGEST = 1_000
"""Wins in a row by which any e-process has reached what a family needs."""

SPARSE = 0.1
"""Share of pairs that nothing could claim from which on ranks follow from strengths: pairs alone say too little."""

UNSURE = 0.01
"""p-value below which one strength a system does not explain the comparisons."""


def count_further_votes(named: NamedVotes, claims: PreferenceClaims, k: int) -> More | None:
    """Return how many more comparisons settle the open pair `k` with 80 % probability, by the test of its claims.

    Never fewer than it takes for its least p-value. None for a pair that is claimed, that was not compared, or that was
    only compared in one order, which more of the same do not settle.
    """
    of = claims.tested
    if claims.verdict[k] or not of.n[k] or known_orders(claims.votes).one_way[k]:
        return None
    number, least, where = _estimate_needed_votes(claims, k), *_count_fewest_votes(named, claims, k)
    median, low, high = (max(count, least) for count in (number.median, number.low, number.high))
    return More(
        unit="comparisons",
        median=median,
        low=low,
        high=high,
        limit=LIMIT,
        per_unit=1.0,
        answers=f"comparisons of these two{where}",
    )


def _count_fewest_votes(named: NamedVotes, claims: PreferenceClaims, k: int) -> tuple[float, str]:
    """Return the comparisons without which no claim can be made whatever they say, and what else they need."""
    wins, _, losses = claims.votes.counts()[k].tolist()
    if claims.promise.name == "anytime":
        # The fewest votes are those of a row of wins without a loss: nothing moves an e-process faster.
        further = np.arange(LONGEST)
        decided = np.stack([max(wins, losses) + further, 0 * further, min(wins, losses) + 0 * further], axis=1)
        return float(np.argmax(mixture_evidence(decided, CONCENTRATION) >= claims.tested.critical_open)), ""
    if claims.way == "vote":
        return float(least_wins(wins, losses, _level_of_next(claims))), ""
    own = claims.votes.select_votes(claims.votes.pair == k)
    cluster = np.unique(own_number(own.item if claims.way == "item" else own.rater), return_inverse=True)[1]
    total = np.rint(np.bincount(cluster, contributions(own)[0])).astype(np.int64)
    short = least_clusters(total, claims.promise.level)
    if not short:
        return 1.0, ""
    unit = named.unit if claims.way == "item" else "rater"
    each = len(own.pair) / len(total)
    return short * max(
        each, 1.0
    ), f" {'on' if unit != 'rater' else 'by'} {pluralise(short, f'further {unit}')} at least"


def _level_of_next(claims: PreferenceClaims) -> float:
    """Return the level at which the next pair is claimed by Holm's step-down."""
    tested = claims.family & (claims.tested.n > 0) & ~known_orders(claims.votes).one_way
    # Holm divides the level by the pairs that are still open, never by fewer than one.
    return claims.promise.level / max(int(tested.sum()) - int(np.count_nonzero(claims.verdict[tested])), 1)


def _estimate_needed_votes(claims: PreferenceClaims, k: int) -> NeededUnits:
    of = claims.tested
    if claims.promise.name == "fixed" and claims.way == "vote":
        wins, ties, losses = claims.votes.counts()[k].tolist()
        return settle_exactly(max(wins, losses), min(wins, losses), ties, _level_of_next(claims), LIMIT)
    # Votes that are all alike have no error of their own; one more that is not must be reckoned with.
    n, sd = float(of.n[k]), max(float(of.sd[k]), 1 / float(of.n[k]))
    difference = float(of.difference[k])
    if claims.promise.name == "anytime":
        decided = (float(np.count_nonzero(claims.votes.value[claims.votes.pair == k])) + 1) / (n + 1)
        return settle_anytime(difference, sd, n, decided, of.critical_open, CONCENTRATION, LIMIT)
    # More comparisons bring more clusters, whose errors are known: the bar is at most that of a normal law.
    known = float(ndtri(1 - _level_of_next(claims) / 2))
    return count_needed_units(ObservedEstimate(difference, sd**2, 0.0, min(of.critical_open, known), n), LIMIT)


def detectable_difference(claims: PreferenceClaims) -> float | None:
    """Return the share of wins less losses at which a typical pair of the table is claimed with 80 % probability.

    The test is that of the claims: exact sign tests at the family's first step, flips of clusters, or e-processes. None
    where there is no such share.
    """
    of = claims.tested
    there = claims.family & (of.n > 1) & (of.sd > 0) & ~thin(claims)
    if not there.any():
        return None
    sd, n = float(np.median(of.sd[there])), float(np.median(of.n[there]))
    share = float(np.mean(claims.votes.value[there[claims.votes.pair]] != 0))
    if claims.promise.name == "fixed" and claims.way == "vote":
        tested = max(int((claims.family & (of.n > 0) & ~known_orders(claims.votes).one_way).sum()), 1)
        exact = find_detectable_lead_by_sign_test(round(n * share), claims.promise.level / tested)
        return None if exact is None else exact * share
    if claims.promise.name == "fixed":
        freedom = _freedom(claims, there)
        # Straightened totals of few reach less far than the t law, which is what those of another study are held to.
        least = float(stdtrit(max(freedom, 1.0), 1 - claims.promise.level / 2))
        errors = detectable_difference_by_flips(freedom, max(of.critical, least))
        if errors is None:
            return None
        # Votes vary less the further systems are apart: their share of decided ones less the square of a difference.
        variance = np.maximum(share - of.difference[there] ** 2, 1 / of.n[there])
        ratio = errors**2 * float(np.median(of.sd[there] ** 2 / variance))
        # Solves size^2 = ratio * (share - size^2): the variance itself falls with the difference.
        size = float(np.sqrt(ratio * share / (1 + ratio)))
    elif n * share <= MOST_SUMMED_UP:
        exact = find_detectable_lead_by_mixture(max(round(n * share), 1), of.critical, CONCENTRATION)
        return None if exact is None else exact * share
    else:
        decided = share * n
        size = least_detectable_difference(sd, 0.0) + float(boundary(decided, of.critical, CONCENTRATION)) / n
    return size if size <= 1 else None


def _freedom(claims: PreferenceClaims, there: Bools) -> float:
    """Return the degrees of freedom of a typical pair's error: of the scarcer of raters and items, and of the others.

    Where there are other pairs they lend it what `PRIOR` says.
    """
    each = clusters(claims.votes, claims.way)
    worth = [
        min(effective_clusters(cluster[claims.votes.pair == k]) for cluster in each)
        for k in np.flatnonzero(there).tolist()
    ]
    # The scarcer factor decides: many items do not make up for few raters.
    return float(np.median(worth)) - 1 + PRIOR * (len(worth) > 1)


@dataclass(frozen=True, slots=True)
class FittedStrengths:
    """Strengths `fitted` with their errors (`scale`), the test of their fit (`explained`), and how firm the top is.

    `fitted` is None where all votes are ties. `dropped` is the number of votes without which another system is on top,
    `way` names the units taken as independent. `ranks_by` is the source of ranks: claims on pairs alone, or strengths,
    too.
    """

    fitted: Strengths | None
    scale: StrengthScale | None
    explained: Explained | None
    dropped: Dropped | None
    way: Way
    ranks_by: Literal["pairs", "strengths"]


def standing(named: NamedVotes, claims: PreferenceClaims, level: float, seed: int) -> FittedStrengths:
    """Fit strengths to all votes, and decide where ranks come from."""
    votes, way = named.votes, way_of_all(named.design)
    counts = votes.counts()
    if not (counts[:, 0] + counts[:, 2]).any():
        return FittedStrengths(None, None, None, None, way, "pairs")
    fitted = fit(counts, votes.n_systems)
    sparse = float(thin(claims).mean()) > SPARSE and votes.n_systems > 2 and are_places_balanced(votes)
    return FittedStrengths(
        fitted=fitted,
        scale=scale(stream(seed, "conclude", "strengths"), votes, way, fitted, level),
        explained=explain_scale(votes, choose_way(named.design), fitted),
        dropped=None if systems_at_one_place(votes).any() else drop(counts, fitted),
        way=way,
        ranks_by="strengths" if sparse else "pairs",
    )


def systems(named: NamedVotes, claims: PreferenceClaims, stands: FittedStrengths, level: float) -> list[System]:
    """Return each system's share of wins against the average of the others, ties half, and its possible ranks."""
    n = votes_of_systems(named.raw_votes)
    verdict = claims.verdict
    if stands.ranks_by == "strengths" and stands.scale:
        # A claim binds: strengths say the rest, so that no rank contradicts a claim.
        verdict = np.where(verdict != 0, verdict, stands.scale.verdict)
    low_rank, high_rank = bound_ranks(verdict, named.votes.n_systems)
    share, low, high = shares(named, stands, level)
    return [
        System.build(name, *row)
        for name, row in zip(
            named.system_names,
            zip(
                n.tolist(),
                share.tolist(),
                low.tolist(),
                high.tolist(),
                low_rank.tolist(),
                high_rank.tolist(),
                strict=True,
            ),
            strict=True,
        )
    ]


def shares(named: NamedVotes, stands: FittedStrengths, level: float) -> tuple[Floats, Floats, Floats]:
    """Return shares of wins and the bounds of their intervals, `[system]`; NaN of one that nothing compares."""
    n = named.votes.n_systems
    if stands.fitted is None or stands.scale is None:
        compared = votes_of_systems(named.raw_votes) > 0
        return np.where(compared, 0.5, np.nan), np.where(compared, 0.0, np.nan), np.where(compared, 1.0, np.nan)
    share, gradient = win_shares(stands.fitted)
    with np.errstate(divide="ignore", invalid="ignore"):
        # On the scale of logits bounds stay within 0 and 1.
        logit = np.log(share / (1 - share))
        reach = quantile(stands.scale.freedom, level) * contrast_errors(gradient, stands.scale.covariance)
        # The derivative of the logit: by the delta method it carries errors to that scale.
        reach /= share * (1 - share)
        low, high = (1 / (1 + np.exp(-(logit + side * reach))) for side in (-1, 1))
    placed = systems_at_one_place(named.votes)
    # A system that won all or lost all is bounded by the prior alone on that side, which is no evidence.
    low[stands.fitted.without_lower | placed], high[stands.fitted.without_upper | placed] = 0.0, 1.0
    return share, np.asarray(low).reshape(n), np.asarray(high).reshape(n)


def votes_of_systems(votes: Votes) -> Ints:
    """Count the votes in which each system took part."""
    first, second = np.triu_indices(votes.n_systems, 1)
    n = np.bincount(votes.pair, minlength=votes.n_pairs)
    return np.asarray(np.bincount(first, n, votes.n_systems) + np.bincount(second, n, votes.n_systems), np.int64)


def lines(named: NamedVotes, stands: FittedStrengths) -> Iterator[str]:
    """Yield sentences on the strengths."""
    names = named.system_names
    if stands.ranks_by == "strengths":
        yield (
            "Ranks follow from claims and, since pairs alone say too little here, from strengths: they hold if one "
            f"strength for each system explains the comparisons{_format_fit_test(stands.explained)}."
        )
    elif stands.fitted is not None:
        yield (
            "Shares of wins are against the average of the others, ties half, and follow from one strength for each "
            f"system{_format_fit_test(stands.explained)}; claims do not."
        )
    if stands.dropped is not None:
        yield _describe_dropped(stands.dropped, names, len(named.votes.pair))


def warnings(named: NamedVotes, stands: FittedStrengths) -> list[Limit]:
    """Return the limits of strengths, as sentences with ranks."""
    return rank_limits(Rank.CLAIMS if stands.fitted is None else Rank.NUMBERS, _warnings(named, stands))


def _warnings(named: NamedVotes, stands: FittedStrengths) -> Iterator[str]:
    fitted = stands.fitted
    if fitted is None:
        if len(named.votes.pair):
            yield "all comparisons are ties: no strengths, and nothing that could be claimed"
        return
    names = named.system_names
    if (parts := int(fitted.part.max()) + 1) > 1:
        first = [", ".join(names[k] for k in np.flatnonzero(fitted.part == part)[:3]) for part in range(2)]
        yield (
            f"the systems fall into {parts} groups that were never compared with each other ({first[0]}; {first[1]}): "
            "shares and ranks hold within a group, and no scores reach across"
        )
    for marked, bound in ((fitted.without_upper, "upper"), (fitted.without_lower, "lower")):
        if marked.any():
            which = ", ".join(names[k] for k in np.flatnonzero(marked)[:5])
            won = "never lost to" if bound == "upper" else "never won against"
            yield f"{which} {won} others: strengths have no {bound} bound there, and are held finite by a weak prior"
    if not are_places_balanced(named.votes):
        yield "some systems stood first more often than others: shares of wins hold what that is worth, claims do not"
    if stands.explained and stands.explained.p_value < UNSURE:
        weight = "ranks" if stands.ranks_by == "strengths" else "estimates"
        yield f"one strength for each system does not explain the comparisons: {weight} that rest on it may mislead"


def describe_strengths(named: NamedVotes, stands: FittedStrengths, level: float) -> dict[str, Any]:
    """Return the strengths, their intervals and tests as a JSON record."""
    record: dict[str, Any] = {"ranks_by": stands.ranks_by}
    if stands.fitted is None or stands.scale is None:
        return record | {"strengths": None}
    reach = quantile(stands.scale.freedom, level) * stands.scale.sd
    low, high = stands.fitted.value - reach, stands.fitted.value + reach
    low[stands.fitted.without_lower], high[stands.fitted.without_upper] = -np.inf, np.inf
    rows = zip(named.system_names, stands.fitted.value, low, high, stands.fitted.part, strict=True)
    record["strengths"] = [
        {"system": name, "strength": float(value), "low": float(a), "high": float(b), "part": int(part)}
        for name, value, a, b, part in rows
    ]
    # e^-20: no tie came, and the estimate runs towards minus infinity.
    record["log_ties"] = stands.fitted.log_ties if stands.fitted.log_ties > -20 else None
    record["clusters"] = stands.way
    record["explained"] = None if stands.explained is None else stands.explained._asdict()
    record["dropped"] = _dropped_record(stands.dropped, named)
    return record


def _format_fit_test(explained: Explained | None) -> str:
    if explained is None or np.isnan(explained.p_value):
        return " (nothing is left to test that)"
    p_value = "< .001" if explained.p_value < 0.001 else f"= {explained.p_value:.3f}".replace("0.", ".", 1)
    return f" (chi-square {explained.statistic:.1f} on {explained.freedom:,}, p {p_value})"


def _describe_dropped(dropped: Dropped, names: tuple[str, ...], total: int) -> str:
    top = names[dropped.top]
    if np.isinf(dropped.n):
        return (
            f"{top} is on top by its strength, and stays there without any {dropped.limit:,} of {total:,} comparisons, "
            "those that support it most."
        )
    share = f"{100 * dropped.n / total:.1f} %"
    return (
        f"{top} is on top by its strength; without {pluralise(int(dropped.n), 'comparison')} ({share}) that support it "
        f"most {names[dropped.rival]} would be."
    )


def _dropped_record(dropped: Dropped | None, named: NamedVotes) -> dict[str, Any] | None:
    if dropped is None:
        return None
    total = len(named.votes.pair)
    names = named.system_names
    return {
        "top": names[dropped.top],
        "rival": names[dropped.rival],
        "comparisons": dropped.n,
        "share": dropped.n / total,
        "limit": dropped.limit,
    }
