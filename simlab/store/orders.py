"""Take from a store the partial order of systems that one campaign arrived at, with its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.analysis.preferences.partial_order import partial_order
from simlab.store.coordinates import as_written
from simlab.store.opening import axes_of
from simlab.types import OK, InputError, Ints

if TYPE_CHECKING:
    import xarray as xr


def orders(dataset: xr.Dataset, world: int, study: int) -> list[dict[str, Any]]:
    """List, per cell, the order of one campaign: ranks, who beats whom directly, cycles, and its rounds.

    Raises InputError for a store without verdicts, or a campaign that it does not hold.
    """
    if "verdict" not in dataset:
        raise InputError("this store holds no verdicts about pairs; `simlab order` is for studies of preferences")
    # Of several pools and draws of documents the first.
    matching = np.flatnonzero((dataset["world"].values == world) & (dataset["study"].values == study))
    if not len(matching):
        worlds, studies = int(dataset["world"].max()), int(dataset["study"].max())
        raise InputError(
            f"no campaign is world {world}, study {study}; worlds are 0 to {worlds}, studies 0 to {studies}"
        )
    axes, campaign = axes_of(dataset), dataset.isel(replicate=int(matching[0]))
    cells = np.argwhere(campaign["status"].transpose(*axes).values == OK)
    if not len(cells):
        raise InputError(f"world {world}, study {study} was carried out in no cell; name another one")
    return [
        dict(zip(axes, (as_written(campaign[a].values)[i] for a, i in zip(axes, at, strict=True)), strict=True))
        | _order(campaign.isel(dict(zip(axes, at, strict=True))))
        for at in cells.tolist()
    ]


def _order(campaign: xr.Dataset) -> dict[str, Any]:
    n = int(campaign["n_systems"])
    own: Ints = np.flatnonzero(campaign["pair_second"].values < n)
    names = [str(name) for name in campaign["system"].values[:n]]
    order = partial_order(campaign["verdict"].values[own].astype(int), names)
    kept = campaign["collected"].values >= 0
    return {
        "ranks": [list(rank) for rank in order.ranks],
        "beats": [list(pair) for pair in order.beats],
        "cycles": [list(cycle) for cycle in order.cycles],
        "collected": campaign["collected"].values[kept].astype(int).tolist(),
        "undecided": campaign["undecided"].values[kept].astype(int).tolist(),
    }
