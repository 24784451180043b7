"""Work out theta, the posterior P(p> > p<), to a wanted error: by integrals, points or particles.

p>, p= and p< are the probabilities that the first system of a pair wins, draws and loses. `RefinedRows.build` gives a
first answer for each pair, `refine` makes it precise enough, `posterior` returns it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from simlab.analysis.preferences import reversal, ridge
from simlab.analysis.preferences.checks import OutcomeCounts
from simlab.types import Array, Bools, Floats

ERROR, ERROR_NEAR = 0.003, 0.0007
"""Largest standard errors of theta; the second within .02 of a threshold of the decision."""
ERROR_FAR, ERROR_OF_PEAKS = 0.005, 0.01
"""Largest standard error of theta that a decision is content with, however far from a threshold; the second where
points about a peak, which cost more than lines, are all there is."""
LEAST_ESS, COARSE_ESS = 2000, 100
"""Effective draws below which importance sampling is not trusted: for a posterior, and for a first decision."""
_NEAR = 0.02
_MOST_CHUNKS = 48
_QUICK_ERROR = 1e-4
"""Added to the estimated error of a quick integral."""
_BATCH = 32
"""Rows that are integrated at once: as many as fit into the cache."""
_GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass
class RefinedRows:
    """Posterior of the outcome probabilities p (p>, p=, p<) of each pair, a row, which can be refined.

    `theta` is P(p> > p<), held against `level / 2` and `1 - level / 2` to decide; `error` is its standard error, `ess`
    the effective number of draws. `mean` and `second` are the first two moments of p, `[row, 3]`. Rows `sampled`
    need importance sampling by quasi-random points, rows `tempered` particles (sequential Monte Carlo).
    """

    counts: OutcomeCounts
    level: float
    seed: int
    theta: Floats
    mean: Floats
    second: Floats
    error: Floats
    ess: Floats
    sampled: Bools
    tempered: Bools
    peaks: dict[int, ridge.Peak] = field(default_factory=dict)

    @classmethod
    def build(
        cls, counts: OutcomeCounts, level: float, seed: int, *, forced: bool = False, quick: bool = False
    ) -> RefinedRows:
        """Answer exactly where that can be (`quick`: as exactly as a decision needs); other rows wait for points.

        `forced`: take particles instead of points.
        """
        informed = counts.metric.any(1)
        integrated = ((counts.mu is not None) & informed) | (
            (counts.rater is not None) & ((counts.mu is not None) | ~informed)
        )
        sampled = informed & (counts.mu is None)
        tempered = sampled & forced
        a = counts.human + 1
        total = a.sum(1, keepdims=True)
        theta = 1 - betainc(a[:, 0], a[:, 2], 0.5)
        state = cls(
            counts,
            level,
            seed,
            theta,
            a / total,
            a * (a + 1) / (total * (total + 1)),
            np.where(sampled, np.inf, 0.0),
            np.where(sampled, 0.0, np.inf),
            np.asarray(sampled & ~tempered),
            np.asarray(tempered),
        )
        state._integrate(np.flatnonzero(integrated), quick=quick)
        return state

    def distance(self) -> Floats:
        """Return how far theta `[row]` is from the nearer threshold, `level` / 2 or 1 - `level` / 2."""
        return np.asarray(np.minimum(np.abs(self.theta - self.level / 2), np.abs(self.theta - 1 + self.level / 2)))

    def error_limits(self) -> Floats:
        """Return the largest error that is wanted of each row."""
        return np.where(self.distance() < _NEAR, ERROR_NEAR, ERROR)

    def content(self) -> Floats:
        """Return the error of each row that a first decision is content with, if points are cheap."""
        far = np.where(self._along_lines(np.arange(len(self.theta))), ERROR_FAR, ERROR_OF_PEAKS)
        return np.asarray(np.clip(self.distance() / 4, ERROR_NEAR, far))

    def refine(
        self, target: Callable[[], Floats], least_ess: float = LEAST_ESS, settled: Callable[[], Floats] | None = None
    ) -> None:
        """Add points until the error of each row is at most `target()`; rows that points do not help are tempered.

        Where the finest lattice is not enough, an error of `settled()` will do: what follows costs most.
        """
        settled = settled or target
        a = reversal.proposal(self.counts.human, self.counts.confusion, two_outcomes=self.counts.two_outcomes)
        planned = np.where(self.sampled, 0, len(reversal.LATTICES))
        last: dict[int, tuple[Floats, Floats]] = {}
        for lattice in range(len(reversal.LATTICES)):
            rows = np.flatnonzero(planned == lattice)
            if not len(rows):
                continue
            sums, scale = self._sums(rows, a, lattice)
            self._take(rows, sums)
            last = {int(row): (sums[k : k + 1], scale[k : k + 1]) for k, row in enumerate(rows)}
            lacking = self._missing_factor(target(), least_ess)[rows]
            planned[rows] = np.where(lacking > 1, self._choose_lattice(lacking, lattice), len(reversal.LATTICES) + 1)
        lacking = self._missing_factor(settled(), least_ess)
        for row in np.flatnonzero(self.sampled & (planned == len(reversal.LATTICES)) & (lacking > 1)):
            self._refine_one(int(row), a, settled, least_ess, *last[int(row)])
        for row in np.flatnonzero(self.tempered):
            self._temper(int(row), a[row])

    def _missing_factor(self, target: Floats, least_ess: float) -> Floats:
        """Return by what factor the points of each row fall short."""
        # Quasi-random points do better than the square root.
        return np.maximum((self.error / target) ** 1.7, least_ess / np.maximum(self.ess, 1e-9))

    @staticmethod
    def _choose_lattice(lacking: Floats, lattice: int) -> Array:
        """Choose the lattice that has enough points; always a finer one, the finest before single rows are refined."""
        sizes = np.array(reversal.LATTICES)
        enough = np.searchsorted(sizes, sizes[lattice] * lacking)
        finest = len(sizes) - 1
        return np.asarray(np.maximum(np.minimum(enough, finest), lattice + 1))

    def posterior(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return theta, mean, sd, error and ess."""
        sd = np.sqrt(np.maximum(self.second - self.mean**2, 0))
        return self.theta, self.mean, sd, self.error, self.ess

    def _select_counts(self, rows: Array) -> tuple[Floats, Floats, Floats]:
        return self.counts.human[rows], self.counts.confusion[rows], self.counts.metric[rows]

    def _sums(self, rows: Array, a: Floats, lattice: int, chunk: int = 0) -> tuple[Floats, Floats]:
        """Turn points of a lattice into weighted sums, by the proposal that suits what is known."""
        total, scale = np.empty((len(rows), reversal.REPLICATES, reversal.SUMS)), np.empty(len(rows))
        along = self._along_lines(rows)
        if along.any():
            of = rows[along]
            total[along], scale[along] = reversal.sums(*self._select_counts(of), a[of], lattice, self.seed, chunk)
        if not along.all():
            total[~along], scale[~along] = self._sums_of_peaks(rows[~along], lattice, chunk)
        return total, scale

    def _along_lines(self, rows: Array) -> Bools:
        """Mark rows for which points on lines (`reversal`) do: the metric rated all that humans did, else `ridge`."""
        counts = self.counts
        if counts.prior is not None or counts.rater is not None or counts.metric.shape[1] > 3:
            return np.zeros(len(rows), bool)
        human, confusion, _ = self._select_counts(rows)
        return np.asarray((confusion.sum(1) == human).all(1))

    def _sums_of_peaks(self, rows: Array, lattice: int, chunk: int) -> tuple[Floats, Floats]:
        counts = self.counts
        before = None if counts.prior is None else counts.prior[rows]
        model = ridge.RidgeModel.build(
            *self._select_counts(rows), before, counts.rater, two_outcomes=counts.two_outcomes
        )
        new = [k for k, row in enumerate(rows) if int(row) not in self.peaks]
        if new:
            proposals = ridge.proposals(model.select_rows(np.array(new)), self.seed)
            for k, at, root in zip(new, proposals.at, proposals.root, strict=True):
                self.peaks[int(rows[k])] = ridge.Peak(at, root)
        peak = [self.peaks[int(row)] for row in rows]
        peaks = ridge.Peak(np.stack([one.at for one in peak]), np.stack([one.root for one in peak]))
        return ridge.sums(model, peaks, lattice, self.seed, chunk)

    def _take(self, rows: Array, sums: Floats) -> None:
        """Turn sums `[row, replicate, 11]` into estimates; errors by the jackknife over replicates."""
        total = sums.astype(float).sum(1)
        self.theta[rows] = total[:, 2] / total[:, 0]
        self.mean[rows] = total[:, 5:8] / total[:, :1]
        self.second[rows] = total[:, 8:] / total[:, :1]
        # A line is as good as its points at the least.
        self.ess[rows] = np.where(self._along_lines(rows), reversal.POINTS, 1) * total[:, 0] ** 2 / total[:, 1]
        left = total[:, None] - sums
        k = sums.shape[1]
        without = left[:, :, 2] / np.maximum(left[:, :, 0], 1e-300)
        spread = np.sqrt((k - 1) / k * ((without - without.mean(1, keepdims=True)) ** 2).sum(1))
        theta = self.theta[rows]
        plain = np.sqrt(np.maximum(total[:, 3] - 2 * theta * total[:, 4] + theta**2 * total[:, 1], 0)) / total[:, 0]
        # Few replicates may agree by chance; and where all draws agree, a rare one may be missing.
        self.error[rows] = np.maximum(np.maximum(spread, plain / 3), 0.5 / self.ess[rows])

    def _refine_one(
        self, row: int, a: Floats, target: Callable[[], Floats], least_ess: float, sums: Floats, scale: Floats
    ) -> None:
        """Add chunks of points to a row until it is sure, or the fallback takes over."""
        rows, lattice = np.array([row]), len(reversal.LATTICES) - 1
        for chunk in range(1, _MOST_CHUNKS):
            more, other = self._sums(rows, a, lattice, chunk)
            sums, scale = reversal.add_weighted_sums(sums, scale, more, other)
            self._take(rows, sums)
            if self._missing_factor(target(), least_ess)[row] <= 1:
                return
            # Points help slowly: give up early where they cannot get there.
            if chunk >= 3 and self.ess[row] / (chunk + 1) * _MOST_CHUNKS < max(least_ess, self._needed_error(row)):
                break
        self.tempered[row] = True

    def _needed_error(self, row: int) -> float:
        theta = self.theta[row]
        return float(theta * (1 - theta) / self.error_limits()[row] ** 2 / 4)

    def _temper(self, row: int, a: Floats) -> None:
        """Set the estimates of a row by particles that begin at the proposal `a` (see `tempering`)."""
        from simlab.analysis.preferences.tempering import TemperedPair, sample

        human, confusion, metric = self.counts.human[row], self.counts.confusion[row], self.counts.metric[row]
        rater = np.eye(3) if self.counts.rater is None else self.counts.rater
        prior = np.ones_like(confusion) if self.counts.prior is None else self.counts.prior[row]
        kept = reversal.kept_outcomes(len(metric), two_outcomes=self.counts.two_outcomes)
        pair = TemperedPair(human, confusion, metric, a, rater, tuple(kept), prior)
        means = sample(pair, (ERROR, ERROR_NEAR), self.level, self.seed)
        theta = means[:, 0].mean()
        self.theta[row], self.mean[row], self.second[row] = theta, means[:, 1:4].mean(0), means[:, 4:7].mean(0)
        spread = means[:, 0].std(ddof=1) / np.sqrt(len(means))
        # Replicates that all agree do not say that there is no error.
        self.ess[row] = theta * (1 - theta) / spread**2 if spread > 0 else 1.0 / ERROR_NEAR
        self.error[row] = max(spread, 0.5 / self.ess[row]) if spread > 0 else ERROR_NEAR

    def _integrate(self, rows: Array, *, quick: bool) -> None:
        """Integrate over p where the errors of the metric, or of raters without a metric, are known."""
        if not len(rows):
            return
        forms, powers = self._forms(rows)
        near = np.arange(len(rows))
        for care, check in ((QUICK, QUICK_CHECK), (FINE, FINE_CHECK)):
            if care is QUICK and not quick:
                continue
            fine, coarse = (moments(forms[near], powers[near], one) for one in (care, check))
            at = rows[near]
            self.theta[at], self.mean[at], self.second[at] = fine[:, 0], fine[:, 1:4], fine[:, 4:7]
            self.error[at] = np.abs(fine[:, 0] - coarse[:, 0])
            near = near[self.distance()[at] < 4 * self.error[at] + _QUICK_ERROR]
            if not len(near):
                break

    def _forms(self, rows: Array) -> tuple[Floats, Floats]:
        """Return the linear forms of p that were counted, and the counts: `[row, form, outcome]`, `[row, form]`."""
        counts, identity = self.counts, np.eye(3)
        human, confusion, metric = self._select_counts(rows)
        rater = identity if counts.rater is None else counts.rater
        mu = np.broadcast_to(identity, (len(rows), 3, 3)) if counts.mu is None else counts.mu[rows]
        alone = np.broadcast_to(rater, (len(rows), 3, 3))
        if counts.rater is None or counts.mu is None:
            return np.concatenate([alone, mu], axis=1), np.concatenate([human, metric], axis=1)
        # What the metric says of an output tells how raters may have erred there.
        both = (mu[:, :, None] * rater[None, None]).reshape(len(rows), 9, 3)
        powers = [human - confusion.sum(1), metric, confusion.reshape(len(rows), 9)]
        return np.concatenate([alone, mu, both], axis=1), np.concatenate(powers, axis=1)


