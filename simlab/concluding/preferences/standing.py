"""Say how systems stand: strengths on one scale, the share that each wins, and the ranks that it may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from simlab.analysis.preferences.places import by_chance, systems_at_one_place
from simlab.analysis.preferences.scales import Dropped, Explained, Scale, drop, explained, quantile, scale
from simlab.analysis.preferences.strengths import Strengths, errors_of, fit, win_shares
from simlab.analysis.preferences.votes import Votes, Way, way_of, way_of_all
from simlab.answers.conclude import Limit, Rank, System, ranked
from simlab.concluding.preferences.claims import Claims, thin
from simlab.concluding.preferences.held import Held
from simlab.concluding.standing import ranks_of
from simlab.messages import several
from simlab.rng import stream
from simlab.types import Floats, Ints

SPARSE = 0.1
"""Share of pairs that nothing could claim from which on ranks follow from strengths: pairs alone say too little."""

UNSURE = 0.01
"""p-value below which one strength a system does not explain the comparisons."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Hold strengths `fitted` with their errors, whether they explain the comparisons, and how firm the top is.

    `fitted` is None where all votes are ties. `ranks_by` says where ranks come from.
    """

    fitted: Strengths | None
    scale: Scale | None
    explained: Explained | None
    dropped: Dropped | None
    way: Way
    ranks_by: Literal["pairs", "strengths"]


def standing(held: Held, found: Claims, level: float, seed: int) -> Standing:
    """Fit strengths to all votes, and decide where ranks come from."""
    votes, way = held.votes, way_of_all(held.design)
    counts = votes.counts()
    if not (counts[:, 0] + counts[:, 2]).any():
        return Standing(None, None, None, None, way, "pairs")
    fitted = fit(counts, votes.n_systems)
    sparse = float(thin(found).mean()) > SPARSE and votes.n_systems > 2 and by_chance(votes)
    return Standing(
        fitted=fitted,
        scale=scale(stream(seed, "conclude", "strengths"), votes, way, fitted, level),
        explained=explained(votes, way_of(held.design), fitted),
        dropped=None if systems_at_one_place(votes).any() else drop(counts, fitted),
        way=way,
        ranks_by="strengths" if sparse else "pairs",
    )


def systems(held: Held, found: Claims, stands: Standing, level: float) -> list[System]:
    """Return each system's share of wins against the average of the others, ties half, and its possible ranks."""
    n = votes_of_systems(held.asked)
    verdict = found.verdict
    if stands.ranks_by == "strengths" and stands.scale:
        # A claim binds: strengths say the rest, so that no rank contradicts a claim.
        verdict = np.where(verdict != 0, verdict, stands.scale.verdict)
    low_rank, high_rank = ranks_of(verdict, held.votes.n_systems)
    share, low, high = shares(held, stands, level)
    return [
        System.of(name, *row)
        for name, row in zip(
            held.system_names,
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


def shares(held: Held, stands: Standing, level: float) -> tuple[Floats, Floats, Floats]:
    """Return shares of wins and the bounds of their intervals, `[system]`; NaN of one that nothing compares."""
    n = held.votes.n_systems
    if stands.fitted is None or stands.scale is None:
        compared = votes_of_systems(held.asked) > 0
        return np.where(compared, 0.5, np.nan), np.where(compared, 0.0, np.nan), np.where(compared, 1.0, np.nan)
    share, gradient = win_shares(stands.fitted)
    with np.errstate(divide="ignore", invalid="ignore"):
        # On the scale of logits bounds stay within 0 and 1.
        logit = np.log(share / (1 - share))
        reach = quantile(stands.scale.freedom, level) * errors_of(gradient, stands.scale.covariance)
        reach /= share * (1 - share)
        low, high = (1 / (1 + np.exp(-(logit + side * reach))) for side in (-1, 1))
    placed = systems_at_one_place(held.votes)
    low[stands.fitted.without_lower | placed], high[stands.fitted.without_upper | placed] = 0.0, 1.0
    return share, np.asarray(low).reshape(n), np.asarray(high).reshape(n)


def votes_of_systems(votes: Votes) -> Ints:
    """Count the votes in which each system took part."""
    first, second = np.triu_indices(votes.n_systems, 1)
    n = np.bincount(votes.pair, minlength=votes.n_pairs)
    return np.asarray(np.bincount(first, n, votes.n_systems) + np.bincount(second, n, votes.n_systems), np.int64)


def lines(held: Held, stands: Standing) -> Iterator[str]:
    """Go through what strengths say, in sentences."""
    names = held.system_names
    if stands.ranks_by == "strengths":
        yield (
            "Ranks follow from claims and, since pairs alone say too little here, from strengths: they hold if one "
            f"strength for each system explains the comparisons{_tested(stands.explained)}."
        )
    elif stands.fitted is not None:
        yield (
            "Shares of wins are against the average of the others, ties half, and follow from one strength for each "
            f"system{_tested(stands.explained)}; claims do not."
        )
    if stands.dropped is not None:
        yield _dropped(stands.dropped, names, len(held.votes.pair))


def warnings(held: Held, stands: Standing) -> list[Limit]:
    """Go through what limits strengths; where there are none, nothing could be claimed."""
    return ranked(Rank.CLAIMS if stands.fitted is None else Rank.NUMBERS, _warnings(held, stands))


def _warnings(held: Held, stands: Standing) -> Iterator[str]:
    fitted = stands.fitted
    if fitted is None:
        if len(held.votes.pair):
            yield "all comparisons are ties: no strengths, and nothing that could be claimed"
        return
    names = held.system_names
    if (parts := int(fitted.part.max()) + 1) > 1:
        first = [", ".join(names[k] for k in np.flatnonzero(fitted.part == part)[:3]) for part in range(2)]
        yield (
            f"the systems fall into {parts} groups that were never compared with each other ({first[0]}; {first[1]}): "
            "shares and ranks hold within a group, and no scores reach across"
        )
    for marked, said in ((fitted.without_upper, "upper"), (fitted.without_lower, "lower")):
        if marked.any():
            which = ", ".join(names[k] for k in np.flatnonzero(marked)[:5])
            won = "never lost to" if said == "upper" else "never won against"
            yield f"{which} {won} others: strengths have no {said} bound there, and are held finite by a weak prior"
    if not by_chance(held.votes):
        yield "some systems stood first more often than others: shares of wins hold what that is worth, claims do not"
    if stands.explained and stands.explained.p_value < UNSURE:
        weight = "ranks" if stands.ranks_by == "strengths" else "estimates"
        yield f"one strength for each system does not explain the comparisons: {weight} that rest on it may mislead"


def about(held: Held, stands: Standing, level: float) -> dict[str, Any]:
    """Say the same to a program."""
    said: dict[str, Any] = {"ranks_by": stands.ranks_by}
    if stands.fitted is None or stands.scale is None:
        return said | {"strengths": None}
    reach = quantile(stands.scale.freedom, level) * stands.scale.sd
    low, high = stands.fitted.value - reach, stands.fitted.value + reach
    low[stands.fitted.without_lower], high[stands.fitted.without_upper] = -np.inf, np.inf
    rows = zip(held.system_names, stands.fitted.value, low, high, stands.fitted.part, strict=True)
    said["strengths"] = [
        {"system": name, "strength": float(value), "low": float(a), "high": float(b), "part": int(part)}
        for name, value, a, b, part in rows
    ]
    said["log_ties"] = stands.fitted.log_ties if stands.fitted.log_ties > -20 else None
    said["clusters"] = stands.way
    said["explained"] = None if stands.explained is None else stands.explained._asdict()
    said["dropped"] = _dropped_record(stands.dropped, held)
    return said


def _tested(one: Explained | None) -> str:
    if one is None or np.isnan(one.p_value):
        return " (nothing is left to test that)"
    p_value = "< .001" if one.p_value < 0.001 else f"= {one.p_value:.3f}".replace("0.", ".", 1)
    return f" (chi-square {one.statistic:.1f} on {one.freedom:,}, p {p_value})"


def _dropped(one: Dropped, names: tuple[str, ...], total: int) -> str:
    top = names[one.top]
    if np.isinf(one.n):
        return (
            f"{top} is on top by its strength, and stays there without any {one.limit:,} of {total:,} comparisons, "
            "those that support it most."
        )
    share = f"{100 * one.n / total:.1f} %"
    return (
        f"{top} is on top by its strength; without {several(int(one.n), 'comparison')} ({share}) that support it most "
        f"{names[one.rival]} would be."
    )


def _dropped_record(one: Dropped | None, held: Held) -> dict[str, Any] | None:
    if one is None:
        return None
    total = len(held.votes.pair)
    names = held.system_names
    return {
        "top": names[one.top],
        "rival": names[one.rival],
        "comparisons": one.n,
        "share": one.n / total,
        "limit": one.limit,
    }
