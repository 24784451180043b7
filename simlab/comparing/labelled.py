"""Label what is listed record by record: a dataset over the axes that the records go through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.comparing.contrasts import Row
from simlab.measures.intervals import LEVEL
from simlab.types import Array

if TYPE_CHECKING:
    import xarray as xr

DIFFERENCES = {
    "difference": "difference from the baseline",
    "difference_mcse": "Monte-Carlo standard error of the difference",
    "difference_low": f"lower bound of the {LEVEL:.0%} t interval of the difference",
    "difference_high": f"upper bound of the {LEVEL:.0%} t interval of the difference",
}


def records(rows: Sequence[Row], by: str, measure: str) -> list[dict[str, Any]]:
    """List the rows of a comparison in full precision; the baseline has no difference from itself."""
    return [
        {
            **row.at,
            by: row.design,
            measure: row.value,
            f"{measure}_mcse": row.mcse,
            f"{measure}_n": row.n,
            f"{measure}_clusters": row.clusters,
            f"{measure}_low": row.low,
            f"{measure}_high": row.high,
            f"{measure}_failed": row.failed,
            "baseline": row.baseline,
            "difference": row.contrast.difference if row.contrast else None,
            "difference_mcse": row.contrast.mcse if row.contrast else None,
            "difference_low": row.contrast.low if row.contrast else None,
            "difference_high": row.contrast.high if row.contrast else None,
            "clusters": row.contrast.clusters if row.contrast else None,
            "standing": row.standing,
            "marked": list(row.marks),
        }
        for row in rows
    ]


def flat(listed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write what is marked as one text, for tables of values."""
    return [{**record, "marked": "; ".join(record["marked"])} for record in listed]


def of_rows(rows: Sequence[Row], by: str, measure: str) -> xr.Dataset:
    """Label a comparison: each field of its records over the axes; what the baseline lacks is NaN."""
    listed = flat(records(rows, by, measure))
    dataset = over(listed, {name: list(dict.fromkeys(row[name] for row in listed)) for name in (*rows[0].at, by)})
    for name, label in DIFFERENCES.items():
        dataset[name].attrs["long_name"] = label
    dataset["standing"].attrs["long_name"] = "best, tied with the best, behind it, marked, unranked or unknown"
    dataset["marked"].attrs["long_name"] = "what speaks against calling the design the best"
    dataset["clusters"].attrs["long_name"] = "clusters over which the difference is paired"
    return dataset


def over(listed: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Label records that go through all combinations of the values of axes, the last one fastest.

    The values on an axis are its coordinate; every other field is a variable over all axes.
    """
    import xarray as xr

    shape = tuple(len(values) for values in axes.values())
    fields = [name for name in listed[0] if name not in axes]
    variables = {name: (tuple(axes), column([one[name] for one in listed]).reshape(shape)) for name in fields}
    return xr.Dataset(variables, {name: column(values) for name, values in axes.items()})


def column(values: Sequence[Any]) -> Array:
    """Put values into an array; where numbers are missing they are NaN.

    >>> column([1, None]).tolist(), column(["a", "b"]).dtype.kind, column([1, 2]).dtype.kind
    ([1.0, nan], 'U', 'i')
    """
    if any(isinstance(value, str) for value in values):
        return np.array([str(value) for value in values])
    return np.array([np.nan if value is None else value for value in values])
