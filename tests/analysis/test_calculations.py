"""Hold whole grids of settings against single ones: which axis is which, and what an axis may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.analysis import calculations
from simlab.analysis.adequacy.measurable_difference import (
    Among,
    detectable_difference,
    joint_difference,
    measurable_difference,
)
from simlab.analysis.adequacy.plans import Plan
from simlab.types import InputError

KEYS: dict[str, Any] = {
    "n_human": 50, "n_metric": 1000, "rho": 0.7, "eta": 0.8, "accuracy": None, "alpha": 0.6, "n_calibration": None,
    "level": 0.05, "constrain": False, "power": 0.8,
}  # fmt: skip
ALL = ("measurable_difference", "joint_difference", "detectable_difference")


def calculated(axes: dict[str, Any], wanted: tuple[str, ...] = ALL, **keys: Any) -> dict[str, Any]:
    return calculations.measurable_difference(axes, wanted, **{**KEYS, **keys})


def test_each_measure_has_the_axes_in_their_order() -> None:
    axes = {"alpha": [0.5, 0.6, 0.9], "n_human": [0, 100]}
    grid = calculated(axes)
    assert set(grid) == set(ALL)
    for i, alpha in enumerate(axes["alpha"]):
        for j, n_human in enumerate(axes["n_human"]):
            plan = Plan(n_human, 1000, 0.7, 0.8, alpha)
            assert grid["measurable_difference"][i, j] == pytest.approx(float(measurable_difference(plan).epsilon))
            assert grid["joint_difference"][i, j] == pytest.approx(float(joint_difference(plan).epsilon))
            np.testing.assert_allclose(grid["detectable_difference"][i, j], detectable_difference(plan))


def test_accuracy_stands_for_both_rates() -> None:
    both = calculated({"accuracy": [0.7, 0.9]})["joint_difference"]
    alone = [calculated({}, rho=r, eta=r)["joint_difference"] for r in (0.7, 0.9)]
    np.testing.assert_allclose(both, alone)
    assert both[1] < both[0]


def test_an_axis_may_go_from_known_rates_to_estimated_ones() -> None:
    grid = calculated({"n_metric": [100, 5000], "n_calibration": [None, 100]})["measurable_difference"]
    np.testing.assert_allclose(grid[:, 0], calculated({"n_metric": [100, 5000]})["measurable_difference"])
    assert (grid[:, 1] > grid[:, 0]).all()


def test_many_settings_at_once_are_what_they_are_one_by_one() -> None:
    axes = {"n_human": list(range(0, 160, 10)), "alpha": [k / 20 for k in range(2, 19)]}
    assert calculations.GRID_FROM <= 16 * 17
    grid = calculated(axes, ("measurable_difference",))["measurable_difference"]
    n_human, alpha = np.meshgrid(*axes.values(), indexing="ij")
    single = measurable_difference(Plan(n_human, 1000, 0.7, 0.8, alpha)).epsilon
    np.testing.assert_allclose(grid, single, rtol=2e-3)


def test_what_cannot_be_an_axis_is_refused() -> None:
    with pytest.raises(InputError, match="level cannot be an axis of this calculation; choose from n_human"):
        calculated({"level": [0.05, 0.1]})


def test_several_systems_are_an_axis_and_two_of_them_change_nothing() -> None:
    axes = {"find": ["pair", "all"], "n_systems": [2, 8], "n_human": [100, 1000]}
    grid = calculated(axes)
    eight = Among(8, find="all")
    plan, level, power = Plan(axes["n_human"], 1000, 0.7, 0.8, 0.6), eight.level(0.05), eight.power(0.8)
    np.testing.assert_allclose(grid["measurable_difference"][1, 1], measurable_difference(plan, level=level).epsilon)
    np.testing.assert_allclose(
        grid["detectable_difference"][1, 1], detectable_difference(plan, level=level, power=power)
    )
    for name, values in calculated({"n_human": [100, 1000]}).items():
        np.testing.assert_array_equal(grid[name][:, 0], np.stack([values, values]))


def test_drawn_counts_lie_beside_expected_ones() -> None:
    names = ("measurable_difference", "measurable_difference_q05", "measurable_difference_q95", "difference_power")
    axes = {"n_human": [10, 100], "counts": ["expected", "drawn"]}
    grid = calculated(axes, names, difference=0.1, draws=40)
    mean, low, high, power = (grid[name] for name in names)
    np.testing.assert_array_equal(mean[:, 0], low[:, 0])
    assert (low[:, 1] < mean[:, 1]).all()
    assert (mean[:, 1] < high[:, 1]).all()
    assert np.abs(mean[:, 0] / mean[:, 1] - 1).max() < 0.05
    assert np.abs(power[:, 0] - power[:, 1]).max() < 0.3
    off = grid["measurable_difference_influence"]
    assert off.shape == (2, 2, 40)
    assert (off[:, 0] == 0).all()
    np.testing.assert_allclose(off[:, 1].mean(-1), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("wanted", "keys", "says"),
    [
        (ALL, {"difference": 0.1}, "go together"),
        (("difference_power",), {}, "go together"),
        (ALL, {"find": "all"}, "find says nothing where n_systems is 2; add n_systems=8"),
        (ALL, {"multiplicity": "holm"}, "multiplicity says nothing"),
        (ALL, {"draws": 7}, "draws says nothing where counts is expected; add counts=drawn"),
        (ALL, {"seed": 7}, "seed says nothing"),
        (("detectable_difference",), {"counts": "drawn"}, "counts=drawn changes nothing of detectable_difference"),
    ],
)
def test_what_would_be_dropped_is_refused(wanted: tuple[str, ...], keys: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        calculated({"n_human": [10, 100]}, wanted, **keys)
