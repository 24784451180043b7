"""Turn sums over campaigns, or over pairs of campaigns, into an estimate with an honest error.

A measure is a ratio of two sums. The cluster that is left out at a time is the world, else the document set, else
the campaign: campaigns of one world share its systems and raters and say little about the next world. Influence
values are pseudo-values less their mean, so that designs run on the same worlds can be compared pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlab.types import OK, Array, Bools, Estimate, Floats, Ints, Outcomes


@dataclass(frozen=True, slots=True)
class Clusters:
    """Say what is left out at a time: `label[campaign]` counted from 0, and what a cluster is."""

    label: Ints
    cluster: str
    n: int


def succeeded(outcomes: Outcomes) -> Bools:
    """Mark the campaigns that were carried out."""
    ok: Bools = np.equal(outcomes["status"], OK)
    return ok


def clusters(outcomes: Outcomes) -> Clusters:
    """Find the highest level at which these campaigns are replicated.

    Levels are judged on all campaigns, failed ones included, so that designs compared keep the same clusters.
    """
    for cluster in ("world", "document_set"):
        values, label = np.unique(outcomes[cluster], return_inverse=True)
        shared = cluster == "world" or len(values) < len(label)
        if len(values) > 1 and shared:
            return Clusters(label, cluster, len(values))
    return Clusters(np.arange(len(outcomes["world"])), "replicate", len(outcomes["world"]))


def comparable(outcomes: Outcomes) -> list[Ints]:
    """List the sets of campaigns that may be compared: the same world, and the same document set where shared.

    Where every campaign has a document set of its own, all campaigns of a world are compared.
    Source: Riley et al. 2024, section 6.1.4.
    """
    ok = np.flatnonzero(succeeded(outcomes))
    world, document_set = outcomes["world"], outcomes["document_set"]
    key = np.stack([world, document_set])
    resampled = len(np.unique(key, axis=1).T) == key.shape[1] > 1
    label = world if resampled else np.unique(key, axis=1, return_inverse=True)[1].ravel()
    return [ok[label[ok] == value] for value in np.unique(label[ok])]


def of_campaign(outcomes: Outcomes, name: str) -> Array:
    """Repeat what is true of a world for each of its campaigns."""
    repeated: Array = outcomes[name][np.searchsorted(np.unique(outcomes["world"]), outcomes["world"])]
    return repeated


def unknown() -> Estimate:
    """Say that a measure has no value, since these outcomes lack what it needs."""
    return Estimate(float("nan"), np.full(1, np.nan), "replicate", 0)


def ratio_over_campaigns(outcomes: Outcomes, numerator: Array, denominator: Array) -> Estimate:
    """Estimate `sum(numerator) / sum(denominator)` over campaigns, failed ones left out."""
    ok = succeeded(outcomes)
    group = clusters(outcomes)
    top = np.bincount(group.label, weights=np.where(ok, numerator, 0.0), minlength=group.n)
    below = np.bincount(group.label, weights=np.where(ok, denominator, 0.0), minlength=group.n)
    return _jackknife(top.sum(), below.sum(), top.sum() - top, below.sum() - below, group.cluster, int(ok.sum()))


def ratio_over_pairs(outcomes: Outcomes, pairs: list[tuple[Ints, Floats, Floats]]) -> Estimate:
    """Estimate a ratio of sums over ordered pairs of comparable campaigns (a U-statistic).

    `pairs` lists `(campaigns, numerator[first, second], denominator[first, second])`; the diagonal is ignored.
    Leaving out a campaign takes out its row and its column.
    """
    group = clusters(outcomes)
    lost = np.zeros((2, group.n))
    total = np.zeros(2)
    for campaigns, *matrices in pairs:
        for side, matrix in enumerate(matrices):
            off_diagonal = matrix - np.diag(np.diag(matrix))
            total[side] += off_diagonal.sum()
            # Within one cluster a pair is lost once; across campaigns as clusters it is lost with either of the two.
            per_campaign = off_diagonal.sum(1) + (off_diagonal.sum(0) if group.cluster == "replicate" else 0)
            lost[side] += np.bincount(group.label[campaigns], weights=per_campaign, minlength=group.n)
    n = sum(len(campaigns) for campaigns, *_ in pairs)
    return _jackknife(total[0], total[1], total[0] - lost[0], total[1] - lost[1], group.cluster, n)


def _jackknife(top: float, below: float, top_without: Floats, below_without: Floats, cluster: str, n: int) -> Estimate:
    """Estimate a ratio from its sums and from the sums with each cluster left out.

    Exact for a mean; for a ratio the influence is the jackknife's, clusters without denominator having none.
    """
    k = len(top_without)
    if below == 0:
        return Estimate(float("nan"), np.full(k, np.nan), cluster, n)
    value = top / below
    without = np.divide(top_without, below_without, out=np.full(k, value), where=below_without != 0)
    pseudo = k * value - (k - 1) * without
    return Estimate(float(value), pseudo - pseudo.mean(), cluster, n)
