"""Measure what fits repeat for every simulated table and every sweep against the plain path: ratios, not times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from simlab.fitting.mqm.pilot import RatingLayout
from simlab.fitting.scales.spreads import SpreadEvidence, _evidence
from simlab.types import Floats
from tests.benchmarks.test_stability import seconds


def design(n_documents: int = 160, segments: int = 10, n_systems: int = 10, n_raters: int = 10) -> RatingLayout:
    """Let three of the raters rate each document: 48,000 ratings."""
    rng = np.random.default_rng(0)
    document = np.repeat(np.arange(n_documents), segments)
    seats = np.argsort(rng.random((n_documents, n_raters)), axis=1)[:, :3]
    system, item, seat = (axis.ravel() for axis in np.indices((n_systems, len(document), 3)))
    return RatingLayout(system, item, seats[document[item], seat], document, n_systems, n_raters)


def one_label_after_the_other(held: RatingLayout, values: Floats) -> Floats:
    """Add ratings up by each label and square the sums, as the products of pairs are defined."""
    found = []
    for shared in (0 * held.item, held.where, held.item):
        labels = shared, shared * held.n_raters + held.rater, shared * held.n_systems + held.system
        both = labels[2] * held.n_raters + held.rater
        found += [(np.bincount(label, weights=values) ** 2).sum() for label in (*labels, both)]
    return np.array(found)


def from_fine_to_coarse(held: RatingLayout, values: Floats) -> Floats:
    return np.array([(part**2).sum() for sums in held.sums(values) for part in sums])


def held_against(benchmark, quick: Callable[[], object], plain: Callable[[], object], least: float) -> None:
    with threadpool_limits(1):
        slow = min(seconds(plain, 1) for _ in range(20))
        benchmark.pedantic(quick, rounds=20, warmup_rounds=1)
    benchmark.extra_info["ratio"] = ratio = slow / benchmark.stats.stats.min
    assert ratio > least


@pytest.mark.benchmark(group="fit")
def test_sums_of_pairs(benchmark) -> None:
    held, values = design(), np.random.default_rng(1).gamma(1.0, 1.0, 48_000)
    np.testing.assert_allclose(from_fine_to_coarse(held, values), one_label_after_the_other(held, values))
    plain = lambda: one_label_after_the_other(held, values)  # noqa: E731
    held_against(benchmark, lambda: from_fine_to_coarse(held, values), plain, 2.0)


@pytest.mark.benchmark(group="fit")
def test_density_of_a_spread(benchmark) -> None:
    """Of 10,000 effects of three ratings each, at the 16 points that a chain's step asks about."""
    rng = np.random.default_rng(2)
    seen, square = rng.standard_normal((10_000, 4)), np.exp(rng.standard_normal((16, 4)))
    exact = np.full(seen.shape, 3.0)
    alike = SpreadEvidence(exact[:1], np.full((1, 1, 1), len(seen) * 1.0), (seen**2).sum(0, keepdims=True))

    def plain() -> Floats:
        whole = 1 + square[:, :, None] * exact.T
        return np.stack([(seen.T**2 / whole).sum(-1), np.log(whole).sum(-1)])

    np.testing.assert_allclose(_evidence(alike, square), plain())
    held_against(benchmark, lambda: _evidence(alike, square), plain, 20.0)
