"""Answer which difference between two systems an evaluation with a binary metric detects, and the inverse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from simlab.analysis.adequacy import inverse
from simlab.analysis.adequacy.measurable_difference import (
    detectable_difference,
    joint_difference,
    measurable_difference,
    power_of,
)
from simlab.analysis.adequacy.plans import critical
from simlab.commands.detect_words import DEFAULTS, FREE, METRIC, Given, Row, combined, parsed
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.types import InputError

SHOWN = ("n_human", "n_metric", "n_calibration", "correlation", "threshold", "rho", "eta", "alpha")
COUNTS = ("n_human", "n_metric", "n_calibration")

NOTES = {
    "epsilon": "epsilon: the published measurable difference; each system has a calibration of its own",
    "epsilon_joint": "epsilon_joint: both systems share one calibration, whose error mostly cancels",
    "detectable": "detectable: the true difference that is found with power {power}; epsilon is found half the time",
    "power_published": "power_published, power_joint: how often a true difference of {difference} is found",
}


def answer(
    words: Sequence[str],
    difference: float | None,
    solve: str | None,
    prices: str | None,
    joint: bool,
    form: Form,
) -> str:
    """Write a table over all combinations of the words' values, or the numbers that `solve` asks for."""
    given = parsed(words)
    if difference is not None and not 0 < difference < 1:
        raise InputError(f"--difference={difference:g} is not between 0 and 1; give a difference of two shares")
    if solve is None:
        if prices or joint:
            raise InputError("--prices and --joint go with --solve; `simlab detect --help` shows how")
        found = measured(combined(given), difference)
    else:
        found = solved(given, solve, difference, prices, joint)
    return _table(found, given, difference) if form == "table" else tables.write(found, form)


def measured(rows: Sequence[Row], difference: float | None = None) -> list[Row]:
    """Return each setting with its measurable and detectable differences, and the power at a `difference`."""
    found: list[Row] = [{} for _ in rows]
    for alike in _alike(rows):
        columns = _columns([rows[k] for k in alike], rows[alike[0]], difference)
        for place, k in enumerate(alike):
            found[k] = _ordered(rows[k]) | {name: column[place].item() for name, column in columns.items()}
    return found


def _alike(rows: Sequence[Row]) -> Iterable[list[int]]:
    """Group rows that one call can compute."""
    groups: dict[Any, list[int]] = {}
    for k, row in enumerate(rows):
        groups.setdefault((row["level"], row["power"], row["n_calibration"] is None), []).append(k)
    return groups.values()


def _columns(rows: Sequence[Row], first: Row, difference: float | None) -> dict[str, Any]:
    names = ["n_human", "n_metric", "rho", "eta", "alpha"]
    names += [] if first["n_calibration"] is None else ["n_calibration"]
    # Without metric ratings any metric will do.
    setting = [np.array([1.0 if row[name] is None else row[name] for row in rows]) for name in names]
    level, power = first["level"], first["power"]
    detectable = detectable_difference(*setting, level=level, power=power)
    published = measurable_difference(*setting, level=level)
    joint = joint_difference(*setting, level=level, power=power)
    found = {
        "epsilon": published.epsilon,
        "epsilon_joint": joint.epsilon,
        "detectable": detectable,
        "detectable_joint": joint.detectable,
        "flipped": published.flipped,
    }
    if difference is not None:
        found["power_published"] = power_of(difference, *setting, level=level)
        found["power_joint"] = np.asarray(ndtr(critical(level) * (difference / joint.epsilon - 1)))
    return found


def _ordered(row: Row) -> Row:
    """Put settings in the order of reading; counts are whole numbers."""
    names = [name for name in (*SHOWN, "level", "power") if name in row]
    return {name: int(row[name]) if name in COUNTS and row[name] is not None else row[name] for name in names}


def solved(given: Given, solve: str, difference: float | None, prices: str | None, joint: bool) -> list[Row]:
    """Return each setting with the smallest value of what is solved for, or the cheapest mix, and what it measures.

    Where several settings are asked about, one that cannot reach the difference has no value; alone it is an error.
    """
    if difference is None:
        raise InputError(f"--solve {solve} needs a difference to reach; add for example --difference .05")
    taken = {"mix": ("n_human", "n_metric"), "accuracy": METRIC}.get(solve, (solve,))
    for name in taken:
        if name in given:
            raise InputError(f"{name} is what --solve {solve} looks for; leave it out")
    find = _mixer(given, prices, joint) if solve == "mix" else _finder(given, solve, prices, joint)
    rows = combined({key: values for key, values in given.items() if values != [FREE]}, solve == "accuracy")
    missing: list[InputError] = []
    found = []
    for row in rows:
        try:
            found.append(find(row, difference))
        except InputError as error:
            if "out of reach" not in str(error):
                raise
            missing.append(error)
            found.append(_ordered(row) | dict.fromkeys(_unknowns(solve), None))
    if len(missing) == len(rows):
        raise missing[0]
    return [row | {"difference": difference} | _reached(row) for row in found]


