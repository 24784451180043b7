"""Say of many settings at once which differences they detect: those that one call can compute together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from simlab.analysis.adequacy.joint_power import joint_detectable, joint_power
from simlab.analysis.adequacy.measurable_difference import (
    detectable_difference,
    joint_difference,
    measurable_difference,
    power_of,
)
from simlab.analysis.adequacy.plans import Plan
from simlab.analysis.adequacy.several import Among

Row: TypeAlias = dict[str, Any]


def detected(rows: Sequence[Row], difference: float | None = None) -> list[Row]:
    """Return the measurable and detectable differences of each setting, and the power at a `difference`.

    A setting has `n_human`, `n_metric`, `n_calibration`, `rho`, `eta`, `alpha`, `level` and `power`; None stands for
    what is not there. It may have `n_systems`, `multiplicity` and `find`, as `Among` has them; then differences are
    between any two of so many systems. `flipped` says that the metric was turned round, since rho + eta < 1.

    Raises InputError for settings that cannot be.
    """
    answers: list[Row] = [{} for _ in rows]
    for alike in _alike(rows):
        columns = _columns([rows[k] for k in alike], rows[alike[0]], difference)
        for position, k in enumerate(alike):
            answers[k] = {name: column[position].item() for name, column in columns.items()}
    return answers


def _alike(rows: Sequence[Row]) -> Iterable[list[int]]:
    """Group rows that one call can compute."""
    groups: dict[Any, list[int]] = {}
    for k, row in enumerate(rows):
        groups.setdefault((row["level"], row["power"], among(row), row["n_calibration"] is None), []).append(k)
    return groups.values()


def among(row: Row) -> Among:
    """Return the systems of a setting: two, if nothing is said. Raises InputError for what cannot be."""
    return Among(**{name: row[name] for name in Among._fields if name in row}).checked()


def _columns(rows: Sequence[Row], first: Row, difference: float | None) -> dict[str, Any]:
    names = ["n_human", "n_metric", "rho", "eta", "alpha"]
    names += [] if first["n_calibration"] is None else ["n_calibration"]
    # Without metric ratings any metric will do.
    plan = Plan(*(np.array([1.0 if row[name] is None else row[name] for row in rows]) for name in names))
    systems = among(first)
    level, power = systems.level(first["level"]), systems.power(first["power"])
    detectable = detectable_difference(plan, level=level, power=power)
    published = measurable_difference(plan, level=level)
    joint = joint_difference(plan, level=level)
    answer = {
        "epsilon": published.epsilon,
        "epsilon_joint": joint.epsilon,
        "detectable": detectable,
        "detectable_joint": joint_detectable(plan, level=level, power=power),
        "flipped": published.flipped,
    }
    if difference is not None:
        answer["power_published"] = systems.found(power_of(plan, difference, level=level))
        answer["power_joint"] = systems.found(joint_power(plan, difference, level=level))
    return answer
