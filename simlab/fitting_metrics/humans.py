"""Describe the systems and raters of a table: preferences between pairs, shares of adequate outputs, raters' errors.

`count_contests` takes comparisons and `contests_of_scores` scores, both return `Contests`; `adequacy` takes labels and
returns `Adequacy`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from simlab.fitting_metrics.confusion import MOST_CELLS, ComparedOutputs, lay_out_by_system, mean_rating
from simlab.formulas import compute_normal_orthant
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.types import Floats, Ints
from simlab.world.laws.comparisons import compare

_ROUNDS = 500


@dataclass(frozen=True, slots=True)
class Contests:
    """Preferences of humans: `counts[pair, outcome]` (`>`, `=`, `<`), pairs of systems i < j by name."""

    system_names: tuple[str, ...]
    pair_names: tuple[tuple[str, str], ...]
    counts: Floats

    @property
    def p(self) -> Floats:
        """Return the posterior means under a uniform prior, Dirichlet(counts + 1)."""
        return np.asarray((self.counts + 1) / (self.counts.sum(1, keepdims=True) + 3))

    @property
    def complete(self) -> bool:
        """True if every two systems were compared."""
        n = len(self.system_names)
        return len(self.pair_names) == n * (n - 1) // 2

    def interval(self, level: float = 0.05) -> tuple[Floats, Floats]:
        """Return equal-tailed intervals of each probability."""
        weight = self.counts + 1
        rest = weight.sum(1, keepdims=True) - weight
        return betaincinv(weight, rest, level / 2), betaincinv(weight, rest, 1 - level / 2)


@dataclass(frozen=True, slots=True)
class Adequacy:
    """Each system's share of adequate outputs, and how raters err about single outputs.

    `alpha[system]` with `counts[system, 2]`, adequate of so many independent outputs as would be as certain;
    `probability[output]` that an output is adequate, given its labels (NaN without any). `human_rho` and `human_eta`
    are how often a rater is right about adequate outputs and about others: 1 where no output has repeats.
    `item_agreement` is the correlation of latent scores of two systems' outputs for the same input, NaN with one
    system. `noise` is that of a rating in standard deviations of a system's scores, where it was scores that told;
    then `position[:, output]` are mean and standard deviation of what an output's ratings say of its score, above the
    bound.
    """

    system_names: tuple[str, ...]
    alpha: Floats
    counts: Floats
    probability: Floats
    human_rho: float
    human_eta: float
    repeated: bool
    symmetric: bool
    item_agreement: float
    noise: float | None = None
    position: Floats | None = None

    def interval(self, level: float = 0.05) -> tuple[Floats, Floats]:
        """Return equal-tailed intervals of the alphas, Beta(adequate + 1, others + 1)."""
        a, b = self.counts[:, 0] + 1, self.counts[:, 1] - self.counts[:, 0] + 1
        return betaincinv(a, b, level / 2), betaincinv(a, b, 1 - level / 2)


def count_contests(preferences: ComparedOutputs) -> Contests:
    """Count the human ratings of each pair."""
    return Contests(preferences.system_names, preferences.pair_names, preferences.ratings)


def contests_of_scores(outputs: JudgedOutputs, *, human_margin: float, sign: int) -> Contests | None:
    """Count preferences by the sign of the difference of human scores; None with one system, or too many."""
    n = len(outputs.system_names)
    if n < 2 or n * (n - 1) // 2 * outputs.n_items > MOST_CELLS:
        return None
    human = compare(sign * lay_out_by_system(outputs, mean_rating(outputs)), human_margin)
    counts = np.stack([(human == outcome).sum(1) for outcome in range(3)], axis=1).astype(float)
    first, second = np.triu_indices(n, 1)
    names = tuple((outputs.system_names[i], outputs.system_names[j]) for i, j in zip(first, second, strict=True))
    return Contests(outputs.system_names, names, counts)


def adequacy(outputs: JudgedOutputs, adequate: Floats) -> Adequacy:
    """Estimate alphas and the errors of raters from labels `adequate[output, repeat]` (0, 1, NaN = gap).

    Without repeats labels are taken for the truth. With three ratings of some outputs two rates of error are estimated,
    the same for all raters (Dawid and Skene 1979, raters exchangeable); with two at most one, errors of both kinds
    taken to be as frequent, since two ratings do not tell them apart.
    """
    labels = np.isfinite(adequate)
    n, k = labels.sum(1), np.where(labels, adequate, 0.0).sum(1)
    n_systems = len(outputs.system_names)
    repeated, symmetric = bool((n > 1).any()), int(n.max()) < 3
    rho, eta = _rater_rates(n, k, outputs.system, n_systems, symmetric=symmetric) if repeated else (1.0, 1.0)
    rated = n > 0
    share = np.divide(k, n, out=np.full(len(n), np.nan), where=rated)
    alpha, counts = np.zeros(n_systems), np.zeros((n_systems, 2))
    for system in range(n_systems):
        own = share[(outputs.system == system) & rated]
        alpha[system], counts[system] = _alpha(own, rho, eta)
    probability = np.full(len(n), np.nan)
    of = alpha[outputs.system[rated]]
    probability[rated] = _adequacy_given_labels(of, n[rated], k[rated], rho, eta) if repeated else share[rated]
    agreement = _item_agreement(lay_out_by_system(outputs, share), alpha, rho + eta - 1)
    return Adequacy(outputs.system_names, alpha, counts, probability, rho, eta, repeated, symmetric, agreement)


def worth(alpha: float, influence: Floats) -> tuple[float, float]:
    """Return the number of adequate outputs, and of all, that would give alpha the same error if independent."""
    n, spread = float(len(influence)), alpha * (1 - alpha)
    variance = float(influence.var(ddof=1)) / n if n > 1 else 0.0
    # Never more than there are: few outputs may vary little by chance.
    n = min(spread / variance, n) if variance > 0 and spread > 0 else n
    return alpha * n, n


def _alpha(share: Floats, rho: float, eta: float) -> tuple[float, tuple[float, float]]:
    """Turn the share of positive labels into that of adequate outputs, and say how certain it is."""
    if not len(share):
        return 0.5, (0.0, 0.0)
    informed = rho + eta - 1
    alpha = min(max((float(share.mean()) + eta - 1) / informed, 0.0), 1.0)
    return alpha, worth(alpha, share / informed)


def _rater_rates(n: Ints, k: Floats, system: Ints, n_systems: int, *, symmetric: bool) -> tuple[float, float]:
    """Estimate the raters' rho and eta: by agreement of two ratings, or of more by expectation maximisation."""
    if symmetric:
        twice = n == 2
        # Two ratings agree with probability r^2 + (1 - r)^2, which is solved for r; below 1/2 it has no solution.
        agree = max(float(np.mean(k[twice] != 1)), 0.5)
        right = (1 + math.sqrt(2 * agree - 1)) / 2
        # rho + eta - 1 is divided by, so it stays above 0.
        return max(right, 0.5 + 1e-3), max(right, 0.5 + 1e-3)
    rated = n > 0
    n, k, system = n[rated], k[rated], system[rated]
    rho, eta, alpha = 0.9, 0.9, np.full(n_systems, float((k / n).mean()))
    for _ in range(_ROUNDS):
        weight = _adequacy_given_labels(alpha[system], n, k, rho, eta)
        new = _share(weight * k, weight * n), _share((1 - weight) * (n - k), (1 - weight) * n)
        alpha = np.bincount(system, weight, n_systems) / np.maximum(np.bincount(system, minlength=n_systems), 1)
        moved = max(abs(new[0] - rho), abs(new[1] - eta))
        rho, eta = new
        if moved < 1e-9:
            break
    # With all labels turned the likelihood is the same; raters are taken to know something.
    if rho + eta < 1:
        rho, eta = 1 - eta, 1 - rho
    short = max(0.0, 1 + 1e-3 - rho - eta)
    return min(rho + short, 1.0), min(eta + short, 1.0)


