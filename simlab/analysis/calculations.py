"""Calculate whole grids of settings at once, without simulation: the parts of `calculation`.

A part is called with the values of the axes, in their order, and with the names of the measures wanted; it returns
arrays with one dimension per axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from simlab.analysis.adequacy.grid import measurable_grid
from simlab.analysis.adequacy.measurable_difference import detectable_difference, joint_difference
from simlab.analysis.adequacy.measurable_difference import measurable_difference as difference_of
from simlab.analysis.adequacy.plans import Plan
from simlab.types import Floats, InputError

Number = Annotated[int, Ge(0), Le(10**9)]
Share = Annotated[float, Ge(0), Le(1)]

GRID_FROM = 256
"""Grids of at least so many settings are computed with what settings have in common computed once."""


def measurable_difference(
    axes: Mapping[str, Sequence[Any]],
    wanted: Sequence[str],
    *,
    n_human: Number,
    n_metric: Number,
    rho: Share,
    eta: Share,
    accuracy: Share | None,
    alpha: Share,
    n_calibration: Number | None,
    level: Annotated[float, Gt(0), Lt(1)],
    constrain: bool,
    power: Annotated[float, Ge(0.5), Lt(1)],
) -> dict[str, Floats]:
    """Calculate which difference of alphas a planned evaluation can measure.

    `measurable_difference` is the published epsilon, `joint_difference` that of systems that share one calibration,
    `detectable_difference` the true difference that is found with a `power`. Source: von Däniken et al. 2022.

    Raises InputError for an axis that cannot be one, and for settings that cannot be.
    """
    fixed = Plan[Any](n_human, n_metric, rho, eta, alpha, n_calibration)._asdict() | {"accuracy": accuracy}
    for name in axes:
        if name not in fixed:
            raise InputError(f"{name} cannot be an axis of this calculation; choose from {', '.join(fixed)}")
    named = fixed | dict(axes)
    if None in axes.get("n_calibration", ()):
        every = named | {"level": level, "constrain": constrain, "power": power}
        return _calibration_by_calibration(axes, wanted, every)
    differences: dict[str, Floats] = {}
    if "measurable_difference" in wanted:
        differences["measurable_difference"] = _published(axes, named, level, constrain)
    plan = _broadcast(axes, named)
    if "joint_difference" in wanted:
        differences["joint_difference"] = joint_difference(plan, level=level, constrain=constrain, power=power).epsilon
    if "detectable_difference" in wanted:
        differences["detectable_difference"] = detectable_difference(
            plan, level=level, constrain=constrain, power=power
        )
    shape = tuple(len(values) for values in axes.values())
    return {name: np.broadcast_to(array, shape) for name, array in differences.items()}


def _calibration_by_calibration(
    axes: Mapping[str, Sequence[Any]], wanted: Sequence[str], settings: Mapping[str, Any]
) -> dict[str, Floats]:
    """Go through the numbers of calibration outputs one by one: without any, rho and eta are known."""
    position = list(axes).index("n_calibration")
    others = {name: values for name, values in axes.items() if name != "n_calibration"}
    fixed: dict[str, Any] = {name: None if name in axes else value for name, value in settings.items()}
    parts = [measurable_difference(others, wanted, **fixed | {"n_calibration": n}) for n in axes["n_calibration"]]
    return {name: np.stack([part[name] for part in parts], axis=position) for name in parts[0]}


def _published(axes: Mapping[str, Sequence[Any]], named: Mapping[str, Any], level: float, constrain: bool) -> Floats:
    """Return the published epsilon `[axis, ...]`."""
    size = int(np.prod([len(values) for values in axes.values()]))
    if size < GRID_FROM or named["accuracy"] is not None:
        return difference_of(_broadcast(axes, named), level=level, constrain=constrain).epsilon
    lists = {name: list(named[name]) if name in axes else [named[name]] for name in Plan._fields}
    held = [name for name in Plan._fields if name != "n_calibration" or lists[name] != [None]]
    calibration = lists["n_calibration"] if "n_calibration" in held else None
    grid = measurable_grid(**lists | {"n_calibration": calibration}, level=level, constrain=constrain)  # type: ignore[arg-type]
    return np.moveaxis(grid, [held.index(name) for name in axes], range(len(axes))).reshape(
        [len(values) for values in axes.values()]
    )


def _broadcast(axes: Mapping[str, Sequence[Any]], named: Mapping[str, Any]) -> Plan[Any]:
    """Give each setting the dimension of its axis, if it has one; accuracy stands for rho and eta."""
    laid = dict(named)
    for position, (name, values) in enumerate(axes.items()):
        laid[name] = np.reshape(np.asarray(values, float), [-1 if k == position else 1 for k in range(len(axes))])
    accuracy = laid.pop("accuracy")
    return Plan(**laid if accuracy is None else laid | {"rho": accuracy, "eta": accuracy})
