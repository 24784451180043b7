"""Find cells whose judgements are too skewed for their intervals: t intervals cover less there than they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simlab.types import OK

if TYPE_CHECKING:
    import xarray as xr

MANY = 0.2
"""A cell is named where more than this share of its intervals rest on judgements too skewed for their number; of 20
normal scores a sixteenth seem so."""


def warning(dataset: xr.Dataset) -> str | None:
    """Say in a line that intervals cover less than they say; None where all is well, and of stores that do not tell."""
    if not {"skewed", "status"} <= set(dataset.variables):
        return None
    ran = (dataset["status"] == OK).transpose(..., "replicate")
    skewed = (dataset["skewed"].transpose(..., "replicate", "system").values == 1) & ran.values[..., None]
    of = np.maximum(ran.values.sum(-1) * skewed.shape[-1], 1)
    share = np.atleast_1d(skewed.sum((-2, -1)) / of)
    named = share[share > MANY]
    if not named.size:
        return None
    settings = f" in {named.size} of {share.size} settings" if share.size > 1 else ""
    return (
        f"judgements are too skewed for so few of them{settings} (up to {named.max():.0%} of the intervals): intervals "
        "cover less than they say; raise budget.human_ratings or choose analysis.estimator.interval=bootstrap_t"
    )
