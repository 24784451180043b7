"""Report a statistic of a store's measure: quantiles or shares over worlds, importance of axes, sensitivity, crossings.

Call `report` with a `CellStatistics`, which returns a `Report`. A row has the fields that
`simlab.answers.query.CellStatistics` names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simlab.answers.query import CellStatistics
from simlab.drawing.reports import references
from simlab.drawing.reports.terms import Cell, Chart, ChartPoint, Points, Report, ReportTable, Section, Value
from simlab.drawing.reports.values import format_value
from simlab.drawing.wording import describe_drawn
from simlab.messages import pluralise, word

Row = Mapping[str, Any]


def report(statistics: CellStatistics) -> Report:
    """Make the report of a statistic of cells."""
    build = {
        "quantiles": _quantiles,
        "share": _values,
        "importance": _importance,
        "sensitivity": _sensitivity_table,
        "solve": _solution_table,
    }[statistics.statistic]
    table = build(statistics)
    draw = {"importance": _chart, "sensitivity": _plot_tornado}.get(statistics.statistic)
    shown = table if draw is None else draw(statistics, table)
    return Report(
        "Statistics of a store",
        f"What {'moves' if statistics.statistic == 'sensitivity' else 'is'} the {statistics.quantity}?",
        tuple(_sentences(statistics)),
        (Section("", (shown, Points(tuple(_notes(statistics))))),),
        references=references.list_references([references.SIMLAB]),
    )


def _sentences(statistics: CellStatistics) -> Iterator[str]:
    """State which axis decides, or how many cells reach the target."""
    if statistics.statistic == "importance":
        most = max(statistics.rows, key=lambda row: row["total"] or 0.0)
        share = format_value(_value(most, "total"))
        if statistics.rest and not most["total_low"]:
            yield (
                f"None is shown to decide {statistics.measure} over {_name_varied_units(statistics)}: {most['axis']} "
                f"has {share}."
            )
            return
        yield (
            f"{most['axis']} decides most: {share} of the variance of {statistics.measure} over "
            f"{_name_varied_units(statistics)}."
        )
    if statistics.statistic == "sensitivity":
        yield from _describe_sensitivity(statistics)
    if statistics.statistic == "solve":
        crossed = sum(row["reach"] == "crossed" for row in statistics.rows)
        yield (
            f"Crossed within the sweep for {crossed:,} of {pluralise(len(statistics.rows), 'setting')} of the other "
            "axes."
        )


def _notes(statistics: CellStatistics) -> Iterator[str]:
    yield from describe_drawn(statistics.drawn)
    if statistics.statistic in ("quantiles", "share"):
        worlds = min(row["worlds"] for row in statistics.rows)
        studies = min(row["studies"] for row in statistics.rows)
        least = min(row["reliability"] or 0.0 for row in statistics.rows)
        counted = f"{pluralise(worlds, 'world')} of {studies:,} {'study' if studies == 1 else 'studies'} or more"
        yield (
            f"± standard error over worlds, {100 * statistics.level:.0f} % intervals; {counted} behind each value, the "
            f"noise of studies removed: {100 * (1 - least):.0f} % at most of the variance of worlds' means is noise"
        )
    elif statistics.statistic == "importance":
        yield (
            f"± Monte-Carlo standard error, {100 * statistics.level:.0f} % intervals; "
            f"{_describe_removed_noise(statistics)}"
        )
    elif statistics.statistic == "sensitivity":
        yield (
            f"differences from the base are paired in the same worlds, each with a {100 * statistics.level:.0f} % "
            "interval of its own; what axes do together is not seen (over a whole grid, query --importance sees it)"
        )
        missing = sum(row["value"] is None for row in statistics.rows)
        if missing:
            yield f"{pluralise(missing, 'setting')} without a value beside the base"
    else:
        sides = {row["side"] for row in statistics.rows}
        met = {"from": "; met from there on", "up_to": "; met up to there"}[sides.pop()] if len(sides) == 1 else ""
        counts = sorted({int(row["cells"]) for row in statistics.rows})
        cells = pluralise(counts[0], "cell") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} cells"
        yield f"{100 * statistics.level:.0f} % intervals, by {cells} along the axis{met}"


def _name_varied_units(statistics: CellStatistics) -> str:
    """State over what the variance is taken that is shared out."""
    if not statistics.drawn:
        return "these cells"
    return (
        "worlds" if all(row["axis"].startswith("drawn_") for row in statistics.rows) else "these cells and their worlds"
    )


def _describe_removed_noise(statistics: CellStatistics) -> str:
    if not statistics.rest:
        return "the noise of cells is removed"
    rest = format_value(Value(statistics.rest["value"], mcse=statistics.rest["mcse"]))
    return f"the noise of studies is removed; {rest} is chance of worlds that nothing here explains"


def _quantiles(statistics: CellStatistics) -> ReportTable:
    """Give each quantile a column, so that the worlds of a cell stand in a row."""
    axes = [axis for axis in statistics.axes if axis != "quantile"]
    places: dict[tuple[Any, ...], dict[float, Row]] = {}
    for row in statistics.rows:
        places.setdefault(tuple(row[axis] for axis in axes), {})[row["quantile"]] = row
    levels = list(dict.fromkeys(row["quantile"] for row in statistics.rows))
    rows: list[tuple[Cell, ...]] = [
        (*map(word, place), *(cell for level in levels for cell in _format_with_interval(of[level])))
        for place, of in places.items()
    ]
    columns = [
        text for level in levels for text in (f"quantile {word(level)}", f"{100 * statistics.level:.0f} % interval")
    ]
    return ReportTable("", (*axes, *columns), tuple(rows))


def _values(statistics: CellStatistics) -> ReportTable:
    rows: list[tuple[Cell, ...]] = [
        (*(word(row[axis]) for axis in statistics.axes), *_format_with_interval(row)) for row in statistics.rows
    ]
    return ReportTable(
        "", (*statistics.axes, "share of worlds", f"{100 * statistics.level:.0f} % interval"), tuple(rows)
    )


def _importance(statistics: CellStatistics) -> ReportTable:
    """List axes, the one that decides most first."""
    rows: list[tuple[Cell, ...]] = [
        (row["axis"], *_format_with_interval(row, "main"), *_format_with_interval(row, "total"))
        for row in sorted(statistics.rows, key=lambda row: -(row["total"] or 0.0))
    ]
    interval = f"{100 * statistics.level:.0f} % interval"
    return ReportTable("", ("axis", "alone", interval, "with interactions", interval), tuple(rows))


def _group_by_axis(statistics: CellStatistics) -> dict[str, list[Row]]:
    """Return the settings with a value of each axis, the axis with the largest swing first."""
    settings: dict[str, list[Row]] = {}
    for row in statistics.rows:
        if row["value"] is not None:
            settings.setdefault(row["axis"], []).append(row)
    return {axis: rows for axis, rows in settings.items() if len(rows) > 1}


def _describe_sensitivity(statistics: CellStatistics) -> Iterator[str]:
    """State which axis moves the measure most, the base, and which axes are not shown to move it."""
    axes = _group_by_axis(statistics)
    idle = [axis for axis, rows in axes.items() if not any(map(_has_effect, rows))]
    base = ", ".join(row["setting"] for row in statistics.rows if _is_base(row))
    if len(idle) < len(axes):
        axis = next(axis for axis in axes if axis not in idle)
        least, *_, most = sorted(axes[axis], key=lambda row: row["value"])
        swing = format_value(Value(most["swing"], mcse=most["swing_mcse"]))
        yield (
            f"{axis} moves {statistics.measure} most: by {swing}, from {least['setting']} to "
            f"{most['setting']}, all else as in the base ({base})."
        )
    else:
        yield f"No axis is shown to move {statistics.measure} from the base ({base})."
    if idle and len(idle) < len(axes):
        yield f"Not shown to move it: {', '.join(idle)} (each interval holds 0)."


def _is_base(row: Row) -> bool:
    return row["value"] is not None and row["difference"] is None


def _has_effect(row: Row) -> bool:
    """True if the interval of a setting's difference leaves 0 out."""
    return row["difference_low"] is not None and not row["difference_low"] <= 0 <= row["difference_high"]


