"""Read from a store, for each cell, the partial order of systems that one campaign found (`campaign_orders`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.analysis.preferences.partial_order import partial_order
from simlab.store.coordinates import restore_axis_values
from simlab.store.opening import name_axes
from simlab.types import OK, InputError, Ints, Place

if TYPE_CHECKING:
    import xarray as xr


def campaign_orders(dataset: xr.Dataset, place: Place) -> list[dict[str, Any]]:
    """List for each cell its values on the axes and the order found by the campaign at `place`: ranks, wins, cycles.

    Raises InputError for a store without verdicts, or a campaign that it does not hold.
    """
    if "verdict" not in dataset:
        raise InputError(
            "this store holds no verdicts about pairs, whose order --world and --study draw; add --timeline to draw "
            "one campaign on its clock"
        )
    indices = {name: dataset[name].values for name in place._fields if name in dataset.coords}
    numbers = {name: number for name, number in place._asdict().items() if number or name in indices}
    # A store of one pool and one draw of documents has no coordinate for them: their index is 0.
    matching = np.flatnonzero(
        np.all([indices.get(name, 0 * indices["world"]) == k for name, k in numbers.items()], axis=0)
    )
    campaign_name = ", ".join(f"{name} {k}" for name, k in numbers.items())
    if not len(matching):
        ranges = ", ".join(f"{name} 0 to {int(values.max())}" for name, values in indices.items())
        raise InputError(f"no campaign is {campaign_name}; the store holds {ranges}")
    axes, campaign = name_axes(dataset), dataset.isel(replicate=int(matching[0]))
    cells = np.argwhere(campaign["status"].transpose(*axes).values == OK)
    if not len(cells):
        raise InputError(f"{campaign_name} was carried out in no cell; name another one")
    return [
        dict(
            zip(axes, (restore_axis_values(campaign[a].values)[i] for a, i in zip(axes, at, strict=True)), strict=True)
        )
        | _order(campaign.isel(dict(zip(axes, at, strict=True))))
        for at in cells.tolist()
    ]


def _order(campaign: xr.Dataset) -> dict[str, Any]:
    n = int(campaign["n_systems"])
    own: Ints = np.flatnonzero(campaign["pair_second"].values < n)
    names = [str(name) for name in campaign["system"].values[:n]]
    order = partial_order(campaign["verdict"].values[own].astype(int), names)
    return {
        "ranks": [list(rank) for rank in order.ranks],
        "beats": [list(pair) for pair in order.beats],
        "cycles": [list(cycle) for cycle in order.cycles],
    }
