"""Read the KEY=VALUE words of `simlab detect`: numbers, lists of them, and the ways to say how good a metric is.

`parse_words` returns the values by key; `list_combinations` makes a row of every combination of them, with a value for
each key. A metric is described by rho and eta, by accuracy (rho = eta), or by the correlation of a score with quality.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from simlab.analysis.adequacy.measurable_difference import FINDS, POSTERIORS, RULES, Among
from simlab.analysis.adequacy.thresholds import best_threshold
from simlab.messages import suggest
from simlab.types import InputError

Row = dict[str, Any]
"""A setting: one value for each key."""
Given = dict[str, list[Any]]
"""The values that were typed, by key."""

DEFAULTS: Row = {"n_human": 0.0, "n_metric": 0.0, "n_calibration": None, "alpha": 0.5, "level": 0.05, "power": 0.8}
METRIC = ("rho", "eta", "accuracy", "correlation")
"""Keys that describe the quality of the metric."""
OF_SEVERAL = ("multiplicity", "find")
"""Keys for evaluations of several systems."""
NAMED: dict[str, tuple[str, ...]] = {"multiplicity": RULES, "find": FINDS, "posterior": POSTERIORS}
"""Keys whose values are names, with the names allowed."""
KEYS = (*DEFAULTS, *METRIC, *Among._fields, "posterior")
FREE = "free"
"""Value of n_calibration that leaves its number to --solve mix."""
MOST = 1000
"""Combinations of values in one call."""


def parse_words(words: Sequence[str]) -> Given:
    """Return the values of each key; raise InputError for an unknown key, or a value that is no number or name."""
    given: Given = {}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign:
            raise InputError(f"{word} is not KEY=VALUE; keys are {', '.join(KEYS)}")
        if key not in KEYS:
            raise InputError(f"there is no key {key}; {suggest(key, KEYS)}")
        if key in given:
            raise InputError(f"{key} is given twice; write its values with commas, as {key}=1,2")
        given[key] = [_value(key, part.strip()) for part in text.split(",")]
    return given


def _value(key: str, text: str) -> float | str | None:
    if key == "n_calibration" and text in ("none", FREE):
        return None if text == "none" else FREE
    if key in NAMED:
        if text not in NAMED[key]:
            raise InputError(f"{key}={text} is unknown; {suggest(text, NAMED[key])}")
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{key}={text} is not a number; give one or several, as {key}=0.6 or {key}=0.6,0.7")
    return value


def list_combinations(given: Given, metric_wanted: bool = False) -> list[Row]:
    """List all combinations, the first key varying slowest, with rho and eta however they were given.

    `metric_wanted`: the quality of the metric is solved for, so that it need not be given.
    """
    _check_metric(given, metric_wanted)
    _check_several(given)
    order = list(given)
    n_rows = math.prod(len(values) for values in given.values())
    if n_rows > MOST:
        raise InputError(f"there are {n_rows} combinations of values, more than {MOST}; give fewer values")
    # Of two systems nothing is said that was not asked.
    defaults = DEFAULTS | (Among()._asdict() if "n_systems" in given else {})
    return [
        _add_metric(defaults | dict(zip(order, values, strict=True)))
        for values in itertools.product(*(given[key] for key in order))
    ]


def _check_metric(given: Given, metric_wanted: bool) -> None:
    ways: list[str] = [name for name in ("accuracy", "correlation") if name in given]
    ways += ["rho and eta"] if "rho" in given or "eta" in given else []
    if len(ways) > 1:
        raise InputError(f"{' and '.join(ways)} are given; say in one way how good the metric is")
    if ("rho" in given) != ("eta" in given):
        raise InputError("rho and eta go together; give both, or accuracy (rho = eta), or correlation")
    if not ways and not metric_wanted and max(given.get("n_metric", [0])) > 0:
        raise InputError("n_metric needs rho and eta, or accuracy (rho = eta), or correlation, to say how good it is")
    if FREE in given.get("n_calibration", ()):
        raise InputError("n_calibration=free goes with --solve mix; give a number, or none where rho and eta are known")


def _check_several(given: Given) -> None:
    for name in OF_SEVERAL:
        if name in given and max(given.get("n_systems", [2])) <= 2:
            raise InputError(f"{name} speaks of the pairs of several systems, and two are one pair; add n_systems=8")


def _add_metric(row: Row) -> Row:
    if "accuracy" in row:
        accuracy = row.pop("accuracy")
        return row | {"rho": accuracy, "eta": accuracy}
    if "correlation" in row:
        cut = best_threshold(row["correlation"], row["alpha"])
        return row | {name: float(value) for name, value in cut._asdict().items()}
    return {"rho": None, "eta": None} | row
