"""Write the results in a ledger as a Zarr store that plain xarray opens.

The same content gives the same bytes: nothing in a store depends on the clock, on the number of jobs or on the order
in which blocks were finished. A store is laid beside the old one and takes its place by renaming, so that a crash
leaves one of the two; the ledger is the truth, and the next run writes the store anew. Call `materialise` with a
ledger and measures, which returns lines for the user.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab import schemas
from simlab.engine.continuation import CROSSED
from simlab.engine.ledger import STORE, Ledger, StoreOrigin
from simlab.engine.provenance import CHANGED, digest_installation
from simlab.parts import is_own, name_target
from simlab.store import fill_values, readme, units
from simlab.store.cell_reading import Tally, read_cells, slab
from simlab.store.coordinates import NAMES_OF_PAIRS, PAIRS, coordinates
from simlab.store.fill_values import missing_value, stored_type
from simlab.store.folder import NEW, content, disk_bytes, guard_store, settle, take_place
from simlab.store.layout import Cut, Grid, Run, chunks, count_largest_bytes, cut, grid, sort_axes
from simlab.store.measures import (
    Labels,
    Measures,
    Variables,
    bounds_if_failed,
    describe_influence,
    largest_error,
    summaries,
)
from simlab.store.reservations import undivided_attribute
from simlab.store.wholeness import SEAL, seal_attributes
from simlab.store.world_draws import drawn_values, laws_attribute
from simlab.studies.outcomes import IDENTITY
from simlab.types import Array

if TYPE_CHECKING:
    import zarr
    import zarr.abc.store


def materialise(
    book: Ledger, measures: Measures, labels: Labels | None = None, command: str = "", jobs: int = 1
) -> list[str]:
    """Write the store of a ledger into the ledger's folder, unless it is up to date, and a README beside it.

    `command` is that of the user; the README names it. Returns a line if the README could not be written, else
    none; raises InputError where the disk does not take the store.
    """
    settle(book.folder)
    laid = _describe_origin(book, measures, labels or {})
    if not (laid.measures and laid.content and laid == book.read_origin()):
        lay_store(book, measures, labels or {}, jobs)
    elif not book.is_laid():
        book.mark_laid(laid)
    cells, made = len(book.read_requested_sizes().campaigns()), readme.join_commands(book.folder, command)
    return readme.write(book.folder, readme.describe_studies(book.declaration() or {}, labels or {}, made, cells))


def lay_store(book: Ledger, measures: Measures, labels: Labels, jobs: int = 1) -> None:
    """Write the store of a ledger in place of an old one; raise InputError where the disk does not take it."""
    settle(book.folder)
    where = book.folder / NEW
    with guard_store(book.folder):
        lay_group(where, lambda root: lay_arrays(root, book, grid(book), measures, labels, jobs=jobs, folder=where))
        take_place(book.folder)
        book.mark_laid(_describe_origin(book, measures, labels))
        book.note(bytes=disk_bytes(book.folder / STORE))


def _describe_origin(book: Ledger, measures: Measures, labels: Labels) -> StoreOrigin:
    """Return the origin of the store in a folder; its measures are empty where one is a plug-in's, which may change."""
    named = [
        [name, name_target(measure.func), measure.args, measure.keywords, labels.get(name)]
        for name, measure in measures.items()
        if isinstance(measure, partial) and is_own({"_target_": name_target(measure.func)})
    ]
    own = json.dumps(named, default=repr) if len(named) == len(measures) else ""
    return StoreOrigin(digest_installation(), own, book.state(), content(book.folder) or "")


def lay_group(where: Path | zarr.abc.store.Store, lay: Callable[[zarr.Group], dict[str, Any]]) -> None:
    """Write a store, on the disk or in memory: `lay` writes its arrays into a group, and returns its attributes."""
    import zarr

    root = zarr.create_group(where, zarr_format=3)
    about = lay(root)
    root.update_attributes({**about, SEAL: seal_attributes(about)})
    _consolidate(where)