def _unknowns(solve: str) -> tuple[str, ...]:
    return {"mix": ("n_human", "n_metric", "price"), "accuracy": ("rho", "eta")}.get(solve, (solve,))


def _finder(given: Row, solve: str, prices: str | None, joint: bool) -> Callable[[Row, float], Row]:
    if prices:
        raise InputError("--prices goes with --solve mix; leave it out")
    if solve != "accuracy" and solve != "n_human" and not any(name in given for name in METRIC):
        raise InputError(f"--solve {solve} needs rho and eta, or accuracy (rho = eta), or correlation")
    if solve == "accuracy" and max(given.get("n_metric", [0])) <= 0:
        raise InputError("--solve accuracy needs metric ratings whose accuracy matters; add n_metric")

    def find(row: Row, difference: float) -> Row:
        value = inverse.smallest(solve, _plan(row), difference, level=row["level"], joint=joint)  # type: ignore[arg-type]
        return _ordered(row | dict.fromkeys(_unknowns(solve), value))

    return find


def _mixer(given: Row, prices: str | None, joint: bool) -> Callable[[Row, float], Row]:
    if joint:
        raise InputError("--joint does not go with --solve mix, which looks at the published difference; leave it out")
    if not any(name in given for name in METRIC):
        raise InputError("--solve mix needs rho and eta, or accuracy (rho = eta), or correlation")
    costs, calibrated = _prices(prices), given.get("n_calibration")
    if calibrated not in (None, [None], [FREE]):
        raise InputError(
            "--solve mix chooses n_calibration; write n_calibration=free, or none where rho, eta are known"
        )
    none = 0 if calibrated == [FREE] else None

    def find(row: Row, difference: float) -> Row:
        mix = inverse.cheapest_mix(_plan(row | {"n_calibration": none}), difference, costs, level=row["level"])
        return _ordered(row | mix.plan._asdict()) | {"price": mix.price}

    return find


def _plan(row: Row) -> inverse.Plan:
    n = row["n_calibration"]
    rho, eta = (1.0 if row[name] is None else row[name] for name in ("rho", "eta"))
    return inverse.Plan(row["n_human"], row["n_metric"], rho, eta, row["alpha"], n)


def _prices(text: str | None) -> inverse.Prices:
    rule = "write --prices human=.15,metric=.001 (and calibration=.2 for an output with both ratings)"
    found: dict[str, float] = {}
    for part in text.split(",") if text else ():
        key, _, value = part.strip().partition("=")
        try:
            found[key] = float(value)
        except ValueError:
            raise InputError(f"--prices {part.strip()} is not NAME=NUMBER; {rule}") from None
    if not {"human", "metric"} <= set(found) <= {"human", "metric", "calibration"}:
        raise InputError(f"--solve mix needs the prices of a human and a metric rating; {rule}")
    return inverse.Prices(**found)


def _reached(row: Row) -> Row:
    """Say what a solution measures; nothing where there is none."""
    names = ("epsilon", "epsilon_joint", "detectable")
    if row["n_metric"] is None or row["n_human"] is None or (row["n_metric"] and row["rho"] is None):
        return dict.fromkeys(names)
    # Where human ratings are enough, the least accuracy is that of a metric that says nothing.
    idle = row["rho"] == row["eta"] == 0.5
    found = measured([row | {"n_metric": 0} if idle else row])[0]
    return {name: found[name] for name in names}


def _table(found: Sequence[Row], given: Given, difference: float | None) -> str:
    named = [name for name in (*SHOWN, "level", "power") if name in found[0]]
    settings = [n for n in named if n not in ("level", "power") or len(given.get(n, [])) > 1]
    settings = [n for n in settings if any(row[n] is not None for row in found)]
    results = [n for n in found[0] if n not in (*named, "flipped", "difference")]
    digits = 4 if any((row.get("epsilon") or 1) < 0.01 for row in found) else 3
    rows = [[*(_setting(row[n]) for n in settings), *(_result(n, row[n], digits) for n in results)] for row in found]
    lines = [tables.aligned([*settings, *results], rows, left=0), ""]
    return "\n".join([*lines, *_notes(found, given, difference, results)])


def _setting(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else tables.number(value, 4).rstrip("0").rstrip(".") or "0"


def _result(name: str, value: float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if name == "price" else tables.number(value, 2 if name.startswith("power") else digits)


def _notes(found: Sequence[Row], given: Given, difference: float | None, results: Sequence[str]) -> list[str]:
    level, power = (" or ".join(map(_setting, given.get(name, [DEFAULTS[name]]))) for name in ("level", "power"))
    shown = _setting(difference)
    lines = [f"Differences of the share alpha of adequate outputs, at level {level}, ratings per system."]
    lines += [NOTES[name].format(power=power, difference=shown) for name in results if name in NOTES]
    lines += (
        [] if "alpha" in given else ["alpha=.5 was taken, where ratings vary most; give alpha=... for your systems"]
    )
    if any(row.get("flipped") for row in found):
        lines.append("a metric with rho + eta < 1 was turned round: what it calls adequate counts as inadequate")
    if any(row.get("epsilon", 0) is None for row in found):
        lines.append("-: out of reach with these settings")
    return lines
