"""Warn of cells whose figures hide something: campaigns that tell no system from another, and judgements too skewed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.measures.jackknife import succeeded
from simlab.types import OK, Outcomes

if TYPE_CHECKING:
    import xarray as xr

UNDIVIDED = "undivided"
"""Attribute of a store that has such cells; others lack it."""

MOST_UNDIVIDED = 0.5
"""A cell is named where more than this share of its campaigns tell no system from another."""
MOST_SKEWED = 0.2
"""A cell is named where more than this share of its intervals rest on judgements too skewed for their number; of 20
normal scores a sixteenth seem so."""


class Undivided(NamedTuple):
    """Count the campaigns of a cell in which all systems have the same estimate, `value` in the first of them."""

    campaigns: int
    of: int
    value: float


def count_undivided(outcomes: Outcomes) -> Undivided | None:
    """Return how many of a cell's campaigns tell no system from another; None where at most half of them do."""
    ok = succeeded(outcomes)
    if "estimate" not in outcomes or not ok.any():
        return None
    estimate = outcomes["estimate"][ok]
    same = (estimate.min(1) == estimate.max(1)) & (estimate.shape[1] > 1)
    if "significant" in outcomes:
        same &= ~outcomes["significant"][ok].any(1)
    if not same.mean() > MOST_UNDIVIDED:
        return None
    return Undivided(int(same.sum()), len(same), float(estimate[same][0, 0]))


def undivided_attribute(cells: Mapping[tuple[int, ...], Undivided]) -> dict[str, str]:
    """Write down the cells of a store that tell no system from another; nothing where there are none."""
    if not cells:
        return {}
    listed = [{"cell": list(position), **cell._asdict()} for position, cell in cells.items()]
    return {UNDIVIDED: json.dumps(listed)}


def undivided_warning(dataset: xr.Dataset) -> str | None:
    """Say in a line that campaigns tell no system from another; None where all is well."""
    listed: list[dict[str, Any]] = json.loads(dataset.attrs.get(UNDIVIDED, "[]"))
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


def skewness_warning(dataset: xr.Dataset) -> str | None:
    """Say in a line that intervals cover less than they say; None where all is well, and of stores that do not tell."""
    if not {"skewed", "status"} <= set(dataset.variables):
        return None
    ran = (dataset["status"] == OK).transpose(..., "replicate")
    skewed = (dataset["skewed"].transpose(..., "replicate", "system").values == 1) & ran.values[..., None]
    of = np.maximum(ran.values.sum(-1) * skewed.shape[-1], 1)
    share = np.atleast_1d(skewed.sum((-2, -1)) / of)
    named = share[share > MOST_SKEWED]
    if not named.size:
        return None
    settings = f" in {named.size} of {share.size} settings" if share.size > 1 else ""
    return (
        f"judgements are too skewed for so few of them{settings} (up to {named.max():.0%} of the intervals): intervals "
        "cover less than they say; raise budget.human_ratings or choose analysis.estimator.interval=bootstrap_t"
    )
