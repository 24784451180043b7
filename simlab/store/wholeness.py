"""Check that a store is complete and undamaged before it is read: a lost chunk would look like one never filled.

Call `examine` with its files (`FilesOfFolder`, or those of an archive), which returns `Examined`: the attributes, the
metadata of arrays and a line for each problem. `CheckedStore` checks chunks as they are read.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import google_crc32c
from zarr.core.buffer.core import default_buffer_prototype
from zarr.storage import LocalStore

from simlab import files, schemas
from simlab.engine.ledger import FILE, STORE
from simlab.messages import clip
from simlab.types import InputError

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

_CHECKSUM = 4
_FRAME = bytes.fromhex("28b52ffd")
"""First bytes of a chunk that is compressed by zstd."""

SEAL = "seal"
METADATA = "zarr.json"
MOST_METADATA = 64 * 2**20
MOST_HELD = 4 * 2**30
"""Most bytes of a chunk, and of all arrays together that are read as a whole."""
MOST_BYTES = 2**40
"""Most bytes of an array of outcomes, which is read chunk by chunk."""
MOST_CHUNKS = 10**6
MOST_DIMENSIONS = 32

GONE = (
    f"its {FILE} is gone, so nothing can be mended: bring back a copy of the folder, or run the sweep again with "
    "another --out"
)
"""Remedy for a damaged store of studies without a ledger."""

_WIDTHS = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float32": 4, "float64": 8}
_WIDTHS |= {f"u{name}": width for name, width in _WIDTHS.items() if name.startswith("int")}
_TEXTS = "fixed_length_utf32"
_CODECS = ["bytes", "zstd", "crc32c"]


class Listing(NamedTuple):
    """Names of the folders and of the regular files in a folder."""

    folders: frozenset[str]
    files: frozenset[str]


class Files(Protocol):
    """Hand out the files of a store, by their names within it; `path` is where it lies."""

    @property
    def path(self) -> Path:
        """Return where the store lies."""

    def read(self, name: str) -> bytes:
        """Return what a file holds; raise InputError for what is no regular file of bounded size."""

    def is_link(self, name: str) -> bool:
        """True if a file or folder is a link."""

    def has(self, name: str) -> bool:
        """True if there is such a file."""

    def list(self, name: str) -> Listing:
        """List a folder; nothing lies in one that is not there."""


@dataclass(frozen=True, slots=True)
class FilesOfFolder:
    """Hand out the files of a store that is a folder."""

    path: Path

    def read(self, name: str) -> bytes:
        """Return what a file holds; raise InputError for what is no regular file of bounded size."""
        file = self.path / name
        return files.content(file, str(file), most=MOST_METADATA, remedy="it is no file of a store")

    def is_link(self, name: str) -> bool:
        """True if a file or folder is a link."""
        return (self.path / name).is_symlink()

    def has(self, name: str) -> bool:
        """True if there is such a file."""
        return (self.path / name).exists()

    def list(self, name: str) -> Listing:
        """List a folder, without links; a missing one is empty."""
        try:
            with os.scandir(self.path / name) as entries:
                children = list(entries)
        except OSError:
            children = []
        inner = frozenset(entry.name for entry in children if entry.is_dir(follow_symlinks=False))
        return Listing(inner, frozenset(entry.name for entry in children if entry.is_file(follow_symlinks=False)))


class CheckedStore(LocalStore):
    """Zarr store of a folder that raises InputError whenever a damaged chunk is read.

    `sizes` are the bytes of each array's chunks, unpacked.
    """

    sizes: Mapping[str, int] = MappingProxyType({})

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a file; None where there is no such metadata."""
        try:
            buffer = await super().get(key, prototype or default_buffer_prototype(), byte_range)
        except OSError as error:
            raise self._damage_error(key, files.reason(error)) from error
        if is_chunk(key) and (why := damage(buffer, self.sizes[key.partition("/")[0]])):
            raise self._damage_error(key, why)
        return buffer

    def _damage_error(self, key: str, why: str) -> InputError:
        return InputError(f"{clip(self.root / key)} is damaged ({why}); {remedy(self.root)}")


def is_chunk(key: str) -> bool:
    """True if a file of a store is a chunk of an array."""
    return "c" in key.split("/")[1:2]


def damage(chunk: Buffer | None, size: int) -> str | None:
    """Return how a chunk, of `size` bytes unpacked, is damaged; None where it is whole."""
    if chunk is None:
        return "it is lost"
    content = chunk.to_bytes()
    if google_crc32c.value(content[:-_CHECKSUM]).to_bytes(4, "little") != content[-_CHECKSUM:]:
        return "its checksum does not hold"
    # Whoever unpacks a frame takes as much memory as it says, or as it turns out to hold.
    return None if _unpacked_size(content) in (size, None) else "unpacked it has another size"


