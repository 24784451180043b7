"""Flips that are planted are found, where they are, with intervals that hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import made_plans as made
import numpy as np
import pytest
from benches import MadeBench
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from simlab.planning.crossings import AssumptionScale
from simlab.planning.flips import find_nearest_flips, name_assumptions_without_flip
from simlab.planning.remedies import PRICE
from simlab.planning.terms import Assumption, Design, Flip, Ground, SearchResult, replace_setting

ADVICE, CHEAP, DEAR = ((("kind", name),) for name in ("advice", "cheap", "dear"))
COST = {"advice": 100.0, "cheap": 80.0, "dear": 130.0}
WANTED = made.wanted(power=0.8, money=200.0)
BAR = float(ndtri(0.8))
TASTE = Assumption("rater x system", "made.taste", 2.0, 1.5, 2.5, 0.5, 3.5, False, "taste {:.1f}", "points", "pilot")
NOISE = Assumption("own noise", "made.noise", 10.0, 5.0, 20.0, 1.25, 80.0, True, "noise {:.1f}", "points", "assumed")
SPEED = Assumption("speed", "made.speed", 60.0, 30.0, 120.0, 7.5, 480.0, True, "{:.0f} s", "s", "assumed")
ALL = (TASTE, NOISE, SPEED)


@dataclass
class Planted:
    """Hold probits of the power: `at` now, less `fall` of each assumption's value relative to what it is now.

    What falls by value is straight for none of the log scales, and the dear design falls half as fast.
    """

    at: Mapping[str, float]
    fall: Mapping[str, float]

    def probit(self, kind: str, values: Mapping[str, float]) -> float:
        fall = 0.0
        for one in ALL:
            gap = values.get(one.key, one.value) / one.value - 1
            fall += self.fall.get(one.key, 0.0) * gap * (0.5 if kind == "dear" else 1.0)
        return self.at[kind] - fall

    def __call__(self, design: Design) -> Mapping[str, float]:
        held = dict(design)
        power = float(ndtr(self.probit(held["kind"], held)))
        return {"power": power, "no_wrong_claim": 1.0, "money": COST[held["kind"]], "ended_as_planned": 1.0}

    def flip(self, of: Assumption) -> float:
        """Return the distance of the nearest flip along an assumption, by root finding; infinite without one."""
        scale, found = AssumptionScale(of), [math.inf]
        for kind, side in (("advice", 1), ("cheap", -1), ("advice", -1), ("cheap", 1)):

            def beyond(x: float, kind: str = kind, side: int = side) -> float:
                return self.probit(kind, {of.key: scale.value(side * x)}) - BAR

            if beyond(0.0) * beyond(scale.end(side)) < 0:
                found.append(float(brentq(beyond, 0.0, scale.end(side))))
        return min(found)


def planted(seed: int) -> tuple[Planted, Assumption, float]:
    """Plant a world: its nearest flip is at .5 to 2 ranges from now, the next at least 1.4 times as far."""
    rng = np.random.default_rng([seed, 7])
    while True:
        at = {"advice": BAR + rng.uniform(0.35, 0.8), "cheap": BAR - rng.uniform(0.35, 0.8), "dear": BAR + 1.0}
        fall = {one.key: float(rng.uniform(0.1, 2.5) * rng.choice([1, 1, -1])) for one in ALL}
        world = Planted(at, fall)
        near, next_one = sorted(world.flip(one) for one in ALL)[:2]
        if 0.5 < near < 2 and next_one > 1.4 * near:
            return world, min(ALL, key=world.flip), near


def searched(
    world: Any, seed: int, worlds: int = 400, advice: Design | None = ADVICE
) -> tuple[MadeBench, SearchResult]:
    bench = MadeBench(world, seed)
    tried = bench.look(dict.fromkeys((ADVICE, CHEAP, DEAR), worlds))
    rivals = (CHEAP, DEAR) if advice == ADVICE else (ADVICE, DEAR)
    return bench, SearchResult(advice, advice or CHEAP, rivals, tried, 0.95, 3, 0, "sure")


def ground(*assumptions: Assumption) -> Ground:
    return made.ground(assumptions=assumptions)


def found_in(worlds: int) -> list[tuple[Assumption, float, list[Flip]]]:
    held = []
    for seed in range(worlds):
        world, of, distance = planted(seed)
        bench, found = searched(world, seed)
        held.append((of, distance, find_nearest_flips(bench, found, ground(*ALL), WANTED)))
    return held


def span(flip: Flip) -> tuple[float, float]:
    scale = AssumptionScale(flip.assumption)
    low, high = sorted(abs(scale.measure_distance(end)) for end in (flip.low, flip.high))
    return low, high


def is_close(of: Assumption, distance: float, flips: list[Flip]) -> bool:
    return bool(flips) and flips[0].assumption == of and abs(flips[0].distance - distance) <= 0.1 * distance


@pytest.mark.parametrize(("worlds", "close", "inside"), [(10, 7, 7), pytest.param(50, 40, 39, marks=pytest.mark.long)])
def test_planted_flips_are_found_where_they_are_with_short_intervals_that_hold_them(
    worlds: int, close: int, inside: int
) -> None:
    many = found_in(worlds)
    assert sum(is_close(*one) for one in many) >= close
    # Distances that are a quarter longer are not those.
    assert sum(is_close(of, 1.25 * distance, flips) for of, distance, flips in many) < worlds / 4
    own = [(one, distance) for of, distance, flips in many for one in flips if one.assumption == of]
    spans = [(*span(flip), flip.distance, distance) for flip, distance in own]
    assert sum(low <= distance <= high for low, high, _, distance in spans) >= inside
    # Intervals of a third of the width hold it too rarely.
    assert sum(abs(distance - at) <= (high - low) / 6 for low, high, at, distance in spans) < inside
    assert np.median([(high - low) / 2 / distance for low, high, _, distance in spans]) <= 0.2
    for _, _, flips in many:
        assert [one.distance for one in flips] == sorted(one.distance for one in flips)
        for one in flips:
            assert one.assumption.least <= one.low <= one.at <= one.high <= one.assumption.most
            assert abs(AssumptionScale(one.assumption).measure_distance(one.at)) == pytest.approx(one.distance)


@pytest.mark.slow
def test_an_assumption_without_influence_has_no_flip() -> None:
    told = 0
    for seed in range(8):
        world = Planted({"advice": BAR + 0.15, "cheap": BAR - 0.15, "dear": BAR + 1.0}, {TASTE.key: 0.5})
        bench, found = searched(world, seed)
        flips = find_nearest_flips(bench, found, ground(*ALL), WANTED, worlds=128)
        told += sum(one.assumption != TASTE for one in flips)
        assert name_assumptions_without_flip(flips, ground(TASTE)) == (
            [] if any(one.assumption == TASTE for one in flips) else [TASTE.name]
        )
    assert told <= 1


def test_beyond_a_flip_the_cheapest_design_that_reaches_the_targets_is_advised() -> None:
    world = Planted({"advice": BAR + 0.5, "cheap": BAR - 0.5, "dear": BAR + 0.6}, {TASTE.key: 1.0})
    bench, found = searched(world, 3)
    more = find_nearest_flips(bench, found, ground(TASTE._replace(least=TASTE.value)), WANTED)
    assert [(one.then, one.why) for one in more] == [(DEAR, "power falls below 0.8")]
    less = find_nearest_flips(bench, found, ground(TASTE._replace(most=TASTE.value)), WANTED)
    assert [(one.then, one.why) for one in less] == [(CHEAP, "a cheaper design reaches the targets")]
    assert less[0].at < TASTE.value < more[0].at


def test_where_no_design_reaches_the_targets_beyond_a_flip_there_is_none() -> None:
    world = Planted({"advice": BAR + 0.5, "cheap": BAR - 0.5, "dear": BAR + 0.1}, {TASTE.key: 1.0})
    bench, found = searched(world, 3)
    flips = find_nearest_flips(bench, found, ground(TASTE._replace(least=TASTE.value)), WANTED)
    assert flips[0].then is None
    assert "no design reaches the targets" in flips[0].why


def test_a_deadline_that_ends_campaigns_is_a_flip() -> None:
    world = Planted({"advice": BAR + 0.8, "cheap": BAR - 0.8, "dear": BAR + 1.0}, {})

    def late(design: Design) -> Mapping[str, float]:
        speed = dict(design).get(SPEED.key, SPEED.value)
        return {**world(design), "ended_as_planned": float(ndtr(2.2 - 0.6 * math.log2(speed / 60)))}

    bench, found = searched(late, 4)
    flips = find_nearest_flips(bench, found, ground(*ALL), made.wanted(money=200.0, deadline="5d"))
    assert [one.assumption for one in flips] == [SPEED]
    truth = (2.2 - float(ndtri(0.9))) / 0.6
    assert span(flips[0])[0] <= truth <= span(flips[0])[1]
    assert flips[0].then is None
    assert flips[0].why.startswith("the deadline ends it")


def test_without_advice_a_flip_is_where_a_design_reaches_the_targets() -> None:
    world = Planted({"advice": BAR - 0.3, "cheap": BAR - 0.8, "dear": BAR - 0.6}, {TASTE.key: 1.0})
    bench, found = searched(world, 5, advice=None)
    flips = find_nearest_flips(bench, found, ground(TASTE), WANTED)
    assert flips[0].then == ADVICE
    low, high = span(flips[0])
    # The power falls by 1 with each time that the value is twice itself: .3 are .6 points, of half a point each.
    assert low <= 1.2 <= high


def price(value: float = 0.5) -> Assumption:
    return Assumption(
        "price", PRICE, value, value / 2, 2 * value, value / 8, 8 * value, True, "{:.2f}", "money", "half"
    )


def test_a_price_ends_an_advice_where_the_money_no_longer_pays_it_exactly() -> None:
    world = Planted({"advice": BAR + 0.5, "cheap": BAR - 0.5, "dear": BAR + 1.0}, {})
    bench, found = searched(world, 6)
    before = bench.campaigns
    flips = find_nearest_flips(bench, found, ground(price()), WANTED)
    assert bench.campaigns == before
    assert [(one.at, one.distance) for one in flips] == [(pytest.approx(1.0), pytest.approx(1.0))]
    assert flips[0].then is None
    assert find_nearest_flips(bench, found, ground(price()), made.wanted(money=None)) == []
    assert find_nearest_flips(bench, found, ground(price()), made.wanted(money=2000.0)) == []


def test_without_advice_a_price_falls_until_the_money_pays_a_design_that_reaches_the_targets() -> None:
    world = Planted({"advice": BAR + 0.5, "cheap": BAR - 0.5, "dear": BAR + 1.0}, {})
    bench, found = searched(world, 6, advice=None)
    flips = find_nearest_flips(bench, found, ground(price()), made.wanted(money=50.0))
    assert (flips[0].at, flips[0].then) == (pytest.approx(0.25), ADVICE)


def test_settings_that_take_the_place_of_draws_are_anchored_at_what_the_search_knows() -> None:
    """Setting the value that is assumed changes the power by itself where draws differ; that is no flip."""
    key = "systems.assumed_rater_system_sd"
    of = TASTE._replace(key=key)
    world = Planted({"advice": BAR + 0.4, "cheap": BAR - 0.9, "dear": BAR + 1.0}, {TASTE.key: 1.0})

    def shifted(design: Design) -> Mapping[str, float]:
        held = dict(design)
        power = world.probit(held["kind"], {TASTE.key: held.get(key, TASTE.value)}) - (0.5 if key in held else 0.0)
        return {**world(design), "power": float(ndtr(power))}

    bench, found = searched(shifted, 8)
    flips = find_nearest_flips(bench, found, ground(of), WANTED)
    assert span(flips[0])[0] <= 1.6 <= span(flips[0])[1]
    assert flips[0].distance > 1.0


def test_without_time_nothing_is_simulated() -> None:
    world, _, _ = planted(1)
    bench, found = searched(world, 1)
    bench.seconds = 0.0
    before = bench.campaigns
    assert find_nearest_flips(bench, found, ground(*ALL), WANTED) == []
    assert bench.campaigns == before
    assert replace_setting(ADVICE, TASTE.key, 1.0) not in bench.worlds
