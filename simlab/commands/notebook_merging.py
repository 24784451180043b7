"""Merge folders of one sweep from a notebook, as `simlab merge` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.commands.notebook import found, mendable
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr


def merge(
    out: str | os.PathLike[str],
    *folders: str | os.PathLike[str],
    plugins: Sequence[str] = (),
    progress: bool = False,
    allow_version: bool = False,
) -> xr.Dataset:
    """Merge folders of one sweep into `out`, a new folder or one that holds some of it; return the store.

    `folders` are those that `run` or `sweep` filled with `shard=` on any machines, or parts of one grid. All of them
    are checked before anything is written; what is in several of them is kept once. Returns a dataset as `sweep` does;
    warns of what is missing. Raises InputError for folders of other sweeps or other code, and for results that
    contradict each other.

    >>> simlab.merge("outputs/all", *Path("outputs").glob("item_grouping-shard-*-of-16"))  # doctest: +SKIP
    """
    from simlab.commands import merge as merging

    if not folders:
        raise InputError("merge needs the folders to be merged, after the one to merge into")
    with mendable():
        lines, missing, n_blocks = merging.carry_out(
            Path(out), list(map(Path, folders)), plugins=plugins, allow_version=allow_version, quiet=not progress
        )
        if not n_blocks:
            raise InputError("no campaign was carried out in any of these folders")
        return found(Path(out), [*lines, *missing], whole=True, level=3)
