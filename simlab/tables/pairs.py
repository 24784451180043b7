"""Gather who won each comparison from the rows of a table of preferences.

A source is humans or one metric; each has a column, or rows of its own, or the table counts outcomes. Call `gather`,
then `drop_copies`, which leaves copies of rows out and refuses mixed answers to several questions, then `comparisons`.
`preferences.read_table` does all three.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from simlab.messages import clip
from simlab.tables.cells import CellTable, check_wanted, read_name
from simlab.tables.columns import EMPHATIC, FIRST, NO_METRICS, SECOND, TIE, fold_name, is_emphatic
from simlab.tables.names import NO_NAMES, Numbers
from simlab.tables.numbers import is_missing
from simlab.tables.repeated_rows import (
    RepeatedRows,
    copied_lines,
    drop_lines,
    read_again,
    refuse_criteria,
    separates,
)
from simlab.tables.winners import (
    CellReadings,
    SourceVotes,
    WinnerComparisons,
    no_outcome,
    read_cell,
    refuse_contradictions,
    resolve,
)
from simlab.types import InputError

MOST_COMPARISONS = 2_000_000
MOST_MISTAKES = 0.2
"""Largest share of first cells without a preference in a column that is still a metric's, with mistakes."""
COUNTS = {"a_wins": FIRST, "ties": TIE, "b_wins": SECOND}
_NOT_METRICS = frozenset(
    ("system_a", "system_b", "pair", "item", "rater", "document", "doc", "segment", "source", "seconds", "order", "")
).union(COUNTS)
_USED = frozenset(("system_a", "system_b", "pair", "item", "rater", "document", "doc", "segment", "winner", "source"))


@dataclass(slots=True)
class PairCollector:
    """Rows of a table of preferences: systems, items and raters by number, and each source's votes (`human` is one).

    `document_of[item]` is the document of an item; empty where the table names no documents. `rows` were read, `gaps`
    of their human cells are empty. `notes` are on rows that were left out, `remarks` on how cells were read.
    """

    systems: Numbers = field(default_factory=Numbers)
    items: Numbers = field(default_factory=Numbers)
    documents: Numbers = field(default_factory=Numbers)
    document_of: array[int] = field(default_factory=lambda: array("q"))
    raters: Numbers = field(default_factory=Numbers)
    votes: dict[str, SourceVotes] = field(default_factory=lambda: {"human": SourceVotes()})
    rows: int = 0
    gaps: int = 0
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def has_winner(header: Sequence[str]) -> bool:
    """True if columns (by our names) hold the winner of each comparison, or counts of wins."""
    return bool(_human_columns(header)) or {"a_wins", "b_wins"} <= set(header)


def is_one_by_one(header: Sequence[str]) -> bool:
    """True if each row is one comparison, not counts of outcomes."""
    return "source" in header or bool(_human_columns(header))


def list_unused(header: Sequence[str], metrics: Collection[str]) -> tuple[str, ...]:
    """Return the columns that are not read."""
    used = {"system_a", "system_b", "document", "item", "rater", "source", *COUNTS, *metrics, *_human_columns(header)}
    used |= set() if "system_a" in header else {"pair"}
    return tuple(name for name in header if name and name not in used)


def gather(table: CellTable, metrics: Sequence[str] | None) -> PairCollector:
    """Collect the rows of a table; `metrics` are those to be read (empty: every one; None: no metric).

    Raises InputError for a row that is no comparison.
    """
    collector = PairCollector()
    if {"winner", "human"} <= set(table.header):
        raise InputError(f"{table.where}, line 1: winner and human both say what humans prefer; keep one of them")
    if "source" in table.header:
        _read_long(collector, table, metrics)
    elif not _human_columns(table.header):
        _read_counts(collector, table, metrics)
    else:
        _read_wide(collector, table, metrics)
    return collector


def comparisons(collector: PairCollector, table: CellTable) -> dict[str, WinnerComparisons]:
    """Return the comparisons of each source, by its name: `human`, or that of a metric.

    Raises InputError for a metric that answers the same comparison twice, differently, and for words with two meanings.
    """
    by_source = {}
    for source, votes in collector.votes.items():
        column = "winner" if source == "human" and "winner" in table.header else source
        by_source[source], means = resolve(votes, column, table)
        collector.remarks.extend([means] if means else [])
        if source != "human":
            refuse_contradictions(by_source[source], source, table)
    return by_source


