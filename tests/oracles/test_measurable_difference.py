"""Measurable differences against the published table, brute-force sums, and simulated evaluations."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from scipy.special import xlog1py, xlogy

from simlab.analysis.adequacy.grid import PUBLISHED, measurable_grid
from simlab.analysis.adequacy.measurable_difference import (
    approximate_power,
    detectable_difference,
    joint_difference,
    measurable_difference,
)
from simlab.analysis.adequacy.plans import Plan, check, difference_moments, draw_counts, map_arrays, other_alpha, ravel
from simlab.analysis.binary import alpha_posterior
from simlab.rng import stream
from simlab.types import InputError

Z = 1.959963984540054

TABLE_1 = """
0     1.000  .109  .049  .035  .015
10     .379  .106  .049  .034  .015
100    .134  .085  .046  .033  .015
1000   .043  .040  .032  .027  .015
2500   .027  .026  .024  .020  .013
5000   .019  .019  .018  .017  .012
"""
"""Table 1 of von Däniken et al. 2022: by human ratings, and 0, 1,000, 5,000, 10,000 and 50,000 metric ratings."""

MISPRINT = 4, 3  # exact integration gives .0213 where the table says .020


def test_the_published_table() -> None:
    rows = np.array([[float(word) for word in line.split()] for line in TABLE_1.split("\n") if line])
    found = measurable_difference(Plan(rows[:, :1], [0, 1000, 5000, 10_000, 50_000], 0.7, 0.7, 0.6)).epsilon
    units = np.abs(np.round(found, 3) - rows[:, 1:])
    assert abs(found[MISPRINT] - 0.0213) < 0.0001
    units[MISPRINT] = 0
    assert units.max() < 0.0011
    assert (units < 0.0005).sum() >= 28


def test_without_any_rating_everything_may_differ_and_only_there() -> None:
    found = measurable_difference(Plan([0, 1, 0, 0], [0, 0, 1, 1], 0.7, 0.7, 0.6, [0, 0, 0, 100])).epsilon
    assert found[0] == 1
    assert (found[1:] < 1).all()
    assert measurable_difference(Plan(0, 0, 0.7, 0.7, 0.6, 1000)).epsilon == 1  # a calibration says nothing of alpha
    assert measurable_difference(Plan(0, 0, 0.7, 0.7, 0.6, 1000), calibration_counts=True).epsilon < 0.1
    assert np.isnan(joint_difference(Plan(0, 0, 0.7, 0.7, 0.6)).detectable)
    assert joint_difference(Plan(0, 0, 0.7, 0.7, 0.6, 100)).epsilon == 1


def test_counts_are_rounded_half_to_even() -> None:
    half = measurable_difference(Plan([5, 25], 0, 0.7, 0.7, 0.5)).epsilon
    for found, plus, n in zip(half, (2, 12), (5, 25), strict=True):
        a, b = plus + 1, n - plus + 1
        assert abs(found - Z * np.sqrt(2 * a * b / ((a + b) ** 2 * (a + b + 1)))) < 1e-9


def test_a_metric_that_is_mostly_wrong_is_turned_round() -> None:
    found = measurable_difference(Plan(10, 1000, [0.3, 0.7, 0.2], [0.3, 0.7, 0.6], 0.6, 100))
    assert found.flipped.tolist() == [True, False, True]
    assert abs(found.epsilon[0] - found.epsilon[1]) < 1e-9


def joint_sum(
    first: tuple[float, ...], second: tuple[float, ...], calibration: tuple[float, ...], n: int = 100
) -> tuple[float, float]:
    """Return mean and sd of alpha_1 - alpha_2: a sum over a grid of rho and eta, and of each alpha at every point."""
    tp, p, tn, negative = calibration
    node, weight = np.polynomial.legendre.leggauss(n)

    def window(plus: float, of: float, far: float = 8.0) -> tuple[np.ndarray, np.ndarray]:
        mean = (plus + 1) / (of + 2)
        reach = far * np.sqrt(mean * (1 - mean) / (of + 3))
        low, high = max(mean - reach, 0), min(mean + reach, 1)
        return low + (high - low) * (node + 1) / 2, weight

    rho, w_rho = window(tp, p)
    eta, w_eta = window(tn, negative)
    prior = (xlogy(tp, rho) + xlog1py(p - tp, -rho))[:, None] + xlogy(tn, eta) + xlog1py(negative - tn, -eta)
    moments = []
    edges = np.linspace(0, 1, 31)
    fine, share = np.polynomial.legendre.leggauss(8)
    alpha = (edges[:-1, None] + (fine + 1) / 60).ravel()
    share = np.tile(share, 30)
    for n_plus, of, m_plus, m in (first, second):
        q = alpha * rho[:, None, None] + (1 - alpha) * (1 - eta[:, None])
        log_f = xlogy(n_plus, alpha) + xlog1py(of - n_plus, -alpha) + xlogy(m_plus, q) + xlog1py(m - m_plus, -q)
        top = log_f.max()
        mass = share * np.exp(log_f - top)
        total = np.maximum(mass.sum(-1), 1e-300)  # some rho and eta explain nothing
        mean = mass @ alpha / total
        moments.append((np.log(total), mean, mass @ alpha**2 / total - mean**2))
    log_weight = prior + moments[0][0] + moments[1][0]
    joint = np.exp(log_weight - log_weight.max()) * w_rho[:, None] * w_eta
    joint /= joint.sum()
    off = moments[0][1] - moments[1][1]
    mean = (joint * off).sum()
    return mean, np.sqrt((joint * (moments[0][2] + moments[1][2] + (off - mean) ** 2)).sum())


@pytest.mark.parametrize(
    ("n_human", "n_metric", "n_calibration"), [(0, 1000, 100), (20, 1000, 40), (100, 500, 20), (0, 2000, 1000)]
)
def test_the_joint_posterior_is_what_a_sum_says(n_human: int, n_metric: int, n_calibration: int) -> None:
    p = round(0.6 * n_calibration)
    calibration = round(0.7 * p), p, round(0.7 * (n_calibration - p)), n_calibration - p
    one = round(0.6 * n_human), n_human, round(0.54 * n_metric), n_metric
    mean, sd = joint_sum(one, one, calibration)
    found = joint_difference(Plan(n_human, n_metric, 0.7, 0.7, 0.6, n_calibration))
    assert abs(mean) < 1e-9
    assert abs(found.epsilon - Z * sd) < 3e-4
    mean, _ = joint_sum(one, (*one[:2], round(0.55 * n_metric), n_metric), calibration)
    assert abs(found.bias - mean) < 3e-4


@pytest.mark.parametrize(
    ("n_calibration", "published", "joint"), [(100, 0.393, 0.072), (1000, 0.108, 0.035), (None, 0.0345, 0.0345)]
)
def test_a_shared_calibration_mostly_cancels(n_calibration: int | None, published: float, joint: float) -> None:
    setting = (0, 10_000, 0.7, 0.7, 0.6, n_calibration)
    found = joint_difference(Plan(*setting))
    assert abs(measurable_difference(Plan(*setting)).epsilon - published) < 0.0006
    assert abs(found.epsilon - joint) < 0.0005
    assert abs(found.detectable / found.epsilon - 1.4294) < 0.0001


def test_a_metric_that_favours_a_system_biases_the_difference() -> None:
    """It says 'adequate' by .01 more often of the second system's outputs: .01 / (rho + eta - 1) in alpha."""
    assert abs(joint_difference(Plan(0, 10_000, 0.7, 0.7, 0.6)).bias + 0.025) < 0.0003
    alike = joint_difference(Plan(0, 10_000, 0.7, 0.7, 0.6, 500), rho_other=0.7, eta_other=0.7)
    assert abs(alike.bias) < 1e-9
    turned = joint_difference(Plan(0, 10_000, 0.3, 0.3, 0.6, 500), rho_other=0.25, eta_other=0.3)
    straight = joint_difference(Plan(0, 10_000, 0.7, 0.7, 0.6, 500), rho_other=0.75, eta_other=0.7)
    assert abs(turned.bias - straight.bias) < 1e-9


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.6])
def test_shared_inputs_make_a_difference_easier_to_see(correlation: float) -> None:
    """Draw the adequacy of both systems' outputs for the same inputs; posterior means then spread as foretold."""
    n, m, rho, eta, alpha, many = 200, 400, 0.8, 0.7, 0.6, 4000
    rng = stream(8, "shared inputs", str(correlation))
    joint = alpha**2 + correlation * alpha * (1 - alpha)
    cells = [joint, alpha - joint, alpha - joint, 1 - 2 * alpha + joint]
    human, metric = (rng.multinomial(k, cells, many) for k in (n, m))
    means = []
    for either in (1, 2):
        plus, adequate = human[:, 0] + human[:, either], metric[:, 0] + metric[:, either]
        says = rng.binomial(adequate, rho) + rng.binomial(m - adequate, 1 - eta)
        means.append(alpha_posterior(plus, n, says, m, rho=rho, eta=eta).mean)
    seen = (means[0] - means[1]).std(ddof=1)
    foretold = joint_difference(Plan(n, m, rho, eta, alpha), correlation=correlation).epsilon / Z
    assert abs(seen / foretold - 1) < 5 / np.sqrt(2 * many) + 0.01


