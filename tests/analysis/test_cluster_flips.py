"""Flips of whole raters: moments by hand, bounds that say what the test says, few voters, skewed ones."""

from __future__ import annotations

import numpy as np
import pytest
from vote_worlds import World, draw, flips_of_studies

from simlab.analysis.preferences import cluster_flips
from simlab.analysis.preferences.cluster_flips import Lead, Pooling, cluster_sums, flip_leads, reach, studentise_lead
from simlab.analysis.preferences.net_wins import weigh_votes
from simlab.analysis.preferences.votes import Votes, choose_way
from simlab.types import Floats, Ints


def by_hand(c: Floats, n: Floats) -> tuple[float, float, float]:
    """Return total, variance and third moment of contributions c of weights n."""
    left = c - c.sum() / n.sum() * n
    few = n.sum() ** 2 / (n**2).sum()
    stretch = few / (few - 1)
    return c.sum(), (left**2).sum() * stretch, (left**3).sum() * stretch**1.5


def contributions_of(votes: Votes) -> tuple[Floats, Floats]:
    return votes.value.astype(float), np.ones(len(votes.pair))


def test_each_pattern_has_the_moments_of_flipped_raters() -> None:
    held = draw(np.random.default_rng(1), World((0.5, 0.0, -0.5), 200, 5, 200, 0.5, load_sd=0.8))
    (sums,) = cluster_sums(held, "rater", contributions_of(held))
    lead, every = flip_leads(np.random.default_rng(0), [sums], 100)
    assert every
    assert lead.total.shape == (32, 3)
    for k, pattern in enumerate(1.0 - 2.0 * ((np.arange(32)[:, None] >> np.arange(5)) & 1)):
        for pair in range(3):
            of = held.pair == pair
            c = np.bincount(held.rater[of], held.value[of], 5) * pattern
            wanted = by_hand(c, np.bincount(held.rater[of], minlength=5).astype(float))
            found = [one[k, pair] for one in lead]
            np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_who_is_flipped_changes_no_null() -> None:
    """Negating all votes of a rater leaves the statistics of all patterns as they are, which makes flips exact."""
    held = draw(np.random.default_rng(2), World((0.5, 0.0, -0.5), 300, 7, 300, 0.5, load_sd=0.5))
    nulls = []
    for sign in (1, -1):
        value = np.where(held.rater == 3, sign, 1) * held.value
        each = value.astype(float), np.ones(len(value))
        sums = cluster_sums(held, "rater", each)
        by = cluster_flips.pool_variances(sums, np.bincount(held.pair, each[0] ** 2), np.ones(3, bool))
        lead, _ = flip_leads(np.random.default_rng(0), sums, 200)
        nulls.append(np.sort(np.abs(studentise_lead(lead, by, sums[0].n).statistic).max(1)))
    np.testing.assert_allclose(nulls[0], nulls[1], rtol=1e-9)


@pytest.mark.parametrize("third", [-0.8, 0.0, 0.3])
def test_the_statistic_is_at_its_bar_where_the_reach_ends(third: float) -> None:
    by = Pooling(np.ones(1), np.ones(1), np.zeros(1, bool), 0.0)
    bend = studentise_lead(Lead(np.zeros(1), np.ones(1), np.full(1, third)), by, np.ones(1)).bend
    for side, t in zip((-2.5, 2.5), reach(bend, 2.5), strict=True):
        at = studentise_lead(Lead(t, np.ones(1), np.full(1, third)), by, np.ones(1)).statistic
        assert at[0] == pytest.approx(side, abs=1e-6)


def crossed(rng: np.random.Generator, voters: int, items: int, shift: float) -> Votes:
    """Let all voters compare two systems on all items."""
    rater, item = np.repeat(np.arange(voters), items), np.tile(np.arange(items), voters)
    d = shift + 0.4 * rng.standard_normal(voters)[rater] + 0.4 * rng.standard_normal(items)[item]
    value = np.where(d + rng.standard_normal(len(rater)) > 0, 1, -1).astype(np.int64)
    return Votes(rater * 0, value, rater, item, 2)


def test_few_voters_who_meet_all_items_are_heard() -> None:
    rng, found, by_squares_about_0 = np.random.default_rng(3), [], []
    for _ in range(60):
        held = crossed(rng, 8, 12, 0.6)
        assert choose_way(held) == "both"
        of = weigh_votes(rng, held, "both", np.ones(1, bool), 0.05, 499)
        found.append(bool(of.claimed[0] and of.difference[0] > 0 and of.low[0] >= 0))
        rater, item, _ = (one.squares[0] for one in cluster_sums(held, "both", contributions_of(held)))
        by_squares_about_0.append(held.value.sum() / np.sqrt(rater + item - len(held.pair)) > 1.96)
    assert np.mean(found) > 0.6
    # Negative control: squares about 0 hold the difference itself, once for voters and once for items.
    assert np.mean(by_squares_about_0) < np.mean(found) - 0.2


def test_pairs_of_one_vote_borrow_their_error() -> None:
    rng = np.random.default_rng(4)
    held = draw(rng, World((0.0,) * 12, 300, 40, 60, 0.4, 0.4, load_sd=1.0, pair_sd=1.5))
    counts = np.bincount(held.pair, minlength=held.n_pairs)
    assert (counts == 1).any()
    of = weigh_votes(rng, held, choose_way(held), np.ones(held.n_pairs, bool), 0.05, 499)
    single = counts == 1
    assert not of.claimed[single].any()
    assert (of.sd[single] > 0).all()
    assert (of.adjusted[single] > 0.2).all()


def leads(rng: np.random.Generator, studies: int) -> Ints:
    """Draw 25 voters of 40 votes each: one in five always prefers one system, the others prefer the other a little."""
    win = np.where(rng.random((studies, 25)) < 0.2, 1.0, 0.375)
    return np.asarray(2 * rng.binomial(40, win) - 40, np.int64)


def test_skewed_tastes_keep_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    lead = leads(np.random.default_rng(5), 3000)
    error = (0.05 * 0.95 / 3000) ** 0.5
    assert (flips_of_studies(lead, 40, 999) <= 0.05).mean() < 0.05 + 3 * error
    # Negative control: a sign is no fair coin where tastes are skewed.
    monkeypatch.setattr(cluster_flips, "SKEW", 0.0)
    assert (flips_of_studies(lead, 40, 999) <= 0.05).mean() > 0.05 + 3 * error
