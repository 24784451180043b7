"""The verbs merge (folders of one sweep into one) and export (a campaign or a store, for other programs).

A verb is one function of typed options, for the command line and, as `simlab.NAME`, for notebooks: there `_label_NAME`
turns the record that it returns into a store or files.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from simlab.commands.flags import File, Plugins
from simlab.commands.typed_commands import verb
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.commands.export import ExportedFiles
    from simlab.commands.merge import MergedFolders


def _label_merge(merged: MergedFolders) -> xr.Dataset:
    from simlab.commands.launch import load_filled

    if not merged.blocks:
        raise InputError("no campaign was carried out in any of these folders")
    return load_filled(merged.out, [*merged.lines, *merged.missing], whole=True, level=4)


@verb(_label_merge)
def merge(
    out: Annotated[File, typer.Argument(metavar="OUT", hidden=True)],
    *folders: Annotated[File, typer.Argument(metavar="DIR", hidden=True)],
    allow_version: Annotated[
        bool, typer.Option("--allow-version", help="Merge what was filled by different code of simlab.")
    ] = False,
    plugins: Plugins = None,
    progress: bool = False,
) -> MergedFolders:
    """Merge folders of one sweep into one; print the finding.

    OUT is a new folder, or one that holds some of the sweep; DIR are others, as `--shard I/N` fills them on any
    machines. All of them are checked before anything is written; what is in several of them is kept once.

    Returns the store, as `sweep` does.

    Warns of what is missing. Raises InputError for folders of other sweeps or other code, and for results that
    contradict each other.

    >>> simlab.merge("outputs/all", *Path("outputs").glob("item_grouping-shard-*-of-16"))  # doctest: +SKIP
    """
    from simlab.commands import merge as merging

    if not folders:
        raise InputError("merge needs the folders to be merged, after the one to merge into")
    return merging.carry_out(
        Path(out), list(map(Path, folders)), plugins=plugins or [], allow_version=allow_version, quiet=not progress
    )


def _label_export(exported: ExportedFiles) -> list[Path]:
    for line in exported.doubts:
        warnings.warn(line, stacklevel=3)
    return exported.files


@verb(_label_export)
def export(
    store: Annotated[File | None, typer.Argument(metavar="DIR|AXIS=VALUE", hidden=True)] = None,
    *conditions: Annotated[str | Mapping[str, object], typer.Argument(metavar="AXIS=VALUE", hidden=True)],
    out: Annotated[
        File,
        typer.Option(
            metavar="FILE", help="Write .csv (events: .jsonl) and FILE.study.yaml; of a store .nc, .parquet or .zip."
        ),
    ],
    form: Annotated[
        Literal["table", "events", "netcdf", "parquet", "archive"],
        typer.Option("--as", help="Of one campaign, a row or an event for each answer; or the whole store."),
    ] = "table",
    world: Annotated[int | None, typer.Option(metavar="N", help="Index of the world; 0 if left out.", min=0)] = None,
    pool: Annotated[int | None, typer.Option(metavar="N", help="Index of the pool of raters; 0.", min=0)] = None,
    draw: Annotated[int | None, typer.Option(metavar="N", help="Index of the draw of documents; 0.", min=0)] = None,
    study: Annotated[int | None, typer.Option(metavar="N", help="Index of the study in its world; 0.", min=0)] = None,
    plugins: Plugins = None,
    **more: object,
) -> ExportedFiles:
    """Export one campaign of a store as a table like anyone's, or the whole store.

    AXIS=VALUE names the campaign's cell. FILE.study.yaml, beside the table, holds the study and what an analyst is
    told: `simlab conclude FILE --plan FILE.study.yaml` concludes what the store does.

    --as netcdf or parquet writes measures and all campaigns for other programs; AXIS=VALUE[,VALUE] keeps these cells.

    --as archive writes one file to share: the store with its sweep file and versions, without the ledger; query,
    compare, plot, report and show take it as they take DIR.

    Returns the files. In notebooks conditions may be mappings or keywords, too.

    Warns where the campaign came out otherwise than the folder keeps it. Raises InputError, before anything is written,
    where not exactly one cell is named, and for a campaign that the folder does not hold or that failed.

    >>> simlab.export("outputs/item_grouping", out="all.nc", form="netcdf")  # doctest: +SKIP
    >>> simlab.export("outputs/item_grouping", out="all.zip", form="archive")  # doctest: +SKIP
    >>> simlab.export("outputs/item_grouping", grouping="ungrouped", documents=20, out="a.csv")  # doctest: +SKIP
    """
    from simlab.commands.export import carry_out
    from simlab.commands.stores import split_words

    folder, wanted = split_words(store, [*conditions, more])
    given = {"world": world, "pool": pool, "draw": draw, "study": study}
    return carry_out(folder, wanted, given, Path(out), form, list(plugins or ()))