POWERED = [(0, 5000, 0.7, 0.7, 0.6, None), (300, 0, 0.7, 0.7, 0.8, None), (200, 3000, 0.9, 0.7, 0.3, None)]


@pytest.mark.parametrize("setting", POWERED)
@pytest.mark.parametrize("power", [0.5, 0.8])
def test_the_detectable_difference_is_found_as_often_as_wanted(setting: tuple[float, ...], power: float) -> None:
    detectable = detectable_difference(Plan(*setting), power=power)
    draws = 4000
    found = measurable_difference(Plan(*setting), counts="drawn", difference=float(detectable), draws=draws)
    assert abs(found.power - power) < 3 * found.power_mcse + 0.02
    assert abs(approximate_power(Plan(*setting), float(detectable)) - power) < 1e-4
    # What is called measurable is found about half the time only; near 0 and 1 the other system spreads more.
    ratio = detectable / measurable_difference(Plan(*setting)).epsilon
    assert abs(ratio - (1.43 if power == 0.8 else 1)) < (0.02 if setting[4] == 0.6 else 0.13)
    control = measurable_difference(Plan(*setting), counts="drawn", difference=float(detectable / 1.43), draws=draws)
    assert control.power < found.power - 0.1


def test_a_well_calibrated_metric_finds_what_it_says() -> None:
    setting = (0, 5000, 0.8, 0.8, 0.6, 2000)
    detectable = float(detectable_difference(Plan(*setting)))
    found = measurable_difference(Plan(*setting), counts="drawn", difference=detectable, draws=1500)
    assert abs(found.power - 0.8) < 3 * found.power_mcse + 0.03


