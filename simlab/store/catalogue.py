"""List the stores that lie in a folder, from their attributes and their ledgers: no chunk is read.

`find_stores` yields folders, `describe_store` their entries, and `keep_matching` those with certain settings.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simlab import schemas
from simlab.answers.show import StoredSweep
from simlab.engine import ledger
from simlab.engine.ledger import FILE, is_archive
from simlab.messages import clip, flatten, order_naturally, suggest, word
from simlab.store import readme
from simlab.store.archive import VERSIONS, reading
from simlab.store.folder import disk_bytes, store_in
from simlab.store.measures import LARGEST_ERROR
from simlab.store.wholeness import METADATA, Files, FilesOfFolder
from simlab.store.world_draws import DRAWN
from simlab.types import InputError

DEPTH = 4
"""Levels of folders in which stores are looked for."""
PATIENCE = 0.1
OPENING = '"attributes": '
TARGET = "._target_"
NO_STORE = "it is no store of simlab, or a damaged one; `simlab verify` says more"
UNKNOWN: Mapping[str, Any] = {
    **dict.fromkeys(("sweep", "question", "measure", "simlab", "commit", "command", "adapted"), ""),
    **dict.fromkeys(("done", "asked", "bytes"), 0),
    **{"axes": {}, "drawn": {}, "mcse": math.nan, "dirty": False},
}
"""Fields of the entry of a store that cannot be read."""


class Catalogued(NamedTuple):
    """Entry of a store, and its settings: each key in full, with the values that cells of it have."""

    entry: StoredSweep
    settings: Mapping[str, Sequence[Any]]


def find_stores(folder: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Yield the folders of stores in a folder, itself one of them, in natural order; links are not followed.

    An archive is a store, too; those that lie in folders are not opened.
    """
    if is_archive(folder) or store_in(folder) is not None or (folder / FILE).is_file():
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for name in sorted(inner, key=order_naturally) if depth else ():
        if not name.startswith("."):
            yield from find_stores(folder / name, depth - 1)


def describe_store(folder: Path) -> Catalogued:
    """Return the entry and settings of a store; `entry.problem` says why one cannot be read."""
    try:
        return _describe(folder)
    except InputError as error:
        unread = StoredSweep(**{**UNKNOWN, "store": clip(folder, 200), "problem": clip(error, 300)})
        return Catalogued(unread, {})


def keep_matching(stores: Sequence[Catalogued], wanted: Mapping[str, Sequence[str]], where: str) -> list[Catalogued]:
    """Keep the stores with cells that have one of the `wanted` values of each key; its last part may stand for a key.

    Raises InputError for a key that no store has, and where no store is left.
    """
    for key, values in wanted.items():
        of_each = [_list_values(store.settings, key) for store in stores]
        if not any(of_each):
            keys = dict.fromkeys(known for store in stores for known in store.settings)
            raise InputError(f"{where}: no store in it has the setting {clip(key)}; {suggest(key, keys)}")
        left = [store for store, has in zip(stores, of_each, strict=True) if has & set(values)]
        if not left:
            there = ", ".join(sorted(set().union(*of_each), key=order_naturally))
            named = clip(",".join(values))
            raise InputError(f"{where}: no store in it has {clip(key)}={named}; {key} is {clip(there)}")
        stores = left
    return list(stores)


def _list_values(settings: Mapping[str, Sequence[Any]], key: str) -> set[str]:
    """Return the values that cells of a store have of a key, as they are typed."""
    return {
        word(value)
        for known, values in settings.items()
        if known == key or known.endswith(f".{key}")
        for value in values
    }


class _StoreReading(NamedTuple):
    """Content of a store: its attributes, or the declaration of one that is not laid yet, and how far it is.

    `n_requested` is None where nothing says how many of the grid's cells are.
    """

    about: Mapping[str, Any]
    declared: Mapping[str, Any]
    done: int
    n_requested: int | None
    bytes: int


