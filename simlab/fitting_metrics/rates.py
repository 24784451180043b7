"""Estimate how often a binary metric is right about adequate outputs (rho) and about others (eta), at a threshold.

Call `rates` on scores and labels of outputs; it returns `MetricRates`, posteriors of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr

from simlab.fitting_metrics.confusion import concentration
from simlab.fitting_metrics.correlations import leave_out_items
from simlab.formulas import compute_normal_orthant
from simlab.rng import stream
from simlab.types import Array, Bools, Floats, Ints

FOLDS = 10
"""Folds of items in which the bias of a chosen threshold is estimated."""
_ALIKE = 1e-9
# A slope of 20 over the spread of scores is as good as a step.
_STEPS, _STEEP = 100, 20.0
PARTITIONS = 5
"""Items are parted into folds as often, so that how they fell hardly matters."""


@dataclass(frozen=True, slots=True)
class MetricRates:
    """Posteriors rho ~ Beta(TP + 1, P - TP + 1) and eta ~ Beta(TN + 1, N - TN + 1) of a metric.

    The metric says adequate above the `threshold`; where that was `tuned` to these outputs, what it owes to that is
    taken off. `observed` are the outputs, adequate and not, that the counts rest on; the counts
    themselves are smaller where outputs of an item go together, or labels err. `concentration` says how closely the
    rates of systems follow these (None: no difference was found).
    """

    tp: float
    p: float
    tn: float
    n: float
    threshold: float
    tuned: bool
    observed: tuple[float, float]
    concentration: float | None

    @property
    def rho(self) -> float:
        """Return the posterior mean of rho."""
        return (self.tp + 1) / (self.p + 2)

    @property
    def eta(self) -> float:
        """Return the posterior mean of eta."""
        return (self.tn + 1) / (self.n + 2)

    def interval(self, level: float = 0.05) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return equal-tailed intervals of rho and eta."""
        rho, eta = (
            tuple(float(betaincinv(good + 1, whole - good + 1, tail)) for tail in (level / 2, 1 - level / 2))
            for good, whole in ((self.tp, self.p), (self.tn, self.n))
        )
        return (rho[0], rho[1]), (eta[0], eta[1])


def rates(
    score: Floats, adequate: Floats, item: Ints, system: Ints, *,
    threshold: float | None, noisy: bool, position: Floats | None = None,
) -> MetricRates | None:  # fmt: skip
    """Estimate rho and eta of `score[output]` against `adequate[output]`, the probability that an output is adequate.

    `threshold=None` chooses the one that makes rho + eta largest; by what the same outputs then say too much is found
    from items held out in turn (`threshold_bias`), and taken off. Labels without
    error are 0 or 1; of others (`noisy`) rho and eta are the regression of what the metric says on the probability,
    which no error of the labels biases. Where adequacy is a bound on a noisy score, a metric knows more than that it is
    above; then `position[:, output]`, its mean and standard deviation above the bound, takes the place of the labels
    (see `shares_by_score`). Standard errors are over items.

    None where less than one output is adequate, or not, or all have the same score.
    """
    tuned = threshold is None
    at = best_threshold(score, adequate) if threshold is None else threshold
    whole = np.array([adequate.sum(), (1 - adequate).sum()])
    if at is None or np.ptp(adequate) < _ALIKE or whole.min() < 1:
        return None
    says = score > at
    if position is None:
        share, variance = _shares(says.astype(float), adequate, item)
    else:
        share, variance = shares_by_score(says.astype(float), position[0], position[1], item)
    if tuned:
        # The noise of each rate adds to their sum as its variance does, 1 / P and 1 / N: at the best threshold both
        # densities are equal. That the correction is itself uncertain is met by half of its square (see the tests).
        excess = threshold_bias(score, adequate, item) * whole[::-1] / whole.sum() * np.array([1, -1])
        share, variance = np.clip(share - excess, 0, 1), variance + excess**2 / 2
    good, bad = _convert_to_counts(share, variance, whole)
    spread = None if noisy else _estimate_closeness(says, adequate > 0.5, system)
    coefficient = (float(whole[0]), float(whole[1]))
    return MetricRates(good[0] * good[1], good[1], (1 - bad[0]) * bad[1], bad[1], at, tuned, coefficient, spread)


def best_threshold(score: Floats, adequate: Floats) -> float | None:
    """Return the threshold above which outputs are called adequate so that rho + eta is largest.

    It lies halfway between two scores; None where no two differ. Source: Youden 1950.
    """
    order = np.argsort(score, kind="stable")
    return _cut(score[order], adequate[order])


def threshold_bias(score: Floats, adequate: Floats, item: Ints) -> float:
    """Return by how much rho + eta is larger on the outputs that chose the threshold than on outputs of other items.

    Not below 0: what is chosen as the best is not worse than it seems.
    """
    order = np.argsort(score, kind="stable")
    score, adequate, item = score[order], adequate[order], item[order]
    whole = _gap(score > _cut_or_none(score, adequate), adequate)
    gaps = [_gap(_cross_fitted(score, adequate, part), adequate) for part in _partitions(item)]
    return max(0.0, whole - float(np.mean(gaps)))


def _cross_fitted(score: Floats, adequate: Floats, part: Ints) -> Bools:
    """Label each output (ordered by score) as adequate, or not, by the threshold that is best for the other parts."""
    says = np.zeros(len(score), bool)
    for fold in range(FOLDS):
        left_out = part == fold
        says[left_out] = score[left_out] > _cut_or_none(score[~left_out], adequate[~left_out])
    return says


