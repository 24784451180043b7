"""A scalar metric with a threshold: against closed forms, simulation, and a search over all cuts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.adequacy.thresholds import best_threshold, rates_at_threshold, tuned_threshold
from simlab.formulas import compute_normal_orthant
from simlab.rng import stream
from simlab.types import InputError

R = [0.05, 0.4, 0.7, 0.95, 1.0]


def test_the_middle_has_a_closed_form() -> None:
    found = rates_at_threshold(0, R, 0.5)
    np.testing.assert_allclose(found.rho, 0.5 + np.arcsin(R) / np.pi, atol=1e-12)
    np.testing.assert_allclose(found.eta, found.rho, atol=1e-12)
    np.testing.assert_allclose(best_threshold(R, 0.5).threshold, 0, atol=1e-12)


def test_orthants_are_those_of_scipy() -> None:
    rng = stream(1, "orthants")
    for x, y, r in [*rng.uniform([-3, -3, -0.99], [3, 3, 0.99], (60, 3)), (0, 1, 0.5), (-1, 0, 0.5), (0, -1, -0.5)]:
        wanted = stats.multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([x, y])
        assert abs(compute_normal_orthant(x, y, r) - wanted) < 1e-7
    np.testing.assert_allclose(
        compute_normal_orthant([1, -1, 0.5], [0.5, 2, -0.5], [1, 1, -1]), stats.norm.cdf([0.5, -1, -9]), atol=1e-9
    )


@pytest.mark.parametrize(("t", "r", "alpha"), [(0.3, 0.6, 0.3), (-1, 0.9, 0.8), (0, 0.5, 0.6), (2, 0.2, 0.1)])
def test_outputs_that_are_drawn_have_this_rho_and_eta(t: float, r: float, alpha: float) -> None:
    rng, n = stream(2, "outputs", str(t)), 400_000
    quality = rng.standard_normal(n)
    score = r * quality + np.sqrt(1 - r * r) * rng.standard_normal(n)
    adequate = quality > stats.norm.isf(alpha)
    found = rates_at_threshold(t, r, alpha)
    for share, some, says in ((found.rho, adequate, score > t), (found.eta, ~adequate, score <= t)):
        assert abs(says[some].mean() - share) < 5 * np.sqrt(share * (1 - share) / some.sum())


@pytest.mark.parametrize("alpha", [0.02, 0.3, 0.6, 0.95])
def test_no_other_threshold_is_better(alpha: float) -> None:
    for r in R[:-1]:
        best = best_threshold(r, alpha)
        others = rates_at_threshold(np.linspace(-4, 4, 801), r, alpha)
        assert best.rho + best.eta >= (others.rho + others.eta).max() - 1e-12
        assert best.rho + best.eta > 1


def test_a_perfect_score_cuts_where_quality_does() -> None:
    found = best_threshold(1, 0.3)
    np.testing.assert_allclose(found, [stats.norm.isf(0.3), 1, 1], atol=1e-12)


def test_a_table_gives_the_best_cut_and_honest_counts() -> None:
    rng, n = stream(3, "table"), 20_000
    quality = rng.standard_normal(n)
    score = 0.7 * quality + np.sqrt(0.51) * rng.standard_normal(n)
    found, foretold = tuned_threshold(score, quality > stats.norm.isf(0.6)), best_threshold(0.7, 0.6)
    assert abs(found.threshold - foretold.threshold) < 0.15
    assert abs(found.rho + found.eta - foretold.rho - foretold.eta) < 0.03
    tp, p, tn, negative = found.calibration
    assert p + negative == n
    assert (found.rho, found.eta) == (tp / p, tn / negative)


def test_the_cut_is_the_best_of_all() -> None:
    rng = stream(4, "cuts")
    score, adequate = rng.integers(0, 8, 60), rng.random(60) < 0.5
    found = tuned_threshold(score, adequate)
    js = [(score[adequate] > t).mean() + (score[~adequate] <= t).mean() for t in np.arange(-0.5, 8)]
    assert (score[adequate] > found.threshold).mean() + (score[~adequate] <= found.threshold).mean() == max(js)


def test_a_score_that_knows_nothing_is_not_made_to_look_good() -> None:
    """Judged by the outputs that chose the threshold, noise tells the classes apart; cross-fitted it does not."""
    fitted, honest = [], []
    for k in range(200):
        rng = stream(5, "noise", k)
        score, adequate = rng.random(40), np.arange(40) < 20
        found = tuned_threshold(score, adequate, seed=k)
        fitted.append((score[adequate] > found.threshold).mean() + (score[~adequate] <= found.threshold).mean() - 1)
        honest.append(found.rho + found.eta - 1)
    error = np.std(honest, ddof=1) / np.sqrt(200)
    assert np.mean(honest) < 3 * error
    assert np.mean(fitted) > 0.15


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: best_threshold(-0.4, 0.6), "correlation=-0.4"),
        (lambda: best_threshold(0, 0.6), "correlation=0 "),
        (lambda: best_threshold(0.4, 1), "alpha=1 leaves no adequate or no inadequate"),
        (lambda: tuned_threshold([1, 2, 3], [0, 1]), "same length"),
        (lambda: tuned_threshold([1, 2, 3], [0, 1, 2]), "other values than 0 and 1"),
        (lambda: tuned_threshold(np.arange(9), np.arange(9) > 6), "2 adequate and 7 inadequate outputs for 5 folds"),
    ],
)
def test_a_mistake_is_one_line(call, says: str) -> None:
    with pytest.raises(InputError, match=says):
        call()
