"""Read what raters filled in, in whatever form: which code got which rating, and where that stands.

A csv with the columns slot and rating is a sheet, or Label Studio's csv; without these names it is what Appraise
exports. JSON is Label Studio's, in full or as JSON_MIN; a folder holds such files, one of each project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from simlab.concluding.assigning.cells import bare
from simlab.messages import legible
from simlab.tables.cells import load, renamed
from simlab.tables.columns import Names, aliases
from simlab.tables.lines import Dialect, dialect_of, numbered_lines, rows
from simlab.tables.lines import cells as cut
from simlab.tables.numbers import missing, with_point
from simlab.types import InputError

FORM = "a filled assignment (slot, rating)"
BESIDE = ("position", "rater", "task", "document", "segment", "number", "control", "system", "source", "output")
"""Columns that a key has, too: where a sheet has them, they say of a code what its key says."""
USUAL: Mapping[str, Names | Sequence[str]] = {**aliases("slot", "rating"), **dict.fromkeys(BESIDE, ())}
ENDINGS = (".csv", ".tsv", ".json")
LISTS = ("projects.csv", "accounts.csv", "manifest.json", "batches.json")
"""What is written beside tasks, and holds no ratings."""
APPRAISE = 7
"""So many cells at least has a row of Appraise: account, targetID, itemID, type, two languages, score."""


class Given(NamedTuple):
    """Hold a rating as it was written: the `slot` it is of, by whom ("": by whom it was asked of), and where it stands.

    `line` is the number of the line, or of the entry; `beside` are the other cells by the key's names of columns.
    """

    slot: str
    rater: str
    rating: str
    where: str
    line: int
    beside: Mapping[str, str] = MappingProxyType({})


def given(path: Path, told: Mapping[str, str]) -> list[Given]:
    """Read a filled assignment, a file or a folder of them; `told` are the table's own names of columns.

    Raises InputError, naming file and line, for what is none.
    """
    if not path.is_dir():
        return list(_of_file(path, told))
    named = (one for one in path.iterdir() if one.suffix.lower() in ENDINGS and one.name not in LISTS)
    files = sorted(one for one in named if one.is_file())
    if not files:
        raise InputError(f"{legible(path)}: holds no filled sheets ({', '.join(ENDINGS)}); name the folder that does")
    return [one for file in files for one in _of_file(file, told)]


def _of_file(path: Path, told: Mapping[str, str]) -> Iterator[Given]:
    if path.suffix.lower() == ".json":
        from simlab.concluding.assigning.annotations import annotated

        found = annotated(path)
    else:
        found = _of_csv(path, told)
    yield from (one for one in found if not missing(one.rating))


def _of_csv(path: Path, told: Mapping[str, str]) -> Iterator[Given]:
    first = next(numbered_lines(path), (0, ""))[1]
    dialect = dialect_of(first)
    if not told and _is_appraise(cut(first, dialect)):
        yield from _of_appraise(path, dialect)
        return
    table = renamed(load(path, FORM), USUAL, told)
    for name in ("slot", "rating"):
        if name not in table.header:
            there = legible(", ".join(table.header), 120)
            raise InputError(f"{table.where}: has no column {name}; it has {there}; give {FORM}")
    slot, rating = table.column("slot"), table.column("rating")
    others = [(name, table.column(name)) for name in BESIDE if name in table.header]
    for line, cells in table.rows:
        beside = {name: bare(cells[at]) for name, at in others}
        said = with_point(cells[rating], table.commas)
        yield Given(cells[slot], beside.pop("rater", ""), said, table.at(line), line, beside)


def _is_appraise(first: Sequence[str]) -> bool:
    """Tell by its first line whether a table is an export of Appraise, which has no header."""
    return len(first) >= APPRAISE and first[3] in ("TGT", "CHK", "BAD", "REF") and first[2].isdecimal()


def _of_appraise(path: Path, dialect: Dialect) -> Iterator[Given]:
    where = legible(path)
    for line, cells in rows(numbered_lines(path), dialect, where):
        at = f"{where}, line {line}"
        if len(cells) < APPRAISE:
            raise InputError(f"{at}: has {len(cells)} cells, and a row of Appraise at least {APPRAISE}; export again")
        beside = {"document": cells[APPRAISE]} if len(cells) > APPRAISE else {}
        yield Given(f"{cells[1]}-{cells[2]}", cells[0], cells[6], at, line, beside)