def _read_wide(collector: PairCollector, table: CellTable, metrics: Sequence[str] | None) -> None:
    """Read a column for humans, or several, and one for each metric."""
    humans = [(name, table.column(name)) for name in _human_columns(table.header)]
    others = {name: table.column(name) for name in _metric_columns(table.header, metrics, table.where)}
    if not metrics:
        for name, shown in list(_no_verdicts(table, others)):
            what = f"whose {clip(shown, 40)!r} is no preference"
            collector.notes.append(f"left out: the column {clip(name, 40)}, {what}")
            del others[name]
    for at, cells, first, second in _rows(collector, table):
        for name, k in humans:
            answer = _read_cell(cells[k], first, second, table.locate(at[4]), name, numbers=True)
            if answer is None:
                collector.gaps += 1
            else:
                collector.votes["human"].add(at, answer)
                collector.remarks += [EMPHATIC] if is_emphatic(cells[k]) and EMPHATIC not in collector.remarks else []
        # A copy, since columns that hold no preferences are taken out on the way.
        for name, k in list(others.items()):
            if is_missing(cells[k]):
                continue
            # A column that has held preferences so far is one of a metric, and what is none in it is a mistake.
            if not metrics and name not in collector.votes and read_cell(cells[k], first, second) is None:
                collector.notes.append(
                    f"left out: the column {clip(name, 40)}, whose {clip(cells[k], 40)!r} is no preference"
                )
                del others[name]
                continue
            answer = read_cell(cells[k], first, second)
            if answer is None:
                raise InputError(
                    f"{no_outcome(cells[k], table.locate(at[4]), name)}; or name the metrics with --metrics"
                )
            collector.votes.setdefault(name, SourceVotes()).add(at, answer)


