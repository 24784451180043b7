"""Lay what a ledger holds as a Zarr store that plain xarray opens.

The same content gives the same bytes: nothing in a store depends on the clock, on the number of jobs or on the order
in which blocks were finished. A store is laid beside the old one and takes its place by renaming, so that a crash
leaves one of the two; the ledger is the truth, and the next run lays the store anew.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.engine.continuation import CROSSED
from simlab.engine.ledger import Laid, Ledger
from simlab.engine.provenance import CHANGED, installation
from simlab.parts import is_own, target_of
from simlab.store import readme, units
from simlab.store.coordinates import NAMES_OF_PAIRS, coordinates
from simlab.store.folder import NEW, content, laying, settle, take_place
from simlab.store.layout import CHUNK_BYTES, Grid, depth, gather, grid, lay_out, slabs, spread, width
from simlab.store.measures import (
    Computed,
    Estimates,
    Labels,
    Measures,
    Position,
    Variables,
    bounds_if_failed,
    estimate,
    set_out,
)
from simlab.store.undivided import Undivided, attribute, undivided
from simlab.store.wholeness import SEAL, seal_of_attributes
from simlab.studies.outcomes import IDENTITY
from simlab.types import OK, Array, Outcome

if TYPE_CHECKING:
    import zarr
    import zarr.abc.store

SCHEMA = 1
MOST_LAID = 64 * 2**20
"""Outcomes of up to so many bytes are laid out in memory while measures are computed, and not read twice."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Hold what has to be known of all cells before the first is written.

    `present[name]` lists the cells that have an outcome; `document_set[replicate]` is None where cells differ in it;
    `failed[cell]` is the share of campaigns that failed, `undivided[cell]` says that nothing can be told apart there.
    `laid` are the outcomes of all cells where they are small, else they are read once more as they are written.
    """

    present: Mapping[str, tuple[Position, ...]]
    document_set: Array | None
    estimates: Estimates
    failed: Mapping[Position, float]
    undivided: Mapping[Position, Undivided]
    laid: Mapping[str, Array]


def materialise(book: Ledger, measures: Measures, labels: Labels | None = None, command: str = "") -> list[str]:
    """Lay the store of a ledger in the ledger's folder, unless it lies there, and beside it a page for readers.

    `command` is what asked for the sweep; the page names it. Returns a line, or none, for a page that could not be
    written; raises InputError where the disk does not take the store.
    """
    settle(book.folder)
    laid = _laid(book, measures, labels or {})
    if not (laid.measures and laid.content and laid == book.laid_as()):
        lay_store(book, measures, labels or {})
    elif not book.laid():
        book.mark_laid(laid)
    return readme.write(book.folder, readme.of_studies(book.declaration() or {}, labels or {}, command))


def lay_store(book: Ledger, measures: Measures, labels: Labels) -> None:
    """Lay the store of a ledger, which takes the place of an old one; raise InputError where the disk takes none."""
    settle(book.folder)
    with laying(book.folder):
        lay_kept(book.folder / NEW, book, grid(book), measures, labels)
        take_place(book.folder)
        book.mark_laid(_laid(book, measures, labels))


def _laid(book: Ledger, measures: Measures, labels: Labels) -> Laid:
    """Name what a store is laid from, and what lies there; measures by parts and keys, those of plug-ins by nobody."""
    named = [
        [name, target_of(one.func), one.args, one.keywords, labels.get(name)]
        for name, one in measures.items()
        if isinstance(one, partial) and is_own({"_target_": target_of(one.func)})
    ]
    own = json.dumps(named, default=repr) if len(named) == len(measures) else ""
    return Laid(installation(), own, book.state(), content(book.folder) or "")


def lay_kept(
    where: Path | zarr.abc.store.Store,
    book: Ledger,
    size: Grid,
    measures: Measures,
    labels: Labels,
    *,
    outcomes: bool = True,
) -> None:
    """Lay a store of what a ledger keeps: measures, and what every campaign concluded unless that is not wanted."""
    survey = look_through(book, size, measures)
    summaries = set_out(size.names, size.shape, survey.estimates, {name: labels.get(name, {}) for name in measures})
    summaries |= bounds_if_failed(summaries, survey.failed)
    names = outcome_names(book, survey) if outcomes else ["status"]
    variables = coordinates(size, survey.document_set) | summaries
    about = attributes(book) | attribute(survey.undivided)
    lay(where, about, variables, lambda root: _add_outcomes(root, book, size, survey, names))


def lay(
    where: Path | zarr.abc.store.Store,
    attributes: Mapping[str, Any],
    variables: Variables,
    more: Callable[[zarr.Group], None] | None = None,
) -> None:
    """Lay a store on the disk or in memory: variables, and what `more` adds to its group."""
    import zarr

    root = zarr.create_group(where, zarr_format=3, attributes={**attributes, SEAL: seal_of_attributes(attributes)})
    for name, (dims, array, about) in units.speaking(variables).items():
        _add(root, name, dims, array, about)
    if more is not None:
        more(root)
    _consolidate(where)


def look_through(book: Ledger, size: Grid, measures: Measures) -> Survey:
    """Go through all cells once: which outcomes they have, and what the measures say."""
    present: dict[str, list[Position]] = {"status": []}
    estimates: dict[Position, Computed] = {}
    laid: dict[str, Array] = {}
    room = MOST_LAID
    failed, same, sets = {}, {}, []
    for position, entry in size.entries.items():
        outcomes = gather(book.blocks(entry.cell), entry.config, size.outcomes)
        if not outcomes:
            continue
        estimates[position] = estimate(measures, outcomes, size.outcomes)
        failed[position] = float(np.mean(outcomes["status"] != OK))
        if (found := undivided(outcomes)) is not None:
            same[position] = found
        sets.append(spread(outcomes, "document_set", size, len(entry.systems)))
        for name in outcomes.keys() & size.outcomes.keys():
            present.setdefault(name, []).append(position)
            if name not in laid:
                room -= math.prod(size.shape) * width(size.outcomes[name], size.sizes)
            if room >= 0:
                lay_out(laid, name, position, outcomes, size)
            else:
                laid.clear()
    listed = {name: tuple(present[name]) for name in sorted(present)}
    return Survey(
        listed, _agreed(sets, size.sizes["replicate"], size.outcomes["document_set"]), estimates, failed, same, laid
    )


def _agreed(sets: Sequence[Array], replicates: int, outcome: Outcome) -> Array | None:
    """Return the document sets on which all cells agree that know them."""
    agreed = np.full(replicates, outcome.fill, outcome.dtype)
    for of_cell in sets:
        known = of_cell != outcome.fill
        if np.any(known & (agreed != outcome.fill) & (agreed != of_cell)):
            return None
        agreed = np.where(known, of_cell, agreed)
    return agreed


def attributes(book: Ledger) -> dict[str, Any]:
    """Say where a store comes from: the sweep, the config that its cells share, seed and versions."""
    declared = book.declaration() or {}
    *earlier, latest = book.provenance() or [{}]
    commits = [versions.get("commit", "") for versions in (*earlier, latest)]
    base = declared.pop("base")
    about = {
        "schema": SCHEMA,
        "sweep": json.dumps(declared),
        "config": json.dumps(base),
        "seed": base.get("seed"),
        "conditional": declared["worlds"] == 1,
        # Whether some numbers come from files of simlab that no commit holds.
        "dirty": any(commit.endswith(CHANGED) for commit in commits),
        # How xarray learns which variables are coordinates.
        "coordinates": " ".join((*_places(declared), "document_set", "pair_first", "pair_second", *NAMES_OF_PAIRS)),
    }
    if "reservation" in declared:
        about["reservation"] = declared["reservation"]
    return about | latest | ({"earlier_versions": json.dumps(earlier)} if earlier else {})


def _places(declared: Mapping[str, Any]) -> tuple[str, ...]:
    """Name what says where campaigns lie; with one pool of raters and one draw of documents nobody has to say so."""
    return IDENTITY if declared.keys() & set(CROSSED) else ("world", "study")


def outcome_names(book: Ledger, survey: Survey) -> list[str]:
    """List the outcomes that a store keeps: all, or the status only where the sweep keeps measures only."""
    if not (book.declaration() or {})["outcomes"]:
        return ["status"]
    return [name for name in survey.present if name != "document_set" or survey.document_set is None]


def _add_outcomes(root: zarr.Group, book: Ledger, size: Grid, survey: Survey, names: Sequence[str]) -> None:
    split = depth(size, names)
    arrays = {}
    for name in names:
        outcome = size.outcomes[name]
        about = _about_outcome(name, names, size, survey)
        dims = (*size.names, *outcome.dims)
        shape = (*size.shape, *(size.sizes[dim] for dim in outcome.dims))
        arrays[name] = _create(root, name, dims, shape, np.dtype(outcome.dtype), outcome.fill, about, split)
    small = split == 0 and set(names) <= survey.laid.keys()
    read = [((), survey.laid)] if small else slabs(book, size, names)
    for prefix, slab in read:
        for name in names:
            arrays[name][prefix] = slab[name]


def _about_outcome(name: str, names: Sequence[str], size: Grid, survey: Survey) -> dict[str, Any]:
    absent = [position for position in survey.failed if position not in survey.present[name]]
    about = {"label": size.outcomes[name].label} | ({"absent": absent} if absent else {})
    unit = units.of_outcome(name, names)
    if name == "estimate" and unit == "points" and not units.in_points([e.config for e in size.entries.values()]):
        unit = None
    return units.described(name, about, unit)


def _add(root: zarr.Group, name: str, dims: Sequence[str], array: Array, about: Mapping[str, Any]) -> None:
    fill: Any = {"f": float("nan"), "U": "", "b": False}.get(array.dtype.kind, 0)
    _create(root, name, dims, array.shape, array.dtype, fill, about, 0)[...] = array


def _create(
    root: zarr.Group,
    name: str,
    dims: Sequence[str],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    fill: Any,
    about: Mapping[str, Any],
    split: int,
) -> Any:
    """Create an array whose chunks hold one value of the first `split` axes, compressed and sealed by a checksum."""
    from zarr.codecs import Crc32cCodec, ZstdCodec

    return root.create_array(
        name,
        shape=shape,
        dtype=str if dtype.kind == "U" else dtype,
        chunks=_chunks(shape, split, dtype.itemsize),
        compressors=[ZstdCodec(level=3), Crc32cCodec()],
        dimension_names=dims,
        fill_value=fill,
        attributes=dict(about),
        # A chunk that is not there is then always a loss, never an economy.
        config={"write_empty_chunks": True},
    )


def _chunks(shape: tuple[int, ...], split: int, itemsize: int) -> tuple[int, ...]:
    chunks = [1] * split + [max(size, 1) for size in shape[split:]]
    # One cell may still be too large: then its replicates are split.
    if split < len(chunks):
        row = itemsize * int(np.prod(chunks[split + 1 :], dtype=np.int64))
        chunks[split] = max(1, min(chunks[split], CHUNK_BYTES // row))
    return tuple(chunks)


def _consolidate(where: Path | zarr.abc.store.Store) -> None:
    """Gather the metadata of all arrays at the root, where xarray looks for it."""
    import zarr
    from zarr.errors import ZarrUserWarning

    with warnings.catch_warnings():
        # Readers that do not know this extension of the format ignore it.
        warnings.filterwarnings("ignore", "Consolidated metadata", ZarrUserWarning)
        zarr.consolidate_metadata(where, zarr_format=3)