def _unpacked_size(content: bytes) -> int | None:
    """Return how many bytes a frame of zstd says that it holds, 0 where it says nothing; None for what is no frame.

    >>> _unpacked_size(bytes.fromhex("28b52ffd 20 05") + b"abcde")
    5
    """
    if not content.startswith(_FRAME):
        return None
    about = content[len(_FRAME)]
    single = about >> 5 & 1
    # Behind the descriptor: a window byte, which single segments lack, and a dictionary ID (RFC 8878, frame header).
    start = len(_FRAME) + 1 + (1 - single) + (0, 1, 2, 4)[about & 3]
    width = (single, 2, 4, 8)[about >> 6]
    # A size of two bytes counts from 256, since smaller ones fit into one (RFC 8878).
    return int.from_bytes(content[start : start + width], "little") + (256 if width == 2 else 0)


@dataclass(frozen=True, slots=True)
class Examined:
    """Result of a check of a store: its attributes, the metadata of readable arrays by name, and its `problems`.

    `lossy` are the names of arrays with lost chunks; these arrays are not read.
    """

    attributes: Mapping[str, Any]
    arrays: Mapping[str, Mapping[str, Any]]
    lossy: frozenset[str]
    problems: tuple[str, ...]

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each array's chunks, unpacked."""
        return {
            name: _count_bytes(about, about["chunk_grid"]["configuration"]["chunk_shape"])
            for name, about in self.arrays.items()
        }

    def held_bytes(self) -> int:
        """Count the bytes of the arrays that are read as a whole."""
        return sum(_count_bytes(about, about["shape"]) for about in self.arrays.values() if not _is_long(about))


def seal_attributes(attributes: Mapping[str, Any]) -> str:
    """Return the checksum of a store's attributes, which no chunk's checksum covers."""
    kept = {name: value for name, value in attributes.items() if name != SEAL}
    return blake2b(json.dumps(kept, sort_keys=True).encode(), digest_size=16).hexdigest()


def remedy(path: Path) -> str:
    """Return how to mend a damaged store: by writing it anew, for studies from their ledger."""
    if path.parent.is_file():
        return "export the archive again, from the folder of the store"
    file = path.parent / FILE
    mended = (file.exists() and file.stat().st_size) or _is_calculation(path)
    return "run the same command again to lay it anew" if mended else GONE


def _is_calculation(path: Path) -> bool:
    """True if the attributes of a store name a calculation; without attributes it may be one of studies."""
    try:
        return "calculation" in json.loads(_read_json(FilesOfFolder(path), METADATA)["attributes"]["sweep"])
    except (InputError, ValueError, KeyError, TypeError, RecursionError):
        return False


def refuse_damaged(path: Path, examined: Examined) -> None:
    """Raise InputError where something of a store is lost or damaged."""
    if not examined.problems:
        return
    first, *more = examined.problems
    others = f" (and {len(more)} more)" if more else ""
    where = clip(path.parent)
    raise InputError(f"{where}: {clip(first)}{others}; {remedy(path)}")


def examine(files: Files) -> Examined:
    """Check all of a store but the contents of its chunks.

    Raises InputError where there is no store, and for one of another schema.
    """
    root = _root(files)
    attributes = root["attributes"]
    sealed = attributes.get(SEAL) == seal_attributes(attributes)
    problems = [] if sealed else [f"{STORE}: its attributes are damaged"]
    gathered = root.get("consolidated_metadata")
    gathered = gathered.get("metadata") if isinstance(gathered, dict) else None
    folders = files.list("").folders
    if not isinstance(gathered, dict) or not gathered:
        problems.append(f"{STORE}: the metadata of its arrays, gathered at the root, are lost")
        gathered = dict(_read_own(files, folders))
    readable, lossy = {}, set()
    for name, about in sorted(gathered.items()):
        wrong = _wrong_array(files, name, about)
        problems += [f"{STORE}/{wrong}"] if wrong else []
        if wrong is None and (lost := _list_lost(files, name, about)):
            lossy.add(name)
            problems += [f"{STORE}/{name}/{chunk} is lost" for chunk in lost]
        elif wrong is None:
            readable[name] = about
    strangers = sorted(folders - gathered.keys())
    problems += [f"{STORE}/{name}: its metadata are not those at the root" for name in strangers]
    return Examined(attributes, readable, frozenset(lossy), tuple(problems))


