"""Turn sums over campaigns, or over pairs of campaigns, into an estimate with its influence values, by the jackknife.

Measures call `ratio_over_campaigns`, or `ratio_over_pairs` where campaigns are compared with each other. `outcomes` are
the arrays of one cell by name, `[campaign, ...]`; truths are `[world, ...]`, see `repeat_by_campaign`.

A measure is a ratio of two sums. The cluster that is left out at a time is the world, else the pool of raters, else
the draw of documents, else the document set, else the campaign: campaigns of one world share its systems and say little
about the next world. In a single world pools and draws are crossed, and an error over pools says nothing of the draws
that they share. Influence values are pseudo-values less their mean, so that designs run on the same worlds can be
compared pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from simlab.types import OK, Array, Bools, Estimate, Floats, Ints, Outcomes

LEVELS = ("world", "pool", "draw", "document_set")
"""What campaigns may have in common, the highest level first."""

Found = TypeVar("Found")

Anew: TypeAlias = Literal["documents", "raters", "study"]
"""What a repetition draws anew: documents for the same raters, raters for the same documents, or both."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters of campaigns, which are left out one at a time for the error of a measure.

    `label[campaign]` counts clusters from 0, `cluster` is their level (one of `LEVELS`, else `replicate`), `n` their
    number.
    """

    label: Ints
    cluster: str
    n: int


def _share_layout(find: Callable[[Outcomes], Found]) -> Callable[[Outcomes], Found]:
    """Cache the last answer of `find`, which depends on levels and status only, so that measures of a cell share it.

    Arrays that could still be written to are not cached.
    """
    last: list[tuple[list[Array | None], Found]] = []

    @wraps(find)
    def find_layout(outcomes: Outcomes) -> Found:
        about = [outcomes.get(name) for name in (*LEVELS, "status")]
        if last and all(now is before for now, before in zip(about, last[0][0], strict=True)):
            return last[0][1]
        answer = find(outcomes)
        if not any(array.flags.writeable for array in about if array is not None):
            last[:] = [(about, answer)]
        return answer

    return find_layout


def mark_successes(outcomes: Outcomes) -> Bools:
    """Return True for the campaigns that were carried out, `[campaign]`."""
    ok: Bools = np.equal(outcomes["status"], OK)
    return ok


@_share_layout
def clusters(outcomes: Outcomes) -> Clusters:
    """Find the highest level at which these campaigns are replicated.

    Levels are judged on all campaigns, failed ones included, so that designs compared keep the same clusters.
    """
    for cluster in LEVELS:
        values, label = np.unique(level_labels(outcomes, cluster), return_inverse=True)
        # Where each campaign has a document set of its own, campaigns are what is replicated.
        shared = cluster != "document_set" or len(values) < len(label)
        if len(values) > 1 and shared:
            return Clusters(label, cluster, len(values))
    return Clusters(np.arange(len(outcomes["world"])), "replicate", len(outcomes["world"]))


def level_labels(outcomes: Outcomes, level: str) -> Array:
    """Return the number of each campaign's world, pool, draw or document set; 0 in a study without pools or draws."""
    if level in ("pool", "draw") and level not in outcomes:
        return np.zeros(len(outcomes["world"]), np.int32)
    return outcomes[level]


def has_own_documents(outcomes: Outcomes) -> bool:
    """True if every campaign of a world, pool and draw has a document set of its own."""
    label = _number_combinations(outcomes, LEVELS)
    return len(np.unique(label)) == len(label) > 1


@_share_layout
def comparable(outcomes: Outcomes) -> list[Ints]:
    """List sets of campaigns (indices) that may be compared: same world, raters, draw, and document set where shared.

    Where every campaign has a document set of its own, all campaigns of a pool and draw of a world are compared.
    Source: Riley et al. 2024, section 6.1.4.
    """
    ok = np.flatnonzero(mark_successes(outcomes))
    label = _number_combinations(outcomes, LEVELS[:-1] if has_own_documents(outcomes) else LEVELS)
    return [ok[label[ok] == value] for value in np.unique(label[ok])]


def _number_combinations(outcomes: Outcomes, levels: Sequence[str]) -> Ints:
    """Number the combinations of levels that campaigns have, in their order."""
    label = np.zeros(len(outcomes["world"]), np.int64)
    for level in levels:
        values, index = np.unique(level_labels(outcomes, level), return_inverse=True)
        label = label * len(values) + index
    return label


