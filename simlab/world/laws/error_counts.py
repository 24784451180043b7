"""Ratings that come about by counting errors: some that all raters of an output see, some of each rating's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.types import Answers, Floats, Ints
from simlab.world.laws.fixed import FixedRatings

CHUNK = 2**14
"""So many counts are worked out at a time: what that takes stays in a processor's cache."""
FEW = 128
"""So many counts, and fewer, are walked on with many steps at a time."""


class Noise:
    """Hold the noise of a study, and what has been worked out from it.

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
    """Say how a potential rating comes about, so that a study can draw its own (`noise=fresh`).

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
        """Let the raters in the given slots rate the given outputs: score and number of errors of each."""
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

    def expected(self) -> Floats:
        """Return the score that each rater is expected to give: `[system, item, slot]`."""
        return np.asarray(np.tensordot(self.weight, self.mean, axes=1))


def own_shares(noise_share: float, minor_noise: float) -> Floats:
    """Return the share of noise that is each rating's own by kind of error (minor, major, punctuation): `[kind, 1]`.

    Of what raters share of other errors, they do not share `minor_noise` of minor ones.
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
    """Let every rater rate every output of their buckets once."""
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
    asked, mu = probability.ravel(), mean.ravel()
    for start in range(0, count.size, CHUNK):
        part = slice(start, start + CHUNK)
        count[part] = _quantile(np.minimum(asked[part], 1 - 1e-13), mu[part], dispersion)
    return count.reshape(probability.shape)


def _quantile(probability: Floats, mean: Floats, dispersion: float) -> Ints:
    stretch = 1 + dispersion * mean
    none = np.exp(-mean) if dispersion == 0 else stretch ** (-1 / dispersion)
    # A walk would start from an underflow; there the count is nearly normal.
    if not (huge := none < 1e-280).any():
        return _walked(probability, none, mean / stretch, dispersion)
    spread = np.sqrt(mean + dispersion * mean**2)
    count: Ints = np.rint(np.maximum(mean + ndtri(probability) * spread, 0)).astype(np.int64)
    small = ~huge
    count[small] = _walked(probability[small], none[small], (mean / stretch)[small], dispersion)
    return count


def _walked(left: Floats, pmf: Floats, ratio: Floats, dispersion: float) -> Ints:
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
