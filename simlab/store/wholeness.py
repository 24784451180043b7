"""Tell whether a store is whole before anything is read from it: a lost chunk would look like one never filled."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import google_crc32c
from zarr.core.buffer.core import default_buffer_prototype
from zarr.storage import LocalStore

from simlab import files, schemas
from simlab.engine.ledger import FILE, STORE
from simlab.messages import legible
from simlab.types import InputError

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

_CHECKSUM = 4

SEAL = "seal"
METADATA = "zarr.json"
MOST_METADATA = 64 * 2**20
MOST_HELD = 4 * 2**30
"""Chunks, and what readers take as a whole, are no larger, [bytes]."""
MOST_BYTES = 2**40
"""Outcomes, which are read chunk by chunk, are no larger."""
MOST_CHUNKS = 10**6
MOST_DIMENSIONS = 32

GONE = (
    f"its {FILE} is gone, so nothing can be mended: bring back a copy of the folder, or run the sweep again with "
    "another --out"
)
"""What is said of a store of studies that nobody can lay anew."""

_WIDTHS = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float32": 4, "float64": 8}
_WIDTHS |= {f"u{name}": width for name, width in _WIDTHS.items() if name.startswith("int")}
_TEXTS = "fixed_length_utf32"
_CODECS = frozenset(["bytes", "zstd", "crc32c"])


class CheckedStore(LocalStore):
    """Hand out what the files of a store hold; raise InputError, whenever that is read, for a damaged chunk."""

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a file; None where there is no such metadata."""
        try:
            held = await super().get(key, prototype or default_buffer_prototype(), byte_range)
        except OSError as error:
            raise self._damaged(key, files.reason(error)) from error
        if "c" not in key.split("/")[1:2]:
            return held
        if held is None:
            raise self._damaged(key, "it is lost")
        content = held.to_bytes()
        if google_crc32c.value(content[:-_CHECKSUM]).to_bytes(4, "little") != content[-_CHECKSUM:]:
            raise self._damaged(key, "its checksum does not hold")
        return held

    def _damaged(self, key: str, why: str) -> InputError:
        return InputError(f"{legible(self.root / key)} is damaged ({why}); {remedy(self.root)}")


@dataclass(frozen=True, slots=True)
class Examined:
    """Hold what a store says of itself: its attributes, the metadata of arrays that can be read, what is damaged.

    `lossy` are arrays of which chunks are lost; something that is no file may stand in their place, so nobody reads it.
    """

    attributes: Mapping[str, Any]
    arrays: Mapping[str, Mapping[str, Any]]
    lossy: frozenset[str]
    problems: tuple[str, ...]


def attributes_seal(attributes: Mapping[str, Any]) -> str:
    """Seal the attributes of a store, which no chunk's checksum covers."""
    kept = {name: value for name, value in attributes.items() if name != SEAL}
    return blake2b(json.dumps(kept, sort_keys=True).encode(), digest_size=16).hexdigest()


def remedy(path: Path) -> str:
    """Say how a damaged store is mended: it is laid anew, where studies were run from their ledger."""
    file = path.parent / FILE
    mended = (file.exists() and file.stat().st_size) or _is_calculation(path)
    return "run the same command again to lay it anew" if mended else GONE


def _is_calculation(path: Path) -> bool:
    """Tell whether a store says that it holds a calculation; one that says nothing any more may be one of studies."""
    try:
        return "calculation" in json.loads(_json(path / METADATA)["attributes"]["sweep"])
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        return False


def refuse_damaged(path: Path, examined: Examined) -> None:
    """Raise InputError where something of a store is lost or damaged."""
    if not examined.problems:
        return
    first, *more = examined.problems
    others = f" (and {len(more)} more)" if more else ""
    where = legible(path.parent)
    raise InputError(f"{where}: {legible(first)}{others}; {remedy(path)}")


def examine(path: Path) -> Examined:
    """Look at all of a store but the content of its chunks, each folder once.

    Raises InputError where there is nothing that can be taken for a store, and for one of another schema.
    """
    root = _root(path)
    attributes = root["attributes"]
    sealed = attributes.get(SEAL) == attributes_seal(attributes)
    problems = [] if sealed else [f"{STORE}: its attributes are damaged"]
    gathered = root.get("consolidated_metadata")
    gathered = gathered.get("metadata") if isinstance(gathered, dict) else None
    if not isinstance(gathered, dict) or not gathered:
        problems.append(f"{STORE}: the metadata of its arrays, gathered at the root, are lost")
        gathered = dict(_own(path))
    readable, lossy = {}, set()
    for name, about in sorted(gathered.items()):
        wrong = _wrong_array(path, name, about)
        problems += [f"{STORE}/{wrong}"] if wrong else []
        if wrong is None and (lost := _lost(path / name, about)):
            lossy.add(name)
            problems += [f"{STORE}/{name}/{chunk} is lost" for chunk in lost]
        elif wrong is None:
            readable[name] = about
    strangers = sorted(entry for entry in _folders(path) if entry not in gathered)
    problems += [f"{STORE}/{name}: its metadata are not those at the root" for name in strangers]
    return Examined(attributes, readable, frozenset(lossy), tuple(problems))


