"""Measure what studies promise whose systems share a metric: each function yields rows from n studies of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from promise_rows import Row, Side, stream
from scipy.special import expit, logit

from simlab.analysis.adequacy.joint import AdequacyCounts
from simlab.analysis.sharing import estimate_with_joint_rates, estimate_with_own_rates, estimate_with_partial_rates
from simlab.types import Estimates, Floats

BEST = 0.022
"""Standard deviation of the difference if rho and eta are shared, at the setting below; methods: by simulation."""


class Setting(NamedTuple):
    """Hold what a study has: alphas, the metric's rates on each system, and counts for each system."""

    alpha: Floats
    rho: Floats
    eta: Floats
    human: int = 94
    metric: int = 5000
    calibration: int = 25

    def draw(self, rng: np.random.Generator) -> tuple[AdequacyCounts, Floats]:
        """Draw the counts and each system's calibration; 25 of each of two systems are 50 shared ones."""
        ones, positive = np.ones(len(self.alpha)), rng.binomial(self.calibration, self.alpha)
        negative = self.calibration - positive
        right = rng.binomial(positive, self.rho), rng.binomial(negative, self.eta)
        q = self.alpha * self.rho + (1 - self.alpha) * (1 - self.eta)
        n_plus, m_plus = rng.binomial(self.human, self.alpha), rng.binomial(self.metric, q)
        counts = AdequacyCounts(n_plus.astype(float), self.human * ones, m_plus.astype(float), self.metric * ones)
        return counts, np.stack([right[0], positive, right[1], negative], 1).astype(float)


def two(alpha: float, difference: float, rho: float = 0.8, eta: float = 0.8, other: float = 0.0) -> Setting:
    """Compare two systems `difference` apart; on the second the metric's rho is lower by `other`."""
    ones = np.ones(2)
    return Setting(alpha + difference * np.array([0.5, -0.5]), rho * ones - [0, other], eta * ones)


def own(counts: AdequacyCounts, calibration: Floats) -> Estimates:
    return estimate_with_own_rates(counts, calibration, False, 0.05)


def pooled_as_own(counts: AdequacyCounts, calibration: Floats) -> Estimates:
    """Analyse as before: the shared calibration taken for each system's own."""
    return estimate_with_own_rates(counts, np.tile(calibration.sum(0), (len(calibration), 1)), False, 0.05)


def joint(counts: AdequacyCounts, calibration: Floats, bound: float = 0.0) -> Estimates:
    return estimate_with_joint_rates(counts, calibration.sum(0), False, 0.05, bound)


def partial(counts: AdequacyCounts, calibration: Floats) -> Estimates:
    return estimate_with_partial_rates(counts, calibration, False, 0.05)


class Found(NamedTuple):
    """Hold what one study says of each pair."""

    low: Floats
    high: Floats
    sd: Floats
    truth: Floats

    @property
    def covers(self) -> float:
        return float(np.mean((self.low <= self.truth) & (self.truth <= self.high)))

    @property
    def claims(self) -> float:
        """Count differences found in the true direction, or, of equal systems, any."""
        up, down = self.low > 0, self.high < 0
        return float(np.mean(np.where(self.truth > 0, up, np.where(self.truth < 0, down, up | down))))


def found(estimates: Estimates, alpha: Floats) -> Found:
    first, second = np.triu_indices(len(alpha), 1)
    truth, apart = alpha[first] - alpha[second], estimates.contrasts
    if apart is not None:
        return Found(apart.low, apart.high, apart.sd, truth)
    gap, sd = estimates.value[first] - estimates.value[second], np.hypot(estimates.sd[first], estimates.sd[second])
    return Found(gap - 1.959964 * sd, gap + 1.959964 * sd, sd, truth)


def studies(
    setting: Setting | Callable[[np.random.Generator], Setting],
    analysis: Callable[[AdequacyCounts, Floats], Estimates],
    n: int,
    seed: int,
) -> list[Found]:
    rng, answers = stream(seed, "promises", "shared_calibration"), []
    for _ in range(n):
        one = setting if isinstance(setting, Setting) else setting(rng)
        answers.append(found(analysis(*one.draw(rng)), one.alpha))
    return answers


