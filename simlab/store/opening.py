"""Open stores of results, and read the outcomes, measures and settings of their cells.

Call `open_results` with a folder or an archive, which returns an `xarray.Dataset`; the other functions read from one.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.engine.ledger import FILE, STORE, is_archive
from simlab.files import reason
from simlab.messages import Reservation, clip
from simlab.store.fill_values import HOLDS, absent_cells, restore_values
from simlab.store.folder import store_in, valid_store
from simlab.store.interrupted_runs import compare_with_ledger, view
from simlab.store.layout import columns
from simlab.store.measures import SUFFIXES
from simlab.store.reservations import add_notes
from simlab.store.wholeness import Examined, Files, examine, refuse_damaged, remedy
from simlab.studies.outcomes import IDENTITY
from simlab.types import UNRUN, Array, InputError, Outcome

if TYPE_CHECKING:
    import xarray as xr
    import zarr.abc.store


def open_results(folder: str | Path, chunks: Any = None) -> xr.Dataset:
    """Open a store, by its folder or by the archive that `export` made of it; values are read when they are used.

    `chunks` ({}: as they lie on the disk; sizes by dimension; "auto") gives Dask arrays, which compute with outcomes
    that no memory holds; without it what is used is read as a whole.

    Dimensions are the sweep's axes in its order, then those of the outcomes; the measures come first. Raises
    InputError where there is no store, it has another schema, or something of it is lost; a chunk that is damaged is
    named when it is read. Where a run was interrupted, what its ledger keeps is opened, in memory, with a warning
    (`Reservation`) that says what is missing; so says one wherever the ledger keeps fewer campaigns than were asked
    for. (Plain `xarray.open_zarr` gives fill values for a chunk that is lost, without a word: out of reach here.)

    >>> import simlab
    >>> simlab.open_results("outputs/item_grouping")["srp"].sel(grouping="ungrouped")  # doctest: +SKIP
    """
    if chunks is not None and find_spec("dask") is None:
        raise InputError(
            f"open_results(chunks={chunks!r}): chunks are read by Dask, which is not installed; install simlab[dask], "
            "or leave chunks out"
        )
    where = Path(folder)
    return _results(where.parent if where.name == STORE else where, filled=False, chunks=chunks)


def open_laid(folder: Path) -> tuple[xr.Dataset, str | None]:
    """Open the store in a folder; return it, and a line if its ledger has fewer campaigns than were requested.

    Raises InputError where none lies there, or its ledger holds campaigns that the store lacks.
    """
    dataset = _open_whole(valid_store(folder))
    if not (folder / FILE).is_file():
        return dataset, None
    lacks, incomplete = compare_with_ledger(folder, dataset)
    if lacks:
        raise InputError(
            f"{clip(folder)}: its run was interrupted, and its {STORE} lacks campaigns; the same command continues it"
        )
    return dataset, incomplete


def open_filled(folder: Path) -> xr.Dataset:
    """Open the store of a run that has just finished its part, although earlier runs may have left others undone."""
    return _results(folder, filled=True)


def config_of(dataset: xr.Dataset) -> dict[str, Any]:
    """Return the settings that all cells of a store share, as nested dicts; those on axes are coordinates.

    Raises InputError for a dataset that does not come from a store.

    >>> import simlab
    >>> simlab.config_of(simlab.open_results("outputs/item_grouping"))["design"]["ratings_per_item"]  # doctest: +SKIP
    1
    """
    if "config" not in dataset.attrs:
        raise InputError("this dataset has no attribute config; take one that simlab.open_results gave")
    config: dict[str, Any] = json.loads(dataset.attrs["config"])
    return config


def name_axes(dataset: xr.Dataset) -> tuple[str, ...]:
    """Name the axes that a store has as dimensions, in the order of the sweep."""
    declared = json.loads(dataset.attrs["sweep"])["axes"]
    return tuple(axis["name"] for axis in declared if axis["name"] in dataset.dims)


def measures_of(dataset: xr.Dataset) -> tuple[str, ...]:
    """Name the measures of a store, in the order of the sweep."""
    return tuple(str(name) for name in dataset.data_vars if f"{name}_mcse" in dataset)


def read_labels(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return the label of each measure of a store, by name."""
    return {name: {"label": dataset[name].attrs.get("label", name)} for name in measures_of(dataset)}


def outcomes_of_cell(dataset: xr.Dataset, index: Sequence[int]) -> dict[str, Array]:
    """Return the outcomes of one cell, by name, as its blocks had them: without padding, without campaigns not run.

    `index` counts along the axes. Raises InputError where the sweep kept its measures only.
    """
    if "estimate" not in dataset and "p_value" not in dataset:
        raise InputError("this store keeps measures only (engine.outcomes=false); run it again to keep outcomes")
    cell = dataset.isel(dict(zip(name_axes(dataset), index, strict=True)))
    ran = np.flatnonzero(cell["status"].values != UNRUN)
    outcomes = {name: cell[name].values[ran] for name in IDENTITY if name in cell.coords}
    for name in outcome_names(dataset):
        if list(index) not in absent_cells(dataset[name].attrs):
            outcomes[name] = _cut(cell, name, ran)
    return outcomes


def outcome_names(dataset: xr.Dataset) -> list[str]:
    """Name the outcomes that a store keeps: variables with a row per campaign or world, but for their indices."""
    along = ("replicate", "of_world")
    return [str(n) for n in dataset.variables if n not in IDENTITY and any(dim in along for dim in dataset[n].dims)]


def declared_outcomes(dataset: xr.Dataset) -> dict[str, Outcome]:
    """Return the declarations of a store's outcomes, read from its arrays, so that no plug-in is needed."""
    axes = name_axes(dataset)
    return {
        name: Outcome(
            tuple(str(dim) for dim in dataset[name].dims if dim not in axes),
            str(dataset[name].attrs.get(HOLDS, dataset[name].dtype.name)),
            None,
            str(dataset[name].attrs.get("label", name)),
        )
        for name in outcome_names(dataset)
    }


