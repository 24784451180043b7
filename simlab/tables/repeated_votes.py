"""Leave copies of comparisons out, and refuse answers to several questions that are mixed."""

from __future__ import annotations

import numpy as np

from simlab.tables.cells import Table
from simlab.tables.pairs import COUNTS, Gathered, one_by_one
from simlab.tables.repeated_rows import (
    RepeatedRows,
    copied_lines,
    read_again,
    refuse_criteria,
    tells_apart,
    without_lines,
)

_USED = frozenset(("system_a", "system_b", "pair", "item", "rater", "document", "doc", "segment", "winner", "source"))


def drop_copies(found: Gathered, table: Table) -> int:
    """Leave out comparisons whose rows are copies of others; return how many human ones were.

    Raises InputError where a column of criteria tells apart what one rater said of two outputs.
    """
    if "item" not in table.header or not one_by_one(table.header):
        return 0
    repeated = _repeated(found, table)
    if not repeated.groups:
        return 0
    copies = copied_lines(repeated, rater_known=bool(found.raters))
    _refuse_criteria(without_lines(repeated, copies), found, table)
    dropped = found.votes["human"].drop(copies)
    for source, votes in found.votes.items():
        if source != "human":
            votes.drop(copies)
    return dropped


def _repeated(found: Gathered, table: Table) -> RepeatedRows:
    """Group the rows in which one rater compared the same two systems on the same item, of the same document."""
    first, second, item, rater, line = found.votes["human"].columns()[:5]
    key = np.stack([np.minimum(first, second), np.maximum(first, second), item, rater])
    _, group, count = np.unique(key, axis=1, return_inverse=True, return_counts=True)
    several = np.flatnonzero((count > 1)[group.ravel()])
    lines: dict[int, list[int]] = {}
    for k in several.tolist():
        lines.setdefault(int(group.ravel()[k]), []).append(int(line[k]))
    known = _USED | COUNTS.keys() | found.votes.keys()
    used = {at for at, name in enumerate(table.header) if name in known or name.startswith("human")}
    read = read_again(table.again(), list(lines.values()), table.header, used) if lines else None
    if read is None:
        return RepeatedRows([], {}, table.header, used)
    places = [at for at, name in enumerate(table.header) if name in ("document", "doc")]
    return RepeatedRows(_split(read, places), read.cells, read.names, read.used)


def _split(repeated: RepeatedRows, places: list[int]) -> list[list[int]]:
    """Split groups by what stands in some columns."""
    split: dict[tuple[object, ...], list[int]] = {}
    for number, group in enumerate(repeated.groups):
        for line in group:
            split.setdefault((number, *(repeated.cells[line][at] for at in places)), []).append(line)
    return [group for group in split.values() if len(group) > 1]


def _refuse_criteria(repeated: RepeatedRows, found: Gathered, table: Table) -> None:
    """Raise InputError for criteria; what was asked in both orders, and nothing else, is no criterion."""
    if not repeated.groups:
        return
    places = [table.column(name) for name in ("system_a", "pair") if name in table.header]
    ordered = RepeatedRows(_split(repeated, places), repeated.cells, repeated.names, repeated.used)
    # Where the order alone tells rows apart, both were asked; criteria then differ within rows of one order.
    looked_at = [ordered] if tells_apart(repeated, places) else [ordered, repeated]
    for one in looked_at:
        if one.groups:
            known = bool(found.raters)
            refuse_criteria(one, table.where, _compared(one, found), rater_known=known, surely=True)


def _compared(repeated: RepeatedRows, found: Gathered) -> str:
    """Say what the first group of rows is about."""
    first, second, item, rater, line = found.votes["human"].columns()[:5]
    k = int(np.flatnonzero(line == min(map(min, repeated.groups)))[0])
    systems, items, raters = list(found.systems), list(found.items), list(found.raters)
    pair = f"{systems[first[k]]} and {systems[second[k]]} on item {items[item[k]]}"
    return f"{raters[rater[k]]} compared {pair}" if rater[k] >= 0 else f"{pair} were compared"