class Care(NamedTuple):
    """Accuracy of an integration: nodes each way, and how far (in logarithms) below the maximum to go."""

    nodes: int
    # e^-40 is 4e-18: what lies lower adds nothing that double precision holds.
    depth: float = 40.0


FINE, FINE_CHECK = Care(64), Care(44)


QUICK, QUICK_CHECK = Care(20, 26.0), Care(14, 26.0)
"""For a posterior, and for a first decision; the second of each says how far off the first may be."""


def moments(forms: Floats, powers: Floats, care: Care) -> Floats:
    """Integrate `prod_i (forms_i . p)^powers_i` over the simplex: theta, mean and second moments of p `[row, 7]`.

    `forms[row, i, outcome]` are non-negative, `powers[row, i]` not negative, so the logarithm is concave. The outer
    variable is `d = p> - p<`, split at 0 where the indicator of theta jumps, the inner one `s = p=`; both run over what
    lies within `care.depth` of the maximum.
    """
    low, high = _range(lambda d: _profile(forms, powers, d)[1], *_ends(len(forms)), care.depth)
    parts = [slice(start, start + _BATCH) for start in range(0, len(forms), _BATCH)]
    return np.concatenate([_moments(forms[part], powers[part], low[part], high[part], care) for part in parts])


def _moments(forms: Floats, powers: Floats, low: Floats, high: Floats, care: Care) -> Floats:
    """Integrate rows whose d matters between `low[row]` and `high[row]`."""
    nodes, depth = care
    split = np.clip(0.0, low, high)
    node, weight = np.polynomial.legendre.leggauss(nodes)
    unit, share = (node + 1) / 2, weight / 2
    edges = [(low, split), (split, high)]
    d = np.concatenate([a[:, None] + (b - a)[:, None] * unit for a, b in edges], axis=1)
    outer = np.concatenate([(b - a)[:, None] * share for a, b in edges], axis=1)
    s, inner = _inner_nodes(forms, powers, d, unit, share, depth)
    log_l = _log_density(forms[:, None, None], powers[:, None, None], d[:, :, None], s)
    w = np.exp(log_l - log_l.max((1, 2), keepdims=True)) * inner * outer[:, :, None]
    w /= _total(w)[:, None, None]
    p = [(1 - s + d[:, :, None]) / 2, s, (1 - s - d[:, :, None]) / 2]
    theta = _total(w[:, nodes:])
    first = [_total(w * one) for one in p]
    second = [_total(w * one**2) for one in p]
    return np.stack([theta, *first, *second], axis=1)


