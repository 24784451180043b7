"""Hold the estimators of a study of judgements against what they estimate, by closed forms and by what they refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv

from simlab.analysis import estimators
from simlab.analysis.means import estimates
from simlab.rng import stream
from simlab.types import InputError, Judged, KnownRates

Y = stream(1, "judged").standard_normal((2, 40)) + np.array([[1.0], [0.5]])
PLAIN = Judged(Y, None, False, None, None, (), np.full(2, np.nan), np.zeros(2), None)
ALL = {"interval": "normal", "level": 0.05}
BINARY = replace(PLAIN, y=(Y > 0.3).astype(float), binary=True)


def standardised(judged: Judged) -> Judged:
    """Give a metric that knows every judgement, standardised over the outputs that were judged."""
    g = (judged.y - judged.y.mean(1, keepdims=True)) / judged.y.std(1, keepdims=True)
    return replace(judged, g=g, slope=judged.y.std(1))


def test_the_sample_mean_is_that_with_its_usual_error() -> None:
    mean = estimators.sample_mean(stream(0), PLAIN, **ALL)
    np.testing.assert_allclose(mean.value, Y.mean(1))
    np.testing.assert_allclose(mean.sd, Y.std(1, ddof=1) / np.sqrt(40))
    np.testing.assert_allclose(mean.high - mean.low, 2 * 1.959964 * mean.sd, rtol=1e-6)


def test_a_test_set_that_is_judged_to_its_end_leaves_the_noise_of_judgements_only() -> None:
    whole = estimators.sample_mean(stream(0), replace(PLAIN, test_set=40), **ALL)
    noisy = estimators.sample_mean(stream(0), replace(PLAIN, test_set=40, annotator_variance=np.full(2, 0.3)), **ALL)
    assert (whole.sd < 1e-9).all()
    np.testing.assert_allclose(noisy.sd, np.sqrt(0.3 / 40))


def test_a_metric_that_knows_every_judgement_leaves_no_error() -> None:
    corrected = estimators.control_variates(stream(0), standardised(PLAIN), coefficient="known", **ALL)
    np.testing.assert_allclose(corrected.value, Y.mean(1))
    assert (corrected.sd < 1e-9).all()


def test_a_metric_that_knows_nothing_changes_nothing() -> None:
    constant = replace(PLAIN, g=np.ones_like(Y), rest=(100, np.ones(2), np.zeros(2)))
    powered = estimators.ppi(stream(0), constant, **ALL)
    np.testing.assert_allclose(powered.value, Y.mean(1))
    np.testing.assert_allclose(powered.sd, Y.std(1, ddof=2) / np.sqrt(40))


OWN: dict[str, Any] = {"sharing": "own", "youden_bound": 0.0, "alpha_slope_sd": 0.0, "constrain": False, "level": 0.05}


def test_human_labels_alone_give_the_beta_posterior() -> None:
    posterior = estimators.binary(stream(0), BINARY, quality="known", **OWN)
    n_plus = BINARY.y.sum(1)
    np.testing.assert_allclose(posterior.value, (n_plus + 1) / 42)
    np.testing.assert_allclose(posterior.low, betaincinv(n_plus + 1, 41 - n_plus, 0.025))


def test_a_perfect_metric_counts_as_more_labels_and_an_estimated_one_as_fewer() -> None:
    rated = replace(BINARY, g=BINARY.y, rest=(100, np.array([0.6, 0.4]), np.zeros(2)), nominal=KnownRates(1.0, 1.0))
    known = estimators.binary(stream(0), rated, quality="known", **OWN)
    np.testing.assert_allclose(known.value, (BINARY.y.sum(1) + [60, 40] + 1) / 142, rtol=1e-5)
    counts = replace(rated, calibration=np.full((2, 4), 10.0))
    estimated = estimators.binary(stream(0), counts, quality="estimated", **OWN)
    assert (estimated.sd > known.sd).all()


REFUSED = {
    "budget.human_ratings=1 is too few": lambda: estimators.sample_mean(stream(0), replace(PLAIN, y=Y[:, :1]), **ALL),
    "needs a metric; choose": lambda: estimators.control_variates(stream(0), PLAIN, coefficient="plug_in", **ALL),
    "true slope on this metric is not known": lambda: estimators.control_variates(
        stream(0), replace(PLAIN, g=Y), coefficient="known", **ALL
    ),
    "needs outputs that only the metric rates": lambda: estimators.ppi(stream(0), replace(PLAIN, g=Y), **ALL),
    "resamples with replacement": lambda: estimators.sample_mean(
        stream(0), replace(PLAIN, test_set=100), interval="bootstrap", level=0.05
    ),
    "set raters.scale=binary": lambda: estimators.binary(
        stream(0), PLAIN, quality="known", **OWN
    ),
    "choose metric=rho_eta": lambda: estimators.binary(
        stream(0), replace(BINARY, g=Y, rest=(9, np.zeros(2), np.ones(2))), quality="known", **OWN
    ),
}  # fmt: skip


@pytest.mark.parametrize("says", REFUSED)
def test_what_an_estimator_cannot_use_is_named(says: str) -> None:
    with pytest.raises(InputError, match=says):
        REFUSED[says]()


def test_differences_on_the_same_inputs_lose_what_the_inputs_share() -> None:
    shared = 3 * stream(2, "inputs").standard_normal(500)
    own = stream(2, "own").standard_normal((2, 500))
    first, second = (estimates.sample_mean(shared + 0.1 * noise) for noise in own)
    paired = estimates.difference(first, second)
    np.testing.assert_allclose(paired.value, 0.1 * (own[0] - own[1]).mean())
    np.testing.assert_allclose(paired.se, 0.1 * (own[0] - own[1]).std(ddof=1) / np.sqrt(500))
    assert paired.se < 0.1 * np.hypot(first.se, second.se)


@pytest.mark.parametrize(
    ("check", "arguments", "says"),
    [
        (estimates.check_judgements, ("y", [[1.0]], 2), "y: 1 judgements in a row are fewer than the 2 needed"),
        (estimates.check_judgements, ("y", [1.0, np.inf], 2), "y: holds values that are not finite"),
        (estimates.check_judgements, ("y", 3.0, 1), "y: 0 judgements"),
        (estimates.check_pairs, ([1.0, 2.0], [1.0, 2.0, 3.0], 2), "is not that of y"),
        (estimates.check_level, (1.0,), "level=1.0 is not between 0 and 1"),
        (estimates.check_correlation, (np.array([0.5, np.nan]),), "correlation: must lie between"),
        (estimates.check_at_least, ("n", np.array([3.0, 1.0]), 2), "n=1 is below 2; raise it"),
    ],
)
def test_what_no_mean_can_be_taken_of_is_one_line(check: object, arguments: tuple[object, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        check(*arguments)  # type: ignore[operator]


def test_what_can_be_is_passed_on_as_arrays() -> None:
    y, g = estimates.check_pairs([[1, 2]], [[3, 4]], 2)
    assert y.dtype == g.dtype == float
    estimates.check_level(0.05)
    estimates.check_correlation(np.array([-1.0, 1.0]))
    estimates.check_at_least("n", np.array([2.0]), 2)