def _cut(cell: xr.Dataset, name: str, ran: Array) -> Array:
    rows = np.arange(cell["world"].values[ran].max(initial=-1) + 1) if "of_world" in cell[name].dims else ran
    n_systems = int(cell["n_systems"])
    own = [columns(str(dim), n_systems, cell.sizes[dim]) for dim in cell[name].dims[1:]]
    return restore_values(cell[name].values[np.ix_(rows, *own)], cell[name].attrs)


def _order_variables(dataset: xr.Dataset) -> list[str]:
    """Order the variables: measures as the sweep names them, each with what belongs to it, then outcomes."""
    measures = json.loads(dataset.attrs["sweep"])["measures"]
    ranks = {f"{name}{suffix}": (k, j) for k, name in enumerate(measures) for j, suffix in enumerate(("", *SUFFIXES))}
    names = map(str, dataset.data_vars)
    return sorted(names, key=lambda name: (ranks.get(name, (len(measures), 0)), name))


def _results(folder: Path, *, filled: bool, chunks: Any = None) -> xr.Dataset:
    if is_archive(folder):
        return _open_archive(folder, chunks)
    path = store_in(folder)
    if not (folder / FILE).is_file():
        return _open_whole(valid_store(folder), chunks)
    return _view(folder, chunks) if path is None else _open_newest(folder, path, chunks, filled=filled)


def _open_newest(folder: Path, path: Path, chunks: Any, *, filled: bool) -> xr.Dataset:
    """Open a store, or where it lacks campaigns that its ledger holds what is there; what is in doubt is warned of."""
    dataset = _open_whole(path, chunks)
    try:
        lacks, incomplete = compare_with_ledger(folder, dataset)
        if lacks:
            return _view(folder, chunks)
    except InputError as error:
        incomplete, filled = f"{error} (shown is what its store holds)", False
    if incomplete and not filled:
        warnings.warn(incomplete, Reservation, stacklevel=4)
    return dataset


def _view(folder: Path, chunks: Any) -> xr.Dataset:
    store, missing = view(folder)
    warnings.warn(missing, Reservation, stacklevel=4)
    return _dataset(store, folder / STORE, chunks)


def _open_whole(path: Path, chunks: Any = None) -> xr.Dataset:
    """Open a store that is whole; raise InputError, naming what is damaged and the remedy, where it is not."""
    from simlab.store.wholeness import CheckedStore, FilesOfFolder

    store = CheckedStore(path, read_only=True)
    store.sizes = _examine(FilesOfFolder(path)).sizes()
    return _dataset(store, path, chunks)


def _open_archive(file: Path, chunks: Any) -> xr.Dataset:
    """Open the store in an archive, as strict as that of a folder and stricter on what it takes."""
    from simlab.store.archive import CheckedArchive, reading, refuse_large

    with reading(file) as archive:
        examined = _examine(archive)
    refuse_large(file, examined)
    store = CheckedArchive(file)
    store.sizes = examined.sizes()
    return _dataset(store, file / STORE, chunks)


def _examine(files: Files) -> Examined:
    """Look at a store; raise InputError where something of it is lost, damaged or not simlab's."""
    examined = examine(files)
    refuse_damaged(files.path, examined)
    refuse_strange_attributes(examined, files.path)
    return examined


def _dataset(store: zarr.abc.store.Store, path: Path, chunks: Any) -> xr.Dataset:
    import xarray as xr

    try:
        dataset: xr.Dataset = xr.open_zarr(store, chunks=chunks)
        # A dataset lists its dimensions in the order in which its variables name them.
        # How a chunk lies on this disk is not how it is to lie on another, where a dataset is written.
        ordered: xr.Dataset = dataset[_order_variables(dataset)].drop_encoding()
        add_notes(ordered, measures_of(ordered))
        # Whoever has to look into the ledger beside it finds it there.
        ordered.encoding["source"] = str(path)
    except InputError:
        raise
    except Exception as error:
        # Whatever a store that simlab has not laid makes of the libraries that read it.
        raise InputError(f"{clip(path)} is damaged ({reason(error)}); {remedy(path)}") from error
    return ordered


def refuse_strange_attributes(examined: Examined, path: Path) -> None:
    """Raise InputError where the attributes of a store are not those that simlab writes."""
    try:
        declared, config = (json.loads(examined.attributes[name]) for name in ("sweep", "config"))
        names = [axis["name"] for axis in declared["axes"]]
        texts = [*names, *declared["measures"], *(axis["key"] for axis in declared["axes"]), declared["name"]]
        known = all(isinstance(text, str) for text in texts) and isinstance(declared.get("figure", {}), dict)
        precise = isinstance(declared.get("precision") or {}, dict) and isinstance(config, dict)
        sized = all(examined.arrays[axis["name"]]["shape"] == [len(axis["values"])] for axis in declared["axes"])
        shape = [len(axis["values"]) for axis in declared["axes"]]
        placed = all(
            _are_within(absent_cells(about.get("attributes", {})), shape) for about in examined.arrays.values()
        )
        if not (known and precise and sized and placed):
            raise TypeError("another type")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{clip(path)}: its attributes sweep, config and absent are not those of a store of simlab; {remedy(path)}"
        ) from error


def _are_within(cells: Sequence[Sequence[int]], shape: Sequence[int]) -> bool:
    """True if each cell has an index on each axis."""
    return all(
        len(cell) == len(shape) and all(type(k) is int and 0 <= k < n for k, n in zip(cell, shape, strict=True))
        for cell in cells
    )
