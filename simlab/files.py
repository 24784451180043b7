"""Read a user's file safely: a regular file, up to a size, UTF-8 text; all else is refused in one line.

Errors begin with `where`, the name by which the user knows the file, and end with a `remedy`.
"""

from __future__ import annotations

import errno
import os
import stat
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

from simlab.messages import legible
from simlab.types import InputError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class State(NamedTuple):
    """Hold what changes when a file does, so that what was read can be kept for as long as it is the same."""

    mtime_ns: int
    size: int
    inode: int


def expanded(path: str) -> Path:
    """Return a path with the home folder filled in; `~` of nobody stays as it is, and is then not there."""
    return Path(os.path.expanduser(path))


def regular(path: Path, where: str, *, remedy: str) -> State:
    """Return the state of a regular file.

    Raises InputError where there is none, and for folders, pipes and devices, which could hang whoever reads them.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: cannot be opened ({reason(error)})") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{where}: is a directory; {remedy}")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{where}: is not a regular file; {remedy}")
    return State(status.st_mtime_ns, status.st_size, status.st_ino)


def content(path: Path, where: str, *, most: int, remedy: str) -> bytes:
    """Return the bytes of a regular file; raise InputError for what is none, or is larger than `most` bytes."""
    regular(path, where, remedy=remedy)
    try:
        with path.open("rb") as file:
            held = file.read(most + 1)
    except OSError as error:
        raise InputError(f"{where}: cannot be opened ({reason(error)})") from error
    if len(held) > most:
        raise InputError(f"{where}: is larger than {most:,} bytes; {remedy}")
    return held


def text(held: bytes, where: str) -> str:
    """Decode UTF-8 without its byte-order mark; raise InputError naming the line that is something else."""
    held = held.removeprefix(_BYTE_ORDER_MARK)
    try:
        return held.decode("utf-8")
    except UnicodeDecodeError as error:
        line = held.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}, line {line}: {not_utf8(held[error.start])}") from error


def not_utf8(byte: int) -> str:
    """Say of a byte that it begins no character."""
    return f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8 text"


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def refuse_change(now: str, declared: str | None, where: str) -> None:
    """Raise InputError where a file has another digest than a study was declared with (None: any)."""
    if declared is not None and declared != now:
        raise InputError(f"{where} has changed since the sweep began: its digest is not {legible(declared, 80)}")


def needed(error: OSError) -> str:
    """Say what a disk that did not take something needs.

    >>> import errno
    >>> needed(OSError(errno.ENOSPC, "")), needed(OSError(errno.EROFS, ""))
    ('free some space', 'make it writable')
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free some space"
    return "make it writable" if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) else "look after the disk"


def reason(error: Exception) -> str:
    """Say why a file could not be read, as the system puts it."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return legible(said or type(error).__name__)
