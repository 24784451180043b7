"""Hold the lines of a dashboard to t tests that scipy makes look by look, and their errors to what simulation knows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.dashboards import dashboard
from simlab.types import Arrived, Bools, Claims

KNOWN = {5: 0.87, 10: 0.98}
"""Campaigns of so many equal systems with some false line, if one looks after every screen."""
SEGMENTS = 600
"""How many segments are behind what is known is not told: 600 come to it (300 to .82 and .98)."""


def messy(seed: int, n_systems: int = 4) -> Arrived:
    """Let screens of one to four segments arrive in any order; some outputs are rated twice, most never."""
    rng = np.random.default_rng(seed)
    screens = [(int(rng.integers(8)), int(rng.integers(n_systems)), int(rng.integers(3))) for _ in range(30)]
    screens = list(dict.fromkeys(screens))
    rows = [
        (4 * document + segment, rater, system, n)
        for n, (document, system, rater) in enumerate(screens)
        for segment in range(1 + document % 4)
    ]
    item, rater, system, screen = np.array(rows).T
    value = np.round(rng.normal(70 + 4 * system, 10))
    return Arrived(item, rater, system, value, screen, n_systems, False)


def by_hand(arrived: Arrived, test: str, looks: str, ranking: str) -> dict[tuple[int, int], tuple[float, int]]:
    """Compare neighbours at every look with scipy; return of each pair its least p-value and who was ahead then."""
    last = int(arrived.screen.max())
    best: dict[tuple[int, int], tuple[float, int]] = {}
    final = order(arrived, last)
    for look in range(last + 1) if looks == "every" else [last]:
        now = {"current": order(arrived, look), "final": final, "listed": list(range(arrived.n_systems))}[ranking]
        for i, j in itertools.pairwise(now):
            i, j = min(i, j), max(i, j)
            p, ahead = compared(arrived, look, i, j, test)
            if p < best.get((i, j), (1.0, 0))[0]:
                best[i, j] = (p, ahead)
    return best


def order(arrived: Arrived, look: int) -> list[int]:
    means = []
    for system in range(arrived.n_systems):
        own = arrived.value[(arrived.screen <= look) & (arrived.system == system)]
        means.append(own.mean() if len(own) else np.inf)
    return np.argsort(means, kind="stable").tolist()


def compared(arrived: Arrived, look: int, i: int, j: int, test: str) -> tuple[float, int]:
    came = arrived.screen <= look
    sides = [came & (arrived.system == system) for system in (i, j)]
    if test == "welch":
        a, b = (arrived.value[side] for side in sides)
        if min(len(a), len(b)) < 2 or (a.std() == 0 and b.std() == 0) or a.mean() == b.mean():
            return 1.0, 0
        return float(stats.ttest_ind(a, b, equal_var=False).pvalue), int(np.sign(a.mean() - b.mean()))
    pairs = []
    for item in np.unique(arrived.item[came]):
        a, b = (arrived.value[side & (arrived.item == item)] for side in sides)
        pairs += list(zip(a, b, strict=False))
    gap = np.array([a - b for a, b in pairs])
    if len(gap) < 2 or gap.std() == 0 or gap.mean() == 0:
        return 1.0, 0
    return float(stats.ttest_1samp(gap, 0).pvalue), int(np.sign(gap.mean()))


# Scipy takes one system's equal scores for a loss of precision; the other's spread is what counts.
@pytest.mark.filterwarnings("ignore:Precision loss")
@pytest.mark.parametrize("test", ["welch", "paired"])
@pytest.mark.parametrize("looks", ["every", "end"])
@pytest.mark.parametrize("ranking", ["current", "final", "listed"])
def test_lines_are_those_of_t_tests_made_look_by_look(test: Any, looks: Any, ranking: Any) -> None:
    drawn = 0
    for seed in range(4):
        arrived = messy(seed)
        found = dashboard(arrived, level=0.2, test=test, looks=looks, ranking=ranking)
        by_pair = by_hand(arrived, test, looks, ranking)
        for pair, (i, j) in enumerate(zip(*np.triu_indices(4, 1), strict=True)):
            p, ahead = by_pair.get((i, j), (1.0, 0))
            assert found.p_value[pair] == pytest.approx(p, rel=1e-9)
            assert found.verdict[pair] == (ahead if p <= 0.2 else 0)
        drawn += int((found.verdict != 0).sum())
    assert drawn > 0


def said(arrived: Arrived, **keys: Any) -> Claims:
    return dashboard(arrived, **{"level": 0.1, "test": "welch", "looks": "every", "ranking": "current", **keys})


@pytest.mark.parametrize("test", ["welch", "paired"])
def test_units_names_and_the_better_end_of_the_scale_do_not_matter(test: str) -> None:
    arrived = messy(3)
    first = said(arrived, test=test)
    moved = said(replace(arrived, value=1e6 - 7 * arrived.value), test=test)
    np.testing.assert_allclose(moved.p_value, first.p_value, rtol=1e-6)
    np.testing.assert_array_equal(moved.verdict, -first.verdict)
    lower = said(replace(arrived, lower_is_better=True), test=test)
    np.testing.assert_array_equal(lower.verdict, -first.verdict)
    turned = said(replace(arrived, system=3 - arrived.system), test=test)
    # Pairs in reverse: (0, 1) is (3, 2).
    back = [5, 4, 2, 3, 1, 0]
    np.testing.assert_allclose(turned.p_value[back], first.p_value, rtol=1e-9)
    np.testing.assert_array_equal(turned.verdict[back], -first.verdict)


def test_who_has_no_spread_or_no_ratings_gets_no_line() -> None:
    item, system = np.repeat(np.arange(5), 2), np.tile([0, 1], 5)
    same = Arrived(item, 0 * item, system, 1.0 * system, np.arange(10), 3, False)
    for test in ("welch", "paired"):
        found = said(same, test=test)
        assert (found.verdict == 0).all()
        assert (found.p_value == 1).all()
    nothing = Arrived(*(np.zeros(0, int),) * 3, np.zeros(0), np.zeros(0, int), 3, False)
    assert (said(nothing).p_value == 1).all()


def null(rng: np.random.Generator, n_systems: int, n_segments: int) -> Arrived:
    """Draw equal systems: each segment is a document, rated one system after the other in random order."""
    system = np.concatenate([rng.permutation(n_systems) for _ in range(n_segments)])
    item = np.repeat(np.arange(n_segments), n_systems)
    return Arrived(item, 0 * item, system, rng.normal(size=len(item)), np.arange(len(item)), n_systems, False)


def wrong(n: int, n_systems: int, n_segments: int, **keys: Any) -> Bools:
    keys = {"level": 0.05, "test": "paired", "looks": "every", "ranking": "final", **keys}
    drawn = (null(np.random.default_rng([17, n_systems, k]), n_systems, n_segments) for k in range(n))
    return np.array([dashboard(arrived, **keys).verdict.any() for arrived in drawn])


def error(found: Bools, share: float) -> float:
    return float(np.sqrt(share * (1 - share) / len(found)))


@pytest.mark.parametrize("n", [40, pytest.param(600, marks=pytest.mark.long)])
@pytest.mark.parametrize("n_systems", [5, 10])
def test_some_line_is_false_in_most_campaigns_of_equal_systems(n_systems: int, n: int) -> None:
    found = wrong(n, n_systems, SEGMENTS)
    # What is known is rounded to .01.
    assert abs(found.mean() - KNOWN[n_systems]) < 0.005 + 3 * error(found, KNOWN[n_systems])


@pytest.mark.parametrize("n", [300, pytest.param(4000, marks=pytest.mark.long)])
def test_two_systems_looked_at_once_keep_the_level(n: int) -> None:
    """Hold the negative control: one test of independent ratings is right, so looking and choosing are what errs."""
    for test in ("welch", "paired"):
        found = wrong(n, 2, 40, looks="end", test=test)
        assert abs(found.mean() - 0.05) < 3 * error(found, 0.05)
    assert wrong(min(n, 300), 2, 40).mean() > 0.05 + 5 * error(found[:300], 0.05)
