"""Tests of votes on pairs: what is independent, flips, bounds, evidence that always holds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from vote_worlds import World, draw

from simlab.analysis.multiplicity import holm
from simlab.analysis.preferences.anytime_votes import anytime_bounds, highest_evidence, is_fresh, weigh_anytime
from simlab.analysis.preferences.net_wins import weigh_votes
from simlab.analysis.preferences.sequential import mixture_evidence
from simlab.analysis.preferences.votes import Votes, choose_way, way_of_all


def votes(pair: list[int], value: list[int], rater: list[int], item: list[int], n_systems: int = 2) -> Votes:
    return Votes(*(np.array(column) for column in (pair, value, rater, item)), n_systems)


def test_who_votes_once_on_items_of_their_own_is_independent() -> None:
    n = np.arange(20)
    alone = Votes(n * 0, n % 3 - 1, n, n, 2)
    assert choose_way(alone) == "vote"
    assert choose_way(Votes(n * 0, n % 3 - 1, n // 2, n, 2)) == "rater"
    assert choose_way(Votes(n * 0, n % 3 - 1, n, n // 2, 2)) == "item"
    assert choose_way(Votes(n * 0, n % 3 - 1, n * 0 - 1, n * 0 - 1, 2)) == "vote"


def test_few_raters_are_given_and_crossed_ones_count_both_ways() -> None:
    rng = np.random.default_rng(1)
    assert choose_way(draw(rng, World((0.0, 0.0), 200, 4, 30))) == "item"
    assert choose_way(draw(rng, World((0.0, 0.0), 200, 12, 30))) == "both"
    assert choose_way(draw(rng, World((0.0, 0.0), 200, 12, 3))) == "rater"


def test_pairs_share_items_where_no_pair_meets_one_twice() -> None:
    pair, item = np.tile(np.arange(3), 20), np.repeat(np.arange(20), 3)
    held = Votes(pair, pair % 3 - 1, np.arange(60) % 2, item, 3)
    assert choose_way(held) == "vote"
    assert way_of_all(held) == "item"


def test_independent_votes_are_held_to_the_exact_sign_test() -> None:
    held = draw(np.random.default_rng(2), World((0.5, 0.0, -0.5), 120, 120, 120))
    found = weigh_votes(np.random.default_rng(0), held, "vote", np.ones(3, bool), 0.05)
    wins, _, losses = held.counts().T
    exact = [binomtest(int(w), int(w + x)).pvalue for w, x in zip(wins, losses, strict=True)]
    np.testing.assert_allclose(found.p_value, exact)
    np.testing.assert_allclose(found.adjusted, holm(np.array(exact)))


def test_flips_of_few_raters_are_all_there() -> None:
    rater = np.repeat(np.arange(7), 5)
    held = Votes(rater * 0, np.ones(35, int), rater, np.arange(35), 2)
    found = weigh_votes(np.random.default_rng(0), held, "rater", np.ones(1, bool), 0.05)
    assert found.p_value[0] == pytest.approx(2 / 2**7)
    assert found.claimed[0]


def test_a_rater_who_repeats_one_opinion_settles_nothing() -> None:
    rng = np.random.default_rng(3)
    rater = np.repeat(np.arange(6), 100)
    value = np.where(rater == 0, 1, rng.choice([-1, 1], 600))
    held = Votes(rater * 0, value, rater, np.arange(600), 2)
    assert not weigh_votes(rng, held, "rater", np.ones(1, bool), 0.05).claimed[0]
    assert weigh_votes(rng, held, "vote", np.ones(1, bool), 0.05).p_value[0] < 0.05


def test_bounds_say_what_claims_say() -> None:
    for seed in range(20):
        held = draw(np.random.default_rng(seed), World((0.6, 0.2, 0.0, -0.6), 400, 30, 40, 0.3, 0.3))
        found = weigh_votes(np.random.default_rng(0), held, choose_way(held), np.ones(6, bool), 0.05, 499)
        assert (found.claimed <= ((found.low >= 0) | (found.high <= 0))).all()
        assert (~found.claimed <= ((found.low <= 0) & (found.high >= 0))).all()
        assert ((found.low <= found.difference) & (found.difference <= found.high)).all()


def test_all_ties_do_not_say_that_there_are_only_ties() -> None:
    n = np.arange(30)
    found = weigh_votes(np.random.default_rng(0), Votes(n * 0, n * 0, n, n, 2), "vote", np.ones(1, bool), 0.05)
    assert found.p_value[0] == 1
    assert 0.05 < found.high[0] < 0.3
    assert found.low[0] == pytest.approx(-found.high[0])


def test_pairs_never_compared_are_not_known() -> None:
    found = weigh_votes(np.random.default_rng(0), votes([0], [1], [0], [0], 3), "vote", np.ones(3, bool), 0.05)
    assert np.isnan(found.p_value[1:]).all()
    assert np.isnan(found.low[1:]).all()
    assert not found.claimed.any()


def test_turning_a_pair_round_turns_all_round() -> None:
    held = draw(np.random.default_rng(4), World((0.4, 0.0), 200, 200, 200))
    turned = Votes(held.pair, -held.value, held.rater, held.item, 2)
    one, other = (weigh_votes(np.random.default_rng(0), x, "vote", np.ones(1, bool), 0.05) for x in (held, turned))
    assert one.low[0] == pytest.approx(-other.high[0])
    assert one.p_value[0] == other.p_value[0]


def test_fresh_votes_have_new_voters_and_items() -> None:
    held = votes([0, 0, 0, 0, 1], [1, 1, 1, -1, 1], [0, 0, 1, 2, 0], [0, 1, 0, 2, 0], 3)
    assert is_fresh(held, raters_drawn=True).tolist() == [True, False, False, True, True]
    assert is_fresh(held, raters_drawn=False).tolist() == [True, True, False, True, True]


def test_who_is_not_named_is_new() -> None:
    assert is_fresh(votes([0, 0], [1, 1], [-1, -1], [-1, -1]), raters_drawn=True).all()


def test_evidence_is_the_highest_on_the_way() -> None:
    value = np.array([1] * 12 + [-1] * 30 + [0] * 5)
    held = Votes(value * 0, value, np.arange(47), np.arange(47), 2)
    after = [mixture_evidence(np.array([min(k, 12), 0, max(k - 12, 0)]), 10.0) for k in range(1, 43)]
    log_e, ahead = highest_evidence(held, ordered=True)
    assert log_e[0] == pytest.approx(max(after))
    assert ahead[0] == (1 if int(np.argmax(after)) < 23 else -1)
    at_once, _ = highest_evidence(held, ordered=False)
    assert at_once[0] == pytest.approx(after[-1])


def test_bounds_that_always_hold_are_wider_than_one_look() -> None:
    counts = np.array([[60, 20, 20], [0, 5, 0], [1, 0, 0]])
    low, high = anytime_bounds(counts, np.log(20))
    assert low[0] < 0.4 < high[0]
    assert high[0] - low[0] > 2 * 1.96 * np.sqrt((0.8 - 0.16) / 100)
    assert low[1] == pytest.approx(-high[1])
    assert high[2] == 1.0


def test_bounds_that_always_hold_meet_a_search() -> None:
    counts = np.array([[12, 5, 4]])
    _, high = anytime_bounds(counts, np.log(20))
    grid = np.linspace(0.0005, 0.9995, 700)
    plus, minus = np.meshgrid(grid, grid)
    tie = 1 - plus - minus
    inside = tie > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        fits = 12 * np.log(plus) + 5 * np.log(tie) + 4 * np.log(minus)
    from scipy.special import gammaln

    mixture = gammaln(3) + gammaln(13) + gammaln(6) + gammaln(5) - gammaln(24)
    allowed = inside & (fits >= mixture - np.log(20))
    assert (plus - minus)[allowed].max() == pytest.approx(high[0], abs=0.01)


def test_claims_at_any_time_are_of_who_was_ahead() -> None:
    value = np.array([1] * 60 + [-1] * 10)
    held = Votes(value * 0, value, np.arange(70), np.arange(70), 2)
    found, ahead = weigh_anytime(held, np.ones(1, bool), 0.05, ordered=True)
    assert found.claimed[0]
    assert ahead[0] == 1
    assert found.low[0] > 0
