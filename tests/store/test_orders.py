"""Take the order of one campaign out of a store, cell by cell."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from simlab.store.orders import campaign_orders
from simlab.types import DESIGN_FAILED, OK, InputError, Place


def store() -> xr.Dataset:
    """Return two cells of one campaign each about three systems: a clear order, and a cycle."""
    verdict = np.array([[[1, 1, 1]], [[1, -1, 1]]], np.int8)
    variables = {
        "verdict": (["metric", "replicate", "pair"], verdict),
        "status": (["metric", "replicate"], np.array([[OK], [OK]], np.int8)),
    }
    coords = {
        "metric": ["a", "b"], "system": ["x", "y", "z"], "world": ("replicate", [0]), "study": ("replicate", [2]),
        "pair_first": ("pair", [0, 0, 1]), "pair_second": ("pair", [1, 2, 2]), "n_systems": ("metric", [3, 3]),
    }  # fmt: skip
    axes = {"axes": [{"name": "metric", "key": "metric"}]}
    return xr.Dataset(variables, coords, {"sweep": json.dumps(axes)})


def test_each_cell_has_its_order() -> None:
    clear, cyclic = campaign_orders(store(), Place(0, study=2))
    assert (clear["metric"], clear["ranks"], clear["cycles"]) == ("a", [["x"], ["y"], ["z"]], [])
    assert len(cyclic["cycles"]) == 1


def test_a_campaign_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="no campaign is world 0, study 0; the store holds world 0 to 0, study 0 to 2"):
        campaign_orders(store(), Place(0))
    failed = store().assign(status=(("metric", "replicate"), np.array([[OK], [DESIGN_FAILED]], np.int8)))
    assert [order["metric"] for order in campaign_orders(failed, Place(0, study=2))] == ["a"]
    with pytest.raises(InputError, match="carried out in no cell"):
        campaign_orders(failed.isel(metric=[1]), Place(0, study=2))
    with pytest.raises(InputError, match="holds no verdicts"):
        campaign_orders(store().drop_vars("verdict"), Place(0, study=2))


def test_a_campaign_of_another_pool_has_another_order() -> None:
    two = xr.concat([store().isel(metric=[0]), store().isel(metric=[1]).assign_coords(metric=["a"])], "replicate")
    two = two.assign_coords(study=("replicate", [2, 2]), pool=("replicate", [0, 1]), draw=("replicate", [0, 0]))
    two = two.assign_coords(n_systems=("metric", [3]))
    (first,), (second,) = (campaign_orders(two, Place(0, pool, 0, 2)) for pool in (0, 1))
    assert (first["cycles"], len(second["cycles"])) == ([], 1)
    with pytest.raises(InputError, match="no campaign is world 0, pool 2, draw 0, study 2"):
        campaign_orders(two, Place(0, 2, 0, 2))
    with pytest.raises(
        InputError, match="no campaign is world 0, pool 1, study 2; the store holds world 0 to 0, study"
    ):
        campaign_orders(store(), Place(0, 1, 0, 2))