def _describe(folder: Path) -> Catalogued:
    read = _read_archive(folder) if is_archive(folder) else _read_folder(folder)
    about = read.about
    try:
        declared = json.loads(about["sweep"]) if read.declared is about else read.declared
        config = json.loads(about["config"]) if read.declared is about else declared["base"]
        axes = {str(axis["name"]): tuple(axis["values"]) for axis in declared["axes"]}
        n_requested = math.prod(map(len, axes.values())) if read.n_requested is None else read.n_requested
        settings = {key.removesuffix(TARGET): (_shorten(key, value),) for key, value in flatten(config)}
        named = {str(axis["key"]): axis["values"] for axis in declared["axes"]}
        entry = StoredSweep(
            store=str(folder),
            sweep=declared["name"],
            question=declared["aim"].partition("\n")[0],
            axes=axes,
            drawn=json.loads(about.get(DRAWN, "{}")),
            done=n_requested if "calculation" in declared else read.done,
            asked=n_requested,
            measure=next(iter(declared["measures"]), ""),
            mcse=about.get(LARGEST_ERROR, math.nan),
            simlab=str(about.get("simlab", "")),
            commit=str(about.get("commit", "")),
            dirty=bool(about.get("dirty", 0)),
            bytes=read.bytes,
            command=readme.read_command(folder),
            adapted=str(declared.get("adapted", "")),
            problem=None,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{clip(folder)}: {NO_STORE}") from error
    return Catalogued(entry, {**settings, **named, **axes, "sweep": (declared["name"],)})


def _read_folder(folder: Path) -> _StoreReading:
    """Read the attributes of a store, or what its ledger declares, and what the ledger says of it."""
    path = store_in(folder)
    about = {} if path is None else _attributes(FilesOfFolder(path))
    if not (folder / FILE).is_file():
        return _StoreReading(about, about, 0, None, disk_bytes(folder))
    with ledger.reading(folder, PATIENCE) as book:
        declared = about if path is not None else book.declaration() or {}
        wanted = book.read_requested_sizes().campaigns()
        size = _measure_size(folder, book.read_note("bytes"))
        kept = about or (book.provenance() or [{}])[-1]
        return _StoreReading(kept, declared, _count_done(book, wanted), len(wanted), size)


def _read_archive(file: Path) -> _StoreReading:
    """Read the attributes of the store in an archive, and what it says of how far that was filled."""
    with reading(file) as archive:
        about = _attributes(archive)
        try:
            cells = json.loads(archive.read(VERSIONS))["cells"]
            done, n_requested = (int(cells[name]) for name in ("done", "asked"))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{clip(file)}: {NO_STORE}") from error
    return _StoreReading(about, about, done, n_requested, file.stat().st_size)


def _shorten(key: str, value: Any) -> Any:
    """Name the option of a part by its function."""
    return str(value).rpartition(".")[2] if key.endswith(TARGET) else value


def _attributes(files: Files) -> Mapping[str, Any]:
    """Read the attributes of a store; raises InputError for what is no store, and for one of another schema."""
    path = files.path
    try:
        text = files.read(METADATA).decode("utf-8")
        # What follows are the metadata of all arrays, which are long.
        about: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index(OPENING) + len(OPENING))[0]
        schemas.refuse_other(clip(path), "a store", about["schema"], schemas.STORE, about.get("simlab"))
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{clip(path)}: {NO_STORE}") from error
    return about


def _count_done(book: ledger.Ledger, wanted: Mapping[str, int]) -> int:
    """Count the cells of which all campaigns are there that were asked."""
    counts: dict[str, int] = {}
    for (cell, _), count in book.campaigns().items():
        counts[cell] = counts.get(cell, 0) + count
    return sum(counts.get(cell, 0) >= count for cell, count in wanted.items())


def _measure_size(folder: Path, noted: object) -> int:
    """Count the bytes of a folder; those of a store were noted when it was laid."""
    if type(noted) is not int:
        return disk_bytes(folder)
    with os.scandir(folder) as entries:
        return noted + sum(e.stat(follow_symlinks=False).st_size for e in entries if e.is_file(follow_symlinks=False))
