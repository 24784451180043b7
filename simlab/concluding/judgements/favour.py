"""Estimate which systems a metric favours at equal human quality: how far each lies off a line over all systems.

The line says what the metric scores at each human mean. Its slope is not known: noise of human scores flattens the
regression of the metric on them, noise of the metric steepens the inverse of the other, so that the truth lies between
both (Frisch 1934). What is told of the slope inside that band, by outputs of other systems on the same items and by
all systems but the one that is tested, weights it; what is left open of it widens every interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.means.document_pairs import ROUNDING, Influence, compared, influence, pooled
from simlab.analysis.means.documents import LEAST_LEFT, Totals
from simlab.answers.conclude import Interval
from simlab.concluding.judgements.bias import SURE, squares_within_systems
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.totals import laid
from simlab.types import Bools, Floats, Ints

FEWEST = 3
"""Systems, below which nobody can tell the favoured one from the one that is not."""
EXACT = 0.5
"""Weight of the lower end of the slope's band, where human scores carry no noise; the reliability of human scores is
otherwise taken as uniform between the least that the band allows and 1. With .8 a system is accused in .11 of unbiased
tables whose humans are noisy, with .5 in .05; power rises by .01 to .04."""
NODES = 33
SPREAD = np.linspace(-2, 2, 9)
"""Standard errors at which the lower end of the band is tried."""
TAIL = 4.0
"""Degrees of freedom of what tells the slope: one favoured system, or one odd instrument, must not decide it."""


class Favour(NamedTuple):
    """Hold how far each system lies above the line, against the median of the others, `[system]`, and the slope.

    Values are in the metric's points; of a metric that falls where humans rise, points are turned round first. Bounds
    hold for all systems at once.
    """

    value: Floats
    low: Floats
    high: Floats
    slope: Interval


class _Means(NamedTuple):
    """Hold means of systems by the metric and by humans over outputs that have both, and documents' parts in them."""

    metric: Influence
    human: Influence


class _Slopes(NamedTuple):
    """Hold slopes `[node]` with the logarithm of what tells them within systems: the band, and other systems' items."""

    value: Floats
    log_weight: Floats


def favour_of(
    rng: np.random.Generator, evidence: Evidence, score: Floats, *, level: float, flips: int
) -> Favour | None:
    """Estimate each system's favour; None for fewer than three systems, or if the metric is not shown to follow humans.

    It follows them if scores go together within systems, by two standard errors over documents.
    """
    both: Bools = evidence.rated & np.isfinite(score)
    systems = laid(evidence, None)[0]
    if len(systems) < FEWEST or len(np.unique(evidence.system[both])) < len(systems):
        return None
    product = squares_within_systems(evidence, score, both)[1]
    follows = float(product.sum()) / max(float(np.sqrt((product**2).sum())), 1e-300)
    if abs(follows) < SURE:
        return None
    turn = float(np.sign(follows))
    means, slopes = _means(evidence, turn * score, both, systems), _slopes(evidence, turn * score, both)
    return _favour(rng, means, slopes, turn, level=level, flips=flips)


def _favour(
    rng: np.random.Generator, means: _Means, slopes: _Slopes, turn: float, *, level: float, flips: int
) -> Favour:
    """Weigh what every slope says of each system; the slope that tests a system rests on the others alone."""
    off = means.metric.value - slopes.value[:, None] * means.human.value
    variance = _variance(means, slopes.value)
    others = np.array([np.delete(np.arange(off.shape[1]), k) for k in range(off.shape[1])])
    gap = np.stack([off[:, k] - _middle(off[:, k], off[:, rest]) for k, rest in enumerate(others)], 1)
    weight = np.stack([_weights(slopes, off[:, rest], variance[:, rest]) for rest in others], 1)
    value = (weight * gap).sum(0)
    every, slope = weight.mean(1), float((weight.mean(1) * slopes.value).sum())
    pool = _shared_variance(means, slope)
    error = np.sqrt((weight * (pooled(_contrast_variance(means, slopes.value), pool) + (gap - value) ** 2)).sum(0))
    # A metric that repeats humans leaves nothing but rounding.
    error = np.where(error > ROUNDING * np.abs(means.metric.value).max(), error, 0.0)
    reach = np.where(error > 0, _reach(rng, means, slope, pool, level=level, flips=flips) * error, 0.0)
    ends = _quantiles(slopes.value, every, (0.025, 0.975))
    band = sorted((turn * ends[0], turn * ends[1]))
    return Favour(value, value - reach, value + reach, Interval(value=turn * slope, low=band[0], high=band[1]))


