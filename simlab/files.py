"""Read a user's file safely (a regular file, up to a size, UTF-8 text), and write files whole or not at all.

Anything else is refused by an InputError of one line: it begins with `where`, the name by which the user knows the
file, and ends with a `remedy`, what to do. `content`, `text` and `read_json` read; `write_whole` writes.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

from simlab.messages import clip, suggest
from simlab.types import InputError

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_LONGEST_NUMBER = 400
_LONGEST_NAME = 250
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BUILT_IN = "simlab:"
"""What comes behind it is no file of the user, but a table that simlab brings along."""


class FileState(NamedTuple):
    """State of a file, which changes when the file does; content that was read may be reused while it is the same."""

    mtime_ns: int
    size: int
    inode: int


def expand_path(path: str) -> Path:
    """Return a path with the home folder filled in; `~NAME` of an unknown user stays as it is.

    `simlab:NAME` is a table built into simlab. Raises InputError where it has none of that name.
    """
    if not path.startswith(BUILT_IN):
        return Path(os.path.expanduser(path))
    name, tables = path.removeprefix(BUILT_IN), _find_built_in()
    if name not in tables:
        raise InputError(f"{clip(path, 60)} is no table built into simlab; {suggest(name, tables, 'it has')}")
    return tables[name]


def write_path(path: Path) -> str:
    """Return a path as one types it: a table built into simlab goes by its name."""
    return f"{BUILT_IN}{path.name.partition('.')[0]}" if path in _find_built_in().values() else str(path)


def _find_built_in() -> dict[str, Path]:
    folder = Path(__file__).parent / "world" / "data"
    return {file.name.partition(".")[0]: file for file in sorted(folder.glob("*.tsv*"))}


def check_regular(path: Path, where: str, *, remedy: str) -> FileState:
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
    return FileState(status.st_mtime_ns, status.st_size, status.st_ino)


def content(path: Path, where: str, *, most: int, remedy: str) -> bytes:
    """Return the bytes of a regular file; raise InputError for what is none, or is larger than `most` bytes."""
    check_regular(path, where, remedy=remedy)
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise InputError(f"{where}: cannot be opened ({reason(error)})") from error
    if len(data) > most:
        raise InputError(f"{where}: is larger than {most:,} bytes; {remedy}")
    return data


def text(data: bytes, where: str) -> str:
    """Decode UTF-8 without its byte-order mark; raise InputError naming the line that is something else."""
    data = data.removeprefix(_BYTE_ORDER_MARK)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}, line {line}: {describe_not_utf8(data[error.start])}") from error


def read_json(path: Path, where: str, *, most: int, remedy: str) -> dict[str, Any]:
    """Return the object that a JSON file holds; raise InputError for a file that holds none, or NaN."""
    written = text(content(path, where, most=most, remedy=remedy), where)
    try:
        document = json.loads(written, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({clip(error, 120)}); {remedy}") from error
    if not isinstance(document, dict):
        raise InputError(f"{where}: must be a JSON object; {remedy}")
    return document


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def describe_not_utf8(byte: int) -> str:
    """Format the message on a byte that begins no UTF-8 character."""
    return f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8 text"


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def refuse_change(now: str, declared: str | None, where: str) -> None:
    """Raise InputError where a file's digest `now` is not the one that a study has `declared` (None: any)."""
    if declared is not None and declared != now:
        raise InputError(f"{where} has changed since the sweep began: its digest is not {clip(declared, 80)}")


def describe_need(error: OSError) -> str:
    """Return what to do about a disk that could not be written to.

    >>> import errno
    >>> describe_need(OSError(errno.ENOSPC, "")), describe_need(OSError(errno.EROFS, ""))
    ('free some space', 'make it writable')
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free some space"
    return "make it writable" if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) else "look after the disk"


def reason(error: Exception) -> str:
    """State why a file could not be read, as the system puts it."""
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return clip(words or type(error).__name__)


def read_decimal(text: str) -> float | None:
    """Read a number as all tables write it: ASCII digits, a point, an exponent; None for anything else.

    What Python reads beyond that is no number here, or another one than it seems: digits of other scripts, `1_000`,
    `inf`, and numbers that are too large.

    >>> read_decimal("-.5"), read_decimal("1e3"), read_decimal("1_000"), read_decimal("1e400")
    (-0.5, 1000.0, None, None)
    """
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def check_writable(file: Path | None, option: str) -> None:
    """Raise InputError, before any work, for a file that could not be written: no folder is made for it.

    None, where nothing is to be written, is well.
    """
    if file is None:
        return
    where = f"{option} {clip(file)}"
    try:
        folder, name = file.parent.is_dir(), len(os.fsencode(file.name))
        state = file.stat() if file.exists() else None
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: cannot be written ({reason(error)})") from error
    if not folder:
        raise InputError(f"{where}: there is no folder {clip(file.parent)}; make it, or name another")
    if state is not None and stat.S_ISDIR(state.st_mode):
        raise InputError(f"{where}: it is a folder; name a file")
    if state is not None and not stat.S_ISREG(state.st_mode):
        raise InputError(f"{where}: is not a regular file; name another")
    if name > _LONGEST_NAME:
        raise InputError(f"{where}: cannot be written (File name too long); give a shorter name")
    if not os.access(file if state is not None else file.parent, os.W_OK):
        raise InputError(f"{where}: cannot be written (Permission denied); name another")


def write_whole(contents: Mapping[Path, str | Callable[[Path], object]]) -> None:
    """Write files whole or not at all: each is written aside first, so that a full disk destroys no older one.

    A content is a text, or a function that writes into the file that it is given, whose name ends as the file's own.
    Files take their places in the order given, once all are written. Raises OSError that names the file.
    """
    aside = {file: file.with_name(f".{file.stem}.{os.getpid()}.part{file.suffix}") for file in contents}
    try:
        for file, content in contents.items():
            with _name_file(file):
                content(aside[file]) if callable(content) else _write(aside[file], content)
        for file in contents:
            with _name_file(file):
                os.replace(aside[file], file)
    finally:
        for file in aside.values():
            file.unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    # What no encoding has, half of a character of another file, say, is written as it would be typed.
    file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")


@contextmanager
def _name_file(file: Path) -> Iterator[None]:
    """Raise what goes wrong beside a file as an error of that file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(file)) from error
