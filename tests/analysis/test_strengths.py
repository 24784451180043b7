"""Strengths of systems: against a kept library, closed forms, separation, and votes that hold up the top."""

from __future__ import annotations

import choix
import numpy as np
import pytest
from scipy.optimize import minimize
from vote_worlds import World, draw

from simlab.analysis.preferences.scales import drop, explain_scale, scale
from simlab.analysis.preferences.strengths import (
    contrast_errors,
    covariances,
    distances,
    effective_clusters,
    fit,
    probabilities,
    win_shares,
)
from simlab.analysis.preferences.votes import Votes, choose_way, way_of_all
from simlab.types import Floats

SIX = (0.8, 0.4, 0.2, 0.0, -0.4, -1.0)


def test_without_ties_strengths_are_those_of_choix() -> None:
    held = draw(np.random.default_rng(1), World(SIX, 600, 600, 600, tie_odds=0.0))
    first, second = np.triu_indices(6, 1)
    i, j = first[held.pair], second[held.pair]
    won = [(int(a), int(b)) if v > 0 else (int(b), int(a)) for a, b, v in zip(i, j, held.value, strict=True)]
    found = fit(held.counts(), 6)
    np.testing.assert_allclose(found.value, choix.ilsr_pairwise(6, won), atol=1e-6)


def test_with_ties_strengths_are_at_the_top_of_davidsons_likelihood() -> None:
    counts = draw(np.random.default_rng(2), World(SIX, 900, 900, 900)).counts()

    def loss(at: Floats) -> float:
        return float(-(counts * np.log(probabilities(distances(at[:6]), at[6]))).sum() + (at[:6].sum()) ** 2)

    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-8}).x
    found = fit(counts, 6)
    np.testing.assert_allclose(found.value, best[:6] - best[:6].mean(), atol=1e-4)
    assert found.log_ties == pytest.approx(best[6], abs=1e-4)


def test_two_systems_have_a_closed_form() -> None:
    found = fit(np.array([[30, 12, 10]]), 2)
    assert np.diff(found.value)[0] == pytest.approx(-np.log(3))
    assert np.exp(found.log_ties) == pytest.approx(12 / np.sqrt(300))
    share, _ = win_shares(found)
    assert share[0] == pytest.approx((30 + 6) / 52)


def test_errors_of_independent_votes_are_those_of_the_model() -> None:
    held = draw(np.random.default_rng(3), World(SIX, 20_000, 20_000, 20_000))
    found = fit(held.counts(), 6)
    (sandwich,) = covariances(held, "vote", found)
    np.testing.assert_allclose(np.diag(sandwich), np.diag(found.bread), rtol=0.06)


def test_clusters_of_alike_votes_count_once() -> None:
    held = draw(np.random.default_rng(4), World(SIX, 500, 500, 500))
    often = Votes(*(np.repeat(x, 4) for x in (held.pair, held.value, held.rater, held.item)), 6)
    one, four = fit(held.counts(), 6), fit(often.counts(), 6)
    np.testing.assert_allclose(one.value, four.value, atol=1e-8)
    alone, together = covariances(held, "vote", one)[0], covariances(often, "rater", four)[0]
    np.testing.assert_allclose(np.diag(alone), np.diag(together), rtol=1e-6)


def test_gradients_of_shares_are_slopes() -> None:
    found = fit(draw(np.random.default_rng(5), World(SIX, 900, 900, 900)).counts(), 6)
    share, gradient = win_shares(found)
    step = np.zeros(7)
    step[2], step[6] = 1e-6, 2e-6
    from dataclasses import replace

    moved, _ = win_shares(replace(found, value=found.value + step[:6], log_ties=found.log_ties + step[6]))
    np.testing.assert_allclose((moved - share), gradient @ step, atol=1e-10)
    assert share.mean() == pytest.approx(0.5)


