"""Fits of metrics find what tables were drawn from: intervals cover, and what is known to err does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from simlab.fitting_metrics import confusion, correlations, fitting, humans, rates
from simlab.fitting_metrics.confusion import ComparedOutputs, concentration
from simlab.formulas import threshold_rates
from simlab.rng import stream
from simlab.tables.evidence import ScoredTrials
from simlab.tables.judged_outputs import JudgedOutputs

MU = np.array([[0.7, 0.25, 0.2], [0.1, 0.5, 0.1], [0.2, 0.25, 0.7]])
ALPHAS = np.array([0.8, 0.7, 0.6, 0.5])


def coverage(inside: list[Any]) -> Any:
    return np.mean(inside, axis=0)


def reach(n: int, share: float = 0.95) -> float:
    """Return 4 Monte-Carlo standard errors of a coverage; several are looked at."""
    return 4 * (share * (1 - share) / n) ** 0.5


def scored(
    rng: np.random.Generator, n_systems: int, n_items: int, repeats: int, noise: float, correlation: float
) -> JudgedOutputs:
    """Draw scores of outputs; both humans and the metric find items easy or hard."""
    quality = np.linspace(0.4, -0.4, n_systems)[:, None]

    def spread() -> Any:
        return (rng.standard_normal(n_items) + rng.standard_normal((n_systems, n_items))) / np.sqrt(2)

    human = quality + spread()
    metric = correlation * human + np.sqrt(1 - correlation**2) * spread()
    ratings = human[..., None] + noise * rng.standard_normal((n_systems, n_items, repeats))
    return laid_out(ratings, {"metric": metric})


def laid_out(ratings: Any, metrics: dict[str, Any]) -> JudgedOutputs:
    n_systems, n_items, repeats = ratings.shape
    system, item = np.divmod(np.arange(n_systems * n_items), n_items)
    names = tuple(f"S{k}" for k in range(n_systems))
    flat = {name: score.ravel() for name, score in metrics.items()}
    return JudgedOutputs(system, item, names, n_items, ratings.reshape(-1, repeats), flat)


def labelled(rng: np.random.Generator, n_items: int, repeats: int, right: tuple[float, float]) -> JudgedOutputs:
    """Draw labels of raters who err, and a binary metric with rho = .8, eta = .7; items agree by .4."""
    shared = np.sqrt(0.4) * rng.standard_normal(n_items)
    latent = ndtri(ALPHAS)[:, None] + shared + np.sqrt(0.6) * rng.standard_normal((4, n_items))
    adequate = latent > 0
    positive = np.where(adequate, right[0], 1 - right[1])
    ratings = rng.random((4, n_items, repeats)) < positive[..., None]
    says = rng.random((4, n_items)) < np.where(adequate, 0.8, 0.3)
    return laid_out(ratings.astype(float), {"metric": says.astype(float)})


@pytest.mark.parametrize(("n", "correlation", "alpha"), [(80, 0.5, 0.6), (300, 0.8, 0.8)])
def test_rates_at_the_best_threshold_and_what_tuning_in_sample_claims(n: int, correlation: float, alpha: float) -> None:
    rng, fits = stream(1, "rates", n), 200
    inside, gain, claimed = [], [], []
    for _ in range(fits):
        human = rng.standard_normal(n)
        score = correlation * human + np.sqrt(1 - correlation**2) * rng.standard_normal(n)
        adequate = (human > ndtri(1 - alpha)).astype(float)
        alone = np.arange(n)
        found = rates.rates(score, adequate, alone, np.zeros(n, int), threshold=None, noisy=False)
        true = [float(share) for share in threshold_rates(correlation, alpha, found.threshold)]
        inside.append([low < share < high for share, (low, high) in zip(true, found.interval(), strict=True)])
        gain.append(found.tp / found.p + found.tn / found.n - sum(true))
        says = score > found.threshold
        claimed.append(says[adequate == 1].mean() + (~says)[adequate == 0].mean() - sum(true))
    assert (coverage(inside) > 0.95 - reach(fits)).all()
    error = np.std(gain) / fits**0.5
    assert abs(np.mean(gain)) < 4 * error
    assert np.mean(claimed) > 10 * error  # the same outputs choose the threshold and judge it


@pytest.mark.parametrize(("repeats", "right"), [(1, (1.0, 1.0)), (2, (0.85, 0.85)), (3, (0.9, 0.8))])
def test_labels_give_alphas_errors_of_raters_and_unbiased_rates(repeats: int, right: tuple[float, float]) -> None:
    rng, fits = stream(2, "labels", repeats), 200
    inside, alphas, raters, agreement, naive = [], [], [], [], []
    for _ in range(fits):
        outputs = labelled(rng, 100, repeats, right)
        found = humans.adequacy(outputs, outputs.human)
        low, high = found.interval()
        alphas.append((low < ALPHAS) & (high > ALPHAS))
        raters.append((found.human_rho, found.human_eta))
        agreement.append(found.item_agreement)
        at = outputs.item, outputs.system
        score = outputs.metrics["metric"]
        fit = rates.rates(score, found.probability, *at, threshold=0.5, noisy=found.repeated)
        inside.append([low < share < high for share, (low, high) in zip((0.8, 0.7), fit.interval(), strict=True)])
        first = rates.rates(score, outputs.human[:, 0], *at, threshold=0.5, noisy=False)
        naive.append(first.rho + first.eta)
    assert (coverage(inside) > 0.95 - reach(fits)).all()
    assert (coverage(alphas) > 0.95 - reach(fits)).all()
    np.testing.assert_allclose(np.mean(raters, axis=0), right, atol=0.01)
    assert np.mean(agreement) == pytest.approx(0.4, abs=0.03)
    if repeats > 1:  # labels taken for the truth make a metric look poorer than it is
        assert np.mean(naive) < 1.45


@pytest.mark.slow
def test_scores_with_a_bound_give_what_is_true_of_the_scores_behind_them() -> None:
    rng, fits, repeats, noise = stream(8, "bound"), 100, 2, 0.7
    large = scored(stream(8, "large"), 3, 100_000, 1, 0.0, 0.6)
    adequate, true = large.human[:, 0] > 0, large.metrics["metric"]
    alpha = ndtr(np.linspace(0.4, -0.4, 3))
    inside, alphas, labels, agreement = [], [], [], []
    for _ in range(fits):
        outputs = scored(rng, 3, 80, repeats, noise, 0.6)
        found = fitting.adequacy_of_scores(outputs, 0.0, 1)
        low, high = found.interval()
        alphas.append((low < alpha) & (alpha < high))
        agreement.append(found.item_agreement)
        at = outputs.metrics["metric"], found.probability, outputs.item, outputs.system
        fit = rates.rates(*at, threshold=None, noisy=True, position=found.position)
        says = true > fit.threshold
        truth = says[adequate].mean(), 1 - says[~adequate].mean()
        inside.append([low < share < high for share, (low, high) in zip(truth, fit.interval(), strict=True)])
        as_labels = rates.rates(*at, threshold=fit.threshold, noisy=True)
        labels.append(as_labels.rho + as_labels.eta - sum(truth))
    assert (coverage(inside) > 0.95 - reach(fits)).all()
    assert (coverage(alphas) > 0.95 - reach(fits)).all()
    assert np.mean(agreement) == pytest.approx(0.5, abs=0.03)
    # A metric that follows the score knows more than whether it is above the bound: not as if labels erred alike.
    assert np.mean(labels) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_systems", "n_items", "repeats", "noise", "correlation"), [(4, 100, 2, 0.7, 0.5), (15, 25, 3, 1.0, 0.3)]
)
def test_correlations_are_freed_of_noise(
    n_systems: int, n_items: int, repeats: int, noise: float, correlation: float
) -> None:
    rng, fits = stream(3, "correlation", n_systems), 200
    inside, gammas, attenuated = [], [], []
    for fit in range(fits):
        outputs = scored(rng, n_systems, n_items, repeats, noise, correlation)
        found = correlations.correlation(outputs, "metric", signs=(1, 1))
        low, high = found.interval()
        inside.append(low < correlation < high)
        gammas.append(abs(found.components.gamma - noise**2) < 2 * found.errors.gamma)
        if fit % 4:
            continue
        single = correlations.correlation(replace(outputs, human=outputs.human[:, :1]), "metric", signs=(1, 1))
        attenuated.append(single.interval()[0] < correlation < single.interval()[1])
        assert single.components is None
    assert coverage(inside) > 0.95 - reach(fits)
    assert coverage(gammas) > 0.95 - reach(fits)
    assert coverage(attenuated) < 0.8  # a single rating holds the rater's noise, too


def test_matrices_of_scores_count_items_not_pairs() -> None:
    how: dict[str, Any] = {"margin": 0.2, "human_margin": 0.3, "signs": (1, 1), "mirrored": True}
    true = confusion.mixture_of_outputs(scored(stream(4, "large"), 6, 100_000, 1, 0.0, 0.6), "metric", **how).mean
    rng, fits = stream(4, "mu"), 300
    inside, overconfident = [], []
    for _ in range(fits):
        found = confusion.mixture_of_outputs(scored(rng, 6, 60, 1, 0.0, 0.6), "metric", **how)
        for fit, into in ((found, inside), (replace(found, counts=found.counts * found.design_effect), overconfident)):
            low, high = fit.interval()
            into.append((low < true) & (true < high))
    assert (coverage(inside) > 0.95 - reach(fits)).all()
    assert coverage(overconfident)[0, 0] < 0.9  # as if 15 pairs of an item were 15 items


def preferences(rng: np.random.Generator, mu: Any, n_items: int) -> ComparedOutputs:
    pair, item = np.divmod(np.arange(3 * n_items), n_items)
    human = (rng.random((3 * n_items, 1)) > np.cumsum([[0.5, 0.2], [0.4, 0.2], [0.3, 0.3]], axis=1)[pair]).sum(1)
    below = np.cumsum(np.broadcast_to(mu, (3, 3, 3)), axis=1)[pair, :2, human]
    says = (rng.random((3 * n_items, 1)) > below).sum(1)
    ratings = np.zeros((3, 3))
    np.add.at(ratings, (pair, human), 1)
    names = (("A", "B"), ("A", "C"), ("B", "C"))
    return ComparedOutputs(
        pair, item, item, np.eye(3)[human], ratings, names, ("A", "B", "C"), n_items, {"metric": says}
    )


@pytest.mark.parametrize("mirrored", [True, False])
def test_matrices_of_preferences(mirrored: bool) -> None:
    rng, fits = stream(5, "preferences"), 300
    inside, p = [], []
    for _ in range(fits):
        data = preferences(rng, MU, 80)
        low, high = confusion.mixture_of_preferences(data, "metric", mirrored=mirrored).interval()
        inside.append((low < MU) & (high > MU))
        low, high = humans.count_contests(data).interval()
        true = np.array([[0.5, 0.2, 0.3], [0.4, 0.2, 0.4], [0.3, 0.3, 0.4]])
        p.append((low < true) & (true < high))
    assert (coverage(inside) > 0.95 - reach(fits)).all()
    assert (coverage(p) > 0.95 - reach(fits)).all()


def trials(rng: np.random.Generator, spread: float, kinds: int = 8, n: int = 60) -> ScoredTrials:
    """Draw unit tests in which kinds of corruption are noticed more or less often, .75 on average."""
    corruption = np.repeat(np.arange(kinds), n)
    notices = rng.beta(0.75 / spread, 0.25 / spread, kinds)[corruption]
    original = rng.random(kinds * n)
    worse = np.where(rng.random(kinds * n) < notices, -1.0, 1.0)
    return ScoredTrials("metric", False, corruption, np.zeros(kinds * n, bool), original, original + worse)


def test_unit_tests_speak_of_other_kinds_of_errors() -> None:
    rng, fits = stream(6, "trials"), 300
    inside, overconfident = [], []
    for _ in range(fits):
        found = confusion.mixture_of_trials(trials(rng, spread=0.1), margin=0.0)
        for fit, into in ((found, inside), (replace(found, counts=found.counts * found.design_effect), overconfident)):
            low, high = fit.interval()
            into.append(low[0, 0] < 0.75 < high[0, 0])
    # Eight kinds tell their own spread roughly.
    assert coverage(inside) > 0.95 - reach(fits) - 0.03
    assert coverage(overconfident) < 0.6
    assert found.mean[1].max() == 0  # with continuous scores and no margin there are no draws


def test_groups_that_differ_are_told_from_groups_that_do_not() -> None:
    rng, fits = stream(7, "groups"), 200

    def estimates(draw: Callable[[], Any]) -> list[float | None]:
        return [concentration(draw(), MU) for _ in range(fits)]

    def counts(columns: Any) -> Any:
        return np.stack([[rng.multinomial(40, column) for column in pair.T] for pair in columns]).swapaxes(1, 2)

    same = estimates(lambda: counts(np.repeat(MU[None], 15, axis=0)))
    apart = estimates(
        lambda: counts(np.stack([np.stack([rng.dirichlet(20 * column) for column in MU.T], 1) for _ in range(15)]))
    )
    assert np.mean([found is not None for found in same]) < 0.05 + reach(fits, 0.05)
    assert all(found is not None for found in apart)
    assert np.median([found for found in apart if found]) == pytest.approx(20, rel=0.1)