def _sensitivity_table(statistics: CellStatistics) -> ReportTable:
    rows: list[tuple[Cell, ...]] = []
    for row in statistics.rows:
        difference = Value(row["difference"], mcse=row["difference_mcse"], signed=True)
        ends = row["difference_low"], row["difference_high"]
        low, high = (None if end is None else format_value(Value(end, digits=2, signed=True)) for end in ends)
        first = not rows or rows[-1][0] != row["axis"]
        rows.append((
            row["axis"],
            row["setting"].removeprefix(f"{row['axis']}="),
            Value(row["value"], mcse=row["mcse"]),
            "base" if _is_base(row) else difference,
            "" if low is None or high is None else f"{low} to {high}",
            Value(row["swing"], mcse=row["swing_mcse"]) if first else None,
        ))  # fmt: skip
    interval = f"{100 * statistics.level:.0f} % interval"
    return ReportTable(
        "", ("axis", "setting", statistics.measure, "difference", interval, "swing of the axis"), tuple(rows)
    )


def _plot_tornado(statistics: CellStatistics, table: ReportTable) -> Chart:
    """Draw for each axis a bar from its least value over the base to its largest, with a point for each setting."""
    base = next(row["value"] for row in statistics.rows if _is_base(row))
    marks = []
    for axis, rows in _group_by_axis(statistics).items():
        ordered = sorted(rows, key=lambda row: row["value"])
        ends = " to ".join(row["setting"].removeprefix(f"{axis}=") for row in (ordered[0], ordered[-1]))
        marks += [
            ChartPoint(
                row["value"],
                f"{axis}: {ends}",
                low=min(row["value"], base),
                high=max(row["value"], base),
                note=row["setting"],
                mcse=row["mcse"],
            )
            for row in ordered
        ]
    swings = ", ".join(f"{axis} {format_value(Value(rows[0]['swing'], mcse=rows[0]['swing_mcse']))}"
                       for axis, rows in _group_by_axis(statistics).items())  # fmt: skip
    return Chart(
        "intervals",
        f"What moves {statistics.measure} from its base?",
        statistics.quantity,
        "axis",
        tuple(marks),
        f"Largest less least {statistics.measure} by axis, the others at the base: {swings}.",
        target=base,
        wanted="base",
        interval="from the base",
        table=table,
    )


