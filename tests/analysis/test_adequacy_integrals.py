"""Hold the integrals behind posteriors of alpha against closed forms: nodes, likelihoods, quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import beta as beta_function
from scipy.special import betainc, betaincinv, betaln

from simlab.analysis.adequacy import likelihood
from simlab.analysis.adequacy.likelihood import cumulative_weights, legendre, nodes
from simlab.analysis.adequacy.posterior import alpha_posterior, beta_posterior, check_metric, posterior_rows
from simlab.types import InputError


def row(*values: float) -> list[np.ndarray]:
    return [np.array([value], float) for value in values]


def test_running_integrals_of_polynomials_are_exact() -> None:
    node, weight = legendre(8)
    np.testing.assert_allclose(cumulative_weights(8) @ node**5, node**6 / 6, atol=1e-14)
    assert abs(weight @ node**13 - 1 / 14) < 1e-14


@pytest.mark.parametrize(("peak", "sd"), [(0.5, 0.1), (0.003, 1e-4), (0.999, 1e-5)])
def test_nodes_meet_a_peak_wherever_it_is(peak: float, sd: float) -> None:
    rule = nodes(lambda alpha: -(((alpha - peak) / sd) ** 2)[:, None] / 2, 1, 14, 8)
    density = np.exp(-(((rule.alpha - peak) / sd) ** 2) / 2) / np.sqrt(2 * np.pi) / sd
    mass = float((rule.weight * density).sum())
    mean = float((rule.weight * density * rule.alpha).sum())
    assert abs(mass - 1) < 1e-5
    assert abs(mean - peak) < 1e-4 * sd + 1e-5 * peak


def test_an_edge_at_a_kink_makes_the_integral_exact() -> None:
    def error(kinks: np.ndarray | None) -> float:
        rule = nodes(lambda alpha: np.zeros_like(alpha)[:, None], 1, 4, 5, kinks)
        inside = (rule.weight * np.abs(rule.alpha - 0.3)).sum()
        low, high = rule.alpha.min(), rule.alpha.max()
        reach = rule.weight.sum()
        assert low < 0.01
        assert high > 0.99
        return abs(float(inside) - (0.3**2 + 0.7**2) / 2) + abs(1 - float(reach))

    with_edge, without = error(np.array([[0.3]])), error(None)
    assert with_edge < 1e-4
    assert without > 2 * with_edge


def test_quadrature_nodes_of_a_beta_law_have_its_moments() -> None:
    first, second = np.array([1.0, 3.5, 40.0]), np.array([1.0, 0.7, 12.0])
    node, weight = likelihood.jacobi(first, second, 6)
    for power in range(11):
        moment = np.exp(betaln(first + power, second) - betaln(first, second))
        np.testing.assert_allclose((weight * node**power).sum(1), moment, rtol=1e-10)
    assert np.abs((weight * node**13).sum(1) / np.exp(betaln(first + 13, second) - betaln(first, second)) - 1).max() > 0


def test_a_perfect_metric_says_what_humans_say() -> None:
    alpha = np.linspace(0.05, 0.95, 7)[None]
    said = likelihood.log_likelihood_at_known_rates(alpha, *row(30, 50, 1, 1))
    np.testing.assert_allclose(said, likelihood.human_log_likelihood(alpha, *(x[:, None] for x in row(30, 50))))


def test_integrating_rho_and_eta_out_agrees_with_a_plain_double_sum() -> None:
    counts, calibration = (31, 50), (17, 20, 12, 15)
    given = likelihood.evidence(*row(*counts), row(*calibration), constrain=False)
    alpha = np.array([[0.2, 0.5, 0.8]])
    node, weight = np.polynomial.legendre.leggauss(400)
    x, w = (node + 1) / 2, weight / 2

    def density(value: np.ndarray, a: float, b: float) -> np.ndarray:
        return value ** (a - 1) * (1 - value) ** (b - 1) / beta_function(a, b)

    tp, p, tn, n = calibration
    u = w * density(x, tp + 1, p - tp + 1)
    v = w * density(x, n - tn + 1, tn + 1)
    plain = [
        u @ density(a * x[:, None] + (1 - a) * x, counts[0] + 1, counts[1] - counts[0] + 1) @ v for a in alpha.ravel()
    ]
    np.testing.assert_allclose(
        likelihood.log_likelihood_without_rates(alpha, given, (20, 40))[0], np.log(plain), atol=2e-5
    )
    rough = likelihood.sketch(alpha, given)[0]
    np.testing.assert_allclose(rough - rough[1], np.log(np.array(plain) / plain[1]), atol=0.5)


def test_metric_ratings_that_are_not_there_say_nothing() -> None:
    given = likelihood.evidence(*row(0, 0), row(3, 4, 3, 4), constrain=False)
    alpha = np.linspace(0.1, 0.9, 5)[None]
    assert not likelihood.sketch(alpha, given).any()
    assert not likelihood.log_likelihood_without_rates(alpha, given).any()


def test_without_a_metric_the_posterior_is_a_beta_law() -> None:
    posterior = beta_posterior(*row(7, 20), 0.1)
    assert posterior.mean == 8 / 22
    assert posterior.low == betaincinv(8, 14, 0.05)
    assert posterior.mode == 7 / 20


def test_ratings_of_a_perfect_metric_count_as_human_ones() -> None:
    mixed = alpha_posterior([3, 50], [5, 90], [60, 10], [100, 30], rho=1.0, eta=1.0)
    human = alpha_posterior([63, 60], [105, 120])
    for name in ("mean", "sd", "mode", "low", "high"):
        np.testing.assert_allclose(getattr(mixed, name), getattr(human, name), rtol=2e-5, err_msg=name)


def test_rows_are_inferred_each_on_its_own() -> None:
    columns = zip((3, 9, 40, 80, 0.8, 0.7), (0, 0, 500, 900, 0.9, 0.9), strict=True)
    rows = [np.array(column, float) for column in columns]
    both = posterior_rows(rows, constrain=False)
    single = posterior_rows([column[1:] for column in rows], constrain=False)
    np.testing.assert_allclose(both.mean[1], single.mean[0], rtol=1e-12)
    assert betainc(1, 1, both.low[0]) < both.mean[0] < both.high[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n_plus": 3, "n": 2}, "n_plus=3 is not between 0 and n=2"),
        ({"n_plus": 1, "n": 2, "m_plus": 1, "m": 2}, "metric ratings need rho and eta"),
        ({"n_plus": 1, "n": 2, "rho": 0.8, "eta": 0.8, "calibration": (1, 2, 1, 2)}, "leave one of the two out"),
        ({"n_plus": 1, "n": 2, "calibration": (3, 2, 1, 2)}, "TP=3 is not between 0 and P=2"),
        ({"n_plus": 1, "n": 2, "method": "guess"}, "neither quadrature nor nuts"),
        ({"n_plus": 1, "n": 2, "method": "nuts", "constrain": True}, "does not know that rho"),
    ],
)
def test_counts_that_cannot_be_are_refused(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        alpha_posterior(**arguments)


def test_a_metric_that_knows_nothing_is_refused() -> None:
    check_metric(0.2, 0.3)  # turned round it is as good as one of .8 and .7
    with pytest.raises(InputError, match="add up to 1"):
        check_metric([0.8, 0.4], [0.8, 0.6])
