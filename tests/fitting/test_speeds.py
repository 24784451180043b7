"""What times tell of people's speeds: the law, its intervals, and the hours of others."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from shared_data import SHARED

from simlab.fitting.speed_law import LOGIN_SPREAD, RATER_SPREAD, LoginTimes, log_score, posterior
from simlab.fitting.speeds import (
    EstimateInterval,
    FittedSpeeds,
    Hours,
    campaigns,
    compare_predicted_hours,
    even_loads,
    fitted_speeds,
    log_sd,
    mean_seconds_per_answer,
    predict_hours_again,
    predicted_hours,
)
from simlab.rng import stream
from simlab.tables.rating_table import ColumnOverrides
from simlab.tables.reading import read
from simlab.tables.times import CUTS, Times
from simlab.types import Floats, Speeds

SCREENS, EACH = 12, 3


def made(rng: np.random.Generator, truth: Speeds, n_people: int, n_logins: int) -> Times:
    """Let people of the law work: as many logins each, and as many screens in each."""
    shape = n_people, n_logins, SCREENS
    log = (
        truth.rater_sd * rng.standard_normal((n_people, 1, 1))
        + truth.login_sd * rng.standard_normal(shape[:2])[..., None]
    )
    log = log + truth.screen_sd * rng.standard_normal(shape) - truth.screen_sd**2 / 2
    log = log - (truth.rater_sd**2 + truth.login_sd**2) / 2
    gap = np.repeat((truth.seconds_per_answer * np.exp(log)).ravel(), EACH)
    login = np.repeat(np.arange(n_people * n_logins), SCREENS * EACH)
    person = np.repeat(np.arange(n_people), n_logins)
    names = tuple(f"l{k}" for k in range(len(person)))
    return Times(
        login, person, gap, np.arange(len(gap)) // EACH, names, tuple(f"p{k}" for k in range(n_people)), "ends"
    )


def fitted(times: Times) -> FittedSpeeds:
    found = fitted_speeds(times, 1e9)
    assert found is not None
    return found


def drawn_truth(rng: np.random.Generator) -> Speeds:
    """Draw spreads from their priors, so that right intervals hold them as often as they say."""
    rater_sd = min(RATER_SPREAD * math.sqrt(-2 * math.log(rng.random())), 1.5)
    return Speeds(60.0, rater_sd, min(abs(LOGIN_SPREAD * rng.standard_normal()), 1.5), 0.6, 1e9)


def holds(span: EstimateInterval | Hours, value: float) -> bool:
    return span[0] <= value <= span[2]


def covered(n: int, seed: int, always: Speeds | None = None) -> Floats:
    """Tell of campaigns which intervals held the truth: mean of logs, both spreads, hours of others; without raters."""
    rows = []
    for k in range(n):
        rng = stream(seed, "covered", k)
        truth = always or drawn_truth(rng)
        found = fitted(made(rng, truth, 8, 4))
        work = even_loads(8 * 4 * SCREENS * EACH, 8, SCREENS * EACH)
        happened = float(campaigns(rng, [truth], work, EACH, 1)[0])
        log_mean = math.log(truth.seconds_per_answer) - (truth.rater_sd**2 + truth.login_sd**2) / 2
        flat = posterior(found.worked, flat=True).draws(rng, 400)
        all_alike = zip(mean_seconds_per_answer(flat), flat[:, 2], strict=True)
        without = [Speeds(mean, 0.0, login, found.screen_sd.estimate, 1e9) for mean, login in all_alike]
        rows.append([
            holds(found.median_seconds, math.exp(log_mean)),
            holds(found.rater_sd, truth.rater_sd),
            holds(found.login_sd, truth.login_sd),
            holds(predicted_hours(rng, found.speeds_by_world(400), work, found.screens.answers), happened),
            holds(predicted_hours(rng, without, work, found.screens.answers), happened),
        ])  # fmt: skip
    return np.array(rows, float)


def check_coverage(n: int, seed: int) -> None:
    held = covered(n, seed).mean(0)
    assert held[:4] == pytest.approx([0.9] * 4, abs=3.5 * math.sqrt(0.09 / n))


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    check_coverage(80, 1)


@pytest.mark.long
def test_intervals_hold_the_truth_as_often_as_they_say_in_many_campaigns() -> None:
    check_coverage(800, 2)


@pytest.mark.slow
def test_who_takes_people_for_alike_is_surprised_too_often() -> None:
    held = covered(50, 3, Speeds(60.0, 0.6, 0.2, 0.6, 1e9)).mean(0)
    mcse = math.sqrt(0.09 / 50)
    assert held[3] > 0.9 - 3.5 * mcse
    assert held[4] < 0.9 - 5 * mcse


def test_many_people_tell_the_truth() -> None:
    truth = Speeds(45.0, 0.5, 0.25, 0.6, 1e9)
    found = fitted(made(stream(1, "many"), truth, 150, 4))
    for name in ("seconds_per_answer", "rater_sd", "login_sd", "screen_sd"):
        span = getattr(found, name)
        assert span.high / span.low < 1.35
        # 90 % intervals, four of them: within one and a half of their width.
        assert abs(span.estimate - getattr(truth, name)) < 1.5 * (span.high - span.low) / 2
    assert found.screens.answers == EACH


def test_quadrature_weighs_spreads_as_the_normal_density_does() -> None:
    """log_mean, whose prior is flat, is integrated out: a normal prior so wide that it is flat gives the same."""
    rng = stream(2, "dense")
    worked = LoginTimes(
        np.array([0, 0, 1, 2, 2, 2]), np.full(6, 10.0), 600 * np.exp(rng.normal(0, 0.5, 6)), np.full(6, 0.03)
    )
    law, wide = posterior(worked), 1e3
    same = (worked.person[:, None] == worked.person).astype(float)
    cells = [(40, 40), (60, 30), (20, 80), (90, 60)]
    raters, logins = law.rater_sd, law.login_sd

    def density(row: int, column: int) -> float:
        spread = law.rater_sd[row] ** 2 * same + np.diag(logins[column] ** 2 + worked.noise) + wide**2
        return float(multivariate_normal(np.full(6, worked.log.mean()), spread).logpdf(worked.log))

    def prior(row: int, column: int) -> float:
        a, b = raters[row], logins[column]
        cell = math.log((raters[row + 1] - raters[row - 1]) * (logins[column + 1] - logins[column - 1]))
        return math.log(a) - a**2 / (2 * RATER_SPREAD**2) - b**2 / (2 * LOGIN_SPREAD**2) + cell

    wanted = [density(*cell) + prior(*cell) for cell in cells]
    got = [law.log_weight[cell] for cell in cells]
    assert np.diff(got) == pytest.approx(np.diff(wanted), abs=1e-3)


@pytest.mark.slow
def test_log_scores_are_densities_of_what_came_given_what_was_known() -> None:
    """One more login of somebody new: its predictive density integrates to one, and peaks at the mean."""
    known = fitted(made(stream(3, "known"), Speeds(50.0, 0.4, 0.2, 0.5, 1e9), 8, 4)).worked
    grid = np.linspace(math.log(50) - 5, math.log(50) + 5, 81)

    def one(log: float) -> LoginTimes:
        return LoginTimes(np.zeros(1, int), np.ones(1), np.array([math.exp(log)]), np.zeros(1))

    density = np.exp([log_score(known, one(log)) for log in grid])
    assert density.sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=0.01)
    assert grid[density.argmax()] == pytest.approx(known.log.mean(), abs=0.3)


@pytest.mark.slow
def test_a_rater_effect_predicts_logins_better_where_people_differ_and_no_better_where_they_do_not() -> None:
    def gained(rater_sd: float) -> list[float]:
        truth = Speeds(50.0, rater_sd, 0.2, 0.5, 1e9)
        pairs = [[fitted(made(stream(4, "gained", k, side), truth, 8, 4)).worked for side in (0, 1)] for k in range(12)]
        return [log_score(*pair) - log_score(*pair, flat=True) for pair in pairs]

    differing, alike = gained(0.5), gained(0.0)
    assert np.mean(differing) > 5 * np.std(differing, ddof=1) / math.sqrt(12)
    assert np.mean(alike) < 0


def test_hours_of_speeds_that_are_known_have_the_mean_and_spread_of_the_law() -> None:
    speeds, work = Speeds(36.0, 0.5, 0.3, 0.0, 300.0), [[100, 100], [200]]
    totals = campaigns(stream(5, "hours"), [speeds], work, 1.0, 20_000)
    hours = 36 * 100 / 3600
    person, login = math.expm1(0.25), math.expm1(0.09)
    both = (1 + person) * (1 + login) - 1
    variance = hours**2 * (2 * both + 2 * person + 4 * both)
    error = totals.std() / math.sqrt(len(totals))
    assert totals.mean() == pytest.approx(4 * hours, abs=4 * error)
    assert totals.var() == pytest.approx(variance, rel=0.1)


def test_thousands_of_people_are_no_trouble() -> None:
    found = fitted(made(stream(14, "crowd"), Speeds(20.0, 0.6, 0.2, 0.5, 1e9), 3000, 2))
    assert holds(found.rater_sd, 0.6)
    assert 0.02 < found.rater_sd.high - found.rater_sd.low < 0.05
    assert len(set(found.draws[:, 1].tolist())) > 50


def test_one_person_tells_no_spread_between_people_and_the_prior_says_so() -> None:
    found = fitted(made(stream(6, "one"), Speeds(50.0, 0.4, 0.2, 0.5, 1e9), 1, 6))
    assert found.rater_sd.low == pytest.approx(RATER_SPREAD * math.sqrt(-2 * math.log(0.95)), rel=0.2)
    assert found.rater_sd.high == pytest.approx(RATER_SPREAD * math.sqrt(-2 * math.log(0.05)), rel=0.2)
    low, _, high = predict_hours_again(found)
    assert high / low > 3


def test_where_nobody_has_two_logins_long_pauses_part_them() -> None:
    times = made(stream(7, "alone"), Speeds(50.0, 0.4, 0.2, 0.5, 1e9), 6, 4)
    gap = times.gap.copy()
    gap[:: SCREENS * EACH] = 40_000
    one = Times(
        times.person[times.login], np.arange(6), gap, times.screen, times.person_names, times.person_names, "ends"
    )
    found = fitted_speeds(one)
    assert found is not None
    assert found.sittings
    assert len(found.worked.person) == 24
    assert np.bincount(found.worked.person).tolist() == [4] * 6


def test_logins_that_were_sent_in_at_once_say_nothing() -> None:
    times = made(stream(8, "at once"), Speeds(50.0, 0.4, 0.2, 0.5, 1e9), 4, 3)
    gap = times.gap.copy()
    gap[times.login == 2] = 0.001
    found = fitted_speeds(
        Times(
            times.login,
            times.person,
            gap,
            *[getattr(times, name) for name in ("screen", "login_names", "person_names", "rule")],
        )
    )
    assert found is not None
    assert (found.left_out, len(found.worked.person)) == (1, 11)
    assert fitted_speeds(None) is None
    nothing = Times(
        times.login, times.person, np.zeros_like(gap), times.screen, times.login_names, times.person_names, "ends"
    )
    assert fitted_speeds(nothing) is None


def test_half_of_the_answers_at_once_change_nothing_of_a_screen() -> None:
    """Scores that are given in one go: the time lies with the last of a screen, and the total stays."""
    times = made(stream(9, "one go"), Speeds(50.0, 0.4, 0.2, 0.5, 1e9), 6, 4)
    gap = times.gap.reshape(-1, EACH)
    at_once = np.zeros_like(gap)
    at_once[:, -1] = gap.sum(1)
    rest = times.screen, times.login_names, times.person_names, times.rule
    found = fitted(Times(times.login, times.person, at_once.ravel(), *rest))
    whole = fitted(times)
    assert (at_once == 0).mean() > 0.6
    assert found.seconds_per_answer == pytest.approx(whole.seconds_per_answer)
    assert found.screens == pytest.approx(whole.screens)


@cache
def published(campaign: str) -> Times:
    folder = SHARED / "esa"
    times = read(
        folder / f"240315rc5{campaign}.scores.csv", ColumnOverrides(people=folder / "Annotators_mapping.csv")
    ).times
    assert times is not None
    return times


@pytest.mark.needs_shared("esa")
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("campaign", ["GEMBA", "MQM"])
def test_speeds_of_one_campaign_predict_the_hours_of_others(campaign: str, cut: float) -> None:
    """Other people, and other tasks: intervals hold what happened, within a factor of two each way.

    Of each login the rater effect predicts better than one lognormal for everybody, fitted in the same way.
    """
    known, other = fitted_speeds(published("ESA"), cut), published(campaign)
    assert known is not None
    held = compare_predicted_hours(known, other)
    assert held is not None
    assert held.happened == other.hours(cut)
    assert held.log_score > held.flat + 0.05
    # Neither who answered how much is needed, only how many they were.
    work = even_loads(len(other.gap), len(other.person_names), 81)
    alike = predicted_hours(stream(10, campaign), known.speeds_by_world(4000), work, known.screens.answers)
    for low, median, high in (held.predicted, alike):
        assert low < held.happened < high
        assert max(median / low, high / median) < 2


@pytest.mark.needs_shared("esa")
def test_speeds_of_a_published_campaign() -> None:
    found = fitted_speeds(published("ESA"))
    assert found is not None
    assert len(found.worked.person) == 33
    assert found.seconds_per_answer == pytest.approx((50.0, 59.5, 76.8), abs=0.2)
    assert found.rater_sd == pytest.approx((0.12, 0.26, 0.51), abs=0.02)
    assert found.screen_sd == pytest.approx((0.573, 0.598, 0.625), abs=0.002)
    assert [round(value) for value in predict_hours_again(found)] == [41, 54, 76]


@pytest.mark.long
def test_quadrature_agrees_with_chains() -> None:
    """The same law in numpyro, sampled by NUTS, of simulated people: means and spreads of all parameters."""
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    worked = fitted(made(stream(11, "chains"), Speeds(50.0, 0.4, 0.25, 0.5, 1e9), 8, 4)).worked

    def model() -> None:
        mean = numpyro.sample("log_mean", dist.ImproperUniform(dist.constraints.real, (), ()))
        rater_sd = numpyro.sample("rater_sd", dist.Weibull(RATER_SPREAD * math.sqrt(2), 2.0))
        login_sd = numpyro.sample("login_sd", dist.HalfNormal(LOGIN_SPREAD))
        with numpyro.plate("people", 8):
            person = numpyro.sample("person", dist.Normal(0, 1))
        scale = jax.numpy.sqrt(login_sd**2 + worked.noise)
        numpyro.sample("log", dist.Normal(mean + rater_sd * person[worked.person], scale), obs=worked.log)

    chains = MCMC(NUTS(model, target_accept_prob=0.95), num_warmup=1000, num_samples=8000, progress_bar=False)
    chains.run(jax.random.PRNGKey(0))
    ours = posterior(worked).draws(stream(12, "draws"), 40_000)
    for column, name in enumerate(("log_mean", "rater_sd", "login_sd")):
        theirs = np.asarray(chains.get_samples()[name], float)
        # About 2,000 effective draws.
        error = theirs.std() / math.sqrt(2000)
        assert ours[:, column].mean() == pytest.approx(theirs.mean(), abs=4 * error)
        assert ours[:, column].std() == pytest.approx(theirs.std(), rel=0.1)


def test_spreads_are_those_of_a_lognormal() -> None:
    draws = np.exp(0.6 * stream(13, "sd").standard_normal(200_000))
    assert log_sd(draws.std() / draws.mean()) == pytest.approx(0.6, rel=0.02)
