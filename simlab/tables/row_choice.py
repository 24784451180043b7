"""Choose the rows of a table that are read: those with the values that its owner names (`--where COLUMN=VALUE`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from simlab.messages import legible, or_nearest
from simlab.types import InputError

Where: TypeAlias = tuple[tuple[str, str], ...]
Rows: TypeAlias = Iterable[tuple[int, list[str]]]
COPIES = "rows that are copies of others, which count once"
MOST_SHOWN = 200
"""So many values of a column are remembered, to name one that is near to what was typed."""


class LeftOut(NamedTuple):
    """How many ratings, or comparisons, of a table were left out, and what they are."""

    ratings: int
    why: str


def parse_where(words: Sequence[str] | None) -> Where:
    """Read each `COLUMN=VALUE` as it is typed.

    >>> parse_where(["aspect=fluency", "turn = 1"])
    (('aspect', 'fluency'), ('turn', '1'))

    Raises InputError for what is none.
    """
    parsed = []
    for word in words or ():
        column, sign, value = (part.strip() for part in word.partition("="))
        if not (column and sign):
            raise InputError(f"--where {legible(word, 60)}: write COLUMN=VALUE, such as aspect=fluency")
        parsed.append((column, value))
    return tuple(dict.fromkeys(parsed))


def values_by_column(where: Where) -> dict[str, list[str]]:
    """Group the values that are asked for by their columns.

    >>> values_by_column((("aspect", "fluency"), ("turn", "1"), ("turn", "2")))
    {'aspect': ['fluency'], 'turn': ['1', '2']}
    """
    grouped: dict[str, list[str]] = {}
    for column, value in where:
        grouped.setdefault(column, []).append(value)
    return grouped


def phrase(where: Where) -> str:
    """Say which rows are read, as a part of a sentence; empty where all are.

    >>> phrase((("aspect", "fluency"), ("turn", "1"), ("turn", "2")))
    'aspect=fluency, turn=1 or 2'
    """
    grouped = values_by_column(where).items()
    return ", ".join(f"{legible(column, 40)}={legible(' or '.join(values), 80)}" for column, values in grouped)


def without_lines(rows: Rows, skip: Sequence[int]) -> Rows:
    """Leave the rows of some lines out."""
    gone = frozenset(skip)
    return ((line, row) for line, row in rows if line not in gone) if gone else rows


def without_chosen(columns: Sequence[str], where: Where) -> tuple[str, ...]:
    """Leave out the columns by which rows were chosen."""
    chosen = {column.casefold() for column, _ in where}
    return tuple(name for name in columns if name.casefold() not in chosen)


def chosen_rows(rows: Rows, names: Sequence[str], where: Where, file: str) -> Iterator[tuple[int, list[str]]]:
    """Keep the rows that have one of the values asked for in each column that is named; capitals do not matter.

    Raises InputError for a column that is not there, and, once all rows are read, for a value that none of them has
    and where no row has all of them.
    """
    if not where:
        yield from rows
        return
    wanted = _wanted(names, where, file)
    met: dict[int, dict[str, str]] = {at: {} for at in wanted}
    none, kept = True, False
    for line, cells in rows:
        keep, none = True, False
        for at, values in wanted.items():
            cell = cells[at].strip() if at < len(cells) else ""
            folded = cell.casefold()
            if folded in values or len(met[at]) < MOST_SHOWN:
                met[at].setdefault(folded, cell)
            keep = keep and folded in values
        if keep:
            kept = True
            yield line, cells
    if none:
        return  # a table without rows is refused by its reader, which says so
    _refuse_unmet(wanted, met, names, file)
    if not kept:
        raise InputError(f"--where {phrase(where)}: {file} has no row with all of these; leave one out")


def _wanted(names: Sequence[str], where: Where, file: str) -> dict[int, dict[str, str]]:
    """Return the place of each column that is named, and the values asked for in it, as typed, by their folded form."""
    wanted: dict[int, dict[str, str]] = {}
    folded = [name.casefold() for name in names]
    for column, value in where:
        if column not in names and column.casefold() not in folded:
            hint = or_nearest(column, [name for name in names if name], "it has", 200)
            raise InputError(f"--where {legible(f'{column}={value}', 60)}: {file} has no column {column}; {hint}")
        at = list(names).index(column) if column in names else folded.index(column.casefold())
        wanted.setdefault(at, {})[value.casefold()] = value
    return wanted


def _refuse_unmet(
    wanted: Mapping[int, Mapping[str, str]], met: Mapping[int, Mapping[str, str]], names: Sequence[str], file: str
) -> None:
    for at, values in wanted.items():
        for folded, value in values.items():
            if folded not in met[at]:
                hint = or_nearest(value, [cell for cell in met[at].values() if cell], "it has", 200)
                said = legible(f"{names[at]}={value}", 60)
                raise InputError(f"--where {said}: no row of {file} has it; {hint}")
