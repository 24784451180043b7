"""Open the folders that are to be merged, so that nobody writes to one of them until that is done."""

from __future__ import annotations

import os
import resource
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simlab.engine.block_checks import Declared, find_unusable
from simlab.engine.ledger import FILE, Ledger, Row
from simlab.engine.ledger_file import open_alone, open_to_read, plain_errors
from simlab.engine.provenance import installation
from simlab.messages import legible
from simlab.types import InputError

SPARE_FILES = 64
"""Files that are open beside the ledgers of sources."""
_MENDING = "the command that filled it mends it"


@dataclass(slots=True)
class Source:
    """Hold an open folder; `left_out` names rows of its blocks that cannot be used, and why the first cannot."""

    folder: Path
    database: sqlite3.Connection
    book: Ledger
    left_out: dict[int, str] = field(default_factory=dict)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say of this folder what SQLite says while it is read."""
        with plain_errors(self.folder / FILE):
            yield

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Read rows one by one."""
        with self.reading():
            # Not `yield from`, which would close the cursor of a generator that is left after its database.
            for row in self.database.execute(query, values):  # noqa: UP028
                yield row

    def look_through(self, declared: Mapping[str, Declared]) -> list[Row]:
        """Find the blocks that cannot be used: torn ones, and those that are unlike what their cell declares.

        Raises InputError where the folder has blocks of cells that it does not know.
        """
        with self.reading():
            found = list(find_unusable(self.book, seen=self.book.seen(installation()), declared=declared))
            torn = Counter(row.block.address.cell for row, _ in found)
            lost = [cell for cell, count in self.book.without_cell().items() if count > torn.get(cell, 0)]
        if lost:
            raise InputError(f"{legible(self.folder)}: {len(lost)} of its cells are lost; {_MENDING}")
        self.left_out = {row.at: why for row, why in found}
        return [row for row, _ in found]


@contextmanager
def opened(out: Path, folders: Sequence[Path]) -> Iterator[tuple[Source | None, list[Source]]]:
    """Open the folder that others are merged into, where there is one, for writing, and the others for reading.

    Raises InputError for a folder that is named twice, under whatever name, that holds no sweep, that is damaged or
    of another schema, or to which a run is writing.
    """
    _refuse_twice(out, folders)
    _allow_files(len(folders))
    with ExitStack() as stack:
        sources = []
        for folder in folders:
            database = stack.enter_context(open_to_read(folder, whole=True))
            # What is read from here on is what was there at the beginning; who wants to write has to wait.
            database.execute("BEGIN")
            sources.append(_checked(Source(folder, database, Ledger(database, folder))))
        into = None
        if (out / FILE).exists():
            database = stack.enter_context(open_alone(out))
            into = _checked(Source(out, database, Ledger(database, out)))
        yield into, sources


def _checked(source: Source) -> Source:
    with source.reading():
        if damaged := source.book.damaged():
            raise InputError(f"{legible(source.folder)}: {damaged[0]} is damaged in its {FILE}; {_MENDING}")
    return source


def _refuse_twice(out: Path, folders: Sequence[Path]) -> None:
    """Raise InputError where a folder would be merged with itself; links are followed."""
    named, seen = [out, *folders], dict[tuple[int, int], int]()
    for number, folder in enumerate(named):
        for path in (folder, folder / FILE):
            if not path.exists():
                continue
            found = path.stat()
            known = seen.setdefault((found.st_dev, found.st_ino), number)
            if known != number:
                raise InputError(_twice(folder, named[known], out if known == 0 else None))


def _twice(folder: Path, known: Path, out: Path | None) -> str:
    same = "" if folder == known else f": {legible(folder)} and {legible(known)} are one folder"
    if out is not None:
        return (
            f"merge {legible(out)} with itself{same}; name in front the folder to merge into, then those to be merged"
        )
    return f"{legible(folder)} is to be merged twice{same}; name it once"


def _allow_files(count: int) -> None:
    """Let this process have as many files open as there are ledgers; raise InputError where it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * count + len(os.listdir("/dev/fd")) + SPARE_FILES
    if hard != resource.RLIM_INFINITY and wanted > hard:
        raise InputError(f"{count} folders are more than can be open at a time; merge some of them first")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
