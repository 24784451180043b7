"""The fewest ratings that measure a difference: n is enough and n - 1 is not; the cheapest mix against all mixes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from simlab.analysis.adequacy.inverse import (
    Mix,
    RatingPrices,
    find_cheapest_mix,
    find_smallest_number,
    measurable_epsilon,
)
from simlab.analysis.adequacy.measurable_difference import joint_difference, measurable_difference
from simlab.analysis.adequacy.plans import Plan
from simlab.rng import stream
from simlab.types import InputError


def some_plans(n: int) -> list[tuple[str, Plan, float]]:
    """Draw plans without one of their numbers, and a difference that lies within reach of it."""
    found = []
    for k in range(n):
        rng = stream(1, "plans", k)
        unknown = ["n_human", "n_metric", "n_calibration", "accuracy"][k % 4]
        rho, eta = rng.uniform(0.6, 0.98, 2)
        calibration = int(rng.choice([20, 200, 2000])) if unknown == "n_calibration" or rng.random() < 0.5 else None
        plan = Plan(int(rng.choice([0, 50, 500])), int(rng.choice([300, 3000])), rho, eta, rng.uniform(), calibration)
        best = plan._replace(rho=0.98, eta=0.98) if unknown == "accuracy" else plan._replace(**{unknown: 100_000})
        found.append((unknown, plan, measurable_epsilon(best) * rng.uniform(1.05, 2)))
    return found


@pytest.mark.parametrize(("unknown", "plan", "difference"), some_plans(24))
def test_n_is_enough_and_one_less_is_not(unknown: str, plan: Plan, difference: float) -> None:
    found = find_smallest_number(unknown, plan, difference)
    name, step = (unknown, 1) if unknown != "accuracy" else ("rho", 1e-4)

    def epsilon(value: float) -> float:
        both = {"rho": value, "eta": value} if name == "rho" else {name: int(value)}
        return measurable_epsilon(plan._replace(**both))

    assert epsilon(max(found, 0.50001) if name == "rho" else found) <= difference
    if found > (0.5 if name == "rho" else 0):
        assert epsilon(found - step) > difference
    more = np.linspace(found + 1e-3, 0.999, 5) if name == "rho" else found * np.array([1.1, 2, 10]) + 1
    assert all(epsilon(value) <= difference for value in more)


def test_rounded_counts_are_near() -> None:
    n = int(find_smallest_number("n_human", Plan(0, 1000, 0.7, 0.7, 0.6), 0.05))
    published = measurable_difference(Plan(np.arange(n - 3, n + 4), 1000, 0.7, 0.7, 0.6)).epsilon
    assert np.abs(published - 0.05).max() < 0.0003


def test_a_published_reading() -> None:
    """At 70 % accuracy 5,000 human ratings measure 2 points (section 1 of the paper)."""
    assert 4500 < find_smallest_number("n_human", Plan(0, 0, 0.7, 0.7, 0.6), 0.02) <= 5000
    assert find_smallest_number("n_human", Plan(0, 50_000, 0.7, 0.7, 0.6), 0.02) == 0


def test_a_shared_calibration_needs_fewer_ratings() -> None:
    plan = Plan(0, 0, 0.7, 0.7, 0.6, 1000)
    found = find_smallest_number("n_metric", plan, 0.04, joint=True)
    assert found < 10_000
    near = joint_difference(Plan(0, [found - 20, found + 20], 0.7, 0.7, 0.6, 1000)).epsilon
    assert near[0] > 0.04 > near[1]
    with pytest.raises(InputError, match="out of reach"):
        find_smallest_number("n_metric", plan, 0.04)


@pytest.mark.parametrize(
    ("unknown", "plan", "limit"),
    [
        ("n_metric", Plan(0, 0, 0.7, 0.7, 0.6, 1000), 0.1025),
        ("n_calibration", Plan(0, 10_000, 0.7, 0.7, 0.6, 0), 0.0345),
        ("accuracy", Plan(0, 1000, 1, 1, 0.6), 0.0429),
    ],
)
def test_what_is_out_of_reach_is_one_line_with_the_limit(unknown: str, plan: Plan, limit: float) -> None:
    with pytest.raises(InputError, match=f"out of reach for any {unknown}") as raised:
        find_smallest_number(unknown, plan, 0.02)
    line = str(raised.value)
    assert "\n" not in line
    assert abs(float(line.split(" settings is ")[1].split(";")[0]) - limit) < 0.0006


def test_a_bad_difference_is_one_line() -> None:
    for difference in (0, 1, -0.1, np.nan):
        with pytest.raises(InputError, match="is not between 0 and 1"):
            find_smallest_number("n_human", Plan(0, 0, 0.7, 0.7, 0.6), difference)


def cost(plan: Plan, prices: RatingPrices) -> float:
    human, metric, calibration = prices.each
    return plan.n_human * human + plan.n_metric * metric + (plan.n_calibration or 0) * calibration


@pytest.mark.parametrize("prices", [RatingPrices(1, 0.5), RatingPrices(1, 0.1), RatingPrices(1, 0.01)])
@pytest.mark.parametrize("rho", [0.75, 0.95])
def test_no_mix_is_cheaper(prices: RatingPrices, rho: float) -> None:
    plan, difference = Plan(0, 0, rho, 0.8, 0.4), 0.15
    found = find_cheapest_mix(plan, difference, prices)
    assert found.epsilon <= difference
    assert found.price == cost(found.plan, prices)
    alone = int(find_smallest_number("n_human", plan, difference))
    grid = [plan._replace(n_human=h, n_metric=m) for h, m in product(range(0, alone, 3), range(0, 400, 8))]
    rows = np.array([(p.n_human, p.n_metric) for p in grid])
    enough = measurable_difference(Plan(rows[:, 0], rows[:, 1], rho, 0.8, 0.4)).epsilon <= difference - 0.001
    least = min(cost(p, prices) for p, e in zip(grid, enough, strict=True) if e)
    assert found.price <= 1.01 * least


@pytest.mark.slow
@pytest.mark.parametrize("prices", [RatingPrices(1, 0.01), RatingPrices(1, 0.02, 0.3)])
def test_no_mix_with_a_calibration_is_cheaper(prices: RatingPrices) -> None:
    plan, difference = Plan(0, 0, 0.9, 0.9, 0.6, 0), 0.15
    found = find_cheapest_mix(plan, difference, prices)
    assert found.epsilon <= difference
    axes = [range(0, 90, 10), range(0, 1200, 100), range(0, 140, 10)]
    h, m, c = (x.ravel() for x in np.meshgrid(*axes, indexing="ij"))
    enough = measurable_difference(Plan(h, m, 0.9, 0.9, 0.6, c)).epsilon <= difference
    human, metric, calibration = prices.each
    assert found.price <= 1.02 * (h * human + m * metric + c * calibration)[enough].min()


def test_prices_are_positive() -> None:
    for prices in (RatingPrices(0, 1), RatingPrices(1, -1), RatingPrices(1, np.nan), RatingPrices(1, 1, 0)):
        with pytest.raises(InputError, match="not all positive"):
            find_cheapest_mix(Plan(0, 0, 0.7, 0.7, 0.6), 0.1, prices)


def test_human_ratings_alone_where_the_metric_is_dear() -> None:
    found = find_cheapest_mix(Plan(0, 0, 0.7, 0.7, 0.6), 0.05, RatingPrices(1, 1))
    assert isinstance(found, Mix)
    assert (found.plan.n_human, found.plan.n_metric) == (735, 0)
