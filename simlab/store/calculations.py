"""Calculate measures on a grid of settings (exact up to quadrature, no simulation) and write them as stores.

Call `run` with a `Calculation` and a folder, which writes the store; `calculate` returns the measures, each an array
`[axis, ...]`; `verify` calculates a store anew and returns the measures that differ.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simlab import schemas
from simlab.config.calculation import Calculation
from simlab.config.sweep import Axis
from simlab.engine.ledger import FILE
from simlab.engine.provenance import CHANGED, provenance
from simlab.parts import bind
from simlab.store import readme
from simlab.store.coordinates import axis_values
from simlab.store.folder import NEW, guard_store, settle, take_place
from simlab.store.layout import sort_axes
from simlab.store.measures import Labels, Variables, largest_error
from simlab.store.opening import open_results
from simlab.store.writing import lay
from simlab.types import Floats, InputError


def calculate(calculation: Calculation) -> dict[str, Floats]:
    """Calculate the measures `[axis, ...]` of a calculation, by name; raise InputError for impossible settings."""
    values = {axis.name: axis.values for axis in calculation.axes}
    section = {key: None if key in values else value for key, value in calculation.section.items()}
    grids: dict[str, Floats] = bind(section)(values, calculation.measures)
    missing = [name for name in calculation.measures if name not in grids]
    if missing:
        raise InputError(f"measures: {missing[0]} is nothing that this calculation gives; it gives {', '.join(grids)}")
    return grids


def run(calculation: Calculation, folder: Path, labels: Labels) -> list[str]:
    """Calculate and write the store; return a line for the user if its README could not be written, else none.

    Raises InputError, before anything is written, where the folder holds studies, and where the disk does not take it.
    """
    if (folder / FILE).exists():
        raise InputError(f"{folder} holds studies, and {calculation.name} is a calculation; give another --out")
    values, _ = sort_axes([{"values": axis.values} for axis in calculation.axes])
    axes = (replace(axis, values=tuple(one["values"])) for axis, one in zip(calculation.axes, values, strict=True))
    calculation = replace(calculation, axes=tuple(axes))
    grids = calculate(calculation)
    with guard_store(folder, "it is calculated anew"):
        folder.mkdir(parents=True, exist_ok=True)
        settle(folder)
        laid = _variables(calculation, grids, labels)
        lay(folder / NEW, _attributes(calculation) | largest_error(laid, calculation.measures[0]), laid)
        take_place(folder)
    return readme.write(folder, readme.describe_calculation(_declaration(calculation), labels, calculation.command))


def verify(folder: Path) -> tuple[int, list[str]] | None:
    """Calculate a store anew: return the number of measures, and those that differ; None for a store of studies."""
    with open_results(folder) as dataset:
        declared = json.loads(dataset.attrs["sweep"])
        if "calculation" not in declared:
            return None
        stored = {name: dataset[name].values for name in dataset.data_vars}
    axes = tuple(Axis(axis["key"], axis["name"], tuple(axis["values"])) for axis in declared["axes"])
    measures = tuple(declared["measures"])
    calculation = Calculation(declared["name"], "", declared["calculation"], axes, measures, {}, "", "")
    return len(measures), [
        f"{name}: what is stored is not what is calculated now"
        for name, values in calculate(calculation).items()
        if not np.allclose(stored.get(name, np.nan), values, rtol=0, atol=1e-9, equal_nan=True)
    ]


def _declaration(calculation: Calculation) -> dict[str, Any]:
    return {
        "name": calculation.name,
        "aim": calculation.aim,
        "axes": [{"key": axis.key, "name": axis.name, "values": list(axis.values)} for axis in calculation.axes],
        "worlds": 0,
        "studies": 0,
        "measures": list(calculation.measures),
        "figure": dict(calculation.figure),
        "precision": {},
        "finding": calculation.finding,
        "outcomes": False,
        "calculation": dict(calculation.section),
    }


def _attributes(calculation: Calculation) -> dict[str, Any]:
    kept = {
        key: value for key, value in calculation.section.items() if key not in {axis.key for axis in calculation.axes}
    }
    about = {"schema": schemas.STORE, "sweep": json.dumps(_declaration(calculation)), "config": json.dumps(kept)}
    versions = provenance()
    return about | {"conditional": 0, "dirty": int(versions["commit"].endswith(CHANGED))} | versions


def _variables(calculation: Calculation, grids: dict[str, Floats], labels: Labels) -> Variables:
    names, shape = tuple(axis.name for axis in calculation.axes), tuple(len(axis.values) for axis in calculation.axes)
    laid: Variables = {
        axis.name: ((axis.name,), axis_values(axis.values), {"key": axis.key}) for axis in calculation.axes
    }
    # A value that rests on draws has a sampling error; behind the others no replicates stand.
    draws = max((np.shape(values)[-1] for name, values in grids.items() if name.endswith("_influence")), default=2)
    for name in calculation.measures:
        off = np.broadcast_to(grids.get(f"{name}_influence", 0.0), (*shape, draws))
        known = np.isfinite(off).all(-1)
        # Squared influence values over n (n - 1) are the squared error of a mean of n draws.
        error = np.sqrt(np.where(known[..., None], off**2, 0.0).sum(-1) / (draws * (draws - 1)))
        laid[name] = (
            names,
            np.asarray(grids[name], float),
            {"cluster": "draw" if off.any() else "none", **labels.get(name, {})},
        )
        laid[f"{name}_mcse"] = (names, error, {"label": "Monte-Carlo standard error"})
        laid[f"{name}_n"] = (
            names,
            np.where(off.any(-1), draws, 0).astype(np.int32),
            {"label": "campaigns that the value rests on"},
        )
        laid[f"{name}_influence"] = ((*names, "cluster"), off, {"label": "influence of each cluster"})
    return laid
