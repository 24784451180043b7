"""Carry out `simlab detect`: the difference between two systems that an evaluation detects, or what finding it takes.

Outputs are adequate or not; a system's alpha is its share of adequate outputs. rho and eta are the probabilities that
the metric calls adequate outputs adequate, and inadequate ones inadequate. A setting is a row: numbers of ratings per
system, rho, eta, alpha, level and power, by name (`detect_words`). `detections` takes lists of values by key (`Given`),
and answers for every combination.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simlab.analysis.adequacy import inverse
from simlab.analysis.adequacy.inverse import compute_detections, read_compared_systems
from simlab.analysis.adequacy.plans import Plan
from simlab.answers.detect import COUNTS, DIFFERENCES, POWERS, SOLUTIONS, Detection, Detections
from simlab.answers.records import LARGEST
from simlab.commands.detect_words import FREE, METRIC, Given, Row, list_combinations
from simlab.commands.next_steps import add_next_step
from simlab.commands.typed_commands import Launched
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.types import InputError


class DetectedSettings(NamedTuple):
    """Detections, and the settings that were given, each with its values."""

    detections: Detections
    given: Given


def fill(words: Sequence[str], given: Given) -> Given:
    """Return the options as they are; raise InputError for --save with --page, which has no answer to keep."""
    if given["page"] is not None and given["save"] is not None:
        raise InputError("--save: --page writes a page of all settings, and no answer to keep; leave one of them out")
    return given


def write(answer: DetectedSettings | Path, form: Form, given: Mapping[str, Any]) -> Launched:
    """Format detections, the numbers solved for, or the name of the page's file, as table, csv or json."""
    if isinstance(answer, Path):
        from simlab.commands import detect_page

        return detect_page.write(answer, form)
    if form != "table":
        return Launched(tables.write_tables(answer.detections, form))
    from simlab.drawing.reports.answers.detect import report
    from simlab.drawing.reports.text import page

    return Launched(add_next_step(page(report(answer.detections)), "detect", "--page", "detect.html"))


def detections(
    given: Given, difference: float | None, solve: str | None, prices: str | None, joint: bool, points: bool = False
) -> Detections:
    """Return each setting with the differences that it detects, or with the numbers that `solve` asks for.

    `given[key]` lists the values of a key, `difference` is one of two shares to be found, `prices` a text such as
    `human=.15,metric=.001`, and `joint` says that systems share one estimate of rho and eta. With `points` all
    differences, given and returned, are in hundredths of the share of adequate outputs. Raises InputError for settings
    that do not go together, and where the difference is out of reach of all.
    """
    share = _share(difference, points)
    if solve is not None:
        rows = solve_settings(given, solve, share, prices, joint)
    elif prices or joint:
        raise InputError("--prices and --joint go with --solve; `simlab detect --help` shows how")
    else:
        rows = measure_settings(given, share)
    fields: Row = {} if "alpha" in given else {"alpha_assumed": True}
    fields |= {"solved": solve} if solve else {}
    fields |= {"joint": True} if joint else {}
    fields |= {} if difference is None else {"difference": difference}
    fields |= {"unit": "points"} if points else {}
    return Detections(tuple(Detection(**_convert_units(row, points), **fields) for row in rows))


def _share(difference: float | None, points: bool) -> float | None:
    """Return a difference of shares, from 0 to 1, from one that is in `points` or a share itself."""
    if difference is None:
        return None
    if points and not 0 < difference < 100:
        raise InputError(f"--difference={difference:g} is not between 0 and 100 points")
    if not points and not 0 < difference < 1:
        raise InputError(
            f"--difference={difference:g} is not between 0 and 1; give a difference of two shares, or --points"
        )
    return difference / 100 if points else difference


def _convert_units(row: Row, points: bool) -> Row:
    """Return a row with whole counts, and with differences in points where that is wanted."""
    counts = {name: int(row[name]) for name in COUNTS if row.get(name) is not None}
    scaled = {name: 100 * row[name] for name in DIFFERENCES if points and row.get(name) is not None}
    return row | counts | scaled


def measure_settings(given: Given, difference: float | None) -> list[Row]:
    """Return each setting with its measurable and detectable differences, and the power at a `difference`."""
    rows = list_combinations(given)
    if not given.keys() & {"n_human", "n_metric"}:
        raise InputError(
            "detect needs numbers of ratings a system; give n_human=100,1000, or n_metric=1000 accuracy=.8, or "
            "--solve n_human --difference .05"
        )
    return [row | detected for row, detected in zip(rows, compute_detections(rows, difference), strict=True)]


