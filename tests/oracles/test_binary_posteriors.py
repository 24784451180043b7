"""The posterior of alpha against a brute-force sum that shares no code with it, NUTS, and its own calibration."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import CubicSpline
from scipy.special import gammaln, xlog1py, xlogy

from simlab.analysis.adequacy.grid import PUBLISHED
from simlab.analysis.adequacy.measurable_difference import measurable_difference
from simlab.analysis.adequacy.nuts import draw_alpha
from simlab.analysis.adequacy.plans import Plan
from simlab.analysis.binary import AlphaPosterior, alpha_posterior
from simlab.analysis.chains import PUBLISHED as PUBLISHED_CHAINS
from simlab.effort import ChainEffort
from simlab.rng import stream
from simlab.types import InputError

Z = stats.norm.ppf(0.975) * np.sqrt(2)
FAR = 14.0


def log_beta_density(x: np.ndarray, plus: float, n: float) -> np.ndarray:
    norm = gammaln(n + 2) - gammaln(plus + 1) - gammaln(n - plus + 1)
    return np.asarray(xlogy(plus, x) + xlog1py(n - plus, -x) + norm)


def reach(plus: float, n: float) -> tuple[float, float]:
    """Bound where a count may come from: 14 standard deviations, and 40 units of the exponential tail at a border."""
    mean = (plus + 1) / (n + 2)
    far = FAR * np.sqrt(mean * (1 - mean) / (n + 3))
    return max(mean - far, 0.0), min(mean + far + (40 / (n + 2) if mean < 0.5 else 0.0), 1.0)


def metric_likelihood(
    alpha: np.ndarray, m_plus: float, m: float, calibration: Sequence[float], constrain: bool, n_nodes: int
) -> np.ndarray:
    """Sum p(rho) p(eta) Binomial(m_plus | q) over a grid of (rho, 1 - eta) that is laid anew for every alpha."""
    tp, p, tn, n = calibration
    node, weight = np.polynomial.legendre.leggauss(n_nodes)
    node, weight = (node + 1) / 2, weight / 2
    (u0, u1), (v0, v1), (q0, q1) = reach(tp, p), reach(n - tn, n), reach(m_plus, m)
    found = np.zeros(len(alpha))
    for k, a in enumerate(alpha):
        # Only where all three windows meet is there anything to add up.
        low, high = max(u0, (q0 - (1 - a) * v1) / a), min(u1, (q1 - (1 - a) * v0) / a)
        # u > v, so u exceeds their mean q, too; beyond v1 it is no constraint.
        low, cut = (max(low, q0, v0), min(max(low, v1), high)) if constrain else (low, low)
        for start, end in ((low, cut), (cut, high)):
            if start >= end:
                continue
            u = start + (end - start) * node
            least = np.maximum(v0, (q0 - a * u) / (1 - a))
            most = np.minimum(np.minimum(v1, (q1 - a * u) / (1 - a)), u if constrain else 1.0)
            width = np.maximum(most - least, 0)
            v = least[:, None] + width[:, None] * node
            q = a * u[:, None] + (1 - a) * v
            log_f = log_beta_density(u, tp, p)[:, None] + log_beta_density(v, n - tn, n)
            found[k] += (end - start) * (weight * width) @ np.exp(log_f + log_beta_density(q, m_plus, m)) @ weight
    return found


class Sum(NamedTuple):
    """Hold what brute force says of alpha: `below(x)` is its distribution function."""

    mean: float
    sd: float
    below: Callable[[float], float]


def brute_force(
    human: Sequence[float],
    metric: Sequence[float],
    quality: Sequence[float],
    constrain: bool = False,
    n_nodes: int = 72,
) -> Sum:
    """Add up the posterior of alpha over a dense grid: a coarse pass finds the bulk, a fine one adds it up."""
    low, high, panels = 0.0, 1.0, 24
    node, weight = np.polynomial.legendre.leggauss(8)
    for last in (False, False, True):
        panels = 40 if last else 24
        edges = np.linspace(low, high, panels + 1)
        alpha = (edges[:-1, None] + np.diff(edges)[:, None] * (node + 1) / 2).ravel()
        density = np.exp(log_beta_density(alpha, *human))
        if len(quality) == 4:
            density *= metric_likelihood(alpha, *metric, quality, constrain, n_nodes)
        else:
            q = alpha * quality[0] + (1 - alpha) * (1 - quality[1])
            density *= np.exp(log_beta_density(q, *metric))
        mass = density * np.tile(weight, panels)
        bulk, step = alpha[mass > 1e-12 * mass.max()], (high - low) / panels
        if not last:
            low, high = max(bulk[0] - step, 0.0), min(bulk[-1] + step, 1.0)
    mass /= mass.sum()
    mean = float(mass @ alpha)
    curve = CubicSpline(alpha, density)
    total = curve.integrate(low, high)
    return Sum(mean, float(np.sqrt(mass @ (alpha - mean) ** 2)), lambda x: float(curve.integrate(low, x) / total))


def expected_counts(setting: dict[str, float]) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Round expectations half to even, as the published calculator does; written out anew."""
    alpha, rho, eta = setting["alpha"], setting["rho"], setting["eta"]
    p = round(alpha * setting["n_calibration"])
    n = setting["n_calibration"] - p
    q = alpha * (rho + eta - 1) + 1 - eta
    human = round(alpha * setting["n_human"]), setting["n_human"]
    return human, (round(q * setting["n_metric"]), setting["n_metric"]), (round(rho * p), p, round(eta * n), n)


