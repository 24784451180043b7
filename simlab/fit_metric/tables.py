"""Read what a metric said: of outputs that humans scored, of pairs that humans compared, or of corrupted sentences."""

from __future__ import annotations

import csv
import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from simlab.types import Array, Floats, InputError, Ints
from simlab.world.table_lines import numbered_lines, shown

OUTCOMES = (">", "=", "<")
MOST_SYSTEMS = 200
MOST_CELLS = 50_000_000
"""Outputs are compared pair by pair; more comparisons than this are no pilot."""

_FORMS = (
    "outputs (columns system, item, human and one or more metrics), preferences (item, system_a and system_b or pair, "
    "human, metric), or the scores that `simlab mutt TRIALS --scores FILE.csv` writes"
)
_NOT_METRICS = frozenset(
    ("system", "item", "rater", "annotator", "document", "doc", "segment", "pair", "system_a", "system_b")
)
_MISSING = frozenset(("", "na", "n/a", "nan", "none", "null"))
_INFINITE = frozenset(("inf", "-inf", "+inf", "infinity", "-infinity"))


@dataclass(frozen=True, slots=True)
class Outputs:
    """Hold outputs that humans scored: `system[output]`, `item[output]` (numbered in the order of the table).

    `human[output, repeat]` are ratings, NaN = a gap; `metrics[name][output]` are scores, NaN where there is none.
    """

    system: Ints
    item: Ints
    system_names: tuple[str, ...]
    n_items: int
    human: Floats
    metrics: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Preferences:
    """Hold pairs of outputs that humans compared.

    `pair[comparison]` and `item[comparison]` are numbers, `human[comparison, outcome]` the shares of its ratings that
    say `>`, `=`, `<`; `metrics[name][comparison]` is 0, 1, 2 = `>`, `=`, `<`, -1 where the metric says nothing.
    `ratings[pair, outcome]` counts human ratings. `pair_names[pair]` are the two systems; pairs are (i, j), i < j.
    """

    pair: Ints
    item: Ints
    human: Floats
    ratings: Floats
    pair_names: tuple[tuple[str, str], ...]
    system_names: tuple[str, ...]
    n_items: int
    metrics: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Trials:
    """Hold raw score pairs of one metric's unit tests: `original[trial]`, `corrupted[trial]`, NaN where one is missing.

    `corruption[trial]` numbers the kinds of corruption, `preserving[trial]` says which leave the meaning as it is.
    """

    name: str
    lower_is_better: bool
    corruption: Ints
    preserving: Array
    original: Floats
    corrupted: Floats