def lay_arrays(
    root: Any,
    book: Ledger,
    size: Grid,
    measures: Measures,
    labels: Labels,
    *,
    outcomes: bool = True,
    jobs: int = 1,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Write the arrays of a ledger's results into a Zarr group (or stand-in, `root`); return the store's attributes.

    `size` is the grid of the ledger; without `outcomes` only the measures and the status are laid. `folder` takes
    influence values while they are many.
    """
    named = {name: labels.get(name, {}) for name in measures}
    wanted = kept_outcomes(book, size) if outcomes else frozenset(["status"])
    with closing(Tally(size, list(named), folder)) as tally:
        arrays = OutcomeArrays(root, size, wanted)
        for run, parts in read_cells(book, size, arrays.cut, measures, wanted, jobs):
            tally.take(run, parts)
            arrays.write(run, slab(size, run, parts))
        arrays.settle(tally)
        measured = summaries(size.names, size.shape, tally.columns(), named)
        measured |= bounds_if_failed(measured, tally.failed)
        drawn = drawn_values(size)
        _add_all(root, coordinates(size, tally.document_set) | drawn | measured)
        for j, (name, about) in enumerate(named.items()):
            _add_influence(root, f"{name}_influence", size, tally, j, describe_influence(about))
        about = attributes(book, drawn) | laws_attribute(drawn) | largest_error(measured, next(iter(named), None))
        return about | undivided_attribute(tally.undivided)


def lay(where: Path | zarr.abc.store.Store, attributes: Mapping[str, Any], variables: Variables) -> None:
    """Write a store of variables, which are in memory, to a path or a Zarr store in memory."""
    import zarr

    root = zarr.create_group(where, zarr_format=3, attributes={**attributes, SEAL: seal_attributes(attributes)})
    _add_all(root, variables)
    _consolidate(where)


def attributes(book: Ledger, drawn: Collection[str] = ()) -> dict[str, Any]:
    """Return the attributes of a store: its sweep, the config that its cells share, seed and versions.

    `drawn` are the names of variables of drawn values.
    """
    declared = book.declaration() or {}
    declared["axes"] = list(sort_axes(declared["axes"])[0])
    *earlier, latest = book.provenance() or [{}]
    commits = [versions.get("commit", "") for versions in (*earlier, latest)]
    base = declared.pop("base")
    about = {
        "schema": schemas.STORE,
        "sweep": json.dumps(declared),
        "config": json.dumps(base),
        "seed": base.get("seed"),
        "conditional": int(declared["worlds"] == 1),
        # Whether some numbers come from files of simlab that no commit holds.
        "dirty": int(any(commit.endswith(CHANGED) for commit in commits)),
        # How xarray learns which variables are coordinates.
        "coordinates": " ".join(
            (*_places(declared), "document_set", *PAIRS, *NAMES_OF_PAIRS, *_linked_names(declared), *drawn)
        ),
    }
    if "reservation" in declared:
        about["reservation"] = declared["reservation"]
    return about | latest | ({"earlier_versions": json.dumps(earlier)} if earlier else {})


def _linked_names(declared: Mapping[str, Any]) -> list[str]:
    """Name the coordinates of keys that move along with the axes."""
    return [name for axis in declared["axes"] for name in axis.get("along", {}).values()]


def _places(declared: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the coordinates of campaigns: world and study, and pool and draw where there are several."""
    return IDENTITY if declared.keys() & set(CROSSED) else ("world", "study")


def kept_outcomes(book: Ledger, size: Grid) -> frozenset[str]:
    """Name the outcomes that a store may keep: all, or the status only where the sweep keeps measures only."""
    declared = book.declaration() or {}
    return frozenset(size.outcomes) if declared["outcomes"] else frozenset(["status"])


class OutcomeArrays:
    """Write outcomes run by run, each array from the first run on in which a cell has such an outcome."""

    def __init__(self, root: Any, size: Grid, wanted: Collection[str]) -> None:
        """Start with the status, which every store has."""
        self._root, self._size, self._done = root, size, list[Run]()
        self.cut = cut(size.shape, count_largest_bytes(size, wanted))
        self._arrays: dict[str, Any] = {}
        self._start("status", self.cut)

    def write(self, run: Run, slab: Mapping[str, Array]) -> None:
        """Write the outcomes of a run; of those that it lacks, that it does."""
        for name in sorted(slab.keys() - self._arrays.keys()):
            self._start(name, self.cut)
            for before in self._done:
                self._arrays[name][before.region or ...] = missing_value(name, self._size.outcomes[name])
        for name, array in self._arrays.items():
            array[run.region or ...] = slab.get(name, missing_value(name, self._size.outcomes[name]))
        self._done.append(run)

    def settle(self, tally: Tally) -> None:
        """Describe each array, once its content is known; give up document sets on which all cells agree."""
        if tally.document_set is not None and "document_set" in self._arrays:
            self._drop("document_set")
        names = list(self._arrays)
        # Which outcomes cells have is known only now; runs were cut for all that were wanted.
        whole = cut(self._size.shape, count_largest_bytes(self._size, names))
        if whole != self.cut and whole == cut(self._size.shape, 0):
            self._lay_whole(names, whole)
        for name in names:
            self._arrays[name].update_attributes(_describe_outcome(name, names, self._size, tally))

    def _lay_whole(self, names: Sequence[str], whole: Cut) -> None:
        """Lay arrays again, in one chunk, where they turn out to be small."""
        for name in names:
            values = self._arrays[name][...]
            self._drop(name)
            self._start(name, whole)
            self._arrays[name][...] = values

    def _drop(self, name: str) -> None:
        del self._arrays[name], self._root[name]

    def _start(self, name: str, cut: Cut) -> None:
        outcome, size = self._size.outcomes[name], self._size
        dims = (*size.names, *outcome.dims)
        shape = (*size.shape, *(size.sizes[dim] for dim in outcome.dims))
        chunk, dtype = cut.chunk(size.shape), stored_type(name, outcome)
        fill = missing_value(name, outcome)
        self._arrays[name] = _create(self._root, name, dims, shape, dtype, fill, {}, chunk)


def _describe_outcome(name: str, names: Sequence[str], size: Grid, tally: Tally) -> dict[str, Any]:
    present = set(tally.present[name])
    absent = [position for position in tally.failed if position not in present]
    outcome = size.outcomes[name]
    about = {
        "label": outcome.label,
        **fill_values.missing_attributes(name, outcome),
        **fill_values.absence_attributes(absent),
    }
    unit = units.outcome_unit(name, names)
    if name == "estimate" and unit == "points" and not units.is_in_points([e.config for e in size.entries.values()]):
        unit = None
    return units.describe_variable(name, about, unit)


def _add_influence(root: Any, name: str, size: Grid, tally: Tally, measure: int, about: Mapping[str, Any]) -> None:
    """Write the influence of each cluster on a measure, run by run."""
    runs = cut(size.shape, 8 * tally.n_clusters)
    shape, dims = (*size.shape, tally.n_clusters), (*size.names, "cluster")
    description = units.describe_variable(name, about, units.find_unit(name, about))
    array = _create(root, name, dims, shape, np.dtype(float), float("nan"), description, runs.chunk(size.shape))
    for run, values in tally.influence(measure, runs.runs(size.shape)):
        array[(*run.region, slice(None))] = values


def _add_all(root: Any, variables: Variables) -> None:
    for name, (dims, array, about) in units.describe_variables(variables).items():
        fill: Any = {"f": float("nan"), "U": "", "b": False}.get(array.dtype.kind, 0)
        chunk = cut(array.shape, array.dtype.itemsize).chunk(array.shape)
        _create(root, name, dims, array.shape, array.dtype, fill, about, chunk)[...] = array


def _create(
    root: Any,
    name: str,
    dims: Sequence[str],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    fill: Any,
    about: Mapping[str, Any],
    of_cells: tuple[int, ...],
) -> Any:
    """Create an array whose chunks hold so many values of the first axes, compressed and sealed by a checksum."""
    from zarr.codecs import Crc32cCodec, ZstdCodec

    with _ignore_warnings():
        return root.create_array(
            name,
            shape=shape,
            dtype=dtype,
            chunks=chunks(shape, of_cells, dtype.itemsize),
            # The checksum is that of the packed bytes, so that damage is found before anything is unpacked.
            compressors=[ZstdCodec(level=3), Crc32cCodec()],
            dimension_names=dims,
            fill_value=fill,
            attributes=dict(about),
            # A chunk that is not there is then always a loss, never an economy.
            config={"write_empty_chunks": True},
        )


def _consolidate(where: Path | zarr.abc.store.Store) -> None:
    """Gather the metadata of all arrays at the root, where xarray looks for it."""
    import zarr

    with _ignore_warnings():
        zarr.consolidate_metadata(where, zarr_format=3)


@contextmanager
def _ignore_warnings() -> Iterator[None]:
    """Leave out what zarr warns of whenever a store is laid: two extensions of the format, which its readers know.

    Metadata gathered at the root is ignored by readers that do not know it. Names as wide as the longest have no
    specification yet; texts of any length, which have one, are read as a type that few calls of xarray take.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Consolidated metadata")
        warnings.filterwarnings("ignore", "The data type .* does not have a Zarr V3 specification")
        yield
