"""Say of a metric whether to trust it, to correct it or to leave it out, and what that rests on.

leave_out: mixing it in is not shown to pay: what it says of differences between systems is not shown to go with what
humans say (flips of whole documents, two-sided, at half the level, so that one that says nothing is left out nearly
always), or its intervals of differences are no narrower.
trust: its own means would do: for every pair at once, what its own difference misses of the humans' is shown to lie
within the margin. correct: all between; it pays, and its own means are biased or may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from simlab.analysis.means.document_pairs import Compared, compared, influence
from simlab.analysis.means.documents import Totals
from simlab.analysis.means.metric_gain import Gain, gain, slope_for_all
from simlab.concluding.conclusion import MetricVerdict, More
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.standing import LIMIT, POWER, QUARTERS
from simlab.concluding.judgements.totals import laid
from simlab.types import Bools, Floats, Ints

FEWEST = 10
"""Documents that humans rated, below which no metric is mixed in: its slope would be a guess."""
ENOUGH = 20
"""Documents that humans rated, below which no metric is trusted."""
SHARE_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold a verdict, its reason, the labels that would settle it, and the margin that trust was held against."""

    verdict: MetricVerdict
    reason: str
    labels: More | None
    margin: float


class _Bias:
    """Hold what a metric's own differences miss of the humans', all pairs at once: `value`, `low`, `high`, `se`."""

    def __init__(self, value: Floats, low: Floats, high: Floats) -> None:
        self.value, self.low, self.high = value, low, high


def verdict(
    rng: np.random.Generator,
    evidence: Evidence,
    name: str,
    says: Floats | None,
    of: Totals,
    places: tuple[Ints, Ints],
    widths: tuple[Compared, Compared],
    *,
    level: float,
    margin: float | None,
    flips: int,
) -> Verdict:
    """Judge a metric; `widths` are pairs by humans alone and by the corrected metric, `says` its labels if any."""
    alone, corrected = widths
    n_documents, labels = int((of.n > 0).sum(1).min()), int(evidence.rated.sum())
    bound = _margin(evidence, alone, margin)
    if n_documents < FEWEST:
        few = f"humans rated {n_documents} documents of a system, and fewer than {FEWEST} do not show what it is worth"
        return Verdict(
            "leave_out", few, _labels([_per_document(labels, n_documents) * (FEWEST - n_documents)] * 3), bound
        )
    if not _says_something(evidence, name):
        return Verdict("leave_out", "it says the same of all outputs", None, bound)
    told, width = gain(rng, of, flips=flips), width_of(alone, corrected)
    if told.p_value > level / 2 or not width < 1:
        reason = f"that it follows humans from system to system is not shown (p = {told.p_value:.2g})"
        if told.p_value <= level / 2:
            alone_seen = 1 - labels / max(int(np.isfinite(evidence.metrics[name]).sum()), 1)
            reason = (
                f"it follows humans, but intervals of differences with it are {width:.2f} times as wide: humans rated "
                f"all but {100 * max(alone_seen, 0):.0f} % of the outputs that it scored"
            )
            return Verdict("leave_out", reason, None, bound)
        return Verdict("leave_out", reason, _to_show(told, labels, level), bound)
    bias = _bias(rng, evidence, name, says, places, level=level, flips=flips)
    worst = float(np.max(np.maximum(np.abs(bias.low), np.abs(bias.high))))
    narrower = f"intervals of differences are {width:.2f} times as wide with it"
    if worst < bound and n_documents >= ENOUGH:
        return Verdict(
            "trust", f"{narrower}, and its own differences are within {bound:.2g} of the humans'", None, bound
        )
    shown: Bools = (bias.low > 0) | (bias.high < 0)
    first, second = (evidence.system_names[k[int(np.abs(bias.value).argmax())]] for k in _named(evidence, places))
    most = float(np.abs(bias.value).max())
    if shown.any():
        reason = f"{narrower}; its own differences are biased, most that of {first} and {second} ({most:.2g})"
    else:
        reason = f"{narrower}; that its own differences are within {bound:.2g} of the humans' is not shown"
    return Verdict("correct", reason, _to_trust(bias, bound, labels, n_documents), bound)


