"""Put beside a measure that is best by emptiness what was found.

SRP, and the share of campaigns without a wrong claim, are 1 where nothing is significant; so neither stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simlab.measures.labels import EMPTINESS
from simlab.store.opening import measures_of
from simlab.store.query import with_measures
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr

FOUND = ("power", "significant_share")
"""What says how much was found: of the true differences, or where these are not known or not there, of all pairs."""


def found_beside(dataset: xr.Dataset, names: Sequence[str]) -> str | None:
    """Name the measure of a store that says what was found beside these; None where nothing is lacking, or known."""
    if not EMPTINESS & set(names) or set(FOUND) & set(names):
        return None
    held = (name for name in FOUND if name in measures_of(dataset))
    return next((name for name in held if np.isfinite(dataset[name].values).any()), None)


def with_found(dataset: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Add to a store what `found_beside` names, from its outcomes; a store without them stays as it is."""
    if not EMPTINESS & set(names) or set(FOUND) & set(names):
        return dataset
    for name in FOUND:
        if found_beside(dataset, names):
            return dataset
        try:
            dataset = with_measures(dataset, [name])
        except InputError:
            return dataset
    return dataset