def solve_settings(given: Given, solve: str, difference: float | None, prices: str | None, joint: bool) -> list[Row]:
    """Return each setting with the smallest value of the key `solve`, or the cheapest mix, and its differences.

    Where several settings are asked about, one that cannot reach the difference has no value; alone it is an error.
    """
    if difference is None:
        raise InputError(f"--solve {solve} needs a difference to reach; add for example --difference .05")
    if given.get("posterior", ["quadrature"]) != ["quadrature"]:
        raise InputError(f"posterior=nuts says what settings measure, and --solve {solve} tries many; leave it out")
    taken = {"mix": ("n_human", "n_metric"), "accuracy": METRIC}.get(solve, (solve,))
    for name in taken:
        if name in given:
            raise InputError(f"{name} is what --solve {solve} looks for; leave it out")
    find = _make_mixer(given, prices, joint) if solve == "mix" else _make_finder(given, solve, prices, joint)
    rows = list_combinations({key: values for key, values in given.items() if values != [FREE]}, solve == "accuracy")
    missing: list[InputError] = []
    solutions = []
    for row in rows:
        try:
            solutions.append(find(row, difference))
        except InputError as error:
            if "out of reach" not in str(error):
                raise
            missing.append(error)
            solutions.append(row | dict.fromkeys(SOLUTIONS[solve]))
    if len(missing) == len(rows):
        raise missing[0]
    return [row | _measure_solution(row, difference) for row in solutions]


def _make_finder(given: Row, solve: str, prices: str | None, joint: bool) -> Callable[[Row, float], Row]:
    if prices:
        raise InputError("--prices goes with --solve mix; leave it out")
    if solve != "accuracy" and solve != "n_human" and not any(name in given for name in METRIC):
        raise InputError(f"--solve {solve} needs rho and eta, or accuracy (rho = eta), or correlation")
    if solve == "accuracy" and max(given.get("n_metric", [0])) <= 0:
        raise InputError("--solve accuracy needs metric ratings whose accuracy matters; add n_metric")

    def find(row: Row, difference: float) -> Row:
        level, power = row["level"], row["power"]
        options = {"level": level, "power": power, "joint": joint, "among": read_compared_systems(row)}
        value = inverse.find_smallest_number(solve, _plan(row), difference, **options)  # type: ignore[arg-type]
        return row | dict.fromkeys(SOLUTIONS[solve], value)

    return find


def _make_mixer(given: Row, prices: str | None, joint: bool) -> Callable[[Row, float], Row]:
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
        plan, level, power = _plan(row | {"n_calibration": none}), row["level"], row["power"]
        mix = inverse.find_cheapest_mix(
            plan, difference, costs, level=level, power=power, among=read_compared_systems(row)
        )
        if mix.price > LARGEST:
            raise InputError(
                f"--prices {prices}: the cheapest mix costs {mix.price:g}; give prices in a larger currency"
            )
        return row | mix.plan._asdict() | {"price": mix.price}

    return find


def _plan(row: Row) -> Plan[float]:
    n = row["n_calibration"]
    rho, eta = (1.0 if row[name] is None else row[name] for name in ("rho", "eta"))
    return Plan(row["n_human"], row["n_metric"], rho, eta, row["alpha"], n)


def _prices(given: str | None) -> inverse.RatingPrices:
    rule = "write --prices human=.15,metric=.001 (and calibration=.2 for an output with both ratings)"
    prices: dict[str, float] = {}
    for part in given.split(",") if given else ():
        key, _, value = part.strip().partition("=")
        try:
            prices[key] = float(value)
        except ValueError:
            raise InputError(f"--prices {part.strip()} is not NAME=NUMBER; {rule}") from None
    if not {"human", "metric"} <= set(prices) <= {"human", "metric", "calibration"}:
        raise InputError(f"--solve mix needs the prices of a human and a metric rating; {rule}")
    return inverse.RatingPrices(**prices)


def _measure_solution(row: Row, difference: float) -> Row:
    """Return the differences of a solution, and its power at `difference`; None for each where nothing was found."""
    names = (*DIFFERENCES[:3], *POWERS)
    if row["n_metric"] is None or row["n_human"] is None or (row["n_metric"] and row["rho"] is None):
        return dict.fromkeys(names)
    # Where human ratings are enough, the least accuracy is that of a metric that says nothing.
    idle = row["rho"] == row["eta"] == 0.5
    reached = compute_detections([row | {"n_metric": 0} if idle else row], difference)[0]
    return {name: reached[name] for name in names}
