"""Write the partial order of systems that one campaign of a store arrived at, with its trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.analysis.preferences.partial_order import partial_order
from simlab.store.opening import axes_of
from simlab.types import InputError, Ints

if TYPE_CHECKING:
    import xarray as xr


def orders(dataset: xr.Dataset, world: int, study: int) -> list[dict[str, Any]]:
    """List, per cell, the order of one campaign: ranks, who beats whom directly, cycles, and its rounds.

    Raises InputError for a store without verdicts, or a campaign that it does not hold.
    """
    if "verdict" not in dataset:
        raise InputError("this store holds no verdicts about pairs; `simlab order` is for studies of preferences")
    found = np.flatnonzero((dataset["world"].values == world) & (dataset["study"].values == study))
    if not len(found):
        worlds, studies = int(dataset["world"].max()), int(dataset["study"].max())
        raise InputError(
            f"no campaign is world {world}, study {study}; worlds are 0 to {worlds}, studies 0 to {studies}"
        )
    axes, campaign = axes_of(dataset), dataset.isel(replicate=int(found[0]))
    return [
        dict(zip(axes, (campaign[a].values.tolist()[i] for a, i in zip(axes, at, strict=True)), strict=True))
        | _order(campaign.isel(dict(zip(axes, at, strict=True))))
        for at in np.ndindex(*(dataset.sizes[axis] for axis in axes))
    ]


def _order(campaign: xr.Dataset) -> dict[str, Any]:
    n = int(campaign["n_systems"])
    own: Ints = np.flatnonzero(campaign["pair_second"].values < n)
    names = [str(name) for name in campaign["system"].values[:n]]
    order = partial_order(campaign["verdict"].values[own], names)
    kept = campaign["collected"].values >= 0
    return {
        "ranks": [list(rank) for rank in order.ranks],
        "beats": [list(pair) for pair in order.beats],
        "cycles": [list(cycle) for cycle in order.cycles],
        "collected": campaign["collected"].values[kept].tolist(),
        "undecided": campaign["undecided"].values[kept].tolist(),
    }


def write(found: Sequence[dict[str, Any]], form: str) -> str:
    """Write orders for a reader, or as JSON."""
    if form == "json":
        return json.dumps(list(found), indent=1)
    return "\n\n".join(map(_text, found))


def _text(order: dict[str, Any]) -> str:
    axes = [f"{key}={value}" for key, value in order.items() if not isinstance(value, list)]
    ranks = [f"{place + 1:>4}. {', '.join(rank)}" for place, rank in enumerate(order["ranks"])]
    beats = ", ".join(f"{better} > {worse}" for better, worse in order["beats"]) or "nobody"
    cycles = "; ".join(" > ".join(cycle) for cycle in order["cycles"]) or "none"
    rounds = [f"{n}: {left}" for n, left in zip(order["collected"], order["undecided"], strict=True)]
    lines = [*axes, "ranks (nobody of a rank is beaten by a later one)", *ranks, f"beats directly: {beats}"]
    return "\n".join([*lines, f"cycles: {cycles}", f"annotations: undecided pairs  {_every(rounds)}"])


def _every(rounds: list[str], most: int = 8) -> str:
    """Keep the first, the last, and some rounds between."""
    kept = sorted({round(k * (len(rounds) - 1) / (most - 1)) for k in range(most)})
    return ", ".join(rounds[k] for k in kept)


def answer(folder: Path | None, conditions: Sequence[str], world: int, study: int, form: str) -> str:
    """Write the order of a campaign in each cell that meets the conditions."""
    from simlab.commands.answers import opened

    with opened(folder, conditions) as dataset:
        return write(orders(dataset, world, study), form)
