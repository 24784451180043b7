"""Carry out calculations and lay their stores: values on a grid, exact up to quadrature, without replicates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from simlab.config.calculation import Calculation
from simlab.config.sweep import Axis
from simlab.engine.ledger import FILE
from simlab.engine.provenance import provenance
from simlab.parts import bind
from simlab.store.folder import settle, take_place, valid_store
from simlab.store.measures import Labels, Variables
from simlab.store.writing import SCHEMA, axis_values, lay
from simlab.types import Floats, InputError


def calculate(asked: Calculation) -> dict[str, Floats]:
    """Calculate the measures `[axis, ...]` of a calculation; raise InputError for settings that cannot be."""
    values = {axis.name: axis.values for axis in asked.axes}
    section = {key: None if key in values else value for key, value in asked.section.items()}
    found: dict[str, Floats] = bind(section)(values, asked.measures)
    missing = [name for name in asked.measures if name not in found]
    if missing:
        raise InputError(f"measures: {missing[0]} is nothing that this calculation gives; it gives {', '.join(found)}")
    return found


def run(asked: Calculation, folder: Path, labels: Labels) -> None:
    """Calculate and lay the store; raise InputError, before anything is written, where the folder holds studies."""
    if (folder / FILE).exists():
        raise InputError(f"{folder} holds studies, and {asked.name} is a calculation; give another --out")
    found = calculate(asked)
    folder.mkdir(parents=True, exist_ok=True)
    settle(folder)
    lay(folder, _attributes(asked), _variables(asked, found, labels))
    take_place(folder)


def verify(folder: Path) -> tuple[int, list[str]] | None:
    """Calculate a store anew: how many measures, and those whose stored values are others; None for one of studies."""
    import zarr

    root: Any = zarr.open_group(valid_store(folder), mode="r")
    declared = json.loads(root.attrs["sweep"])
    if "calculation" not in declared:
        return None
    axes = tuple(Axis(axis["key"], axis["name"], tuple(axis["values"])) for axis in declared["axes"])
    measures = tuple(declared["measures"])
    asked = Calculation(declared["name"], "", declared["calculation"], axes, measures, {}, "", "")
    return len(measures), [
        f"{name}: what is stored is not what is calculated now"
        for name, values in calculate(asked).items()
        if not np.allclose(root[name][...], values, rtol=0, atol=1e-9, equal_nan=True)
    ]


def _attributes(asked: Calculation) -> dict[str, Any]:
    declared = {
        "name": asked.name,
        "aim": asked.aim,
        "axes": [{"key": axis.key, "name": axis.name, "values": list(axis.values)} for axis in asked.axes],
        "worlds": 0,
        "studies": 0,
        "measures": list(asked.measures),
        "figure": dict(asked.figure),
        "precision": {},
        "finding": asked.finding,
        "outcomes": False,
        "calculation": dict(asked.section),
    }
    kept = {key: value for key, value in asked.section.items() if key not in {axis.key for axis in asked.axes}}
    about = {"schema": SCHEMA, "sweep": json.dumps(declared), "config": json.dumps(kept), "conditional": False}
    return about | provenance()


def _variables(asked: Calculation, found: dict[str, Floats], labels: Labels) -> Variables:
    names, shape = tuple(axis.name for axis in asked.axes), tuple(len(axis.values) for axis in asked.axes)
    laid: Variables = {axis.name: ((axis.name,), axis_values(axis.values), {"key": axis.key}) for axis in asked.axes}
    for name in asked.measures:
        laid[name] = (names, np.asarray(found[name], float), {"cluster": "none", **labels.get(name, {})})
        # No replicates stand behind a value, and it has no sampling error.
        laid[f"{name}_mcse"] = (names, np.zeros(shape), {"label": "Monte-Carlo standard error"})
        laid[f"{name}_n"] = (names, np.zeros(shape, np.int32), {"label": "campaigns that the value rests on"})
        laid[f"{name}_influence"] = ((*names, "cluster"), np.zeros((*shape, 2)), {"label": "influence of each cluster"})
    return laid
