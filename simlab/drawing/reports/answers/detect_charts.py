"""Draw what settings detect across one of them, a line for each value of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simlab.drawing.reports.answers.detect_words import LABELS, setting, varied, written
from simlab.drawing.reports.answers.reading import Row
from simlab.drawing.reports.terms import Chart, Mark
from simlab.drawing.text.detection import DIFFERENCES

MOST_LINES, MOST_CHARTS = 8, 4
ACROSS = ("n_human", "n_metric", "n_calibration", "correlation", "rho", "eta", "alpha", "n_systems")
"""What can go across, the first that differs before others that have as many values."""


def charts(rows: Sequence[Row], name: str) -> Iterator[Chart]:
    """Draw `name` of all rows; nothing where no number differs between them. Further charts are of further settings."""
    names = varied(rows, name)
    numbers = [one for one in ACROSS if one in names and all(row.get(one) is not None for row in rows)]
    if not numbers:
        return
    across = max(numbers, key=lambda one: len({row[one] for row in rows}))
    lines, apart = _apart(rows, [one for one in names if one != across])
    for group in list(_groups(rows, apart))[:MOST_CHARTS]:
        known = [row for row in group if row.get(name) is not None]
        if known:
            yield _chart(known, rows, (name, across), lines, apart)


def _apart(rows: Sequence[Row], names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part settings into those that lines tell apart, and those that charts do: as many on lines as there is room."""
    lines: list[str] = []
    for name in names:
        if len({tuple(row.get(one) for one in (*lines, name)) for row in rows}) <= MOST_LINES:
            lines.append(name)
    return lines, [name for name in names if name not in lines]


def _groups(rows: Sequence[Row], apart: Sequence[str]) -> Iterator[list[Row]]:
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(one) for one in apart), []).append(row)
    yield from groups.values()


def _chart(
    group: Sequence[Row], rows: Sequence[Row], axes: tuple[str, str], lines: Sequence[str], apart: Sequence[str]
) -> Chart:
    name, across = axes
    where = ", ".join(setting(group[0], one, rows) for one in apart)
    up = f"{LABELS[name]} [{_unit(rows, name)}]" if _unit(rows, name) else LABELS[name]
    marks = tuple(_mark(row, axes, lines) for row in sorted(group, key=lambda row: float(row[across])))
    of = LABELS.get(across, across)
    return Chart(
        "lines",
        f"{LABELS[name][0].upper()}{LABELS[name][1:]} by {of}{f': {where}' if where else ''}",
        of if across not in ("n_human", "n_metric", "n_calibration") else f"{of}, per system",
        up,
        marks,
        _alt(marks, LABELS[name], of),
        legend="; ".join(lines),
        target=group[0].get("difference") if name == "detectable" else None,
        bounds=(0.0, None),
    )


def _mark(row: Row, axes: tuple[str, str], lines: Sequence[str]) -> Mark:
    name, across = axes
    said = "; ".join("known" if one == "n_calibration" and row[one] is None else written(row.get(one)) for one in lines)
    note = "" if row.get("epsilon") is None else f"measurable difference {written(float(row['epsilon']))}"
    return Mark(float(row[across]), float(row[name]), line=said, note=note)


def _unit(rows: Sequence[Row], name: str) -> str:
    return ("points" if rows[0].get("unit") else "share") if name in DIFFERENCES else ""


def _alt(marks: Sequence[Mark], name: str, of: str) -> str:
    ends = marks[0], marks[-1]
    said = [f"{written(float(one.y))} at {written(float(one.x))}" for one in ends]
    count = len({one.line for one in marks})
    many = f" {count} lines." if count > 1 else ""
    return f"The {name} goes from {said[0]} to {said[1]} {of}.{many}"
