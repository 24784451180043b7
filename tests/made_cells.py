"""Make stores of many cells in memory, whose measures are laid out as simlab lays them out."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

CLUSTERS = 6


def made_store(groupings: int = 3, documents: int = 4, levels: int = 1, seed: int = 0) -> xr.Dataset:
    """Return a store whose SRP and cost rise with documents, over axes of options and of numbers."""
    rng = np.random.default_rng(seed)
    values = {
        "grouping": [f"rule{k}" for k in range(groupings)],
        "documents": [10 * (k + 1) for k in range(documents)],
        "level": [round(0.01 * (k + 1), 6) for k in range(levels)],
    }
    shape = (groupings, documents, levels)
    srp = np.linspace(0.3, 0.95, groupings * documents * levels).reshape(shape)
    found = {"srp": (srp, 0.02), "cost": (np.broadcast_to(np.array(values["documents"])[:, None] * 2.0, shape), 0.0)}
    variables = {}
    axes = tuple(values)
    for name, (value, spread) in found.items():
        influence = rng.normal(0, spread, (*shape, CLUSTERS)) if spread else np.zeros((*shape, CLUSTERS))
        influence -= influence.mean(-1, keepdims=True)
        mcse = np.sqrt((influence**2).sum(-1) / (CLUSTERS * (CLUSTERS - 1)))
        about = {"label": name, "long_name": name, "cluster": "world", "held_fixed": "raters"}
        variables[name] = xr.Variable(axes, value, about)
        variables[f"{name}_mcse"] = xr.Variable(axes, mcse, {"long_name": "error"})
        variables[f"{name}_n"] = xr.Variable(axes, np.full(shape, 30), {"long_name": "n"})
        variables[f"{name}_influence"] = xr.Variable((*axes, "cluster"), influence, {"long_name": "influence"})
    coords = {name: xr.Variable((name,), np.array(held), {"key": f"design.{name}"}) for name, held in values.items()}
    declared = [{"name": name, "key": f"design.{name}", "values": held} for name, held in values.items()]
    sweep = {"name": "made", "axes": declared, "measures": ["srp", "cost"], "figure": {"measure": "srp"}}
    return xr.Dataset(variables, coords, {"sweep": json.dumps(sweep), "config": "{}"})
