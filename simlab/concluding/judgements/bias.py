"""Estimate the errors of a metric's means of systems: of its differences, and in favour of single systems.

`estimate_bias` returns a `Bias`, bounds for each pair on the metric's difference less the humans'. `estimate_favour`
returns a `Favour`, bounds on how far each system lies off the line of systems' means by the metric on those by humans.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from simlab.analysis.means.document_pairs import ROUNDING, MeanInfluence, compare_by_flips, influence, pool_variances
from simlab.analysis.means.documents import LEAST_LEFT, Totals
from simlab.answers.standings import Interval
from simlab.concluding.judgements.estimates import sum_by_document
from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.fitting_metrics.confusion import design_effect
from simlab.types import Bools, Floats, Ints

RARE = 10
"""Number of missed labels below which their variance cannot be estimated from themselves."""

ALIKE = 0.24
"""Share of the range of all scores by which the ends of two scales may lie apart and still be those of one."""
MIDDLE = 0.05
"""Share of the scores at either end that the middle leaves out."""

SURE = 2.0
"""Standard errors over documents by which a metric must follow humans within systems before its scale is estimated."""

FEWEST = 3
"""Least number of systems: of two, either may be the favoured one."""
EXACT = 0.5
"""Weight of the lower end of the slope's band, where human scores carry no noise; the reliability of human scores is
otherwise taken as uniform between the least that the band allows and 1. With .8 a system is accused in .11 of unbiased
tables whose humans are noisy, with .5 in .05; power rises by .01 to .04."""
NODES = 33
SPREAD = np.linspace(-2, 2, 9)
"""Standard errors at which the lower end of the band is tried."""
TAIL = 4.0
"""Degrees of freedom of what tells the slope: one favoured system, or one odd instrument, must not decide it."""


class Bias(NamedTuple):
    """Error of a metric's own differences, `[pair]`, with bounds that hold for all at once.

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


def estimate_bias(
    rng: np.random.Generator, evidence: OutputEvidence, name: str, says: Floats | None, places: tuple[Ints, Ints], *,
    level: float, flips: int,
) -> Bias:  # fmt: skip
    """Return the error of a metric's differences of systems against the humans', over outputs that have both.

    `name` is the metric, `says[output]` are its labels 0 and 1 in place of its scores (None: it has none), `places` are
    the first and the second system of each pair, among those that humans rated. `flips` is the number of random flips
    of signs, `level` the chance that any bound misses. Labels are taken as they are; bounds allow for rare misses that
    few labels do not show.
    """
    score = evidence.metrics[name] if says is None else says
    both: Bools = evidence.rated & np.isfinite(score)
    width, systems = evidence.n_documents, sum_by_document(evidence, None)[0]
    at = evidence.system * width + evidence.document

    def sums(value: Floats) -> Floats:
        flat = np.bincount(at[both], value[both], len(evidence.system_names) * width)
        return np.asarray(flat.reshape(-1, width)[systems], float)

    n = sums(np.ones(len(score)))
    factors = _factors(evidence, score, both, labels=says is not None) if n.sum(1).all() else ()
    if not factors:
        # Without a common scale nothing bounds the error, so that bounds are infinite rather than NaN.
        unknown = np.full(len(places[0]), np.inf)
        nothing, open_ = np.full(len(unknown), np.nan), np.full(len(systems), np.inf)
        return Bias(nothing, -unknown, unknown, nothing, nothing, 1.0, np.full(len(systems), np.nan), -open_, open_)
    total, own_mean = n.sum(1), sums(np.where(both, score, 0.0)).sum(1) / n.sum(1)
    every = np.arange(len(systems)), np.full(len(systems), len(systems))
    comparisons, about = [], []
    for estimate in factors:
        # Inner zeros keep NaN of outputs without a score out of the product, which the outer choice drops anyway.
        missed = np.where(both, estimate.value * np.where(both, score, 0.0) - np.where(both, evidence.human, 0.0), 0.0)
        of = influence(Totals(n, sums(missed), np.zeros_like(n), None, None), corrected=False)
        # A system's error moves with the factor by its mean score; about the mean of all, since differences count.
        of = of._replace(part=of.part + estimate.value * (own_mean - own_mean.mean())[:, None] * estimate.part)
        comparisons.append(compare_by_flips(rng, of, places, level=level, flips=flips))
        about.append(compare_by_flips(rng, _add_mean_row(of), every, level=level, flips=flips))
    low, high = (
        # Which factor is true is not known, so that bounds are those of the worst one at either end.
        np.minimum.reduce([comparison.low for comparison in comparisons]),
        np.maximum.reduce([comparison.high for comparison in comparisons]),
    )
    own_low, own_high = (
        np.minimum.reduce([comparison.low for comparison in about]),
        np.maximum.reduce([comparison.high for comparison in about]),
    )
    # Where misses are rare the flips see no scatter, and bounds of zero width would claim too much.
    if says is not None:
        missed = np.where(both, np.where(both, score, 0.0) - np.where(both, evidence.human, 0.0), 0.0)
        least, most = _bound_rare_misses(sums((missed > 0).astype(float)), sums((missed < 0).astype(float)), n, level)
        low = np.minimum(low, least[places[0]] - most[places[1]])
        high = np.maximum(high, most[places[0]] - least[places[1]])
        own_low, own_high = np.minimum(own_low, least - most.mean()), np.maximum(own_high, most - least.mean())
    # The geometric mean is symmetric: exchanging humans and metric inverts it.
    factor = float(np.sign(factors[0].value) * np.sqrt(factors[0].value * factors[-1].value))
    human_mean, metric_mean = sums(np.where(both, evidence.human, 0.0)).sum(1) / total, factor * own_mean
    human, metric = (mean[places[0]] - mean[places[1]] for mean in (human_mean, metric_mean))
    error = metric_mean - human_mean
    return Bias(metric - human, low, high, human, metric, factor, error - error.mean(), own_low, own_high)


