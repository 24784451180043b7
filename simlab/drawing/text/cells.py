"""Write the cells of a store as tables: each measure beside its Monte-Carlo error, and n below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from simlab.drawing.text import fixed
from simlab.drawing.text.tables import (
    Record,
    aligned,
    bounded,
    counted,
    crossing,
    decimals,
    fits,
    folded,
    measured,
    number,
    told,
    untold,
)
from simlab.drawing.view import View
from simlab.messages import word
from simlab.store.units import scopes

EXACT_DIGITS = 4
BOUNDS = "≤ and ≥: 95 % bounds of what was counted never, or always; an error of 0 would say too much"


def table(records: Sequence[Record], axes: Sequence[str], names: Sequence[str]) -> str:
    """Write one line per cell, or of a store without axes one line per measure; then what stands behind it.

    Records are those of `view.rows`.
    """
    known = [name for name in names if any(math.isfinite(record[name]) for record in records)]
    lines = _without(records, [name for name in names if name not in known])
    if not known:
        return "\n".join(lines)
    body = _by_cell(records, axes, known) if axes else _by_measure(records[0], known)
    return "\n\n".join([body, "\n".join([*_below(records, known, body, axes), *lines])])


def figure_table(records: Sequence[Record], view: View) -> str:
    """Write the measure of a figure, the x axis down and the lines across, one table for each panel.

    Where records hold what the view shows besides, a line has all measures of a cell. What was found beside a measure
    that is best by emptiness has tables of its own.
    """
    found = [view.found] if view.found and view.found in records[0] else []
    if besides := [name for name in view.besides if name in records[0]]:
        axes = [*view.panels, *([view.line] if view.line else []), view.x]
        return table(records, axes, [view.measure, *besides, *(name for name in found if name not in besides)])
    names = [view.measure, *found]
    body = "\n\n".join(text for name in names for text in _panels(records, replace(view, measure=name)))
    axes = [name for name in (*view.panels, view.line, view.x) if name]
    return "\n\n".join([body, "\n".join(_below(records, names, body, axes))])


def _panels(records: Sequence[Record], view: View) -> list[str]:
    """Write a titled table of the view's measure for each panel."""
    parts: dict[str, list[Record]] = {}
    for record in records:
        title = [view.measure, *(f"{name}={word(record[name])}" for name in view.panels)]
        parts.setdefault(", ".join(title), []).append(record)
    return [f"{title}\n{_panel(part, view)}" for title, part in parts.items()]


def measured_column(records: Sequence[Record], name: str) -> list[str]:
    """Write a measure of all records with common decimals; what is calculated has no error.

    Where an error rounds to nothing because an event was counted never, or always, its bound is written instead; `?`
    where too few clusters agree.
    """
    if _calculated(records, [name]):
        return [number(record[name], EXACT_DIGITS) for record in records]
    digits = decimals([record[f"{name}_mcse"] for record in records])
    return [_one(record, name, digits) for record in records]


def _one(record: Record, name: str, digits: int) -> str:
    value, mcse = record[name], record[f"{name}_mcse"]
    interval = record[f"{name}_low"], record[f"{name}_high"]
    bound = bounded(value, mcse, interval, digits)
    return bound or measured(value, told(mcse, interval, record[f"{name}_clusters"]), digits)


def _panel(records: Sequence[Record], view: View) -> str:
    if view.line is None:
        return _by_cell(records, [view.x], [view.measure])
    column = measured_column(records, view.measure)
    at = {(word(r[view.x]), word(r[view.line])): cell for r, cell in zip(records, column, strict=True)}
    xs, lines = (list(dict.fromkeys(word(record[axis]) for record in records)) for axis in (view.x, view.line))
    crossed = crossing(view.line, [view.x, *lines], [[x, *(at[x, line] for line in lines)] for x in xs])
    return crossed if fits(crossed) else _by_cell(records, [view.line, view.x], [view.measure])


def _by_measure(record: Record, names: Sequence[str]) -> str:
    return aligned(["measure", "value"], [[name, *measured_column([record], name)] for name in names])


def _by_cell(records: Sequence[Record], axes: Sequence[str], names: Sequence[str]) -> str:
    """Write one line per cell."""
    columns = [measured_column(records, name) for name in names]
    rows = [[*(word(record[axis]) for axis in axes), *row] for record, *row in zip(records, *columns, strict=True)]
    return folded([*axes, *names], rows, left=len(axes))