Data: TypeAlias = Outputs | Preferences | tuple[Trials, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    where: str
    header: tuple[str, ...]
    rows: Sequence[tuple[int, list[str]]]

    def at(self, line: int) -> str:
        return f"{self.where}, line {line}"

    def column(self, name: str) -> int:
        return self.header.index(name)


def read(path: Path, metrics: Sequence[str] = (), references: int | None = None) -> Data:
    """Read a table, whichever of the three forms its header says; `metrics` names the metrics to be fitted (all).

    Raises InputError naming file, line and value for what is none of them, malformed, or asked for and not there.
    """
    table = _table(path)
    names = set(table.header)
    if "pass_rate" in names:
        raise InputError(
            f"{table.where}: pass rates come from two rules with clashing margins and make no matrix; give the scores "
            "themselves: simlab mutt TRIALS --scores FILE.csv"
        )
    if {"original", "corrupted", "kind", "metric"} <= names:
        return _trials(table, metrics, references)
    if references is not None:
        raise InputError("--references belongs to scores of unit tests; leave it out for this table")
    if "item" in names and "human" in names and ({"system_a", "system_b"} <= names or "pair" in names):
        return _preferences(table, metrics)
    if {"system", "item"} <= names and _human_columns(table):
        return _outputs(table, metrics)
    raise InputError(f"{table.where}: columns {shown(', '.join(table.header), 120)} are no table of {_FORMS}")


def _table(path: Path) -> _Table:
    where = shown(path)
    lines = numbered_lines(path)
    _, first = next(lines, (0, ""))
    if not first.strip():
        raise InputError(f"{where}: the first line is empty; it must name the columns of a table of {_FORMS}")
    tabbed = "\t" in first
    header = tuple(cell.strip() for cell in next(_split([first], tabbed, where)))
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise InputError(f"{where}, line 1: the column {shown(twice, 40)!r} is there twice; name each once")
    rows = []
    for number, line in lines:
        if not line.strip():
            continue
        cells = next(_split([line], tabbed, f"{where}, line {number}"))
        if len(cells) != len(header):
            raise InputError(f"{where}, line {number}: has {len(cells)} cells for {len(header)} columns; mend the line")
        rows.append((number, [cell.strip() for cell in cells]))
    if not rows:
        raise InputError(f"{where}: holds no rows below its header; give a table of {_FORMS}")
    return _Table(where, header, rows)


def _split(lines: Sequence[str], tabbed: bool, where: str) -> Iterator[list[str]]:
    # Published .tsv tables do not quote; a quotation mark there is part of the text.
    quoting: Any = csv.QUOTE_NONE if tabbed else csv.QUOTE_MINIMAL
    try:
        yield from csv.reader(lines, delimiter="\t" if tabbed else ",", quoting=quoting, strict=True)
    except csv.Error as error:
        raise InputError(
            f"{where}: is no line of comma-separated values ({error}); mend its quotation marks"
        ) from error


def _human_columns(table: _Table) -> list[int]:
    return [k for k, name in enumerate(table.header) if name == "human" or name.startswith(("human_", "human "))]


def _metric_columns(table: _Table, asked: Sequence[str]) -> dict[str, int]:
    others = [k for k in range(len(table.header)) if k not in _human_columns(table)]
    there = {table.header[k]: k for k in others if table.header[k] and table.header[k] not in _NOT_METRICS}
    for name in asked:
        if name not in there:
            raise InputError(
                f"--metrics {shown(name, 40)}: {table.where} has no such metric; {_or_one_of(name, there)}"
            )
    return {name: there[name] for name in dict.fromkeys(asked)} if asked else there


def _or_one_of(name: str, there: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, there, 1)
    return f"did you mean {close[0]}?" if close else f"it has {shown(', '.join(there) or 'none', 200)}"


def _number(text: str, where: str, column: str) -> float:
    """Read a number; NaN for what is missing or not finite."""
    folded = text.lower()
    if folded in _MISSING or folded in _INFINITE:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        raise InputError(
            f"{where}: {column}={shown(text, 40)!r} is no number; mend it, leave it empty, or name the metrics "
            "with --metrics"
        ) from None
    return value if math.isfinite(value) else math.nan


def _named(table: _Table, cells: Sequence[str], line: int, column: str) -> str:
    name = cells[table.column(column)]
    if not name:
        raise InputError(f"{table.at(line)}: {column} is empty; every row needs one")
    return name


class _Numbers(dict[Any, int]):
    """Number things in the order in which they come."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


def _outputs(table: _Table, asked: Sequence[str]) -> Outputs:
    columns, human = _metric_columns(table, asked), _human_columns(table)
    systems, items, outputs = _Numbers(), _Numbers(), _Numbers()
    ratings: list[list[float]] = []
    scores: dict[str, list[float]] = {name: [] for name in columns}
    seen: list[int] = []
    for line, cells in table.rows:
        system, item = (_named(table, cells, line, column) for column in ("system", "item"))
        output = outputs[systems[system], items[item]]
        if output == len(ratings):
            ratings.append([])
            seen.append(line)
            for column in scores.values():
                column.append(math.nan)
        given = [_number(cells[k], table.at(line), table.header[k]) for k in human]
        ratings[output] += [value for value in given if not math.isnan(value)]
        for name, k in columns.items():
            value, known = _number(cells[k], table.at(line), name), scores[name][output]
            if not (math.isnan(value) or math.isnan(known) or value == known):
                raise InputError(
                    f"{table.at(line)}: {name}={value:g} of {shown(system, 40)} on {shown(item, 40)}, and {known:g} in "
                    f"line {seen[output]}; repeats of an output are humans', a metric has one score of it"
                )
            scores[name][output] = known if math.isnan(value) else value
    _check_systems(len(systems), table)
    at = np.array(list(outputs), np.int64)
    return Outputs(
        at[:, 0], at[:, 1], tuple(systems), len(items), _padded(ratings),
        {name: np.array(column) for name, column in scores.items()},
    )  # fmt: skip


def _padded(ratings: Sequence[Sequence[float]]) -> Floats:
    found = np.full((len(ratings), max(1, max(map(len, ratings)))), np.nan)
    for row, values in zip(found, ratings, strict=True):
        row[: len(values)] = values
    return found


def _check_systems(n: int, table: _Table) -> None:
    if n > MOST_SYSTEMS:
        raise InputError(
            f"{table.where}: {n} systems are more than {MOST_SYSTEMS} that can be compared; does `system` name them?"
        )


def _preferences(table: _Table, asked: Sequence[str]) -> Preferences:
    columns = _metric_columns(table, asked)
    two = _pair_reader(table)
    systems, items = _Numbers(), _Numbers()
    found: dict[tuple[int, int, int], _Comparison] = {}
    for line, cells in table.rows:
        first, second = two(cells, line)
        i, j = systems[first], systems[second]
        turned = i > j
        key = (min(i, j), max(i, j), items[_named(table, cells, line, "item")])
        comparison = found.setdefault(key, _Comparison(line, np.zeros(3), dict.fromkeys(columns, -1)))
        human = _outcome(cells[table.column("human")], table.at(line), "human", turned=turned)
        if human >= 0:
            comparison.human[human] += 1
        for name, k in columns.items():
            said, known = _outcome(cells[k], table.at(line), name, turned=turned), comparison.said[name]
            if said >= 0 and known >= 0 and said != known:
                raise InputError(
                    f"{table.at(line)}: {name} says {OUTCOMES[said]} of what it said {OUTCOMES[known]} of in line "
                    f"{comparison.line}; repeats are humans', a metric compares two outputs once"
                )
            comparison.said[name] = max(said, known)
    _check_systems(len(systems), table)
    return _compared(found, systems, items)


@dataclass(frozen=True, slots=True)
class _Comparison:
    line: int
    human: Floats
    said: dict[str, int]


def _compared(
    found: Mapping[tuple[int, int, int], _Comparison], systems: Mapping[str, int], items: Mapping[str, int]
) -> Preferences:
    names = tuple(systems)
    pairs = {key: index for index, key in enumerate(sorted({key[:2] for key in found}))}
    pair = np.array([pairs[key[:2]] for key in found])
    count = np.array([comparison.human for comparison in found.values()])
    ratings = np.zeros((len(pairs), 3))
    np.add.at(ratings, pair, count)
    total = count.sum(1, keepdims=True)
    metrics = next(iter(found.values())).said
    return Preferences(
        pair,
        np.array([key[2] for key in found]),
        np.divide(count, total, out=np.zeros_like(count), where=total > 0),
        ratings,
        tuple((names[i], names[j]) for i, j in pairs),
        names,
        len(items),
        {name: np.array([comparison.said[name] for comparison in found.values()]) for name in metrics},
    )


def _pair_reader(table: _Table) -> Callable[[Sequence[str], int], tuple[str, str]]:
    """Return what reads the two systems of a row: from two columns, or from a name such as `A|B`."""

    def from_columns(cells: Sequence[str], line: int) -> tuple[str, str]:
        first, second = (_named(table, cells, line, column) for column in ("system_a", "system_b"))
        if first == second:
            raise InputError(
                f"{table.at(line)}: system_a and system_b are both {shown(first, 40)}; compare two systems"
            )
        return first, second

    def from_name(cells: Sequence[str], line: int) -> tuple[str, str]:
        name = _named(table, cells, line, "pair")
        parts = [part.strip() for part in name.split("|")]
        if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
            raise InputError(
                f"{table.at(line)}: pair={shown(name, 40)!r} must name two systems, as in A|B; or give "
                "columns system_a and system_b"
            )
        return parts[0], parts[1]

    return from_columns if "system_a" in table.header else from_name


def _outcome(text: str, where: str, column: str, *, turned: bool) -> int:
    if text.lower() in _MISSING:
        return -1
    if text not in OUTCOMES:
        raise InputError(
            f"{where}: {column}={shown(text, 40)!r} must be >, = or < (or empty); name the metrics' columns with "
            "--metrics"
        )
    outcome = OUTCOMES.index(text)
    return 2 - outcome if turned else outcome


def _trials(table: _Table, asked: Sequence[str], references: int | None) -> tuple[Trials, ...]:
    if "references" in table.header:
        table = _with_references(table, references)
    names: dict[str, list[tuple[int, list[str]]]] = {}
    for line, cells in table.rows:
        names.setdefault(_named(table, cells, line, "metric"), []).append((line, cells))
    for name in asked:
        if name not in names:
            raise InputError(
                f"--metrics {shown(name, 40)}: {table.where} has no such metric; {_or_one_of(name, names)}"
            )
    return tuple(_trials_of(table, name, names[name]) for name in asked or names)


def _with_references(table: _Table, wanted: int | None) -> _Table:
    """Keep the trials with one number of references; raise InputError where there are several and none is chosen."""
    at = table.column("references")
    there = list(dict.fromkeys(cells[at] for _, cells in table.rows))
    if wanted is None and len(there) > 1:
        raise InputError(
            f"{table.where}: trials have {shown(', '.join(there), 60)} references, and a metric is another with each; "
            f"choose --references {there[0]}"
        )
    if wanted is not None and str(wanted) not in there:
        raise InputError(
            f"--references {wanted}: {table.where} has trials with {shown(', '.join(there), 60)}; choose one"
        )
    chosen = there[0] if wanted is None else str(wanted)
    return _Table(table.where, table.header, [row for row in table.rows if row[1][at] == chosen])


def _trials_of(table: _Table, name: str, rows: Sequence[tuple[int, list[str]]]) -> Trials:
    kinds = _Numbers()
    corruption, preserving, scores, lower = [], [], [], set()
    for line, cells in rows:
        kind = cells[table.column("kind")]
        if kind not in ("altering", "disrupting", "preserving"):
            raise InputError(f"{table.at(line)}: kind={shown(kind, 40)!r} must be altering, disrupting or preserving")
        preserving.append(kind == "preserving")
        corruption.append(kinds[cells[table.column("corruption")] if "corruption" in table.header else kind])
        scores.append([_number(cells[table.column(c)], table.at(line), c) for c in ("original", "corrupted")])
        lower.add(cells[table.column("lower_is_better")].lower() if "lower_is_better" in table.header else "false")
    if len(lower) > 1 or not lower <= {"true", "false"}:
        raise InputError(
            f"{table.where}: lower_is_better of {shown(name, 40)} is {shown(', '.join(sorted(lower)), 60)}; it must be "
            "True or False, the same in all its rows"
        )
    both = np.array(scores)
    return Trials(name, lower == {"true"}, np.array(corruption), np.array(preserving), both[:, 0], both[:, 1])
