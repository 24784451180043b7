"""Worlds of preferences follow the laws that they state; each check has a control that it can fail."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from simlab.formulas import read_stochastic
from simlab.parts import bind
from simlab.rng import stream
from simlab.types import COMPARE, Contest, InputError, Latent, MetricLaw, TestSet, World
from simlab.world.laws.comparisons import (
    ComparisonLaw,
    compare,
    latent_scores,
    metric_scores,
    preference_direction,
    require_contest,
    standardise_scores,
)
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.metrics import mu_matrix, scalar
from simlab.world.oracles import compared_scores, noisy_oracle, oracle
from simlab.world.preferences import free, given, latent, probabilities
from simlab.world.recorded import recorded

N = 40_000
LATENT: dict[str, Any] = {
    "n_systems": 3, "n_items": N, "quality": [0.0, 0.3, 1.0], "system_sd": 0.0, "output_sd": 1.0,
    "item_sd": 0.0, "tie_margin": 0.3, "test_set": "fresh", "outputs_per_document": 1, "document_agreement": 0.0,
}  # fmt: skip
NOTHING: dict[str, Any] = {"sha256": None, "better": None, "columns": None, "people": None, "where": None}
GIVEN: dict[str, Any] = {
    "n_systems": 3, "n_items": N, "p": None, "difference": 0.1, "draws": 0.3, "difficulty": 0.0, "test_set": "fresh",
    "outputs_per_document": 1, "document_agreement": 0.0,
}  # fmt: skip
MU = np.array([[0.80, 0.25, 0.10], [0.10, 0.50, 0.10], [0.10, 0.25, 0.80]])


def rates(outcome: np.ndarray) -> np.ndarray:
    return np.stack([(outcome == k).mean(1) for k in range(3)], axis=1)


def world(contest: Contest) -> World:
    return oracle(stream(0), contest)


def compare_all(compared: World, seed: int) -> TestSet:
    return compared.answers[COMPARE].draw(stream(seed), compared.metric)


def far(found: np.ndarray, p: np.ndarray, n: int = N) -> float:
    """Return the largest deviation of rates in standard errors."""
    return float((np.abs(found - p) / np.sqrt(np.maximum(p * (1 - p), 1e-9) / n)).max())


@pytest.mark.parametrize("item_sd", [0.0, 0.8])
@pytest.mark.parametrize("tie_margin", [0.0, 0.3])
def test_stated_probabilities_are_those_of_the_outputs(item_sd: float, tie_margin: float) -> None:
    contest = latent(stream(1), **LATENT | {"item_sd": item_sd, "tie_margin": tie_margin})
    found = rates(compare_all(world(contest), 2).human)
    assert far(found, contest.p) < 5
    other = latent(stream(1), **LATENT | {"item_sd": item_sd, "tie_margin": tie_margin + 0.1})
    assert far(found, other.p) > 5


@pytest.mark.parametrize("item_sd", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("output_sd", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("difference", [-0.4, 3.0])
def test_stated_probabilities_are_exact(item_sd: float, output_sd: float, difference: float) -> None:
    law = Latent(np.array([difference, 0.0]), output_sd, item_sd, 0.3)
    spread = output_sd * np.sqrt(2)
    turn = (np.log(law.tie_margin / abs(difference)) + item_sd**2 / 2) / item_sd
    ends = np.clip([-12, *(turn + np.linspace(-3, 3, 31) / item_sd), 12], -12, 12)

    def beyond(z: float, sign: float) -> float:
        latent_difference = sign * difference * np.exp(item_sd * z - item_sd**2 / 2)
        return float(stats.norm.cdf((latent_difference - law.tie_margin) / spread) * stats.norm.pdf(z))

    win, loss = (
        sum(integrate.quad(beyond, a, b, args=(sign,), epsabs=1e-11)[0] for a, b in itertools.pairwise(ends))
        for sign in (1.0, -1.0)
    )
    np.testing.assert_allclose(probabilities(law), [[win, 1 - win - loss, loss]], rtol=0, atol=1e-9)
    mirrored = probabilities(Latent(law.quality[::-1], output_sd, item_sd, 0.3))
    assert np.abs(mirrored - [[win, 1 - win - loss, loss]]).max() > 1e-4


def test_no_margin_leaves_no_draws_and_nothing_negative() -> None:
    p = probabilities(Latent(stream(1).standard_normal(20), 1.0, 0.5, 0.0))
    assert (p >= 0).all()
    assert p[:, 1].max() < 1e-12


def test_pairs_of_latent_systems_are_consistent_and_share_outputs() -> None:
    contest = latent(stream(1), **LATENT)
    np.testing.assert_array_equal(preference_direction(contest), [-1, -1, -1])
    human = compare_all(world(contest), 2).human.astype(float)
    assert stats.pearsonr(human[0], human[1]).statistic > 0.2  # both pairs hold the first system


@pytest.mark.parametrize("difficulty", [0.0, 0.6])
def test_difficulty_correlates_draws_and_leaves_their_rates(difficulty: float) -> None:
    contest = given(stream(1), **GIVEN | {"difficulty": difficulty})
    human = compare_all(world(contest), 2).human
    assert far(rates(human), contest.p) < 5
    draws = (human == 1).astype(float)
    correlation = stats.pearsonr(draws[0], draws[1]).statistic
    assert correlation > 0.2 if difficulty else abs(correlation) < 5 / np.sqrt(N)


def test_given_probabilities_are_taken_as_they_are() -> None:
    triples = [[0.5, 0.2, 0.3], [0.1, 0.1, 0.8], [0.4, 0.2, 0.4]]
    contest = given(stream(1), **GIVEN | {"p": triples})
    np.testing.assert_allclose(contest.p, triples)
    np.testing.assert_array_equal(preference_direction(contest), [1, -1, 0])
    np.testing.assert_allclose(given(stream(1), **GIVEN).p, [[0.4, 0.3, 0.3]] * 3)


@pytest.mark.parametrize("draws", [0.0, 0.1, 0.2, 0.3, 0.7, 0.8, 0.9, 1.0])
def test_all_that_is_no_draw_may_be_won_or_lost(draws: float) -> None:
    rest = round(1 - draws, 9)  # as a user writes it
    for difference, p in ((rest, [rest, draws, 0]), (-rest, [0, draws, rest])):
        drawn = given(stream(1), **GIVEN | {"draws": draws, "difference": difference}).p
        np.testing.assert_allclose(drawn, [p] * 3, atol=1e-12)
        assert (drawn >= 0).all()


def test_free_pairs_need_no_order() -> None:
    drawn = [
        free(
            stream(k),
            n_systems=3,
            n_items=9,
            mean=[0.4, 0.2, 0.4],
            concentration=5.0,
            difficulty=0.0,
            test_set="fresh",
            outputs_per_document=1,
            document_agreement=0.0,
        )
        for k in range(400)
    ]
    p = np.concatenate([contest.p for contest in drawn])
    np.testing.assert_allclose(p.mean(0), [0.4, 0.2, 0.4], atol=5 * p.std(0).max() / np.sqrt(len(p)))
    cycle = [list(preference_direction(contest)) in ([1, -1, 1], [-1, 1, -1]) for contest in drawn]
    assert abs(np.mean(cycle) - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 400)  # two of eight orders are cycles


def test_metric_ratings_follow_the_matrix() -> None:
    contest = given(stream(1), **GIVEN)
    judged = mu_matrix(stream(3), world(contest), mu=MU.tolist(), sharpness=1.0, concentration=None, n_outputs=N)
    test_set = compare_all(judged, 2)
    assert far(rates(test_set.metric), contest.p @ MU.T) < 5
    for true in range(3):
        said = test_set.metric[0][test_set.human[0] == true]
        assert far(rates(said[None]), MU[None, :, true], len(said)) < 5
    assert far(rates(test_set.metric), contest.p) > 5


def test_sharpness_leads_from_no_information_to_the_matrix() -> None:
    contest = given(stream(1), **GIVEN)
    more = {"mu": MU.tolist(), "concentration": None, "n_outputs": 9}
    blind = mu_matrix(stream(3), world(contest), sharpness=0.0, **more).metric.mu[0]
    np.testing.assert_allclose(blind, np.repeat(MU.mean(1, keepdims=True), 3, axis=1))
    half = mu_matrix(stream(3), world(contest), sharpness=0.5, **more).metric.mu[0]
    np.testing.assert_allclose(half, (blind + MU) / 2)


def test_a_concentration_gives_each_pair_a_matrix_around_the_mean() -> None:
    contest = given(stream(1), **GIVEN | {"n_systems": 60})
    drawn = mu_matrix(
        stream(3), world(contest), mu=MU.tolist(), sharpness=1.0, concentration=20.0, n_outputs=9
    ).metric.mu
    np.testing.assert_allclose(drawn.sum(1), 1)
    spread = np.sqrt(MU * (1 - MU) / 21)
    assert (np.abs(drawn.mean(0) - MU) < 5 * spread / np.sqrt(len(drawn))).all()
    np.testing.assert_allclose(drawn.std(0), spread, rtol=0.12)


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.6])
def test_a_metric_agrees_as_often_as_its_correlation_says(rho: float) -> None:
    contest = latent(stream(1), **LATENT | {"tie_margin": 0.0})
    judged = scalar(stream(3), world(contest), correlation=rho, correlation_sd=0.0, margin=0.0, n_outputs=N)
    test_set = compare_all(judged, 2)
    same = (test_set.human == test_set.metric).mean(1)
    for pair, difference in enumerate([-0.3, -1.0, -0.7]):
        p = agreement(rho, difference)
        assert abs(same[pair] - p) < 5 * np.sqrt(p * (1 - p) / N)
    p = agreement(rho + 0.1, -0.3)
    assert abs(same[0] - p) > 5 * np.sqrt(p * (1 - p) / N)


def agreement(rho: float, difference: float) -> float:
    """Integrate how often latent and metric scores of the systems of LATENT differ in the same direction."""
    spread = np.sqrt(1 + np.var(LATENT["quality"]))
    mean = np.array([difference, rho * difference / spread])
    noise = 2 * (rho**2 / spread**2 + 1 - rho**2)
    law = stats.multivariate_normal(mean, [[2, 2 * rho / spread], [2 * rho / spread, noise]])
    return float(law.cdf([0, 0]) + stats.multivariate_normal(-mean, law.cov).cdf([0, 0]))


def test_a_perfect_metric_without_a_margin_is_the_oracle() -> None:
    contest = latent(stream(1), **LATENT | {"tie_margin": 0.0, "item_sd": 0.5, "n_items": 500})
    judged = scalar(stream(3), world(contest), correlation=1.0, correlation_sd=0.0, margin=0.0, n_outputs=500)
    test_set = compare_all(judged, 2)
    np.testing.assert_array_equal(test_set.metric, test_set.human)


@pytest.mark.parametrize("item_sd", [0.0, 0.5])
def test_metric_scores_correlate_with_latent_scores_over_all_outputs(item_sd: float) -> None:
    law = Latent(np.array([5.0, 5.5, 7.0]), 1.0, item_sd, 0.3)
    score = standardise_scores(latent_scores(stream(4), law, N), law)
    said = metric_scores(stream(5), np.full(3, 0.4), score)
    for product, wanted in ((score, 0), (score**2, 1), (said, 0), (said**2, 1), (said * score, 0.4)):
        assert off(product, wanted) < 5
    plain = standardise_scores(latent_scores(stream(4), law, N), Latent(law.quality, 1.0, 0.5 - item_sd, 0.3))
    assert off(plain**2, 1) > 5


def off(product: np.ndarray, wanted: float) -> float:
    """Return the deviation of a mean over outputs in standard errors; the outputs of an item go together."""
    by_item = product.mean(0)
    return float(abs(by_item.mean() - wanted) / (by_item.std() / np.sqrt(len(by_item))))


def test_a_metric_does_not_see_a_shift_of_all_qualities() -> None:
    said = []
    for shift in (0.0, 4.0):
        contest = latent(stream(1), **LATENT | {"quality": [q + shift for q in LATENT["quality"]]})
        judged = scalar(stream(3), world(contest), correlation=0.4, correlation_sd=0.3, margin=0.2, n_outputs=1000)
        said.append(compare_all(judged, 2).metric)
    np.testing.assert_array_equal(*said)


def test_a_metric_changes_no_human_rating() -> None:
    contest = latent(stream(1), **LATENT | {"n_items": 50})
    alone = compare_all(world(contest), 2).human
    for n_outputs in (20, 50, 500):
        judged = scalar(stream(3), world(contest), correlation=0.4, correlation_sd=0.1, margin=0.0, n_outputs=n_outputs)
        test_set = compare_all(judged, 2)
        np.testing.assert_array_equal(test_set.human, alone)
        assert test_set.metric.shape == (3, n_outputs)


def test_raters_confuse_as_stated() -> None:
    contest = given(stream(1), **GIVEN)
    confusion = [[0.9, 0.2, 0.0], [0.1, 0.6, 0.1], [0.0, 0.2, 0.9]]
    noisy = compare_all(noisy_oracle(stream(0), contest, confusion=confusion), 2).human
    true = compare_all(world(contest), 2).human
    for outcome in range(3):
        said = noisy[0][true[0] == outcome]
        wanted = np.array(confusion)[None, :, outcome]
        assert far(rates(said[None]), np.clip(wanted, 1e-6, 1), len(said)) < 5


def test_recorded_scores_are_compared_by_definition_5() -> None:
    ratings = recorded(
        stream(0),
        path=None,
        sha256=None,
        names=["refA", "ONLINE-W", "ONLINE-A"],
        better=None,
        columns=None,
        people=None,
        where=None,
    )
    assert isinstance(ratings, World)
    contest = require_contest(compared_scores(stream(0), ratings, tie_margin=0.5))
    assert contest.system_names == ("refA", "ONLINE-W", "ONLINE-A")
    score = fixed_ratings(ratings).value.mean(2)  # lower is better
    for pair, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        for item in range(score.shape[1]):
            difference = score[j, item] - score[i, item]
            wanted = 1 if abs(difference) <= 0.5 + 1e-9 else 0 if difference > 0 else 2
            assert contest.recorded[pair, item] == wanted
    test_set = ComparisonLaw(contest, None).draw(stream(5), MetricLaw(400, mu=np.repeat(np.eye(3)[None], 3, 0)))
    np.testing.assert_array_equal(test_set.human, contest.recorded)
    n = contest.recorded.shape[1]
    np.testing.assert_array_equal(test_set.metric[:, :n], contest.recorded)  # a metric that never errs
    more = rates(test_set.metric[:, n:])
    assert far(more, np.clip(rates(contest.recorded), 1e-3, 1), 400 - n) < 5


def test_outputs_of_a_table_that_were_not_rated_are_gaps(tmp_path: Path) -> None:
    rows = [("A", "d", "r", 2), ("A", "d", "s", 1), ("B", "d", "r", 1), ("A", "e", "r", 0), ("C", "f", "r", 0)]
    file = tmp_path / "table.tsv"
    file.write_text(
        "system\tdocument\tsegment\trater\tscore\n" + "".join("{}\t{}\t1\t{}\t{}\n".format(*r) for r in rows)
    )
    ratings = recorded(
        stream(0), path=str(file), sha256=None, names=["A", "B"], better=None, columns=None, people=None, where=None
    )
    compared = compared_scores(stream(0), ratings, tie_margin=0.4)
    assert require_contest(compared).recorded.tolist() == [[2, -1, -1]]
    metric = MetricLaw(5, mu=np.eye(3)[None])
    test_set = ComparisonLaw(require_contest(compared), None).draw(stream(1), metric)
    assert test_set.human.tolist() == [[2, -1, -1]]
    assert test_set.metric.tolist() == [[2] * 5]  # gaps and further outputs follow the recorded rates


def test_gaps_and_ties_of_scores() -> None:
    score = np.array([[1.0, 0.1 + 0.2, np.nan, 5.0], [0.0, 0.3, 1.0, 5.5]])
    assert compare(score, 0.0).tolist() == [[0, 1, -1, 2]]
    assert compare(score, 0.5).tolist() == [[0, 1, -1, 1]]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: given(stream(0), **GIVEN | {"p": [[0.5, 0.6, 0.2]]}), "systems.p"),
        (lambda: given(stream(0), **GIVEN | {"p": [[0.4, 0.2, 0.4]] * 2}), "2 triples"),
        (lambda: given(stream(0), **GIVEN | {"difference": 0.9}), "systems.difference=0.9 exceeds 0.7"),
        (lambda: latent(stream(0), **LATENT | {"quality": [1.0]}), "systems.quality has 1"),
        (
            lambda: read_stochastic([[1, 0], [0, 1]], "metric.mu"),
            "metric.mu has shape .2, 2.; it must be 3 x 3, three rows",
        ),
        (lambda: read_stochastic((MU * 0.9).tolist(), "metric.mu"), "sums to 0.9"),
        (lambda: read_stochastic([[1.2, 0, 0], [-0.2, 1, 0], [0, 0, 1]], "metric.mu"), "no probability"),
        (
            lambda: scalar(stream(0), world(given(stream(0), **GIVEN)), correlation=0.1, correlation_sd=0.0, margin=0.0,
                           n_outputs=3),
            "systems=preference",
        ),
        (lambda: compared_scores(stream(0), given(stream(0), **GIVEN), tie_margin=0.0), "raters=oracle"),
        (lambda: oracle(stream(0), recorded(stream(0), path=None, **NOTHING, names=None)), "raters=compared_scores"),
        (lambda: recorded(stream(0), path=None, **NOTHING, names=["refA", "ONLIN-W"]), "did you mean ONLINE-W"),
        (lambda: recorded(stream(0), path=None, **NOTHING, names=["refA"]), "at least two"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_clear_line(call: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_parts_bind_from_their_yaml() -> None:
    section = {"_target_": "simlab.world.oracles.noisy_oracle", "confusion": MU.tolist()}
    assert bind(section)(stream(0), given(stream(0), **GIVEN)).answers[COMPARE].rater is not None