def width_of(alone: Compared, corrected: Compared) -> float:
    """Return how wide intervals of differences are with the metric, over those of humans alone."""
    wide, narrow = alone.high - alone.low, corrected.high - corrected.low
    known = np.isfinite(wide) & np.isfinite(narrow) & (wide > 0)
    if not known.any():
        known = alone.se > 0
        wide, narrow = alone.se, corrected.se
    return float(np.exp(np.log(np.maximum(narrow[known], 1e-300) / wide[known]).mean())) if known.any() else 1.0


def _says_something(evidence: Evidence, name: str) -> bool:
    score = evidence.metrics[name]
    finite = score[np.isfinite(score) & evidence.rated]
    return len(finite) > 1 and float(np.ptp(finite)) > 0


def _margin(evidence: Evidence, alone: Compared, margin: float | None) -> float:
    """Return what trust is held against: as asked, .05 of shares, else half the usual interval of humans alone."""
    if margin is not None:
        return margin
    half = (alone.high - alone.low) / 2
    usual = float(np.median(half[np.isfinite(half)])) if np.isfinite(half).any() else np.inf
    return SHARE_MARGIN if evidence.labels else usual


def _named(evidence: Evidence, places: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    systems = laid(evidence, None)[0]
    return systems[places[0]], systems[places[1]]


def _bias(
    rng: np.random.Generator, evidence: Evidence, name: str, says: Floats | None, places: tuple[Ints, Ints], *,
    level: float, flips: int,
) -> _Bias:  # fmt: skip
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
        return _Bias(np.full(len(unknown), np.nan), -unknown, unknown)
    found = compared(rng, influence(of, corrected=False), places, level=level, flips=flips)
    low, high = found.low, found.high
    if says is not None:
        least, most = _of_rare(sums((missed > 0).astype(float)), sums((missed < 0).astype(float)), of.n, level)
        low = np.minimum(low, least[places[0]] - most[places[1]])
        high = np.maximum(high, most[places[0]] - least[places[1]])
    return _Bias(found.difference, low, high)


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
        rare = hits < FEWEST
        bounds.append((np.where(rare, 0.0, share), np.where(rare, np.maximum(top, share), share)))
    (few_above, most_above), (few_below, most_below) = bounds
    return few_above - most_below, most_above - few_below


def _to_show(told: Gain, labels: int, level: float) -> More:
    """Count further labels that show with 80 % that the metric follows humans: its t grows as their root."""
    draws = np.abs(told.t + ndtri((np.arange(2000) + 0.5) / 2000))
    t = np.quantile(draws, QUARTERS)
    needed = labels * (((ndtri(1 - level / 4) + ndtri(POWER)) / t) ** 2 - 1)
    return _labels(np.maximum(needed, 1.0).tolist())


def _to_trust(bias: _Bias, margin: float, labels: int, n_documents: int) -> More | None:
    """Count further labels that bring every bound within the margin; None where a bound is beyond it on both sides."""
    if np.any((bias.low >= margin) | (bias.high <= -margin)):
        return None
    reach, rest = (bias.high - bias.low) / 2, margin - np.abs(bias.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = float(np.max(np.where(rest > 0, (reach / rest) ** 2, np.inf)))
    least = _per_document(labels, n_documents) * (ENOUGH - n_documents)
    needed = max(labels * (factor - 1), least, 1.0) if np.isfinite(factor) else np.inf
    return _labels([needed] * 3)


def _per_document(labels: int, n_documents: int) -> float:
    return labels / max(n_documents, 1)


def _labels(needed: Sequence[float]) -> More:
    """Put quarters in order: a small effect needs most."""
    low, middle, high = (float(np.ceil(x)) if x <= LIMIT else np.inf for x in sorted(needed))
    return More("human labels", middle, low, high, LIMIT)
