"""Convert outcomes of truth values and whole numbers to and from stored arrays in which missing ones are marked.

Zarr has no missing values for them: those of campaigns not simulated, or of pairs that a cell lacks, would read as
False or 0, and every mean over them would be wrong. So they are stored with a value that marks them as missing and the
attribute `_FillValue` of the CF conventions (section 2.5.1), by which xarray reads floats with NaN. Truth values are
stored as int8, 1 byte as before; read, they take 4 bytes in place of 1, counts 8 in place of 4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simlab.types import Array, Outcome

WHOLE = ("status", "document_set")
"""Outcomes without missing values: a campaign that was not run has a status, too."""
HOLDS, BLANK = "holds", "blank"
"""Attributes: the type of the outcome itself, and its value in a campaign that has none."""

ABSENT = "absent"
"""Attribute: indices of the cells that lack the outcome, as JSON, since NetCDF has no attribute of several rows."""


def absence_attributes(positions: Sequence[Sequence[int]]) -> dict[str, str]:
    """Return the attribute that names the cells without an outcome, given their indices `[cell, axis]`; {} if none."""
    return {ABSENT: json.dumps(positions)} if positions else {}


def absent_cells(attributes: Mapping[Any, Any]) -> list[list[int]]:
    """Return the indices of the cells that lack an outcome, `[cell, axis]`, from its attributes."""
    return json.loads(attributes.get(ABSENT, "[]"))  # type: ignore[no-any-return]


def is_masked(name: str, outcome: Outcome) -> bool:
    """True if an outcome is stored with a value that marks missing entries."""
    return np.dtype(outcome.dtype).kind in "biu" and name not in WHOLE


def stored_type(name: str, outcome: Outcome) -> np.dtype[Any]:
    """Return the type in which an outcome is stored."""
    dtype = np.dtype(outcome.dtype)
    return np.dtype(np.int8) if dtype.kind == "b" and is_masked(name, outcome) else dtype


def missing_value(name: str, outcome: Outcome) -> Any:
    """Return the value that marks missing entries in the stored array of an outcome."""
    if not is_masked(name, outcome):
        return outcome.fill
    dtype = np.dtype(outcome.dtype)
    if dtype.kind == "b":
        return -1
    limits = np.iinfo(dtype)
    # Counts and indices never reach that end of their type.
    return int(limits.max if dtype.kind == "u" else limits.min)


def missing_attributes(name: str, outcome: Outcome) -> dict[str, Any]:
    """Return the attributes by which readers know missing entries, and the type of the others."""
    if not is_masked(name, outcome):
        return {}
    fill = outcome.fill.item() if isinstance(outcome.fill, np.generic) else outcome.fill
    return {"_FillValue": missing_value(name, outcome), HOLDS: outcome.dtype, BLANK: int(fill)}


def mask_values(values: Array, name: str, outcome: Outcome, carried_out: Array) -> Array:
    """Return outcomes as they are stored: missing where campaigns failed, and where a gap is their answer.

    `carried_out[row]` is true where a row of `values` is that of a campaign (or world) that was carried out.
    """
    if not is_masked(name, outcome):
        return values
    stored = values.astype(stored_type(name, outcome))
    gone = np.broadcast_to(~carried_out.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    if outcome.gap:
        gone = gone | (values == outcome.fill)
    return np.where(gone, np.asarray(missing_value(name, outcome), stored.dtype), stored)


def restore_values(values: Array, attributes: Mapping[Any, Any]) -> Array:
    """Return outcomes as campaigns gave them from an array that xarray read: of their own type, blank where missing."""
    if HOLDS not in attributes:
        return values
    known = np.where(np.isnan(values), attributes[BLANK], values) if values.dtype.kind == "f" else values
    return known.astype(attributes[HOLDS])
