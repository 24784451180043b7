"""Count comparisons as they came, against going through them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_studies import preference_study

from simlab.studies.preferences import KIND
from simlab.studies.preferences.concluding import count_outputs, count_outputs_read
from simlab.studies.preferences.evidence import RuleOutcome, count_evidence, find_end_looks, join_evidence
from simlab.studies.preferences.preparing import PreparedPreferences
from simlab.types import Array, Collected, Evidence, Frame, Ints, Place, Seen, Streams, Summary, Verdicts

N_ITEMS = 30
FIRST, SECOND = np.triu_indices(4, 1)


def prepared(**budget: Any) -> PreparedPreferences:
    whole: PreparedPreferences = KIND.prepare(preference_study(**budget))
    return whole


def collected(seen: Seen, metric: Array | None = None, **known: Any) -> Collected:
    frame = Frame(
        np.arange(N_ITEMS),
        np.zeros(N_ITEMS, int),
        np.zeros((4, N_ITEMS, 1), int),
        ("a", "b", "c", "d"),
        (),
        (),
        False,
    )
    return Collected(frame, None, None, seen, metric, known, {}, Streams(1, Place(0).of_study))


def comparisons(seed: int, *, told: bool) -> Seen:
    """Draw how far each pair got, and what was said; entries of all pairs are mixed as they would come."""
    rng = np.random.default_rng(seed)
    count = rng.integers(0, N_ITEMS + 1, 6)
    count[seed % 6] = 0
    unit = np.repeat(np.arange(6), count)
    item = np.concatenate([rng.permutation(N_ITEMS)[:n] for n in count])
    order = np.concatenate([np.arange(n) for n in count])
    mixed = rng.permutation(len(unit))
    if not told:  # then the order of entries is the order in which they came
        mixed = mixed[np.argsort(order[mixed], kind="stable")]
    none = np.full(len(unit), -1)
    value = rng.integers(0, 3, len(unit))
    return Seen(unit[mixed], item[mixed], none, value, none, order=order[mixed] if told else None)


def counted_by_hand(seen: Seen, metric: Array | None, batch: int) -> tuple[Ints, Ints, Ints]:
    """Go through looks, pairs and comparisons one by one."""
    looks = [*range(0, N_ITEMS, batch), N_ITEMS]
    human, confusion = np.zeros((6, len(looks), 3), int), np.zeros((6, len(looks), 3, 3), int)
    only_metric = np.zeros((6, len(looks), 3), int)
    for pair in range(6):
        entries = np.flatnonzero(seen.unit == pair)
        if seen.order is not None:
            entries = entries[np.argsort(seen.order[entries])]
        for look, most in enumerate(looks):
            read = entries[:most]
            for entry in read:
                human[pair, look, seen.value[entry]] += 1
                if metric is not None and seen.item[entry] < metric.shape[1]:
                    confusion[pair, look, metric[pair, seen.item[entry]], seen.value[entry]] += 1
            if metric is not None:
                for item in set(range(metric.shape[1])) - set(seen.item[read].tolist()):
                    only_metric[pair, look, metric[pair, item]] += 1
    return human, confusion, only_metric


@pytest.mark.parametrize("batch", [1, 7, 10, 30])
@pytest.mark.parametrize("n_rated", [None, 12, 45])
@pytest.mark.parametrize("told", [True, False], ids=["numbered", "as they came"])
def test_evidence_is_what_one_counts_by_going_through_comparisons(batch: int, n_rated: int | None, told: bool) -> None:
    for seed in range(3):
        rng = np.random.default_rng(100 + seed)
        metric = None if n_rated is None else rng.integers(0, 3, (6, n_rated))
        seen = comparisons(seed, told=told)
        evidence = count_evidence(prepared(batch_size=batch), collected(seen, metric))
        human, confusion, only_metric = counted_by_hand(seen, metric, batch)
        np.testing.assert_array_equal(evidence.annotations, [*range(0, N_ITEMS, batch), N_ITEMS])
        np.testing.assert_array_equal(evidence.human, human)
        np.testing.assert_array_equal(evidence.confusion, confusion)
        np.testing.assert_array_equal(evidence.metric, only_metric)


def test_the_order_of_entries_counts_only_where_nothing_numbers_them() -> None:
    numbered, bare = comparisons(1, told=True), comparisons(1, told=False)

    def backwards(seen: Seen) -> Seen:
        turned = [None if a is None else a[::-1] for a in (seen.unit, seen.item, seen.rater, seen.value, seen.errors)]
        order = None if seen.order is None else seen.order[::-1]
        return Seen(*turned, order=order)

    rules = prepared(batch_size=3)
    before = count_evidence(rules, collected(numbered)).human
    np.testing.assert_array_equal(count_evidence(rules, collected(backwards(numbered))).human, before)
    came, turned = (count_evidence(rules, collected(seen)).human for seen in (bare, backwards(bare)))
    np.testing.assert_array_equal(came[:, -1], turned[:, -1])
    assert (came != turned).any()


def test_the_last_look_is_the_first_that_has_all_that_came() -> None:
    seen = comparisons(2, told=True)
    count = np.bincount(seen.unit, minlength=6)
    for batch in (1, 7, 10):
        whole = collected(seen)
        evidence = count_evidence(prepared(batch_size=batch), whole)
        np.testing.assert_array_equal(find_end_looks(evidence, whole), -(-count // batch))
    assert count.min() == 0
    assert count.max() > 10
    rounds = np.arange(6)
    assert find_end_looks(evidence, collected(seen, rounds=rounds)) is rounds  # as one is told


def test_evidence_of_campaigns_is_joined_in_their_order() -> None:
    rules = prepared()
    parts = [count_evidence(rules, collected(comparisons(seed, told=True))) for seed in (1, 2, 3)]
    whole = join_evidence(parts)
    for name in ("human", "confusion", "metric"):
        assert len(getattr(whole, name)) == 18
        for k, part in enumerate(parts):
            np.testing.assert_array_equal(getattr(whole, name)[6 * k : 6 * k + 6], getattr(part, name))
    np.testing.assert_array_equal(whole.annotations, parts[0].annotations)


def test_what_was_said_is_taken_where_each_row_ended() -> None:
    def summarise(human: Ints, confusion: Ints, metric: Ints) -> Summary:
        raise AssertionError

    verdict = np.arange(24).reshape(6, 4)
    verdicts = Verdicts(verdict, verdict % 5 == 0, verdict / 100, summarise)
    end = np.array([0, 3, 1, 2, 2, 0])
    said = RuleOutcome.take_at(verdicts, end)
    assert said.verdict.tolist() == [0, 7, 9, 14, 18, 20]
    assert said.stop.tolist() == [True, False, False, False, False, True]
    np.testing.assert_allclose(said.theta, [0.0, 0.07, 0.09, 0.14, 0.18, 0.2])
    assert [said.take_campaign(k, 3).verdict.tolist() for k in range(3)] == [[0, 7], [9, 14], [18, 20]]
    assert said.take_campaign(1, 2).stop.tolist() == [False, False, True]
    assert said.take_campaign(0, 2).summarise is summarise


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8)), max_size=30))
def test_an_output_is_read_once_however_often_it_is_compared(compared: list[tuple[int, int]]) -> None:
    pair, item = np.array(compared, int).reshape(-1, 2).T
    outputs = {(system, k) for p, k in compared for system in (int(FIRST[p]), int(SECOND[p]))}
    assert count_outputs(pair, item, 4) == len(outputs)
    none = np.full(len(pair), -1)
    assert count_outputs_read(collected(Seen(pair, item, none, none, none))) == len(outputs)


def test_all_comparisons_of_all_pairs_read_every_output_once() -> None:
    pair, item = (index.ravel() for index in np.indices((6, N_ITEMS)))
    assert count_outputs(pair, item, 4) == 4 * N_ITEMS < 2 * len(pair)
    assert count_outputs(np.array([0, 5]), np.array([3, 3]), 4) == 4  # two pairs without a system in common


def test_a_trial_of_evidence_without_comparisons_is_empty() -> None:
    nothing = np.empty(0, int)
    whole = collected(Seen(nothing, nothing, nothing, nothing, nothing))
    evidence: Evidence = count_evidence(prepared(), whole)
    assert not evidence.human.any()
    assert find_end_looks(evidence, whole).tolist() == [0] * 6
