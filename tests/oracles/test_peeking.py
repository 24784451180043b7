"""Decision rules under repeated looks, against an exact dynamic programme and against simulation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simlab.analysis import decisions, sign_test
from simlab.analysis.preferences.sequential import boundaries, claims, mixture_evidence, spend_level
from simlab.design.protocol import list_looks
from simlab.rng import stream
from simlab.types import Evidence, Verdicts

EQUAL, DIFFERENT = np.array([0.4, 0.2, 0.4]), np.array([0.45, 0.2, 0.35])
PUBLISHED = {5: 0.354, 10: 0.314, 25: 0.243, 50: 0.191}

human_only = partial(decisions.human_only, level=0.05)
anytime = partial(decisions.anytime, level=0.05, concentration=10.0, use_metric=False, multiplicity="none")
with_metric = partial(decisions.anytime, level=0.05, concentration=10.0, use_metric=True, multiplicity="none")
PLAIN: Any = {"level": 0.05, "unit": "output", "multiplicity": "none"}
group_sequential = partial(decisions.group_sequential, spending="obrien_fleming", metric="ignore", **PLAIN)
pocock = partial(decisions.group_sequential, spending="pocock", metric="ignore", **PLAIN)


def simulate(p: np.ndarray, batch: int, rows: int, name: str, most: int = 500, mu: Any = None) -> Evidence:
    """Draw potential evidence of independent pairs; with `mu` a metric rates these outputs and 10,000 others."""
    rng = stream(1, "peeking", name)
    at = list_looks(most, batch, most)
    human = rng.choice(3, (rows, most), p=p)
    metric = np.zeros((rows, most), int)
    rest = np.zeros((rows, 3), int)
    if mu is not None:
        below = np.cumsum(mu, axis=0)
        u = rng.random((rows, most))
        metric = (u >= below[0][human]).astype(int) + (u >= below[1][human])
        rest = rng.multinomial(10_000, mu @ p, rows)
    joint = np.cumsum((3 * metric + human)[:, :, None] == np.arange(9), axis=1)
    both = np.concatenate([np.zeros((rows, 1, 9), int), joint[:, at[1:] - 1]], axis=1).reshape(rows, -1, 3, 3)
    counts = both.sum(2)
    if mu is None:
        return Evidence(at, counts, np.zeros_like(both), np.zeros_like(counts))
    total = rest + np.stack([(metric == k).sum(1) for k in range(3)], axis=1)
    return Evidence(at, counts, both, total[:, None] - both.sum(-1))


def first_verdict(said: Verdicts) -> np.ndarray:
    """Read on to the first stop, or to the last look."""
    at = np.where(said.stop.any(1), said.stop.argmax(1), said.stop.shape[1] - 1)
    return said.verdict[np.arange(len(at)), at]


@pytest.mark.slow
@pytest.mark.parametrize("batch", PUBLISHED)
def test_looking_often_finds_differences_that_are_not_there(batch: int) -> None:
    exact = claims(human_only, EQUAL, list_looks(500, batch, 500))
    assert exact.better == pytest.approx(exact.worse)
    assert exact.better + exact.worse == pytest.approx(PUBLISHED[batch], abs=0.0005)
    found = np.mean(first_verdict(human_only(simulate(EQUAL, batch, 4000, "null"))) != 0)
    assert abs(found - PUBLISHED[batch]) < 4 * np.sqrt(PUBLISHED[batch] * (1 - PUBLISHED[batch]) / 4000)
    assert found > 0.05 + 10 * np.sqrt(0.05 * 0.95 / 4000)  # the negative control of the next test


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 5, 10, 50, 500])
@pytest.mark.parametrize("rule", [anytime, group_sequential, pocock], ids=["anytime", "obrien_fleming", "pocock"])
def test_rules_made_for_looking_keep_their_level(rule: Any, batch: int) -> None:
    n = 400 if batch == 1 else 2500
    found = np.mean(first_verdict(rule(simulate(EQUAL, batch, n, "level"))) != 0)
    assert found <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)


@pytest.mark.parametrize("batch", [500, 50, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 5, 10, 25))])
def test_the_e_process_keeps_its_level_exactly(batch: int) -> None:
    exact = claims(anytime, EQUAL, list_looks(500, batch, 500))
    assert 0.001 < exact.better + exact.worse < 0.05


@pytest.mark.slow
def test_they_are_able_to_decide() -> None:
    at = list_looks(500, 10, 500)
    fixed = claims(partial(decisions.fixed, form="exact", **PLAIN), DIFFERENT, at)
    assert fixed.better == pytest.approx(0.69, abs=0.005)
    assert claims(anytime, DIFFERENT, at).better >= 0.38
    n = 3000
    found = np.mean(first_verdict(group_sequential(simulate(DIFFERENT, 10, n, "power"))) > 0)
    assert found - 3 * np.sqrt(found * (1 - found) / n) >= 0.60


def test_a_mixture_is_a_martingale_and_a_wrongly_scaled_one_is_not() -> None:
    n = 40
    wins = np.arange(n + 1)
    counts = np.stack([wins, np.zeros_like(wins), n - wins], axis=1)
    chance = stats.binom.pmf(wins, n, 0.5)
    for concentration in (0.5, 10.0, 200.0):
        assert chance @ np.exp(mixture_evidence(counts, concentration)) == pytest.approx(1)
    assert chance @ np.exp(mixture_evidence(counts, 10.0) + 0.1) > 1.05


MU = np.array([[0.75, 0.3, 0.1], [0.15, 0.4, 0.15], [0.1, 0.3, 0.75]])


@pytest.mark.slow
def test_bets_on_what_the_metric_leaves_open_keep_the_level_and_gain_power() -> None:
    n = 2500
    null = np.mean(first_verdict(with_metric(simulate(EQUAL, 10, n, "null", mu=MU))) != 0)
    assert null <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
    evidence = simulate(DIFFERENT, 10, n, "gain", mu=MU)
    gain = (first_verdict(with_metric(evidence)) > 0).astype(float) - (first_verdict(anytime(evidence)) > 0)
    assert gain.mean() > 4 * gain.std() / np.sqrt(n)


def test_spending_starts_at_nothing_and_ends_at_the_level() -> None:
    share = np.linspace(0, 1, 11)
    for spending in ("obrien_fleming", "pocock"):
        spent = spend_level(share, 0.05, spending)  # type: ignore[arg-type]
        assert spent[0] == 0
        assert spent[-1] == pytest.approx(0.05)
        assert (np.diff(spent) >= 0).all()


def test_boundaries_of_a_z_test_are_the_published_ones() -> None:
    """Five looks at a level of .05: Pocock-like spending as tabulated by Reboussin, DeMets, Kim and Lan 2000."""
    found = boundaries((0, 1, 2, 3, 4, 5), 0.05, "pocock")[1:]
    np.testing.assert_allclose(found, [2.4380, 2.4268, 2.4102, 2.3966, 2.3860], atol=0.0005)
    single = boundaries((0, 7), 0.05, "obrien_fleming")
    assert single[1] == pytest.approx(stats.norm.ppf(0.975), abs=1e-6)


def test_a_single_planned_look_is_the_exact_sign_test() -> None:
    evidence = simulate(DIFFERENT, 60, 300, "single", most=60)
    said = first_verdict(group_sequential(evidence)) != 0
    np.testing.assert_array_equal(said, sign_test.exact(evidence.human[:, -1]) <= 0.05)


def test_sign_tests_are_those_of_scipy() -> None:
    counts = stream(2).integers(0, 40, (200, 3))
    wanted = [stats.binomtest(int(w), int(w + l), 0.5).pvalue if w + l else 1.0 for w, _, l in counts]  # noqa: E741
    np.testing.assert_allclose(sign_test.exact(counts), wanted, rtol=1e-12)
    z = (counts[:, 0] - counts[:, 2]) / np.sqrt(counts[:, 0] + counts[:, 2])
    np.testing.assert_allclose(sign_test.asymptotic(counts), 2 * stats.norm.sf(np.abs(z)), rtol=1e-12)
    np.testing.assert_array_equal(sign_test.asymptotic(np.array([[0, 5, 0]])), 1.0)


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.2])
def test_the_posterior_beyond_a_margin_is_that_of_brute_force(margin: float) -> None:
    rng = stream(3)
    for counts in ([0, 0, 0], [5, 2, 1], [30, 100, 20], [2, 97, 1], [300, 10, 250], [1, 3, 60]):
        p = rng.dirichlet(np.array(counts) + 1, 400_000)
        share = np.mean(p[:, 0] - p[:, 2] > margin)
        found = decisions.probability_beyond_margin(np.array([counts]), margin)[0]
        assert abs(found - share) < 5 * np.sqrt(max(found * (1 - found), 1e-6) / 400_000) + 1e-6


def test_systems_that_mostly_draw_come_out_equal() -> None:
    counts = np.array([[[0, 0, 0], [20, 970, 10]]])  # p = .02/.97/.01: different, and of no importance
    evidence = Evidence(np.array([0, 1000]), counts, np.zeros((1, 2, 3, 3), int), np.zeros((1, 2, 3), int))
    assert sign_test.asymptotic(counts)[0, 1] > 0.05 or human_only(evidence).verdict[0, 1] == 1
    said = decisions.equivalence(evidence, level=0.05, margin=0.1, holds="given_prior")
    assert said.verdict[0, 1] == 0
    assert said.stop[0, 1]
    clear = Evidence(
        evidence.annotations, np.array([[[0, 0, 0], [600, 200, 200]]]), evidence.confusion, evidence.metric
    )
    assert decisions.equivalence(clear, level=0.05, margin=0.1, holds="given_prior").verdict[0, 1] == 1


@pytest.mark.parametrize("rule", [human_only, anytime, with_metric, group_sequential, pocock])
def test_exchanging_the_systems_turns_verdicts_round(rule: Any) -> None:
    evidence = simulate(DIFFERENT, 10, 60, "mirror", most=100, mu=MU)
    turned = Evidence(
        evidence.annotations,
        evidence.human[..., ::-1],
        evidence.confusion[..., ::-1, ::-1],
        evidence.metric[..., ::-1],
    )
    np.testing.assert_array_equal(first_verdict(rule(turned)), -first_verdict(rule(evidence)))
    few = Evidence(*(array[3:5] if k else array for k, array in enumerate(
        (evidence.annotations, evidence.human, evidence.confusion, evidence.metric))))  # fmt: skip
    np.testing.assert_array_equal(rule(few).verdict, rule(evidence).verdict[3:5])