def _root(files: Files) -> dict[str, Any]:
    where = clip(files.path)
    try:
        root = _read_json(files, METADATA)
        about = root["attributes"]
        if type(about["schema"]) is not int:
            raise TypeError("the schema is no number")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{where} is damaged or no store of simlab; {remedy(files.path)}") from error
    schemas.refuse_other(where, "a store", about["schema"], schemas.STORE, about.get("simlab"))
    return dict(root)


def _read_json(files: Files, name: str) -> Any:
    """Read a file of metadata; raise InputError for what is no regular file of bounded size, ValueError for others."""
    return json.loads(files.read(name).decode("utf-8"))


def _wrong_array(files: Files, name: str, about: Any) -> str | None:
    """State why an array cannot be read, or may not be."""
    if not name or "/" in name or "\\" in name or name in (".", "..", "c") or not name.isprintable():
        return f"{clip(name, 80)}: that is no name of an array"
    metadata = f"{name}/{METADATA}"
    if files.is_link(name) or files.is_link(metadata):
        return f"{name}: is a link, which no store has"
    try:
        own = _read_json(files, metadata)
    except (InputError, ValueError, RecursionError):
        return f"{name}: its metadata are {'damaged' if files.has(metadata) else 'lost'}"
    if own != about:
        return f"{name}: its metadata are not those at the root"
    try:
        return f"{name}: {why}" if (why := _describe_fault(about)) else None
    except (KeyError, TypeError, ValueError):
        return f"{name}: its metadata are not those of an array that simlab lays"


def _describe_fault(about: Mapping[str, Any]) -> str | None:
    """Return why simlab lays no such array, None where it may.

    Raises KeyError, TypeError or ValueError for other metadata.
    """
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
        return f"arrays of {clip(kind, 60)} are not read"
    if codecs != _CODECS:
        return f"what is packed by {clip(', '.join(map(str, codecs)), 60)} is not read"
    most = MOST_BYTES if _is_long(about) else MOST_HELD
    if width * math.prod(shape) > most:
        return f"it says that it takes more than {most / 2**30:,.0f} GiB"
    if width * math.prod(chunks) > MOST_HELD:
        return f"it says that a chunk takes more than {MOST_HELD / 2**30:,.0f} GiB"
    too_many = math.prod(_counts(about)) > MOST_CHUNKS
    return f"it says that it has more than {MOST_CHUNKS:,} chunks" if too_many else None


def _is_long(about: Mapping[str, Any]) -> bool:
    """True if an array holds outcomes, which are read chunk by chunk."""
    return not {"replicate", "of_world"}.isdisjoint(about.get("dimension_names") or ())


def _count_bytes(about: Mapping[str, Any], shape: Sequence[int]) -> int:
    """Return the bytes of so many values of an array."""
    return (_width(about["data_type"]) or 0) * math.prod(shape)


def _width(kind: Any) -> int | None:
    """Return the bytes of a value of a type; None for a type that no store has."""
    if isinstance(kind, str):
        return _WIDTHS.get(kind)
    width = kind["configuration"]["length_bytes"] if kind["name"] == _TEXTS else None
    return width if type(width) is int and width > 0 else None


def _counts(about: Mapping[str, Any]) -> list[int]:
    chunks = about["chunk_grid"]["configuration"]["chunk_shape"]
    return [-(-size // chunk) for size, chunk in zip(about["shape"], chunks, strict=True)]


def _list_lost(files: Files, name: str, about: Mapping[str, Any]) -> list[str]:
    """List the chunks of an array that are not there as regular files."""
    counts = _counts(about)
    if not counts:
        return [] if "c" in files.list(name).files else ["c"]
    there = _list_regular(files, f"{name}/c", depth=len(counts) - 1)
    wanted = ("/".join(place) for place in itertools.product(*([str(k) for k in range(n)] for n in counts)))
    return [f"c/{place}" for place in wanted if place not in there]


def _list_regular(files: Files, folder: str, depth: int) -> set[str]:
    """Name the regular files so many folders below one."""
    inner, there = files.list(folder)
    if depth == 0:
        return set(there)
    return {f"{name}/{file}" for name in inner for file in _list_regular(files, f"{folder}/{name}", depth - 1)}


def _read_own(files: Files, folders: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Gather the arrays' own metadata, where they can be read."""
    for name in folders:
        with suppress(InputError, ValueError, RecursionError):
            yield name, _read_json(files, f"{name}/{METADATA}")
