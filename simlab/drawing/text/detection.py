"""Write which differences settings detect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simlab.drawing.text import tables
from simlab.drawing.text.tables import Record

SHOWN = ("n_systems", "n_human", "n_metric", "n_calibration", "correlation", "threshold", "rho", "eta", "alpha")
LEVELS = ("level", "power", "multiplicity", "find")
"""Settings in the order of reading."""
DIFFERENCES = ("epsilon", "epsilon_joint", "detectable", "detectable_joint", "difference")

RULES = {
    "max_t": "max_t: of equal systems none is called different from any other with probability 1 - level",
    "holm": "holm: a pair is held against level / pairs, as the largest difference is by Holm's rule",
    "none": "none: each pair keeps the level by itself, so that of many pairs some are called different by chance",
}
FINDS = {
    "pair": "find=pair: found is a given pair of systems that differ by it",
    "best": "find=best: one system that differs by it from all others is told from each of them",
    "all": "find=all: each system of one half is told from each of the other half, halves that differ by it",
}

NOTES = {
    "epsilon": "epsilon: the published measurable difference; each system has a calibration of its own",
    "epsilon_joint": "epsilon_joint: both systems share one calibration, whose error mostly cancels",
    "detectable": "detectable: the true difference that is found with power {power}; epsilon is found half the time",
    "power_published": "power_published, power_joint: how often a true difference of {difference} is found",
}


def table(rows: Sequence[Record], difference: float | None, *, alpha_given: bool) -> str:
    """Write a line per setting, without the columns that nobody set, and what the differences are."""
    settings = [name for name in (*SHOWN, *LEVELS) if _told(rows, name)]
    results = [name for name in rows[0] if name not in (*SHOWN, *LEVELS, "flipped", "difference", "unit")]
    places = digits(rows)
    lines = [[*(_setting(row[n]) for n in settings), *(_result(n, row[n], places) for n in results)] for row in rows]
    text = tables.aligned([*settings, *results], lines, left=0)
    return "\n".join([text, "", *notes(rows, results, difference, alpha_given=alpha_given)])


def digits(rows: Sequence[Record]) -> int:
    """Choose the decimals of differences."""
    points = any("unit" in row for row in rows)
    return (4 if any((row.get("epsilon") or 1) < (1 if points else 0.01) for row in rows) else 3) - 2 * points


def _told(rows: Sequence[Record], name: str) -> bool:
    """Tell whether a setting has a column: it is set, and levels, which are said below the table, differ."""
    values = {row[name] for row in rows if name in row}
    return len(values) > 1 if name in LEVELS else bool(values - {None})


def _setting(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:,}" if isinstance(value, int) else tables.number(value, 4).rstrip("0").rstrip(".") or "0"


def _result(name: str, value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if name == "price" else tables.number(value, 2 if name.startswith("power") else digits)


def notes(rows: Sequence[Record], results: Sequence[str], difference: float | None, *, alpha_given: bool) -> list[str]:
    """Say what the differences of an answer are, and what was taken where nothing was said."""
    level, power = (" or ".join(_values(rows, name)) for name in LEVELS[:2])
    what = "in points (hundredths) of adequacy" if any("unit" in row for row in rows) else "of the share alpha"
    what = what if "points" in what else f"{what} of adequate outputs"
    lines = [f"Differences {what}, at level {level}, ratings per system."]
    lines += [NOTES[name].format(power=power, difference=_setting(difference)) for name in results if name in NOTES]
    lines += _of_several(rows)
    if not alpha_given:
        lines.append("alpha=.5 was taken, where ratings vary most; give alpha=... for your systems")
    if any(row.get("flipped") for row in rows):
        lines.append("a metric with rho + eta < 1 was turned round: what it calls adequate counts as inadequate")
    if any(row.get("epsilon", 0) is None for row in rows):
        lines.append("-: out of reach with these settings")
    return lines


def _of_several(rows: Sequence[Record]) -> list[str]:
    """Say what holds of all pairs of several systems, and what is found with the power."""
    if "n_systems" not in rows[0]:
        return []
    return [RULES[rule] for rule in _values(rows, "multiplicity")] + [FINDS[find] for find in _values(rows, "find")]


def _values(rows: Sequence[Record], name: str) -> list[str]:
    return list(dict.fromkeys(_setting(row[name]) for row in rows))