def row(name: str, setting: str, bound: float, values: list[float], side: Side = "at least") -> Row:
    array = np.array(values)
    # Where all studies agree, one more that does not.
    spread = float(array.std(ddof=1)) or len(array) ** -0.5
    return Row(name, setting, bound, float(array.mean()), spread / len(array) ** 0.5, len(array), side)


ASKED = two(0.6, 0.06)
SETTING = "alpha .63 and .57, rho = eta = .8, 94 human, 5,000 metric, 50 shared outputs"


def joint_power(n: int) -> list[Row]:
    answers = studies(ASKED, joint, n, 1)
    return [row("joint: power", SETTING, 0.9, [one.claims for one in answers])]


def joint_width(n: int) -> list[Row]:
    answers = studies(ASKED, joint, n, 1)
    return [row("joint: width over the best possible", SETTING, 1.4, [one.sd[0] / BEST for one in answers], "at most")]


def joint_coverage(n: int) -> list[Row]:
    """Six systems far apart tell much of rho + eta - 1 themselves, and the posterior trusts so small a calibration."""
    six = Setting(np.linspace(0.7, 0.5, 6), np.full(6, 0.8), np.full(6, 0.8), calibration=8)
    settings = {
        SETTING: (ASKED, 0.93),
        "the same, alpha .9 and .8, rho .9, eta .7": (two(0.85, 0.1, 0.9, 0.7), 0.93),
        "the same, no human ratings": (ASKED._replace(human=0), 0.93),
        "six systems .04 apart, 48 shared outputs": (six, 0.9),
        "six systems .04 apart, 300 shared outputs": (six._replace(calibration=50), 0.93),
    }
    name = "joint: coverage of differences"
    return [
        row(name, said, bound, [one.covers for one in studies(where, joint, n, 2)])
        for said, (where, bound) in settings.items()
    ]


def joint_level(n: int) -> list[Row]:
    answers = studies(two(0.6, 0.0), joint, n, 3)
    return [row("joint: false positives", "equal systems, else as above", 0.05, [a.claims for a in answers], "at most")]


def own_coverage(n: int) -> list[Row]:
    settings = {
        "50 outputs of each, rates differ by .1": two(0.6, 0.06, other=0.1)._replace(calibration=50),
        "200 outputs of each, alpha .9 and .8": two(0.85, 0.1, other=0.1)._replace(calibration=200),
        "20 outputs of each, rho .9, eta .7": two(0.6, 0.2, 0.9, 0.7)._replace(calibration=20),
    }
    return [
        row("own: coverage of differences", name, 0.93, [a.covers for a in studies(where, own, n, 4)])
        for name, where in settings.items()
    ]


def from_the_prior(rng: np.random.Generator, calibration: int, human: int = 94, metric: int = 5000) -> Setting:
    """Draw alphas, mean rates, spreads and rates as partial pooling assumes."""
    spread, mean = 0.5 * np.abs(rng.standard_normal(2)), logit(rng.random(2))
    rho, eta = (expit(m + t * rng.standard_normal(6)) for m, t in zip(mean, spread, strict=True))
    return Setting(rng.random(6), rho, eta, human, metric, calibration)


def partial_coverage(n: int) -> list[Row]:
    rows = []
    for counts in ((8, 94, 5000), (50, 94, 5000), (100, 300, 20_000)):
        answers = studies(lambda rng, counts=counts: from_the_prior(rng, *counts), partial, n, 5)
        where = "six systems, truths from the prior: {} calibration, {} human, {} metric outputs each".format(*counts)
        rows.append(row("partial: coverage of differences", where, 0.93, [a.covers for a in answers]))
    return rows


def bounded_coverage(n: int) -> list[Row]:
    answers = studies(two(0.6, 0.06, other=0.1), lambda *seen: joint(*seen, bound=0.1), n, 6)
    name = "joint, youden_bound=.1: coverage of differences"
    return [row(name, "rho differs by .1, else as above", 0.93, [one.covers for one in answers])]


def power_as_before(n: int) -> list[Row]:
    answers = studies(ASKED, pooled_as_own, n, 7)
    return [
        row("before (one calibration taken for two): power", SETTING, 0.9, [a.claims for a in answers], "control below")
    ]


def joint_misled(n: int) -> list[Row]:
    answers = studies(two(0.6, 0.06, other=0.1), joint, n, 6)
    name = "joint where it misleads: coverage of differences"
    return [row(name, "rho differs by .1, else as above", 0.93, [one.covers for one in answers], "control below")]
