from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from simlab.answers.agreement import Agreement
from simlab.drawing.reports.answers.agreement import report
from simlab.drawing.reports.static import plot_report
from simlab.fitting.agreement import agreement, kendall
from simlab.types import RATE, Frame, InputError, World
from simlab.world.laws.fixed import FixedRatings, fixed_ratings
from simlab.world.recorded import recorded


def world_of(value: list[list[list[float]]], document: list[int]) -> World:
    """Make a world of one bucket from value[system][item][rater], NaN for a gap."""
    scores = np.array(value)
    n_systems, _, n_raters = scores.shape
    n_documents = max(document) + 1
    rater = np.where(np.isfinite(scores), np.arange(n_raters), -1)
    names = [
        tuple(f"{kind}{k}" for k in range(n)) for kind, n in (("s", n_systems), ("d", n_documents), ("r", n_raters))
    ]
    frame = Frame(np.array(document), np.zeros(n_documents, dtype=np.int64), rater, names[0], names[1], names[2], True)
    return World(frame, {RATE: FixedRatings(scores, np.where(rater < 0, 0, 1))})


@pytest.fixture(scope="module")
def built_in() -> Agreement:
    return agreement(
        recorded(
            np.random.default_rng(0),
            path=None,
            sha256=None,
            names=None,
            better=None,
            columns=None,
            people=None,
            where=None,
        )
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
def test_kendall_is_tau_b(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(kendall(x, y))
    else:
        assert kendall(x, y) == pytest.approx(kendalltau(x, y).statistic)


def test_single_and_shared_documents_by_hand() -> None:
    # Three systems, two documents of one segment. Document 0: the raters agree; document 1: they are reversed.
    # Sums: rater 0 has 2, 5, 10; rater 1 has 4, 5, 11; so over both documents they agree fully.
    world = world_of([[[1, 1], [1, 3]], [[3, 3], [2, 2]], [[7, 10], [3, 1]]], [0, 1])
    found = agreement(world)
    assert [pair.documents for pair in found.pairs] == [2]
    assert found.single.kendall == pytest.approx((1 - 1) / 2)
    assert found.shared.kendall == pytest.approx(1)
    assert (found.single.rater_pairs, found.single.comparisons, found.single.undefined) == (1, 2, 0)
    assert math.isnan(found.single.standard_error)


def test_document_without_differences_is_counted_not_dropped_silently() -> None:
    world = world_of([[[1, 1], [2, 1]], [[2, 2], [2, 5]]], [0, 1])
    found = agreement(world)
    assert found.pairs[0].constant == 1
    assert found.single.undefined == 1
    assert found.single.kendall == 1
    assert any("1 comparison in which" in one for one in report(found).reservations)


def test_document_that_one_rater_left_unfinished_is_not_compared() -> None:
    nan = math.nan
    world = world_of([[[1, 1], [2, 1]], [[2, 2], [3, nan]]], [0, 1])
    found = agreement(world)
    assert (found.pairs[0].documents, found.pairs[0].partial) == (1, 1)


def test_raters_who_share_no_finished_document() -> None:
    nan = math.nan
    found = agreement(world_of([[[1, nan]], [[nan, 2]]], [0]))
    assert math.isnan(found.shared.kendall)
    assert (found.shared.rater_pairs, found.shared.pairs_left_out) == (0, 1)
    assert "How far rankings by two raters agree is not known" in " ".join(report(found).answer)
    plot_report(report(found))


def test_sums_that_are_equal_tie() -> None:
    # .1 + .2 and .3 + 0 differ in their last bit when added as floats.
    world = world_of([[[0.1, 1], [0.2, 0]], [[0.3, 1], [0.0, 1]], [[1, 3], [1, 3]]], [0, 0])
    assert agreement(world).pairs[0].shared == pytest.approx(kendalltau([3, 3, 20], [1, 2, 6]).statistic)


def test_agreement_does_not_depend_on_the_order_of_systems() -> None:
    world = recorded(
        np.random.default_rng(0), path=None, sha256=None, names=None, better=None, columns=None, people=None, where=None
    )
    order = np.random.default_rng(1).permutation(world.frame.n_systems)
    ratings = fixed_ratings(world)
    assert ratings is not None
    names = tuple(world.frame.system_names[k] for k in order)
    frame = Frame(
        world.frame.document,
        world.frame.bucket,
        world.frame.rater[order],
        names,
        world.frame.document_names,
        world.frame.rater_names,
        True,
    )
    other = agreement(World(frame, {RATE: FixedRatings(ratings.value[order], ratings.errors[order])}))
    assert other.single.kendall == pytest.approx(agreement(world).single.kendall)


def test_built_in_table(built_in: Agreement) -> None:
    assert built_in.single.kendall == pytest.approx(0.470, abs=5e-4)
    assert built_in.shared.kendall == pytest.approx(0.699, abs=5e-4)
    assert (built_in.single.rater_pairs, built_in.single.documents, built_in.single.comparisons) == (20, 30, 90)
    assert built_in.single.undefined == 0


def test_profiles_of_the_built_in_table(built_in: Agreement) -> None:
    assert sum(rater.ratings for rater in built_in.raters) == 3120
    assert [rater.documents for rater in built_in.raters] == [9] * 10
    harshest = max(built_in.raters, key=lambda rater: rater.mean)
    assert (harshest.rater, round(harshest.mean, 3)) == ("rater6", 11.616)


def test_rows_are_plain(built_in: Agreement) -> None:
    rows = list(built_in.each_row())
    counts = Counter(name for name, _ in rows)
    assert [counts[name] for name in ("agreement", "pairs", "raters")] == [2, 20, 10]
    for _, row in rows:
        assert all(type(value) in (str, int, float) for value in row.values())


def test_uncounted_errors_are_not_a_number() -> None:
    world = world_of([[[1, 1]], [[2, 3]]], [0])
    ratings = fixed_ratings(world)
    assert ratings is not None
    ratings.errors[:] = -1
    assert all(math.isnan(rater.errors_per_segment) for rater in agreement(world).raters)


def test_world_without_ratings_is_refused() -> None:
    world = world_of([[[1, 1]], [[2, 3]]], [0])
    with pytest.raises(InputError, match="needs ratings"):
        agreement(World(world.frame, {}))


@pytest.mark.parametrize("score", [0.0, 2.5])
def test_figure_of_constant_scores(score: float) -> None:
    found = agreement(world_of([[[score, score]], [[score, score]]], [0]))
    plot_report(report(found)).draw_without_rendering()


def test_figure_has_a_row_per_rater(built_in: Agreement) -> None:
    drawn = plot_report(report(built_in))
    drawn.draw_without_rendering()
    labels = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    assert labels[0] == "rater6"
    assert len(labels) == 10
