"""Tell what a metric's own means miss of the humans', in differences of systems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from simlab.analysis.means.document_pairs import compared, influence
from simlab.analysis.means.documents import Totals
from simlab.analysis.means.metric_gain import slope_for_all
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.totals import laid
from simlab.types import Bools, Floats, Ints

RARE = 10
"""Documents with a miss of labels, below which their variance is not told by themselves."""


class Bias(NamedTuple):
    """Hold what a metric's own differences miss of the humans', `[pair]`, with bounds that hold for all at once."""

    value: Floats
    low: Floats
    high: Floats

    @property
    def worst(self) -> float:
        """Return the largest miss that the bounds allow."""
        return float(np.max(np.maximum(np.abs(self.low), np.abs(self.high))))


def bias_of(
    rng: np.random.Generator, evidence: Evidence, name: str, says: Floats | None, places: tuple[Ints, Ints], *,
    level: float, flips: int,
) -> Bias:  # fmt: skip
    """Compare what the metric misses of humans between systems, over outputs that have both.

    Of labels its own are taken as they are; of scores the one line through all outputs that predicts humans best. What
    is missed of labels is bounded by how rare misses are, too: none among few shows little.
    """
    score = evidence.metrics[name] if says is None else says
    both: Bools = evidence.rated & np.isfinite(score)
    slope = 1.0 if says is not None else slope_for_all(evidence.human[both], score[both])
    missed = np.zeros(len(score))
    missed[both] = evidence.human[both] - slope * score[both]
    width, systems = evidence.n_documents, laid(evidence, None)[0]
    at = evidence.system * width + evidence.document

    def sums(value: Floats) -> Floats:
        flat = np.bincount(at[both], value[both], len(evidence.system_names) * width)
        return np.asarray(flat.reshape(-1, width)[systems], float)

    of = Totals(sums(np.ones(len(score))), sums(missed), sums(np.zeros(len(score))), None, None)
    if not of.n.sum(1).all():
        unknown = np.full(len(places[0]), np.inf)
        return Bias(np.full(len(unknown), np.nan), -unknown, unknown)
    found = compared(rng, influence(of, corrected=False), places, level=level, flips=flips)
    low, high = found.low, found.high
    if says is not None:
        least, most = _of_rare(sums((missed > 0).astype(float)), sums((missed < 0).astype(float)), of.n, level)
        low = np.minimum(low, least[places[0]] - most[places[1]])
        high = np.maximum(high, most[places[0]] - least[places[1]])
    return Bias(found.difference, low, high)


def _of_rare(above: Floats, below: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    """Bound the mean of misses of +1 and -1 where one kind is too rare to tell its variance: Clopper and Pearson.

    Counted are documents, of which each may miss; a kind that was met in ten documents or more bounds nothing here.
    """
    clusters = (n > 0).sum(1).astype(float)
    tail = level / (4 * len(n))
    bounds = []
    for kind in (above, below):
        hits = (kind > 0).sum(1).astype(float)
        share = kind.sum(1) / n.sum(1)
        top = np.where(hits >= clusters, 1.0, betaincinv(hits + 1, np.maximum(clusters - hits, 1e-9), 1 - tail))
        rare = hits < RARE
        bounds.append((np.where(rare, 0.0, share), np.where(rare, np.maximum(top, share), share)))
    (few_above, most_above), (few_below, most_below) = bounds
    return few_above - most_below, most_above - few_below
