"""Read the lines of a table, plain or packed, whatever their ends, and cut them into cells.

Call `numbered_lines` with the file, `find_dialect` and `read_header` with the first line, and `rows` with the others,
which yields line numbers and cells; `opening.open_table` does all that.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from simlab import files
from simlab.messages import clip
from simlab.types import InputError

# A line of the published tables holds a paragraph, its translation and the rater's key log: tens of kilobytes.
MAX_LINE = 1 << 22
# A few kilobytes can unpack to terabytes; the largest published table is some tens of megabytes.
MAX_BYTES = 1 << 30
# Short lines pack best of all, and each takes its time; tables of two million ratings are read.
MAX_LINES = 4_000_000
# What describes a member is held in memory whole, whatever size it claims.
MAX_HEADER = 1 << 20
TABLE_ENDINGS = (".tsv", ".txt")
REMEDY = "give the file of ratings"
_AT_ONCE = 1 << 20
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n\r|\r|\n")
_BROKEN = (EOFError, OSError, tarfile.TarError, zlib.error, ValueError, OverflowError)
MOST_COLUMNS = 1000
"""Most columns of a table: with more its columns are systems or documents."""
_MARKS = "\t;,"


def numbered_lines(path: Path, remedy: str = REMEDY) -> Iterator[tuple[int, str]]:
    """Yield each line of a table with its number, from 1, without line end and byte-order mark.

    The content decides, not the name: plain text, gzip, tar and tar.gz (one table inside) are read, without
    unpacking to disk. Raises InputError naming the file, and the line where there is one; `remedy` says which file is
    wanted.
    """
    where = clip(path)
    files.check_regular(path, where, remedy=remedy)
    try:
        # What is too long is refused before its lines are taken apart, which takes far longer than to count them.
        with _open(path, where) as content:
            while content.read(_AT_ONCE):
                pass
        with _open(path, where) as content:
            yield from _content_lines(content, where)
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(f"{where}: cannot be read to its end ({files.reason(error)})") from error


def first_letter(path: Path, remedy: str = REMEDY) -> str:
    """Return the first character of a table that is not blank, "" where there is none."""
    where = clip(path)
    files.check_regular(path, where, remedy=remedy)
    try:
        with _open(path, where) as content:
            begun = content.read(_AT_ONCE).removeprefix(_BYTE_ORDER_MARK).lstrip()
    except _BROKEN as error:
        raise InputError(f"{where}: cannot be read to its end ({files.reason(error)})") from error
    return begun[:1].decode("ascii", "replace")


def whole_text(path: Path, most: int) -> str:
    """Return the text of a file of JSON, plain or packed; raise InputError for more than `most` bytes."""
    where = clip(path)
    try:
        with _open(path, where) as content:
            # One byte more than is allowed tells that a file is too long, without reading all of it.
            raw = content.read(most + 1).removeprefix(_BYTE_ORDER_MARK)
    except _BROKEN as error:
        raise InputError(f"{where}: cannot be read to its end ({files.reason(error)})") from error
    if len(raw) > most:
        raise InputError(f"{where}: holds more than {most:,} bytes of JSON; write one record a line, or a csv")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}, line {line}: {files.describe_not_utf8(raw[error.start])}") from error


@contextmanager
def _open(path: Path, where: str) -> Iterator[io.BufferedReader]:
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        packed = file.peek(2)[:2] == _GZIP
        source = stack.enter_context(gzip.GzipFile(fileobj=file)) if packed else file
        yield io.BufferedReader(_Bounded(source, where))


class _Member(tarfile.TarInfo):
    """Refuse a header that claims to be larger than any description of a file."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        member = super().frombuf(buf, encoding, errors)
        if not member.isreg() and member.size > MAX_HEADER:
            raise tarfile.ReadError(f"a header of {member.size:,} bytes")
        return member


class _Bounded(io.RawIOBase):
    """Pass bytes on up to the limits of size and of lines, whatever the layers above ask for."""

    def __init__(self, source: io.BufferedIOBase, where: str) -> None:
        super().__init__()
        self._source, self._where = source, where
        # Line feeds and returns are counted apart: an end of line that is made of both counts once.
        self._left, self._lines, self._returns = MAX_BYTES, MAX_LINES, MAX_LINES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._source.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise InputError(f"{self._where}: unpacks to more than {MAX_BYTES:,} bytes; not a table of ratings")
        self._lines -= data.count(b"\n")
        self._returns -= data.count(b"\r")
        if min(self._lines, self._returns) < 0:
            raise InputError(f"{self._where}: has more than {MAX_LINES:,} lines; not a table of ratings")
        buffer[: len(data)] = data
        return len(data)


def _content_lines(content: io.BufferedReader, where: str) -> Iterator[tuple[int, str]]:
    # The magic of a tar archive stands at byte 257 of its first header (POSIX ustar).
    if content.peek(512)[257:262] != b"ustar":
        yield from _text_lines(content, where)
        return
    # As a stream (r|), since what is unpacked on the way cannot be sought in.
    with tarfile.open(fileobj=content, mode="r|", tarinfo=_Member) as archive:
        yield from _archive_lines(archive, where)
    # What follows the last member is read too: only then has gzip compared its checksum.
    while content.read(_AT_ONCE):
        pass