def _solution_table(statistics: CellStatistics) -> ReportTable:
    words = {"crossed": "", "not_reached": "not reached within the sweep", "reached_everywhere": "reached everywhere"}
    rows: list[tuple[Cell, ...]] = []
    for row in statistics.rows:
        place = [word(row[axis]) for axis in statistics.axes]
        known = row["reach"] == "crossed"
        ends = (
            "below the sweep" if row["low"] is None else format_value(Value(row["low"], digits=_digits(row)))
        ) + " to "
        ends += "beyond the sweep" if row["high"] is None else format_value(Value(row["high"], digits=_digits(row)))
        value = Value(row["value"], digits=_digits(row)) if known else None
        rows.append((*place, value, ends if known else "", words[row["reach"]]))
    return ReportTable(
        "", (*statistics.axes, statistics.quantity, f"{100 * statistics.level:.0f} % interval", "note"), tuple(rows)
    )


def _digits(row: Row) -> int:
    """Write what lies on an axis of sizes with one decimal, on one of shares with three."""
    return 1 if (row["value"] or row["low"] or row["high"] or 0) >= 1 else 3


def _value(row: Row, name: str = "value") -> Value:
    prefix = "" if name == "value" else f"{name}_"
    return Value(row[name], mcse=row[f"{prefix}mcse"], low=row[f"{prefix}low"], high=row[f"{prefix}high"])


def _format_with_interval(row: Row, name: str = "value") -> tuple[Cell, Cell]:
    value = _value(row, name)
    ends = [None if end is None else format_value(Value(end, digits=2)) for end in (value.low, value.high)]
    return Value(value.value, mcse=value.mcse), "" if None in ends else f"{ends[0]} to {ends[1]}"


def _chart(statistics: CellStatistics, table: ReportTable) -> Chart:
    """Draw main and total shares of each axis with their intervals."""
    marks = tuple(
        ChartPoint(row[name], row["axis"], low=row[f"{name}_low"], high=row[f"{name}_high"], line=line)
        for row in sorted(statistics.rows, key=lambda row: row["total"] or 0.0)
        for name, line in (("main", "alone"), ("total", "with interactions"))
    )
    shares = ", ".join(f"{row['axis']} {format_value(_value(row, 'total'))}" for row in statistics.rows)
    return Chart(
        "intervals",
        f"Which axis decides {statistics.measure}?",
        f"share of the variance over {_name_varied_units(statistics).removeprefix('these ')}",
        "axis",
        marks,
        f"Share of the variance of {statistics.measure} by axis, with interactions: {shares}.",
        bounds=(0.0, 1.0),
        table=table,
    )
