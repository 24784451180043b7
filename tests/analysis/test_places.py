"""What a place is worth is no difference of systems: levels hold, and the rule that knows no places exceeds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from placed_votes import PlacedWorld, draw_placed
from scipy.stats import fisher_exact

from simlab.analysis.preferences.anytime_votes import is_fresh, weigh_anytime
from simlab.analysis.preferences.net_wins import weigh_votes
from simlab.analysis.preferences.places import (
    contributions,
    fisher_p_values,
    join_orders,
    known_orders,
    list_followers,
    match_orders,
)
from simlab.analysis.preferences.votes import Votes, choose_way

LEVEL = 0.05
WORLDS = {
    "one order more often": PlacedWorld(60, toward=0.75),
    "a little more often": PlacedWorld(60, toward=0.6),
    "four systems": PlacedWorld(180, n_systems=4, toward=0.7),
    "ten raters": PlacedWorld(100, n_raters=10, toward=0.7, taste_sd=0.7),
    "raters and items": PlacedWorld(200, n_raters=12, n_items=20, toward=0.7, taste_sd=0.5, output_sd=0.5),
    "documents": PlacedWorld(80, documents=8, output_sd=1.0, first=0.0),
    "both orders, one rater": PlacedWorld(40, n_raters=1, twice=True),
    "both orders, nobody named": PlacedWorld(40, twice=True),
}
QUICK = ("one order more often", "ten raters", "documents")


def some_claim(rng: np.random.Generator, world: PlacedWorld, *, placed: bool = True) -> bool:
    """Draw a study and say whether anything is claimed; `placed` False: by a rule that knows no places or documents."""
    votes = draw_placed(rng, world)
    held = join_orders(votes).votes if placed else replace(votes, place=None)
    if placed and world.documents:
        held = replace(held, item=held.item % world.documents, documents=True)
    elif world.documents:
        # Items of the same number in two documents were taken for one.
        held = replace(held, item=held.item // world.documents)
    return bool(weigh_votes(rng, held, choose_way(held), np.ones(held.n_pairs, bool), LEVEL, 199).claimed.any())


def share(world: PlacedWorld, n: int, *, placed: bool = True) -> float:
    rng = np.random.default_rng(5)
    return float(np.mean([some_claim(rng, world, placed=placed) for _ in range(n)]))


def allowed(n: int) -> float:
    return LEVEL + 5 * float(np.sqrt(LEVEL * (1 - LEVEL) / n))


@pytest.mark.parametrize("name", QUICK)
def test_equal_systems_are_told_apart_no_more_often_than_promised(name: str) -> None:
    assert share(WORLDS[name], 80) <= allowed(80)


@pytest.mark.long
@pytest.mark.parametrize("name", list(WORLDS))
def test_the_level_holds_in_every_world_of_places(name: str) -> None:
    assert share(WORLDS[name], 2000) <= LEVEL + 3 * float(np.sqrt(LEVEL * (1 - LEVEL) / 2000))


@pytest.mark.parametrize("name", QUICK)
def test_a_rule_that_knows_no_places_exceeds_its_level(name: str) -> None:
    assert share(WORLDS[name], 80, placed=False) > allowed(80)


@pytest.mark.parametrize(("name", "least"), [("four systems", 0.8), ("both orders, one rater", 0.4)])
def test_systems_that_differ_are_found_at_equal_places(name: str, least: float) -> None:
    assert share(replace(WORLDS[name], strength=0.8), 60) >= least


def test_anytime_evidence_is_of_fair_coins_whatever_the_place_is_worth() -> None:
    rng, claimed = np.random.default_rng(2), {True: 0, False: 0}
    for _ in range(80):
        votes = draw_placed(rng, PlacedWorld(150, toward=0.8, first=2.0))
        for matched in claimed:
            held = votes.select_votes(is_fresh(votes, raters_drawn=True))
            held = match_orders(held) if matched else held
            claimed[matched] += bool(weigh_anytime(held, np.ones(1, bool), LEVEL, True)[0].claimed.any())
    assert claimed[True] <= 80 * allowed(80) < claimed[False]


def test_answers_in_both_orders_are_one_answer_or_none() -> None:
    pair = np.zeros(7, int)
    item, place = np.array([0, 0, 1, 1, 2, 2, 3]), np.array([1, -1, 1, -1, -1, 1, 1])
    value = np.array([1, 1, 1, -1, -1, -1, 1])
    found = join_orders(Votes(pair, value, pair, item, 2, place))
    assert (found.n_repeated, found.flipped) == (3, 1)
    assert found.votes.value.tolist() == [1, -1, 1]
    assert found.votes.item.tolist() == [0, 2, 3]
    assert found.votes.place is not None
    assert found.votes.place.tolist() == [0, 0, 1]


def test_nobody_in_particular_asks_in_both_orders_only_where_nearly_all_is_asked_so() -> None:
    rng = np.random.default_rng(3)
    crowd = draw_placed(rng, PlacedWorld(200, n_items=40))
    assert join_orders(crowd).n_repeated == 0
    assert join_orders(draw_placed(rng, PlacedWorld(50, twice=True))).n_repeated == 50


def test_the_difference_at_equal_places_is_the_mean_of_both_orders() -> None:
    rng = np.random.default_rng(7)
    votes = draw_placed(rng, PlacedWorld(300, toward=0.8, strength=0.5))
    assert votes.place is not None
    value, weight = contributions(votes)
    means = [votes.value[votes.place == side].mean() for side in (1, -1)]
    assert value.sum() / weight.sum() == pytest.approx(np.mean(means))
    turned = replace(votes, value=-votes.value, place=-votes.place)
    assert contributions(turned)[0].sum() == pytest.approx(-value.sum())


def test_one_order_alone_tells_nothing() -> None:
    votes = draw_placed(np.random.default_rng(1), PlacedWorld(60, toward=1.0, strength=2.0))
    found = weigh_votes(np.random.default_rng(0), votes, "vote", np.ones(1, bool), LEVEL)
    assert known_orders(votes).one_way.all()
    assert not found.claimed.any()
    assert (found.low[0], found.high[0], found.p_value[0]) == (-1, 1, 1)


def test_fishers_test_is_that_of_scipy() -> None:
    rng = np.random.default_rng(4)
    tables = rng.integers(0, 9, (60, 4))
    ours = fisher_p_values(*tables.T)
    theirs = [fisher_exact(one.reshape(2, 2)).pvalue for one in tables]
    assert ours == pytest.approx(theirs)


def test_who_follows_the_place_is_found_among_others() -> None:
    votes = draw_placed(np.random.default_rng(8), PlacedWorld(400, n_systems=3, n_raters=8, first=0.2, strength=1.0))
    assert votes.place is not None
    assert list_followers(votes) == []
    value = np.where(votes.rater == 3, -votes.place, votes.value)
    (found,) = list_followers(replace(votes, value=value))
    assert (found.rater, found.first, found.share) == (3, False, 1)
    assert 0.3 < found.chance < 0.7
