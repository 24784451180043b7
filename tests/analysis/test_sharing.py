"""Hold the posteriors of systems that share a metric against brute force, a long chain, and what must be refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import xlog1py, xlogy
from scipy.stats import norm

from simlab.analysis.adequacy import partial_rates
from simlab.analysis.adequacy.joint import AdequacyCounts, difference
from simlab.analysis.adequacy.shared_rates import (
    contrasts,
    probability_below_x,
    quantile,
    shared_rates,
    youden,
    youden_index,
)
from simlab.analysis.sharing import (
    check_sharing,
    estimate_with_joint_rates,
    estimate_with_own_rates,
    estimate_with_partial_rates,
)
from simlab.rng import stream
from simlab.types import Estimates, Floats, InputError

CALIBRATION = np.array([24.0, 30.0, 16.0, 20.0])


def counts(alphas: list[float], human: int = 60, metric: int = 800) -> AdequacyCounts:
    """Take expected counts of a metric with rho = .8 and eta = .75."""
    alpha, ones = np.array(alphas), np.ones(len(alphas))
    said = np.round(metric * (0.8 * alpha + 0.25 * (1 - alpha)))
    return AdequacyCounts(np.round(human * alpha), human * ones, said, metric * ones)


def brute_force(systems: AdequacyCounts, calibration: Floats, constrain: bool) -> tuple[Floats, Floats, float]:
    """Sum over a dense grid: the differences of the first system, mean and sd, and the mean of rho + eta - 1."""
    rate = (np.arange(90) + 0.5) / 90
    rho, eta = (x.ravel() for x in np.meshgrid(rate, rate, indexing="ij"))
    alpha = (np.arange(400) + 0.5) / 400
    q = np.outer(rho, alpha) + np.outer(1 - eta, 1 - alpha)
    tp, p, tn, n = calibration
    log_weight = xlogy(tp, rho) + xlog1py(p - tp, -rho) + xlogy(tn, eta) + xlog1py(n - tn, -eta)
    log_weight = np.where((rho + eta > 1) | (not constrain), log_weight, -np.inf)
    moments = []
    for n_plus, m, m_plus, rated in zip(*systems, strict=True):
        log_f = xlogy(n_plus, alpha) + xlog1py(m - n_plus, -alpha) + m_plus * np.log(q)
        log_f += (rated - m_plus) * np.log1p(-q)
        top = log_f.max(1, keepdims=True)
        mass = np.exp(log_f - top)
        log_weight = log_weight + top[:, 0] + np.log(mass.sum(1))
        moments.append((mass @ alpha / mass.sum(1), mass @ alpha**2 / mass.sum(1)))
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    (first, square), *others = moments
    mean = np.array([weight @ (first - other) for other, _ in others])
    second = np.array([weight @ (square + squared - 2 * first * other) for other, squared in others])
    return mean, np.sqrt(second - mean**2), float(weight @ (rho + eta - 1))


@pytest.mark.parametrize("constrain", [False, True])
def test_the_joint_posterior_of_three_systems_is_that_of_a_dense_grid(constrain: bool) -> None:
    systems = counts([0.7, 0.6, 0.35])
    rates = shared_rates(systems, CALIBRATION, constrain)
    mean, sd, accuracy = brute_force(systems, CALIBRATION, constrain)
    apart, _ = contrasts(rates.weight, rates.mean, rates.variance, 0.05)
    np.testing.assert_allclose(apart.mean[:2], mean, atol=1e-3)
    np.testing.assert_allclose(apart.sd[:2], sd, rtol=0.01)
    assert abs(youden(rates, 0.05)[0] - accuracy) < 2e-3


def test_for_two_systems_it_is_what_detect_takes() -> None:
    systems = counts([0.7, 0.6])
    rates = shared_rates(systems, CALIBRATION, False)
    apart, _ = contrasts(rates.weight, rates.mean, rates.variance, 0.05)
    first, second = (AdequacyCounts(*(x[k : k + 1] for x in systems)) for k in (0, 1))
    mean, sd = difference(first, second, tuple(x[None] for x in CALIBRATION))
    np.testing.assert_allclose([apart.mean[0], apart.sd[0]], [mean[0], sd[0]], rtol=1e-9)


def test_what_all_rely_on_cancels_between_them_and_not_where_each_relies_on_its_own() -> None:
    systems = counts([0.63, 0.57], 94, 5000)
    shared = estimate_with_joint_rates(systems, CALIBRATION, False, 0.05)
    own = estimate_with_own_rates(systems, np.tile(CALIBRATION, (2, 1)), False, 0.05)
    assert shared.contrasts is not None
    assert own.contrasts is None
    assert shared.contrasts.sd[0] < 0.5 * np.hypot(*own.sd)
    assert shared.contrasts.p_value[0] < 0.01
    np.testing.assert_allclose(shared.value, own.value, atol=0.03)


def test_quantiles_of_mixtures_are_where_their_tails_say() -> None:
    weight, mean, sd = np.array([0.7, 0.3]), np.array([[0.0, 0.4]]), np.array([[0.01, 0.3]])
    for p in (0.005, 0.3, 0.7, 0.995):
        found = quantile(p, lambda x: probability_below_x(x, weight, mean, sd), 1)[0]
        wanted = brentq(lambda x, p=p: weight @ norm.cdf(x, mean[0], sd[0]) - p, -3, 3, xtol=1e-12)
        assert abs(found - wanted) < 1e-6


def test_a_p_value_is_below_the_level_where_the_interval_leaves_zero_out() -> None:
    systems = counts([0.64, 0.6, 0.57, 0.5], 30, 2000)
    for bound in (0.0, 0.05):
        apart = estimate_with_joint_rates(systems, CALIBRATION, False, 0.05, bound).contrasts
        assert apart is not None
        np.testing.assert_array_equal(apart.p_value < 0.05, (apart.low > 0) | (apart.high < 0))


def test_a_stated_bound_widens_the_interval_by_what_a_metric_of_that_difference_can_do() -> None:
    systems = counts([0.8, 0.3])
    plain, bounded = (estimate_with_joint_rates(systems, CALIBRATION, False, 0.05, bound) for bound in (0.0, 0.1))
    assert plain.contrasts is not None
    assert bounded.contrasts is not None
    assert plain.youden is not None
    more = 0.1 * max(plain.value[0], 1 - plain.value[1]) / plain.youden.value[0]
    np.testing.assert_allclose(bounded.contrasts.high - plain.contrasts.high, more)
    np.testing.assert_allclose(plain.contrasts.low - bounded.contrasts.low, more)
    assert bounded.contrasts.p_value[0] > plain.contrasts.p_value[0]


@pytest.mark.parametrize("constrain", [False, True])
def test_what_a_calibration_says_of_a_metric_is_what_draws_from_its_beta_laws_say(constrain: bool) -> None:
    calibration, n = np.array([CALIBRATION, [0, 0, 0, 0], [10, 30, 4, 20]]), 200_000
    rng = stream(1, "youden")
    for found, (tp, p, tn, negative) in zip(
        np.transpose(youden_index(calibration, constrain, 0.05)), calibration, strict=True
    ):
        drawn = rng.beta(tp + 1, p - tp + 1, n) + rng.beta(tn + 1, negative - tn + 1, n) - 1
        drawn = drawn[drawn > 0] if constrain else drawn
        assert abs(found[0] - drawn.mean()) < 5 * drawn.std() / np.sqrt(len(drawn))
        for bound, p_below in zip(found[1:], (0.025, 0.975), strict=True):
            assert abs(np.mean(drawn < bound) - p_below) < 5 * np.sqrt(0.025 * 0.975 / len(drawn)) + 5e-4


def alike(spread: float, each: int = 25, human: int = 94, metric: int = 5000) -> tuple[AdequacyCounts, Floats]:
    """Draw what six systems give whose rates of .8 differ by a spread of their logits."""
    rng, alpha = stream(4, "alike", str(spread)), np.linspace(0.68, 0.52, 6)
    rho, eta = (1 / (1 + 0.25 * np.exp(spread * rng.standard_normal(6))) for _ in range(2))
    positive = rng.binomial(each, alpha)
    negative = each - positive
    calibration = np.stack([rng.binomial(positive, rho), positive, rng.binomial(negative, eta), negative], 1)
    q, ones = alpha * rho + (1 - alpha) * (1 - eta), np.ones(6)
    n_plus, m_plus = rng.binomial(human, alpha), rng.binomial(metric, q)
    return AdequacyCounts(n_plus.astype(float), human * ones, m_plus.astype(float), metric * ones), calibration.astype(
        float
    )


def partly(seen: tuple[AdequacyCounts, Floats]) -> Estimates:
    return estimate_with_partial_rates(*seen, False, 0.05)


def test_partial_pooling_lies_between_one_metric_and_one_each() -> None:
    for spread in (0.0, 0.5):
        systems, calibration = alike(spread)
        pooled = partly((systems, calibration))
        assert pooled.contrasts is not None
        shared = estimate_with_joint_rates(systems, calibration.sum(0), False, 0.05).contrasts
        own = estimate_with_own_rates(systems, calibration, False, 0.05).sd
        assert shared is not None
        assert shared.sd.mean() < pooled.contrasts.sd.mean() < np.hypot(own[0], own[1:]).mean()


def test_finer_and_wider_grids_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = partly(alike(0.3))
    for name, value in {"STEP": 0.08, "SPREADS": 9, "POINTS": 5000, "BEYOND": 2.0}.items():
        monkeypatch.setattr(partial_rates, name, value)
    monkeypatch.setattr(partial_rates, "DROPPED", 60.0)
    fine = partly(alike(0.3))
    np.testing.assert_allclose(coarse.value, fine.value, atol=1e-3)
    np.testing.assert_allclose(coarse.sd, fine.sd, rtol=0.01)
    assert coarse.contrasts is not None
    assert fine.contrasts is not None
    np.testing.assert_allclose(coarse.contrasts.sd, fine.contrasts.sd, rtol=0.02)
    # Too coarse a grid does show.
    monkeypatch.setattr(partial_rates, "STEP", 0.8)
    assert np.abs(partly(alike(0.3)).sd / fine.sd - 1).max() > 0.03


@pytest.mark.slow
def test_rates_that_may_depend_on_alpha_hardly_do_are_those_that_do_not() -> None:
    """Hold two ways of integrating against each other: the slopes' own with next to no slope."""
    systems, calibration = alike(0.3, metric=1000)
    plain, sloped, steep = (
        estimate_with_partial_rates(systems, calibration, False, 0.05, slope_sd) for slope_sd in (0.0, 1e-6, 0.5)
    )
    for name in ("value", "sd", "low", "high"):
        np.testing.assert_allclose(getattr(plain, name), getattr(sloped, name), atol=5e-4)
    assert plain.youden is not None
    assert sloped.youden is not None
    np.testing.assert_allclose(plain.youden.value, sloped.youden.value, atol=1e-3)
    assert np.abs(steep.value - plain.value).max() > 1e-3


