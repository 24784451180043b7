"""Bets on the next output, and rules for documents, against going through all that can happen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from simlab.analysis import sign_test
from simlab.analysis.decisions import betting
from simlab.analysis.preferences import betting as preferences_betting
from simlab.analysis.preferences.betting import document_totals, exact_bets, list_steps
from simlab.analysis.preferences.cluster_flips import asymptotic_flip_p_values, exact_flip_p_values
from simlab.analysis.preferences.sequential import betting_evidence, has_crossed_boundary, have_documents_crossed
from simlab.design.protocol import gather, list_looks, make_places, order_items, truncate_evidence
from simlab.rng import stream
from simlab.studies.preferences.checking import check_family
from simlab.types import Contest, Evidence, InputError, TestSet, Trail

PREFERENCE = np.array([1, 0, -1])
MU = np.array([[0.75, 0.3, 0.1], [0.15, 0.4, 0.15], [0.1, 0.3, 0.75]])


def read_all(
    human: np.ndarray,
    metric: np.ndarray | None,
    order: np.ndarray,
    size: int = 1,
    batch: int = 1,
    most: int | None = None,
) -> Evidence:
    """Let every row read its items in its order; documents are of `size` outputs in a row."""
    n_items = human.shape[1]
    n_outputs = 0 if metric is None else metric.shape[1]
    rest = np.arange(max(n_outputs - n_items, 0)) // size
    places = make_places(np.arange(n_items) // size, None, n_outputs, rest)
    return gather(TestSet(human, metric), order, list_looks(most or n_items, batch, n_items), places)


def every_order(human: list[int], metric: list[int], size: int = 1) -> Evidence:
    """Read a test set in each of the orders in which it can be drawn, whole documents one after the other."""
    blocks = np.arange(len(human)).reshape(-1, size)
    orders = np.array([np.concatenate([blocks[d] for d in drawn]) for drawn in permutations(range(len(blocks)))])
    rows = len(orders)
    return read_all(np.tile(human, (rows, 1)), np.tile(metric, (rows, 1)), orders, size, size)


SETS = {
    "outputs": ([0, 0, 2, 2, 1, 1], [0, 1, 2, 0, 1, 0], 1),
    "documents": ([0, 0, 2, 2, 0, 2, 1, 2, 1, 0], [0, 0, 2, 0, 0, 1, 1, 2, 1, 0], 2),
}


@pytest.fixture
def small_stakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave room for what the metric explains: of a handful of steps stakes are too large for any."""
    monkeypatch.setattr(preferences_betting, "STAKES", {0.2: 0.4, 0.6: 0.6})


@pytest.mark.usefixtures("small_stakes")
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("use_metric", [False, True])
def test_on_a_test_set_without_a_difference_bets_are_worth_what_was_paid(name: str, use_metric: bool) -> None:
    human, metric, size = SETS[name]
    evidence = every_order(human, metric, size)
    unit: Any = "output" if size == 1 else "document"
    for log_e in exact_bets(evidence, estimand="test_set", use_metric=use_metric, unit=unit):
        np.testing.assert_allclose(np.exp(log_e).mean(0), 1, rtol=1e-12)
        assert np.exp(log_e[:, 2:-1]).std() > 0.01
    # Control: taking the set for a sample of a population, and the metric's total for another, is worth more or less.
    off = replace(evidence, trail=replace(evidence.trail, metric_total=evidence.trail.metric_total + 1.0))  # type: ignore[type-var]
    wrong = [exact_bets(evidence, estimand="population", use_metric=False, unit=unit)[0]]
    wrong += [exact_bets(off, estimand="test_set", use_metric=True, unit=unit)[0]] if use_metric else []
    assert all(np.abs(np.exp(better).mean(0) - 1).max() > 1e-4 for better in wrong)


@pytest.mark.usefixtures("small_stakes")
def test_on_a_test_set_that_the_first_system_loses_bets_on_it_lose_and_all_is_known_in_the_end() -> None:
    evidence = every_order([0, 0, 2, 2, 2, 1], [0, 1, 2, 0, 1, 0])
    better, worse = exact_bets(evidence, estimand="test_set", use_metric=True, unit="output")
    assert (np.exp(better).mean(0)[1:] < 1).all()
    assert np.isinf(worse[:, -1]).all()
    assert not np.isinf(better).any()