def _archive_lines(archive: tarfile.TarFile, where: str) -> Iterator[tuple[int, str]]:
    table = ""
    for member in archive:
        if not _is_table(member):
            continue
        if table:
            raise InputError(f"{where}: holds several tables ({table}, {clip(member.name)}); pack or unpack one")
        table = clip(member.name)
        stream = archive.extractfile(member)
        if stream is not None:
            yield from _text_lines(stream, where)
    if not table:
        raise InputError(f"{where}: holds no table (no member ending in {' or '.join(TABLE_ENDINGS)})")


def _is_table(member: tarfile.TarInfo) -> bool:
    name = PurePosixPath(member.name).name
    # Archives packed on a Mac carry a hidden "._name" beside every file.
    return member.isfile() and name.endswith(TABLE_ENDINGS) and not name.startswith(".")


def _text_lines(stream: IO[bytes], where: str) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(_raw_lines(stream), 1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            if b"\0" in raw or len(raw) > MAX_LINE:
                raise _refusal(raw, where, number) from error
            raise InputError(f"{where}, line {number}: {files.describe_not_utf8(raw[error.start])}") from error
        if len(raw) > MAX_LINE or "\0" in line:
            raise _refusal(raw, where, number)
        # Converted twice, or the wrong way round, an end has returns to spare.
        yield number, line.strip("\r\n")


def _raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Cut a stream into lines: at line feeds, and at bare carriage returns where the first of these lines has one.

    Elsewhere a carriage return may belong to a sentence.
    """
    first = stream.readline(MAX_LINE + 1).removeprefix(_BYTE_ORDER_MARK)
    if b"\r" in first.strip(b"\r\n"):
        yield from _cut_at_returns(first, stream)
        return
    if first:
        yield first
    while raw := stream.readline(MAX_LINE + 1):
        yield raw


def _cut_at_returns(begun: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    rest = begun
    while more := stream.read(_AT_ONCE):
        piece = rest + more
        # What a piece ends in may be half of a line end.
        kept = len(piece) - piece.endswith((b"\r", b"\n"))
        *whole, rest = _LINE_END.split(piece[:kept])
        rest += piece[kept:]
        yield from whole
        if len(rest) > MAX_LINE:
            yield rest
            return
    yield from _LINE_END.split(rest)


def _refusal(raw: bytes, where: str, number: int) -> InputError:
    if len(raw) > MAX_LINE:
        return InputError(f"{where}, line {number}: is longer than {MAX_LINE:,} bytes; not a table of ratings")
    return InputError(f"{where}, line {number}: holds a zero byte, so this is binary or UTF-16; save it as UTF-8 text")


class Dialect(NamedTuple):
    """Dialect of a table: the mark between cells, and whether quotation marks around a cell belong to it or not."""

    mark: str
    quoted: bool


def find_dialect(header: str) -> Dialect:
    r"""Detect the dialect of a table by its first line: the first of tab, semicolon and comma that sets cells apart.

    Published tables with tabs do not quote, and their sentences hold single quotation marks, so tabs go with quoting
    only where the header itself is quoted.

    >>> find_dialect("system,score"), find_dialect('system\tscore')
    (Dialect(mark=',', quoted=True), Dialect(mark='\t', quoted=False))
    """
    for mark in _MARKS:
        if len(cells(header, Dialect(mark, True))) > 1:
            return Dialect(mark, mark != "\t" or header.startswith('"'))
    return Dialect("\t", False)


def cells(line: str, dialect: Dialect) -> list[str]:
    """Cut one line into cells."""
    if not dialect.quoted:
        return line.split(dialect.mark)
    try:
        return next(csv.reader([line], delimiter=dialect.mark), [])
    except csv.Error:
        return line.split(dialect.mark)


def read_header(line: str, dialect: Dialect, where: str) -> list[str]:
    """Return the names of the columns without blanks around them.

    Raises InputError for more columns than a table of ratings has.
    """
    names = [name.strip() for name in cells(line, dialect)]
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{where}: has {len(names):,} columns, and a table of ratings at most {MOST_COLUMNS:,}; write one rating "
            "a row: system, document, rater, score"
        )
    return names


def rows(lines: Iterable[tuple[int, str]], dialect: Dialect, where: str) -> Iterator[tuple[int, list[str]]]:
    """Go through the rows below the header: the number of the line that each begins on, and its cells.

    Empty lines are left out. Raises InputError naming the line where quotation marks do not match.
    """
    if not dialect.quoted:
        yield from ((number, line.split(dialect.mark)) for number, line in lines if line)
        return
    place = _Place(lines)
    reader = csv.reader(place, delimiter=dialect.mark, strict=True)
    try:
        for row in reader:
            if row:
                yield place.first, row
            place.begun = False
    except csv.Error as error:
        problem = clip(f"{where}, line {place.first}: quotation marks do not match ({error})")
        raise InputError(f"{problem}; double those inside of a cell") from error


class _Place:
    """Hand lines to the reader of cells and remember where its row began."""

    def __init__(self, lines: Iterable[tuple[int, str]]) -> None:
        self._lines = iter(lines)
        self.first, self.begun = 0, False

    def __iter__(self) -> Iterator[str]:
        for number, whole in self._lines:
            # A bare carriage return in an unquoted cell is a line end of another program.
            for line in whole.split("\r"):
                if not self.begun:
                    self.first, self.begun = number, True
                # The end that was stripped is put back: a quoted cell that goes on in the next line contains it.
                yield f"{line}\n"