def _no_verdicts(table: CellTable, columns: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Go through the columns whose first cells are mostly no preferences, each with such a cell."""
    two = _pair_reader(table)
    rows = []
    for cells in table.first_rows():
        with suppress(InputError):  # a row that names no two systems is refused where rows are read, with its line
            rows.append((cells, *two(cells, 0)))
    for name, k in columns.items():
        filled = [(cells[k], first, second) for cells, first, second in rows if not is_missing(cells[k])]
        wrong = [cell for cell, first, second in filled if read_cell(cell, first, second) is None]
        if len(wrong) > MOST_MISTAKES * len(filled):
            yield name, wrong[0]


def _read_long(collector: PairCollector, table: CellTable, metrics: Sequence[str] | None) -> None:
    """Read a row for each source: `human`, or the name of a metric."""
    column, source = _human_columns(table.header)[0], table.column("source")
    k = table.column(column)
    for at, cells, first, second in _rows(collector, table):
        name = cells[source]
        if not name:
            raise InputError(f"{table.locate(at[4])}: source is empty; write human or the name of a metric")
        name = "human" if name.lower() in ("human", "humans") else name
        answer = _read_cell(cells[k], first, second, table.locate(at[4]), column)
        if answer is None:
            collector.gaps += name == "human"
        elif name == "human" or (metrics is not None and (not metrics or name in metrics)):
            collector.votes.setdefault(name, SourceVotes()).add(at, answer)
    check_wanted(metrics or (), [name for name in collector.votes if name != "human"], table.where)


def _read_counts(collector: PairCollector, table: CellTable, metrics: Sequence[str] | None) -> None:
    """Read counts of wins and ties."""
    check_wanted(metrics or (), [], table.where)
    columns = {name: table.column(name) for name in COUNTS if name in table.header}
    total = 0
    for at, cells, _, _ in _rows(collector, table):
        for name, k in columns.items():
            times = _count(cells[k], table.locate(at[4]), name)
            total += times
            if total > MOST_COMPARISONS:
                raise InputError(
                    f"{table.locate(at[4])}: counts add up to more than {MOST_COMPARISONS:,}; are they counts?"
                )
            if times:
                collector.votes["human"].add(at, CellReadings(-1, COUNTS[name]), times)
    if not total:
        raise InputError(f"{table.where}: all counts are 0; count comparisons in a_wins, ties and b_wins")


def _count(text: str, where: str, column: str) -> int:
    if is_missing(text):
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise InputError(f"{where}: {column}={clip(text, 40)!r} must be a whole number of comparisons from 0")
    return int(text)


def _rows(
    collector: PairCollector, table: CellTable
) -> Iterator[tuple[tuple[int, int, int, int, int], list[str], str, str]]:
    """Number what rows name: yield (first, second, item, rater, line), the cells, and the names of the two systems."""
    two = _pair_reader(table)
    item = _item_reader(collector, table)
    rater = table.column("rater") if "rater" in table.header else None
    for line, cells in table.rows:
        collector.rows += 1
        first, second = two(cells, line)
        which = item(cells, line)
        # Metrics have no rater, and stand in rows of their own where there is a column for it.
        who = -1 if rater is None or cells[rater] in NO_NAMES else collector.raters[cells[rater]]
        yield (collector.systems[first], collector.systems[second], which, who, line), cells, first, second


def _item_reader(collector: PairCollector, table: CellTable) -> Callable[[Sequence[str], int], int]:
    """Return what numbers the item of a row, -1 where none is named: items of two documents are never the same.

    A document without items is an item of its own.
    """
    columns = [name for name in ("document", "item") if name in table.header]

    def number(cells: Sequence[str], line: int) -> int:
        names = [read_name(table, cells, line, column) for column in columns]
        which = collector.items[": ".join(names)]
        # An item that is met for the first time has the next number.
        if columns[0] == "document" and which == len(collector.document_of):
            collector.document_of.append(collector.documents[names[0]])
        return which

    return number if columns else lambda cells, line: -1


def _pair_reader(table: CellTable) -> Callable[[Sequence[str], int], tuple[str, str]]:
    """Return what reads the two systems of a row: from two columns, or from a name such as `A|B`."""

    def read_columns(cells: Sequence[str], line: int) -> tuple[str, str]:
        first, second = (read_name(table, cells, line, column) for column in ("system_a", "system_b"))
        if first == second:
            raise InputError(
                f"{table.locate(line)}: system_a and system_b are both {clip(first, 40)}; compare two systems"
            )
        return first, second

    def split_name(cells: Sequence[str], line: int) -> tuple[str, str]:
        name = read_name(table, cells, line, "pair")
        parts = [part.strip() for part in name.split("|")]
        if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
            raise InputError(
                f"{table.locate(line)}: pair={clip(name, 40)!r} must name two systems, as in A|B; or give "
                "columns system_a and system_b"
            )
        return parts[0], parts[1]

    return read_columns if "system_a" in table.header else split_name


def _read_cell(
    text: str, first: str, second: str, where: str, column: str, *, numbers: bool = False
) -> CellReadings | None:
    # A system may bear a name, such as NA, that elsewhere marks a gap.
    if is_missing(text) and text not in (first, second):
        return None
    answer = read_cell(text, first, second, numbers=numbers)
    if answer is None:
        raise no_outcome(text, where, column)
    return answer


def _human_columns(header: Sequence[str]) -> list[str]:
    """Return the columns of humans: `winner` or `human`, or several whose names begin with `human`."""
    return [name for name in header if name in ("winner", "human") or name.startswith(("human_", "human "))]


def _metric_columns(header: Sequence[str], metrics: Sequence[str] | None, where: str) -> list[str]:
    if metrics is None:
        return []
    there = [name for name in header if name not in _NOT_METRICS and name not in _human_columns(header)]
    check_wanted(metrics, there, where)
    return list(dict.fromkeys(metrics)) if metrics else [name for name in there if fold_name(name) not in NO_METRICS]


def drop_copies(collector: PairCollector, table: CellTable) -> int:
    """Leave out comparisons whose rows are copies of others; return how many human ones were.

    Raises InputError where a column of criteria tells apart what one rater said of two outputs.
    """
    if "item" not in table.header or not is_one_by_one(table.header):
        return 0
    repeated = _find_repeats(collector, table)
    if not repeated.groups:
        return 0
    copies = copied_lines(repeated, rater_known=bool(collector.raters))
    _refuse_criteria(drop_lines(repeated, copies), collector, table)
    dropped = collector.votes["human"].drop(copies)
    for source, votes in collector.votes.items():
        if source != "human":
            votes.drop(copies)
    return dropped


def _find_repeats(collector: PairCollector, table: CellTable) -> RepeatedRows:
    """Group the rows in which one rater compared the same two systems on the same item, of the same document."""
    first, second, item, rater, line = collector.votes["human"].columns()[:5]
    key = np.stack([np.minimum(first, second), np.maximum(first, second), item, rater])
    _, group, count = np.unique(key, axis=1, return_inverse=True, return_counts=True)
    several = np.flatnonzero((count > 1)[group.ravel()])
    lines: dict[int, list[int]] = {}
    for k in several.tolist():
        lines.setdefault(int(group.ravel()[k]), []).append(int(line[k]))
    known = _USED | COUNTS.keys() | collector.votes.keys()
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


def _refuse_criteria(repeated: RepeatedRows, collector: PairCollector, table: CellTable) -> None:
    """Raise InputError for criteria; what was asked in both orders, and nothing else, is no criterion."""
    if not repeated.groups:
        return
    places = [table.column(name) for name in ("system_a", "pair") if name in table.header]
    ordered = RepeatedRows(_split(repeated, places), repeated.cells, repeated.names, repeated.used)
    # Where the order alone tells rows apart, both were asked; criteria then differ within rows of one order.
    looked_at = [ordered] if separates(repeated, places) else [ordered, repeated]
    for rows in looked_at:
        if rows.groups:
            known = bool(collector.raters)
            refuse_criteria(rows, table.where, _state_group(rows, collector), rater_known=known, surely=True)


def _state_group(repeated: RepeatedRows, collector: PairCollector) -> str:
    """State what the first group of rows is about."""
    first, second, item, rater, line = collector.votes["human"].columns()[:5]
    k = int(np.flatnonzero(line == min(map(min, repeated.groups)))[0])
    systems, items, raters = list(collector.systems), list(collector.items), list(collector.raters)
    pair = f"{systems[first[k]]} and {systems[second[k]]} on item {items[item[k]]}"
    return f"{raters[rater[k]]} compared {pair}" if rater[k] >= 0 else f"{pair} were compared"
