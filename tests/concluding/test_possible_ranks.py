"""Ranks and groups follow from verdicts alone."""

from __future__ import annotations

import numpy as np

from simlab.concluding.possible_ranks import bound_ranks, list_groups


def test_nothing_claimed_leaves_every_rank_open() -> None:
    low, high = bound_ranks(np.zeros(6), 4)
    assert low.tolist() == [1] * 4
    assert high.tolist() == [4] * 4
    assert list_groups(np.zeros(6), [2, 0, 1, 3]) == [[2, 0, 1, 3]]


def test_a_full_order_leaves_none_open() -> None:
    low, high = bound_ranks(np.array([1, -1, -1]), 3)
    assert low.tolist() == high.tolist() == [2, 3, 1]
    assert list_groups(np.array([1, -1, -1]), [2, 0, 1]) == []


def test_the_true_ranks_are_held_if_no_claim_is_wrong() -> None:
    rng = np.random.default_rng(5)
    first, second = np.triu_indices(7, 1)
    for _ in range(50):
        quality = rng.permutation(7)
        claims = np.sign(quality[first] - quality[second]) * (rng.random(len(first)) < 0.4)
        low, high = bound_ranks(claims, 7)
        rank = 1 + (quality[None] > quality[:, None]).sum(1)
        assert np.all((low <= rank) & (rank <= high))


def test_groups_are_runs_of_the_order_without_a_claim() -> None:
    verdict = np.zeros(6)
    verdict[2] = 1
    assert list_groups(verdict, [0, 1, 2, 3]) == [[0, 1, 2], [1, 2, 3]]