def _cut(ordered: Floats, adequate: Floats) -> float | None:
    apart = np.flatnonzero(np.diff(ordered) > 0)
    if not len(apart):
        return None
    # Slopes of all cuts have one denominator, so this sum is largest where rho + eta is.
    above = -np.cumsum(adequate - adequate.mean())[apart]
    cut = int(apart[above.argmax()])
    # Halved first, since the sum of two large scores may overflow.
    return float(ordered[cut] / 2 + ordered[cut + 1] / 2)


def _cut_or_none(ordered: Floats, adequate: Floats) -> float:
    """Return the best threshold; where outputs are all alike nothing can be chosen, and none is called adequate."""
    at = _cut(ordered, adequate) if len(ordered) else None
    return np.inf if at is None else at


def _gap(says: Bools, adequate: Floats) -> float:
    """Return rho + eta - 1, the slope of what is said on what is true."""
    excess = adequate - adequate.mean()
    square = float((excess**2).sum())
    return float(excess @ says) / square if square > 0 else 0.0


def _partitions(item: Ints) -> list[Ints]:
    index = np.unique(item, return_inverse=True)[1]
    rng, n = stream(0, "fit_metric", "folds"), int(index.max()) + 1
    return [np.asarray(rng.permutation(n)[index] % FOLDS) for _ in range(PARTITIONS)]


def _shares(says: Floats, adequate: Floats, item: Ints) -> tuple[Floats, Floats]:
    """Return the shares called adequate `[adequate, other]` and their variances, over items (Liang and Zeger 1986).

    Least squares of what is said on (adequate, 1 - adequate); with labels of 0 and 1 these are plain shares.
    """
    design = np.stack([adequate, 1 - adequate], axis=1)
    # It can be inverted: `rates` wants at least one output of either kind.
    inverse = np.linalg.inv(design.T @ design)
    share = inverse @ design.T @ says
    index = np.unique(item, return_inverse=True)[1]
    score = np.zeros((int(index.max()) + 1, 2))
    np.add.at(score, index, design * (says - design @ share)[:, None])
    clusters = len(score)
    return np.clip(share, 0, 1), np.diag(inverse @ score.T @ score @ inverse) * clusters / max(clusters - 1, 1)


def shares_by_score(says: Floats, mean: Floats, sd: Floats, item: Ints) -> tuple[Floats, Floats]:
    """Return the shares called adequate of outputs whose score f is above 0, and below, with their variances.

    All that is known of an output is f ~ N(mean, sd). A metric says adequate with probability ndtr(a + b f), a probit
    regression on a regressor with error (Carroll et al. 2006, section 4.8). Variances are by a jackknife over groups of
    items.
    """
    whole = _rates_by_score(says, mean, sd, np.zeros(2))
    # Each starts from what the whole table gave, a step or two away.
    left = [_rates_by_score(says[k], mean[k], sd[k], whole[1]) for k in leave_out_items(item)]
    shares = np.array([share for share, _ in left])
    n = len(left)
    return whole[0], (n - 1) / n * ((shares - shares.mean(0)) ** 2).sum(0)


def _rates_by_score(says: Floats, mean: Floats, sd: Floats, start: Floats) -> tuple[Floats, Floats]:
    a, b = _probit(says, mean, sd, start)
    # A probit averaged over a normal f is a probit again, flatter by this factor.
    scale = 1 / np.sqrt(1 + (b * sd) ** 2)
    both = compute_normal_orthant(mean / sd, (a + b * mean) * scale, b * sd * scale)
    above, called = ndtr(mean / sd), ndtr((a + b * mean) * scale)
    return np.array([both.sum() / above.sum(), (called - both).sum() / (1 - above).sum()]), np.array([a, b])


def _probit(says: Floats, mean: Floats, sd: Floats, start: Floats) -> Floats:
    """Fit P(says) = ndtr(a + b f) by scoring; steps are halved at most, separable data end at a steep slope."""
    coefficient, spread = start.copy(), float(np.hypot(mean.std(), sd.mean()))
    for _ in range(_STEPS):
        scale = 1 / np.sqrt(1 + (coefficient[1] * sd) ** 2)
        design = np.stack([scale, scale * mean], axis=1)
        # Far out p is 0 or 1 to the last bit, and weights would be 0 / 0.
        at = np.clip(design @ coefficient, -6, 6)
        p, density = ndtr(at), np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
        weight = density / (p * (1 - p))
        # Where the metric says the same of nearly all outputs there is hardly any information to invert.
        information = (design * (weight * density)[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(information, design.T @ (weight * (says - p)))
        coefficient = np.clip(coefficient + step, -_STEEP / spread, _STEEP / spread)
        if np.abs(step).max() < 1e-8 * max(1.0, float(np.abs(coefficient).max())):
            break
    return coefficient


def _convert_to_counts(share: Floats, variance: Floats, most: Floats) -> list[tuple[float, float]]:
    """Return each share with the number of independent outputs that would tell it as well: at most those there are."""
    binomial = share * (1 - share)
    certain = np.divide(binomial, variance, out=most.astype(float), where=(variance > 0) & (binomial > 0))
    return list(zip(share.tolist(), np.minimum(certain, most).tolist(), strict=True))


def _estimate_closeness(says: Bools, adequate: Bools, system: Ints) -> float | None:
    """Estimate how closely systems follow common rates."""
    index = np.unique(system, return_inverse=True)[1]
    counts: Array = np.zeros((int(index.max()) + 1, 2, 2))
    np.add.at(counts, (index, says.astype(int), adequate.astype(int)), 1)
    total = counts.sum(0)
    if len(counts) < 2 or not total.sum(0).all():
        return None
    return concentration(counts, total / total.sum(0))
