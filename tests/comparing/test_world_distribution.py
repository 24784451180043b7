"""Hold distributions over worlds against worlds whose true values are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from simlab.comparing import world_distribution
from simlab.comparing.world_distribution import (
    WorldDistribution,
    WorldStatistic,
    estimate_distribution,
    share_of_worlds_better,
)
from simlab.measures.labels import ValueRange
from simlab.rng import stream
from simlab.types import Floats, InputError

SHARE = ValueRange(0.0, 1.0)
QUANTILES, THRESHOLD = (0.1, 0.5, 0.9), 0.8
PAIRS = 6


def normal_studies(seed: int, worlds: int, studies: int, noise: float = 0.3, sd: float = 0.1) -> Floats:
    """Draw `[world, study]` of true values N(0.6, sd), each study off by N(0, noise)."""
    rng = stream(seed, "normal")
    return rng.normal(0.6, sd, (worlds, 1)) + rng.normal(0.0, noise, (worlds, studies))


def found_pairs(rng: np.random.Generator, truth: Floats, studies: int) -> Floats:
    """Draw shares of pairs found, `[world, study]`: those of a study go together."""
    own = rng.beta(4 * truth[:, None], 4 * (1 - truth[:, None]), (len(truth), studies))
    return rng.binomial(PAIRS, own) / PAIRS


LAWS = {
    "high": lambda rng, n: rng.beta(6, 2, n),
    "wide": lambda rng, n: rng.beta(2, 2, n),
    "narrow": lambda rng, n: rng.beta(40, 10, n),
    "two groups": lambda rng, n: np.where(rng.random(n) < 0.5, rng.beta(16, 64, n), rng.beta(72, 8, n)),
}


def statistics(found: WorldDistribution) -> list[WorldStatistic]:
    return [*found.quantiles, *found.shares]


def test_normal_worlds_have_the_quantiles_and_shares_of_their_law() -> None:
    values = normal_studies(1, 2000, 8)
    found = estimate_distribution(values, QUANTILES, [0.7])
    truth = [*norm.ppf(QUANTILES, 0.6, 0.1), norm.sf(0.7, 0.6, 0.1)]
    raw = [*np.quantile(values.mean(1), QUANTILES), np.mean(values.mean(1) >= 0.7)]
    for one, true in zip(statistics(found), truth, strict=True):
        assert abs(one.value - true) < 4 * one.mcse
        assert one.low < one.value < one.high
    assert found.sd == pytest.approx(0.1, abs=0.01)
    assert found.reliability == pytest.approx(0.01 / (0.01 + 0.09 / 8), abs=0.04)
    assert (found.worlds, found.studies) == (2000, 8)
    # The control: means of studies, as they are, spread more.
    assert all(abs(raw[k] - truth[k]) > 4 * statistics(found)[k].mcse for k in (0, 2, 3))


def test_worlds_that_are_alike_have_one_value() -> None:
    found = estimate_distribution(normal_studies(2, 400, 10, sd=0.0), QUANTILES, [0.7])
    assert found.reliability < 0.2
    # Means of studies as they are spread over 0.24.
    assert found.quantiles[2].value - found.quantiles[0].value < 0.12
    assert found.shares[0].low <= 0.01


def cover(law: str, repetitions: int, worlds: int, studies: int) -> Floats:
    """Count how often intervals hold the quantiles, and the share at the threshold or above."""
    rng = stream(3, "coverage", law)
    many = LAWS[law](rng, 400_000)
    truth = np.array([*np.quantile(many, QUANTILES), np.mean(many >= THRESHOLD)])
    hits = np.zeros(4)
    for _ in range(repetitions):
        values = found_pairs(rng, LAWS[law](rng, worlds), studies)
        found = statistics(estimate_distribution(values, QUANTILES, [THRESHOLD], SHARE))
        hits += [one.low <= true <= one.high for one, true in zip(found, truth, strict=True)]
    return hits / repetitions


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [12, pytest.param(300, marks=pytest.mark.slow)])
def test_intervals_cover(law: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 95 % intervals .93 or more are to hold the truth, and more where a share can hardly be told."""
    monkeypatch.setattr(world_distribution, "RESAMPLES", 300)
    covered = cover(law, n, 60, 16)
    assert (covered > 0.93 - 4 * np.sqrt(0.05 * 0.95 / n)).all()
    assert covered.mean() > 0.94 - 2 * np.sqrt(0.05 * 0.95 / n)


def test_means_of_studies_as_they_are_do_not_cover() -> None:
    """Hold the control: the quantiles of means of studies of a narrow law lie far outside."""
    rng = stream(4, "control")
    truth = np.quantile(LAWS["narrow"](rng, 100_000), 0.9)
    values = found_pairs(rng, LAWS["narrow"](rng, 100), 16)
    means = np.repeat(values.mean(1)[:, None], 16, 1)
    assert not estimate_distribution(means, [0.9], [], SHARE).quantiles[0].low <= truth


def test_where_all_studies_find_everything_the_interval_says_what_they_can_miss() -> None:
    rng = stream(5, "end")
    values = found_pairs(rng, rng.beta(9, 0.6, 60), 10)
    top = estimate_distribution(values, [0.9], [], SHARE).quantiles[0]
    assert top.value > 0.97
    assert top.low < 0.97
    assert top.high == 1.0


def test_studies_that_are_missing_are_left_out() -> None:
    values = normal_studies(6, 300, 10)
    whole = estimate_distribution(values, [0.5])
    values[:100, 6:] = np.nan
    values[0, 1:] = np.nan
    fewer_studies = estimate_distribution(np.concatenate([values, np.full((5, 10), np.nan)]), [0.5])
    assert (fewer_studies.worlds, fewer_studies.studies) == (300, 6)
    assert fewer_studies.quantiles[0].value == pytest.approx(whole.quantiles[0].value, abs=4 * whole.quantiles[0].mcse)


def test_one_study_of_each_world_is_refused() -> None:
    with pytest.raises(InputError, match=r"each world has one study.*\(studies=20\)"):
        estimate_distribution(normal_studies(7, 50, 1), [0.5])


def test_a_few_worlds_are_refused() -> None:
    with pytest.raises(InputError, match=r"^19 worlds have a value here.*needs 20"):
        estimate_distribution(normal_studies(8, 19, 5), [0.5])


def test_a_design_is_better_in_the_share_of_worlds_that_its_law_says() -> None:
    rng = stream(9, "better")
    shared = rng.normal(0.5, 0.2, (1000, 1))
    difference = rng.normal(0.05, 0.05, (1000, 1))
    common = rng.normal(0.0, 0.3, (1000, 10))
    first, second = (one + common + rng.normal(0.0, 0.1, (1000, 10)) for one in (shared + difference, shared))
    found = share_of_worlds_better(first, second, 0.02)
    truth = norm.sf(0.02, 0.05, 0.05)
    assert abs(found.shares[0].value - truth) < 4 * found.shares[0].mcse
    other = share_of_worlds_better(second, first, 0.02, less_is_better=True)
    assert other.shares[0].value == pytest.approx(found.shares[0].value)
    # The control: worlds taken in another order are not paired.
    crossed = share_of_worlds_better(first, second[::-1], 0.02)
    assert abs(crossed.shares[0].value - truth) > 4 * found.shares[0].mcse


def test_designs_of_other_worlds_are_not_compared() -> None:
    with pytest.raises(InputError, match="one design met 30 worlds and the other 20"):
        share_of_worlds_better(normal_studies(1, 30, 4), normal_studies(1, 20, 4), 0.0)
