"""Lay out cells of a store as tables: each measure beside its Monte-Carlo error, and what stands behind the values.

The answers of `simlab query`, and the results of `run` and `sweep`, are made of it. A cell of a store is one
combination of values on the axes; `Row` is such a cell as `view.rows` lists it: its values on the axes, and for a
measure `m` also `m_mcse`, `m_n` (campaigns), `m_clusters`, `m_low`, `m_high`. (`Cell` is an entry of a table.) `table`
or `pivot` returns a `ReportTable` of rows, `notes` the lines below it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simlab.drawing.reports import values
from simlab.drawing.reports.terms import Cell, ReportTable, Value
from simlab.drawing.text import tables
from simlab.drawing.text.tables import count_nouns
from simlab.drawing.view import View
from simlab.messages import word
from simlab.store.query import NOT_ASKED
from simlab.store.reservations import HELD_FIXED
from simlab.store.units import scopes

Row = Mapping[str, Any]

EXACT_DIGITS = 4
"""Decimals of a measure that is calculated, without error."""
BOUNDS = "≤ and ≥: 95 % bounds of what was counted never, or always; an error of 0 would say too much"
MOST_NAMED = 3
"""Measures that hold the same fixed are named; of more, they are "the others"."""


def value(row: Row, name: str, **more: Any) -> Value:
    """Return a measure of a cell as a `Value` with its error, n and interval; an error that is NaN is not known.

    `more` are further fields of the `Value`.
    """
    if not math.isfinite(row[name]):
        return Value(None, reason=str(row.get(f"{name}_reason") or ""), **more)
    if _is_calculated(row, name):
        return Value(row[name], **{"digits": EXACT_DIGITS, **more})
    low, high = (end if math.isfinite(end) else None for end in (row[f"{name}_low"], row[f"{name}_high"]))
    return Value(row[name], row[f"{name}_mcse"], row[f"{name}_n"], row[f"{name}_clusters"], low, high, **more)


def write_value(row: Row, name: str) -> str:
    """Write a measure of a cell with its error."""
    return values.format_value(value(row, name))


def table(rows: Sequence[Row], axes: Sequence[str], names: Sequence[str], caption: str = "") -> ReportTable:
    """Lay out cells with their measures, one a row; of a store without axes its measures."""
    if not axes:
        alone = ((name, value(rows[0], name)) for name in names)
        return ReportTable(caption, ("measure", "value"), tuple((name, _fix_digits(number)) for name, number in alone))
    body: tuple[tuple[Cell, ...], ...] = tuple(
        (*(word(row[axis]) for axis in axes), *(value(row, name) for name in names)) for row in rows
    )
    return ReportTable(caption, (*axes, *names), body)


def _fix_digits(value: Value) -> Value:
    """Keep the decimals of a number beside others that are of another kind."""
    return value if value.digits is not None else replace(value, digits=tables.decimals([_fill_with_nan(value.error)]))


def pivot(rows: Sequence[Row], name: str, down: Sequence[str], across: str, caption: str = "") -> ReportTable:
    """Lay out one measure of cells, the axes `down` in rows and the values of another one in columns.

    All numbers have the same decimals. A cell that is not among the rows is empty.
    """
    columns = list(dict.fromkeys(word(row[across]) for row in rows))
    digits = tables.decimals([row[f"{name}_mcse"] for row in rows])
    at: dict[tuple[str, ...], dict[str, Value]] = {}
    for row in rows:
        exact = {} if _is_calculated(row, name) else {"digits": digits}
        at.setdefault(tuple(word(row[axis]) for axis in down), {})[word(row[across])] = value(row, name, **exact)
    body = tuple(
        (*place, *(values_by_column.get(column) for column in columns)) for place, values_by_column in at.items()
    )
    return ReportTable(caption, (*down, *columns), body, across)


def tables_of_figure(rows: Sequence[Row], view: View, names: Sequence[str]) -> list[ReportTable]:
    """Lay out measures of a figure, the x axis down and the lines across, one table for each panel and measure.

    Where the figure shows other measures besides, one table has all measures of a cell.
    """
    if view.besides:
        return [table(rows, [*view.panels, *([view.line] if view.line else []), view.x], names)]
    return [laid for name in names for laid in _panels(rows, view, name)]


def _panels(rows: Sequence[Row], view: View, name: str) -> Iterator[ReportTable]:
    """Yield a titled table of a measure for each panel."""
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(", ".join([name, *(f"{axis}={word(row[axis])}" for axis in view.panels)]), []).append(row)
    for title, part in parts.items():
        yield pivot(part, name, [view.x], view.line, title) if view.line else table(part, [view.x], [name], title)


def notes(rows: Sequence[Row], names: Sequence[str], axes: Sequence[str], shown: Sequence[ReportTable]) -> list[str]:
    """State what stands behind the values of tables, what their signs mean, and what is left out of them.

    `shown` are the tables in which the measures `names` of the rows stand.
    """
    written = " ".join(cell for laid in shown for line in values.cells(laid) for cell in line)
    scope = scopes([*axes, *names])
    return [
        _describe_replication(rows, names),
        *([scope] if scope else []),
        *([BOUNDS] if "≤" in written or "≥" in written else []),
        *([tables.explain_missing_error(_name_cluster(rows, names))] if "± ?" in written else []),
        *_explain_dashes(rows, names),
        *failures(rows, names),
    ]


def known_names(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Return the names of the measures that have a value in some cell."""
    return [name for name in names if any(math.isfinite(row[name]) for row in rows)]


