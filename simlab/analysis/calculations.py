"""Calculate measures of evaluations on whole grids of settings, without simulating studies: the parts of `calculation`.

Call `measurable_difference` with `axes` (name of each setting that varies -> its values), the names of the measures
`wanted`, and all settings. It returns arrays by measure, one dimension per axis in the order of `axes`. A measure that
rests on draws has a `NAME_influence` beside it, with one more dimension: how much each draw is off the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from simlab.analysis.adequacy.grid import drawn_differences, measurable_grid, quantile
from simlab.analysis.adequacy.measurable_difference import (
    MOST_SYSTEMS,
    Among,
    Find,
    PosteriorBy,
    Rule,
    approximate_power,
    detectable_difference,
    joint_difference,
)
from simlab.analysis.adequacy.measurable_difference import measurable_difference as difference_of
from simlab.analysis.adequacy.plans import Plan
from simlab.types import Floats, InputError

Number = Annotated[int, Ge(0), Le(10**9)]
Share = Annotated[float, Ge(0), Le(1)]

GRID_FROM = 256
"""Number of settings from which on a grid is computed by `measurable_grid`, which shares work between settings."""

QUANTILES = {"measurable_difference_q05": 0.05, "measurable_difference_q50": 0.5, "measurable_difference_q95": 0.95}
ONE_BY_ONE = ("n_systems", "multiplicity", "find", "counts")
"""Axes whose values are computed one at a time, since arrays do not broadcast over them."""
STEP = 0.01


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
    difference: Annotated[float, Gt(0), Lt(1)] | None = None,
    n_systems: Annotated[int, Ge(2), Le(MOST_SYSTEMS)] = 2,
    multiplicity: Rule = "max_t",
    find: Find = "pair",
    counts: Literal["expected", "drawn"] = "expected",
    draws: Annotated[int, Ge(2), Le(10**6)] = 50,
    seed: Annotated[int, Ge(0)] = 1,
    posterior: PosteriorBy = "quadrature",
) -> dict[str, Floats]:
    """Calculate which difference of alphas a planned evaluation can measure.

    `measurable_difference` is the published epsilon, `joint_difference` that of systems that share one calibration,
    `detectable_difference` the true difference that is found with a `power`, `difference_power` how often a given
    `difference` is found; between any two of `n_systems` systems. With `counts="drawn"` the first is a mean over draws,
    whose quantiles are `measurable_difference_q05`, `_q50` and `_q95`, and the last is a share of draws. With
    `posterior="nuts"` the first rests on draws of alpha by NumPyro. Source: von Däniken et al. 2022.

    Settings are fields of `Plan` (numbers of ratings, rates); `accuracy` stands for both rho and eta (None: these are
    given), `n_calibration` None: rho and eta are known. `draws` are of the counts.

    Raises InputError for an axis that cannot be one, and for settings that cannot be.
    """
    plan = Plan[Any](n_human, n_metric, rho, eta, alpha, n_calibration)._asdict() | {"accuracy": accuracy}
    several = {"n_systems": n_systems, "multiplicity": multiplicity, "find": find, "counts": counts}
    rest = {"level": level, "constrain": constrain, "power": power, "difference": difference, "posterior": posterior}
    every = plan | several | rest | {"draws": draws, "seed": seed}
    for name in axes:
        if name not in plan | several:
            raise InputError(f"{name} cannot be an axis of this calculation; choose from {', '.join(plan | several)}")
    _check(wanted, every | dict(axes))
    outcomes = _calculate(axes, wanted, every)
    shape = tuple(len(values) for values in axes.values())
    of = {key: key.removesuffix("_influence") for key in outcomes}
    return {
        key: np.broadcast_to(values, shape + np.shape(values)[len(shape) :] if key != of[key] else shape)
        for key, values in outcomes.items()
        if of[key] in wanted
    }


def _check(wanted: Sequence[str], given: Mapping[str, Any]) -> None:
    """Raise InputError for settings that would change nothing; `given` are values by name, lists where they vary."""
    if ("difference_power" in wanted) != (given["difference"] is not None):
        raise InputError("the measure difference_power and the key difference go together; give both or neither")
    for key, needed, neutral in (
        ("multiplicity", "n_systems", "max_t"),
        ("find", "n_systems", "pair"),
        ("draws", "counts", 50),
        ("seed", "counts", 1),
    ):
        # A cell of a sweep keeps what the sweep sets for its other cells.
        if given[key] != neutral and given[needed] in ("expected", 2):
            more = "n_systems=8" if needed == "n_systems" else "counts=drawn"
            raise InputError(f"{key} says nothing where {needed} is {given[needed]}; add {more}, or leave {key} out")
    if given["posterior"] == "nuts" and ("drawn" in given["counts"] or set(wanted) - {"measurable_difference"}):
        raise InputError(
            "posterior=nuts samples the measurable_difference of expected counts only; leave out counts=drawn and "
            "other measures, or take posterior=quadrature"
        )
    if "drawn" in given["counts"] and not {"measurable_difference", "difference_power", *QUANTILES} & set(wanted):
        raise InputError(f"counts=drawn changes nothing of {', '.join(wanted)}; leave it out")


def _calculate(axes: Mapping[str, Sequence[Any]], wanted: Sequence[str], every: Mapping[str, Any]) -> dict[str, Floats]:
    """Return arrays by measure, more than `wanted` perhaps, that broadcast to one dimension per axis."""
    for name in axes:
        # Without any calibration outputs rho and eta are known, which is another formula.
        if name in ONE_BY_ONE or (name == "n_calibration" and None in axes[name]):
            return _calculate_one_by_one(name, axes, wanted, every)
    named = dict(every) | dict(axes)
    systems = Among(named["n_systems"], named["multiplicity"], named["find"]).validate()
    options = {"level": systems.level(named["level"]), "constrain": named["constrain"]}
    outcomes = _calculate_expected(axes, wanted, named, systems, options)
    if named["counts"] == "drawn":
        outcomes |= _calculate_drawn(axes, named, systems, options)
    return outcomes


def _calculate_expected(
    axes: Mapping[str, Sequence[Any]],
    wanted: Sequence[str],
    settings: Mapping[str, Any],
    systems: Among,
    options: Mapping[str, Any],
) -> dict[str, Floats]:
    """Return the measures of expected counts, by name; the one measurable difference is each of its quantiles."""
    plan, power = _broadcast(axes, settings), systems.power(settings["power"])
    outcomes: dict[str, Floats] = {}
    if settings["counts"] == "expected" and {"measurable_difference", *QUANTILES} & set(wanted):
        outcomes |= dict.fromkeys(("measurable_difference", *QUANTILES), _published_epsilon(axes, settings, **options))
    if "joint_difference" in wanted:
        outcomes["joint_difference"] = joint_difference(plan, power=power, **options).epsilon
    if "detectable_difference" in wanted:
        outcomes["detectable_difference"] = detectable_difference(plan, power=power, **options)
    if settings["counts"] == "expected" and settings["difference"] is not None:
        outcomes["difference_power"] = systems.family_power(approximate_power(plan, settings["difference"], **options))
    return outcomes


def _calculate_drawn(
    axes: Mapping[str, Sequence[Any]], settings: Mapping[str, Any], systems: Among, options: Mapping[str, Any]
) -> dict[str, Floats]:
    """Return the measures of drawn counts, by name, and the influence of each draw."""
    how = {name: settings[name] for name in ("draws", "seed", "difference")}
    drawn = drawn_differences(_broadcast(axes, settings), **how, **options)
    mean, power = drawn.epsilon.mean(-1), drawn.found.mean(-1)
    # What several systems add is a function of the power of a pair, whose slope carries its error over.
    slope = (systems.family_power(np.minimum(power + STEP, 1)) - systems.family_power(np.maximum(power - STEP, 0))) / (
        np.minimum(power + STEP, 1) - np.maximum(power - STEP, 0)
    )
    outcomes = {"measurable_difference": mean, "difference_power": systems.family_power(power)}
    outcomes["measurable_difference_influence"] = drawn.epsilon - mean[..., None]
    outcomes["difference_power_influence"] = slope[..., None] * (drawn.found - power[..., None])
    for name, share in QUANTILES.items():
        outcomes[name], outcomes[f"{name}_influence"] = quantile(drawn.epsilon, share)
    return outcomes


def _calculate_one_by_one(
    name: str, axes: Mapping[str, Sequence[Any]], wanted: Sequence[str], every: Mapping[str, Any]
) -> dict[str, Floats]:
    """Go through the values of an axis one by one."""
    position = list(axes).index(name)
    others = {key: values for key, values in axes.items() if key != name}
    parts = [_calculate(others, wanted, dict(every) | {name: value}) for value in axes[name]]
    shape = [len(values) for values in others.values()]
    # Beside draws, what is calculated without any is never off.
    extra = {
        key: np.shape(values)[len(shape) :]
        for part in parts
        for key, values in part.items()
        if key.endswith("_influence")
    }
    keys = dict.fromkeys(key for part in parts for key in part)
    full = {key: (*shape, *extra.get(key, ())) for key in keys}
    laid = [{key: np.broadcast_to(part.get(key, 0.0), full[key]) for key in keys} for part in parts]
    return {key: np.stack([part[key] for part in laid], axis=position) for key in keys}


def _published_epsilon(
    axes: Mapping[str, Sequence[Any]], named: Mapping[str, Any], level: float, constrain: bool
) -> Floats:
    """Return the published epsilon `[axis, ...]`."""
    if named["posterior"] == "nuts":
        return difference_of(_broadcast(axes, named), level=level, constrain=constrain, posterior="nuts").epsilon
    size = int(np.prod([len(values) for values in axes.values()]))
    if size < GRID_FROM or named["accuracy"] is not None:
        return difference_of(_broadcast(axes, named), level=level, constrain=constrain).epsilon
    lists = {name: list(named[name]) if name in axes else [named[name]] for name in Plan._fields}
    names = [name for name in Plan._fields if name != "n_calibration" or lists[name] != [None]]
    calibration = lists["n_calibration"] if "n_calibration" in names else None
    grid = measurable_grid(**lists | {"n_calibration": calibration}, level=level, constrain=constrain)  # type: ignore[arg-type]
    return np.moveaxis(grid, [names.index(name) for name in axes], range(len(axes))).reshape(
        [len(values) for values in axes.values()]
    )


def _broadcast(axes: Mapping[str, Sequence[Any]], named: Mapping[str, Any]) -> Plan[Any]:
    """Return the settings as a plan that broadcasts over the axes; an accuracy stands for both rho and eta."""
    laid = {name: named[name] for name in (*Plan._fields, "accuracy")}
    for position, (name, values) in enumerate(axes.items()):
        laid[name] = np.reshape(np.asarray(values, float), [-1 if k == position else 1 for k in range(len(axes))])
    accuracy = laid.pop("accuracy")
    return Plan(**laid if accuracy is None else laid | {"rho": accuracy, "eta": accuracy})
