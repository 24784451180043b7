"""Write a store into one ZIP file, and read stores from ZIP files without unpacking them to the disk.

The store lies at the root of the file, so that zarr and xarray open it without simlab; readers of Zarr ignore the files
beside it. `write` makes an archive, with the texts of `describe` beside the store; `reading` opens one.
"""

from __future__ import annotations

import json
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from zarr.core.buffer.core import default_buffer_prototype
from zarr.storage import ZipStore

from simlab import files
from simlab.answers.show import StoredSweep
from simlab.config.groups import folder as shipped
from simlab.config.sweepwriting import write_calculation
from simlab.engine import ledger
from simlab.engine.ledger import FILE, STORE
from simlab.engine.provenance import provenance
from simlab.messages import clip
from simlab.store import readme
from simlab.store.measures import Labels
from simlab.store.readme import PAGE
from simlab.store.wholeness import METADATA, MOST_HELD, MOST_METADATA, Examined, Listing, damage, is_chunk, remedy
from simlab.types import InputError

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

SWEEP, VERSIONS, CITATION = "sweep.yaml", "versions.json", "CITATION.cff"
BESIDE = (PAGE, SWEEP, VERSIONS, CITATION)
"""The files of an archive beside its store."""
_SAID = {
    SWEEP: "the sweep: `simlab sweep sweep.yaml` runs it",
    VERSIONS: "the versions that its numbers depend on, and how far it was filled",
    CITATION: "how simlab is cited",
}
MOST_FILES = 2 * 10**6
MOST_TIMES = 200
"""Most bytes of an archive's files, unpacked, as a multiple of those of the archive."""
_ALWAYS = (1980, 1, 1, 0, 0, 0)
"""Time of writing that each file is given, so that the same store gives the same bytes."""
_NO_ARCHIVE = "it is no archive of simlab; name one that `simlab export DIR --as archive` wrote"
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)
"""Errors of zipfile for files that it does not understand."""
_AGAIN = "export the archive again"


