"""Check what every deal promises, on random worlds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.design.balance import bar_asked_raters, deal_evenly, deal_to_entropy, deal_twin, lay_table, load
from simlab.design.documents import draw_documents, spread_over_buckets
from simlab.design.grouping import pseudo_side_by_side, system_balanced, ungrouped
from simlab.formulas import least_entropy, normalized_entropy
from simlab.rng import stream
from simlab.types import DesignFailure, Frame
from simlab.world.raters import seat_raters

GROUPINGS = [pseudo_side_by_side, system_balanced, ungrouped]


def frame(n_systems: int, bucket_sizes: list[int], pool: int = 7, seats: int = 3, segments: int = 2) -> Frame:
    bucket = np.repeat(np.arange(len(bucket_sizes)), bucket_sizes)
    document = np.repeat(np.arange(len(bucket)), segments)
    seated = seat_raters(len(bucket_sizes), pool, seats)[bucket[document]]
    names = tuple(map(str, range(max(pool, n_systems, len(bucket)))))
    rater = np.broadcast_to(seated, (n_systems, len(document), seats))
    return Frame(document, bucket, rater, names[:n_systems], names[: len(bucket)], names[:pool], True)


worlds = st.builds(
    frame, st.integers(2, 5), st.lists(st.integers(1, 9), min_size=1, max_size=7), st.integers(4, 8), st.integers(2, 4)
)


@settings(max_examples=60, deadline=None)
@given(worlds, st.sampled_from(GROUPINGS), st.integers(1, 2), st.integers(0, 2**32), st.data())
def test_even_deals(world: Frame, grouping, k: int, seed: int, data: st.DataObject) -> None:
    table = lay_table(world, grouping(world), k)
    n = data.draw(st.integers(1, world.n_documents))
    documents = draw_documents(stream(seed, "d"), world.bucket, table.rateable, n)
    asked = deal_evenly(stream(seed, "deal"), table, documents)
    assert documents.sum() == n
    assert (asked.slot[:, ~documents] == -1).all()
    chosen = asked.slot[:, documents]
    assert chosen.min() >= 0
    assert (np.diff(np.sort(chosen, axis=2), axis=2) > 0).all()  # k different raters
    if grouping is pseudo_side_by_side:
        assert (chosen == chosen[:1]).all()
    for pile in np.unique(table.groups.pile):
        members = np.unique(table.groups.unit[:, documents])
        members = members[table.groups.pile[members] == pile]
        where = [np.argwhere((table.groups.unit == u) & documents)[0] for u in members]
        choices = [tuple(asked.slot[s, d]) for s, d in where]
        if choices:
            bucket = world.bucket[where[0][1]]
            counts = [choices.count(tuple(c)) for c in table.slots[bucket][: table.n_choices[bucket]]]
            assert max(counts) - min(counts) <= 1  # dealt round-robin


@settings(max_examples=40, deadline=None)
@given(worlds, st.sampled_from(GROUPINGS), st.integers(0, 2**32))
def test_twins_share_no_rater_and_keep_the_balance(world: Frame, grouping, seed: int) -> None:
    table = lay_table(world, grouping(world), 1)
    everything = np.ones(world.n_documents, bool)
    asked = deal_evenly(stream(seed), table, everything)
    twin = deal_twin(stream(seed, 1), table, everything, asked)
    assert (asked.slot != twin.slot).all()
    assert twin.slot.min() >= 0
    assert (twin.slot[..., 0] < table.n_choices[world.bucket]).all()
    per_pile = np.zeros((table.groups.pile.max() + 1, world.rater.shape[2]), int)
    units, first = np.unique(table.groups.unit, return_index=True)
    np.add.at(per_pile, (table.groups.pile[units], twin.slot[..., 0].ravel()[first]), 1)
    size = np.bincount(table.groups.pile)
    rounds = -(-size // table.slots.shape[1])
    assert (per_pile <= rounds[:, None] + 1).all()
    barred = bar_asked_raters(table, asked)
    assert not barred.possible[units, asked.slot[..., 0].ravel()[first]].any()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_documents_are_spread_evenly(sizes: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(0, sum(sizes)))
    order = np.array(data.draw(st.permutations(range(len(sizes)))))
    quota = spread_over_buckets(np.array(sizes), n, order)
    assert quota.sum() == n
    assert (quota <= sizes).all()
    open_buckets = quota < sizes
    if open_buckets.any():  # only an exhausted bucket may give less than the others less one
        assert quota[open_buckets].min() >= quota.max() - 1


def test_smaller_document_sets_are_contained_in_larger_ones() -> None:
    bucket, every = np.repeat(np.arange(7), 26)[:181], np.ones(181, bool)
    previous = np.zeros(181, bool)
    for n in range(1, 182):
        documents = draw_documents(stream(1, "d"), bucket, every, n)
        assert documents.sum() == n
        assert (previous <= documents).all()
        previous = documents


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("target", [0.55, 0.7, 0.9])
def test_entropy_target_is_met_in_item_ratings(grouping, target: float) -> None:
    world = frame(4, [6] * 7)
    table = lay_table(world, grouping(world), 1)
    everything = np.ones(42, bool)
    for seed in range(5):
        asked = deal_to_entropy(stream(seed), table, everything, target=target, tolerance=0.03, tries=1000)
        assert abs(normalized_entropy(load(world, asked)) - target) <= 0.03 + 1e-9
        if grouping is system_balanced:  # every rater has equally many outputs of each system
            per_system = [
                np.bincount(world.rater[s, np.arange(84), asked.slot[s, world.document, 0]], minlength=7)
                for s in range(4)
            ]
            assert all((row == per_system[0]).all() for row in per_system)


def test_unreachable_entropy_fails_after_the_tries() -> None:
    world = frame(3, [4] * 7)
    table = lay_table(world, pseudo_side_by_side(world), 1)
    with pytest.raises(DesignFailure, match=r"load entropy 0\.3 not reached within 0\.03 in 20 tries"):
        deal_to_entropy(stream(1), table, np.ones(28, bool), target=0.3, tolerance=0.03, tries=20)


def test_least_entropies_of_the_published_buckets() -> None:
    ring = [seat[:, None] for seat in seat_raters(7, 7, 3)]
    assert least_entropy(ring, np.ones(7), 7) == pytest.approx(0.516, abs=5e-4)
    two = [seat[:, None] for seat in seat_raters(2, 6, 3)]
    assert least_entropy(two, np.ones(2), 6) == pytest.approx(0.387, abs=5e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(4, 7), st.integers(0, 2**32))
def test_no_deal_falls_below_the_least_entropy(n_buckets: int, pool: int, seed: int) -> None:
    world = frame(2, [3] * n_buckets, pool)
    table = lay_table(world, pseudo_side_by_side(world), 1)
    choices = [raters[:n] for raters, n in zip(table.raters, table.n_choices, strict=True)]
    least = least_entropy(choices, np.full(n_buckets, 3), pool)
    asked = deal_to_entropy(stream(seed), table, np.ones(len(world.bucket), bool), target=0.0, tolerance=1.0, tries=1)
    assert normalized_entropy(load(world, asked)) >= least - 1e-12


def test_gaps_are_never_asked() -> None:
    full = frame(3, [6, 6])
    rater = full.rater.copy()
    gaps = stream(5, "gaps").random((3, 12)) < 0.3
    rater[:, :, 0] = np.where(gaps[:, full.document], -1, rater[:, :, 0])
    world = Frame(full.document, full.bucket, rater, full.system_names, full.document_names, full.rater_names, True)
    for grouping in GROUPINGS:
        table = lay_table(world, grouping(world), 1)
        for seed in range(20):
            asked = deal_evenly(stream(seed), table, np.ones(12, bool))
            system, document = np.indices((3, 12))
            assert (rater[system, 2 * document, asked.slot[..., 0]] >= 0).all()


def test_a_document_that_nobody_rated_throughout_cannot_be_asked_side_by_side() -> None:
    full = frame(3, [4])
    rater = full.rater.copy()
    for system, seat in enumerate([0, 1, 2]):  # each system of document 0 was rated by another rater only
        rater[system, :2] = -1
        rater[system, 0:2, seat] = full.rater[system, 0:2, seat]
    world = Frame(full.document, full.bucket, rater, full.system_names, full.document_names, full.rater_names, True)
    assert lay_table(world, pseudo_side_by_side(world), 1).rateable.tolist() == [False, True, True, True]
    assert lay_table(world, ungrouped(world), 1).rateable.all()
