"""Find cells whose campaigns tell no system from another: stable by emptiness, and no result.

Where all raters say the same of everything, every system has the same estimate, to the last bit. Equal systems are
another matter: their estimates differ by noise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.measures.jackknife import succeeded
from simlab.types import Outcomes

if TYPE_CHECKING:
    import xarray as xr

ATTRIBUTE = "undivided"
"""Attribute of a store that has such cells; others lack it."""

MOST = 0.5
"""A cell is named where more than this share of its campaigns tell no system from another."""


class Undivided(NamedTuple):
    """Count the campaigns of a cell in which all systems have the same estimate, `value` in the first of them."""

    campaigns: int
    of: int
    value: float


def undivided(outcomes: Outcomes) -> Undivided | None:
    """Return how many of a cell's campaigns tell no system from another; None where at most half of them do."""
    ok = succeeded(outcomes)
    if "estimate" not in outcomes or not ok.any():
        return None
    estimate = outcomes["estimate"][ok]
    same = (estimate.min(1) == estimate.max(1)) & (estimate.shape[1] > 1)
    if "significant" in outcomes:
        same &= ~outcomes["significant"][ok].any(1)
    if not same.mean() > MOST:
        return None
    return Undivided(int(same.sum()), len(same), float(estimate[same][0, 0]))


def attribute(cells: Mapping[tuple[int, ...], Undivided]) -> dict[str, str]:
    """Write down the cells of a store that tell no system from another; nothing where there are none."""
    if not cells:
        return {}
    listed = [{"cell": list(position), **cell._asdict()} for position, cell in cells.items()]
    return {ATTRIBUTE: json.dumps(listed)}


def reservation(dataset: xr.Dataset) -> str | None:
    """Say in a line that campaigns tell no system from another; None where all is well."""
    listed: list[dict[str, Any]] = json.loads(dataset.attrs.get(ATTRIBUTE, "[]"))
    if not listed:
        return None
    campaigns, of = (sum(cell[word] for cell in listed) for word in ("campaigns", "of"))
    values = np.unique([cell["value"] for cell in listed])
    value = f" ({values[0]:g})" if len(values) == 1 else ""
    settings = f" of {len(listed)} settings" if len(listed) > 1 else ""
    return (
        f"in {campaigns} of {of} campaigns{settings} every system has the same estimate{value}: nothing can be told "
        "apart, and what looks stable is empty; see the keys of systems and raters, such as raters.leniency_sd"
    )
