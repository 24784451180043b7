"""The share of draws in which an advice holds is that of the truth: noise of simulation is taken out of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import made_plans as made
import numpy as np
import pytest
from benches import MadeBench
from scipy.special import ndtr, ndtri

from simlab.answers.plan import Robust, Target
from simlab.planning.robustness import DRAW, measure_robustness, measure_scenario_robustness
from simlab.planning.terms import Design, MeasuredDesign, SearchResult, replace_setting

DRAWS = 100
PRICES = {"advice": 100.0, "cheap": 80.0, "dear": 130.0}
ADVICE, CHEAP, DEAR = ((("kind", name),) for name in PRICES)
FOUND = SearchResult(ADVICE, ADVICE, (CHEAP, DEAR), {ADVICE: {}, CHEAP: {}, DEAR: {}}, 0.95, 3, 0, "sure")
WANTED = made.wanted(power=0.75)
FITTED = made.ground(words=("systems=fitted",), draws=DRAWS)


@dataclass
class Posterior:
    """Hold what draws say of the power: on the probit scale, from a mean and a spread; the cheap design has less."""

    z: np.ndarray
    mean: float
    sd: float
    gap: float = 0.3

    def power(self, one: str) -> np.ndarray:
        return np.asarray(ndtr(self.mean + self.sd * self.z - (self.gap if one == "cheap" else 0.0)))

    def __call__(self, design: Design) -> Mapping[str, float]:
        held = dict(design)
        power = float(self.power(held["kind"])[held[DRAW]])
        return {"power": power, "no_wrong_claim": 1.0, "money": PRICES[held["kind"]], "ended_as_planned": 1.0}

    @property
    def share(self) -> float:
        return float((self.power("advice") >= 0.75).mean())

    @property
    def regret(self) -> float:
        return float(np.where(self.power("cheap") >= 0.75, 0.2, 0.0).mean())


def posterior(seed: int, sd: float = 0.15, above: float = 0.8, gap: float = 0.3) -> Posterior:
    z = np.random.default_rng(seed).standard_normal(DRAWS)
    return Posterior(z, float(ndtri(0.75)) + above * sd, sd, gap)


def found_of(of: Posterior, seed: int, **more: int) -> Robust:
    held = measure_robustness(MadeBench(of, seed, sd=0.3), FOUND, FITTED, WANTED, **more)
    assert held is not None
    return held


@pytest.fixture(scope="module")
def many() -> list[tuple[Posterior, Robust, float]]:
    held = []
    for seed in range(60):
        of = posterior(seed)
        bench = MadeBench(of, seed, sd=0.25, shared=0.1)
        robust = measure_robustness(bench, FOUND, FITTED, WANTED, worlds=16)
        assert robust is not None
        at = np.unique(np.linspace(0, DRAWS - 1, 24).round().astype(int)).tolist()
        plain = [bench.look({replace_setting(ADVICE, DRAW, k): 16})[replace_setting(ADVICE, DRAW, k)] for k in at]
        held.append((of, robust, float(np.mean([one["power"].value >= 0.75 for one in plain]))))
    return held


@pytest.mark.slow
def test_the_share_is_that_of_the_truth_and_shares_of_noisy_figures_are_not(
    many: list[tuple[Posterior, Robust, float]],
) -> None:
    own = np.array([robust.share - of.share for of, robust, _ in many])
    plain = np.array([naive - of.share for of, _, naive in many])
    error = own.std(ddof=1) / math.sqrt(len(own))
    assert abs(own.mean()) < 3 * error
    assert plain.mean() < -3 * plain.std(ddof=1) / math.sqrt(len(plain))


def test_intervals_of_the_share_hold_it_and_shorter_ones_do_not(many: list[tuple[Posterior, Robust, float]]) -> None:
    held = np.mean([robust.low <= of.share <= robust.high for of, robust, _ in many])
    assert held >= 0.9 - 3 * math.sqrt(0.9 * 0.1 / len(many))
    third = np.mean(
        [robust.share - (robust.share - robust.low) / 3 <= of.share <= robust.share + (robust.high - robust.share) / 3
         for of, robust, _ in many]
    )  # fmt: skip
    assert third < 0.9 - 3 * math.sqrt(0.9 * 0.1 / len(many))


def test_intervals_hold_the_share_where_draws_share_most_of_the_noise() -> None:
    found = [(posterior(seed), found_of(posterior(seed), seed, worlds=16)) for seed in range(40)]
    held = np.mean([robust.low <= of.share <= robust.high for of, robust in found])
    assert held >= 0.9 - 3 * math.sqrt(0.9 * 0.1 / len(found))


def test_the_regret_is_that_of_the_truth(many: list[tuple[Posterior, Robust, float]]) -> None:
    gaps = np.array([robust.regret - of.regret for of, robust, _ in many])
    # A share of draws is rounded by the noise of 24 of them: .2 * sqrt(.1 * .9 / 24) a time.
    assert abs(gaps.mean()) < 0.01 + 3 * gaps.std(ddof=1) / math.sqrt(len(gaps))
    held = np.mean([robust.regret_low - 1e-9 <= of.regret <= robust.regret_high + 1e-9 for of, robust, _ in many])
    assert held >= 0.8
    assert np.mean([of.regret for of, _, _ in many]) > 0.01


def test_the_lower_quantile_is_that_of_the_truth(many: list[tuple[Posterior, Robust, float]]) -> None:
    gaps = np.array([robust.q05 - np.quantile(of.power("advice"), 0.05) for of, robust, _ in many])
    # The 5 % quantile of 24 lies a little inside that of all.
    assert abs(gaps.mean()) < 0.015
    assert gaps.std() < 0.05


def test_draws_that_do_not_differ_all_reach_the_targets_or_none_does() -> None:
    for above, share in ((0.3, 1.0), (-0.3, 0.0)):
        of = Posterior(np.zeros(DRAWS), float(ndtri(0.75)) + above, 1.0)
        robust = found_of(of, 3, worlds=64)
        assert robust.share == share
        assert robust.low <= share <= robust.high
        assert robust.high - robust.low > 0.05


def test_designs_that_are_known_to_be_dearer_are_not_simulated() -> None:
    of = posterior(1)
    bench = MadeBench(of, 1)
    tried = MadeBench(lambda one: {"money": PRICES[dict(one)["kind"]]}, 1).look(dict.fromkeys(FOUND.tried, 10))
    measure_robustness(bench, replace(FOUND, tried=tried), FITTED, WANTED)
    assert {dict(one)["kind"] for one in bench.worlds} == {"advice", "cheap"}


def test_without_a_posterior_or_time_nothing_is_said() -> None:
    of = posterior(1)
    assert measure_robustness(MadeBench(of, 1), FOUND, made.ground(draws=0), WANTED) is None
    assert measure_robustness(MadeBench(of, 1, seconds=0.0), FOUND, FITTED, WANTED) is None


def test_what_time_ended_says_how_many_draws_there_were() -> None:
    bench = Ending(posterior(2), 2)
    robust = measure_robustness(bench, FOUND, FITTED, WANTED)
    assert robust is not None
    assert robust.draws == 12


class Ending(MadeBench):
    """End patience after two looks."""

    def remaining_seconds(self) -> float:
        return 1.0 if self.looks < 2 else 0.0

    looks = 0

    def look(self, wants: Mapping[Design, int]) -> dict[Design, MeasuredDesign]:
        self.looks += 1
        return super().look(wants)


def test_scenarios_are_counted_and_those_that_fail_are_named() -> None:
    def bench(power: float) -> MadeBench:
        told = {"no_wrong_claim": 1.0, "ended_as_planned": 1.0}
        return MadeBench(lambda one: {**told, "power": power, "money": PRICES[dict(one)["kind"]]}, 1)

    benches = {"tough": bench(0.5), "usual": bench(0.9), "easy": bench(0.95)}
    robust = measure_scenario_robustness(benches, FOUND, WANTED)
    assert robust.share == pytest.approx(2 / 3)
    assert robust.source == "scenarios"
    assert robust.more == "It does not in tough."
    # Where the advice reaches its targets, the cheaper design does, too.
    assert robust.regret == pytest.approx(0.2 * 2 / 3)


def test_all_targets_count() -> None:
    of = posterior(4, above=3.0)
    wanted = made.wanted(power=0.75)
    wanted = type(wanted)((*wanted.targets, Target(measure="confirmed", least=0.9)), wanted.limits, wanted.smallest)
    bench = MadeBench(lambda one: {**of(one), "confirmed": 0.5}, 4)
    robust = measure_robustness(bench, FOUND, FITTED, wanted)
    assert robust is not None
    assert robust.share == 0.0