def missing_measures(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """State which measures have no value at all, and why, a line for each reason."""
    known = known_names(rows, names)
    named: dict[str, list[str]] = {}
    for name in names:
        if name not in known:
            reasons = dict.fromkeys(row.get(f"{name}_reason") for row in rows)
            named.setdefault("; ".join(reason for reason in reasons if reason), []).append(name)
    return [f"no value in these cells: {', '.join(of)}{f' ({why})' if why else ''}" for why, of in named.items()]


def failures(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Return a line on how many campaigns failed, which chance does not explain; none where all were carried out."""
    failed = [max(row[f"{name}_failed"] for name in names) for row in rows]
    if not sum(failed):
        return []
    ran = [count + max(row[f"{name}_n"] for name in names) for count, row in zip(failed, rows, strict=True)]
    cells = f" in {sum(map(bool, failed))} of {count_nouns([len(rows)], 'cell')}" if len(rows) > 1 else ""
    return [f"{sum(failed)} of {count_nouns([sum(ran)], 'campaign')} failed{cells} and are left out of the values"]


def describe_fixed(row: Row, names: Sequence[str]) -> str:
    """State what measures hold fixed: whose repetition, or which studies, their numbers are about; '' where nothing is.

    >>> describe_fixed({"held_fixed": {"srp": "raters, documents", "power": "nothing but the law"}}, ["srp", "power"])
    'raters, documents in srp; nothing but the law in power'
    """
    held_fixed = row.get(HELD_FIXED)
    named: dict[str, list[str]] = {}
    for name in names:
        if isinstance(held_fixed, Mapping) and name in held_fixed:
            named.setdefault(held_fixed[name], []).append(name)
    if len(named) < 2:
        return "".join(named)
    most = max(named, key=lambda words: len(named[words]))
    rest = most if len(named[most]) > MOST_NAMED else None
    clauses = [f"{words} in {', '.join(of)}" for words, of in named.items() if words != rest]
    return "; ".join([*clauses, *([f"{rest} in the others"] if rest else [])])


def replication(campaigns: Sequence[int], clusters: Sequence[int], cluster: str) -> str:
    """State how many campaigns values rest on, and how many worlds or document sets these share.

    >>> replication([250, 250], [5, 5], "world"), replication([50, 40], [50, 40], "replicate")
    ('250 campaigns in 5 worlds', '40 to 50 campaigns')
    """
    span = count_nouns(campaigns, "campaign")
    # Where every campaign is a cluster of its own, their number is said already.
    return span if cluster == "replicate" else f"{span} in {count_nouns(clusters, cluster)}"


def _describe_replication(rows: Sequence[Row], names: Sequence[str]) -> str:
    """State what `±` means, and on how many campaigns the values rest (measure by measure where that differs)."""
    exact = [name for name in names if all(_is_calculated(row, name) for row in rows)]
    if len(exact) == len(names):
        return "calculated, without simulation: no sampling error"
    spans = {name: _describe_replications(rows, name) for name in names if name not in exact}
    if len(set(spans.values())) == 1 and not exact:
        return f"± Monte-Carlo standard error; n = {next(iter(spans.values()))} behind each value"
    each = ", ".join([f"{name} {span}" for name, span in spans.items()] + [f"{name} calculated" for name in exact])
    return f"± Monte-Carlo standard error; behind each value: {each}"


def _describe_replications(rows: Sequence[Row], name: str) -> str:
    known = [row for row in rows if math.isfinite(row[name])] or list(rows)
    ran = [row for row in rows if row.get(f"{name}_reason") != NOT_ASKED] or known
    campaigns, clusters = [row[f"{name}_n"] for row in ran], [row[f"{name}_clusters"] for row in known]
    return replication(campaigns, clusters, known[0][f"{name}_cluster"])


def _name_cluster(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return the word for what values are replicated over; `cluster` where they differ in that."""
    words = {row[f"{name}_cluster"] for row in rows for name in names}
    return words.pop() if len(words) == 1 else "cluster"


def _explain_dashes(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """State in a line or none, why some cells of measures that have values elsewhere have none."""
    reasons = dict.fromkeys(row.get(f"{name}_reason") for name in names for row in rows)
    known = [reason for reason in reasons if reason]
    return [f"-: no value; {', or '.join(known)}"] if known else []


def _is_calculated(row: Row, name: str) -> bool:
    """True for a measure that has neither replicates nor errors."""
    return bool(row[f"{name}_n"] == 0 and row[f"{name}_mcse"] == 0)


def _fill_with_nan(number: float | None) -> float:
    return math.nan if number is None else number
