"""Find the valid store in the folder of a sweep, and put a new store in its place.

`valid_store` returns the store of a folder; a new one is laid at `NEW` within `guard_store`, and `take_place` renames
it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from simlab import files
from simlab.engine.ledger import FILE, STORE
from simlab.messages import clip
from simlab.types import InputError

NEW, OLD = f"{STORE}.new", f"{STORE}.old"
OUTPUTS = Path("outputs")
LAST = ".last"
_MOST_LAST = 2**16


@contextmanager
def guard_store(folder: Path, kept: str = "finished blocks are kept") -> Iterator[None]:
    """Raise InputError, naming the folder and what is needed, where the disk does not take a store.

    The old store, if there is one, stays; the unfinished new one is deleted, for its space. `kept` is a remark of the
    error on what is not lost.
    """
    try:
        yield
    except OSError as error:
        shutil.rmtree(folder / NEW, ignore_errors=True)
        with suppress(OSError):
            settle(folder)
        raise InputError(
            f"{folder / STORE}: cannot be written ({files.reason(error)}); {files.describe_need(error)} and run the "
            f"same command again: {kept}"
        ) from error


def settle(folder: Path) -> None:
    """Delete the leftovers of a killed run, and bring back a store that it had put aside."""
    shutil.rmtree(folder / NEW, ignore_errors=True)
    if (folder / OLD).exists() and not (folder / STORE).exists():
        (folder / OLD).rename(folder / STORE)
    shutil.rmtree(folder / OLD, ignore_errors=True)


def take_place(folder: Path) -> None:
    """Let the new store take the place of the old one; at any moment one of the two is there, whole."""
    _flush(folder / NEW)
    if (folder / STORE).exists():
        (folder / STORE).rename(folder / OLD)
    (folder / NEW).rename(folder / STORE)
    # A rename is on the disk once the folder that it happened in is.
    _sync(folder)
    shutil.rmtree(folder / OLD, ignore_errors=True)


def valid_store(folder: Path) -> Path:
    """Return the path of the store in a folder; raise InputError where there is none."""
    if (path := store_in(folder)) is not None:
        return path
    if (folder / FILE).is_file():
        raise InputError(f"{folder} has no {STORE} yet: its run was interrupted; the same command continues it")
    raise InputError(f"{folder} holds no results; name the folder of a sweep that was run")


def store_in(folder: Path) -> Path | None:
    """Return the path of the store in a folder, None where there is none (yet)."""
    return next((folder / name for name in (STORE, OLD) if (folder / name / "zarr.json").is_file()), None)


def remember_last(folder: Path, root: Path = OUTPUTS) -> list[str]:
    """Remember in `root` which store was run last; return a line for the user if that failed, else none.

    The run itself is complete then, so nothing is raised.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        # Renaming replaces whatever bears the name, be it a pipe that nobody reads.
        part = root / f"{LAST}.{os.getpid()}"
        with part.open("x", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{folder.absolute()}\n")
        _replace(part, root / LAST)
    except OSError as error:
        return [f"not remembered as the last store ({clip(root / LAST)}: {files.reason(error)}); name it by its folder"]
    return []


def _replace(part: Path, file: Path) -> None:
    try:
        part.replace(file)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def last_store(root: Path = OUTPUTS) -> Path:
    """Return the path of the store that was run last, relative to the working directory where it lies below.

    Raises InputError where nothing was run, or the file that remembers it cannot be read or names no folder.
    """
    file = root / LAST
    if not os.path.lexists(file):
        raise InputError("nothing was run here yet; name the folder of a store")
    raw = files.content(file, str(file), most=_MOST_LAST, remedy="name the folder of a store")
    named = raw.decode("utf-8", "surrogateescape").removesuffix("\n")
    if not named.isprintable() or not named.startswith(os.sep):
        raise InputError(f"{file} does not hold the name of a folder; name the folder of a store")
    folder = Path(named)
    if not os.path.isdir(folder):
        raise InputError(f"the last store, {clip(folder)}, is gone; name the folder of another")
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def disk_bytes(folder: Path) -> int:
    """Count the bytes of the files in a folder, those of its folders included; links are not followed."""
    counted = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                counted += disk_bytes(Path(entry.path))
            else:
                counted += entry.stat(follow_symlinks=False).st_size
    return counted


def content(folder: Path) -> str | None:
    """Digest the files of the store in a folder; None where links or devices are among them."""
    sealed = blake2b(digest_size=16)
    for path in sorted((folder / STORE).rglob("*")):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            return None
        raw = path.read_bytes() if path.is_file() else b""
        sealed.update(f"{path.relative_to(folder)} {len(raw)} ".encode())
        sealed.update(raw)
    return sealed.hexdigest()


def _flush(folder: Path) -> None:
    """Make sure that a store is on the disk before it takes the place of another."""
    for path, _, names in os.walk(folder):
        for file in names:
            _sync(Path(path) / file)
        _sync(Path(path))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
