from __future__ import annotations

import json

import numpy as np
import xarray as xr

from simlab.comparing.ranges import ranges


def test_a_range_holds_quartiles_and_counts_what_is_missing() -> None:
    values = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, np.nan]])
    axes = ["x", "y"]
    data = xr.Dataset({"srp": (axes, values), "srp_mcse": (axes, values), "other": (axes, values)})
    data.attrs["sweep"] = json.dumps({"axes": [{"name": name} for name in axes]})
    (held,) = ranges(data)
    assert (held.measure, held.quartiles, held.missing) == ("srp", (0.0, 1.0, 2.0, 3.0, 4.0), 1)
