"""Draw the number that was looked for, such as the detectable difference, against one setting, others as lines.

`charts` takes the rows of an answer of `simlab detect` and yields them as charts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from simlab.answers.detect import Detection
from simlab.drawing.reports.answers.detect_words import LABELS, WORDS, format_setting, list_varied_settings, setting
from simlab.drawing.reports.terms import Chart, ChartPoint, ReportTable

MOST_LINES, MOST_CHARTS = 8, 4
"""Lines of a chart, and charts."""
ACROSS = ("n_human", "n_metric", "n_calibration", "correlation", "rho", "eta", "alpha", "n_systems")
"""Settings that can go across, in the order in which one is chosen where several have as many values."""


def charts(rows: Sequence[Detection], table: ReportTable) -> Iterator[Chart]:
    """Yield charts of what was looked for in all rows; none where no number differs. Each has up to `MOST_LINES` lines.

    `table` is the table that stands behind each chart.
    """
    names = list_varied_settings(rows)
    numbers = [name for name in ACROSS if name in names and all(row.known_value(name) is not None for row in rows)]
    if not numbers:
        return
    across = max(numbers, key=lambda name: len({row.known_value(name) for row in rows}))
    lines, apart = _split_settings(rows, [name for name in names if name != across])
    groups: dict[str, list[Detection]] = {}
    for row in rows:
        groups.setdefault(", ".join(setting(row, name, several=True) for name in apart), []).append(row)
    for where, group in list(groups.items())[:MOST_CHARTS]:
        reached = [row for row in group if row.is_reached]
        if reached:
            yield _chart(reached, across, lines, where, table)


def _split_settings(rows: Sequence[Detection], names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part settings into those that lines tell apart, and those that charts do: as many on lines as there is room."""
    lines: list[str] = []
    for name in names:
        if len({tuple(row.known_value(key) for key in (*lines, name)) for row in rows}) <= MOST_LINES:
            lines.append(name)
    return lines, [name for name in names if name not in lines]


def _chart(group: Sequence[Detection], across: str, lines: Sequence[str], where: str, table: ReportTable) -> Chart:
    first, name = group[0], group[0].sought
    unit = ("points" if first.unit else "share") if name == "detectable" else ""
    marks = tuple(sorted((_mark(row, across, lines) for row in group), key=lambda mark: float(mark.x)))
    of = LABELS.get(across, across)
    return Chart(
        "lines",
        f"{LABELS[name][0].upper()}{LABELS[name][1:]} by {of}{f': {where}' if where else ''}",
        f"{of}, per system" if across in WORDS else of,
        f"{LABELS[name]} [{unit}]" if unit else LABELS[name],
        marks,
        _alt_text(marks, LABELS[name], of),
        legend="; ".join(lines),
        target=first.difference if name == "detectable" and isfinite(first.difference) else None,
        bounds=(0.0, None),
        table=table,
    )


def _mark(row: Detection, across: str, lines: Sequence[str]) -> ChartPoint:
    values = {name: row.known_value(name) for name in lines}
    line = "; ".join(
        "known" if name == "n_calibration" and value is None else format_setting(value)
        for name, value in values.items()
    )
    note = f"measurable difference {format_setting(row.epsilon)}"
    return ChartPoint(float(getattr(row, across)), float(getattr(row, row.sought)), line=line, note=note)


def _alt_text(marks: Sequence[ChartPoint], name: str, of: str) -> str:
    ends = [f"{format_setting(float(mark.y))} at {format_setting(float(mark.x))}" for mark in (marks[0], marks[-1])]
    count = len({mark.line for mark in marks})
    many = f" {count} lines." if count > 1 else ""
    return f"The {name} goes from {ends[0]} to {ends[1]} {of}.{many}"
