"""Hold the posteriors of preferences against Dirichlet laws, where they have closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betainc

from simlab.analysis.preferences.checks import check_counts
from simlab.analysis.preferences.posterior import posterior_summary, win_decisions, win_posterior
from simlab.analysis.preferences.refinement import Care, moments
from simlab.analysis.preferences.tempering import TemperedPair, sample
from simlab.types import InputError

COUNTS = np.array([[12.0, 4, 7], [0, 9, 0], [3, 0, 3], [300, 10, 200]])
ALPHA = COUNTS + 1


def theta_of(alpha: np.ndarray) -> np.ndarray:
    """Return P(p> > p<) under Dirichlet(alpha): of wins and losses, Beta."""
    return np.asarray(1 - betainc(alpha[..., 0], alpha[..., 2], 0.5))


def test_quadrature_over_the_simplex_has_the_moments_of_a_dirichlet_law() -> None:
    forms = np.broadcast_to(np.eye(3), (len(COUNTS), 3, 3))
    theta, *rest = moments(forms, COUNTS, Care(40)).T
    total = ALPHA.sum(1)
    np.testing.assert_allclose(theta, theta_of(ALPHA), atol=1e-8)
    np.testing.assert_allclose(np.array(rest[:3]).T, ALPHA / total[:, None], rtol=1e-7)
    second = ALPHA * (ALPHA + 1) / (total * (total + 1))[:, None]
    np.testing.assert_allclose(np.array(rest[3:]).T, second, rtol=1e-6)


@pytest.mark.slow
def test_the_sampler_of_thin_posteriors_meets_a_dirichlet_law() -> None:
    human = COUNTS[0]
    pair = TemperedPair(human, np.zeros((3, 3)), np.zeros(3), np.ones((3, 3)), np.eye(3), (0, 1, 2), np.ones((3, 3)))
    replicates = sample(pair, (0.002, 0.002), 0.05, seed=0)
    mean, error = replicates.mean(0), replicates.std(0, ddof=1) / np.sqrt(len(replicates))
    truth = np.concatenate([[theta_of(ALPHA[0])], ALPHA[0] / ALPHA[0].sum()])
    assert (np.abs(mean[:4] - truth) < 5 * error[:4]).all()
    assert abs(mean[0] - theta_of(COUNTS[0] + 3)) > 5 * error[0]  # another prior is told apart


def test_human_preferences_alone_are_exact() -> None:
    posterior = win_posterior(COUNTS)
    np.testing.assert_allclose(posterior.theta, theta_of(ALPHA), atol=1e-12)
    summary = posterior_summary(COUNTS, None, None)
    np.testing.assert_allclose(summary.mean, ALPHA / ALPHA.sum(1, keepdims=True))
    assert ((summary.low < summary.mean) & (summary.mean < summary.high)).all()


def test_a_decision_waits_until_theta_is_beyond_a_bound() -> None:
    theta, _, said = win_decisions(COUNTS, None, None, level=0.05)
    np.testing.assert_array_equal(said, np.where(theta > 0.975, 1, np.where(theta < 0.025, -1, 0)))
    assert said.tolist() == [0, 0, 0, 1]
    assert win_decisions(COUNTS[:, ::-1], None, None, level=0.05)[2].tolist() == [0, 0, 0, -1]


def test_counts_are_laid_out_as_rows() -> None:
    human = np.full((2, 1, 3), 5)
    counts = check_counts(human, np.eye(3), np.ones((4, 3)), None, None, elsewhere=False, two_outcomes=False)
    assert counts.shape == (2, 4)
    assert counts.human.shape == (8, 3)
    assert counts.confusion.shape == (8, 3, 3)
    kept = counts.select_rows(np.array([1, 3]))
    assert kept.shape == (2,)
    assert kept.metric.shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"human": "many"}, "human must hold numbers"),
        ({"human": [1, 2]}, "human has shape"),
        ({"human": [1, -2, 3]}, "human holds -2; counts are whole numbers"),
        ({"human": [1, 2, 3], "metric": [1.5, 0, 0]}, "metric holds 1.5"),
        ({"human": [1, 2, 3], "confusion": np.eye(3) * 2}, "confusion counts 2 outputs that humans found >"),
        ({"human": np.ones((2, 3)), "metric": np.ones((3, 3))}, "do not fit together"),
        ({"human": [1, 2, 3], "metric": [0, 1, 0], "two_outcomes": True}, "leave two_outcomes out"),
        ({"human": [1, 2, 3], "elsewhere": True, "rater": np.eye(3)}, "leave one"),
    ],
)
def test_counts_that_cannot_be_name_the_argument(arguments: dict[str, object], says: str) -> None:
    nothing = {"confusion": None, "metric": None, "mu": None, "rater": None, "elsewhere": False, "two_outcomes": False}
    with pytest.raises(InputError, match=says):
        check_counts(**{**nothing, **arguments})


@pytest.mark.parametrize("given", ["prior", "rater", "both"])
def test_a_row_is_alike_in_any_company(given: str) -> None:
    """To the last bit: what a campaign decides must not hang on how many others are carried out with it."""
    rng = np.random.default_rng(5)
    confusion = rng.multinomial(40, [0.2, 0.05, 0.05, 0.1, 0.1, 0.1, 0.05, 0.05, 0.3], 9).reshape(9, 3, 3)
    human, metric = confusion.sum(1) + rng.multinomial(12, [0.5, 0.2, 0.3], 9), rng.multinomial(300, [0.5, 0.2, 0.3], 9)
    more = {}
    if given in ("prior", "both"):
        more["prior"] = 1 + 9 * rng.random((9, 3, 3))
    if given in ("rater", "both"):
        more["rater"] = np.array([[0.8, 0.2, 0.05], [0.15, 0.6, 0.15], [0.05, 0.2, 0.8]])
    together = win_decisions(human, confusion, metric, level=0.05, **more)
    for few in (slice(0, 1), slice(4, 5), slice(2, 5), slice(1, 9)):
        own = more | ({"prior": more["prior"][few]} if "prior" in more else {})
        for mine, theirs in zip(
            win_decisions(human[few], confusion[few], metric[few], level=0.05, **own), together, strict=True
        ):
            np.testing.assert_array_equal(mine, theirs[few])
