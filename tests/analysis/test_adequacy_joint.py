"""Hold the posterior of a difference of two alphas against what is known of it."""

from __future__ import annotations

import numpy as np

from simlab.analysis.adequacy.joint import AdequacyCounts, difference, difference_at_known_rates, integrate_alpha
from simlab.analysis.adequacy.posterior import alpha_posterior


def counts(*values: float) -> AdequacyCounts:
    return AdequacyCounts(*(np.array([value], float) for value in values))


NONE = tuple(np.array([value], float) for value in (8, 10, 7, 10))
FIRST, SECOND = counts(30, 50, 620, 1000), counts(20, 50, 520, 1000)


def test_human_ratings_alone_give_the_moments_of_a_beta_law() -> None:
    known = integrate_alpha(np.array([[0.8]]), np.array([[0.7]]), counts(30, 50, 0, 0))
    assert abs(known.mean[0, 0] - 31 / 52) < 1e-6
    assert abs(known.variance[0, 0] - 31 * 21 / 52**2 / 53) < 1e-7
    assert abs(known.human[0, 0] - 1 / 52) < 1e-6  # one more of the same n adequate moves the mean by 1 / (n + 2)


def test_a_calibration_matters_to_metric_ratings_only() -> None:
    mean, sd = difference(counts(30, 50, 0, 0), counts(20, 50, 0, 0), NONE)
    one, two = alpha_posterior(30, 50), alpha_posterior(20, 50)
    assert abs(mean[0] - (one.mean - two.mean)) < 1e-4
    assert abs(sd[0] / np.hypot(one.sd, two.sd) - 1) < 1e-3


def test_systems_can_change_places() -> None:
    mean, sd = difference(FIRST, SECOND, NONE)
    turned = difference(SECOND, FIRST, NONE)
    assert abs(mean[0] + turned[0][0]) < 1e-3
    assert abs(sd[0] / turned[1][0] - 1) < 0.01
    assert abs(difference(FIRST, None, NONE)[0][0]) < 1e-12


def test_known_rates_leave_the_systems_independent() -> None:
    rates = np.array([0.8]), np.array([0.7])
    mean, sd = difference_at_known_rates(FIRST, SECOND, *rates)
    one, two = (alpha_posterior(*(x[0] for x in system), rho=0.8, eta=0.7) for system in (FIRST, SECOND))
    assert abs(mean[0] - (one.mean - two.mean)) < 1e-4
    assert abs(sd[0] / np.hypot(one.sd, two.sd) - 1) < 1e-3


def test_a_large_calibration_is_as_good_as_knowing_and_a_small_one_is_not() -> None:
    large = tuple(np.array([value], float) for value in (800_000, 1_000_000, 700_000, 1_000_000))
    known = difference_at_known_rates(FIRST, SECOND, np.array([0.8]), np.array([0.7]))[1][0]
    assert abs(difference(FIRST, SECOND, large)[1][0] / known - 1) < 0.01
    assert difference(FIRST, SECOND, NONE)[1][0] / known > 1.05


def test_what_both_rely_on_cancels() -> None:
    shared = difference(counts(0, 0, 620, 1000), counts(0, 0, 600, 1000), NONE)[1][0]
    apart = [alpha_posterior(0, 0, m, 1000, calibration=(8, 10, 7, 10)).sd for m in (620, 600)]
    assert shared < 0.65 * np.hypot(*apart)


def test_inputs_in_common_make_the_difference_more_precise() -> None:
    rates = np.array([0.8]), np.array([0.7])
    alike, apart, opposed = (difference_at_known_rates(FIRST, SECOND, *rates, r)[1][0] ** 2 for r in (0.5, 0.0, -0.5))
    assert alike < 0.9 * apart < 0.9 * opposed
    np.testing.assert_allclose(opposed - apart, apart - alike)