def write(file: Path, store: Path, beside: Mapping[str, str]) -> None:
    """Write an archive of the folder `store` and the texts `beside` it, by file name; its bytes are repeatable."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in beside.items():
            _add(archive, name, text.encode(), zipfile.ZIP_DEFLATED)
        for path in sorted(store.rglob("*"), key=lambda path: path.relative_to(store).parts):
            name = path.relative_to(store).as_posix()
            if path.is_file():
                # Chunks are packed already.
                packing = zipfile.ZIP_STORED if is_chunk(name) else zipfile.ZIP_DEFLATED
                _add(archive, name, path.read_bytes(), packing)


def describe(about: Mapping[str, Any], folder: Path, stored: StoredSweep, labels: Labels) -> dict[str, str]:
    """Return the texts beside a store, by file name, which replace the ledger for readers of an archive.

    `about` are the attributes of the store, which lies in `folder`; `stored` is its entry in the catalogue.
    The sweep file is that of the ledger; a calculation, which has none, is written from what its store declares.
    """
    declared = {**json.loads(about["sweep"]), "base": json.loads(about["config"])}
    latest = {name: about[name] for name in provenance() if name in about}
    versions = {
        "schema": about["schema"],
        "cells": {"done": stored.done, "asked": stored.asked},
        "versions": [*json.loads(about.get("earlier_versions", "[]")), latest],
    }
    beside = {VERSIONS: json.dumps(versions, indent=1) + "\n"}
    if "calculation" in declared:
        beside |= {SWEEP: made} if (made := write_calculation(declared)) else {}
    elif (folder / FILE).is_file():
        with ledger.reading(folder) as book:
            beside |= {SWEEP: kept} if (kept := book.read_note("file")) else {}
    beside[CITATION] = shipped(CITATION).read_text(encoding="utf-8")
    listed = [(name, text) for name, text in _SAID.items() if name in beside]
    return {PAGE: readme.describe_archive(declared, labels, stored.command, stored.asked, listed)} | beside


def _add(archive: zipfile.ZipFile, name: str, content: bytes, packing: int) -> None:
    about = zipfile.ZipInfo(name, _ALWAYS)
    # Written as by Unix anywhere: ZipInfo would name the system that it runs on, and the bytes would differ.
    about.create_system, about.external_attr = 3, (stat.S_IFREG | 0o644) << 16
    archive.writestr(about, content, packing)


class FilesOfArchive:
    """Hand out the files of the store in an open archive."""

    def __init__(self, archive: zipfile.ZipFile, file: Path, names: Sequence[str]) -> None:
        """Take an archive whose files have these names."""
        self._archive, self._file, self.path = archive, file, file / STORE
        inner: dict[str, tuple[set[str], set[str]]] = {}
        for name in names:
            parts = name.split("/")
            for depth, part in enumerate(parts):
                of_folder = inner.setdefault("/".join(parts[:depth]), (set(), set()))
                of_folder[depth == len(parts) - 1].add(part)
        self._listed = {name: Listing(frozenset(of[0]), frozenset(of[1])) for name, of in inner.items()}

    def read(self, name: str) -> bytes:
        """Return the bytes of a file; raise InputError for one that is missing, damaged or larger than metadata."""
        where = f"{clip(self._file)}: {clip(name, 80)}"
        try:
            about = self._archive.getinfo(name)
            too_large = about.file_size > MOST_METADATA
            content = b"" if too_large else self._archive.read(about)
        except (KeyError, OSError, *_BROKEN) as error:
            raise InputError(f"{where} is lost or damaged; {_AGAIN}") from error
        if too_large:
            raise InputError(f"{where} takes more than {MOST_METADATA >> 20} MiB; {_NO_ARCHIVE}")
        return content

    def is_link(self, name: str) -> bool:
        """True if a file is a link: archives with such are refused."""
        return False

    def has(self, name: str) -> bool:
        """True if there is such a file."""
        folder, _, last = name.rpartition("/")
        return last in self.list(folder).files

    def list(self, name: str) -> Listing:
        """List a folder; a missing one is empty."""
        return self._listed.get(name, Listing(frozenset(), frozenset()))


@contextmanager
def reading(file: Path) -> Iterator[FilesOfArchive]:
    """Open an archive, after checks of its list of files, and yield its files.

    Raises InputError for what is no archive of simlab, and for one that is damaged or takes too much unpacked.
    """
    try:
        archive = zipfile.ZipFile(file)
    except OSError as error:
        raise InputError(f"{clip(file)} cannot be read ({files.reason(error)})") from error
    except _BROKEN as error:
        raise InputError(f"{clip(file)} is no zip file, or a broken one; get it again") from error
    with archive:
        yield FilesOfArchive(archive, file, _names(archive, file))


def _names(archive: zipfile.ZipFile, file: Path) -> list[str]:
    """Name the files of an archive; raise InputError for one that simlab has not written."""
    where, entries = clip(file), archive.infolist()
    if len(entries) > MOST_FILES:
        raise InputError(f"{where} holds more than {MOST_FILES:,} files; {_NO_ARCHIVE}")
    # A small archive can claim to unpack to any size; this is looked at before anything is unpacked.
    if sum(entry.file_size for entry in entries) > max(MOST_TIMES * file.stat().st_size, 2**20):
        raise InputError(f"{where} takes more than {MOST_TIMES} times as much unpacked; {_NO_ARCHIVE}")
    for entry in entries:
        if wrong := _describe_fault(entry):
            raise InputError(f"{where}: {clip(entry.filename, 80)} {wrong}; {_NO_ARCHIVE}")
    names = [entry.filename for entry in entries if not entry.is_dir()]
    if len(set(names)) < len(names):
        raise InputError(f"{where} holds two files of one name; {_NO_ARCHIVE}")
    if METADATA not in names:
        raise InputError(f"{where} holds no {METADATA}; {_NO_ARCHIVE}")
    return names


def _describe_fault(entry: zipfile.ZipInfo) -> str | None:
    """State why no archive of simlab has such a file; None where one may have it."""
    parts = entry.filename.rstrip("/").split("/")
    if len(parts) == 1 and not entry.is_dir() and parts[0] not in (METADATA, *BESIDE):
        return "is none of its files"
    if not all(part and part not in (".", "..") and part.isprintable() and "\\" not in part for part in parts):
        return "is no name of a file in a store"
    if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is locked, or packed in another way"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is no regular file"
    return None


def refuse_large(file: Path, examined: Examined) -> None:
    """Raise InputError where the arrays that are read as a whole are too large together, by their metadata."""
    if (n_bytes := examined.held_bytes()) > MOST_HELD:
        raise InputError(
            f"{clip(file)}: its arrays say that they take {n_bytes / 2**30:,.0f} GiB, and no more than "
            f"{MOST_HELD >> 30} GiB are read from an archive; ask for the folder"
        )


class CheckedArchive(ZipStore):
    """Zarr store of an archive that raises InputError whenever a damaged chunk is read.

    `sizes` are the bytes of each array's chunks, unpacked.
    """

    sizes: Mapping[str, int] = MappingProxyType({})

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a file; None where there is no such metadata."""
        try:
            buffer = await super().get(key, prototype or default_buffer_prototype(), byte_range)
        except (OSError, *_BROKEN) as error:
            raise self._damage_error(key, "it cannot be read") from error
        if is_chunk(key) and (why := damage(buffer, self.sizes[key.partition("/")[0]])):
            raise self._damage_error(key, why)
        return buffer

    def _damage_error(self, key: str, why: str) -> InputError:
        return InputError(f"{clip(self.path / key)} is damaged ({why}); {remedy(self.path / STORE)}")