CORNERS = [
    {"n_human": 0, "n_metric": 1_000_000, "rho": 0.95, "eta": 0.55, "alpha": 1.0, "n_calibration": 0},
    {"n_human": 0, "n_metric": 1_000_000, "rho": 0.55, "eta": 0.55, "alpha": 0.0, "n_calibration": 10},
    {"n_human": 10, "n_metric": 1_000_000, "rho": 0.95, "eta": 0.95, "alpha": 0.5, "n_calibration": 10_000},
    {"n_human": 10_000, "n_metric": 500, "rho": 0.55, "eta": 0.95, "alpha": 1.0, "n_calibration": 0},
    {"n_human": 10_000, "n_metric": 1_000_000, "rho": 0.75, "eta": 0.75, "alpha": 0.1, "n_calibration": 10_000},
    {"n_human": 0, "n_metric": 10_000, "rho": 0.55, "eta": 0.55, "alpha": 0.9, "n_calibration": 100},
]


def sample(n: int, seed: int) -> list[dict[str, float]]:
    """Draw settings of the published grid that have metric ratings."""
    rng = stream(seed, "published grid")
    choices = {key: [x for x in values if (key, x) != ("n_metric", 0)] for key, values in PUBLISHED.items()}
    return [{key: float(rng.choice(values)) for key, values in choices.items()} for _ in range(n)]


def worst_errors(settings: list[dict[str, float]], constrain: bool, n_nodes: int) -> np.ndarray:
    """Return the largest errors of mean, sd and epsilon, and of the share of alphas beyond either bound."""
    errors = []
    for setting in settings:
        human, metric, calibration = expected_counts(setting)
        truth = brute_force(human, metric, calibration, constrain, n_nodes)
        found = alpha_posterior(*human, *metric, calibration=calibration, constrain=constrain)
        epsilon = measurable_difference(Plan(**setting), constrain=constrain).epsilon
        tails = truth.below(found.low) - 0.025, truth.below(found.high) - 0.975
        errors.append([found.mean - truth.mean, found.sd - truth.sd, epsilon - Z * truth.sd, *tails])
    return np.asarray(np.abs(errors).max(0))


def worst_published(n: int, seed: int, constrain: bool, n_nodes: int = 72) -> None:
    *moments, low, high = worst_errors(CORNERS + sample(n, seed), constrain, n_nodes)
    assert max(moments) < 1e-4
    assert max(low, high) < 3e-4


@pytest.mark.parametrize("constrain", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_quadrature_is_what_brute_force_says(constrain: bool) -> None:
    worst_published(2, 1, constrain)


@pytest.mark.long
@pytest.mark.parametrize("constrain", [False, True])
def test_quadrature_is_what_brute_force_says_on_many_settings(constrain: bool) -> None:
    # Where rho + eta > 1 cuts a narrow ridge, the sum needs more nodes than the quadrature.
    worst_published(100 if constrain else 400, 2, constrain, 160 if constrain else 72)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 1.0])
def test_known_rho_and_eta(alpha: float) -> None:
    rng = stream(3, "known", str(alpha))
    for n, m in ((0, 500), (10, 10_000), (1000, 1_000_000), (10_000, 500)):
        rho, eta = rng.uniform(0.52, 1, 2)
        human, metric = (round(alpha * n), n), (round((alpha * (rho + eta - 1) + 1 - eta) * m), m)
        truth = brute_force(human, metric, (rho, eta))
        found = alpha_posterior(*human, *metric, rho=rho, eta=eta)
        assert abs(found.mean - truth.mean) < 1e-5
        assert abs(found.sd - truth.sd) < 1e-5
        assert abs(truth.below(found.low) - 0.025) < 1e-4
        assert abs(truth.below(found.high) - 0.975) < 1e-4


