"""Keep the folder of a sweep in order: which store is the valid one, how a new one takes its place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from simlab.engine.ledger import FILE, STORE
from simlab.types import InputError

NEW, OLD = f"{STORE}.new", f"{STORE}.old"
OUTPUTS = Path("outputs")
LAST = ".last"


def settle(folder: Path) -> None:
    """Clear away what a killed run has left, and bring back a store that it had put aside."""
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
    _sync(folder)
    shutil.rmtree(folder / OLD, ignore_errors=True)


def valid_store(folder: Path) -> Path:
    """Return the path of the store in a folder; raise InputError where there is none."""
    for name in (STORE, OLD):
        if (folder / name / "zarr.json").is_file():
            return folder / name
    if (folder / FILE).is_file():
        raise InputError(f"{folder} has no {STORE} yet: its run was interrupted; the same command continues it")
    raise InputError(f"{folder} holds no results; name the folder of a sweep that was run")


def remember_last(folder: Path, root: Path = OUTPUTS) -> None:
    """Remember the store that was run last."""
    root.mkdir(parents=True, exist_ok=True)
    (root / LAST).write_text(f"{folder.absolute()}\n", encoding="utf-8")


def last_store(root: Path = OUTPUTS) -> Path:
    """Return the store that was run last, relative to here where it lies below; raise InputError without one."""
    try:
        folder = Path((root / LAST).read_text(encoding="utf-8").strip())
    except OSError as error:
        raise InputError("nothing was run here yet; name the folder of a store") from error
    if not folder.is_dir():
        raise InputError(f"the last store, {folder}, is gone; name the folder of another")
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _flush(folder: Path) -> None:
    """Make sure that a store is on the disk before it takes the place of another."""
    for path, _, files in os.walk(folder):
        for file in files:
            _sync(Path(path) / file)
        _sync(Path(path))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