def _share(part: Floats, whole: Floats) -> float:
    total = float(whole.sum())
    return float(part.sum()) / total if total > 0 else 1.0


def _adequacy_given_labels(alpha: Floats, n: Ints, k: Floats, rho: float, eta: float) -> Floats:
    """Return the probability that outputs are adequate when k of n labels say so."""
    tiny = 1e-12
    rho, eta = (min(max(rate, tiny), 1 - tiny) for rate in (rho, eta))
    odds = np.log(np.clip(alpha, tiny, 1)) - np.log(np.clip(1 - alpha, tiny, 1))
    odds = odds + k * math.log(rho / (1 - eta)) + (n - k) * math.log((1 - rho) / eta)
    # The exponential overflows beyond 709.
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700, 700))))


def _item_agreement(share: Floats, alpha: Floats, informed: float) -> float:
    """Return the correlation of latent scores that makes two systems' outputs adequate together as often as they are.

    `share[system, item]` of positive labels. The tetrachoric correlation, one for all pairs; between 0 and .99.
    """
    first, second = np.triu_indices(len(alpha), 1)
    rated = np.isfinite(share)
    both = (rated[first] & rated[second]).sum(1) if len(first) else np.zeros(0)
    if not both.sum():
        return math.nan
    laid = np.where(rated, share - np.nanmean(np.where(rated, share, np.nan), axis=1, keepdims=True), 0.0)
    # The errors of two labels shrink their covariance by rho + eta - 1 each.
    together = float((laid @ laid.T)[first, second].sum()) / informed**2
    low, high = 0.0, 0.99
    bound = np.clip(alpha, 1e-6, 1 - 1e-6)
    h, k, product = ndtri(bound[first]), ndtri(bound[second]), bound[first] * bound[second]
    for _ in range(40):
        middle = (low + high) / 2
        expected = float((both * (compute_normal_orthant(h, k, middle) - product)).sum())
        low, high = (middle, high) if expected < together else (low, middle)
    return low if low > 1e-6 else 0.0