def test_human_ratings_alone_give_a_beta_distribution() -> None:
    n_plus, n = np.array([0, 3, 10, 0]), np.array([0, 10, 10, 500])
    found, beta = alpha_posterior(n_plus, n), stats.beta(n_plus + 1, n - n_plus + 1)
    np.testing.assert_allclose(found.mean, beta.mean())
    np.testing.assert_allclose(found.sd, beta.std())
    np.testing.assert_allclose([found.low, found.high], beta.ppf([[0.025], [0.975]]), rtol=1e-9)
    np.testing.assert_array_equal(found.mode, [np.nan, 0.3, 1, 0])


def test_the_mode_is_the_published_estimate() -> None:
    m_plus = np.array([100, 540, 300, 690, 800])
    found = alpha_posterior(0, 0, m_plus, 1000, rho=0.7, eta=0.7)
    np.testing.assert_allclose(found.mode, np.clip((m_plus / 1000 + 0.7 - 1) / 0.4, 0, 1), atol=2e-4)


def test_a_perfect_metric_is_a_human_rater() -> None:
    both, human = alpha_posterior(30, 50, 620, 1000, rho=1, eta=1), alpha_posterior(650, 1050)
    for mine, theirs in zip(both, human, strict=True):
        assert abs(mine - theirs) < 1e-4


def test_a_large_calibration_is_as_good_as_knowing() -> None:
    known = alpha_posterior(6, 10, 5400, 10_000, rho=0.7, eta=0.7)
    found = alpha_posterior(6, 10, 5400, 10_000, calibration=(7e8, 1e9, 7e8, 1e9))
    assert abs(found.sd - known.sd) < 1e-5
    assert abs(found.mean - known.mean) < 1e-5


def turned(found: AlphaPosterior) -> tuple[np.ndarray, ...]:
    return 1 - found.mean, found.sd, 1 - found.high, 1 - found.low


@pytest.mark.parametrize("constrain", [False, True])
def test_naming_the_classes_the_other_way_round_turns_alpha_round(constrain: bool) -> None:
    found = alpha_posterior(6, 10, 580, 1000, calibration=(42, 60, 33, 40), constrain=constrain)
    other = alpha_posterior(4, 10, 420, 1000, calibration=(33, 40, 42, 60), constrain=constrain)
    np.testing.assert_allclose(turned(found), [other.mean, other.sd, other.low, other.high], atol=1e-4)


def test_turning_the_metric_round_changes_nothing() -> None:
    found = alpha_posterior(6, 10, 580, 1000, calibration=(42, 60, 33, 40))
    other = alpha_posterior(6, 10, 420, 1000, calibration=(18, 60, 7, 40))
    np.testing.assert_allclose(found, other, atol=1e-4)
    known = alpha_posterior(6, 10, 580, 1000, rho=0.8, eta=0.6)
    np.testing.assert_allclose(known, alpha_posterior(6, 10, 420, 1000, rho=0.2, eta=0.4), atol=1e-6)


def test_settings_broadcast_and_do_not_depend_on_their_company() -> None:
    plus = np.array([[300], [580]])
    found = alpha_posterior([6, 0], [10, 0], plus, 1000, calibration=(42, 60, 33, 40))
    assert found.mean.shape == (2, 2)
    alone = alpha_posterior(0, 0, 580, 1000, calibration=(42, 60, 33, 40))
    np.testing.assert_allclose([x[1, 1] for x in found], alone, rtol=1e-9)


NUTS = {
    "known": ((6, 10, 540, 1000), (0.7, 0.8)),
    "calibrated": ((6, 10, 540, 1000), (42, 60, 28, 40)),
    "uncalibrated": ((60, 100, 5400, 10_000), (0, 0, 0, 0)),
    "metric only": ((0, 0, 5400, 10_000), (42, 60, 28, 40)),
    "all adequate": ((100, 100, 4500, 5000), (90, 100, 0, 0)),
    "known, metric only": ((0, 0, 54_000, 100_000), (0.75, 0.65)),
}


def by_batches(values: np.ndarray, n: int = 40) -> tuple[float, float]:
    """Return a mean and its Monte-Carlo standard error, from means of long batches, each within one chain."""
    means = values.reshape(n, -1).mean(1)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(n))


