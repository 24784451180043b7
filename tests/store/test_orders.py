"""Take the order of one campaign out of a store, cell by cell."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from simlab.store.orders import orders
from simlab.types import DESIGN_FAILED, OK, InputError


def store() -> xr.Dataset:
    """Return two cells of one campaign each about three systems: a clear order, and a cycle."""
    verdict = np.array([[[1, 1, 1]], [[1, -1, 1]]], np.int8)
    variables = {
        "verdict": (["metric", "replicate", "pair"], verdict),
        "collected": (["metric", "replicate", "round"], np.array([[[0, 10, -1]]] * 2)),
        "undecided": (["metric", "replicate", "round"], np.array([[[3, 0, -1]]] * 2)),
        "status": (["metric", "replicate"], np.array([[OK], [OK]], np.int8)),
    }
    coords = {
        "metric": ["a", "b"], "system": ["x", "y", "z"], "world": ("replicate", [0]), "study": ("replicate", [2]),
        "pair_first": ("pair", [0, 0, 1]), "pair_second": ("pair", [1, 2, 2]), "n_systems": ("metric", [3, 3]),
    }  # fmt: skip
    axes = {"axes": [{"name": "metric", "key": "metric"}]}
    return xr.Dataset(variables, coords, {"sweep": json.dumps(axes)})


def test_each_cell_has_its_order_and_its_rounds_without_padding() -> None:
    clear, cyclic = orders(store(), 0, 2)
    assert (clear["metric"], clear["ranks"], clear["cycles"]) == ("a", [["x"], ["y"], ["z"]], [])
    assert (clear["collected"], clear["undecided"]) == ([0, 10], [3, 0])
    assert len(cyclic["cycles"]) == 1


def test_a_campaign_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="no campaign is world 0, study 0; worlds are 0 to 0, studies 0 to 2"):
        orders(store(), 0, 0)
    failed = store().assign(status=(("metric", "replicate"), np.array([[OK], [DESIGN_FAILED]], np.int8)))
    assert [order["metric"] for order in orders(failed, 0, 2)] == ["a"]
    with pytest.raises(InputError, match="carried out in no cell"):
        orders(failed.isel(metric=[1]), 0, 2)
    with pytest.raises(InputError, match="holds no verdicts"):
        orders(store().drop_vars("verdict"), 0, 2)
