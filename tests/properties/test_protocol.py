"""The protocol against a literal rereading of Algorithm 2; evidence against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.analysis.preferences.partial_order import is_on_cycle, partial_order
from simlab.design.protocol import find_last_looks, gather, list_looks, order_items
from simlab.types import TestSet


def literal(stop: np.ndarray, cost: np.ndarray, budget: float, order: np.ndarray) -> np.ndarray:
    """Collect batch after batch for one campaign, as a person would."""
    undecided = [pair for pair in order if not stop[pair, 0]]
    end = np.zeros(len(stop), int)
    for look in range(1, stop.shape[1]):
        served = []
        for pair in undecided:
            if cost[pair, look] > budget:
                break
            budget -= cost[pair, look]
            end[pair] = look
            served.append(pair)
        if len(served) < len(undecided):
            break
        undecided = [pair for pair in undecided if not stop[pair, look]]
    return end


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([None, 0, 7, 40, 95, 10**6]))
def test_collecting_ends_where_a_literal_reading_of_the_algorithm_ends_it(seed: int, budget: int | None) -> None:
    rng = np.random.default_rng(seed)
    stop = rng.random((3, 6, 8)) < 0.15
    cost = np.full((3, 6, 8), 5)
    cost[:, :, 0], cost[:, :, -1] = 0, 2
    order = np.stack([rng.permutation(6) for _ in range(3)])
    ends = find_last_looks(stop, cost, budget, order)
    for campaign in range(3):
        wanted = literal(stop[campaign], cost[campaign], np.inf if budget is None else budget, order[campaign])
        np.testing.assert_array_equal(ends[campaign], wanted)


def test_a_budget_is_never_overspent() -> None:
    rng = np.random.default_rng(1)
    cost = np.full((50, 10, 21), 10)
    cost[:, :, 0] = 0
    order = np.tile(np.arange(10), (50, 1))
    ends = find_last_looks(rng.random((50, 10, 21)) < 0.05, cost, 333, order)
    spent = 10 * ends.sum(1)
    assert (spent <= 333).all()
    assert (spent >= 300).any()  # and it is used


@pytest.mark.parametrize("metric_items", [None, 8, 20, 33])
@pytest.mark.parametrize("shared", [True, False])
def test_evidence_is_what_counting_by_hand_gives(metric_items: int | None, shared: bool) -> None:
    rng = np.random.default_rng(2)
    human = rng.integers(0, 3, (3, 20)).astype(np.int8)
    human[1, 5:9] = -1  # a gap
    metric = None if metric_items is None else rng.integers(0, 3, (3, metric_items)).astype(np.int8)
    order = order_items(rng, human, shared=shared)
    evidence = gather(TestSet(human, metric), order, list_looks(20, 6, 20))
    assert list(evidence.annotations) == [0, 6, 12, 18, 20]
    for pair in range(3):
        items = [item for item in order[pair] if human[pair, item] >= 0]
        for look, n in enumerate(evidence.annotations):
            asked = items[:n]
            counts, confusion = np.zeros(3, int), np.zeros((3, 3), int)
            rest = np.zeros(3, int) if metric is None else np.bincount(metric[pair], minlength=3)
            for item in asked:
                counts[human[pair, item]] += 1
                if metric is not None and item < metric_items:
                    confusion[metric[pair, item], human[pair, item]] += 1
                    rest[metric[pair, item]] -= 1
            np.testing.assert_array_equal(evidence.human[pair, look], counts)
            np.testing.assert_array_equal(evidence.confusion[pair, look], confusion)
            np.testing.assert_array_equal(evidence.metric[pair, look], rest)


def test_pairs_share_an_order_only_where_asked() -> None:
    human = np.zeros((4, 50), np.int8)
    shared = order_items(np.random.default_rng(3), human, shared=True)
    assert (shared == shared[0]).all()
    own = order_items(np.random.default_rng(3), human, shared=False)
    assert len({tuple(row) for row in own}) == 4
    np.testing.assert_array_equal(np.sort(own, axis=1), np.sort(shared, axis=1))


def test_an_order_without_cycles_is_transitively_reduced_and_cycles_are_reported() -> None:
    order = partial_order([1, 1, 1, 1, 1, 1], "abcd")
    assert order.ranks == (("a",), ("b",), ("c",), ("d",))
    assert order.beats == (("a", "b"), ("b", "c"), ("c", "d"))
    assert order.cycles == ()
    round_the_way = partial_order([1, -1, 1, 1, 1, 1], "abcd")  # a > b > c > a, and all beat d
    assert round_the_way.cycles == (("a", "b", "c"),)
    assert round_the_way.ranks == (("a", "b", "c"), ("d",))
    np.testing.assert_array_equal(is_on_cycle(np.array([[1, -1, 1, 1, 1, 1]])), [[True, True, True, False]])
    nothing = partial_order([0] * 6, "abcd")
    assert nothing.ranks == (tuple("abcd"),)
    assert nothing.beats == ()