def _root(path: Path) -> dict[str, Any]:
    try:
        root = _json(path / METADATA)
        about = root["attributes"]
        if type(about["schema"]) is not int:
            raise TypeError("the schema is no number")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{legible(path)} is damaged or no store of simlab; {remedy(path)}") from error
    schemas.refuse_other(legible(path), "a store", about["schema"], schemas.STORE, about.get("simlab"))
    return dict(root)


def _json(file: Path) -> Any:
    """Read a file of metadata; raise InputError for what is no regular file of bounded size, ValueError for others."""
    held = files.content(file, str(file), most=MOST_METADATA, remedy="it is no file of a store")
    return json.loads(held.decode("utf-8"))


def _wrong_array(path: Path, name: str, about: Any) -> str | None:
    """Say why an array cannot be read, or may not be."""
    if not name or "/" in name or "\\" in name or name in (".", "..", "c") or not name.isprintable():
        return f"{legible(name, 80)}: that is no name of an array"
    folder = path / name
    if folder.is_symlink() or (folder / METADATA).is_symlink():
        return f"{name}: is a link, which no store has"
    try:
        own = _json(folder / METADATA)
    except (InputError, ValueError, RecursionError):
        return f"{name}: its metadata are {'damaged' if (folder / METADATA).exists() else 'lost'}"
    if own != about:
        return f"{name}: its metadata are not those at the root"
    try:
        return f"{name}: {why}" if (why := _strange(about)) else None
    except (KeyError, TypeError, ValueError):
        return f"{name}: its metadata are not those of an array that simlab lays"


def _strange(about: Mapping[str, Any]) -> str | None:
    """Say in what an array is none that simlab lays; raises KeyError, TypeError or ValueError for other metadata."""
    shape, chunks = about["shape"], about["chunk_grid"]["configuration"]["chunk_shape"]
    sizes = [*shape, *chunks]
    if about["node_type"] != "array" or about["zarr_format"] != 3 or len(shape) != len(chunks):
        raise ValueError(about["node_type"])
    if len(shape) > MOST_DIMENSIONS or not all(type(size) is int and size >= 0 for size in sizes) or 0 in chunks:
        raise ValueError(sizes)
    if about["chunk_grid"]["name"] != "regular" or about.get("storage_transformers"):
        raise ValueError(about["chunk_grid"])
    kind, codecs = about["data_type"], [codec["name"] for codec in about["codecs"]]
    if (width := _width(kind)) is None:
        return f"arrays of {legible(kind, 60)} are not read"
    if not _CODECS.issuperset(codecs):
        return f"what is packed by {legible(', '.join(map(str, codecs)), 60)} is not read"
    long = {"replicate", "of_world"} & set(about.get("dimension_names") or ())
    most = MOST_BYTES if long else MOST_HELD
    if width * math.prod(shape) > most:
        return f"it says that it takes more than {most / 2**30:,.0f} GiB"
    if width * math.prod(chunks) > MOST_HELD:
        return f"it says that a chunk takes more than {MOST_HELD / 2**30:,.0f} GiB"
    too_many = math.prod(_counts(about)) > MOST_CHUNKS
    return f"it says that it has more than {MOST_CHUNKS:,} chunks" if too_many else None


def _width(kind: Any) -> int | None:
    """Return the bytes of a value of a type; None for a type that no store has."""
    if isinstance(kind, str):
        return _WIDTHS.get(kind)
    width = kind["configuration"]["length_bytes"] if kind["name"] == _TEXTS else None
    return width if type(width) is int and width > 0 else None


def _counts(about: Mapping[str, Any]) -> list[int]:
    chunks = about["chunk_grid"]["configuration"]["chunk_shape"]
    return [-(-size // chunk) for size, chunk in zip(about["shape"], chunks, strict=True)]


def _lost(folder: Path, about: Mapping[str, Any]) -> list[str]:
    """List the chunks of an array that are not there as regular files."""
    counts = _counts(about)
    if not counts:
        return [] if "c" in _regular(folder, depth=0) else ["c"]
    there = _regular(folder / "c", depth=len(counts) - 1)
    wanted = ("/".join(place) for place in itertools.product(*([str(k) for k in range(n)] for n in counts)))
    return [f"c/{place}" for place in wanted if place not in there]


def _regular(folder: Path, depth: int) -> set[str]:
    """Name the regular files so many folders below one; links are nothing that a store has."""
    try:
        with os.scandir(folder) as entries:
            if depth == 0:
                return {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
            inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return set()
    return {f"{name}/{file}" for name in inner for file in _regular(folder / name, depth - 1)}


def _own(path: Path) -> Iterator[tuple[str, Any]]:
    """Gather the arrays' own metadata, where they can be read."""
    for name in _folders(path):
        with suppress(InputError, ValueError, RecursionError):
            yield name, _json(path / name / METADATA)


def _folders(path: Path) -> Iterator[str]:
    with os.scandir(path) as entries:
        yield from (entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
