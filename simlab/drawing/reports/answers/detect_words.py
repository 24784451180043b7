"""Name the settings of `simlab detect`, and say which of them differ."""

from __future__ import annotations

from collections.abc import Sequence

from simlab.drawing.reports.answers.reading import Row
from simlab.drawing.text import tables
from simlab.drawing.text.detection import LEVELS, SHOWN

LABELS = {
    "n_human": "number of human ratings",
    "n_metric": "number of metric ratings",
    "n_calibration": "number of calibration ratings",
    "n_systems": "systems",
    "rho": "rho",
    "eta": "eta",
    "price": "price",
    "epsilon": "measurable difference (epsilon)",
    "epsilon_joint": "measurable, shared calibration (epsilon_joint)",
    "detectable": "detectable difference",
    "detectable_joint": "detectable, shared calibration",
    "power_published": "power at the difference asked about",
    "power_joint": "power, shared calibration",
    "power": "power wanted",
}
"""What columns and axes are called."""
WORDS = {"n_human": "human ratings", "n_metric": "metric ratings", "n_calibration": "calibration ratings"}
DERIVED = ("threshold", "rho", "eta")
"""What follows from a correlation and alpha."""


def settings(rows: Sequence[Row]) -> list[str]:
    """Name the settings that have a column: those that are set, and levels that differ."""
    return [name for name in (*SHOWN, *LEVELS) if _told(rows, name)]


def _told(rows: Sequence[Row], name: str) -> bool:
    values = {row[name] for row in rows if name in row}
    return len(values) > 1 if name in LEVELS else bool(values - {None})


def varied(rows: Sequence[Row], found: str = "") -> list[str]:
    """Name the settings that differ between rows and were given; of two that differ together the first."""
    given = [name for name in settings(rows) if not _follows(rows, name, found)]
    told: dict[tuple[int, ...], str] = {}
    for name in given:
        values = [row.get(name) for row in rows]
        if len(set(values)) > 1:
            told.setdefault(tuple(values.index(one) for one in values), name)
    return list(told.values())


def _follows(rows: Sequence[Row], name: str, found: str) -> bool:
    """Tell whether a setting is an answer, or follows from others."""
    answers = {"price": (*WORDS, "price"), "rho": ("rho", "eta")}.get(found, (found,))
    return name in answers or ("correlation" in rows[0] and name in DERIVED)


def place(rows: Sequence[Row], row: Row, found: str = "") -> str:
    """Say which setting a row is: how many ratings it has, and what else differs between rows."""
    names = [name for name in WORDS if not _follows(rows, name, found)] if len(rows) == 1 else varied(rows, found)
    told = [said for name in names if (said := setting(row, name, rows))]
    return "with " + ", ".join(told) if told else "with these settings"


def setting(row: Row, name: str, rows: Sequence[Row] = ()) -> str:
    """Write a setting with its value; nothing for ratings that are not there."""
    held = row.get(name)
    if name in WORDS:
        none = "rho and eta known" if name == "n_calibration" and len(rows) > 1 else ""
        return none if held is None else f"{held:,} {WORDS[name]}" if held or len(rows) > 1 else ""
    together = "rho = eta" if name == "rho" and row.get("rho") == row.get("eta") else name
    return f"{together} {written(held)}"


def written(held: object) -> str:
    """Write the value of a setting."""
    if isinstance(held, float):
        return tables.number(held, 4).rstrip("0").rstrip(".") or "0"
    return f"{held:,}" if isinstance(held, int) else "-" if held is None else str(held)


def unit(rows: Sequence[Row]) -> str:
    """Return the unit of differences after a number: points, or nothing where they are shares."""
    return " points" if rows[0].get("unit") else ""
