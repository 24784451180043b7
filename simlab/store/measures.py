"""Set the measures of many cells out over the axes of their sweep."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.engine.threads import one_thread
from simlab.parts import bind
from simlab.studies.sealing import sealed, writing_noticed
from simlab.types import OK, Array, Estimate, Outcomes

if TYPE_CHECKING:
    import xarray as xr

SUFFIXES = ("_mcse", "_n", "_influence", "_low_if_failed", "_high_if_failed")

LONGEST_REASON = 300
MOST_CAMPAIGNS = 2**31

Position = tuple[int, ...]
Measures = Mapping[str, Callable[[Outcomes], Estimate]]
Labels = Mapping[str, Mapping[str, Any]]
"""Attributes per measure: `label`; where failures can be bounded `bounds` (least, greatest), and `order`, the number
of campaigns that are compared at a time (1 unless given)."""

Variables = dict[str, tuple[tuple[str, ...], Array, Mapping[str, Any]]]
"""Dimensions, values and attributes per variable."""

FAILED = "failed"
"""Attribute of a measure that failed in some cells: why, as (number of cells, reason of the first)."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """Hold why a measure has no value where it should have one."""

    reason: str


Computed = Mapping[str, Estimate | Unusable]
Estimates = Mapping[Position, Computed]


def estimate(measures: Measures, outcomes: Outcomes, declared: Container[str] = ()) -> dict[str, Estimate | Unusable]:
    """Compute the measures of a cell; none where no campaign of it was carried out.

    A measure of an outcome that is `declared`, and that this kind of study lacks, has no value here. One that fails, or
    returns what no estimate can be, costs itself and no other. On one thread, as the blocks are: the last bits of a
    matrix product depend on how many.
    """
    if not np.any(outcomes["status"] == OK):
        return {}
    with one_thread(), writing_noticed():
        computed = {name: _computed(measure, sealed(outcomes), declared) for name, measure in measures.items()}
    return {name: value for name, value in computed.items() if value is not None}


def _computed(
    measure: Callable[[Outcomes], Estimate], outcomes: Outcomes, declared: Container[str]
) -> Estimate | Unusable | None:
    try:
        return _checked(measure(outcomes))
    except (Exception, SystemExit) as error:
        lacking = error.args[0] if isinstance(error, KeyError) and error.args else None
        if isinstance(lacking, str) and lacking not in outcomes and lacking in declared:
            return None
        return Unusable(" ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_REASON])


def _checked(computed: object) -> Estimate:
    """Hold what a measure returned against what an estimate can be; raise ValueError where it is none."""
    if not isinstance(computed, Estimate):
        raise ValueError(f"the measure returned {type(computed).__name__}, not an Estimate")
    influence = np.asarray(computed.influence)
    if influence.ndim != 1 or influence.dtype.kind not in "fiub":
        raise ValueError(f"the influence is an array of shape {influence.shape} and not one number per cluster")
    if np.isinf(influence).any():
        raise ValueError("the influence of a cluster is infinite")
    if not isinstance(computed.n, int | np.integer) or not 0 <= computed.n < MOST_CAMPAIGNS:
        raise ValueError(f"n={computed.n!r} counts no campaigns")
    value, mcse = float(computed.value), float(computed.mcse)
    if math.isinf(value) or math.isinf(mcse) or mcse < 0:
        raise ValueError(f"the value {value!r} with the error {mcse!r} is no estimate")
    if computed.n and math.isfinite(value) and not np.isfinite(influence).any():
        raise ValueError(f"the value {value!r} of n={computed.n} campaigns rests on no cluster: all influence is NaN")
    return computed


def failures(dataset: xr.Dataset) -> Iterator[str]:
    """Say of each measure of an open store that failed in some cells: in how many, and why."""
    for name, variable in dataset.variables.items():
        if FAILED in variable.attrs:
            count, reason = variable.attrs[FAILED]
            cells = "1 cell" if count == 1 else f"{count} cells"
            yield f"the measure {name} failed in {cells} and has no value there: {reason}"


def _usable(estimates: Estimates, name: str) -> dict[Position, Estimate]:
    return {at: one for at, cell in estimates.items() if isinstance(one := cell.get(name), Estimate)}


def _why_failed(estimates: Estimates, name: str) -> dict[str, Any]:
    reasons = [one.reason for cell in estimates.values() if isinstance(one := cell.get(name), Unusable)]
    return {FAILED: [len(reasons), reasons[0]]} if reasons else {}


def n_clusters(estimates: Estimates) -> int:
    """Count the clusters of the measure that has most."""
    lengths = (len(e.influence) for cell in estimates.values() for e in cell.values() if isinstance(e, Estimate))
    return max(lengths, default=0)


def set_out(
    axes: tuple[str, ...], shape: tuple[int, ...], estimates: Estimates, labels: Mapping[str, Mapping[str, Any]]
) -> Variables:
    """Set out the measures that `labels` names: value, error, number of campaigns, influence of each cluster."""
    variables: Variables = {}
    clusters = n_clusters(estimates)
    for name, about in labels.items():
        cells = _usable(estimates, name)
        clusters_of = sorted({cell.cluster for cell in cells.values()})
        value, mcse = np.full(shape, np.nan), np.full(shape, np.nan)
        n, influence = np.zeros(shape, np.int32), np.full((*shape, clusters), np.nan)
        for position, cell in cells.items():
            value[position], mcse[position], n[position] = cell.value, cell.mcse, cell.n
            influence[position][: len(cell.influence)] = cell.influence
        unit = {"units": about["units"]} if "units" in about else {}
        variables[name] = (axes, value, {"cluster": "/".join(clusters_of), **about, **_why_failed(estimates, name)})
        variables[f"{name}_mcse"] = (axes, mcse, {"label": "Monte-Carlo standard error", **unit})
        variables[f"{name}_n"] = (axes, n, {"label": "campaigns that the value rests on"})
        variables[f"{name}_influence"] = (
            (*axes, "cluster"),
            influence,
            {"label": "influence of each cluster", **unit},
        )
    return variables


def bounds_if_failed(variables: Variables, failed: Mapping[Position, float]) -> Variables:
    """Bound each measure by what it would be had all failed campaigns been as bad, or as good, as can be.

    Failures are not missing at random. Of comparisons between `order` campaigns, the share without a failed one is
    `(1 - failed) ** order`. Nothing is said where no campaign of the sweep failed.
    """
    bounded: Variables = {}
    for name, (dims, value, about) in variables.items():
        if "bounds" not in about or not any(failed.values()):
            continue
        weight = np.full(value.shape, np.nan)
        for position, share in failed.items():
            weight[position] = (1 - share) ** about.get("order", 1)
        known = np.where(weight > 0, value * weight, 0.0)
        for word, limit in zip(("low", "high"), about["bounds"], strict=True):
            label = f"with every failed campaign counted at {limit}"
            bounded[f"{name}_{word}_if_failed"] = (dims, known + (1 - weight) * limit, {"label": label})
    return bounded


def measures_of(config: Mapping[str, Any]) -> Measures:
    """Bind the measures of a config to their settings."""
    return {name: bind(section, config.get("plugins", ())) for name, section in config["measure"].items()}


def all_measures() -> Measures:
    """Bind every measure that there is."""
    from simlab.config import bound_options

    return measures_of({"measure": bound_options("measure")})
