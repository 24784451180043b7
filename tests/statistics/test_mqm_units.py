"""Check that systems and raters of small pilots are covered, however few they are and however little they differ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from simlab.fitting.mqm.fast import Units, build_units, draw
from simlab.rng import stream
from simlab.types import Floats

REPLICATIONS, DRAWS, TABLES, PRIOR = 250, 150, 150, 0.5

Draw = Callable[[np.random.Generator, Units], tuple[Floats, Floats]]


def sampled(rng: np.random.Generator, units: Units) -> tuple[Floats, Floats]:
    return draw(rng, units, np.ones((DRAWS, 1)), rng.integers(TABLES, size=DRAWS))


def clipped(rng: np.random.Generator, units: Units) -> tuple[Floats, Floats]:
    """Take a spread by the chi-squared law of a sample variance less that of the errors, cut off just above 0."""
    n = len(units.corrected)
    apart = units.corrected - units.corrected.mean()
    variance = np.maximum((apart**2).sum() / rng.chisquare(n - 1, DRAWS) - units.noise.mean(), 1e-6)
    weight = (variance / (variance + units.noise.mean()))[:, None]
    error = units.error[rng.integers(TABLES, size=DRAWS)]
    own = error - error.mean(1, keepdims=True)
    return weight * apart - np.sqrt(weight) * own, np.sqrt(variance)


def halved(rng: np.random.Generator, units: Units) -> tuple[Floats, Floats]:
    values, spread = sampled(rng, units)
    return (values + values.mean(0)) / 2, (spread + np.median(spread)) / 2


def shares_covered(n: int, law: Draw, replications: int = REPLICATIONS) -> tuple[float, float]:
    """Draw spreads from their prior; return how often 95 % intervals hold contrasts of units, and the spread."""
    rng, contrasts, spreads = stream(n, "units"), [], []
    for _ in range(replications):
        spread = abs(PRIOR * rng.standard_normal())
        truth = spread * rng.standard_normal(n)
        error_sd = rng.uniform(0.3, 0.8, n)
        margin = truth + error_sd * rng.standard_normal(n) + 0.3 * rng.standard_normal()
        error = error_sd * rng.standard_normal((TABLES, n)) + 0.3 * rng.standard_normal((TABLES, 1))
        units = build_units(margin, error - error.mean(0), np.ones((TABLES, 1)), PRIOR)
        values, at_large = law(rng, units)
        low, high = np.quantile(values - values.mean(1, keepdims=True), (0.025, 0.975), axis=0)
        contrasts.append(np.mean((low <= truth - truth.mean()) & (truth - truth.mean() <= high)))
        low, high = np.quantile(at_large, (0.025, 0.975))
        spreads.append(low <= spread <= high)
    return float(np.mean(contrasts)), float(np.mean(spreads))


def tolerance(replications: int = REPLICATIONS) -> tuple[float, float]:
    """Return between which shares .95 lies but once in 10,000 times."""
    law = stats.binom(replications, 0.95)
    return float(law.ppf(5e-5) / replications), float(law.ppf(1 - 5e-5) / replications)


@pytest.mark.parametrize("n", [2, 4, 10])
def test_units_and_their_spread_are_covered(n: int) -> None:
    low, high = tolerance()
    contrasts, spread = shares_covered(n, sampled)
    assert low <= spread <= high
    # Contrasts of a table come several at a time, so their share is nearer to .95 than that of single ones.
    assert low <= contrasts <= high


@pytest.mark.parametrize("law", [clipped, halved])
def test_spreads_cut_off_and_halved_intervals_are_noticed(law: Draw) -> None:
    assert min(shares_covered(4, law)) < tolerance()[0]


def test_one_unit_says_nothing_of_a_spread() -> None:
    rng = stream(1, "one")
    units = build_units(np.array([0.3]), 0.1 * rng.standard_normal((TABLES, 1)), np.ones((TABLES, 1)), PRIOR)
    values, spread = draw(rng, units, np.ones((4000, 1)), rng.integers(TABLES, size=4000))
    assert stats.kstest(spread, stats.halfnorm(scale=PRIOR).cdf).pvalue > 1e-4
    assert abs(values.mean() - 0.3) < 0.03