def _means(evidence: Evidence, score: Floats, both: Bools, systems: Ints) -> _Means:
    width = evidence.n_documents
    at = (evidence.system * width + evidence.document)[both]

    def sums(value: Floats) -> Floats:
        flat = np.bincount(at, value[both], len(evidence.system_names) * width)
        return np.asarray(flat.reshape(-1, width)[systems], float)

    n = sums(np.ones(len(score)))
    made = (
        influence(Totals(n, sums(x), np.zeros_like(n), None, None), corrected=False) for x in (score, evidence.human)
    )
    return _Means(*made)


def _slopes(evidence: Evidence, score: Floats, both: Bools) -> _Slopes:
    """Lay out slopes over the band, weighted by what instruments say of them.

    The lower end, with its error, has the weight EXACT; over the rest the humans' reliability, lower end over slope, is
    uniform.
    """
    of_human, product, of_score = squares_within_systems(evidence, score, both)
    shares = [one / one.sum() for one in (of_human, product, of_score)]
    low, high = float(product.sum() / of_human.sum()), float(of_score.sum() / product.sum())
    low_error, high_error = (float(np.sqrt(((a - b) ** 2).sum())) for a, b in zip(shares[1:], shares[:2], strict=True))
    exact = low * np.exp(low_error * SPREAD)
    band = np.geomspace(low, max(high, low) * np.exp(high_error), NODES)
    prior = np.concatenate([_share_out(np.exp(-(SPREAD**2) / 2), EXACT), _share_out(1 / band, 1 - EXACT)])
    value = np.concatenate([exact, band])
    return _Slopes(value, np.log(prior) + _log_tail(_instrument(evidence, score, both, value)))


def _share_out(weight: Floats, total: float) -> Floats:
    return np.asarray(total * weight / weight.sum())


def _log_tail(z: Floats) -> Floats:
    """Return the logarithm of Student's density, but for a constant."""
    return np.asarray(-(TAIL + 1) / 2 * np.log1p(z**2 / TAIL))


def _instrument(evidence: Evidence, score: Floats, both: Bools, slope: Floats) -> Floats:
    """Return `z[node]`: how far a slope is from what outputs of other systems on the same items say.

    At the true slope, metric less slope times human has nothing to do with what humans say of other systems' outputs of
    the item, whose noise is their own (instrumental variables; Anderson and Rubin 1949 for the test of each slope).
    """
    system, item, document = evidence.system[both], evidence.item[both], evidence.document[both]
    n = np.maximum(np.bincount(system), 1)
    human, own = (x[both] - (np.bincount(system, x[both]) / n)[system] for x in (evidence.human, score))
    there = np.bincount(item)[item] - 1
    other = np.where(there > 0, np.bincount(item, human)[item] - human, 0.0) / np.maximum(there, 1)
    of_metric, of_human = (np.bincount(document, x * other) for x in (own, human))
    left = of_metric - slope[:, None] * of_human
    scatter = np.sqrt((left**2).sum(1))
    return np.asarray(np.divide(left.sum(1), scatter, out=np.zeros(len(slope)), where=scatter > 0))


def _weights(slopes: _Slopes, off: Floats, variance: Floats) -> Floats:
    """Weigh slopes by how well systems line up, about their median, at each: `[node]`."""
    z = (off - np.median(off, 1, keepdims=True)) / np.sqrt(variance)
    free = off.shape[1] - 1
    log = slopes.log_weight + _log_tail(z).sum(1) - free / 2 * np.log(variance).mean(1)
    weight = np.exp(log - log.max())
    return np.asarray(weight / weight.sum())


