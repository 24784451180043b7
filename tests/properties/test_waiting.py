"""The protocol on a clock: batches in whatever order they come end where `last_looks` says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.design.protocol import find_last_looks
from simlab.design.waiting import Batch, Rounds, Wait
from simlab.types import Ints


def campaign(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw where a rule would stop, what looks cost (some nothing), and the order of the pairs."""
    rng = np.random.default_rng(seed)
    stop, cost = rng.random((6, 8)) < 0.15, np.full((6, 8), 5)
    cost[:, -1] = 2
    cost[:, 0] = 0
    for pair in range(6):
        cost[pair, rng.integers(1, 9) :] = 0
    return stop, cost, rng.permutation(6)


def carried(rounds: Rounds, seed: int) -> list[Batch]:
    """Hand in batches in a random order until nothing is asked for any more."""
    rng = np.random.default_rng(seed)
    out, all_of_them = rounds.begin(), []
    while out:
        batch = out.pop(rng.integers(len(out)))
        all_of_them.append(batch)
        out += rounds.record_arrival(batch[0])
    return all_of_them


def told(stop: np.ndarray, cost: np.ndarray, order: Ints, budget: int | None, wait: Wait) -> Rounds:
    return Rounds(cost, order, budget, wait, lambda end: stop[np.arange(6), end])


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([None, 0, 7, 40, 95, 10**6]))
def test_rounds_end_where_the_protocol_ends_without_a_clock(seed: int, budget: int | None) -> None:
    stop, cost, order = campaign(seed)
    rounds = told(stop, cost, order, budget, "round")
    batches = carried(rounds, seed)
    wanted = find_last_looks(stop[None], cost[None], budget, order[None])[0]
    np.testing.assert_array_equal(rounds.end, wanted)
    assert len(set(batches)) == len(batches)
    assert [look for _, look in batches] == sorted(look for _, look in batches)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([None, 0, 7, 40, 95, 10**6]))
def test_pairs_that_wait_for_nobody_get_as_far_unless_the_budget_ends(seed: int, budget: int | None) -> None:
    stop, cost, order = campaign(seed)
    rounds = told(stop, cost, order, budget, "pair")
    batches = carried(rounds, seed)
    spent = sum(cost[pair, look] for pair, look in batches)
    assert budget is None or spent <= budget
    wanted = find_last_looks(stop[None], cost[None], None, order[None])[0]
    assert (rounds.end <= wanted).all()
    if budget is None or cost[np.arange(8) <= wanted[:, None]].sum() <= budget:
        np.testing.assert_array_equal(rounds.end, wanted)


def test_a_round_waits_for_the_last_of_its_pairs() -> None:
    stop, cost, order = np.zeros((6, 8), bool), np.full((6, 8), 5), np.arange(6)
    rounds = told(stop, cost, order, None, "round")
    assert rounds.begin() == [(pair, 1) for pair in range(6)]
    assert not any(rounds.record_arrival(pair) for pair in range(5))
    assert rounds.record_arrival(5) == [(pair, 2) for pair in range(6)]
    alone = told(stop, cost, order, None, "pair")
    alone.begin()
    assert alone.record_arrival(3) == [(3, 2)]  # and here it does not: the control