def agrees_with_nuts(counts: Sequence[float], quality: Sequence[float], size: ChainEffort) -> None:
    alpha = draw_alpha(*map(float, (*counts, *quality)), size=size)(1).ravel()
    given = {"calibration": quality} if len(quality) == 4 else {"rho": quality[0], "eta": quality[1]}
    found = alpha_posterior(*counts, **given)
    mean, error = by_batches(alpha)
    assert abs(found.mean - mean) < 5 * error
    variance, error = by_batches((alpha - mean) ** 2)
    assert abs(found.sd**2 - variance) < 5 * error
    for bound, share in ((found.low, 0.025), (found.high, 0.975)):
        below, error = by_batches(alpha < bound)
        assert abs(below - share) < 5 * error
    # A posterior that is a fifth too wide would be noticed.
    assert abs(1.44 * found.sd**2 - variance) > 5 * by_batches((alpha - mean) ** 2)[1]


@pytest.mark.slow
def test_nuts_agrees() -> None:
    agrees_with_nuts((60, 100, 5400, 10_000), (42, 60, 28, 40), ChainEffort(2, 500, 4000))


@pytest.mark.long
@pytest.mark.parametrize("case", NUTS)
def test_nuts_agrees_with_the_published_settings(case: str) -> None:
    agrees_with_nuts(*NUTS[case], PUBLISHED_CHAINS)


def covered(n: int, kind: str, twice: bool = False) -> np.ndarray:
    """Draw alpha, rho and eta from their priors and ratings from them; say where the 95 % interval holds alpha."""
    rng = stream(5, "coverage", kind)
    alpha, rho, eta = rng.uniform(size=(3, n))
    if kind == "constrained":
        worse = rho + eta < 1
        rho, eta = np.where(worse, 1 - rho, rho), np.where(worse, 1 - eta, eta)
    human, rated = rng.choice([0, 10, 50], n), rng.choice([100, 1000, 20_000], n)
    p, negative = rng.integers(0, 60, (2, n))
    plus, m_plus = rng.binomial(human, alpha), rng.binomial(rated, alpha * rho + (1 - alpha) * (1 - eta))
    if kind == "known":
        found = alpha_posterior(plus, human, m_plus, rated, rho=rho, eta=eta)
    else:
        tp, tn = rng.binomial(p, rho), rng.binomial(negative, eta)
        counts = [x * (2 if twice else 1) for x in (tp, p, tn, negative)]
        found = alpha_posterior(plus, human, m_plus, rated, calibration=tuple(counts), constrain=kind == "constrained")
    return np.asarray((found.low <= alpha) & (alpha <= found.high))


@pytest.mark.parametrize("kind", ["known", "calibrated", "constrained"])
def test_intervals_hold_alpha_as_often_as_they_say(kind: str) -> None:
    n = 2000
    assert abs(covered(n, kind).mean() - 0.95) < 3 * np.sqrt(0.95 * 0.05 / n)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["known", "calibrated", "constrained"])
def test_intervals_hold_alpha_as_often_as_they_say_in_many_draws(kind: str) -> None:
    n = 20_000
    assert abs(covered(n, kind).mean() - 0.95) < 3 * np.sqrt(0.95 * 0.05 / n)


def test_counting_the_calibration_twice_is_found_out() -> None:
    n = 2000
    assert covered(n, "calibrated", twice=True).mean() < 0.95 - 3 * np.sqrt(0.95 * 0.05 / n)


MISTAKES = {
    "n_plus=11 is not between 0 and n=10": ((11, 10), {}),
    "m_plus=-1 is not between 0 and m=10": ((0, 0, -1, 10), {"rho": 0.7, "eta": 0.7}),
    "TP=7 is not between 0 and P=5": ((0, 0, 1, 10), {"calibration": (7, 5, 1, 5)}),
    "metric ratings need rho and eta": ((0, 0, 1, 10), {"rho": 0.7}),
    "leave one of the two out": ((0, 0, 1, 10), {"rho": 0.7, "calibration": (1, 5, 1, 5)}),
    "rho=1.2 is not a probability": ((0, 0, 1, 10), {"rho": 1.2, "eta": 0.7}),
    "carry no information": ((0, 0, 1, 10), {"rho": 0.4, "eta": 0.6}),
    "method=mcmc is neither": ((0, 0, 1, 10), {"rho": 0.4, "eta": 0.7, "method": "mcmc"}),
    "does not know that rho + eta > 1": (
        (0, 0, 1, 10),
        {"calibration": (1, 5, 1, 5), "constrain": True, "method": "nuts"},
    ),
}


@pytest.mark.parametrize("says", MISTAKES)
def test_a_mistake_is_one_line(says: str) -> None:
    counts, options = MISTAKES[says]
    with pytest.raises(InputError, match=re.escape(says)) as raised:
        alpha_posterior(*counts, **options)
    assert "\n" not in str(raised.value)
