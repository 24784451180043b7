"""The verbs of the command line about one campaign of a store, for notebooks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from simlab.commands.notebook import mendable
from simlab.commands.words import words
from simlab.messages import shown
from simlab.types import InputError, Place


def export(
    store: str | os.PathLike[str] | None = None,
    *conditions: str | Mapping[str, object],
    out: str | os.PathLike[str],
    form: Literal["table", "events", "netcdf", "parquet"] = "table",
    world: int | None = None,
    pool: int | None = None,
    draw: int | None = None,
    study: int | None = None,
    plugins: Sequence[str] = (),
    **axes: object,
) -> list[Path]:
    """Export one campaign of a store as a table like anyone's (.csv), or as events (.jsonl), or the whole store.

    `store` is a folder, that of the last run if left out; `conditions` and `axes` name one cell. Beside `out` stands
    `out.study.yaml`, which holds the study and what an analyst of the campaign is told. Returns both files. Warns where
    the campaign came out otherwise than the folder keeps it. Raises InputError, before anything is written, where not
    exactly one cell is named, and for a campaign that the folder does not hold or that failed.

    `form="netcdf"` (.nc) and `form="parquet"` write measures and all campaigns for other programs, of all cells or of
    those that meet the conditions; the place of a campaign is left out then. Returns the files.

    >>> simlab.export("outputs/item_grouping", out="all.nc", form="netcdf")  # doctest: +SKIP
    >>> simlab.export("outputs/item_grouping", grouping="ungrouped", documents=20, out="a.csv")  # doctest: +SKIP
    """
    from simlab.commands import export as exports
    from simlab.commands.stores import apart

    given = {"world": world, "pool": pool, "draw": draw, "study": study}
    for name, number in given.items():
        if number is not None and (type(number) is not int or number < 0):
            raise InputError(f"{name}={shown(number)} must be a whole number >= 0")
    place = Place(**{name: number or 0 for name, number in given.items()})
    with mendable():
        folder = None if store is None else Path(store)
        if form == "netcdf" or form == "parquet":
            return exports.whole(folder, apart([*conditions, axes]), given, Path(out), form)[0]
        wanted = words([*conditions, axes], axes=False)
        _, doubts = exports.written(folder, wanted, place, Path(out), form, list(plugins))
        for line in doubts:
            warnings.warn(line, stacklevel=3)
        return [Path(out), Path(f"{out}.study.yaml")]
