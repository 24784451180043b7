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
    form: Literal["table", "events"] = "table",
    world: int = 0,
    pool: int = 0,
    draw: int = 0,
    study: int = 0,
    plugins: Sequence[str] = (),
    **axes: object,
) -> list[Path]:
    """Export one campaign of a store as a table like anyone's (.csv), or as events (.jsonl).

    `store` is a folder, that of the last run if left out; `conditions` and `axes` name one cell. Beside `out` stands
    `out.study.yaml`, which holds the study and what an analyst of the campaign is told. Returns both files. Warns where
    the campaign came out otherwise than the folder keeps it. Raises InputError, before anything is written, where not
    exactly one cell is named, and for a campaign that the folder does not hold or that failed.

    >>> simlab.export("outputs/item_grouping", grouping="ungrouped", documents=20, out="a.csv")  # doctest: +SKIP
    """
    from simlab.commands import export as exports

    place = Place(world, pool, draw, study)
    for name, number in place._asdict().items():
        if type(number) is not int or number < 0:
            raise InputError(f"{name}={shown(number)} must be a whole number >= 0")
    with mendable():
        folder, wanted = None if store is None else Path(store), words([*conditions, axes], axes=False)
        _, doubts, _ = exports.answer(folder, wanted, place, Path(out), form, list(plugins))
        for line in doubts:
            warnings.warn(line, stacklevel=3)
        return [Path(out), Path(f"{out}.study.yaml")]