def test_who_won_all_has_no_upper_bound() -> None:
    counts = np.array([[20, 0, 0], [20, 0, 0], [10, 3, 12]])
    found = fit(counts, 3)
    assert found.without_upper.tolist() == [True, False, False]
    assert found.without_lower.tolist() == [False, True, True]
    assert np.isfinite(found.value).all()
    held = Votes(np.repeat([0, 1, 2], [20, 20, 25]), _values(counts), np.arange(65), np.arange(65), 3)
    said = scale(np.random.default_rng(0), held, "vote", found, 0.05)
    assert np.isinf(said.high[:2]).all()
    assert np.isfinite([said.low[2], said.high[2]]).all()
    assert said.verdict.tolist() == [1, 1, 0]


def test_no_scale_holds_two_parts() -> None:
    counts = np.zeros((6, 3), int)
    counts[0], counts[5] = (9, 1, 4), (3, 1, 8)
    found = fit(counts, 4)
    assert found.part.tolist() == [0, 0, 1, 1]
    assert found.value[:2].sum() == pytest.approx(0)
    assert found.value[2:].sum() == pytest.approx(0)
    held = Votes(np.repeat([0, 5], [14, 12]), _values(counts), np.arange(26), np.arange(26), 4)
    said = scale(np.random.default_rng(0), held, "vote", found, 0.05)
    assert np.isnan(said.difference[1:5]).all()
    assert not said.verdict[1:5].any()


def test_numbers_of_clusters_count_by_their_loads() -> None:
    assert effective_clusters(np.repeat(np.arange(10), 5)) == pytest.approx(10)
    assert effective_clusters(np.array([0] * 90 + list(range(1, 11)))) < 1.3


def test_one_strength_each_is_put_to_a_test() -> None:
    held = draw(np.random.default_rng(6), World(SIX, 900, 900, 900))
    assert explain_scale(held, "vote", fit(held.counts(), 6)).p_value > 0.01
    cycle = np.array([[40, 0, 10], [10, 0, 40], [40, 0, 10]])
    round_ = Votes(np.repeat([0, 1, 2], 50), _values(cycle), np.arange(150), np.arange(150), 3)
    assert explain_scale(round_, "vote", fit(cycle, 3)).p_value < 1e-6


def test_a_handful_of_votes_holds_up_a_narrow_top() -> None:
    counts = np.array([[52, 0, 48], [70, 0, 30], [68, 0, 32]])
    found = drop(counts, fit(counts, 3))
    assert found is not None
    assert (found.top, found.rival) == (0, 1)
    assert 3 <= found.n <= 8
    wide = np.array([[90, 0, 10], [95, 0, 5], [60, 0, 40]])
    robust = drop(wide, fit(wide, 3))
    assert robust is not None
    assert np.isinf(robust.n)


def test_dropped_votes_are_enough_and_nearly_the_fewest() -> None:
    counts = np.array([[55, 10, 45]])
    found = drop(counts, fit(counts, 2))
    assert found is not None
    assert found.n == 10


def test_errors_of_several_ways_are_the_largest() -> None:
    one, two = np.eye(3), 4 * np.eye(3)
    assert contrast_errors(np.array([[1.0, -1.0, 0.0]]), [one, two])[0] == pytest.approx(np.sqrt(8))


def test_ways_of_pairs_and_of_all_may_differ() -> None:
    held = draw(np.random.default_rng(9), World((0.0,) * 20, 400, 40, 4000))
    assert way_of_all(held) in ("rater", "both")
    assert choose_way(held) in ("vote", "rater", "both")


def _values(counts: Floats) -> Floats:
    return np.concatenate([np.repeat([1, 0, -1], row) for row in counts if row.sum()])


@pytest.mark.parametrize("counts", [[[4, 3, 0]], [[30, 16, 0]], [[0, 9, 2]], [[5, 2, 0], [0, 0, 0], [0, 3, 2]]])
def test_wins_and_ties_without_losses_have_strengths(counts: list[list[int]]) -> None:
    n = 2 if len(counts) == 1 else 3
    found = fit(np.array(counts), n)
    assert np.isfinite(found.value).all()
    assert found.separated
    assert (found.value[0] > found.value[1]) == (counts[0][0] > 0)