def repetitions(outcomes: Outcomes, anew: Anew) -> list[tuple[Ints, Bools]]:
    """List, world by world, the campaigns that have a repetition, and mark which pairs of them are repetitions.

    An entry is `(campaigns, partner[first, second])`. With `anew="documents"` the two have the same pool and another
    draw; with `"raters"` another pool and the same draw and document set, which holds the same documents for every
    pool; with `"study"` another pool and another draw. Empty where nothing is drawn anew.
    """
    ok = np.flatnonzero(mark_successes(outcomes))
    pool, draw, documents = (level_labels(outcomes, level)[ok] for level in LEVELS[1:])
    repeated = []
    for world in np.unique(outcomes["world"][ok]):
        here = np.flatnonzero(outcomes["world"][ok] == world)
        raters, texts, same = (values[here, None] == values[here] for values in (pool, draw, documents))
        partner = {"documents": raters & ~texts, "raters": ~raters & texts & same, "study": ~raters & ~texts}[anew]
        kept = partner.any(1)
        if kept.any():
            repeated.append((ok[here[kept]], partner[np.ix_(kept, kept)]))
    return repeated


def repeat_by_campaign(outcomes: Outcomes, name: str) -> Array:
    """Return an outcome that is stored by world, `[world, ...]`, for each campaign, `[campaign, ...]`."""
    repeated: Array = outcomes[name][_world_labels(outcomes)]
    return repeated


@_share_layout
def _world_labels(outcomes: Outcomes) -> Ints:
    return np.searchsorted(np.unique(outcomes["world"]), outcomes["world"])


def unknown_estimate() -> Estimate:
    """Return the estimate (NaN) of a measure whose outcomes are missing."""
    return Estimate(float("nan"), np.full(1, np.nan), "replicate", 0)


def ratio_over_campaigns(outcomes: Outcomes, numerator: Array, denominator: Array) -> Estimate:
    """Estimate `sum(numerator) / sum(denominator)`, both `[campaign]`, over the campaigns that did not fail."""
    ok = mark_successes(outcomes)
    group = clusters(outcomes)
    top = np.bincount(group.label, weights=np.where(ok, numerator, 0.0), minlength=group.n)
    below = np.bincount(group.label, weights=np.where(ok, denominator, 0.0), minlength=group.n)
    return ratio_from_sums(top.sum(), below.sum(), top.sum() - top, below.sum() - below, group.cluster, int(ok.sum()))


def ratio_over_pairs(outcomes: Outcomes, pairs: list[tuple[Ints, Floats, Floats]]) -> Estimate:
    """Estimate a ratio of sums over ordered pairs of comparable campaigns (a U-statistic).

    `pairs` lists `(campaigns, numerator[first, second], denominator[first, second])`; the diagonal is ignored.
    Leaving out a cluster takes out the pairs inside it once, and those that it has with others on either side. Where
    no pair is left without a cluster, whichever it is, one cluster stands behind the value, and no error can be told.
    """
    group = clusters(outcomes)
    lost = np.zeros((2, group.n))
    total = np.zeros(2)
    for campaigns, *matrices in pairs:
        label = group.label[campaigns]
        across = label[:, None] != label
        for side, matrix in enumerate(matrices):
            off_diagonal = matrix - np.diag(np.diag(matrix))
            total[side] += off_diagonal.sum()
            # The sum over rows holds the pairs inside a cluster; that over columns adds only those with others.
            for weights in (off_diagonal.sum(1), np.where(across, off_diagonal, 0.0).sum(0)):
                lost[side] += np.bincount(label, weights=weights, minlength=group.n)
    n = sum(len(campaigns) for campaigns, *_ in pairs)
    ratio = ratio_from_sums(total[0], total[1], total[0] - lost[0], total[1] - lost[1], group.cluster, n)
    if group.cluster in ("pool", "draw") and total[1] and np.allclose(lost[1], total[1]):
        return Estimate(ratio.value, np.zeros(1), ratio.cluster, n)
    return ratio


def ratio_from_sums(
    top: float, below: float, top_without: Floats, below_without: Floats, cluster: str, n: int
) -> Estimate:
    """Estimate a ratio from its sums and from the sums with each cluster left out.

    `top` and `below` are numerator and denominator, `top_without[cluster]` and `below_without[cluster]` those without a
    cluster, `cluster` its level and `n` the number of campaigns. Exact for a mean; for a ratio the influence is the
    jackknife's, clusters without denominator having none.
    """
    k = len(top_without)
    if below == 0:
        return Estimate(float("nan"), np.full(k, np.nan), cluster, 0)
    value = top / below
    # A cluster in which nothing could be counted changes the sum by rounding at most.
    telling = int(np.count_nonzero(~np.isclose(below_without, below, rtol=1e-12, atol=0.0)))
    without = np.divide(top_without, below_without, out=np.full(k, value), where=below_without != 0)
    pseudo = k * value - (k - 1) * without
    return Estimate(float(value), pseudo - pseudo.mean(), cluster, n, telling)