def _add_mean_row(of: MeanInfluence) -> MeanInfluence:
    """Add a row for the mean of all systems."""
    return MeanInfluence(*(np.concatenate([one, one.mean(0, keepdims=True)]) for one in of))


class _BiasFactor(NamedTuple):
    """A factor that brings a metric to the humans' scale, and each document's part in its relative error."""

    value: float
    part: Floats


def _factors(evidence: OutputEvidence, score: Floats, both: Bools, *, labels: bool) -> tuple[_BiasFactor, ...]:
    """Return the ends of what the factor may be; none where the metric does not follow humans within systems.

    It is 1 on one scale. Else both the slope of humans on the metric, which noise of the metric flattens, and the
    inverse of the slope of the metric on humans, which noise of humans steepens, bound it (Frisch 1934).
    """
    nothing = np.zeros(evidence.n_documents)
    squares = squares_within_systems(evidence, score, both)
    of_human, product, of_score = squares
    # A z value with documents as clusters: the sum over the root of squares. The floor only avoids 0/0.
    follows = float(product.sum()) / max(float(np.sqrt((product**2).sum())), 1e-300)
    if labels or (follows > -SURE and share_a_scale(evidence.human[both], score[both])):
        return (_BiasFactor(1.0, nothing),)
    if abs(follows) < SURE:
        # A slope that may be 0 has an unbounded inverse: its ratio would bring any error to any size.
        return ()
    shares = [terms / terms.sum() for terms in (of_human, product, of_score)]
    # Attenuation makes the first too small and the second too large: the true factor lies between (Frisch 1934).
    low, high = float(product.sum() / of_score.sum()), float(of_human.sum() / product.sum())
    # By the delta method a ratio's relative error is the difference of its sums' relative parts.
    return _BiasFactor(low, shares[1] - shares[2]), _BiasFactor(high, shares[0] - shares[1])


def share_a_scale(human: Floats, score: Floats) -> bool:
    """True if scores begin and end about where those of humans do, all or the middle nine tenths of them.

    A few far penalties stretch one of two scales that are the same: the middle tells these.

    >>> share_a_scale(np.array([1.0, 5.0]), np.array([1.0, 10.0]))
    False
    >>> share_a_scale(np.array([3.0, 99.0]), np.array([10.0, 95.0]))
    True
    """
    for share in (0.0, MIDDLE):
        ends = np.array([np.quantile(scores, (share, 1 - share)) for scores in (human, score)])
        if (np.abs(ends[0] - ends[1]) <= ALIKE * np.ptp(ends)).all():
            return True
    return False