def _calculated(records: Sequence[Record], names: Sequence[str]) -> bool:
    """Tell a calculation, whose values have neither replicates nor errors."""
    return all(record[f"{name}_n"] == 0 and record[f"{name}_mcse"] == 0 for record in records for name in names)


def _below(records: Sequence[Record], names: Sequence[str], body: str, axes: Sequence[str]) -> list[str]:
    """Say what stands behind the values of a table, what its signs mean, and what is left out of it."""
    scope = scopes([*axes, *names])
    return [
        _behind(records, names),
        *fixed.lines(records[0], names),
        *([scope] if scope else []),
        *([BOUNDS] if "≤" in body or "≥" in body else []),
        *([untold(_replicated(records, names))] if "± ?" in body else []),
        *_dashes(records, names),
        *failures(records, names),
    ]


def _behind(records: Sequence[Record], names: Sequence[str]) -> str:
    """Say what `±` means, and on how many campaigns the values rest (measure by measure where that differs)."""
    if _calculated(records, names):
        return "calculated, without simulation: no sampling error"
    exact = [name for name in names if _calculated(records, [name])]
    spans = {name: _replication(records, name) for name in names if name not in exact}
    if len(set(spans.values())) == 1 and not exact:
        return f"± Monte-Carlo standard error; n = {next(iter(spans.values()))} behind each value"
    each = ", ".join([f"{name} {span}" for name, span in spans.items()] + [f"{name} calculated" for name in exact])
    return f"± Monte-Carlo standard error; behind each value: {each}"


def failures(records: Sequence[Record], names: Sequence[str]) -> list[str]:
    """Say, in a line or none, how many campaigns failed; failures are not chance, so that they bound what is said."""
    failed = [max(record[f"{name}_failed"] for name in names) for record in records]
    if not sum(failed):
        return []
    ran = [count + max(record[f"{name}_n"] for name in names) for count, record in zip(failed, records, strict=True)]
    cells = f" in {sum(map(bool, failed))} of {counted([len(records)], 'cell')}" if len(records) > 1 else ""
    return [f"{sum(failed)} of {counted([sum(ran)], 'campaign')} failed{cells} and are left out of the values"]


def _without(records: Sequence[Record], names: Sequence[str]) -> list[str]:
    """Say which measures have no value at all, and why, a line for each reason."""
    named: dict[str, list[str]] = {}
    for name in names:
        reasons = dict.fromkeys(record.get(f"{name}_reason") for record in records)
        named.setdefault("; ".join(reason for reason in reasons if reason), []).append(name)
    return [f"no value in these cells: {', '.join(of)}{f' ({why})' if why else ''}" for why, of in named.items()]


def _dashes(records: Sequence[Record], names: Sequence[str]) -> list[str]:
    """Say, in a line or none, why some cells of measures that have values elsewhere have none."""
    reasons = dict.fromkeys(record.get(f"{name}_reason") for name in names for record in records)
    told = [reason for reason in reasons if reason]
    return [f"-: no value; {', or '.join(told)}"] if told else []


def replication(campaigns: Sequence[int], clusters: Sequence[int], cluster: str) -> str:
    """Say how many campaigns values rest on, and how many worlds or document sets these share.

    >>> replication([250, 250], [5, 5], "world"), replication([50, 40], [50, 40], "replicate")
    ('250 campaigns in 5 worlds', '40 to 50 campaigns')
    """
    span = counted(campaigns, "campaign")
    # Where every campaign is a cluster of its own, their number is said already.
    return span if cluster == "replicate" else f"{span} in {counted(clusters, cluster)}"


def _replicated(records: Sequence[Record], names: Sequence[str]) -> str:
    """Return the word for what values are replicated over; `cluster` where they differ in that."""
    words = {record[f"{name}_cluster"] for record in records for name in names}
    return words.pop() if len(words) == 1 else "cluster"


def _replication(records: Sequence[Record], name: str) -> str:
    known = [record for record in records if math.isfinite(record[name])] or list(records)
    campaigns, clusters = [record[f"{name}_n"] for record in records], [record[f"{name}_clusters"] for record in known]
    return replication(campaigns, clusters, known[0][f"{name}_cluster"])
