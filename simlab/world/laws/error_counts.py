"""Law of ratings by errors marked: the noise of a count is partly shared by an output's raters, partly a rating's own.

`make_error_law` makes the law `ErrorCounts` of what `draw_people`, `draw_leanings` and `draw_passages` drew: effects of
raters, of raters on documents, and of documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from simlab.types import Answers, Floats, Frame, Ints, Outputs
from simlab.world.laws.fixed import FixedRatings
from simlab.world.systems import draw_lognormal

CHUNK = 2**14
"""Most counts that are worked out at a time, so that their arrays stay in a processor's cache."""
FEW = 128
"""Most counts for which many steps of the walk are taken at a time."""


class Noise:
    """Noise of a study, and the numbers of errors that have been worked out from it.

    `normal[kind, system, item, slot]` is the standard normal part of every potential rating. From the second design on
    that asks, `counted` holds the number of errors of each rating that was worked out, and one; 0 of others.
    """

    __slots__ = ("asked", "counted", "normal")

    def __init__(self, normal: Floats) -> None:
        normal.setflags(write=False)
        self.normal = normal
        self.asked = False
        self.counted: Ints | None = None


@dataclass(frozen=True, slots=True)
class ErrorCounts:
    """Law of potential ratings by errors marked, from which a study can draw its own (`noise=fresh`).

    `mean[kind, system, item, slot]` is the expected number of errors of a kind (minor, major) that the rater in the
    slot marks, `shared[kind, system, item]` the standard normal part of the count that all raters share, `own_share`
    the share of its variance that is each rating's own (one for all kinds, or `[kind, 1]`), `dispersion` the variance
    of the gamma multiplier of the count (0 = Poisson) and `weight[kind]` the points an error costs.
    """

    mean: Floats
    shared: Floats
    own_share: float | Floats
    dispersion: float
    weight: Floats

    def draw(self, rng: np.random.Generator, needs: None = None) -> Noise:
        """Draw the standard normal part of every potential rating, asked for or not."""
        return Noise(rng.standard_normal(self.mean.shape))

    def answer(self, noise: Noise, unit: Ints, item: Ints, slot: Ints) -> Answers:
        """Return score and errors of each rating k: of system `unit[k]` on `item[k]` by the rater in `slot[k]`."""
        n_kinds, _, n_items, n_slots = self.mean.shape
        # Flat indices gather several times faster than three index arrays.
        output = unit * n_items + item
        rating = output * n_slots + slot
        if not noise.asked:
            # Most studies are asked by one design, which shall not pay for others.
            noise.asked = True
            count = self._counts(noise.normal, output, rating)
            return Answers(self.weight @ count, count.sum(0))
        if noise.counted is None:
            noise.counted = np.zeros((n_kinds, noise.normal.size // n_kinds), np.int64)
        count = noise.counted.take(rating, axis=1)
        if len(new := np.flatnonzero(count[0] == 0)):
            count[:, new] = self._counts(noise.normal, output[new], rating[new]) + 1
            noise.counted[:, rating[new]] = count[:, new]
        count -= 1
        return Answers(self.weight @ count, count.sum(0))

    def _counts(self, normal: Floats, output: Ints, rating: Ints) -> Ints:
        """Count the errors `[kind, rating]` of the given ratings."""
        n_kinds = len(self.mean)
        normal, shared, mean = (array.reshape(n_kinds, -1) for array in (normal, self.shared, self.mean))
        own, common = np.sqrt(self.own_share), np.sqrt(1 - self.own_share)
        count = np.empty((n_kinds, len(rating)), np.int64)
        for start in range(0, len(rating), CHUNK):
            at = slice(start, start + CHUNK)
            latent = normal.take(rating[at], axis=1)
            latent *= own
            latent += common * shared.take(output[at], axis=1)
            expected = mean.take(rating[at], axis=1)
            count[:, at] = count_quantile(ndtr(latent, out=latent), expected, self.dispersion)
        return count

    def expected_ratings(self) -> Floats:
        """Return the score that each rater is expected to give: `[system, item, slot]`."""
        return np.asarray(np.tensordot(self.weight, self.mean, axes=1))


def own_shares(noise_share: float, minor_noise: float) -> Floats:
    """Return the share of noise that is each rating's own by kind of error (minor, major, punctuation): `[kind, 1]`.

    `minor_noise` is the share that raters do not share, for minor errors, of the noise that they share for others.
    """
    minor = noise_share if minor_noise == 0 else 1 - (1 - noise_share) * (1 - minor_noise)
    return np.array([minor, noise_share, noise_share])[:, None]


def shared_parts(rng: np.random.Generator, shape: tuple[int, int, int], segment_share: float) -> Floats:
    """Draw the parts `[kind, system, item]` of the numbers of errors that all raters of an output share.

    Systems stumble over the same passages: outputs of a segment have `segment_share` of the variance in common.
    """
    shared = rng.standard_normal(shape)
    if segment_share == 0:
        return shared
    common = rng.standard_normal((shape[0], 1, shape[2]))
    return np.asarray(np.sqrt(1 - segment_share) * shared + np.sqrt(segment_share) * common)


def potential_ratings(rng: np.random.Generator, law: ErrorCounts) -> FixedRatings:
    """Draw one rating of every output by every rater of its bucket, `[system, item, slot]`."""
    where = np.indices(law.mean.shape[1:]).reshape(3, -1)
    value, errors = law.answer(law.draw(rng), where[0], where[1], where[2])
    shape = law.mean.shape[1:]
    return FixedRatings(value.reshape(shape), np.asarray(errors).reshape(shape))


def count_quantile(probability: Floats, mean: Floats, dispersion: float) -> Ints:
    """Invert the distribution function of a gamma-Poisson (negative binomial) count.

    `dispersion` is the variance of the gamma multiplier of the mean; 0 gives the Poisson law. Values walk up from 0
    together, and leave once their probability is covered.

    >>> count_quantile(np.array([0.3, 0.7, 0.95]), np.array([1.0, 1.0, 1.0]), 0.0)
    array([0, 1, 3])
    """
    count = np.empty(probability.size, np.int64)
    levels, mu = probability.ravel(), mean.ravel()
    for start in range(0, count.size, CHUNK):
        part = slice(start, start + CHUNK)
        # A level that rounds to 1 is covered by no count.
        count[part] = _quantile(np.minimum(levels[part], 1 - 1e-13), mu[part], dispersion)
    return count.reshape(probability.shape)


def _quantile(probability: Floats, mean: Floats, dispersion: float) -> Ints:
    stretch = 1 + dispersion * mean
    # Nothing is counted with probability (1 + d m)^(-1 / d), which is exp(-m) where the dispersion d is 0.
    none = np.exp(-mean) if dispersion == 0 else stretch ** (-1 / dispersion)
    # A walk would start from an underflow; there the count is nearly normal.
    if not (huge := none < 1e-280).any():
        return _walk_up(probability, none, mean / stretch, dispersion)
    spread = np.sqrt(mean + dispersion * mean**2)
    count: Ints = np.rint(np.maximum(mean + ndtri(probability) * spread, 0)).astype(np.int64)
    small = ~huge
    count[small] = _walk_up(probability[small], none[small], (mean / stretch)[small], dispersion)
    return count


def _walk_up(left: Floats, pmf: Floats, ratio: Floats, dispersion: float) -> Ints:
    """Walk up from 0, all together: `left` is the probability not yet covered, `pmf` that of the next count.

    Each count's sums and products are taken in the order of the walk, whoever walks along: their bits are the same. A
    walk that rounding keeps from its end, ends where nothing more is added.
    """
    count = np.zeros(len(left), np.int64)
    where, k, stride = np.arange(len(left)), 0, 2
    while len(where) > FEW:
        first, reached = k, np.zeros(len(where), np.int8)
        for k in range(first, first + stride):
            left -= pmf
            reached += (left > 0).view(np.int8)
            # Each probability is the one before times ratio x (1 + d k) / (k + 1).
            pmf *= ratio
            pmf *= (1 + dispersion * k) / (k + 1)
        count[where] = reached + np.int64(first)
        k += 1
        # Dropping what is covered costs more than a step, so it is done ever more seldom.
        keep = np.flatnonzero((reached == stride) & (pmf > 0))
        where, left, ratio, pmf = where.take(keep), left.take(keep), ratio.take(keep), pmf.take(keep)
        stride = min(2 * stride, 8)
    while len(where):
        # Of few counts with many errors many steps are taken at once, each from the last as before.
        stride = min(2 * stride, 512)
        steps = np.arange(k, k + stride)
        factors = np.empty((len(where), 2 * stride + 1))
        factors[:, 0], factors[:, 1::2] = pmf, ratio[:, None]
        factors[:, 2::2] = (1 + dispersion * steps) / (steps + 1)
        np.multiply.accumulate(factors, axis=1, out=factors)
        covered = np.column_stack([left, factors[:, :-1:2]])
        np.subtract.accumulate(covered, axis=1, out=covered)
        reached = np.count_nonzero(covered[:, 1:] > 0, axis=1)
        count[where] = k + reached
        k += stride
        keep = np.flatnonzero((reached == stride) & (factors[:, -1] > 0))
        where, left, ratio, pmf = where[keep], covered[keep, -1], ratio[keep], factors[keep, -1]
    return count


@dataclass(frozen=True, slots=True)
class TasteSpread:
    """Spreads of raters' factors on systems, documents, outputs, segments, as standard deviations of logarithms.

    `level`: over the documents of a bucket all its raters expect the same of a system.
    """

    system: float
    document: float
    output: float
    segment: float
    level: bool


@dataclass(frozen=True, slots=True)
class KindSpread:
    """Spreads of factors of documents and segments by kind of error, as standard deviations of logarithms.

    `common` is the share that the outputs of a segment have in common of the noise that all raters of an output share.
    """

    document: float
    segment: float
    common: float


@dataclass(frozen=True, slots=True)
class Marking:
    """Keys of `mqm_raters` for counts and costs of errors; `fixed`: every rating is drawn once for a world."""

    noise_share: float
    minor_noise: float
    dispersion: float
    major_share: float
    minor_weight: float
    major_weight: float
    fixed: bool


@dataclass(frozen=True, slots=True)
class People:
    """Effects of raters alone: `leniency[rater]`, `severity[rater]`, `of_system[system, 1, rater]`."""

    leniency: Floats
    severity: Floats
    of_system: Floats


class ErrorLeanings(NamedTuple):
    """Effects of raters on documents: `taste[system, document, rater]`, `objections[kind, item, rater]`."""

    taste: Floats
    objections: Floats | None


class ErrorPassages(NamedTuple):
    """Effects of documents: `shared[kind, system, item]` parts of counts, factors `by_kind[kind, item]`."""

    shared: Floats
    by_kind: Floats | None


def draw_people(
    rng: np.random.Generator, *, n_systems: int, n: int, leniency_sd: float, severity_sd: float, system_sd: float
) -> People:
    """Draw n raters; the spreads are standard deviations of logarithms."""
    leniency, severity = (draw_lognormal(rng, sd, n) for sd in (leniency_sd, severity_sd))
    return People(leniency, severity, draw_lognormal(rng, system_sd, (n_systems, 1, n)))


def draw_leanings(
    rng: np.random.Generator, spread: TasteSpread, outputs: Outputs, frame: Frame, people: People
) -> ErrorLeanings:
    """Draw how raters differ on documents, outputs and segments."""
    taste = _taste(rng, spread, outputs, frame, people)
    if spread.segment == 0:
        return ErrorLeanings(taste, None)
    return ErrorLeanings(taste, draw_lognormal(rng, spread.segment, (2, len(outputs.document), len(people.leniency))))


def _taste(rng: np.random.Generator, spread: TasteSpread, outputs: Outputs, frame: Frame, people: People) -> Floats:
    """Draw the factors `[system, document, rater]` of raters on documents and outputs, times those on systems."""
    n_raters = len(people.leniency)
    taste = (
        people.of_system
        * draw_lognormal(rng, spread.document, (1, frame.n_documents, n_raters))
        * draw_lognormal(rng, spread.output, (frame.n_systems, frame.n_documents, n_raters))
    )
    return level_taste(taste, outputs, frame.bucket) if spread.level else taste


def draw_passages(rng: np.random.Generator, outputs: Outputs, kinds: KindSpread) -> ErrorPassages:
    """Draw the part of the number of errors in an output that all raters share, and how kinds differ."""
    n_systems, n_items = outputs.quality.shape
    shared = shared_parts(rng, (2, n_systems, n_items), kinds.common)
    if kinds.document == kinds.segment == 0:
        return ErrorPassages(shared, None)
    by_document = draw_lognormal(rng, kinds.document, (2, int(outputs.document.max()) + 1))
    by_segment = draw_lognormal(rng, kinds.segment, (2, len(outputs.document)))
    return ErrorPassages(shared, np.asarray(by_document[:, outputs.document] * by_segment))


def make_error_law(
    outputs: Outputs, frame: Frame, people: People, leanings: ErrorLeanings, passages: ErrorPassages, marking: Marking
) -> ErrorCounts:
    """Return the law of the errors that raters mark: the expected numbers of each kind, and their noise."""
    points = (1 - marking.major_share) * marking.minor_weight + marking.major_share * marking.major_weight
    # Whoever rates an item rates it for all systems, so one system's seats are all.
    rater = frame.rater[0]
    major = expit(logit(marking.major_share) + np.log(people.severity))[rater]
    # Quality is in points, so it is divided by what an error costs on average.
    marked = (outputs.quality / points)[:, :, None] * people.leniency[rater]
    marked = marked * np.take_along_axis(leanings.taste[:, frame.document], frame.rater, axis=2)
    mean = np.stack([marked * (1 - major), marked * major])
    if passages.by_kind is not None:
        mean *= passages.by_kind[:, None, :, None]
    if leanings.objections is not None:
        mean *= leanings.objections[:, np.arange(len(rater))[:, None], rater][:, None]
    return ErrorCounts(
        mean=mean,
        shared=passages.shared,
        own_share=own_shares(marking.noise_share, marking.minor_noise)[:2],
        dispersion=marking.dispersion,
        weight=np.array([marking.minor_weight, marking.major_weight]),
    )


def truth_of_pool(truth: Floats, people: People, marking: Marking, *, level: bool) -> Floats:
    """Return each system's mean score over documents and, with equal weight, over these raters: `[system]`, in points.

    Taste for documents and outputs has mean 1, and so has what is levelled over buckets (`level`).
    """
    points = (1 - marking.major_share) * marking.minor_weight + marking.major_share * marking.major_weight
    major = expit(logit(marking.major_share) + np.log(people.severity))
    own = people.leniency * ((1 - major) * marking.minor_weight + major * marking.major_weight) / points
    taste = np.ones((len(truth), len(own))) if level else people.of_system[:, 0]
    return np.asarray(truth * (taste * own).mean(1))


def level_taste(taste: Floats, outputs: Outputs, bucket: Ints) -> Floats:
    """Scale `taste[system, document, rater]` so that each rater's total over a bucket is each system's total."""
    in_bucket = np.equal.outer(np.arange(int(bucket.max()) + 1), bucket).astype(float)
    n_documents = len(bucket)
    total = np.stack([np.bincount(outputs.document, weights=row, minlength=n_documents) for row in outputs.quality])
    wanted = total @ in_bucket.T
    reached = np.einsum("bd,sd,sdr->sbr", in_bucket, total, taste)
    scale = np.divide(wanted[:, :, None], reached, out=np.ones_like(reached), where=reached > 0)
    return np.asarray(taste * scale[:, bucket])
