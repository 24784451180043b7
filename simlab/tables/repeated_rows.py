"""Decide whether rows by the same rater about the same output, or pair of outputs, are copies or several criteria.

`group_rows` returns these `RepeatedRows`, `copied_lines` lists the copies among them, and `refuse_criteria` refuses a
table that mixes answers to several questions. A row that equals another in all cells is a copy. Rows that differ in a
column of few values, the same values in each group of rows, answer several questions (`aspect`, `criterion`, `turn`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from simlab.messages import clip
from simlab.tables.columns import Rows
from simlab.types import InputError

MOST_VALUES = 20
"""Most values of a column of criteria: with more it holds times, identifiers or comments."""
MOST_GROUPS = 20_000
"""Number of groups by which a column is judged."""
_TOLD_APART, _FILLED, _BY_CHANCE = 0.95, 0.5, 1e-3
_AGREE = 0.7
"""Two anonymous raters may say the same of an output this often; copies agree always."""
_TIME = re.compile(r"\d{1,4}[-/]\d{1,2}[-/]\d{1,4}.*|\d{1,2}:\d{2}.*")
_CRITERIA = frozenset(
    ("aspect", "criterion", "criteria", "dimension", "type", "turn", "question", "quality", "attribute", "property")
).union(("facet", "category", "measure", "metric", "scale", "subtask", "statement", "perspective"))
_OTHERS = frozenset(
    ("time", "timestamp", "date", "day", "start", "end", "seconds", "duration", "comment", "comments", "note", "notes")
).union(
    ("remark", "feedback", "reason", "explanation", "justification", "id", "uuid", "hash", "index", "idx", "row"),
    ("line", "order", "position", "swap", "swapped", "flipped", "side", "left", "right", "slot", "source"),
)


@dataclass(frozen=True, slots=True)
class RepeatedRows:
    """Groups of lines about the same output by the same rater, with the cells of each line.

    `names` are the columns, `used` the places of those that are read as names, scores or times.
    """

    groups: Sequence[Sequence[int]]
    cells: Mapping[int, Sequence[str]]
    names: Sequence[str]
    used: Collection[int]

    def columns(self) -> list[int]:
        """Return the places of the columns that are not read and have a name."""
        return [at for at, name in enumerate(self.names) if name and at not in self.used]


def read_again(
    rows: Rows, groups: Sequence[Sequence[int]], names: Sequence[str], used: Collection[int]
) -> RepeatedRows:
    """Read the rows of groups of lines again, with all of their cells.

    Where a line holds a row for each system (`--wide`), each of its cells holds what stands in all of these rows.
    """
    wanted = {line for group in groups for line in group}
    cells: dict[int, list[str]] = {}
    for line, row in rows:
        if line in wanted:
            stripped = [cell.strip() for cell in row[: len(names)]]
            filled = stripped + [""] * (len(names) - len(stripped))
            before = cells.get(line, filled)
            cells[line] = [
                earlier if earlier == later else f"{earlier} {later}"
                for earlier, later in zip(before, filled, strict=True)
            ]
    known = ([line for line in dict.fromkeys(group) if line in cells] for group in groups)
    return RepeatedRows([group for group in known if len(group) > 1], cells, names, used)


def group_rows(
    rows: Callable[[], Rows], key: Callable[[Sequence[str]], object], names: Sequence[str], used: Collection[int]
) -> RepeatedRows:
    """Return the groups of two or more rows with the same key.

    `rows()` goes through all rows, anew at each call, and `key(cells)` identifies the rater and the output; `names` is
    the header, `used` are the places of columns that are read.
    """
    # Hashes take less memory than keys; rows that only share a hash fall out of the groups below.
    counts = Counter(hash(key(row)) for _, row in rows())
    repeated = {line: (key(row), row) for line, row in rows() if counts[hash(key(row))] > 1}
    groups: dict[object, list[int]] = {}
    for line, (known, _) in repeated.items():
        groups.setdefault(known, []).append(line)
    cells = {line: row for line, (_, row) in repeated.items()}
    return RepeatedRows([group for group in groups.values() if len(group) > 1], cells, names, used)


def copied_lines(repeated: RepeatedRows, *, rater_known: bool) -> list[int]:
    """List the lines that are copies of earlier ones.

    Where raters are not named, two of them may say the same. Then rows are copies only if all groups hold nothing else
    and that is no chance.
    """
    copies, pairs, others = [], 0, False
    for group in repeated.groups:
        first: dict[tuple[str, ...], int] = {}
        for line in sorted(group):
            row = tuple(repeated.cells[line])
            if row in first:
                copies.append(line)
                pairs += 1
            else:
                others = others or bool(first)
                first[row] = line
    by_chance = not rater_known and (others or _AGREE**pairs > _BY_CHANCE)
    return [] if by_chance else sorted(copies)


def drop_lines(repeated: RepeatedRows, lines: Collection[int]) -> RepeatedRows:
    """Return the groups without some lines; groups of one line are dropped."""
    gone = set(lines)
    groups = ([line for line in group if line not in gone] for group in repeated.groups)
    return RepeatedRows([group for group in groups if len(group) > 1], repeated.cells, repeated.names, repeated.used)


def criteria_columns(repeated: RepeatedRows, *, surely: bool) -> list[int]:
    """Return the places of the column, or two, whose values are criteria: they tell apart the rows of each group.

    A column has at most MOST_VALUES values, most of them in each group: they are crossed with what is repeated. Columns
    of times, identifiers and comments are none, nor are those that number the rows of a group. `surely`: a column whose
    name is not one of criteria must tell so many rows apart that it is no chance.
    """
    few = RepeatedRows(repeated.groups[:MOST_GROUPS], repeated.cells, repeated.names, repeated.used)
    candidates = [at for at in few.columns() if _may_be_criteria(few, at)]
    candidates.sort(key=lambda at: not _is_criterion(few.names[at]))
    for chosen in [*((at,) for at in candidates), *combinations(candidates, 2)]:
        named = all(_is_criterion(few.names[at]) for at in chosen)
        if (
            separates(few, chosen)
            and _is_crossed(few, chosen)
            and (named or not surely or _chance(few, chosen) < _BY_CHANCE)
        ):
            return list(chosen)
    return []


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


def _is_criterion(name: str) -> bool:
    return bool(_CRITERIA.intersection(_words(name)))


def _may_be_criteria(repeated: RepeatedRows, at: int) -> bool:
    values = Counter(repeated.cells[line][at] for group in repeated.groups for line in group)
    if not 2 <= len(values) <= MOST_VALUES or values[""]:
        return False
    if _is_criterion(repeated.names[at]):
        return True
    other = _OTHERS.intersection(_words(repeated.names[at])) or all(map(_TIME.fullmatch, values))
    return not other and not _numbers_rows(repeated, at)


def _numbers_rows(repeated: RepeatedRows, at: int) -> bool:
    """True if a column numbers the rows of each group, from 0 or 1."""
    sizes = {frozenset(repeated.cells[line][at] for line in group): len(group) for group in repeated.groups}
    return any(all(own == {str(start + k) for k in range(n)} for own, n in sizes.items()) for start in (0, 1))


def separates(repeated: RepeatedRows, columns: Sequence[int]) -> bool:
    """True if the rows of nearly every group all differ in `columns` (places)."""
    apart = sum(len(_find_values(repeated, group, columns)) == len(group) for group in repeated.groups)
    return bool(repeated.groups) and apart >= _TOLD_APART * len(repeated.groups)


def _is_crossed(repeated: RepeatedRows, columns: Sequence[int]) -> bool:
    """True if most values of some columns are met in each group, and each in more than one."""
    met = Counter(values for group in repeated.groups for values in _find_values(repeated, group, columns))
    n = len(repeated.groups)
    return met.total() >= _FILLED * n * len(met) and (n < 2 or min(met.values()) >= 2)


def _find_values(repeated: RepeatedRows, group: Sequence[int], columns: Sequence[int]) -> set[tuple[str, ...]]:
    return {tuple(repeated.cells[line][at] for at in columns) for line in group}


def _chance(repeated: RepeatedRows, columns: Sequence[int]) -> float:
    """Return the chance that values dealt at random tell the rows of all groups apart."""
    values = Counter(tuple(repeated.cells[line][at] for at in columns) for group in repeated.groups for line in group)
    n = sum(values.values())
    same = sum((count / n) ** 2 for count in values.values())
    # As with birthdays: a row agrees with one of k others about k times as often as two rows agree.
    logs = (math.log(max(1 - k * same, 1e-9)) for group in repeated.groups for k in range(1, len(group)))
    return math.exp(sum(logs))


def refuse_criteria(repeated: RepeatedRows, file: str, what: str, *, rater_known: bool, surely: bool) -> None:
    """Raise InputError where repeated rows answer several questions; `what` describes the first group in the message.

    `surely` as in `criteria_columns`.
    """
    columns = criteria_columns(repeated, surely=surely)
    if not columns:
        return
    lines = sorted(min(repeated.groups, key=min))
    shown = " and ".join(f"{clip(repeated.names[at], 40)} ({_values(repeated, at)})" for at in columns)
    words = [f"--where {_word(repeated.names[at], repeated.cells[lines[0]][at])}" for at in columns]
    column = clip(repeated.names[columns[0]], 40)
    unnamed = not rater_known and not _is_criterion(column)
    rater = f"; or, if it says who rated: --columns rater={column}" if unnamed else ""
    raise InputError(
        f"{file}, line {lines[1]}: {clip(what, 200)}, as on line {lines[0]}; the rows differ in {shown}, and answers"
        f" to several questions make none: read those to one of them, {' '.join(words)}{rater}"
    )


def _values(repeated: RepeatedRows, at: int) -> str:
    values = list(dict.fromkeys(repeated.cells[line][at] for group in repeated.groups for line in group))
    return clip(", ".join(values[:6]) + (", ..." if len(values) > 6 else ""), 120)


def _word(column: str, value: str) -> str:
    """Write COLUMN=VALUE as a shell reads it."""
    import shlex

    return shlex.quote(f"{column}={value}")