@pytest.mark.long
def test_the_joint_detectable_difference_is_found_as_often_as_wanted() -> None:
    draws, n_calibration = 1500, 2000
    setting = (0, 5000, 0.8, 0.8, 0.6, n_calibration)
    detectable = float(joint_difference(Plan(*setting)).detectable)
    rows = map_arrays(ravel(check(Plan(*setting), 0.05)[0]), lambda x: np.repeat(x, draws))
    rng = stream(9, "joint power")
    one = draw_counts(rng, rows)
    two = draw_counts(rng, rows._replace(alpha=other_alpha(rows.alpha, detectable))).counts
    mean, sd = difference_moments(one, two, False)
    power = (np.abs(mean) > Z * sd).mean()
    assert abs(power - 0.8) < 3 * np.sqrt(0.16 / draws) + 0.03


def test_drawn_counts_spread_about_the_expected_ones() -> None:
    setting = ([0, 100], 1000, 0.7, 0.7, 0.6)
    found = measurable_difference(Plan(*setting), counts="drawn", draws=400)
    assert found.n == 400
    assert found.quantiles.shape == (2, 5)
    assert (np.diff(found.quantiles) > 0).all()
    np.testing.assert_allclose(found.epsilon, measurable_difference(Plan(*setting)).epsilon, rtol=0.03)
    again = measurable_difference(Plan(*setting), counts="drawn", draws=400)
    np.testing.assert_array_equal(found.epsilon, again.epsilon)
    other = measurable_difference(Plan(*setting), counts="drawn", draws=400, seed=1)
    assert (np.abs(other.epsilon - found.epsilon) < 5 * np.hypot(other.mcse, found.mcse)).all()


