"""Read the conditions of `simlab query`: values and ranges of axes, bounds on measures, an order.

`read_conditions` takes a store and the words and returns a `QuerySelection`; `read_order` reads --sort.

A closed language, of which nothing is executed: AXIS=VALUE[,VALUE...], AXIS=LOW..HIGH, NAME>=X, <=, >, < and -NAME.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.commands import stores
from simlab.drawing import view
from simlab.measures.labels import measure_range
from simlab.messages import clip, show, split_values, suggest, word
from simlab.store.coordinates import restore_axis_values
from simlab.store.intervals import read_range
from simlab.store.measures import all_measures, means
from simlab.store.opening import declared_outcomes, measures_of, name_axes
from simlab.store.selections import Bound, SortOrder
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.commands.flags import Setting, Store

_EXPRESSION = re.compile(r"(?P<name>[^<>=!]*)(?P<sign>[<>=!]+)(?P<value>.*)", re.DOTALL)
_RANGE = re.compile(r"(?P<low>.+)\.\.(?P<high>.+)")
SIGNS = (">=", "<=", ">", "<")


class QuerySelection(NamedTuple):
    """Conditions on the cells of a store: (axis, values) that are kept, bounds, and all of them as typed."""

    values: Sequence[tuple[str, Sequence[object]]]
    bounds: Sequence[Bound]
    words: Sequence[str]


def split_store(store: Store | None, conditions: Sequence[Setting]) -> tuple[Store | None, list[Setting]]:
    """Return store and conditions: a first word with a sign (`=`, `<`, `>`) that is no folder is a condition."""
    if isinstance(store, str | os.PathLike) and re.search("[<>=]", os.fspath(store)) and not Path(store).is_dir():
        return None, [os.fspath(store), *conditions]
    return store, list(conditions)


def read_conditions(dataset: xr.Dataset, conditions: Sequence[Setting]) -> QuerySelection:
    """Read the conditions on cells of a store.

    Returns the values kept on axes, and the bounds on measures. Raises InputError for a text that is no condition, a
    name that the store does not have, a value that is not on an axis, a range without a value, and a number that is
    none.
    """
    values: dict[str, Sequence[object]] = {}
    bounds, words = [], []
    for condition in stores.split_conditions(conditions):
        if isinstance(condition, str) and (bound := _read_bound(dataset, condition)):
            bounds.append(bound)
            words.append(bound.text)
            continue
        name, kept = _read_values(dataset, condition)
        if name in values:
            raise InputError(f"{name} is given twice; write its values with commas, as {name}=1,2")
        values[name] = kept
        words.append(condition if isinstance(condition, str) else f"{name}={','.join(map(word, kept))}")
    return QuerySelection(list(values.items()), bounds, words)


def read_order(dataset: xr.Dataset, text: str | None) -> SortOrder | None:
    """Read by which axis or measure cells are sorted; a minus before it sorts in descending order."""
    if text is None:
        return None
    return SortOrder(_name(dataset, text.removeprefix("-"), "--sort "), descending=text.startswith("-"))


def _read_bound(dataset: xr.Dataset, text: str) -> Bound | None:
    """Read a bound; None for a condition on values of an axis."""
    match = _EXPRESSION.fullmatch(text)
    if match is None:
        if text in _names(dataset):
            raise InputError(f"{text} alone is no condition; quote it with its bound, as '{text}>=.8'")
        return None
    name, sign, typed = match["name"].strip(), match["sign"], match["value"].strip()
    if sign not in (*SIGNS, "="):
        raise InputError(f"{clip(text, 60)}: {sign} is no sign of a condition; choose from =, {', '.join(SIGNS)}")
    if sign == "=":
        if name in _measure_names(dataset) and name not in _axis_keys(dataset):
            raise InputError(f"{clip(text, 60)}: {name} is a measure; bound it, as '{name}>={typed or '.8'}'")
        return None
    name = _name(dataset, name, "")
    if name in name_axes(dataset) and not view.is_numeric(dataset, name):
        raise InputError(f"{clip(text, 60)}: {name} has no numbers; write {name}=VALUE[,VALUE]")
    value = _number(text, typed, name, sign)
    least, greatest = (-math.inf, math.inf) if name in name_axes(dataset) else _limits(dataset, name)
    if not least <= value <= greatest:
        raise InputError(f"{clip(text, 60)}: {name} lies between {least:g} and {greatest:g}; write a value in between")
    return Bound(name, sign, value, f"{name}{sign}{typed}")


def _limits(dataset: xr.Dataset, name: str) -> tuple[float, float]:
    """Return the least and the greatest value that a measure can have."""
    within = read_range(dataset, name) if name in measures_of(dataset) else measure_range(name)
    return (
        -math.inf if within.least is None else within.least,
        math.inf if within.greatest is None else within.greatest,
    )


def _number(text: str, typed: str, name: str, sign: str) -> float:
    try:
        value = float(typed)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in typed:
        raise InputError(f"{clip(text, 60)}: {clip(typed, 40) or 'nothing'} is no number; write as {name}{sign}.8")
    return value


def _read_values(dataset: xr.Dataset, condition: stores.Condition) -> tuple[str, Sequence[object]]:
    """Read the values of an axis that are kept: those of a list, or all within a range of numbers."""
    if not isinstance(condition, str):
        name, given = view.axis(dataset, condition[0]), condition[1]
        if len(given) == 1 and isinstance(given[0], slice):
            return name, _select_within(dataset, name, given[0].start, given[0].stop, f"{name}={given[0]}")
        return name, given
    if "=" not in condition:
        # Refused there, in the words of all verbs that take conditions.
        view.filter_cells(dataset, [condition])
    typed, _, values = condition.partition("=")
    name = view.axis(dataset, typed)
    ends = _RANGE.fullmatch(values)
    if ends is None or values in map(word, restore_axis_values(dataset[name].values)):
        return name, split_values(values)
    if not view.is_numeric(dataset, name):
        raise InputError(f"{clip(condition, 60)}: {name} has no numbers, and no range; write {name}=VALUE[,VALUE]")
    low, high = (_number(condition, ends[end], name, "=") for end in ("low", "high"))
    return name, _select_within(dataset, name, low, high, condition)


def _select_within(dataset: xr.Dataset, name: str, low: Any, high: Any, condition: str) -> list[object]:
    """Return the values of an axis within a closed range; an end that is None is open."""
    values = restore_axis_values(dataset[name].values)
    if not view.is_numeric(dataset, name):
        raise InputError(f"{clip(condition, 60)}: {name} has no numbers, and no range; name its values")
    kept: list[object] = [
        value for value in values if (low is None or value >= low) and (high is None or value <= high)
    ]
    if not kept:
        raise InputError(f"{clip(condition, 60)}: no value of the store is in this range; it has {show(values)}")
    return kept


def _name(dataset: xr.Dataset, typed: str, option: str) -> str:
    """Return the axis or measure of a name, or the axis of a config key; raise InputError for what is neither."""
    if typed in (keys := _axis_keys(dataset)):
        return keys[typed]
    if typed in _measure_names(dataset) or typed in (names := _possible_measures(dataset)):
        return typed
    raise InputError(
        f"{option}{clip(typed, 60) or 'nothing'}: the store has no axis or measure of this name; "
        f"{suggest(typed, [*name_axes(dataset), *names], limit=200)}"
    )


def _names(dataset: xr.Dataset) -> list[str]:
    return [*_axis_keys(dataset), *_measure_names(dataset)]


def _axis_keys(dataset: xr.Dataset) -> Mapping[str, str]:
    """Return the axes by their names, and by their config keys."""
    axes = name_axes(dataset)
    return {str(dataset[axis].attrs["key"]): axis for axis in axes} | {axis: axis for axis in axes}


def _measure_names(dataset: xr.Dataset) -> list[str]:
    """Name the measures of a store, then its outcomes that have a mean."""
    return list(dict.fromkeys([*measures_of(dataset), *means(declared_outcomes(dataset))]))


def _possible_measures(dataset: xr.Dataset) -> list[str]:
    """Name the measures of a store, and all others that its outcomes may give."""
    more = all_measures() if declared_outcomes(dataset) else ()
    return list(dict.fromkeys([*_measure_names(dataset), *more]))
