"""Read which logins are one person, and put people in the place of logins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.messages import legible, several
from simlab.tables.columns import NAMES, folded
from simlab.tables.dialect import dialect_of, header_of, rows
from simlab.tables.gathered import Gathered, renamed
from simlab.tables.lines import numbered_lines
from simlab.types import InputError


class Named(NamedTuple):
    """Hold ratings by people, who each login is, and sentences on both."""

    held: Gathered
    who: Mapping[str, str]
    notes: tuple[str, ...]


def with_people(held: Gathered, path: Path | None, *, rater_known: bool = True) -> Named:
    """Put people in the place of the logins that a file names; None leaves logins as they are.

    Raises InputError naming file and line for a file that does not say of the table's raters who they are, and where
    the table does not say who rated (`rater_known`).
    """
    if path is None:
        return Named(held, {rater: rater for rater in held.raters}, ())
    if not rater_known:
        raise InputError(f"--people {legible(path)}: the table does not say who rated; leave it out")
    known = people(path, held.raters)
    who = {rater: known.get(rater, rater) for rater in held.raters}
    n = len(set(who.values()))
    notes = [f"{several(len(who), 'login')} are {'one person' if n == 1 else f'{n:,} people'}"]
    if strangers := [rater for rater in held.raters if rater not in known]:
        names = legible(", ".join(strangers[:3]) + (", ..." if len(strangers) > 3 else ""), 100)
        notes.append(f"--people does not name {several(len(strangers), 'login')} ({names}): each counts as a person")
    return Named(renamed(held, list(who.values())), who, tuple(notes))


def people(path: Path, raters: Iterable[str]) -> dict[str, str]:
    """Read who each login is. The column of logins is the one that holds the table's raters, whatever its name.

    Raises InputError for a file without such a column, or without one that says who, and for a login of two people.
    """
    where = legible(path)
    lines = numbered_lines(path, "give the file that says who raters are")
    first = next(lines, (0, ""))[1]
    dialect = dialect_of(first)
    names = header_of(first, dialect, f"{where}, line 1")
    content = [(1, names), *((line, [cell.strip() for cell in row]) for line, row in rows(lines, dialect, where))]
    wide = max(len(row) for _, row in content)
    table = [(line, row + [""] * (wide - len(row))) for line, row in content]
    known = set(raters)
    login = _login(table, wide, known, where)
    person = _person(table, login, where)
    return _known(table if table[0][1][login] in known else table[1:], login, person, where)


def _login(table: Sequence[tuple[int, list[str]]], wide: int, raters: set[str], where: str) -> int:
    met = [len({row[k] for _, row in table} & raters) for k in range(wide)]
    if not max(met):
        raise InputError(
            f"--people {where}: names none of the table's raters, such as {legible(min(raters), 60)}; "
            "write logins as the table does"
        )
    return met.index(max(met))


def _person(table: Sequence[tuple[int, list[str]]], login: int, where: str) -> int:
    header = [folded(name) for name in table[0][1]]
    person, rater = NAMES["person"], NAMES["rater"]
    known = (*person.usual, *rater.usual, *person.rare, *rater.rare)
    usual = [header.index(name) for name in known if name in header and header.index(name) != login]
    filled = [k for k in range(len(header)) if k != login and any(row[k] for _, row in table)]
    if usual or len(filled) == 1:
        return (usual or filled)[0]
    raise InputError(f"--people {where}: does not show which column says who a login is; name it person")


def _known(table: Sequence[tuple[int, list[str]]], login: int, person: int, where: str) -> dict[str, str]:
    known: dict[str, tuple[str, int]] = {}
    for line, row in table:
        if not row[login]:
            continue
        if not row[person]:
            raise InputError(
                f"--people {where}, line {line}: does not say who {legible(row[login], 60)} is; "
                "fill it in, or take the line out"
            )
        who, before = known.setdefault(row[login], (row[person], line))
        if who != row[person]:
            both = legible(f"{row[login]} is {who} on line {before} and {row[person]} here", 200)
            raise InputError(f"--people {where}, line {line}: {both}; a login is one person")
    return {name: who for name, (who, _) in known.items()}