def test_no_difference_is_detectable_where_none_is_large_enough() -> None:
    assert np.isnan(detectable_difference(Plan(3, 0, 0.7, 0.7, 0.5)))
    assert np.isnan(joint_difference(Plan(3, 0, 0.7, 0.7, 0.5)).detectable)
    assert detectable_difference(Plan(3000, 0, 0.7, 0.7, 0.5)) > 0


def test_a_prior_that_knows_the_metric_helps_narrows_epsilon() -> None:
    plan = Plan(0, 1000, 0.6, 0.6, 0.6, 10)
    free, constrained = (measurable_difference(plan, constrain=c).epsilon for c in (False, True))
    assert constrained < free


def some_of_the_grid(n: int) -> dict[str, tuple[float, ...]]:
    rng = stream(10, "grid")
    return {k: tuple(sorted(rng.choice(v, min(n, len(v)), replace=False).tolist())) for k, v in PUBLISHED.items()}


def agree_with_single_settings(axes: dict[str, tuple[float, ...]]) -> None:
    grid = measurable_grid(**axes)
    single = measurable_difference(Plan(*np.meshgrid(*axes.values(), indexing="ij"))).epsilon
    assert grid.shape == tuple(map(len, axes.values()))
    assert np.abs(grid - single).max() < 1e-4


def test_the_grid_is_what_single_settings_say() -> None:
    agree_with_single_settings(some_of_the_grid(3))
    known = measurable_grid(
        n_human=[0, 100], n_metric=[0, 1000], rho=[0.7], eta=[0.7], alpha=[0, 0.6], n_calibration=None
    )
    np.testing.assert_allclose(known[:, 1, 0, 0, 1], [0.109, 0.085], atol=0.0005)
    assert known[0, 0].ravel().tolist() == [1, 1]


@pytest.mark.long
def test_the_whole_published_grid() -> None:
    began = time.perf_counter()
    grid = measurable_grid(**{key: tuple(map(float, value)) for key, value in PUBLISHED.items()})
    seconds = time.perf_counter() - began
    assert grid.size == 158_400
    assert np.isfinite(grid).all()
    assert ((grid > 0) & (grid <= 1.1)).all()
    print(f"{seconds:.0f} s for {grid.size} settings")
    agree_with_single_settings(some_of_the_grid(5))


MISTAKES = {
    "n_human=-1 is not a number of ratings": {"n_human": -1},
    "n_metric=1.5 is not a number of ratings": {"n_metric": 1.5},
    "n_calibration=nan is not a number of ratings": {"n_calibration": np.nan},
    "alpha=1.2 is not a share": {"alpha": 1.2},
    "rho=2 is not a probability": {"rho": 2},
    "level=0 is not between 0 and 1": {"level": 0},
    "rho=0.4 and eta=0.6 add up to 1": {"rho": 0.4, "eta": 0.6},
    "draws=1 is fewer than 2": {"counts": "drawn", "draws": 1},
    "difference=0.9 is more than 0.6": {"counts": "drawn", "difference": 0.9},
}


@pytest.mark.parametrize("says", MISTAKES)
def test_a_mistake_is_one_line(says: str) -> None:
    plan = {"n_human": 10, "n_metric": 1000, "rho": 0.7, "eta": 0.7, "alpha": 0.6}
    wrong = MISTAKES[says]
    plan |= {name: value for name, value in wrong.items() if name in Plan._fields}
    options = {name: value for name, value in wrong.items() if name not in Plan._fields}
    with pytest.raises(InputError, match=re.escape(says)) as raised:
        measurable_difference(Plan(**plan), **options)
    assert "\n" not in str(raised.value)
