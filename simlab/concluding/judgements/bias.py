"""Tell the error of a metric's own differences of systems, where humans scored the same outputs.

The error of a pair is (metric_i - metric_j) - (human_i - human_j) over outputs that have both, on the humans' scale. A
metric on another scale is brought to the humans' spread within systems first, and bounds hold for all factors that the
noise of either allows: the slope of humans on the metric alone would call an unbiased metric biased.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from simlab.analysis.means.document_pairs import Influence, compared, influence
from simlab.analysis.means.documents import Totals
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.totals import laid
from simlab.fitting_metrics.confusion import design_effect
from simlab.types import Bools, Floats, Ints

RARE = 10
"""Misses of labels, below which their variance is not told by themselves."""

ALIKE = 0.24
"""Share of the range of all scores by which the ends of two scales may lie apart and still be those of one."""
MIDDLE = 0.05
"""Share of the scores at either end that the middle leaves out."""

SURE = 2.0
"""Standard errors over documents by which a metric follows humans within systems before its scale is told from that."""


class Bias(NamedTuple):
    """Hold the error of a metric's own differences, `[pair]`, with bounds that hold for all at once.

    `human` and `metric` are the differences themselves; all are on the humans' scale, to which `factor` brings the
    metric (1: it is on that scale). `systems[system]` is each system's error about the mean of all, with bounds that
    hold for all systems at once.
    """

    value: Floats
    low: Floats
    high: Floats
    human: Floats
    metric: Floats
    factor: float
    systems: Floats
    systems_low: Floats
    systems_high: Floats

    @property
    def worst(self) -> float:
        """Return the largest error that the bounds allow."""
        return float(np.max(np.maximum(np.abs(self.low), np.abs(self.high))))

    @property
    def worst_pair(self) -> int:
        """Return the pair whose error the bounds allow to be largest."""
        return int(np.maximum(np.abs(self.low), np.abs(self.high)).argmax())


def bias_of(
    rng: np.random.Generator, evidence: Evidence, name: str, says: Floats | None, places: tuple[Ints, Ints], *,
    level: float, flips: int,
) -> Bias:  # fmt: skip
    """Hold a metric's differences of systems against the humans', over outputs that have both.

    Labels are taken as they are. What is missed of labels is bounded by how rare misses are, too: none among few shows
    little.
    """
    score = evidence.metrics[name] if says is None else says
    both: Bools = evidence.rated & np.isfinite(score)
    width, systems = evidence.n_documents, laid(evidence, None)[0]
    at = evidence.system * width + evidence.document

    def sums(value: Floats) -> Floats:
        flat = np.bincount(at[both], value[both], len(evidence.system_names) * width)
        return np.asarray(flat.reshape(-1, width)[systems], float)

    n = sums(np.ones(len(score)))
    factors = _factors(evidence, score, both, labels=says is not None) if n.sum(1).all() else ()
    if not factors:
        unknown = np.full(len(places[0]), np.inf)
        nothing, open_ = np.full(len(unknown), np.nan), np.full(len(systems), np.inf)
        return Bias(nothing, -unknown, unknown, nothing, nothing, 1.0, np.full(len(systems), np.nan), -open_, open_)
    total, own_mean = n.sum(1), sums(np.where(both, score, 0.0)).sum(1) / n.sum(1)
    every = np.arange(len(systems)), np.full(len(systems), len(systems))
    found, about = [], []
    for one in factors:
        missed = np.where(both, one.value * np.where(both, score, 0.0) - np.where(both, evidence.human, 0.0), 0.0)
        of = influence(Totals(n, sums(missed), np.zeros_like(n), None, None), corrected=False)
        # A system's error moves with the factor by its mean score; about the mean of all, since differences count.
        of = of._replace(part=of.part + one.value * (own_mean - own_mean.mean())[:, None] * one.part)
        found.append(compared(rng, of, places, level=level, flips=flips))
        about.append(compared(rng, _with_mean(of), every, level=level, flips=flips))
    low, high = np.minimum.reduce([one.low for one in found]), np.maximum.reduce([one.high for one in found])
    own_low, own_high = np.minimum.reduce([one.low for one in about]), np.maximum.reduce([one.high for one in about])
    if says is not None:
        missed = np.where(both, np.where(both, score, 0.0) - np.where(both, evidence.human, 0.0), 0.0)
        least, most = _of_rare(sums((missed > 0).astype(float)), sums((missed < 0).astype(float)), n, level)
        low = np.minimum(low, least[places[0]] - most[places[1]])
        high = np.maximum(high, most[places[0]] - least[places[1]])
        own_low, own_high = np.minimum(own_low, least - most.mean()), np.maximum(own_high, most - least.mean())
    factor = float(np.sign(factors[0].value) * np.sqrt(factors[0].value * factors[-1].value))
    human_mean, metric_mean = sums(np.where(both, evidence.human, 0.0)).sum(1) / total, factor * own_mean
    human, metric = (one[places[0]] - one[places[1]] for one in (human_mean, metric_mean))
    error = metric_mean - human_mean
    return Bias(metric - human, low, high, human, metric, factor, error - error.mean(), own_low, own_high)


def _with_mean(of: Influence) -> Influence:
    """Add a row for the mean of all systems."""
    return Influence(*(np.concatenate([one, one.mean(0, keepdims=True)]) for one in of))


class _Factor(NamedTuple):
    """Hold a factor that brings a metric to the humans' scale, and each document's part in its relative error."""

    value: float
    part: Floats


def _factors(evidence: Evidence, score: Floats, both: Bools, *, labels: bool) -> tuple[_Factor, ...]:
    """Return the ends of what the factor may be; none where the metric does not follow humans within systems.

    It is 1 on one scale. Else both the slope of humans on the metric, which noise of the metric flattens, and the
    inverse of the slope of the metric on humans, which noise of humans steepens, bound it (Frisch 1934).
    """
    nothing = np.zeros(evidence.n_documents)
    squares = squares_within_systems(evidence, score, both)
    of_human, product, of_score = squares
    follows = float(product.sum()) / max(float(np.sqrt((product**2).sum())), 1e-300)
    if labels or (follows > -SURE and share_a_scale(evidence.human[both], score[both])):
        return (_Factor(1.0, nothing),)
    if abs(follows) < SURE:
        return ()
    shares = [one / one.sum() for one in (of_human, product, of_score)]
    low, high = float(product.sum() / of_score.sum()), float(of_human.sum() / product.sum())
    return _Factor(low, shares[1] - shares[2]), _Factor(high, shares[0] - shares[1])


def share_a_scale(human: Floats, score: Floats) -> bool:
    """True if scores begin and end about where those of humans do, all or the middle nine tenths of them.

    A few far penalties stretch one of two scales that are the same: the middle tells these.

    >>> share_a_scale(np.array([1.0, 5.0]), np.array([1.0, 10.0]))
    False
    >>> share_a_scale(np.array([3.0, 99.0]), np.array([10.0, 95.0]))
    True
    """
    for share in (0.0, MIDDLE):
        ends = np.array([np.quantile(one, (share, 1 - share)) for one in (human, score)])
        if (np.abs(ends[0] - ends[1]) <= ALIKE * np.ptp(ends)).all():
            return True
    return False


def squares_within_systems(evidence: Evidence, score: Floats, both: Bools) -> tuple[Floats, Floats, Floats]:
    """Sum up squares of humans, products, and squares of the metric about the means of systems: `[document]` each."""
    system, n = evidence.system[both], len(evidence.system_names)
    count = np.maximum(np.bincount(system, minlength=n), 1)
    human, own = (one - (np.bincount(system, one, n) / count)[system] for one in (evidence.human[both], score[both]))
    at, width = evidence.document[both], evidence.n_documents
    of_human, product, of_score = (
        np.asarray(np.bincount(at, one, width), float) for one in (human**2, human * own, own**2)
    )
    return of_human, product, of_score


def _of_rare(above: Floats, below: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    """Bound the mean of misses of +1 and -1 where one kind is too rare to tell its variance: Clopper and Pearson.

    Counted are as many independent outputs as would tell as much: as misses of a kind go together in documents, over
    all systems. A kind that was met ten times or more bounds nothing here.
    """
    tail, bounds = level / (4 * len(n)), []
    for kind in (above, below):
        effect = design_effect(np.stack([kind.sum(0), (n - kind).sum(0)], axis=1)) if kind.any() else np.inf
        size = np.maximum(n.sum(1) / effect, (n > 0).sum(1))
        share = kind.sum(1) / n.sum(1)
        hits = share * size
        top = np.where(share >= 1, 1.0, betaincinv(hits + 1, np.maximum(size - hits, 1e-9), 1 - tail))
        rare = hits < RARE
        bounds.append((np.where(rare, 0.0, share), np.where(rare, np.maximum(top, share), share)))
    (few_above, most_above), (few_below, most_below) = bounds
    return few_above - most_below, most_above - few_below