def squares_within_systems(evidence: OutputEvidence, score: Floats, both: Bools) -> tuple[Floats, Floats, Floats]:
    """Return sums of squares of humans, products, and squares of the metric about systems' means, `[document]` each.

    `score[output]` is the metric's score, `both[output]` marks outputs with both scores.
    """
    system, n = evidence.system[both], len(evidence.system_names)
    count = np.maximum(np.bincount(system, minlength=n), 1)
    human, own = (one - (np.bincount(system, one, n) / count)[system] for one in (evidence.human[both], score[both]))
    at, width = evidence.document[both], evidence.n_documents
    of_human, product, of_score = (
        np.asarray(np.bincount(at, values, width), float) for values in (human**2, human * own, own**2)
    )
    return of_human, product, of_score


def _bound_rare_misses(above: Floats, below: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    """Bound the mean of misses of +1 and -1 where one kind is too rare to tell its variance: Clopper and Pearson.

    Counted are as many independent outputs as would tell as much: as misses of a kind go together in documents, over
    all systems. A kind that was met ten times or more bounds nothing here.
    """
    tail, bounds = level / (4 * len(n)), []
    for kind in (above, below):
        # A kind that never came shows no clustering; its size then falls back to the number of documents.
        effect = design_effect(np.stack([kind.sum(0), (n - kind).sum(0)], axis=1)) if kind.any() else np.inf
        size = np.maximum(n.sum(1) / effect, (n > 0).sum(1))
        share = kind.sum(1) / n.sum(1)
        hits = share * size
        # The beta quantile takes hits that are no whole numbers, which effective sizes give.
        top = np.where(share >= 1, 1.0, betaincinv(hits + 1, np.maximum(size - hits, 1e-9), 1 - tail))
        rare = hits < RARE
        bounds.append((np.where(rare, 0.0, share), np.where(rare, np.maximum(top, share), share)))
    (few_above, most_above), (few_below, most_below) = bounds
    return few_above - most_below, most_above - few_below


class Favour(NamedTuple):
    """Distance of each system above the line, against the median of the others, `[system]`, and the line's slope.

    The line is that of systems' means by the metric on their means by humans.
    Values are in the metric's points; of a metric that falls where humans rise, points are turned round first. Bounds
    hold for all systems at once.
    """

    value: Floats
    low: Floats
    high: Floats
    slope: Interval


class _Means(NamedTuple):
    """Means of systems by the metric and by humans over outputs that have both, and documents' parts in them."""

    metric: MeanInfluence
    human: MeanInfluence


class _Slopes(NamedTuple):
    """Slopes on a grid, `[node]`, that the line may have, each with its log weight by the evidence within systems.

    That is the band of slopes that noise of humans and metric allows, and what other systems' outputs of an item say.
    """

    value: Floats
    log_weight: Floats


def estimate_favour(
    rng: np.random.Generator, evidence: OutputEvidence, score: Floats, *, level: float, flips: int
) -> Favour | None:
    """Estimate each system's favour; None for fewer than three systems, or if the metric is not shown to follow humans.

    `score[output]` are the metric's scores, `level` is the chance that any bound misses, `flips` the number of random
    flips. It follows humans if both scores go together within systems, by two standard errors over documents.
    """
    both: Bools = evidence.rated & np.isfinite(score)
    systems = sum_by_document(evidence, None)[0]
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
    # A favoured system that helped choose its own line would draw the line towards itself.
    weight = np.stack([_weights(slopes, off[:, rest], variance[:, rest]) for rest in others], 1)
    value = (weight * gap).sum(0)
    every, slope = weight.mean(1), float((weight.mean(1) * slopes.value).sum())
    pool = _shared_variance(means, slope)
    # Law of total variance: the mean variance over slopes and the spread of the gap between slopes.
    error = np.sqrt(
        (weight * (pool_variances(_contrast_variance(means, slopes.value), pool) + (gap - value) ** 2)).sum(0)
    )
    # A metric that repeats humans leaves nothing but rounding.
    error = np.where(error > ROUNDING * np.abs(means.metric.value).max(), error, 0.0)
    reach = np.where(error > 0, _reach(rng, means, slope, pool, level=level, flips=flips) * error, 0.0)
    ends = _quantiles(slopes.value, every, (0.025, 0.975))
    band = sorted((turn * ends[0], turn * ends[1]))
    return Favour(value, value - reach, value + reach, Interval(value=turn * slope, low=band[0], high=band[1]))


def _means(evidence: OutputEvidence, score: Floats, both: Bools, systems: Ints) -> _Means:
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


def _slopes(evidence: OutputEvidence, score: Floats, both: Bools) -> _Slopes:
    """Lay out slopes over the band, weighted by what instruments say of them.

    The lower end, with its error, has the weight EXACT; over the rest the humans' reliability, lower end over slope, is
    uniform.
    """
    of_human, product, of_score = squares_within_systems(evidence, score, both)
    shares = [terms / terms.sum() for terms in (of_human, product, of_score)]
    low, high = float(product.sum() / of_human.sum()), float(of_score.sum() / product.sum())
    low_error, high_error = (float(np.sqrt(((a - b) ** 2).sum())) for a, b in zip(shares[1:], shares[:2], strict=True))
    # Errors of a ratio are near normal on the scale of logarithms, where it stays positive, too.
    exact = low * np.exp(low_error * SPREAD)
    band = np.geomspace(low, max(high, low) * np.exp(high_error), NODES)
    # Nodes are evenly spaced in log slope, where a uniform reliability low/slope has a density like 1/slope.
    prior = np.concatenate([_share_out(np.exp(-(SPREAD**2) / 2), EXACT), _share_out(1 / band, 1 - EXACT)])
    value = np.concatenate([exact, band])
    return _Slopes(value, np.log(prior) + _log_tail(_instrument(evidence, score, both, value)))


def _share_out(weight: Floats, total: float) -> Floats:
    return np.asarray(total * weight / weight.sum())


def _log_tail(z: Floats) -> Floats:
    """Return the logarithm of Student's density, but for a constant."""
    return np.asarray(-(TAIL + 1) / 2 * np.log1p(z**2 / TAIL))


def _instrument(evidence: OutputEvidence, score: Floats, both: Bools, slope: Floats) -> Floats:
    """Return `z[node]`: how far a slope is from what outputs of other systems on the same items say.

    At the true slope, metric less slope times human has nothing to do with what humans say of other systems' outputs of
    the item, whose noise is their own (instrumental variables; Anderson and Rubin 1949 for the test of each slope).
    """
    system, item, document = evidence.system[both], evidence.item[both], evidence.document[both]
    n = np.maximum(np.bincount(system), 1)
    human, own = (x[both] - (np.bincount(system, x[both]) / n)[system] for x in (evidence.human, score))
    there = np.bincount(item)[item] - 1
    # An output's own human score is left out: its noise would go into both sides of the product.
    other = np.where(there > 0, np.bincount(item, human)[item] - human, 0.0) / np.maximum(there, 1)
    of_metric, of_human = (np.bincount(document, x * other) for x in (own, human))
    left = of_metric - slope[:, None] * of_human
    scatter = np.sqrt((left**2).sum(1))
    # Where no item is shared there is no instrument: z = 0 weighs all slopes alike.
    return np.asarray(np.divide(left.sum(1), scatter, out=np.zeros(len(slope)), where=scatter > 0))


def _weights(slopes: _Slopes, off: Floats, variance: Floats) -> Floats:
    """Weigh slopes by how well systems line up, about their median, at each: `[node]`."""
    z = (off - np.median(off, 1, keepdims=True)) / np.sqrt(variance)
    # The middle is estimated from the same systems, which costs one degree of freedom.
    free = off.shape[1] - 1
    log = slopes.log_weight + _log_tail(z).sum(1) - free / 2 * np.log(variance).mean(1)
    # Subtracting the largest logarithm keeps the exponential from underflowing everywhere.
    weight = np.exp(log - log.max())
    return np.asarray(weight / weight.sum())


def _middle(own: Floats, others: Floats) -> Floats:
    """Return the median of the others; of two the nearer, so that one favoured system does not accuse the third."""
    if others.shape[1] == 2:
        return np.clip(own, others.min(1), others.max(1))
    return np.asarray(np.median(others, 1))


def _stretch_parts(of: MeanInfluence) -> Floats:
    """Return documents' parts with the residual that a document has drawn to itself restored (CR3)."""
    return np.asarray(of.part / np.maximum(1 - of.share, LEAST_LEFT))


def _sum_squares(metric: Floats, human: Floats, slope: Floats) -> Floats:
    """Sum up squares of `metric - slope * human` over documents: `[node, system]`."""
    squares = [(a * b).sum(1) for a, b in ((metric, metric), (metric, human), (human, human))]
    left = squares[0] - 2 * slope[:, None] * squares[1] + slope[:, None] ** 2 * squares[2]
    # Expanded squares cancel to a tiny negative number where metric and humans agree; a variance divides below.
    return np.asarray(np.maximum(left, 1e-18 * np.maximum(squares[0], 1e-280)))


def _variance(means: _Means, slope: Floats) -> Floats:
    return _sum_squares(_stretch_parts(means.metric), _stretch_parts(means.human), slope)


def _contrast_variance(means: _Means, slope: Floats) -> Floats:
    """Return the variance of a system's offset less the median of the others': `[node, system]`.

    It is that of the offset less their mean, times what a median of normal values varies more than a mean.
    """
    metric, human = (_subtract_others(_stretch_parts(of)) for of in means)
    others = len(metric) - 1
    # One offset has variance 1, the mean of n others 1/n; the median's variance stands in place of 1/n.
    return _sum_squares(metric, human, slope) * (1 + _approximate_median_variance(others)) / (1 + 1 / others)


def _subtract_others(part: Floats) -> Floats:
    return np.asarray(part - (part.sum(0) - part) / (len(part) - 1))


def _approximate_median_variance(n: int) -> float:
    """Return the variance of the median of so many standard normal values, to 3 % (1 for the nearer of two).

    >>> [round(_approximate_median_variance(n), 1) for n in (2, 3, 5, 14)]
    [1.0, 0.4, 0.3, 0.1]
    """
    return 1.0 if n == 2 else float(np.pi / (2 * n + (1.14 if n % 2 else 2.3)))


def _shared_variance(means: _Means, slope: float) -> float:
    """Return the share, 0 to 1, by which variances of systems' offsets are drawn towards their mean.

    It is the scatter of logarithms of variances that the number of documents explains, over the scatter found: 40 items
    tell a single variance badly, and systems that are as noisy as each other tell it together (Smyth 2004).
    """
    metric, human = (_subtract_others(_stretch_parts(of)) for of in means)
    square = (metric - slope * human) ** 2
    total = square.sum(1)
    if (total <= (ROUNDING * np.abs(means.metric.value).max()) ** 2).any():
        return 0.0
    # By the delta method the variance of log(sum) is sum(q^2)/sum(q)^2 - 1/n for terms q of n documents.
    chance = float(((square**2).sum(1) / total**2 - 1 / square.shape[1]).mean())
    return min(1.0, chance / max(float(np.log(total).var(ddof=1)), 1e-300))


def _reach(rng: np.random.Generator, means: _Means, slope: float, pool: float, *, level: float, flips: int) -> float:
    """Return how many standard errors hold all systems at once: whole documents flipped, at the likeliest slope."""
    metric, human = means
    off = MeanInfluence(metric.value - slope * human.value, metric.part - slope * human.part, metric.share)
    n = len(off.value)
    rest = MeanInfluence(*((distance.sum(0) - distance) / (n - 1) for distance in off))
    both = MeanInfluence(*(np.concatenate(rows) for rows in zip(off, rest, strict=True)))
    return float(
        compare_by_flips(rng, both, (np.arange(n), np.arange(n) + n), level=level, flips=flips, pool=pool).reach[0]
    )


def _quantiles(value: Floats, weight: Floats, at: tuple[float, ...]) -> list[float]:
    order = np.argsort(value)
    passed = np.cumsum(weight[order])
    return [float(value[order][min(int(np.searchsorted(passed, q)), len(value) - 1)]) for q in at]