def chain(systems: AdequacyCounts, calibration: Floats) -> dict[str, Any]:
    """Sample the same model by NUTS: alphas and rho + eta - 1 `[draw, system]`, and the effective sample of alphas."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size

    from simlab.analysis.chains import make_chains

    n = len(systems.n)

    def rates(name: str) -> Any:
        mean, spread = (
            numpyro.sample(f"m_{name}", dist.Uniform(0, 1)),
            numpyro.sample(f"t_{name}", dist.HalfNormal(0.5)),
        )
        own = numpyro.sample(f"z_{name}", dist.Normal(0, 1).expand([n]))
        return jax.nn.sigmoid(jnp.log(mean / (1 - mean)) + spread * own)

    def model() -> None:
        rho, eta, alpha = rates("rho"), rates("eta"), numpyro.sample("alpha", dist.Uniform(0, 1).expand([n]))
        numpyro.deterministic("youden", rho + eta - 1)
        q = alpha * rho + (1 - alpha) * (1 - eta)
        seen = [(rho, *calibration.T[:2]), (eta, *calibration.T[2:]), (alpha, *systems[:2]), (q, *systems[2:])]
        for k, (rate, successes, trials) in enumerate(seen):
            numpyro.sample(f"seen_{k}", dist.Binomial(trials.astype(int), rate), obs=successes)

    mcmc = make_chains(model, chains=4, warmup=1500, draws=6000)
    mcmc.run(jax.random.PRNGKey(1))
    drawn = {name: np.asarray(values) for name, values in mcmc.get_samples(group_by_chain=True).items()}
    flat = {name: drawn[name].reshape(-1, n) for name in ("alpha", "youden")}
    return flat | {"effective": effective_sample_size(drawn["alpha"]).min()}


@pytest.mark.long
@pytest.mark.parametrize(("spread", "each"), [(0.3, 8), (0.3, 50), (0.0, 400)])
def test_sums_over_grids_are_what_a_long_chain_finds(spread: float, each: int) -> None:
    systems, calibration = alike(spread, each)
    found, drawn = partly((systems, calibration)), chain(systems, calibration)
    first, second = np.triu_indices(6, 1)
    apart = drawn["alpha"][:, first] - drawn["alpha"][:, second]
    assert found.contrasts is not None
    assert found.youden is not None
    mcse = apart.std(0) / np.sqrt(drawn["effective"])
    assert (np.abs(apart.mean(0) - found.contrasts.difference) < 5 * mcse + 1e-3).all()
    np.testing.assert_allclose(found.contrasts.sd, apart.std(0), rtol=0.04)
    np.testing.assert_allclose(found.contrasts.low, np.quantile(apart, 0.025, 0), atol=0.15 * apart.std(0).max())
    np.testing.assert_allclose(found.contrasts.high, np.quantile(apart, 0.975, 0), atol=0.15 * apart.std(0).max())
    np.testing.assert_allclose(found.value, drawn["alpha"].mean(0), atol=2e-3)
    np.testing.assert_allclose(found.youden.value, drawn["youden"].mean(0), atol=0.01)


REFUSED = {
    "set analysis.estimator.quality=estimated": ("known", "joint", 0.0, 0.0, 6),
    "says how wrong sharing=joint may be": ("estimated", "own", 0.1, 0.0, 6),
    "it needs 6: take joint or own": ("estimated", "partial", 0.0, 0.0, 5),
    "how rates may depend on alpha": ("estimated", "joint", 0.0, 0.5, 6),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_does_not_go_together_is_refused_in_one_line(says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        check_sharing(*REFUSED[says])
    assert "\n" not in str(refused.value)
