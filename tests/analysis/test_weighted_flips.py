"""Means weighted by who rated what: unbiased, plain where designs are even, with intervals that hold the truth."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.analysis.raters.contributions import by_pair
from simlab.analysis.raters.crossed import crossed
from simlab.analysis.raters.weighted import contributed, weighted_means, weights_of
from simlab.analysis.raters.weighted_flips import weighted_family, weighted_flips
from simlab.concluding.ratings.intervals import spans
from simlab.rng import stream
from simlab.types import Floats, Ints, Rated

LEVEL = 0.05
TEST = {"_target_": "simlab.analysis.raters.weighted_flips.weighted_flips", "flips": 500}


def design(kind: str, seed: int, systems: int, documents: int, raters: int) -> tuple[Ints, Ints, Ints]:
    """Deal outputs to raters: whole documents (`even`), any (`random`), mostly apart (`skewed`), or `nested`."""
    rng = stream(seed)
    system, document = (one.ravel() for one in np.meshgrid(np.arange(systems), np.arange(documents)))
    if kind == "even":
        return system, document, document % raters
    if kind == "nested":
        own = raters // systems
        return system, document, system * own + document % own
    if kind == "random":
        return system, document, rng.integers(raters, size=len(system))
    later = rng.random(len(system)) < np.where(system == 0, 0.25, 0.75)
    return system, document, rng.integers(raters // 2, size=len(system)) + (raters // 2) * later


def rated(of: tuple[Ints, Ints, Ints], score: Floats) -> Rated:
    system, document, rater = of
    total = np.full((int(document.max()) + 1, int(system.max()) + 1), np.nan)
    total[document, system] = score
    return Rated(document, document, rater, system, score, np.ones(len(score)), total)


def answers(rng: np.random.Generator, of: tuple[Ints, Ints, Ints], leniency: float, climbing: bool = False) -> Floats:
    """Draw scores of equal systems; levels of raters climb with their number where that is asked for."""
    system, document, rater = of
    level = rng.normal(size=int(rater.max()) + 1)
    level = np.sort(level) if climbing else level
    tastes = 0.2 * rng.normal(size=(len(level), int(system.max()) + 1))
    return leniency * level[rater] + rng.normal(size=document.max() + 1)[document] + tastes[rater, system] + rng.normal(
        size=len(system)
    )  # fmt: skip


def test_even_designs_have_plain_means_and_the_flips_of_raters_and_documents() -> None:
    of = design("even", 1, 4, 24, 8)
    data = rated(of, answers(stream(2), of, 1.0))
    np.testing.assert_allclose(weighted_means(data), data.total.mean(0))
    # Errors are calibrated by draws, which an even design does not need: their Monte-Carlo error is left.
    ours, theirs = weighted_family(stream(3), data, flips=200), crossed(stream(3), data, flips=200)
    np.testing.assert_allclose(ours.observed, theirs.observed, rtol=0.2)


@pytest.mark.parametrize("kind", ["even", "random", "skewed", "nested"])
def test_weights_are_unbiased_and_levels_cancel_where_raters_met_all(kind: str) -> None:
    of = design(kind, 1, 3, 40, 12)
    data = rated(of, answers(stream(2), of, 1.0))
    weight = weights_of(data).rating
    np.testing.assert_allclose(weight @ (of[0][:, None] == np.arange(3)), np.eye(3), atol=1e-9)
    # What one rater adds to all of his ratings hardly moves a difference, unless raters met one system each.
    moved = contributed(rated(of, data.value + 5.0 * (of[2] == 0))).difference - contributed(data).difference
    plain = by_pair(rated(of, 5.0 * (of[2] == 0)), documents=True).mean
    if kind == "nested":
        np.testing.assert_allclose(moved, plain[0] - plain[1], atol=0.2)
    else:
        assert np.abs(moved).max() < 0.1 + 0.3 * np.abs(plain[0] - plain[1]).max()


def covered(kind: str, studies: int, *, leniency: float, climbing: bool = False, width: float = 1.0) -> float:
    """Return the share of studies of equal systems of which all intervals hold 0; `width` stretches these."""
    of = design(kind, 5, 3, 40, 12)
    held = []
    for k in range(studies):
        data = rated(of, answers(stream(7, k), of, leniency, climbing))
        found = spans(TEST, data, np.ones(3, bool), LEVEL, stream(8, k))
        low, high = found.bounds()
        middle, half = (low + high) / 2, width * (high - low) / 2
        held.append(bool((np.abs(middle) <= half).all()))
    return float(np.mean(held))


@pytest.mark.parametrize(("kind", "leniency", "climbing"), [("random", 1.0, False), ("skewed", 2.0, True)])
def test_intervals_hold_the_truth_where_raters_are_uneven(kind: str, leniency: float, climbing: bool) -> None:
    studies = 150
    mcse = np.sqrt(LEVEL * (1 - LEVEL) / studies)
    assert covered(kind, studies, leniency=leniency, climbing=climbing) >= 1 - LEVEL - 3 * mcse
    # Intervals half as wide do not.
    assert covered(kind, studies, leniency=leniency, climbing=climbing, width=0.5) < 1 - LEVEL - 3 * mcse


@pytest.mark.long
@pytest.mark.parametrize("kind", ["random", "skewed", "nested", "even"])
@pytest.mark.parametrize("leniency", [0.5, 1.0, 2.0])
def test_intervals_hold_the_truth_in_93_to_97_percent(kind: str, leniency: float) -> None:
    studies = 2000
    mcse = np.sqrt(LEVEL * (1 - LEVEL) / studies)
    share = covered(kind, studies, leniency=leniency)
    assert 0.93 - 3 * mcse <= share <= (1.0 if kind == "nested" else 0.97 + 3 * mcse)


def test_a_system_that_one_rater_rated_alone_is_not_claimed() -> None:
    system, document, rater = design("random", 1, 2, 30, 10)
    of = system, document, np.where(system == 0, 0, rater)
    data = rated(of, answers(stream(2), of, 1.0) + 50.0 * (system == 0))
    assert weighted_flips(stream(3), data, flips=500).tolist() == [1.0]
    assert not spans(TEST, data, np.ones(1, bool), LEVEL, stream(4)).within_reach.any()
