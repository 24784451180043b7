"""Worlds of judgements follow the laws that they state; three readings of one latent quality agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats
from scipy.special import logit

from simlab.formulas import best_threshold, compute_normal_orthant, threshold_rates
from simlab.parts import bind
from simlab.rng import stream
from simlab.types import COMPARE, InputError, KnownRates, World
from simlab.world.alphas import share_of_adequate_outputs
from simlab.world.laws.comparisons import ComparisonLaw
from simlab.world.laws.judgements import OutputSample, Quality, quality, require_judgements, true_means
from simlab.world.oracles import oracle
from simlab.world.output_metrics import correlated, rho_eta, thresholded

N = 60_000
CONF = Path(__file__).parents[2] / "conf"


def section(group: str, name: str, **keys: Any) -> dict[str, Any]:
    return yaml.safe_load((CONF / group / f"{name}.yaml").read_text()) | keys


def contest(**keys: Any) -> Any:
    return bind(section("systems", "alpha_optimal", n_items=N, **keys))(stream(1, "systems"))


def world(raters: dict[str, Any] | None = None, **keys: Any) -> World:
    return bind(section("raters", "judges", **(raters or {})))(stream(1, "raters"), contest(**keys))


def outputs(judged: World, seed: int, n: int = N, *, shared: bool) -> OutputSample:
    return require_judgements(judged).outputs(stream(seed), n, judged.metric, shared=shared)


def true_quality(judged: World) -> Quality:
    return quality(require_judgements(judged), judged.metric)


def far(found: Any, wanted: Any, sd: Any, n: int = N) -> float:
    """Return the largest deviation of means of n draws, in standard errors."""
    return float(np.max(np.abs(np.asarray(found) - wanted) / (np.asarray(sd) / np.sqrt(n))))


ALPHAS = {"n_systems": 3, "alphas": [0.8, 0.6, 0.3]}


@pytest.mark.parametrize("agreement", [0.0, 0.6])
def test_three_readings_of_one_quality_agree(agreement: float) -> None:
    adequate = world(item_agreement=agreement, **ALPHAS)
    scored = world({"scale": "score"}, item_agreement=agreement, **ALPHAS)
    compared = bind(section("raters", "oracle"))(stream(1), contest(item_agreement=agreement, **ALPHAS))
    # Adequacy: the share of positive scores is alpha, and the mean of scores its normal quantile.
    alpha = np.array(ALPHAS["alphas"])
    score = outputs(scored, 2, shared=True).score
    assert far((score > 0).mean(1), alpha, np.sqrt(alpha * (1 - alpha))) < 4.5
    assert far(score.mean(1), stats.norm.ppf(alpha), 1.0) < 4.5
    np.testing.assert_allclose(true_means(require_judgements(adequate)), alpha)
    np.testing.assert_allclose(true_means(require_judgements(scored)), stats.norm.ppf(alpha))
    # Preferences: the win rates that the contest states are those of the same scores.
    first, second = np.triu_indices(3, 1)
    gap = score[first] - score[second]
    margin = 0.35
    rates = np.stack([(gap > margin).mean(1), (np.abs(gap) <= margin).mean(1), (gap < -margin).mean(1)], axis=1)
    law = compared.answers[COMPARE]
    assert isinstance(law, ComparisonLaw)
    p = law.contest.p
    assert far(rates, p, np.sqrt(p * (1 - p))) < 4.5
    human = law.draw(stream(3), compared.metric).human
    found = np.stack([(human == k).mean(1) for k in range(3)], axis=1)
    assert far(found, p, np.sqrt(p * (1 - p))) < 4.5
    # A control: without the item agreement, wins would be others.
    other = contest(item_agreement=0.6 - agreement, **ALPHAS).p
    assert far(found, other, np.sqrt(other * (1 - other))) > 5


@pytest.mark.parametrize("agreement", [0.0, 0.5])
def test_item_agreement_correlates_systems_on_an_item(agreement: float) -> None:
    score = outputs(world({"scale": "score"}, item_agreement=agreement, **ALPHAS), 2, shared=True).score
    assert abs(np.corrcoef(score)[0, 1] - agreement) < 4.5 / np.sqrt(N)
    apart = outputs(world({"scale": "score"}, item_agreement=agreement, **ALPHAS), 2, shared=False)
    assert abs(np.corrcoef(apart.score)[0, 1]) < 4.5 / np.sqrt(N)


def test_ends_of_alpha_are_exact() -> None:
    sure = world(n_systems=2, alphas=[1.0, 0.0])
    y = require_judgements(sure).judge(stream(1), outputs(sure, 2, 500, shared=True).score, shared=True)
    np.testing.assert_array_equal(y.mean(1), [1.0, 0.0])
    judged = rho_eta(stream(1), sure, rho=0.8, eta=0.9, concentration=None, system_concentration=None, system_sd=0.0)
    said = outputs(judged, 3, shared=False).metric_score
    assert far(said.mean(1), [0.8, 0.1], [0.4, 0.3]) < 4.5


def test_a_metric_is_right_as_often_as_stated_and_systems_may_differ() -> None:
    judged = rho_eta(
        stream(1), world(**ALPHAS), rho=0.8, eta=0.7, concentration=None, system_concentration=20.0, system_sd=0.0
    )
    assert judged.metric.nominal == (0.8, 0.7)
    assert np.ptp(judged.metric.rho) > 0.01
    drawn = outputs(judged, 2, shared=False)
    adequate = drawn.score > 0
    for found, rate, n in (
        ([drawn.metric_score[k, adequate[k]].mean() for k in range(3)], judged.metric.rho, adequate.sum(1)),
        ([1 - drawn.metric_score[k, ~adequate[k]].mean() for k in range(3)], judged.metric.eta, (~adequate).sum(1)),
    ):
        assert np.max(np.abs(found - rate) / np.sqrt(rate * (1 - rate) / n)) < 4.5
        assert np.max(np.abs(np.asarray(found) - (rate - 0.03)) / np.sqrt(rate * (1 - rate) / n)) > 5
    priors = [
        rho_eta(
            stream(k), world(**ALPHAS), rho=0.5, eta=0.5, concentration=2.0, system_concentration=None, system_sd=0.0
        ).metric.nominal
        for k in range(400)
    ]
    assert stats.kstest(np.array(priors)[:, 0], "uniform").pvalue > 1e-3  # Beta(1, 1)


@pytest.mark.parametrize("spread", [0.1, 0.4])
def test_rates_of_systems_spread_on_the_scale_of_logits(spread: float) -> None:
    rates = {"rho": 0.8, "eta": 0.7, "concentration": None, "system_concentration": None}
    drawn = [rho_eta(stream(k), world(**ALPHAS), **rates, system_sd=spread).metric for k in range(400)]
    for name, middle in (("rho", 0.8), ("eta", 0.7)):
        apart = np.concatenate([logit(getattr(metric, name)) for metric in drawn]) - logit(middle)
        assert abs(apart.mean()) < 5 * spread / np.sqrt(len(apart))
        assert abs(apart.std() / spread - 1) < 5 / np.sqrt(2 * len(apart))
    assert {metric.nominal for metric in drawn} == {KnownRates(0.8, 0.7)}  # the world's rates are what is known


@pytest.mark.parametrize("scale", ["score", "skewed_score"])
@pytest.mark.parametrize("rho", [-0.4, 0.7, 1.0])
def test_a_scalar_metric_correlates_within_systems_as_stated(scale: str, rho: float) -> None:
    judged = correlated(stream(1), world({"scale": scale}, **ALPHAS), correlation=rho, correlation_sd=0.0)
    drawn = outputs(judged, 2, shared=True)
    for k in range(3):
        assert abs(np.corrcoef(drawn.score[k], drawn.metric_score[k])[0, 1] - rho) < 0.02
    assert far(drawn.metric_score.mean(1), 0.0, 1.0) < 4.5
    about = true_quality(judged)
    np.testing.assert_allclose(about.correlation, rho)
    slope = [np.cov(drawn.score[k], drawn.metric_score[k])[0, 1] / drawn.metric_score[k].var() for k in range(3)]
    np.testing.assert_allclose(slope, about.slope, atol=0.03)
    assert (stats.skew(drawn.score[0]) > 1.5) == (scale == "skewed_score")


def test_a_threshold_makes_rho_and_eta_and_the_best_one_is_found() -> None:
    judged = thresholded(stream(1), world(**ALPHAS), correlation=0.6, correlation_sd=0.0, threshold=None)
    drawn = outputs(judged, 2, shared=True)
    adequate = drawn.score > 0
    rho = np.array([drawn.metric_score[k, adequate[k]].mean() for k in range(3)])
    np.testing.assert_allclose(rho, judged.metric.rho, atol=4.5 * 0.5 / np.sqrt(0.3 * N))
    grid = np.linspace(-2, 2, 2001)
    for alpha in (0.3, 0.6):
        sums = np.sum(threshold_rates(0.6, alpha, grid), axis=0)
        assert abs(grid[sums.argmax()] - best_threshold(0.6, alpha)) < 0.002
    assert threshold_rates(0.5, 0.5, 0.0)[0] == pytest.approx(0.5 + np.arcsin(0.5) / np.pi)
    law = stats.multivariate_normal([0, 0], [[1, -0.7], [-0.7, 1]])
    for h, k in [(0.3, -1.0), (-0.2, -0.1), (0.0, 1.0), (2.0, 2.0)]:
        assert float(compute_normal_orthant(h, k, -0.7)) == pytest.approx(float(law.cdf([h, k])), abs=2e-6)


def test_raters_have_rates_of_their_own() -> None:
    judged = world({"leniency_sd": 0.5, "leniency": 0.2, "noise": 0.7, "n_raters": 5}, **ALPHAS)
    drawn = outputs(judged, 2, shared=True)
    y = require_judgements(judged).judge(stream(3), drawn.score, shared=True)
    adequate = drawn.score > 0
    about = true_quality(judged)
    found = [[y[k, adequate[k]].mean(), 1 - y[k, ~adequate[k]].mean()] for k in range(3)]
    np.testing.assert_allclose(
        found, np.stack([about.human_rho, about.human_eta], 1), atol=4.5 * 0.5 / np.sqrt(0.2 * N)
    )
    assert (np.abs(np.asarray(found)[:, 0] - 1) > 0.02).all()  # no oracle
    exact = true_quality(world(**ALPHAS))
    np.testing.assert_array_equal(exact.human_rho, 1)


def test_latent_preferences_can_be_judged_too() -> None:
    made = bind(section("systems", "preference", n_systems=3, n_items=10, quality=[0.8, 0.1, -0.5], item_sd=0.8))(
        stream(1)
    )
    judged = bind(section("raters", "judges"))(stream(1), made)
    score = outputs(judged, 2, shared=False).score
    alpha = share_of_adequate_outputs(require_judgements(judged).latent)
    assert far((score > 0).mean(1), alpha, np.sqrt(alpha * (1 - alpha))) < 4.5
    np.testing.assert_allclose(true_means(require_judgements(judged)), alpha)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: contest(alphas=[0.5]), "systems.alphas has 1 numbers for systems.n_systems=4"),
        (lambda: contest(alpha=0.9, spacing=0.2), "no probability"),
        (lambda: contest(beta=[1.0]), "systems.beta"),
        (lambda: world({"scale": "score"}, n_systems=2, alphas=[1.0, 0.5]), "no finite mean"),
        (lambda: oracle(stream(0), contest(n_systems=2, alphas=[1.0, 0.5])), "alpha of 0 or 1"),
        (lambda: bind(section("raters", "judges", scale="skewed_score"))(
            stream(0), bind(section("systems", "preference"))(stream(0))), "item_sd=0"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(call: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
