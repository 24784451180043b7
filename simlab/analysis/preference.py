"""Work out who wins more often, from human preferences and those of a metric that errs.

The model is that of Deriu et al. 2023 (section 3). Counts are in the order `>`, `=`, `<`: `human` n of the outputs that
humans rated, `confusion` N[metric outcome, human outcome] of those among them that the metric rated, too, `metric` m of
outputs that only the metric rated. Then `p ~ Dirichlet(n + 1)`, column c of mu `~ Dirichlet(N[:, c] + 1)` and
`m ~ Multinomial(mu p)`; asked is `theta = P(p> > p<)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv

from simlab.analysis import preference_reversal as reversal
from simlab.analysis.preference_checks import Counts, checked
from simlab.types import Array, Bools, Floats, Summary

Method: TypeAlias = Literal["auto", "tempering", "nuts"]

ERROR, ERROR_NEAR = 0.003, 0.0007
"""Largest standard errors of theta; the second within .02 of a threshold of the decision."""

_NEAR = 0.02
_LEAST_ESS = 1000
_COARSE_ESS = 100
_MOST_CHUNKS = 48
_NODES = (64, 44)


class Posterior(NamedTuple):
    """Hold the posterior of p: `theta = P(p> > p<)`, mean and standard deviation of p, how sure theta is.

    `error` is the standard error of theta (0 where it is exact), `ess` the effective number of draws (inf where there
    are none). Shapes `(...)`, mean and sd `(..., 3)`.
    """

    theta: Floats
    mean: Floats
    sd: Floats
    error: Floats
    ess: Floats


def win_posterior(
    human: ArrayLike,
    confusion: ArrayLike | None = None,
    metric: ArrayLike | None = None,
    *,
    mu: ArrayLike | None = None,
    elsewhere: bool = False,
    rater: ArrayLike | None = None,
    two_outcomes: bool = False,
    level: float = 0.05,
    method: Method = "auto",
    seed: int = 0,
) -> Any:
    """Return the posterior of p for each pair: `Posterior`, batched over the leading axes of the counts.

    Shapes `human (..., 3)`, `confusion (..., 3, 3)` [metric outcome, human outcome], `metric (..., 3)`. `human`
    includes the outputs that the metric rated, too, so `confusion.sum(-2) <= human`, unless the confusion counts come
    from `elsewhere`. With a known `mu (..., 3, 3)` confusion counts add nothing and are not used.
    `rater[human, oracle]` is the known confusion of raters who are no oracle. `two_outcomes`: the metric cannot draw.

    Deterministic, a row alike in any company. The error of theta is at most .003, and .0007 within .02 of `level` / 2
    and 1 - `level` / 2; where even the most points do not reach that, `error` says so. `method="nuts"` samples the
    published model (see `preference_nuts.Reference` for what it returns), "tempering" forces the fallback.

    Raises InputError for counts, matrices or shapes that cannot be. Source: Deriu et al. 2023; methods in the modules
    `preference_reversal`, `preference_quadrature` and `preference_tempering`.
    """
    counts = checked(human, confusion, metric, mu, rater, elsewhere=elsewhere, two_outcomes=two_outcomes)
    if method == "nuts":
        from simlab.analysis.preference_nuts import nuts

        found: Any = nuts(counts.human, counts.confusion, counts.metric, mu=counts.mu, seed=seed)
        return type(found)(*(_unflat(array, counts) for array in found))
    state = _State.of(counts, level, seed, forced=method == "tempering")
    state.refine(lambda: state.error > state.wanted())
    return Posterior(*(_unflat(array, counts) for array in state.posterior()))


def win_decisions(
    human: ArrayLike,
    confusion: ArrayLike,
    metric: ArrayLike,
    *,
    level: float,
    two_outcomes: bool = False,
    rater: ArrayLike | None = None,
    elsewhere: bool = False,
    mu: ArrayLike | None = None,
    seed: int = 0,
) -> tuple[Floats, Floats, Array]:
    """Decide each pair: return theta, its error, and +1, -1 or 0 (theta beyond 1 - level / 2, below level / 2).

    Few points first; more only where theta is within 4 standard errors of a threshold. Arguments as of `win_posterior`.
    Source: Deriu et al. 2023, algorithm 1.
    """
    counts = checked(human, confusion, metric, mu, rater, elsewhere=elsewhere, two_outcomes=two_outcomes)
    state = _State.of(counts, level, seed)
    state.refine(lambda: (state.distance() <= 4 * state.error) & (state.error > ERROR_NEAR), least_ess=_COARSE_ESS)
    verdict = (state.theta > 1 - level / 2).astype(np.int8) - (state.theta < level / 2).astype(np.int8)
    return tuple(_unflat(array, counts) for array in (state.theta, state.error, verdict))  # type: ignore[return-value]


def posterior_summary(
    human: ArrayLike,
    confusion: ArrayLike,
    metric: ArrayLike,
    *,
    two_outcomes: bool = False,
    rater: ArrayLike | None = None,
    mass: float = 0.95,
    seed: int = 0,
) -> Summary:
    """Return mean and equal-tailed bounds of each probability of win, draw and loss, `[row, outcome]`.

    Exact without metric ratings; else weighted quantiles of draws (where these are too few, or raters err, of the Beta
    with the posterior's mean and standard deviation).
    """
    counts = checked(human, confusion, metric, None, rater, elsewhere=False, two_outcomes=two_outcomes)
    edges = np.array([(1 - mass) / 2, (1 + mass) / 2])
    a = counts.human + 1
    b = a.sum(1, keepdims=True) - a
    mean, low, high = a / (a + b), betaincinv(a, b, edges[0]), betaincinv(a, b, edges[1])
    rows = np.flatnonzero(counts.metric.any(1) & (rater is None))
    if len(rows):
        some = counts.of(rows)
        proposal = reversal.proposal(some.human, some.confusion, two_outcomes=two_outcomes)
        p, w = reversal.draws(some.human, some.confusion, some.metric, proposal, 0, seed)
        mean[rows] = (p * w[..., None]).sum(1) / w.sum(1, keepdims=True)
        low[rows], high[rows] = _quantiles(p, w, edges)
        thin = rows[w.sum(1) ** 2 / (w**2).sum(1) < _COARSE_ESS]
    else:
        thin = rows
    if rater is not None:
        thin = np.arange(len(mean))
    if len(thin):
        state = _State.of(counts.of(thin), 0.05, seed)
        state.refine(lambda: state.error > ERROR)
        _, mean[thin], sd, _, _ = state.posterior()
        a = mean[thin] * np.maximum(mean[thin] * (1 - mean[thin]) / sd**2 - 1, 1e-6)
        b = a * (1 - mean[thin]) / mean[thin]
        low[thin], high[thin] = betaincinv(a, b, edges[0]), betaincinv(a, b, edges[1])
    return Summary(mean, low, high)


@dataclass
class _State:
    """Hold what is known of each row so far, and refine it."""

    counts: Counts
    level: float
    seed: int
    theta: Floats
    mean: Floats
    second: Floats
    error: Floats
    ess: Floats
    sampled: Bools
    tempered: Bools

    @classmethod
    def of(cls, counts: Counts, level: float, seed: int, *, forced: bool = False) -> _State:
        """Give exact answers where there are any; the others wait for points."""
        informed = counts.metric.any(1)
        integrated = ((counts.mu is not None) & informed) | (
            (counts.rater is not None) & ((counts.mu is not None) | ~informed)
        )
        sampled = informed & (counts.mu is None)
        tempered = sampled & (forced | (counts.rater is not None))
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
        state._integrate(np.flatnonzero(integrated))
        return state

    def distance(self) -> Floats:
        """Return how far theta is from the nearer threshold."""
        return np.asarray(np.minimum(np.abs(self.theta - self.level / 2), np.abs(self.theta - 1 + self.level / 2)))

    def wanted(self) -> Floats:
        """Return the largest error that is wanted of each row."""
        return np.where(self.distance() < _NEAR, ERROR_NEAR, ERROR)

    def refine(self, unsure: Any, least_ess: float = _LEAST_ESS) -> None:
        """Add points to the rows that are `unsure()`, level by level; those that points do not help are tempered."""
        open_ = np.flatnonzero(self.sampled)
        a = reversal.proposal(self.counts.human, self.counts.confusion, two_outcomes=self.counts.two_outcomes)
        for level in range(len(reversal.LEVELS)):
            self._take(open_, *reversal.sums(*self._at(open_), a[open_], level, self.seed))
            open_ = open_[(unsure() | (self.ess < least_ess))[open_]]
            if not len(open_):
                break
        for row in open_:
            self._refine_one(int(row), a, unsure, least_ess)
        for row in np.flatnonzero(self.tempered):
            self._temper(int(row), a[row])

    def posterior(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return theta, mean, sd, error and ess."""
        sd = np.sqrt(np.maximum(self.second - self.mean**2, 0))
        return self.theta, self.mean, sd, self.error, self.ess

    def _at(self, rows: Array) -> tuple[Floats, Floats, Floats]:
        return self.counts.human[rows], self.counts.confusion[rows], self.counts.metric[rows]

    def _take(self, rows: Array, sums: Floats, scale: Floats) -> None:
        """Turn sums `[row, replicate, 9]` into estimates; errors by the jackknife over replicates."""
        if not len(rows):
            return
        total = sums.astype(float).sum(1)
        self.theta[rows] = total[:, 2] / total[:, 0]
        self.mean[rows] = total[:, 3:6] / total[:, :1]
        self.second[rows] = total[:, 6:9] / total[:, :1]
        self.ess[rows] = total[:, 0] ** 2 / total[:, 1]
        left = total[:, None] - sums
        k = sums.shape[1]
        without = left[:, :, 2] / np.maximum(left[:, :, 0], 1e-300)
        spread = np.sqrt((k - 1) / k * ((without - without.mean(1, keepdims=True)) ** 2).sum(1))
        plain = np.sqrt(self.theta[rows] * (1 - self.theta[rows]) / self.ess[rows])
        # Few replicates may agree by chance; and where all draws agree, a rare one may be missing.
        self.error[rows] = np.maximum(np.maximum(spread, plain / 3), 0.5 / self.ess[rows])

    def _refine_one(self, row: int, a: Floats, unsure: Any, least_ess: float) -> None:
        """Add chunks of points to a row until it is sure, or the fallback takes over."""
        one, level = np.array([row]), len(reversal.LEVELS) - 1
        sums, scale = reversal.sums(*self._at(one), a[one], level, self.seed)
        for chunk in range(1, _MOST_CHUNKS):
            more, other = reversal.sums(*self._at(one), a[one], level, self.seed, chunk)
            top = np.maximum(scale, other)
            power = np.array([1, 2, *[1] * 7])
            sums = sums * np.exp(power * (scale - top)) + more * np.exp(power * (other - top))
            scale = top
            self._take(one, sums, scale)
            if not unsure()[row] and self.ess[row] >= least_ess:
                return
            # Points help slowly: give up early where they cannot get there.
            if chunk >= 3 and self.ess[row] / (chunk + 1) * _MOST_CHUNKS < max(least_ess, self._needed(row)):
                break
        self.tempered[row] = True

    def _needed(self, row: int) -> float:
        theta = self.theta[row]
        return float(theta * (1 - theta) / self.wanted()[row] ** 2 / 4)

    def _temper(self, row: int, a: Floats) -> None:
        from simlab.analysis.preference_tempering import Pair, sample

        human, confusion, metric = self.counts.human[row], self.counts.confusion[row], self.counts.metric[row]
        rater = np.eye(3) if self.counts.rater is None else self.counts.rater
        pair = Pair(human, confusion, metric, a, rater, (0, 2) if self.counts.two_outcomes else (0, 1, 2))
        means = sample(pair, (ERROR, ERROR_NEAR), self.level, self.seed)
        theta = means[:, 0].mean()
        self.theta[row], self.mean[row], self.second[row] = theta, means[:, 1:4].mean(0), means[:, 4:7].mean(0)
        spread = means[:, 0].std(ddof=1) / np.sqrt(len(means))
        self.ess[row] = theta * (1 - theta) / spread**2 if spread > 0 else 1.0 / ERROR_NEAR
        self.error[row] = max(spread, 0.5 / self.ess[row]) if spread > 0 else ERROR_NEAR

    def _integrate(self, rows: Array) -> None:
        """Integrate over p where the errors of the metric, or of raters without a metric, are known."""
        from simlab.analysis.preference_quadrature import moments

        identity = np.eye(3)
        rater = identity if self.counts.rater is None else self.counts.rater
        for row in rows:
            mu = identity if self.counts.mu is None else self.counts.mu[row]
            forms = np.concatenate([rater, mu])[None]
            powers = np.concatenate([self.counts.human[row], self.counts.metric[row]])[None]
            fine, coarse = (moments(forms, powers, nodes)[0] for nodes in _NODES)
            self.theta[row], self.mean[row], self.second[row] = fine[0], fine[1:4], fine[4:7]
            self.error[row] = abs(fine[0] - coarse[0])


def _quantiles(p: Floats, w: Floats, edges: Sequence[float] | Floats) -> tuple[Floats, Floats]:
    """Return weighted quantiles of draws `p[row, draw, outcome]`: two arrays `[row, outcome]`."""
    order = np.argsort(p, axis=1)
    values = np.take_along_axis(p, order, 1)
    cumulated = np.cumsum(np.take_along_axis(np.broadcast_to(w[..., None], p.shape), order, 1), axis=1)
    cumulated /= cumulated[:, -1:]
    found = []
    for edge in edges:
        at = np.minimum((cumulated < edge).sum(1), p.shape[1] - 1)
        found.append(np.take_along_axis(values, at[:, None], 1)[:, 0])
    return found[0], found[1]


def _unflat(array: Array, counts: Counts) -> Array:
    return np.asarray(array.reshape((*counts.shape, *array.shape[1:])))