def every_sample(steps: int, p: np.ndarray) -> tuple[Evidence, np.ndarray]:
    """Draw all that can happen in a few steps, a fresh output of the metric alone for each; and its probability."""
    joint = (MU * p).ravel()  # metric outcome, human outcome
    alone = MU @ p
    cells = list(product(range(9), repeat=steps))
    human = np.array([[c % 3 for c in both] for both in cells])
    said = np.array([[c // 3 for c in both] for both in cells])
    chance = np.prod(joint[np.array(cells)], axis=1)
    rest = np.array(list(product(range(3), repeat=steps)))
    probability = np.outer(chance, np.prod(alone[rest], axis=1)).ravel()
    human, said = (np.repeat(values, len(rest), axis=0) for values in (human, said))
    metric = np.concatenate([said, np.tile(rest, (len(cells), 1))], axis=1)
    return read_all(human, metric, np.tile(np.arange(steps), (len(human), 1))), probability


@pytest.mark.usefixtures("small_stakes")
def test_in_a_population_without_a_difference_bets_are_worth_what_was_paid() -> None:
    evidence, probability = every_sample(3, np.array([0.4, 0.2, 0.4]))
    for use_metric in (False, True):
        for log_e in exact_bets(evidence, estimand="population", use_metric=use_metric, unit="output"):
            np.testing.assert_allclose(probability @ np.exp(log_e), 1, rtol=1e-12)
    # Control: the metric's mean over all its outputs is known in advance.
    assert np.abs(probability @ np.exp(betting_evidence(evidence)) - 1).max() > 1e-5
    worse, chances = every_sample(3, np.array([0.35, 0.2, 0.45]))
    better, _ = exact_bets(worse, estimand="population", use_metric=True, unit="output")
    assert (chances @ np.exp(better)[:, 1:] < 1).all()


def test_bets_say_what_they_miss() -> None:
    human, metric = stream(1).integers(0, 3, (2, 4, 10))
    order = np.tile(np.arange(10), (4, 1))
    keys: dict[str, Any] = {"level": 0.05, "unit": "output", "multiplicity": "none"}
    with pytest.raises(InputError, match="use_metric=true needs a metric"):
        betting(read_all(human, None, order), estimand="population", use_metric=True, **keys)
    with pytest.raises(InputError, match=r"raise metric\.n_outputs"):
        betting(read_all(human, metric, order), estimand="population", use_metric=True, **keys)
    with pytest.raises(InputError, match="must rate every output"):
        betting(read_all(human, metric[:, :8], order), estimand="test_set", use_metric=True, **keys)
    untold = replace(read_all(human, metric, order), trail=None)
    with pytest.raises(InputError, match="output by output"):
        betting(untold, estimand="test_set", use_metric=True, **keys)
    betting(read_all(human, metric, order), estimand="test_set", use_metric=True, **keys)


def in_documents(seed: int, rows: int = 40, n_items: int = 30, size: int = 4, batch: int = 7) -> Evidence:
    rng = stream(seed, "documents")
    human, metric = rng.integers(0, 3, (rows, n_items)), rng.integers(0, 3, (rows, 3 * n_items))
    order = order_items(rng, human, shared=False, document=np.arange(n_items) // size)
    return read_all(human, metric, order, size, batch, 25)


def test_a_document_is_a_step_once_all_of_it_has_come() -> None:
    evidence = in_documents(1)
    trail = evidence.trail
    assert trail is not None
    steps = list_steps(trail, 25, "document")
    for row in range(len(trail.human)):
        taken = []
        for document in dict.fromkeys(trail.document[row].tolist()):
            at = np.flatnonzero(trail.document[row] == document)
            if len(at) == (2 if document == 7 else 4):  # the last document has two outputs
                taken.append((PREFERENCE[trail.human[row, at]].sum() / 4, at[-1] + 1))
        assert [*zip(steps.y[row], steps.read[row], strict=True)][: len(taken)] == taken
        assert (steps.y[row, len(taken) :] == 0).all()


def totals_by_hand(trail: Trail, row: int, n: int) -> Iterator[tuple[int, int, int]]:
    for document in range(8):
        at = np.flatnonzero(trail.document[row, :n] == document)
        yield int(PREFERENCE[trail.human[row, at]].sum()), len(at), 2 if document == 7 else 4


def test_totals_of_documents_are_those_of_going_through_them() -> None:
    evidence = in_documents(2)
    assert evidence.trail is not None
    split, whole = (document_totals(evidence.trail, evidence.annotations, whole=whole) for whole in (False, True))
    for row in range(10):
        for look, n in enumerate(evidence.annotations):
            by_hand = list(totals_by_hand(evidence.trail, row, n))
            assert split[row, look].tolist() == [total for total, _, _ in by_hand]
            counted = [total if count == size or n == 25 else 0 for total, count, size in by_hand]
            assert whole[row, look].tolist() == counted


def test_flips_are_those_of_all_signs() -> None:
    total = stream(3).integers(-4, 5, (30, 9))
    signs = np.array(list(product([1, -1], repeat=9)))
    wanted = [(np.abs(signs @ row) >= abs(row.sum())).mean() for row in total]
    np.testing.assert_allclose(exact_flip_p_values(total), wanted, rtol=1e-12)
    np.testing.assert_allclose(exact_flip_p_values(total.reshape(5, 6, 9)), np.reshape(wanted, (5, 6)), rtol=1e-12)
    single = np.sign(total)
    counts = np.stack([(single == value).sum(1) for value in (1, 0, -1)], axis=1)
    np.testing.assert_allclose(exact_flip_p_values(single), sign_test.exact(counts), rtol=1e-10)
    np.testing.assert_allclose(asymptotic_flip_p_values(single), sign_test.asymptotic(counts), rtol=1e-12)


def test_a_single_look_at_documents_is_the_test_of_all_flips() -> None:
    evidence = in_documents(4, rows=200, batch=25)
    assert evidence.trail is not None
    crossed = have_documents_crossed(evidence, 0.2, "pocock")[:, -1]
    p_value = exact_flip_p_values(document_totals(evidence.trail, evidence.annotations, whole=False)[:, -1])
    np.testing.assert_array_equal(crossed, p_value <= 0.2 + 1e-12)
    assert 5 < crossed.sum() < 80


def test_documents_of_one_output_are_outputs() -> None:
    evidence = in_documents(5, rows=200, size=1, batch=5)
    for spending in ("obrien_fleming", "pocock"):
        ours = have_documents_crossed(evidence, 0.2, spending)  # type: ignore[arg-type]
        np.testing.assert_array_equal(ours, has_crossed_boundary(evidence, 0.2, spending))  # type: ignore[arg-type]
    for use_metric in (False, True):
        by_output, by_document = (
            exact_bets(evidence, estimand="population", use_metric=use_metric, unit=unit)  # type: ignore[arg-type]
            for unit in ("output", "document")
        )
        np.testing.assert_allclose(by_document, by_output)


@pytest.mark.parametrize("unit", ["output", "document"])
@pytest.mark.parametrize("estimand", ["population", "test_set"])
def test_what_came_later_changes_nothing_that_was_said_before(unit: Any, estimand: Any) -> None:
    evidence = in_documents(6)
    end = stream(7).integers(0, 5, 40)
    before, after = (
        np.stack(exact_bets(part, estimand=estimand, use_metric=True, unit=unit))
        for part in (evidence, truncate_evidence(evidence, end))
    )
    for row, last in enumerate(end):
        np.testing.assert_allclose(after[:, row, : last + 1], before[:, row, : last + 1], rtol=1e-12)
        np.testing.assert_allclose(after[:, row, last:], after[:, row, last, None].repeat(5 - last, 1))


def test_evidence_of_pairs_is_added_up_only_where_it_adds_up() -> None:
    recorded = np.zeros((1, 4), np.int8)
    gaps = np.array([[0, 1, -1, 2]], np.int8)
    allowed = {
        (estimand, shared, bool((outcomes < 0).any())): _allowed(estimand, shared, outcomes)
        for estimand in ("population", "test_set")
        for shared in (True, False)
        for outcomes in (recorded, gaps)
    }
    assert [case for case, fine in allowed.items() if fine] == [
        ("population", True, False),
        ("test_set", True, False),
        ("test_set", False, False),
        ("test_set", False, True),
    ]


def _allowed(estimand: str, shared: bool, outcomes: np.ndarray) -> bool:
    config = {
        "decision": {"multiplicity": "closed", "estimand": estimand},
        "design": {"shared_order": shared},
    }
    try:
        check_family(config, Contest(("a", "b"), 4, None, recorded=outcomes))
    except InputError:
        return False
    return True
