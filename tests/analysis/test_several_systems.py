"""Carry differences over to several systems: levels against tables, powers against draws, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import studentized_range

from simlab.analysis.adequacy.grid import drawn_differences, quantile
from simlab.analysis.adequacy.inverse import find_smallest_number
from simlab.analysis.adequacy.measurable_difference import Among, detectable_difference, measurable_difference
from simlab.analysis.adequacy.plans import Plan, check, draw_counts, map_arrays, ravel
from simlab.rng import stream
from simlab.types import InputError

LEVEL = 0.05


@pytest.mark.parametrize("n_systems", [3, 8, 50, 2000])
@pytest.mark.parametrize("level", [0.3, 0.05, 0.001])
def test_the_bar_is_that_of_the_studentised_range(n_systems: int, level: float) -> None:
    bar = -ndtri(Among(n_systems).level(level) / 2) * np.sqrt(2)
    assert bar == pytest.approx(studentized_range.ppf(1 - level, n_systems, np.inf), rel=1e-6)


def test_two_systems_are_a_pair_whatever_is_asked() -> None:
    for rule in ("max_t", "holm", "none"):
        for find in ("pair", "best", "all"):
            two = Among(2, rule, find)  # type: ignore[arg-type]
            assert (two.level(LEVEL), two.power(0.8), two.family_power(np.array(0.3))) == (LEVEL, 0.8, 0.3)


def test_rules_are_in_their_order() -> None:
    holm, max_t, none = (Among(8, rule).level(LEVEL) for rule in ("holm", "max_t", "none"))  # type: ignore[arg-type]
    assert holm == LEVEL / 28 < max_t < none == LEVEL
    pair, best, every = (Among(8, find=find).power(0.8) for find in ("pair", "best", "all"))  # type: ignore[arg-type]
    assert pair == 0.8 < best < every < 1


@pytest.mark.parametrize("find", ["best", "all"])
def test_the_power_of_many_is_what_draws_give(find: Any) -> None:
    among = Among(7, find=find)
    x, better = stream(1, find).standard_normal((40_000, 7)), 1 if find == "best" else 3
    for pair in (0.6, 0.95, 0.99):
        share = (x[:, :better].min(1) - x[:, better:].max(1) > -np.sqrt(2) * ndtri(pair)).mean()
        assert abs(among.family_power(np.array(pair)) - share) < 5 * np.sqrt(share * (1 - share) / len(x))
    assert among.family_power(np.array([among.power(0.8), np.nan])) == pytest.approx([0.8, np.nan], nan_ok=True)


def apart(plan: Plan[Any], n_systems: int, n: int, alphas: Any = None) -> np.ndarray:
    """Return by how many posterior deviations pairs differ `[evaluation, pair]` at drawn counts."""
    rows = map_arrays(ravel(check(plan, LEVEL)[0]), lambda x: np.repeat(x, n * n_systems))
    if alphas is not None:
        rows = rows._replace(alpha=np.tile(alphas, n))
    mean, sd = (x.reshape(n, -1) for x in draw_counts(stream(1, "apart"), rows).sd(False))
    one, two = np.triu_indices(n_systems, 1)
    return np.asarray(np.abs(mean[:, one] - mean[:, two]) / np.hypot(sd[:, one], sd[:, two]))


def bar(among: Among) -> float:
    return float(-ndtri(among.level(LEVEL) / 2))


NULLS = {
    "humans": (Plan(1000, 0, 1, 1, 0.6), 4000),
    "both, rates known": (Plan(100, 1000, 0.7, 0.7, 0.6), 1000),
    "both, a calibration each": (Plan(50, 1000, 0.8, 0.8, 0.6, 200), 100),
}


@pytest.mark.parametrize("null", NULLS)
def test_the_level_is_of_all_pairs(null: str) -> None:
    plan, n = NULLS[null]
    error = np.sqrt(LEVEL * (1 - LEVEL) / n)
    most = apart(plan, 8, n).max(1)
    max_t, holm, none = ((most > bar(Among(8, rule))).mean() for rule in ("max_t", "holm", "none"))  # type: ignore[arg-type]
    assert LEVEL / 2 - 5 * error < max_t < LEVEL + 5 * error
    assert holm <= max_t
    # The control: pair by pair the level does not hold.
    assert none > LEVEL + 5 * error


@pytest.mark.long
@pytest.mark.parametrize("n_human", [100, 300, 3000])
@pytest.mark.parametrize("n_systems", [3, 8, 15])
def test_the_level_is_of_all_pairs_of_any_number_of_systems(n_human: int, n_systems: int) -> None:
    share = (apart(Plan(n_human, 2000, 0.8, 0.8, 0.6), n_systems, 10_000).max(1) > bar(Among(n_systems))).mean()
    # Counts are whole numbers: at 100 ratings .06 is what is promised.
    assert 0.035 < share < 0.06


@pytest.mark.parametrize("find", ["pair", "best", "all"])
def test_a_detectable_difference_is_found_as_often_as_wanted(find: Any) -> None:
    among, plan = Among(6, find=find), Plan(1000, 0, 1, 1, 0.6)
    difference = float(detectable_difference(plan, level=among.level(LEVEL), power=among.power(0.8)))
    better = 1 if find == "best" else 3
    alphas = np.where(np.arange(6) < better, 0.6, 0.6 - difference)
    one, two = np.triu_indices(6, 1)
    differ = (one < better) & (two >= better)
    found = (apart(plan, 6, 4000, alphas) > bar(among))[:, differ]
    share = found[:, 0].mean() if find == "pair" else found.all(1).mean()
    assert abs(share - 0.8) < 0.03


def test_the_inverse_finds_what_is_asked() -> None:
    among, plan = Among(8, find="all"), Plan(0, 1000, 0.8, 0.8, 0.6)
    n = find_smallest_number("n_human", plan, 0.1, power=0.8, among=among)
    level, power = among.level(LEVEL), among.power(0.8)
    for k, enough in ((n, True), (n - 1, False)):
        reached = float(detectable_difference(plan._replace(n_human=k), level=level, power=power))
        assert (reached <= 0.1 * (1 + 1e-6)) == enough
    with pytest.raises(InputError, match=r"found with power 0.8 with"):
        find_smallest_number("n_metric", Plan(0, 0, 0.7, 0.7, 0.6, 50), 0.1, power=0.8, among=among)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (Among(1), "n_systems=1 is not a number of systems"),
        (Among(3, "holms"), "did you mean holm"),  # type: ignore[arg-type]
        (Among(3, find="any"), "find=any is unknown"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused(wrong: Among, says: str) -> None:
    with pytest.raises(InputError, match=says):
        wrong.validate()


def test_drawn_counts_are_those_of_single_settings() -> None:
    plan, difference = Plan(np.array([0, 100]), 2000, 0.75, 0.8, 0.6, 300), 0.1
    many = drawn_differences(plan, draws=60, difference=difference)
    one = measurable_difference(plan, counts="drawn", draws=60, difference=difference)
    assert one.mcse is not None
    assert one.power is not None
    error = np.sqrt(one.mcse**2 + many.epsilon.var(-1) / 60)
    assert (np.abs(many.epsilon.mean(-1) - one.epsilon) < 5 * error).all()
    assert (np.abs(many.found.mean(-1) - one.power) < 5 * np.sqrt(0.5 / 60)).all()


def test_a_setting_has_the_same_draws_in_any_company() -> None:
    alone = drawn_differences(Plan(100, 1000, 0.7, 0.7, 0.6), draws=20).epsilon
    some = drawn_differences(Plan(np.array([[10], [100]]), np.array([0, 1000]), 0.7, 0.7, 0.6), draws=20).epsilon
    np.testing.assert_allclose(some[1, 1], alone, rtol=1e-3)


def test_without_any_rating_nothing_is_found() -> None:
    none = drawn_differences(Plan(np.array([0, 10]), 0, 1, 1, 0.6), draws=5, difference=0.3)
    assert (none.epsilon[0] == 1).all()
    assert np.isnan(none.found[0]).all()
    assert np.isfinite(none.found[1]).all()


def test_the_error_of_a_quantile_is_what_repetitions_show() -> None:
    draws = stream(1, "quantile").standard_normal((400, 200))
    at, off = quantile(draws, 0.95)
    told = np.sqrt((off**2).sum(-1) / (200 * 199))
    assert abs(np.sqrt((told**2).mean()) / at.std() - 1) < 0.25


@pytest.mark.parametrize(("more", "says"), [({"draws": 1}, "fewer than 2"), ({"difference": 0.9}, "more than 0.6")])
def test_draws_that_cannot_be_are_refused(more: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        drawn_differences(Plan(10, 0, 1, 1, 0.6), **more)