def _total(w: Floats) -> Floats:
    # Row by row, so that a row has the same bits in any company.
    return np.asarray(np.ascontiguousarray(w).reshape(len(w), -1).sum(1))


def _log_density(forms: Floats, powers: Floats, d: Floats, s: Floats) -> Floats:
    """Evaluate the log density; `forms[..., i, outcome]` and `powers[..., i]` broadcast against d and s."""
    value = (
        forms[..., 0] * ((1 - s + d) / 2)[..., None]
        + forms[..., 1] * s[..., None]
        + forms[..., 2] * ((1 - s - d) / 2)[..., None]
    )
    return np.asarray(np.where(powers > 0, powers * np.log(np.maximum(value, 1e-300)), 0.0).sum(-1))


def _profile(forms: Floats, powers: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Maximise over s at each `d[row]`; return where, and the maximum."""
    return _maximise(lambda s: _log_density(forms, powers, d, s), np.zeros_like(d), 1 - np.abs(d))


def _inner_nodes(
    forms: Floats, powers: Floats, d: Floats, unit: Floats, share: Floats, depth: float
) -> tuple[Floats, Floats]:
    """Place nodes in s, with weights, for each `d[row, node]`."""
    f, k = forms[:, None], powers[:, None]
    low, high = _range(lambda s: _log_density(f, k, d, s), np.zeros_like(d), 1 - np.abs(d), depth)
    return low[..., None] + (high - low)[..., None] * unit, (high - low)[..., None] * share


def _ends(n: int) -> tuple[Floats, Floats]:
    return np.full(n, -1.0), np.full(n, 1.0)


def _maximise(f: Callable[[Floats], Floats], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Find the maximum of concave functions by golden sections."""
    a, b = low, high
    # To a millionth of the interval: the narrowest peak that counts of 10^9 allow is wider.
    for _ in range(30):
        left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        up = f(left) < f(right)
        a, b = np.where(up, left, a), np.where(up, b, right)
    at = (a + b) / 2
    return at, f(at)


def _range(f: Callable[[Floats], Floats], low: Floats, high: Floats, depth: float) -> tuple[Floats, Floats]:
    """Find an interval hardly wider than that on which a concave function lies within `depth` of its maximum."""
    at, top = _maximise(f, low, high)
    ends = []
    for end in (low, high):
        inside, outside = at, end
        for _ in range(24):
            middle = (inside + outside) / 2
            near = f(middle) >= top - depth
            inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
        ends.append(outside)
    return ends[0], ends[1]