def _middle(own: Floats, others: Floats) -> Floats:
    """Return the median of the others; of two the nearer, so that one favoured system does not accuse the third."""
    if others.shape[1] == 2:
        return np.clip(own, others.min(1), others.max(1))
    return np.asarray(np.median(others, 1))


def _stretched(of: Influence) -> Floats:
    """Return documents' parts with the residual that a document has drawn to itself restored (CR3)."""
    return np.asarray(of.part / np.maximum(1 - of.share, LEAST_LEFT))


def _quadratic(metric: Floats, human: Floats, slope: Floats) -> Floats:
    """Sum up squares of `metric - slope * human` over documents: `[node, system]`."""
    squares = [(a * b).sum(1) for a, b in ((metric, metric), (metric, human), (human, human))]
    left = squares[0] - 2 * slope[:, None] * squares[1] + slope[:, None] ** 2 * squares[2]
    return np.asarray(np.maximum(left, 1e-18 * np.maximum(squares[0], 1e-280)))


def _variance(means: _Means, slope: Floats) -> Floats:
    return _quadratic(_stretched(means.metric), _stretched(means.human), slope)


def _contrast_variance(means: _Means, slope: Floats) -> Floats:
    """Return the variance of a system's offset less the median of the others': `[node, system]`.

    It is that of the offset less their mean, times what a median of normal values varies more than a mean.
    """
    metric, human = (_less_others(_stretched(of)) for of in means)
    others = len(metric) - 1
    return _quadratic(metric, human, slope) * (1 + _of_median(others)) / (1 + 1 / others)


def _less_others(part: Floats) -> Floats:
    return np.asarray(part - (part.sum(0) - part) / (len(part) - 1))


def _of_median(n: int) -> float:
    """Return the variance of the median of so many standard normal values, to 3 % (1 for the nearer of two).

    >>> [round(_of_median(n), 1) for n in (2, 3, 5, 14)]
    [1.0, 0.4, 0.3, 0.1]
    """
    return 1.0 if n == 2 else float(np.pi / (2 * n + (1.14 if n % 2 else 2.3)))


def _shared_variance(means: _Means, slope: float) -> float:
    """Return the share, 0 to 1, by which variances of systems' offsets are drawn towards their mean.

    It is the scatter of logarithms of variances that the number of documents explains, over the scatter found: 40 items
    tell a single variance badly, and systems that are as noisy as each other tell it together (Smyth 2004).
    """
    metric, human = (_less_others(_stretched(of)) for of in means)
    square = (metric - slope * human) ** 2
    total = square.sum(1)
    if (total <= (ROUNDING * np.abs(means.metric.value).max()) ** 2).any():
        return 0.0
    chance = float(((square**2).sum(1) / total**2 - 1 / square.shape[1]).mean())
    return min(1.0, chance / max(float(np.log(total).var(ddof=1)), 1e-300))


def _reach(rng: np.random.Generator, means: _Means, slope: float, pool: float, *, level: float, flips: int) -> float:
    """Return how many standard errors hold all systems at once: whole documents flipped, at the likeliest slope."""
    metric, human = means
    off = Influence(metric.value - slope * human.value, metric.part - slope * human.part, metric.share)
    n = len(off.value)
    rest = Influence(*((one.sum(0) - one) / (n - 1) for one in off))
    both = Influence(*(np.concatenate(rows) for rows in zip(off, rest, strict=True)))
    return float(compared(rng, both, (np.arange(n), np.arange(n) + n), level=level, flips=flips, pool=pool).reach[0])


def _quantiles(value: Floats, weight: Floats, at: tuple[float, ...]) -> list[float]:
    order = np.argsort(value)
    passed = np.cumsum(weight[order])
    return [float(value[order][min(int(np.searchsorted(passed, q)), len(value) - 1)]) for q in at]
